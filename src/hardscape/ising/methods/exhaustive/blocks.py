"""Searching for the lowest states block by block: the part that does not depend on the device.

The states are cut into chunks, a chunk into blocks of states that share all spins but a few. A side
(`CpuSide`, `CudaSide`) finds the blocks of a chunk that may hold a wanted state.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs
from hardscape.ising.methods.exhaustive.layout import Geometry, Layout
from hardscape.ising.result import code_words, from_codes, spectral_order, to_codes, unpack

#: Spins of a block of the CPU kernel.
_LOW = 14
#: Chunks have 2**28 states (milliseconds), if that makes 4 of them or more; above 64 chunks they grow, up to
#: what a lane does in a fraction of a second (`Side.most_bits`).
_FEW_BITS, _MANY_BITS, _SMALL_CHUNK_BITS = 2, 6, 28
#: Most shards, as a power of two.
_MOST_SHARDS_BITS = 40
#: What takes milliseconds: states of a chunk (a power of two), states wanted, words of an energy.
QUICK_BITS, _QUICK_STATES, _QUICK_LIMBS = 24, 10_000, 4
#: States near the gauge state that are searched for a first threshold.
_THRESHOLD_BITS = 26
#: Nodes of the tree that take as long as the blocks of a root.
_ROOT_NODES = 5.0
#: Nodes of a position that go on in an estimate of the tree.
KEPT = 4
#: Nodes at which the tree is cut for a lower bound.
_BOUND_NODES = 2048
#: Energies that are looked at for a threshold.
_LOOKED_AT = 4096
#: States wanted up to which searches tell one another the lowest, and words of a board before the first.
_MOST_TOLD, _BOARD_HEAD = 2**14, 5
#: Counters that partials carry: blocks, blocks excluded by their bound, blocks listed, candidates.
COUNTERS = ("blocks", "pruned", "opened", "candidates")


@dataclass(frozen=True)
class Wanted:
    """The `count` lowest states, at most `window` exact units above the first, none above `cutoff`."""

    terms: ExactTerms
    count: int
    window: int | None
    cutoff: int | None = None

    @property
    def enough(self) -> int:
        """States that are searched, as many of which settle the threshold: each counts for its partner, too."""
        return -(-self.count // (1 + self.terms.symmetric))

    def word(self, value: int | None) -> NDArray[np.uint64] | None:
        """Two's complement words of one integer, or None."""
        return None if value is None else to_limbs([value], self.terms.limbs)[0]

    def limit(self, found: Partial | None, *known: int | None) -> int | None:
        """Tightest energy that no wanted state lies above: those known, and what `found` tells."""
        limits = [x for x in (*known, self.cutoff) if x is not None]
        if found is not None:
            energies = found["energies"]
            if len(energies) >= self.count:
                limits += from_limbs(energies[self.count - 1 : self.count])
            if self.window is not None and len(energies):
                limits.append(from_limbs(energies[:1])[0] + self.window)
        return min(limits, default=None)

    def limit_of(self, parts: Sequence[Partial]) -> int | None:
        """An energy that no wanted state lies above, by lists of states searched that have none in common.

        Of long lists each so manieth energy is looked at, which is an upper bound of those before it.
        """
        lists = [part["energies"] for part in parts]
        every = 1 + self.enough // _LOOKED_AT
        looked_at = np.concatenate([energies[every - 1 :: every] for energies in lists])
        enough = -(-self.enough // every)
        limits = [] if self.cutoff is None else [self.cutoff]
        if len(looked_at) >= enough:
            limits.append(_at_most(looked_at, enough - 1))
        whole = [x[self.enough - 1 : self.enough] for x in lists if len(x) >= self.enough]
        limits += [from_limbs(x)[0] for x in whole]
        if self.window is not None:
            first = [from_limbs(energies[:1])[0] for energies in lists if len(energies)]
            limits += [energy + self.window for energy in first]
        return min(limits, default=None)

    def board(self, known: Partial) -> NDArray[np.uint64] | None:
        """Where searches tell one another the lowest states, with those `known`: `board.hpp`.

        Long lists are not told, only the lowest state where there is a window.
        """
        room = self.count
        if room > _MOST_TOLD:
            if self.window is None:
                return None
            room = 1
        states = np.hstack([known["energies"], known["states"]])[:room]
        words = states.shape[1]
        board = np.zeros(_BOARD_HEAD + (1 + room) * words, dtype=np.uint64)
        board[2:4] = room, len(states)
        start = _BOARD_HEAD + words
        board[start : start + states.size] = states.ravel()
        return board

    def cut(self, states: NDArray[np.uint64], energies: NDArray[np.uint64]) -> Partial:
        """What is wanted of states in spectral order."""
        count = min(len(states), self.count)
        least = from_limbs(energies[:1])
        tops = [] if self.window is None else [x + self.window for x in least]
        tops += [] if self.cutoff is None else [self.cutoff]
        for top in tops:
            count = bisect_right(
                range(count), top, key=lambda i: from_limbs(energies[i : i + 1])[0]
            )
        return {"states": states[:count], "energies": energies[:count]}

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The lowest states of both; counters are added."""
        counters = left["counters"] + right["counters"]
        for one, other in ((left, right), (right, left)):
            if not len(other["states"]):
                return {**one, "counters": counters}
        states, energies = native.vector.ising.merge_spectra(
            left["states"], left["energies"], right["states"], right["energies"], self.count
        )
        return {**self.cut(states, energies), "counters": counters}


def _at_most(energies: NDArray[np.uint64], place: int) -> int:
    """An upper bound, off by some 2^-50 at most, of the energy at this place in ascending order."""
    high = energies[:, -1].view(np.int64)
    if energies.shape[1] == 1:
        return int(np.partition(high, place)[place])
    rough = float(np.partition(high * 2.0**64 + energies[:, -2], place)[place])
    above = int(rough) + (int(abs(rough)) >> 50) + 2**12
    return above << 64 * (int(energies.shape[1]) - 2)


@dataclass(frozen=True)
class Found:
    """The states that a method found, in spectral order."""

    states: NDArray[np.uint64]  #: shape (n, words); bit i set: spin i is +1
    energies: NDArray[np.uint64]  #: exact, in two's complement words, shape (n, limbs)
    counters: Mapping[str, int]  #: what the method did, for people
    bound: int | None = (
        None  #: no state has a lower energy, where the method stopped and knows as much
    )
    share: float | None = None  #: of the search that is done, where parts of a unit are known


@dataclass(frozen=True)
class Walk:
    """How a method walks the blocks."""

    #: Skip blocks, and branches of the tree above them, by a lower bound on their energy.
    prune: bool
    #: Spins walked by Gray code below a leaf of the tree: few where it cuts branches, else more.
    mid: int
    #: Logarithm of the most chunks: few where most of them are excluded by a bound.
    most_chunks: int | None


@dataclass(frozen=True)
class BlockSearch:
    """A search for what is `wanted`. Models without fields are searched with one spin fixed."""

    wanted: Wanted
    gauge: int  #: state around which the search starts
    walk: Walk
    most_bits: int  #: a chunk should have ``2**most_bits`` states at most
    #: Whether a chunk may be searched in parts: on CPUs, under a tree.
    divisible: bool = False
    #: Lower bounds on the pair energy of the spins below each position; a hint, or empty.
    floors: tuple[int, ...] = ()
    #: Positions below which alone the pair energy counts: a search for their floor. None: all of the model.
    below: int | None = None

    @cached_property
    def geometry(self) -> Geometry:
        """The model by position."""
        return Geometry.build(self.wanted.terms, self.gauge)

    @property
    def words(self) -> int:
        """64-bit words of a state."""
        return code_words(self.wanted.terms.num_spins)

    @property
    def free(self) -> int:
        """Number of spins that are searched: of pair energies all but the last, which may stay +1."""
        if self.below is not None:
            return self.below - 1
        return self.wanted.terms.num_spins - self.wanted.terms.symmetric

    @property
    def tiny(self) -> bool:
        """Whether the model is too small for blocks."""
        return self.free < _LOW

    @property
    def quick(self) -> bool:
        """Whether so few states are wanted of so short integers that small chunks take milliseconds."""
        return self.wanted.count <= _QUICK_STATES and self.wanted.terms.limbs <= _QUICK_LIMBS

    @property
    def chunk_bits(self) -> int:
        """A chunk, which is what a lane searches at once, has ``2**chunk_bits`` states."""
        free = self.free
        if free <= QUICK_BITS and self.quick:
            return free
        small = min(_SMALL_CHUNK_BITS, free - _FEW_BITS)
        bits = max(_LOW, small, min(free - _MANY_BITS, self.most_bits))
        if self.walk.most_chunks is not None:
            bits = max(bits, free - self.walk.most_chunks)
        return min(bits, free)

    @property
    def shard_bits(self) -> int:
        """Chunks that bounds cut hard are made of smaller shards, for lanes that have nothing else to do."""
        if not self.divisible:
            return self.chunk_bits
        return min(self.chunk_bits, max(_LOW + self.walk.mid, self.free - _MOST_SHARDS_BITS))

    @cached_property
    def layout(self) -> Layout:
        """Widths and scales of the compiled core."""
        mid = min(self.walk.mid, self.shard_bits - _LOW)
        layout = Layout.build(self.geometry, _LOW, mid, _LOW + mid)
        if self.floors:
            layout.search.set_floors(to_limbs(self.floors, self.wanted.terms.limbs))
        return layout

    def with_raised_floors(self, floors: tuple[int, ...]) -> BlockSearch:
        """The same search with floors that its core has raised."""
        return self._alike(floors=floors)

    def of_pairs(self, below: int, floors: tuple[int, ...]) -> BlockSearch:
        """A search for the least pair energy of the spins below a position."""
        return self._alike(
            floors=floors,
            below=below,
            wanted=replace(self.wanted, count=1, window=None, cutoff=None),
        )

    def _alike(self, **changes: Any) -> BlockSearch:
        """The same search but for `changes`, which its core does not see or has taken."""
        other = replace(self, **changes)
        vars(other).update(geometry=self.geometry, layout=self.layout)
        return other

    def __getstate__(self) -> dict[str, Any]:
        # A core is built anew from the floors.
        return {name: value for name, value in vars(self).items() if name != "layout"}

    def roots(
        self,
        first: int,
        last: int,
        limit: int | None,
        stop: NDArray[np.uint8],
        seconds: float = math.inf,
        shared: NDArray[np.uint64] | None = None,
    ) -> tuple[ShardResult, int]:
        """Search a range of roots of the tree on the calling thread.

        Before `last` it ends after so many seconds, or when `stop` becomes 2; it tells where.
        """
        word = self.wanted.word
        (states, energies, complete, *counters), reached = self.layout.search.run(
            self.below or self.wanted.terms.num_spins,
            to_codes([first, last], self.words),
            self.wanted.count,
            word(limit),
            word(self.wanted.window),
            self.wanted.terms.symmetric,
            shared,
            self.walk.prune,
            stop,
            self.shard_bits - self.root_bits,
            seconds,
        )
        return ShardResult(partial(states, energies, counters), complete), from_codes(reached)

    def opened(self, blocks: NDArray[np.uint64], limit: int | None) -> Partial:
        """List the candidates of CPU blocks given by number."""
        word = self.wanted.word
        states, energies, _, *counters = self.layout.search.open(
            blocks, self.wanted.count, word(limit), word(self.wanted.window)
        )
        return partial(states, energies, counters)

    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """No state of these ranges, in order and apart, has a lower energy; None without any."""
        if not ranges:
            return None
        roots = [x >> self.root_bits for both in ranges for x in both]
        words = self.layout.search.least_bound(to_codes(roots, self.words), _BOUND_NODES)
        return None if words is None else from_limbs(words)[0]

    @property
    def root_bits(self) -> int:
        """A root of the tree has ``2**root_bits`` states."""
        return self.layout.low + self.layout.mid

    def expected(self, parts: Sequence[Shard], limit: int, kept: int) -> NDArray[np.float64]:
        """How long ranges of states take under a threshold, in some unit, by an estimate of the tree.

        At each position at most `kept` nodes of a part go on.
        """
        bits = self.root_bits
        limbs = to_limbs([limit], self.wanted.terms.limbs)[0]
        expected, words = self.layout.search.expected, self.words
        roots = (to_codes([x.start >> bits, x.stop >> bits], words) for x in parts)
        sizes = (expected(both, limbs, kept) for both in roots)
        return np.array([nodes + _ROOT_NODES * roots for nodes, roots in sizes])

    def near_gauge(self, stop: NDArray[np.uint8]) -> ShardResult:
        """The lowest of the states near the gauge state."""
        above = self.root_bits
        roots = 1 << min(_THRESHOLD_BITS - above, self.free - above)
        return self.roots(0, roots, None, stop)[0]

    def everything(self) -> Partial:
        """What is wanted of all states of a tiny model."""
        terms = self.wanted.terms
        codes = np.arange(1 << self.free, dtype=np.uint64)[:, None]
        energies = terms.words(unpack(codes, terms.num_spins))
        order = spectral_order(energies, codes)
        lowest = self.wanted.cut(codes[order], energies[order])
        return {**lowest, "counters": np.array([0.0, 0.0, 0.0, len(codes)])}

    def nothing(self) -> Partial:
        """The partial of no states."""
        empty = np.empty((0, self.wanted.terms.limbs), dtype=np.uint64)
        return partial(np.empty((0, self.words), dtype=np.uint64), empty, [0.0] * len(COUNTERS))


def partial(
    states: NDArray[np.uint64], energies: NDArray[np.uint64], counters: Sequence[float]
) -> Partial:
    """Name the arrays of a partial."""
    return {
        "states": states,
        "energies": energies,
        "counters": np.array(counters, dtype=np.float64),
    }


class Side(ABC):
    """The search of one model's chunks on one type of device."""

    low: ClassVar[int]  #: spins of a block
    least_bits: ClassVar[int]  #: logarithm of the smallest chunk that runs here
    most_bits: ClassVar[int]  #: logarithm of the largest that should
    most_words: ClassVar[int]  #: words of the longest states

    def __init__(self, search: BlockSearch) -> None:
        self.search = search

    def prepare(self, device: Device) -> None:  # noqa: B027
        """Do what the first chunk would otherwise wait for; nothing by default."""

    @abstractmethod
    def run(self, shard: Shard, context: Context, limit: int | None) -> ShardResult:
        """Search one chunk for states at or below `limit`."""


class CpuSide(Side):
    """Chunks on the calling thread: the compiled core walks and filters blocks, and lists what passes."""

    low = _LOW
    least_bits, most_bits, most_words = _LOW, 34, 2

    def run(self, shard: Shard, context: Context, limit: int | None) -> ShardResult:
        """Search one chunk, or shards that are joined."""
        search, bits = self.search, self.search.root_bits
        first, last = shard.start >> bits, shard.stop >> bits
        result, reached = search.roots(
            first, last, limit, context.stop, context.seconds, context.shared
        )
        if reached == last:
            return result
        return replace(result, left=reached >> (search.shard_bits - bits))
