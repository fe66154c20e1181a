"""Permanents of many dense matrices of one size, in double precision by Glynn's formula."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import to_device
from hardscape.engine import Context, Cpu, Cuda, Device, Partial, Shard, ShardResult, split
from hardscape.permanents.methods.glynn.cuda import LEAST_SIDE, NOT_FINITE, glynn_kernels
from hardscape.permanents.methods.sums import InOrder, digest
from hardscape.permanents.numbers.bounded import UNIT

#: Terms of a matrix that take no longer than setting up its sum, as a power of two.
_SET_UP_BITS = 9
#: High parts, low parts and magnitudes of sums, exponents, and whether all are complete.
Sums: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int32], bool]


@dataclass(frozen=True, eq=False)
class GlynnBatch:
    """Permanents of a batch: arrays of shape (batch,)."""

    values: NDArray[Any]  #: beyond float64 they are infinite, with the right sign
    error_bounds: NDArray[np.float64]  #: estimates that are hardly ever exceeded, not proven
    likely_errors: NDArray[np.float64]  #: as `BoundedNumber.likely_error`
    finite: NDArray[np.bool_]  #: whether all entries are


@dataclass(frozen=True, eq=False)
class BatchWork(InOrder[GlynnBatch]):
    """Glynn's formula for each matrix of a batch. A unit is a matrix.

    A partial holds ``sum`` (float64, shape (k, parts)) and ``magnitude`` (shape (k,), the sum of the
    terms' magnitudes) of k matrices, both to be multiplied with 2 to the power ``exponent`` (int64),
    and ``finite`` (bool), whether all their entries are.
    """

    matrices: NDArray[Any]  #: shape (batch, n, n), n from 1 to 63; of CuPy if it is on a GPU

    unit: ClassVar[str] = "matrices"
    #: Smallest side that the kernel takes.
    least: ClassVar[int]
    #: Terms of a shard and of a batch that takes a moment, as powers of two; shards of longer ones.
    shard_bits: ClassVar[int]
    moment_bits: ClassVar[int]
    count: ClassVar[int]

    @property
    def side(self) -> int:
        """Side of the matrices that are summed; an identity pads the smallest."""
        return max(self.least, int(self.matrices.shape[1]))

    @property
    def parts(self) -> int:
        """1 for real matrices, 2 for complex ones."""
        return 2 if self.matrices.dtype.kind == "c" else 1

    def digest(self) -> str:
        """Digest of the matrices."""
        return digest(self.name, to_device(self.matrices, "cpu"))

    def shards(self) -> Sequence[Shard]:
        """Shards of equal numbers of matrices."""
        batch, terms = len(self.matrices), self._terms
        least = self.count if terms >> self.moment_bits else 1
        return split(batch, min(max(1, batch), max(least, terms >> self.shard_bits)))

    @property
    def _terms(self) -> int:
        return len(self.matrices) << max(self.side - 1, _SET_UP_BITS)

    @abstractmethod
    def sums(self, given: Any, context: Context) -> Sums:
        """Of some of the matrices."""

    @property
    def halved(self) -> int:
        """How often the scaling halves the entries that pad."""
        return 0

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum the formula for a range of matrices."""
        parts = self.parts
        sums, exponents, complete = self.sums(self.matrices[shard.start : shard.stop], context)
        partial = {
            "sum": sums[:, :parts] + sums[:, parts : 2 * parts],
            "magnitude": sums[:, 2 * parts],
            "exponent": exponents.astype(np.int64) + 1 - self.side,
            "finite": exponents != NOT_FINITE,
        }
        return ShardResult(partial, complete)

    def result(self, partial: Partial) -> GlynnBatch:
        """Permanents and estimates of their errors."""
        n, side = int(self.matrices.shape[1]), self.side
        relative, off, spread = _errors(n, side, self.parts, self.halved)
        with np.errstate(over="ignore", under="ignore"):
            exponent = partial["exponent"].astype(np.int32)
            values = np.ldexp(partial["sum"], exponent[:, None])
            bounds = np.ldexp(relative * partial["magnitude"], exponent)
            bounds += np.ldexp(4 * off, exponent)
            likely = np.ldexp(spread * partial["magnitude"] + off, exponent)
        result = np.ascontiguousarray(values).view(self.matrices.dtype)[:, 0]
        infinite = ~np.isfinite(result)
        bounds[infinite] = np.inf
        likely[infinite] = np.inf
        return GlynnBatch(result, bounds, np.minimum(likely, bounds), partial["finite"])


@cache
def _errors(n: int, side: int, parts: int, halved: int) -> tuple[float, float, float]:
    """Errors by magnitudes, of rounded entries, and the part of the magnitudes that is probable.

    As in glynn.py: 5 roundings for each factor of a pair, and entries off by half a unit of the grid,
    which is at most `side` units of a typical column sum; as `rounding_effect`, for entries of size 1 / n.
    """
    factor = side + 5 * (1 if parts == 1 else 3)
    relative = 1.01 * (side * factor + 10) * UNIT
    typical = parts / 3 * n * math.factorial(n) * float(n) ** (2 - 2 * n)
    off = 2.0 ** (side - 1 - halved) * UNIT * math.sqrt(typical)
    return relative, off, 128 * UNIT * 2.0 ** (-(side - 1) / 2)


@dataclass(frozen=True, eq=False)
class CpuBatchWork(BatchWork):
    """The sums on a CPU."""

    name: ClassVar[str] = "permanents.batch"
    revision: ClassVar[int] = 1
    least: ClassVar[int] = 6
    shard_bits: ClassVar[int] = 28
    moment_bits: ClassVar[int] = 20
    count: ClassVar[int] = 64

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return not self._terms >> self.moment_bits

    def sums(self, given: Any, context: Context) -> Sums:
        """By the compiled kernel."""
        entries = np.ascontiguousarray(given).view(np.float64).reshape(*given.shape, self.parts)
        found: Sums = native.vector.permanents.glynn_batch(entries, self.side, context.stop)
        return found


@dataclass(frozen=True, eq=False)
class CudaBatchWork(BatchWork):
    """The sums on GPUs. Entries need not be finite: they are looked at there anyway."""

    name: ClassVar[str] = "permanents.batch.cuda"
    revision: ClassVar[int] = 1
    least: ClassVar[int] = LEAST_SIDE
    shard_bits: ClassVar[int] = 36
    moment_bits: ClassVar[int] = 32
    count: ClassVar[int] = 8

    @property
    def halved(self) -> int:
        """On GPUs the scaling halves the entries that pad, too."""
        return self.side - int(self.matrices.shape[1])

    def sums(self, given: Any, context: Context) -> Sums:
        """By the generated kernels."""
        kernels = glynn_kernels(self.side, self.parts)
        return kernels.batch(context.device.ordinal, given, context.stop)


#: The side of each type of device.
BATCHES: dict[type[Device], type[BatchWork]] = {Cpu: CpuBatchWork, Cuda: CudaBatchWork}
