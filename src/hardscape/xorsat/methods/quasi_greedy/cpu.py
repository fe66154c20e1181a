"""Rounds of clones on the CPU: the compiled dynamics, a group after another on one thread."""

from __future__ import annotations

import time

from hardscape.engine import Context, Device
from hardscape.xorsat.methods.quasi_greedy.plan import Plan
from hardscape.xorsat.methods.quasi_greedy.rounds import Best, Round, Rounds, Side, Tell

#: Sweeps between looks for a solution that stays.
_LOOK_EXACT = 32
#: Spin updates of a round that is over in milliseconds.
_SHORT_ROUND = 2e9


class CpuSide(Side):
    """One thread."""

    def groups(self, plan: Plan, device: Device) -> int:
        """One: each thread has a round of its own."""
        return 1

    def brief(self, rounds: Rounds) -> bool:
        """Whether the round is short."""
        return rounds.updates < _SHORT_ROUND

    def run(self, rounds: Rounds, number: int, context: Context, tell: Tell) -> Round:
        """Run the round in this thread; its clock and `context.stop` are looked at with the clones."""
        found, group_sweeps, complete = rounds.plan.kernel.run(
            rounds.seed,
            number * rounds.groups,
            rounds.groups,
            rounds.sweeps(number),
            rounds.look(_LOOK_EXACT),
            rounds.target,
            rounds.exact,
            context.stop,
            tell,
            context.until - time.monotonic(),
        )
        improvements = (Best(violated, number, sweep, clone) for violated, sweep, clone in found)
        return Round(tuple(improvements), group_sweeps, complete)
