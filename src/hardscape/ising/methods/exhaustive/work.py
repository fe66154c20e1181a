"""The block search as work for the engine: chunks of states, searched on CPU threads or GPUs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import (
    Context,
    Cpu,
    Cuda,
    Device,
    Partial,
    RunOptions,
    Shard,
    ShardResult,
    Work,
    solve,
    split,
)
from hardscape.ising.methods.exhaustive.blocks import (
    COUNTERS,
    KEPT,
    QUICK_BITS,
    BlockSearch,
    CpuSide,
    Side,
    Walk,
    Wanted,
)
from hardscape.ising.methods.exhaustive.cuda import CudaSide
from hardscape.ising.methods.lowest import LowestWork
from hardscape.ising.result import from_codes

SIDES: dict[type[Device], type[Side]] = {Cpu: CpuSide, Cuda: CudaSide}
#: Parts for which the tree is estimated.
_PART_BITS = 10
#: Moves of the tabu search for the first states, the third power of the number of spins by this: the larger the
#: tree, the more it pays to know its threshold.
_MOVES = 8
#: Most of a time limit that a first threshold may take.
_HINT_SHARE = 0.25


@dataclass(frozen=True)
class NearGaugeWork(Work[Partial]):
    """The states near the gauge state, for a first threshold; one shard, on one thread."""

    name: ClassVar[str] = "ising.spectrum.near_gauge"
    revision: ClassVar[int] = 1

    search: BlockSearch

    def digest(self) -> str:
        """Hash of the model and its gauge."""
        terms = self.search.wanted.terms.canonical()
        return hashlib.sha256(terms + repr(self.search.gauge).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One."""
        return split(1, 1)

    def brief(self, device: Device) -> bool:
        """Whether few states are wanted."""
        return self.search.quick

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Search them; whatever is found is a hint."""
        return self.search.near_gauge(context.stop)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """There is one shard."""
        return right


@dataclass(frozen=True)
class BlockWork(LowestWork):
    """The chunks of a `BlockSearch`. Models without fields give one of each two partners.

    A partial holds ``states`` and ``energies``, as `Found`, and ``counters``.
    """

    name: ClassVar[str] = "ising.spectrum"
    revision: ClassVar[int] = 2
    unit: ClassVar[str] = "states"

    search: BlockSearch

    counters: ClassVar[tuple[str, ...]] = COUNTERS

    @classmethod
    def around_low_state(cls, wanted: Wanted, walk: Walk, options: RunOptions) -> BlockWork:
        """Search around a state found by tabu search, in chunks that suit the first device."""
        most_bits = SIDES[type(options.devices[0])].most_bits
        on_cpus = all(isinstance(device, Cpu) for device in options.devices)
        search = BlockSearch(wanted, 0, walk, most_bits, divisible=walk.prune and on_cpus)
        if search.tiny:
            return cls(search)
        work = cls(search)
        low = work.low_states(options.seed, moves=wanted.terms.num_spins**3 // _MOVES)
        gauge = from_codes(low["states"][0])
        return cls(replace(search, gauge=gauge), known=work.both(None, low))

    def with_hints(self, floors: tuple[int, ...], options: RunOptions) -> BlockWork:
        """Take floors that the core has raised, and a threshold from the states near the gauge state."""
        search = self.search.with_raised_floors(floors) if floors else self.search
        limit = options.deadline.seconds
        share = None if limit is None else _HINT_SHARE * limit
        outcome = solve(NearGaugeWork(search), options.preparing(share))
        found = outcome.answer or search.nothing()
        energies, count = found["energies"], search.wanted.count
        if len(energies) == count and (energies[count // 2] == energies[count - 1]).all():
            # Most wanted states tie. Which of them are listed depends on their codes, so the search
            # starts at the lowest codes, and what lies beyond the last of them is soon excluded.
            search = replace(search, gauge=0)
        known = self.both(self.known, found)
        return BlockWork(search, threshold=search.wanted.limit_of([known]), known=known)

    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """The least bound of the tree above these states."""
        return None if self.search.tiny else self.search.least_bound(ranges)

    def __getstate__(self) -> dict[str, Any]:
        # Without the sides, which each process makes for itself, and what only the client needs.
        state = {name: value for name, value in vars(self).items() if name != "sides"}
        return {**state, "known": None}

    @property
    def wanted(self) -> Wanted:
        """What is asked for."""
        return self.search.wanted

    @cached_property
    def sides(self) -> dict[type[Side], Side]:
        """One search for each type of device."""
        return {side: side(self.search) for side in SIDES.values()}

    def side(self, device: Device) -> Side:
        """Who searches chunks on `device`; the CPU does where they are too small or too long for it."""
        side = SIDES[type(device)]
        able = side.least_bits <= self.search.chunk_bits and self.search.words <= side.most_words
        return self.sides[side if able else CpuSide]

    def brief(self, device: Device) -> bool:
        """Whether chunks take milliseconds."""
        return self.search.tiny or (self.search.chunk_bits <= QUICK_BITS and self.search.quick)

    def shared(self) -> NDArray[np.uint64] | None:
        """The lowest states that are known, for searches under bounds."""
        if self.search.tiny or not self.search.walk.prune:
            return None
        return self.wanted.board(self.known or self.nothing())

    def digest(self) -> str:
        """Hash of the model, of what is wanted and of the gauge, which shapes the chunks."""
        wanted, search = self.wanted, self.search
        parts = (
            search.gauge,
            wanted.count,
            wanted.window,
            wanted.cutoff,
            search.shard_bits,
            search.below,
        )
        return hashlib.sha256(wanted.terms.canonical() + repr(parts).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """Chunks of states, by position, or parts of them."""
        return self._split(self.search.shard_bits)

    @property
    def chunks(self) -> Sequence[Shard]:
        """Chunks of states, by position."""
        return self._split(self.search.chunk_bits)

    def _split(self, bits: int) -> Sequence[Shard]:
        free = self.search.free
        return split(1 << free, 1 << (free - bits))

    def joined(self) -> int:
        """All shards where a tree is walked, which can be left in many places."""
        return 1 << (self.search.free - self.search.shard_bits) if self.search.divisible else 1

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Search a chunk, or a part of one."""
        if self.search.tiny:
            return ShardResult(self.search.everything())
        limit = self.limit(context.incumbent)
        return self.side(context.device).run(shard, context, limit)

    @property
    def parts(self) -> Sequence[Shard]:
        """Equal parts of the states, for estimates."""
        search = self.search
        return split(1 << search.free, 1 << min(_PART_BITS, search.free - search.root_bits))

    def expected(self, device: Device, incumbent: Partial | None) -> NDArray[np.float64] | None:
        """Sizes of the tree below parts; None where it is not walked, or there is no threshold yet."""
        limit = self.limit(incumbent)
        if limit is None or not self.walks(device):
            return None
        return self.search.expected(self.parts, limit, KEPT)

    def walks(self, device: Device) -> bool:
        """Whether a tree of bounds cuts the chunks on this device."""
        search = self.search
        return search.walk.prune and not search.tiny and isinstance(self.side(device), CpuSide)
