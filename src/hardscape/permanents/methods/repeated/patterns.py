r"""Permanents of one matrix for many patterns of rows and columns, by Glynn's formula over multiplicities.

In the sum of :mod:`hardscape.permanents.methods.repeated.repeated` the sums :math:`s_j` depend on the
rows alone, so that patterns of the same rows share them, and the products :math:`\prod_j s_j^{c_j}` of
those whose columns begin alike have a common factor. On a CPU patterns are sorted for that: each of all
patterns of n photons in many modes then takes little more than one multiplication a term. On GPUs a thread
has a pattern.

The sums :math:`s_j` are not exact here. A term is a product of n of them and rounds by about
:math:`n^{3/2} u`, independently of the others, so :math:`16 (8 + n^{3/2}) u` times the root of the sum of
the terms' squares is hardly ever exceeded by the error.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import (
    Context,
    Cpu,
    Cuda,
    Device,
    Kernel,
    Partial,
    Shard,
    ShardResult,
    cuda_device,
    kernel,
    split,
)
from hardscape.permanents.methods.launch import Flight
from hardscape.permanents.methods.sums import InOrder
from hardscape.permanents.numbers.bounded import TINY, UNIT, shifted

#: Products of a shard on a CPU and of a sum that takes milliseconds, as powers of two.
_SHARD_BITS, _BRIEF_BITS = 27, 22
#: Threads of a block on GPUs, terms that it has sums for at a time, bytes of these sums, and products
#: of a launch as a power of two.
_THREADS, _TERMS, _SHARED, _LAUNCH_BITS = 128, 32, 40_000, 40


class Permanents(NamedTuple):
    """Permanents of patterns: arrays of shape (patterns,)."""

    values: NDArray[Any]  #: beyond float64 they are infinite
    likely_errors: NDArray[np.float64]  #: what errors probably stay below


def terms_of(rows: NDArray[Any]) -> NDArray[np.float64]:
    """How many terms the sum over each pattern of rows has; one copy of one row keeps its sign."""
    least = np.where(rows > 0, rows, rows.max(axis=1, keepdims=True, initial=1)).min(axis=1)
    terms: NDArray[np.float64] = np.prod(rows + 1.0, axis=1) * least / (least + 1)
    return terms


@dataclass(frozen=True, eq=False)
class PatternWork(InOrder[Permanents]):
    """Permanents for each pattern; a unit is a pattern.

    A partial holds ``found``, shape (k, parts + 1): parts of sums, and the sums of terms' squares.
    """

    matrix: NDArray[Any]  #: float64 or complex128, shape (m, n)
    rows: NDArray[np.int16]  #: multiplicities, shape (1 or patterns, m)
    cols: NDArray[np.int16]  #: shape (patterns, n); all add up to the same number, 1 or more

    unit: ClassVar[str] = "patterns"
    revision: ClassVar[int] = 1

    @property
    def copies(self) -> int:
        """What multiplicities add up to."""
        return int(self.cols[0].sum())

    @property
    def products(self) -> float:
        """Products of all terms."""
        share = len(self.cols) / len(self.rows)
        return float(terms_of(self.rows).sum()) * share * self.copies

    @property
    def exponent(self) -> int:
        """The power of two that is taken off the matrix."""
        size = max(np.abs(self.matrix.real).max(), np.abs(self.matrix.imag).max(), 0.0)
        return math.frexp(float(size))[1]

    @property
    def entries(self) -> NDArray[np.float64]:
        """The matrix without it, its parts along the last axis."""
        scaled = np.ascontiguousarray(shifted(self.matrix, np.array(-self.exponent)))
        return scaled.view(np.float64).reshape(*scaled.shape, -1)

    def shards(self) -> Sequence[Shard]:
        """Shards of equal numbers of patterns."""
        count = len(self.cols)
        return split(count, max(1, min(count, int(self.products) >> _SHARD_BITS)))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return isinstance(device, Cpu) and not int(self.products) >> _BRIEF_BITS

    @abstractmethod
    def sums(
        self, rows: NDArray[np.int16], cols: NDArray[np.int16], context: Context
    ) -> tuple[NDArray[np.float64], bool]:
        """Of some of the patterns, and whether all are done."""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum the formula for a range of patterns."""
        chosen = slice(shard.start, shard.stop)
        rows = self.rows if len(self.rows) == 1 else self.rows[chosen]
        found, complete = self.sums(rows, self.cols[chosen], context)
        return ShardResult({"found": found}, complete)

    def result(self, partial: Partial) -> Permanents:
        """Permanents and what their errors probably stay below."""
        found, n = partial["found"], self.copies
        power = np.array(self.exponent * n)
        values = np.ascontiguousarray(found[:, :-1]).view(self.matrix.dtype)[:, 0]
        # What underflows on the way stays far below.
        likely = 16 * UNIT * (8 + n**1.5) * np.sqrt(found[:, -1]) + math.sqrt(TINY)
        with np.errstate(over="ignore", under="ignore"):
            return Permanents(shifted(values, power), np.ldexp(likely, power))


@dataclass(frozen=True, eq=False)
class CpuPatternWork(PatternWork):
    """The sums on a CPU."""

    name: ClassVar[str] = "permanents.patterns"

    def sums(
        self, rows: NDArray[np.int16], cols: NDArray[np.int16], context: Context
    ) -> tuple[NDArray[np.float64], bool]:
        """By the compiled kernel, which sorts the patterns."""
        found: tuple[NDArray[np.float64], bool] = native.vector.permanents.repeated_patterns(
            self.entries,
            np.ascontiguousarray(rows),
            np.ascontiguousarray(cols),
            self.copies,
            context.stop,
        )
        return found


@dataclass(frozen=True, eq=False)
class CudaPatternWork(PatternWork):
    """The sums on GPUs."""

    name: ClassVar[str] = "permanents.patterns.cuda"

    def shards(self) -> Sequence[Shard]:
        """Shards of equal numbers of patterns, of a second or so."""
        count = len(self.cols)
        return split(count, max(1, min(count, max(8, int(self.products) >> 42), count >> 14)))

    def kernel(self, rows: int, width: int) -> Kernel:
        """The kernel for patterns of so many distinct rows, of a matrix of so many columns."""
        parts = 2 if np.iscomplexobj(self.matrix) else 1
        sizes = {
            "kParts": parts,
            "kCopies": self.copies,
            "kRows": rows,
            "kWidth": width,
            "kThreads": _THREADS,
            "kTerms": max(1, min(_TERMS, _SHARED // (8 * parts * width))),
        }
        source = "permanents/methods/repeated/patterns.cu"
        return kernel(source, "repeated_patterns", constants=sizes)

    def sums(
        self, rows: NDArray[np.int16], cols: NDArray[np.int16], context: Context
    ) -> tuple[NDArray[np.float64], bool]:
        """By the generated kernel, for one pattern of rows after the other."""
        different, which = np.unique(rows, axis=0, return_inverse=True)
        which = np.broadcast_to(which.ravel(), len(cols))
        found = np.zeros((len(cols), self.entries.shape[2] + 1))
        for i, row in enumerate(different):
            chosen = np.flatnonzero(which == i)
            found[chosen], complete = self._group(row, cols[chosen], context)
            if not complete:
                return found, False
        return found, True

    def _group(
        self, row: NDArray[np.int16], cols: NDArray[np.int16], context: Context
    ) -> tuple[NDArray[np.float64], bool]:
        """Of patterns that have the same rows."""
        place = np.flatnonzero(row)
        place = place[np.argsort(row[place], kind="stable")]
        counts = row[place].astype(np.int32)
        radix = counts + (np.arange(len(counts)) > 0).astype(np.int32)
        used = np.flatnonzero(cols.any(axis=0))
        lists = np.repeat(
            np.tile(np.arange(len(used), dtype=np.uint16), len(cols)), cols[:, used].ravel()
        ).reshape(len(cols), self.copies)
        entries = np.ascontiguousarray(self.entries[place][:, used])
        terms = math.prod(radix.tolist())
        # Launches of whole rounds of terms.
        most = max(_TERMS, (1 << _LAUNCH_BITS) // (len(cols) * self.copies))
        with cuda_device(context.device.ordinal) as device:
            import cupy

            loaded = device.load(self.kernel(len(place), len(used)))
            given, ratio = cupy.asarray(entries), cupy.asarray(radix)
            columns = cupy.asarray(np.ascontiguousarray(lists.T))
            out = cupy.zeros((len(cols), entries.shape[2] + 1))
            flight = Flight(device, context.stop)
            for first in range(0, terms, most):
                if not flight.goes_on():
                    break
                places = np.uint64(first), np.uint64(min(terms, first + most))
                blocks = -(-len(cols) // _THREADS)
                loaded(blocks, _THREADS, given, ratio, columns, np.uint64(len(cols)), *places, out)
            device.synchronize()
            return out.get(), flight.complete


#: The side of each type of device.
PATTERNS: dict[type[Device], type[PatternWork]] = {Cpu: CpuPatternWork, Cuda: CudaPatternWork}
