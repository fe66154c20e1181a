"""The exhaustive search as work for the engine: chunks of states, searched on CPU threads or GPUs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult, Work, split
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs
from hardscape.ising.layout import Geometry, Layout
from hardscape.ising.result import spectral_order

if TYPE_CHECKING:
    from hardscape.ising.cuda import CudaSearch

__all__ = ["COUNTERS", "SpectrumWork", "first_state"]

#: Spins of a block of the CPU kernel, and the most spins between two roots of it.
_LOW, _MID = 14, 14
#: A chunk has between 2**14 and 2**40 states, and there are 64 of them if N allows.
_CHUNK_BITS, _CHUNKS_BITS = (14, 40), 6
#: Smallest chunk for a GPU: a warp of roots of its blocks of 2**12 states.
CUDA_CHUNK_BITS = 17
#: Counters that partials carry: blocks, blocks excluded by their bound, blocks listed, candidates.
COUNTERS = ("blocks", "pruned", "opened", "candidates")


def first_state(terms: ExactTerms, seed: int) -> int:
    """A low state, found by annealing with float64 couplings; deterministic."""
    n = terms.num_spins
    matrix = np.zeros((n, n))
    matrix[terms.row, terms.col] = terms.floats(terms.couplings)
    # Only ratios matter, and scaled couplings cannot overflow.
    scale = max(float(np.abs(matrix).max(initial=0)), float(np.abs(terms.floats(terms.fields)).max(initial=0)))
    exponent = int(np.frexp(scale)[1])
    matrix = np.ldexp(matrix, -exponent)
    fields = np.ldexp(terms.floats(terms.fields), -exponent)
    return int(native.core().anneal(fields, matrix + matrix.T, 16, 100, seed))


@dataclass(frozen=True)
class SpectrumWork(Work):
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
    threshold : int or None
        Exact energy that no wanted state lies above; a hint.
    """

    name = "ising.spectrum"
    unit = "states"
    wants_incumbent = True

    terms: ExactTerms
    gauge: int
    wanted: int
    window: int | None
    prune: bool
    threshold: int | None = None

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
        least, most = _CHUNK_BITS
        return min(free, max(least, min(most, free - _CHUNKS_BITS)))

    def shards(self) -> Sequence[Shard]:
        """Chunks of states, by position."""
        free = self.geometry.free
        return split(1 << free, 1 << (free - self.chunk_bits))

    @cached_property
    def layout(self) -> Layout:
        """Widths and scales of the CPU kernel."""
        mid = min(_MID, self.chunk_bits - _LOW)
        return Layout.build(self.geometry, _LOW, mid, _LOW + mid)

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
        everything = self.partial(codes[order], energies[order], [0, 0, 0, len(codes)])
        return self.merge(everything, self.nothing())

    def with_threshold(self) -> SpectrumWork:
        """Search the first roots, those nearest to the gauge state, for a threshold for all the rest."""
        if self.geometry.free < _LOW:
            return self
        stop = np.zeros(1, dtype=np.uint8)
        energies = self.search_roots(0, 1, None, stop).partial["energies"]
        limit = self.limit({"energies": energies})
        return replace(self, threshold=limit)

    def sample_rate(self, device: Device, seconds: float) -> float:
        """States a second of one lane, from chunks (or roots) spread over the whole range."""
        stop = np.zeros(1, dtype=np.uint8)
        context = Context(device, None, stop)
        shards = self.shards()
        if self.geometry.free < _LOW or self.on_gpu(device):
            self.run(shards[0], context)  # compiles
            parts: list[Callable[[], Any]] = [
                partial(self.run, shards[i], context) for i in _spread(len(shards))
            ]
            size = 1 << self.chunk_bits
        else:
            bits = self.layout.low + self.layout.mid
            parts = [
                partial(self.search_roots, root, root + 1, self.threshold, stop)
                for root in _spread(1 << (self.geometry.free - bits))
            ]
            size = 1 << bits
        began = time.perf_counter()
        done = 0
        for part in parts:
            part()
            done += 1
            if time.perf_counter() - began > seconds:
                break
        return (done * size << self.geometry.symmetric) / (time.perf_counter() - began)

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
        states, energies = native.core().merge_spectra(
            left["states"], left["energies"], right["states"], right["energies"], self.wanted
        )
        if self.window is not None and len(states):
            top = from_limbs(energies[:1])[0] + self.window
            count = _count_up_to(energies, top)
            states, energies = states[:count], energies[:count]
        return {
            "states": states,
            "energies": energies,
            "counters": left["counters"] + right["counters"],
        }


def _spread(count: int) -> list[int]:
    """Up to 4096 numbers below `count`, all over the range, in an order without trend."""
    step = max(1, count // 4096) | 1
    return [(i * 2654435761 * step + count // 3) % count for i in range(min(count, 4096))]


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
