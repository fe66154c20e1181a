"""The block search as work for the engine: chunks of states, searched on CPU threads or GPUs."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
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
from hardscape.ising.exact import from_limbs, to_limbs
from hardscape.ising.methods.exhaustive.blocks import (
    COUNTERS,
    QUICK_BITS,
    BlockSearch,
    CpuSide,
    Found,
    Side,
    Walk,
    Wanted,
)
from hardscape.ising.methods.exhaustive.cuda import CudaSide
from hardscape.ising.result import spectral_order, to_codes

SIDES: dict[type[Device], type[Side]] = {Cpu: CpuSide, Cuda: CudaSide}
#: States up to which sorting them anew is the quickest way to merge them with their partners.
_FEW_STATES = 4096
#: Spins whose states can all be visited.
_MOST_VISITED = 64
#: Parts for which the tree is estimated, and nodes of a position that go on in this estimate.
_PART_BITS, KEPT = 10, 4
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
class BlockWork(Work[Found]):
    """The chunks of a `BlockSearch`. Models without fields give one of each two partners.

    A partial holds ``states`` and ``energies``, as `Found`, and ``counters``.
    """

    name: ClassVar[str] = "ising.spectrum"
    revision: ClassVar[int] = 2
    unit: ClassVar[str] = "states"

    search: BlockSearch
    threshold: int | None = None  #: exact energy that no wanted state lies above; a hint
    #: States known before, of those that are searched: the best so far of a call that is stopped.
    known: Partial | None = None

    @classmethod
    def around_low_state(cls, wanted: Wanted, walk: Walk, options: RunOptions) -> BlockWork:
        """Search around a state found by tabu search, in chunks that suit the first device."""
        most_bits = SIDES[type(options.devices[0])].most_bits
        on_cpus = all(isinstance(device, Cpu) for device in options.devices)
        search = BlockSearch(wanted, 0, walk, most_bits, divisible=walk.prune and on_cpus)
        if search.tiny:
            return cls(search)
        low = search.low_states(options.seed)
        gauge = int.from_bytes(low["states"][0].astype("<u8").tobytes(), "little")
        return cls(replace(search, gauge=gauge), known=search.joined(None, low))

    def knowing(self, states: NDArray[np.int8]) -> BlockWork:
        """The same work with states, int8 of shape (k, N), that somebody knows."""
        if not len(states):
            return self
        return replace(self, known=self.search.joined(self.known, self.search.packed(states)))

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
        known = search.joined(self.known, found)
        return BlockWork(search, search.wanted.limit(known), known)

    def best_so_far(self, partial: Partial | None) -> Found:
        """The answer of a call that was stopped: of what it found, and of what was known before."""
        return self.result(self.search.joined(self.known, partial or self.search.nothing()))

    def lower_bound(self, done: Sequence[tuple[int, int]], found: Found) -> int | None:
        """No state has a lower energy, where all states of these ranges of units are in `found`, or higher."""
        search, cutoff = self.search, self.wanted.cutoff
        known = from_limbs(found.energies[:1]) or ([] if cutoff is None else [cutoff + 1])
        if search.tiny:
            return min(known, default=None) if done else None
        ends = [0, *(x for both in done for x in both), 1 << search.free]
        left = [(x, y) for x, y in zip(ends[::2], ends[1::2], strict=True) if x < y]
        bound = search.least_bound(left)
        return min([*known, *([] if bound is None else [bound])], default=None)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the sides, which each process makes for itself.
        return BlockWork, (self.search, self.threshold)

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

    def hint(self, known: Partial | None, parts: Sequence[Partial]) -> Partial | None:
        """The exact energy that no wanted state lies above, ``limit``."""
        limit = self.wanted.limit_of(parts)
        if limit is None or (known is not None and from_limbs(known["limit"])[0] <= limit):
            return known
        return {"limit": to_limbs([limit], self.wanted.terms.limbs)}

    def result(self, partial: Partial) -> Found:
        """The states found, with their flip partners where the model has no fields."""
        lowest = self.wanted.cut(partial["states"], partial["energies"])
        states, energies = lowest["states"], lowest["energies"]
        if self.wanted.terms.symmetric:
            states, energies = self._with_partners(states, energies)
        counters = dict(zip(COUNTERS, map(int, partial["counters"].tolist()), strict=True))
        return Found(states, energies, counters)

    def _with_partners(
        self, states: NDArray[np.uint64], energies: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The lowest of these states and their flip partners."""
        partners = states ^ to_codes([(1 << self.wanted.terms.num_spins) - 1], self.search.words)
        if len(states) <= _FEW_STATES:
            states = np.concatenate([states, partners])
            energies = np.concatenate([energies, energies])
            order = spectral_order(energies, states)[: self.wanted.count]
            return states[order], energies[order]
        # The partners of a level's states are in order from the last to the first.
        changes = np.flatnonzero((energies[1:] != energies[:-1]).any(axis=1)) + 1
        starts = np.concatenate([[0], changes])
        sizes = np.diff(np.append(starts, len(states)))
        mirrored = np.repeat(2 * starts + sizes - 1, sizes) - np.arange(len(states))
        return native.vector.ising.merge_spectra(
            states, energies, partners[mirrored], energies, self.wanted.count
        )

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The lowest states of both."""
        return self.wanted.merge(left, right)

    def states_searched(self, units: int) -> int:
        """A unit is a state, or two partners."""
        return units << self.wanted.terms.symmetric

    def memory_bytes(self, lanes: int) -> int:
        """A pool and its sorted copy a lane, the merged ones, and the result's states."""
        terms = self.wanted.terms
        lists = (3 * lanes + 4) * 8 * (1 + terms.limbs)
        states = 2 * (terms.num_spins + 8) * (1 + self.wanted.terms.symmetric)
        return self.wanted.count * (lists + states)

    def limit(self, incumbent: Partial | None) -> int | None:
        """Tightest energy known that no wanted state lies above."""
        known = [] if self.threshold is None else [self.threshold]
        told = [] if incumbent is None else from_limbs(incumbent["limit"])
        return min(known + told, default=None)

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


class LowestMethod(ABC):
    """A row of the table of `spectrum`: how it walks the blocks, and under which floors."""

    name: ClassVar[str]
    walk: ClassVar[Walk]

    @abstractmethod
    def refusal(self, num_spins: int, prune: bool) -> str:
        """Why this method is not the one to answer; empty if it is."""

    def floors(self, search: BlockSearch, options: RunOptions) -> tuple[int, ...]:
        """Floors raised before the search; none by default."""
        return ()

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> BlockWork:
        """The work that answers, with all hints that its shards profit from, and the states given."""
        work = BlockWork.around_low_state(wanted, self.walk, options)
        if given is not None:
            work = work.knowing(given)
        if work.search.tiny:
            return work
        return work.with_hints(self.floors(work.search, options), options)


class Exhaustive(LowestMethod):
    """Every block is filtered: 2**N states at some 1e10 a second and core, 1e13 a second and GPU."""

    name: ClassVar[str] = "exhaustive"
    walk: ClassVar[Walk] = Walk(prune=False, mid=10, most_chunks=None)

    def refusal(self, num_spins: int, prune: bool) -> str:
        """Where there are more states than anybody visits."""
        if num_spins <= _MOST_VISITED:
            return ""
        return f"all states of more than {_MOST_VISITED} spins are too many to visit"
