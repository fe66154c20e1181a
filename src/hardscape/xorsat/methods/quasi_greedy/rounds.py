"""Rounds of clones: how they are laid out, what one comes to, and what a device does with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.arguments import integer
from hardscape.engine import Context, Device, Kernel
from hardscape.errors import InputError
from hardscape.xorsat.methods.quasi_greedy.plan import DYNAMICS, Dynamics, Plan, flip_table
from hardscape.xorsat.system import XorSystem

#: Clones that share their coins, and are started together.
GROUP = 1024
#: Sweeps between two looks at the number of violated clauses.
LOOK = 16
#: Sweeps of a round: they are numbered with 22 bits.
MAX_SWEEPS = (1 << 22) - 1
#: Clones of a round, and violated clauses to be content with, are numbered with 26 and 16 bits.
MAX_CLONES, MAX_TARGET = 1 << 26, (1 << 16) - 1
#: Sweeps of all rounds where no limit is given: more than anyone waits for.
_FOREVER = 1 << 62


class Best(NamedTuple):
    """The clone that came furthest: fewest violated clauses, then earliest, then lowest number."""

    violated: int  # no fewer than the target
    round: int
    sweep: int  # since the round began
    clone: int  # of the round


class Round(NamedTuple):
    """What one round came to."""

    #: Each with fewer violated clauses than all looks up to the same sweep; empty without a look.
    improvements: tuple[Best, ...]
    group_sweeps: int  # sweeps times groups
    complete: bool


@dataclass(frozen=True)
class Rounds:
    """Rounds of clones from random spins, each of them `restart` sweeps long, until one succeeds."""

    plan: Plan
    seed: int
    groups: int  # of 1024 clones in a round
    restart: int  # sweeps of a round
    target: int = 0  # violated clauses that end the search
    max_sweeps: int = _FOREVER  # of all rounds together
    anytime: bool = False  # count violated clauses at every look, not only at the end of a round

    @cached_property
    def exact(self) -> bool:
        """Whether only solutions are looked for: their first sweep is then told exactly."""
        return self.target == 0 and not self.anytime

    def look(self, usual: int) -> int:
        """Sweeps between looks: what is `usual` for solutions where one stays once it is found, else 1."""
        if not self.exact:
            return LOOK
        return usual if self.plan.absorbing else 1

    def seeded(self, seed: int) -> Rounds:
        """The same with another seed; quicker than `replace`, which shows where a run takes 30 us."""
        rest = (self.groups, self.restart, self.target, self.max_sweeps, self.anytime)
        return Rounds(self.plan, seed, *rest)

    @property
    def updates(self) -> int:
        """Spin updates of a round."""
        return self.groups * GROUP * self.restart * self.plan.updates

    def sweeps(self, number: int) -> int:
        """Sweeps of round `number`; the last one may be shorter."""
        return min(self.restart, self.max_sweeps - number * self.restart)

    def sweeps_until(self, best: Best) -> int:
        """Sweeps of each clone until then, those of earlier rounds included."""
        return best.round * self.restart + best.sweep

    def assignment(self, best: Best) -> NDArray[np.uint8]:
        """Values of the variables of a clone, by running it again from its start."""
        clone = best.round * self.groups * GROUP + best.clone
        return self.plan.kernel.spins(self.seed, clone, best.sweep)


#: Called with violated clauses and sweep (since the round began) of each improvement of a round.
Tell: TypeAlias = Callable[[int, int], None] | None


class Side(ABC):
    """What one type of device does with rounds."""

    @abstractmethod
    def groups(self, plan: Plan, device: Device) -> int:
        """Groups of a round where nobody says how many."""

    @abstractmethod
    def brief(self, rounds: Rounds) -> bool:
        """Whether a round is over in milliseconds, or asks by itself whether to stop."""

    def kernel(self, rounds: Rounds) -> Callable[[], Kernel] | None:
        """What has to be compiled before rounds run; None where nothing has."""
        return None

    @abstractmethod
    def run(self, rounds: Rounds, number: int, context: Context, tell: Tell) -> Round:
        """Run round `number` until its end, its target, or a stop."""


@dataclass(frozen=True)
class Schedule:
    """What a user says about the rounds; arguments of :func:`hardscape.xorsat.quasi_greedy`."""

    w1: ArrayLike | None = None
    clones: int | None = None
    restart: int | None = None
    target: int = 0
    anytime: bool | None = None
    max_sweeps: int | None = None
    dynamics: Dynamics = "quasi-greedy"

    def __post_init__(self) -> None:
        if self.dynamics not in DYNAMICS:
            known = ", ".join(DYNAMICS)
            raise InputError(f"dynamics={self.dynamics!r}; {known} are accepted")
        limits = {"clones": MAX_CLONES, "restart": MAX_SWEEPS, "max_sweeps": _FOREVER}
        for name, most in limits.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, integer(value, name, 1, most))
        object.__setattr__(self, "target", integer(self.target, "target", 0, MAX_TARGET))
        if self.w1 is not None:
            flip_table(self.w1, 1, self.dynamics)

    def rounds(self, system: XorSystem, seed: int, side: Side, device: Device) -> Rounds:
        """Lay the rounds out for a device."""
        plan = Plan.build(system, self.w1, self.dynamics)
        many = system.num_clauses > system.num_variables
        # Long against the few hundred sweeps in which clones settle at the threshold energy.
        longest = int(np.clip(64 * system.num_variables, 1024, 1 << 20))
        return Rounds(
            plan,
            seed,
            side.groups(plan, device) if self.clones is None else -(-self.clones // GROUP),
            self.restart or longest,
            self.target,
            self.max_sweeps or _FOREVER,
            self.target > 0 or many if self.anytime is None else bool(self.anytime),
        )
