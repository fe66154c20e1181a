"""The exhaustive search as work for the engine: chunks of states, searched on CPU threads or GPUs."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult, Work, split
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs
from hardscape.ising.layout import Geometry, Layout
from hardscape.ising.result import spectral_order

if TYPE_CHECKING:
    from hardscape.ising.cuda import CudaSearch

__all__ = ["CHUNK_BITS", "COUNTERS", "SpectrumWork", "first_state"]

#: Spins of a block of the CPU kernel.
_LOW = 14
#: Spins walked by Gray code below a root: few where the tree above cuts branches, more where it only costs.
_MID = {True: 4, False: 10}
#: Chunks have 2**28 states (milliseconds), if that makes 4 of them or more; above 64 chunks they grow, up to
#: what a lane does in a fraction of a second (2**34 states on a CPU, 2**40 on a GPU). Where most of them are
#: excluded by a bound there are 1024 at most.
_FEW_BITS, _MANY_BITS, _MOST_BITS, _SMALL_CHUNK_BITS = 2, 6, 10, 28
CHUNK_BITS = {"cpu": 34, "cuda": 40}
#: States near the gauge state that are searched for a first threshold.
_THRESHOLD_BITS = 26
#: Floors are raised for all positions but the last ones, whose nodes are few, and this long at most.
_UNRAISED, _RAISE_SECONDS = 16, 5.0
#: Spins of a block on CUDA, and the smallest chunk for it: a warp of roots.
_CUDA_LOW, CUDA_CHUNK_BITS = 12, 17
#: Counters that partials carry: blocks, blocks excluded by their bound, blocks listed, candidates.
COUNTERS = ("blocks", "pruned", "opened", "candidates")


def first_state(terms: ExactTerms, seed: int) -> int:
    """A low state, found by annealing with float64 couplings; deterministic."""
    n = terms.num_spins
    matrix = np.zeros((n, n))
    matrix[terms.row, terms.col] = terms.floats(terms.couplings)
    # Only ratios matter, and scaled couplings cannot overflow.
    scale = max(
        float(np.abs(matrix).max(initial=0)),
        float(np.abs(terms.floats(terms.fields)).max(initial=0)),
    )
    exponent = int(np.frexp(scale)[1])
    matrix = np.ldexp(matrix, -exponent)
    fields = np.ldexp(terms.floats(terms.fields), -exponent)
    return int(native.core().anneal(fields, matrix + matrix.T, 16, 100, seed))


@dataclass(frozen=True)
class SpectrumWork(Work[Partial]):
    """The `wanted` lowest states of a model of at most 64 spins, or all within a window.

    A partial holds ``states`` (uint64, shape (n,), bit i set: spin i is +1), their exact ``energies``
    (uint64 words, shape (n, limbs)), both in spectral order, and ``counters``. Models without fields
    are searched with one spin fixed; partners are left to the caller.

    Attributes
    ----------
    terms : ExactTerms
    gauge : int
        State around which the search starts.
    wanted : int
    window : int or None
        Exact units above the ground state.
    prune : bool
        Skip blocks by a lower bound on their energy.
    most_bits : int
        A chunk should have ``2**most_bits`` states at most.
    threshold : int or None
        Exact energy that no wanted state lies above; a hint.
    floors : tuple of int
        Lower bounds on the pair energy of the spins below each position; a hint, or empty.
    in_order : bool
        Walk the tree by position, which meets low codes first, instead of by the fields.
    """

    name = "ising.spectrum"
    unit = "states"
    wants_incumbent = True

    terms: ExactTerms
    gauge: int
    wanted: int
    window: int | None
    prune: bool
    most_bits: int = CHUNK_BITS["cpu"]
    threshold: int | None = None
    floors: tuple[int, ...] = ()
    in_order: bool = False

    def digest(self) -> str:
        """Hash of the model, of what is wanted and of the gauge, which shapes the chunks."""
        text = repr((self.gauge, self.wanted, self.window, self.chunk_bits)).encode()
        return hashlib.sha256(self.terms.canonical() + text).hexdigest()

    @cached_property
    def geometry(self) -> Geometry:
        """The model by position."""
        return Geometry.build(self.terms, self.gauge)

    @property
    def chunk_bits(self) -> int:
        """A chunk has ``2**chunk_bits`` states."""
        free = self.geometry.free
        small = min(_SMALL_CHUNK_BITS, free - _FEW_BITS)
        bits = max(_LOW, small, min(free - _MANY_BITS, self.most_bits))
        if self.prune:
            bits = max(bits, free - _MOST_BITS)
        return min(bits, free)

    def shards(self) -> Sequence[Shard]:
        """Chunks of states, by position."""
        free = self.geometry.free
        return split(1 << free, 1 << (free - self.chunk_bits))

    @cached_property
    def layout(self) -> Layout:
        """Widths and scales of the CPU kernel."""
        mid = min(_MID[self.prune], self.chunk_bits - _LOW)
        layout = Layout.build(self.geometry, _LOW, mid, _LOW + mid, self.in_order)
        if self.floors:
            layout.search.set_floors(to_limbs(self.floors, self.terms.limbs))
        return layout

    @cached_property
    def cuda(self) -> CudaSearch:
        """The same for CUDA, with its kernel."""
        from hardscape.ising.cuda import CudaSearch

        return CudaSearch.build(self)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Search one chunk."""
        limit = self.limit(context.incumbent)
        if self.geometry.free < _LOW:
            return ShardResult(self.enumerate())
        if self.on_gpu(context.device):
            return self.cuda.run(shard, context, limit)
        bits = self.layout.low + self.layout.mid
        return self.search_roots(shard.start >> bits, shard.stop >> bits, limit, context.stop)

    def on_gpu(self, device: Device) -> bool:
        """Whether chunks run on the GPU asked for; models of fewer than 17 spins never do."""
        return device.kind == "cuda" and self.chunk_bits >= CUDA_CHUNK_BITS

    def limit(self, found: Partial | None, known: int | None = None) -> int | None:
        """Tightest energy known that no wanted state lies above, given states found."""
        limits = [x for x in (self.threshold, known) if x is not None]
        if found is not None:
            energies = found["energies"]
            if len(energies) >= self.wanted:
                limits += from_limbs(energies[self.wanted - 1 : self.wanted])
            if self.window is not None and len(energies):
                limits.append(from_limbs(energies[:1])[0] + self.window)
        return min(limits, default=None)

    def search_roots(
        self, first: int, last: int, limit: int | None, stop: NDArray[np.uint8]
    ) -> ShardResult:
        """Search a range of roots on the calling thread."""
        states, energies, complete, *counters = self.layout.search.run(
            first, last, self.wanted, self.word(limit), self.word(self.window), self.prune, stop
        )
        return ShardResult(self.partial(states, energies, counters), complete)

    def open_blocks(self, blocks: NDArray[np.uint64], limit: int | None) -> Partial:
        """List the candidates of CPU blocks given by number."""
        states, energies, _, *counters = self.layout.search.open(
            blocks, self.wanted, self.word(limit), self.word(self.window)
        )
        return self.partial(states, energies, counters)

    def enumerate(self) -> Partial:
        """All states of a model too small for blocks."""
        free = self.geometry.free
        codes = np.arange(1 << free, dtype=np.uint64)
        energies = self.terms.words(unpack(codes, self.terms.num_spins))
        order = spectral_order(energies, (codes,))
        counters = np.array([0, 0, 0, len(codes)], dtype=np.uint64)
        return {**self.lowest(codes[order], energies[order]), "counters": counters}

    def prepared(self, seconds: float, stop: NDArray[np.uint8]) -> SpectrumWork:
        """Find floors, and a threshold near the gauge state: hints that all chunks profit from.

        Takes `seconds` at most for the floors, and less when `stop` is set.
        """
        if self.geometry.free < _LOW:
            return self
        layout = self.layout
        floors: tuple[int, ...] = ()
        if self.prune:
            timer = threading.Timer(min(seconds, _RAISE_SECONDS), stop.fill, (1,))
            timer.start()
            layout.search.raise_floors(self.terms.num_spins - _UNRAISED, stop)
            timer.cancel()
            floors = tuple(from_limbs(layout.search.floors()))
        stop.fill(0)
        above = layout.low + layout.mid
        roots = 1 << min(_THRESHOLD_BITS - above, self.geometry.free - above)
        found = self.search_roots(0, roots, None, stop).partial
        prepared = replace(self, threshold=self.limit(found), floors=floors)
        energies = found["energies"]
        half, last = self.wanted // 2, self.wanted - 1
        if len(energies) == self.wanted and (energies[half] == energies[last]).all():
            # Most wanted states tie. Which of them are listed depends on their codes, so the search
            # starts at the lowest codes, and what lies beyond the last of them is soon excluded.
            return replace(prepared, gauge=0, in_order=True)
        return prepared

    def estimate_seconds(self, device: Device, seconds: float) -> float:
        """Time of one lane for all chunks, from the first one and a sample of the others.

        Chunks near the gauge state, the first, hold most of the low states and take longest.
        """
        shards = self.shards()
        if self.on_gpu(device):
            self.run(shards[0], Context(device, None, np.zeros(1, dtype=np.uint8)))  # compiles
        first = self._timed([shards[0]], device, seconds / 3)
        if len(shards) == 1:
            return first
        others = [shards[i] for i in _spread(len(shards)) if i]
        return first + self._timed(others, device, seconds) * (len(shards) - 1)

    def _timed(self, shards: Sequence[Shard], device: Device, seconds: float) -> float:
        """Mean time of a chunk, from as many as `seconds` allow; the last may be partial."""
        stop = np.zeros(1, dtype=np.uint8)
        timer = threading.Timer(seconds, stop.fill, (1,))
        timer.start()
        began = time.perf_counter()
        done = 0.0
        try:
            for shard in shards:
                result = self.run(shard, Context(device, None, stop))
                blocks = int(result.partial["counters"][0])
                total = len(shard) >> (_CUDA_LOW if self.on_gpu(device) else _LOW)
                done += 1.0 if result.complete else blocks / total
                if stop[0]:
                    break
        finally:
            timer.cancel()
        return (time.perf_counter() - began) / max(done, 1e-300)

    def word(self, value: int | None) -> NDArray[np.uint64] | None:
        """Two's complement words of one integer, or None."""
        return None if value is None else to_limbs([value], self.terms.limbs)[0]

    @staticmethod
    def partial(
        states: NDArray[np.uint64], energies: NDArray[np.uint64], counters: Sequence[int]
    ) -> Partial:
        """Name the arrays of a partial."""
        return {
            "states": states,
            "energies": energies,
            "counters": np.array(counters, dtype=np.uint64),
        }

    def nothing(self) -> Partial:
        """The partial of no states."""
        limbs = self.terms.limbs
        empty = np.empty(0, dtype=np.uint64)
        return self.partial(empty, np.empty((0, limbs), dtype=np.uint64), [0] * len(COUNTERS))

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The lowest states of both."""
        if not len(right["states"]):
            return {**left, "counters": left["counters"] + right["counters"]}
        states, energies = native.core().merge_spectra(
            left["states"], left["energies"], right["states"], right["energies"], self.wanted
        )
        return {
            **self.lowest(states, energies),
            "counters": left["counters"] + right["counters"],
        }

    def lowest(self, states: NDArray[np.uint64], energies: NDArray[np.uint64]) -> Partial:
        """Cut sorted states to what is wanted."""
        count = min(len(states), self.wanted)
        if self.window is not None and count:
            top = from_limbs(energies[:1])[0] + self.window
            count = min(count, _count_up_to(energies, top))
        return {"states": states[:count], "energies": energies[:count]}


def _spread(count: int) -> list[int]:
    """Up to 4096 numbers below `count`, all over the range, in an order without trend."""
    return [(i * 2654435761 + count // 3) % count for i in range(min(count, 4096))]


def _count_up_to(energies: NDArray[np.uint64], top: int) -> int:
    """Number of sorted exact energies at or below `top`."""
    low, high = 0, len(energies)
    while low < high:
        middle = (low + high) // 2
        if from_limbs(energies[middle : middle + 1])[0] <= top:
            low = middle + 1
        else:
            high = middle
    return low


def unpack(codes: NDArray[np.uint64], num_spins: int) -> NDArray[np.int8]:
    """Spins -1 and +1, int8 of shape (n, num_spins), of packed states."""
    if num_spins == 0:
        return np.empty((len(codes), 0), dtype=np.int8)
    octets = np.ascontiguousarray(codes, dtype="<u8").view(np.uint8).reshape(len(codes), 8)
    bits = np.unpackbits(octets, axis=1, count=num_spins, bitorder="little")
    return bits.astype(np.int8) * np.int8(2) - np.int8(1)
