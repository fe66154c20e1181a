"""The frontier program on GPUs: numbered states, a launch for each row."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Kernel, Shard, ShardResult, cuda_device, kernel
from hardscape.permanents.methods.frontier.order import FrontierOrder
from hardscape.permanents.methods.frontier.work import FrontierSumWork, FrontierWork
from hardscape.permanents.numbers.bounded import TINY
from hardscape.permanents.numbers.integers import residues_of, rings_of

_THREADS = 256
#: Magnitudes below which values are multiplied with a power of two, and that.
_SMALL, _SHIFT = 2.0**-256, 256
#: Primes modulo which a launch finds residues, at most.
PRIMES_AT_ONCE = 4
#: An entry as the kernel reads it, unless it is one of residues.
_ENTRY = np.dtype(
    [("whole", "<i8"), ("re", "<f8"), ("im", "<f8"), ("size", "<f8"), ("error", "<f8")]
)


def _row_kernel(words: int, primes: int, parts: int, signed: bool, errors: bool) -> Kernel:
    numbers = {"kWords": words, "kPrimes": primes, "kParts": parts}
    sizes = {**numbers, "kSigned": int(signed), "kErrors": int(errors)}
    return kernel("permanents/methods/frontier/frontier.cu", "frontier_row", constants=sizes)


def words_kernel(words: int) -> Kernel:
    """The kernel for integers of some words, as data."""
    return _row_kernel(words, 0, 1, True, False)


def residues_kernel(primes: int) -> Kernel:
    """That for residues modulo some primes."""
    return _row_kernel(0, primes, 1, True, False)


def sums_kernel(parts: int, signed: bool, errors: bool) -> Kernel:
    """That for sums in double precision."""
    return _row_kernel(0, 0, parts, signed, errors)


def _subsets(mask: int) -> NDArray[np.uint32]:
    """The subsets of a mask, in increasing order."""
    found = np.zeros(1, dtype=np.uint32)
    while mask:
        bit = mask & -mask
        found = np.concatenate([found, found | np.uint32(bit)])
        mask ^= bit
    return found


@dataclass(frozen=True, eq=False)
class _Layer:
    """The subsets of `used` columns of a mask, numbered as in layers.hpp."""

    mask: int
    used: int
    split: int
    width: int

    @property
    def low_mask(self) -> int:
        """Columns of the low half."""
        return self.mask & ((1 << self.split) - 1)

    @functools.cached_property
    def lows(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Low halves in the order of their numbers of columns, and where each number of them begins."""
        subsets = _subsets(self.low_mask)
        counts = np.bitwise_count(subsets)
        starts = np.searchsorted(np.sort(counts), np.arange(self.low_mask.bit_count() + 2))
        return subsets[np.argsort(counts, kind="stable")], starts.astype(np.uint32)

    @functools.cached_property
    def places(self) -> NDArray[np.int32]:
        """The place of each low half among those of as many columns; -1 for what is none."""
        found = np.full(1 << self.split, -1, dtype=np.int32)
        subsets, starts = self.lows
        counts = np.bitwise_count(subsets)
        found[subsets] = np.arange(len(subsets), dtype=np.int32) - starts[counts].astype(np.int32)
        return found

    @functools.cached_property
    def highs(self) -> tuple[NDArray[np.uint32], NDArray[np.uint64], int]:
        """High halves of which there are states, the number of the first of them, and of all states."""
        subsets = _subsets(self.mask >> self.split)
        rest = self.used - np.bitwise_count(subsets).astype(np.int64)
        sizes = np.diff(self.lows[1].astype(np.int64))
        there = (rest >= 0) & (rest < len(sizes))
        count = sizes[rest[there]]
        offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.uint64)
        return subsets[there], offsets[:-1], int(offsets[-1])

    @functools.cached_property
    def offsets(self) -> NDArray[np.uint64]:
        """The number of the first state, by high half."""
        found = np.zeros(1 << (self.width - self.split), dtype=np.uint64)
        subsets, first, _ = self.highs
        found[subsets] = first
        return found


def _layers(order: FrontierOrder) -> list[_Layer]:
    """Those before each row and after the last one."""
    width = max((bit + 1 for slots in order.slots for _, bit in slots), default=0)
    layers = [_Layer(0, 0, width // 2, width)]
    for slots, closed in zip(order.slots, order.closed, strict=True):
        full = layers[-1].mask | sum(1 << bit for _, bit in slots)
        used = layers[-1].used + 1 - closed.bit_count()
        layers.append(_Layer(full & ~closed, used, width // 2, width))
    return layers


def _moves(now: _Layer, after: _Layer, closed: int, bit: int) -> NDArray[np.int32]:
    """What low halves of the new layer come from, if the row takes this column, or a high one for 0."""
    low = (after.lows[0] | np.uint32(closed)) ^ np.uint32(bit)
    bad = (low & np.uint32(bit)) | (low & ~np.uint32(now.low_mask))
    found: NDArray[np.int32] = np.where(bad != 0, -1, now.places[low & np.uint32(now.low_mask)])
    return found.astype(np.int32)


def run_rows(
    order: FrontierOrder,
    entries: NDArray[Any],
    row: Kernel,
    one: NDArray[np.uint64],
    rings: NDArray[np.uint64],
    context: Context,
    floating: bool = False,
) -> tuple[NDArray[np.uint64], float, int, bool]:
    """Take all rows, with `entries` in the order of the program, from the state `one`.

    `rings` are those of residues. Gives the numbers of the last state, what underflow may have taken,
    an exponent, and whether it was done.
    """
    layers = _layers(order)
    lost, power, first = 0.0, 0, 0
    with cuda_device(context.device.ordinal) as device:
        import cupy

        loaded = device.load(row)
        values = cupy.asarray(one[None])
        moduli = cupy.asarray(rings)
        for k, (slots, closed) in enumerate(zip(order.slots, order.closed, strict=True)):
            now, after = layers[k], layers[k + 1]
            highs, offsets, size = after.highs
            if context.stop[0]:
                return one, lost, power, False
            if not size or not slots:
                return np.zeros_like(one), lost, power, True
            half = (1 << now.split) - 1
            bits = [1 << bit for _, bit in slots]
            moved = np.stack([_moves(now, after, closed & half, bit & half) for bit in bits])
            grown = cupy.empty((size, len(one)), dtype=np.uint64)
            largest = int(np.diff(after.lows[1]).max())
            grid = (len(highs), max(1, min(65535, -(-largest // (4 * _THREADS)))))
            loaded(
                grid, _THREADS, values, grown,
                cupy.asarray(highs), cupy.asarray(offsets), cupy.asarray(after.lows[1]),
                cupy.asarray(moved), cupy.asarray(now.offsets),
                cupy.asarray(entries[first : first + len(slots)].view(np.uint8)), moduli,
                cupy.asarray(np.array([bit >> now.split for bit in bits], dtype=np.uint32)),
                np.int32(len(slots)), np.int32(moved.shape[1]), np.uint32(closed >> now.split),
                np.uint32(~(now.mask >> now.split) & 0xFFFFFFFF), np.int32(after.used),
            )  # fmt: skip
            first += len(slots)
            values = grown
            if floating:
                lost += 16 * TINY * size * len(slots)
                parts = values.view(np.float64)
                top = float(abs(parts).max())
                if 0 < top < _SMALL:
                    parts *= 2.0**_SHIFT
                    lost, power = lost * 2.0**_SHIFT, power - _SHIFT
        return cupy.asnumpy(values)[0], lost, power, True


@dataclass(frozen=True)
class CudaFrontierWork(FrontierWork):
    """The program for integers on GPUs: the same integers as on CPUs."""

    name: ClassVar[str] = "permanents.frontier.cuda"
    revision: ClassVar[int] = 1

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows of a part, modulo some primes after others."""
        order = self.cuts.order(self.order, shard.start)
        found = [run_rows(order, *given, context) for given in self._given(order)]
        values = np.concatenate([values for values, *_ in found])
        return ShardResult({"values": values}, all(complete for *_, complete in found))

    def _given(
        self, order: FrontierOrder
    ) -> Iterator[tuple[NDArray[Any], Kernel, NDArray[np.uint64], NDArray[np.uint64]]]:
        """Entries, kernel, first state and rings of each pass over the rows."""
        numbers = [self.matrix[i][j] for i, j in order.entries()]
        if self.words:
            entries = np.zeros(len(numbers), dtype=_ENTRY)
            entries["whole"] = numbers
            one = np.array([1] + [0] * (self.words - 1), dtype=np.uint64)
            yield entries, words_kernel(self.words), one, rings_of(())
        for first in range(0, len(self.primes), PRIMES_AT_ONCE):
            primes = self.primes[first : first + PRIMES_AT_ONCE]
            residues = np.ascontiguousarray(residues_of(numbers, primes).T)
            one = np.ones(len(primes), dtype=np.uint64)
            yield residues, residues_kernel(len(primes)), one, rings_of(primes)


@dataclass(frozen=True, eq=False)
class CudaFrontierSumWork(FrontierSumWork):
    """The program in double precision on GPUs, with the same bound."""

    name: ClassVar[str] = "permanents.frontier.double.cuda"
    revision: ClassVar[int] = 1

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows of a part."""
        order = self.cuts.order(self.order, shard.start)
        whole, errors, _ = self.scaled
        rows, columns = map(list, zip(*order.entries(), strict=True))
        chosen, error = whole[rows, columns], errors[rows, columns]
        parts = 2 if np.iscomplexobj(chosen) else 1
        wrong = bool(error.any())
        signed = wrong or parts == 2 or bool((chosen < 0).any())
        entries = np.zeros(len(chosen), dtype=_ENTRY)
        entries["re"], entries["im"] = chosen.real, chosen.imag
        entries["size"], entries["error"] = np.abs(chosen), error
        one = np.zeros(parts + signed + wrong)
        one[0] = one[parts if signed else 0] = 1
        row = sums_kernel(parts, signed, wrong)
        values, lost, power, complete = run_rows(
            order, entries, row, one.view(np.uint64), rings_of(()), context, floating=True
        )
        found = values.view(np.float64)
        magnitude, excess = found[parts if signed else 0], found[-1] if wrong else 0.0
        sums = np.array([*found[:parts], magnitude, excess, lost, float(power)])
        return ShardResult({"sums": sums}, complete)
