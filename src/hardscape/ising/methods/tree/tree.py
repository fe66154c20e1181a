"""The exhaustive search under a tree of lower bounds, which cuts most of it away.

A node fixes the spins above a position. No state below it is lower than the energy of the fixed spins, less
the fields on the open ones, plus the floor of their position: the least pair energy that the spins below it
can have. Floors are found by this very search, one position after the other (Russian doll search:
Verfaillie, Lemaitre, Schiex, AAAI 1996). Below the leaves, blocks are filtered as in `exhaustive`.

On a GPU only whole chunks and single blocks are cut: the tree leaves too little for one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import (
    Context,
    Device,
    Partial,
    RunOptions,
    Shard,
    ShardResult,
    Team,
    Work,
    solve,
    split,
    team,
)
from hardscape.ising.exact import from_limbs, to_limbs
from hardscape.ising.methods.exhaustive.blocks import BlockSearch, Walk, Wanted
from hardscape.ising.methods.exhaustive.method import BlockMethod
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.ising.methods.lowest import MOST_SEARCHED
from hardscape.ising.result import from_codes, to_codes

#: Floors are raised for all positions but the last ones, whose nodes are few.
_UNRAISED = 16
#: Most seconds that this may take, and most of the time limit.
_RAISE_SECONDS, _RAISE_SHARE = 5.0, 0.2
#: Positions up to which it takes milliseconds.
_BRIEF = 26
#: Seconds of a position from which on those above are searched on all threads, and on all of an executor.
_ALONE, _HERE = 2e-3, 0.2


@dataclass(frozen=True)
class Raised:
    """How far floors were raised."""

    floors: tuple[int, ...]
    position: int  #: the last whose floor is the least pair energy below it
    state: int  #: one that has it; bit set: the spin is as in the gauge state


@dataclass(frozen=True)
class FloorsWork(Work[Raised]):
    """Raise the floors of a search as far as the time allows; one shard, on all threads."""

    name: ClassVar[str] = "ising.spectrum.floors"
    revision: ClassVar[int] = 1

    search: BlockSearch
    seconds: float  #: the first position that takes so long is the last
    threads: int

    @property
    def position(self) -> int:
        """The last position to be raised."""
        return self.search.wanted.terms.num_spins - _UNRAISED

    def digest(self) -> str:
        """Hash of the model and its gauge."""
        terms = self.search.wanted.terms.canonical()
        return hashlib.sha256(terms + repr(self.search.gauge).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One: each floor is found from the last."""
        return split(1, 1)

    def brief(self, device: Device) -> bool:
        """Whether positions are few."""
        return self.position <= _BRIEF

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Raise them; those that are not reached still hold."""
        core, stop = self.search.layout.search, context.stop
        nothing = to_codes([0], self.search.words)[0]
        alone = self.seconds if self.threads == 1 else min(_ALONE, self.seconds)
        position, state = core.raise_floors(0, nothing, self.position, alone, stop, None, True)
        if self.threads > 1 and position < self.position and not stop[0]:
            with team(self.threads, stop) as lanes:
                position, state = self._together(lanes, position, state)
        found = {"floors": core.floors(), "position": np.array(position), "state": state}
        return ShardResult(found, complete=not context.stop[0])

    def _together(
        self, lanes: Team, position: int, state: NDArray[np.uint64]
    ) -> tuple[int, NDArray[np.uint64]]:
        core, crew = self.search.layout.search, native.vector.ising.Crew(lanes.size)
        reached: list[tuple[int, NDArray[np.uint64]]] = []

        def raised(rank: int) -> None:
            told = core.raise_floors(
                position, state, self.position, self.seconds, lanes.stop, crew, rank == 0
            )
            if rank == 0:
                reached.append(told)

        lanes.run(raised)
        return reached[0]

    def merge(self, left: Partial, right: Partial) -> Partial:
        """There is one shard."""
        return right

    def result(self, partial: Partial) -> Raised:
        """The floor of each position, and the last one's state."""
        floors, state = from_limbs(partial["floors"]), from_codes(partial["state"])
        return Raised(tuple(floors), int(partial["position"]), state)


class Tree(BlockMethod):
    """States are skipped where a bound excludes them."""

    name: ClassVar[str] = "tree"
    walk: ClassVar[Walk] = Walk(prune=True, mid=4, most_chunks=10)

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It is refused where every state is to be visited."""
        if not prune:
            return "prune=False visits every state"
        if wanted.terms.num_spins > MOST_SEARCHED:
            return f"'tree' takes at most {MOST_SEARCHED} spins"
        return ""

    def floors(self, search: BlockSearch, options: RunOptions) -> tuple[int, ...]:
        """Raise them within a share of the time limit; on an executor where that takes long."""
        limit = options.deadline.seconds
        seconds = _RAISE_SECONDS if limit is None else min(_RAISE_SECONDS, _RAISE_SHARE * limit)
        together = options.together(seconds)
        here = _HERE if search.divisible and options.executor is not None else math.inf
        work = FloorsWork(search, here, options.threads)
        if work.position < search.layout.low + search.layout.mid:
            return ()
        outcome = solve(work, options.preparing(seconds))
        raised = outcome.answer
        floors: tuple[int, ...] = () if raised is None else raised.floors
        while outcome.complete and raised is not None and raised.position < work.position:
            raised = _raised_by_one(search, raised, together)
            floors = floors if raised is None else raised.floors
        return floors


def _raised_by_one(search: BlockSearch, raised: Raised, options: RunOptions) -> Raised | None:
    """Find the floor of one position more on an executor, as the compiled core does; None if time was up."""
    p, geometry = raised.position, search.geometry
    field = sum(
        x if raised.state >> i & 1 else -x
        for x, i in zip(geometry.couplings[p][:p], geometry.order[:p], strict=True)
    )
    # The last state, with the new spin in its field's favour, must be beaten strictly.
    least, bit = raised.floors[p] - abs(field), 1 << geometry.order[p]
    state = raised.state | bit if field < 0 else raised.state & ~bit
    outcome = solve(BlockWork(search.of_pairs(p + 1, raised.floors), threshold=least - 1), options)
    found = outcome.answer
    if not outcome.complete or found is None:
        return None
    if len(found.states):
        least, state = from_limbs(found.energies)[0], from_codes(found.states[0]) ^ geometry.flips
    core = search.layout.search
    core.raise_floor(p + 1, to_limbs([least], search.wanted.terms.limbs)[0])
    return Raised(tuple(from_limbs(core.floors())), p + 1, state)
