"""Rounds of clones as work for the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Device, Partial, Shard, ShardResult, Work, split
from hardscape.xorsat.methods.quasi_greedy.improvements import Watch
from hardscape.xorsat.methods.quasi_greedy.plan import Plan
from hardscape.xorsat.methods.quasi_greedy.rounds import GROUP, LOOK, Best, Round

if TYPE_CHECKING:
    from hardscape.xorsat.methods.quasi_greedy.cuda import CudaClones

__all__ = ["QuasiGreedyWork", "default_groups", "run_on_cpu"]

#: Sweeps between looks for a solution only, which stays once it is found.
_LOOK_CPU = 32


@dataclass(frozen=True)
class QuasiGreedyWork(Work[Partial]):
    """Rounds of clones from random spins, each of them `restart` sweeps long, until one succeeds.

    A partial holds ``improvements`` (int64, shape (n, 4): rows of `Best`, each with fewer violated
    clauses than the ones before, so that the last is the answer) and ``group_sweeps`` (uint64, shape
    (1,)).

    Attributes
    ----------
    plan : Plan
    seed : int
    groups : int
        Groups of 1024 clones in a round.
    restart : int
        Sweeps of a round.
    target : int
        Violated clauses that end the search.
    max_sweeps : int
        Sweeps of all rounds together.
    anytime : bool
        Count violated clauses at every look, not only at the end of a round.
    watch : Watch or None
        What is told of improvements at once, in this process.
    """

    name = "xorsat.quasi_greedy"
    unit = "rounds"

    plan: Plan
    seed: int
    groups: int
    restart: int
    target: int
    max_sweeps: int
    anytime: bool
    watch: Watch | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the watch, which belongs to this process."""
        return {**self.__dict__, "watch": None}

    def digest(self) -> str:
        """Hash of the dynamics, the seed and the schedule."""
        schedule = (self.seed, self.groups, self.restart, self.target, self.max_sweeps, self.exact)
        return hashlib.sha256((self.plan.digest + repr(schedule)).encode()).hexdigest()

    @property
    def exact(self) -> bool:
        """Whether a solution stays once it is found, so that its first sweep can be looked up later."""
        return self.target == 0 and self.plan.absorbing and not self.anytime

    @property
    def look(self) -> int:
        """Sweeps between looks on the CPU."""
        return _LOOK_CPU if self.exact else LOOK

    @cached_property
    def cuda(self) -> CudaClones:
        """The same on a GPU."""
        from hardscape.xorsat.methods.quasi_greedy.cuda import CudaClones

        return CudaClones.build(self.plan, exact=self.exact)

    def shards(self) -> Sequence[Shard]:
        """One round each."""
        rounds = -(-self.max_sweeps // self.restart)
        return split(rounds, max(rounds, 1))

    def sweeps(self, number: int) -> int:
        """Sweeps of round `number`; the last one may be shorter."""
        return min(self.restart, self.max_sweeps - number * self.restart)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Run one round."""
        if context.device.kind == "cuda":
            result = self.cuda.run(
                self, shard.start, context.device.ordinal, lambda: bool(context.stop[0])
            )
        else:
            result = run_on_cpu(self, shard.start, context.stop)
        rows = np.array(result.improvements, dtype=np.int64).reshape(-1, 4)
        counted = np.array([result.group_sweeps], dtype=np.uint64)
        partial = {"improvements": rows, "group_sweeps": counted}
        return ShardResult(partial, result.complete)

    def assignment(self, best: Best) -> NDArray[np.uint8]:
        """Values of the variables of a clone, by running it again from its start."""
        clone = best.round * self.groups * GROUP + best.clone
        values: NDArray[np.uint8] = self.plan.kernel.spins(self.seed, clone, best.sweep)
        return values

    def sweeps_until(self, best: Best) -> int:
        """Sweeps of each clone until then, those of earlier rounds included."""
        return best.round * self.restart + best.sweep

    def tell(self, number: int) -> Callable[[int, int], None] | None:
        """What to call with violated clauses and sweep of an improvement of round `number`.

        The one at the target ends the search, and is only counted exactly then.
        """
        if self.watch is None:
            return None
        watch, before = self.watch, number * self.restart

        def tell(violated: int, sweep: int) -> None:
            if violated > self.target:
                watch.offer(violated, before + sweep)

        return tell

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The improvements of `left`, then what is better still; ties go to the earlier round."""
        known, later = left["improvements"], right["improvements"]
        bound = known[-1, 0] if len(known) else np.iinfo(np.int64).max
        return {
            "improvements": np.concatenate([known, later[later[:, 0] < bound]]),
            "group_sweeps": left["group_sweeps"] + right["group_sweeps"],
        }

    def finished(self, partial: Partial) -> bool:
        """Whether the target is reached."""
        rows = partial["improvements"]
        return bool(len(rows)) and int(rows[-1, 0]) <= self.target


def run_on_cpu(work: QuasiGreedyWork, number: int, stop: NDArray[np.uint8]) -> Round:
    """Run round `number` until its end, its target, or until `stop` becomes 1."""
    found, group_sweeps, complete = work.plan.kernel.run(
        work.seed,
        number * work.groups,
        work.groups,
        work.sweeps(number),
        work.look,
        work.target,
        work.exact,
        stop,
        work.tell(number),
    )
    improvements = (Best(violated, number, sweep, clone) for violated, sweep, clone in found)
    return Round(tuple(improvements), group_sweeps, complete)


def default_groups(plan: Plan, device: Device) -> int:
    """Groups of a round: one for a thread of the CPU, and what a GPU runs at once."""
    if device.kind == "cpu":
        return 1
    from hardscape.xorsat.methods.quasi_greedy.cuda import CudaClones

    return CudaClones.build(plan, exact=True).groups_at_once(device.ordinal)
