"""The exhaustive search under a tree of lower bounds, which cuts most of it away.

A node fixes the spins above a position. No state below it is lower than the energy of the fixed spins, less
the fields on the open ones, plus the floor of their position: the least pair energy that the spins below it
can have. Floors are found by this very search, one position after the other (Russian doll search:
Verfaillie, Lemaitre, Schiex, AAAI 1996). Below the leaves, blocks are filtered as in `exhaustive`.

On a GPU only whole chunks and single blocks are cut: the tree leaves too little for one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hardscape.engine import (
    Context,
    Device,
    Partial,
    RunOptions,
    Shard,
    ShardResult,
    Work,
    solve,
    split,
)
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.exhaustive.blocks import BlockSearch, Walk
from hardscape.ising.methods.exhaustive.work import LowestMethod

#: Floors are raised for all positions but the last ones, whose nodes are few.
_UNRAISED = 16
#: Most seconds that this may take, and most of the time limit.
_RAISE_SECONDS, _RAISE_SHARE = 5.0, 0.2
#: Positions up to which it takes milliseconds.
_BRIEF = 26


@dataclass(frozen=True)
class FloorsWork(Work[tuple[int, ...]]):
    """Raise the floors of a search as far as the time allows; one shard, on one thread."""

    name: ClassVar[str] = "ising.spectrum.floors"
    revision: ClassVar[int] = 1

    search: BlockSearch

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
        core = self.search.layout.search
        core.raise_floors(self.position, context.stop)
        return ShardResult({"floors": core.floors()}, complete=not context.stop[0])

    def merge(self, left: Partial, right: Partial) -> Partial:
        """There is one shard."""
        return right

    def result(self, partial: Partial) -> tuple[int, ...]:
        """The floor of each position."""
        return tuple(from_limbs(partial["floors"]))


class Tree(LowestMethod):
    """States are skipped where a bound excludes them."""

    name: ClassVar[str] = "tree"
    walk: ClassVar[Walk] = Walk(prune=True, mid=4, most_chunks=10)

    def refusal(self, num_spins: int, prune: bool) -> str:
        """It is refused where every state is to be visited."""
        return "" if prune else "prune=False visits every state"

    def floors(self, search: BlockSearch, options: RunOptions) -> tuple[int, ...]:
        """Raise them within a share of the time limit."""
        work = FloorsWork(search)
        if work.position < search.layout.low + search.layout.mid:
            return ()
        limit = options.deadline.seconds
        seconds = _RAISE_SECONDS if limit is None else min(_RAISE_SECONDS, _RAISE_SHARE * limit)
        return solve(work, options.preparing(seconds)).answer or ()
