"""Permanents of many dense matrices of one size, in double precision by Glynn's formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import to_device
from hardscape.engine import Context, Partial, Shard, ShardResult, Work, split
from hardscape.permanents.cuda import LEAST_SIDE, NOT_FINITE, CudaGlynn
from hardscape.permanents.number import UNIT
from hardscape.permanents.shards import digest

__all__ = ["BatchWork", "GlynnBatch"]

#: Terms of a shard, as a power of two, and shards of a batch that takes more than a moment.
_SHARD_BITS = {"cpu": 28, "cuda": 36}
_SHARDS = {"cpu": 64, "cuda": 8}
_MOMENT_BITS = {"cpu": 20, "cuda": 32}
#: Terms of a matrix that take no longer than setting up its sum, as a power of two.
_SET_UP_BITS = 9
#: Smallest side that the CPU's kernel takes.
_LEAST_SIDE = 6


@dataclass(frozen=True, eq=False)
class BatchWork(Work[Partial]):
    """Glynn's formula for each matrix of a batch. A unit is a matrix.

    On GPUs entries need not be finite: there they are looked at anyway.

    A partial holds ``sum`` (float64, shape (k, parts)) and ``magnitude`` (shape (k,), the sum of the
    terms' magnitudes) of k matrices, both to be multiplied with 2 to the power ``exponent`` (int64),
    and ``finite`` (bool), whether all their entries are.

    Attributes
    ----------
    matrices : float64 or complex128, shape (batch, n, n)
        Finite, n from 1 to 63; a CuPy array if it is on a GPU.
    kind : {"cpu", "cuda"}
        The kernel: all shards run on devices of this kind.
    """

    matrices: NDArray[Any]
    kind: Literal["cpu", "cuda"] = "cpu"

    name: ClassVar[str] = "permanents.batch"
    unit: ClassVar[str] = "matrices"

    @property
    def side(self) -> int:
        """Side of the matrices that are summed; an identity pads the smallest."""
        least = LEAST_SIDE if self.kind == "cuda" else _LEAST_SIDE
        return max(least, int(self.matrices.shape[1]))

    @property
    def parts(self) -> int:
        """1 for real matrices, 2 for complex ones."""
        return 2 if self.matrices.dtype.kind == "c" else 1

    def digest(self) -> str:
        """Digest of the matrices and of the kernel."""
        return digest(self.name, to_device(self.matrices, "cpu"), self.kind)

    def shards(self) -> Sequence[Shard]:
        """Shards of equal numbers of matrices."""
        batch = len(self.matrices)
        terms = batch << max(self.side - 1, _SET_UP_BITS)
        least = _SHARDS[self.kind] if terms >> _MOMENT_BITS[self.kind] else 1
        return split(batch, min(max(1, batch), max(least, terms >> _SHARD_BITS[self.kind])))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum the formula for a range of matrices."""
        given, parts = self.matrices[shard.start : shard.stop], self.parts
        if self.kind == "cuda":
            kernel = CudaGlynn(self.side, parts)
            sums, exponents, complete = kernel.batch(context.device.ordinal, given, context.stop)
        else:
            entries = np.ascontiguousarray(given).view(np.float64).reshape(*given.shape, parts)
            sums, exponents, complete = native.vector.permanents.glynn_batch(
                entries, self.side, context.stop
            )
        partial = {
            "sum": sums[:, :parts] + sums[:, parts : 2 * parts],
            "magnitude": sums[:, 2 * parts],
            "exponent": exponents.astype(np.int64) + 1 - self.side,
            "finite": exponents != NOT_FINITE,
        }
        return ShardResult(partial, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The matrices of both."""
        return {key: np.concatenate([left[key], right[key]]) for key in left}

    def total(self, partial: Partial) -> GlynnBatch:
        """Permanents and estimates of their errors."""
        with np.errstate(over="ignore", under="ignore"):
            exponent = partial["exponent"].astype(np.int32)
            values = np.ldexp(partial["sum"], exponent[:, None])
            # As in glynn.py: 5 roundings for each factor of a pair, and entries off by half a unit
            # of the grid, which is at most `side` units of a typical column sum.
            factor = self.side + 5 * (1 if self.parts == 1 else 3)
            relative = 1.01 * (self.side * factor + 10) * UNIT
            bounds = np.ldexp(relative * partial["magnitude"], exponent)
            spread = 128 * UNIT * 2.0 ** (-(self.side - 1) / 2)
            off = self._rounding_effect()
            bounds += np.ldexp(4 * off, exponent)
            likely = np.ldexp(spread * partial["magnitude"] + off, exponent)
        result = np.ascontiguousarray(values).view(self.matrices.dtype)[:, 0]
        infinite = ~np.isfinite(result)
        bounds[infinite] = np.inf
        likely[infinite] = np.inf
        return GlynnBatch(result, bounds, np.minimum(likely, bounds))

    def _rounding_effect(self) -> float:
        """As `hardscape.permanents.glynn.rounding_effect`, in units of the sums, for entries of size 1 / n."""
        n = int(self.matrices.shape[1])
        typical = self.parts / 3 * n * math.factorial(n) * float(n) ** (2 - 2 * n)
        # On GPUs the scaling halves the entries that pad, too.
        halved = self.side - n if self.kind == "cuda" else 0
        return 2.0 ** (self.side - 1 - halved) * UNIT * math.sqrt(typical)


@dataclass(frozen=True, eq=False)
class GlynnBatch:
    """Permanents of a batch.

    Attributes
    ----------
    values : float64 or complex128, shape (batch,)
        Beyond float64 they are infinite, with the right sign.
    error_bounds : float64, shape (batch,)
        Estimates of the errors that are hardly ever exceeded, not proven.
    likely_errors : float64, shape (batch,)
        What the errors probably stay below, as `BoundedNumber.likely_error`.
    """

    values: NDArray[Any]
    error_bounds: NDArray[np.float64]
    likely_errors: NDArray[np.float64]
