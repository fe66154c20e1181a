"""Permanents of many dense matrices of one size, in double precision by Glynn's formula."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import engine, native
from hardscape.engine import (
    Context,
    Device,
    Partial,
    Progress,
    ProgressEvent,
    Shard,
    ShardResult,
    Work,
    split,
)
from hardscape.errors import InputError
from hardscape.permanents.cuda import LEAST_SIDE, CudaGlynn
from hardscape.permanents.glynn import MAX_GLYNN_SIZE
from hardscape.permanents.number import UNIT

__all__ = ["BatchWork", "GlynnBatch", "glynn_batch"]

#: Terms of a shard, as a power of two, and shards of a batch that takes more than a moment.
_SHARD_BITS = {"cpu": 28, "cuda": 36}
_SHARDS = {"cpu": 64, "cuda": 8}
_MOMENT_BITS = {"cpu": 22, "cuda": 32}
#: Smallest side that the CPU's kernel takes.
_LEAST_SIDE = 6
_GRID_BITS = 52


@dataclass(frozen=True, eq=False)
class BatchWork(Work):
    """Glynn's formula for each matrix of a batch. A unit is a matrix.

    A partial holds ``sum`` (float64, shape (k, parts)) and ``magnitude`` (shape (k,), the sum of the
    terms' magnitudes) of k matrices, both to be multiplied with 2 to the power ``exponent`` (int64).

    Attributes
    ----------
    matrices : float64 or complex128, shape (batch, n, n)
        Finite, n from 1 to 63.
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
        return 2 if np.iscomplexobj(self.matrices) else 1

    def digest(self) -> str:
        """Digest of the matrices and of the kernel."""
        head = (self.name, self.matrices.shape, self.matrices.dtype.str, self.kind)
        data = np.ascontiguousarray(self.matrices).tobytes()
        return hashlib.sha256(repr(head).encode() + data).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """Shards of equal numbers of matrices."""
        batch = len(self.matrices)
        terms = batch << (self.side - 1)
        least = _SHARDS[self.kind] if terms >> _MOMENT_BITS[self.kind] else 1
        return split(batch, min(max(1, batch), max(least, terms >> _SHARD_BITS[self.kind])))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum the formula for a range of matrices."""
        given = np.ascontiguousarray(self.matrices[shard.start : shard.stop])
        exponents: NDArray[Any]
        if self.kind == "cuda":
            kernel = CudaGlynn(self.side, self.parts)
            sums, exponents, complete = kernel.batch(context.device.ordinal, given, context.stop)
        else:
            entries, exponents = scaled(given, self.side)
            sums, complete = native.core().glynn_batch(entries, context.stop)
        parts = self.parts
        partial = {
            "sum": sums[:, :parts] + sums[:, parts : 2 * parts],
            "magnitude": sums[:, 2 * parts],
            "exponent": exponents.astype(np.int64) + 1 - self.side,
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
            likely = np.ldexp(spread * partial["magnitude"], exponent)
        result = np.ascontiguousarray(values).view(self.matrices.dtype)[:, 0]
        infinite = ~np.isfinite(result)
        bounds[infinite] = np.inf
        likely[infinite] = np.inf
        return GlynnBatch(result, bounds, np.minimum(likely, bounds))


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


def scaled(matrices: NDArray[Any], side: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Bring matrices to the grid of multiples of 2**-52 on which their column sums are exact.

    Returns
    -------
    entries : float64, shape (batch, parts, side, side)
        Padded by an identity; each column's magnitudes add up to 1 at most, but for rounding.
    exponents : int64, shape (batch,)
        The permanent is that of the entries times 2 to this power.
    """
    batch, n = matrices.shape[:2]
    parts = np.zeros((batch, 2 if np.iscomplexobj(matrices) else 1, side, side))
    parts[:, 0, range(n, side), range(n, side)] = 1
    parts[:, 0, :n, :n] = matrices.real
    if parts.shape[1] == 2:
        parts[:, 1, :n, :n] = matrices.imag
    with np.errstate(under="ignore"):
        size = np.abs(parts).max(axis=1)
        columns: NDArray[np.int32] = np.frexp(size.max(axis=1))[1]
        rows = np.frexp(np.ldexp(size, -columns[:, None, :]).max(axis=2))[1]
        size = np.ldexp(size, -rows[:, :, None])
        columns = np.frexp(size.max(axis=1))[1]
        shift = -(rows[:, None, :, None] + columns[:, None, None, :])
        longest = np.abs(np.ldexp(parts, shift)).sum(axis=2).max(axis=1)
        columns = columns + np.maximum(0, np.frexp(longest)[1])
        shift = _GRID_BITS - (rows[:, None, :, None] + columns[:, None, None, :])
        entries = np.ldexp(np.rint(np.ldexp(parts, shift)), -_GRID_BITS)
    return entries, (rows.sum(axis=1) + columns.sum(axis=1)).astype(np.int64)


def glynn_batch(
    matrices: NDArray[Any],
    *,
    devices: Sequence[Device],
    executor: Any = None,
    checkpoint: str | Path | None = None,
    time_limit: float | None = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
) -> GlynnBatch:
    """Compute the permanents of many dense matrices in double precision.

    Parameters
    ----------
    matrices : float64 or complex128, shape (batch, n, n)
        Finite, n from 1 to 63.
    devices : sequence of Device
        CPU lanes or GPUs, from :func:`hardscape.engine.resolve`, of one kind.
    executor, checkpoint, time_limit, progress
        See :func:`hardscape.engine.run`.

    Returns
    -------
    GlynnBatch
        The same bytes for any number of threads. The cost is n 2**(n-1) additions and
        multiplications for each matrix.

    Raises
    ------
    InputError
        If `matrices` is not a float64 or complex128 array of such a shape.
    BudgetError
        If the time limit came first.
    Interrupted
        On Ctrl-C or SIGTERM.
    """
    shape = matrices.shape
    if len(shape) != 3 or shape[1] != shape[2] or not 1 <= shape[1] <= MAX_GLYNN_SIZE:
        raise InputError(
            f"the matrices have shape {shape}; (batch, n, n) with n from 1 to {MAX_GLYNN_SIZE} "
            "is accepted"
        )
    if matrices.dtype not in (np.float64, np.complex128):
        raise InputError(
            f"the matrices have dtype {matrices.dtype}; float64 or complex128 is accepted"
        )
    if not len(matrices):
        return GlynnBatch(np.empty(0, matrices.dtype), np.empty(0), np.empty(0))
    work = BatchWork(matrices, devices[0].kind)
    outcome = engine.run(
        work,
        devices=devices,
        executor=executor,
        checkpoint=checkpoint,
        time_limit=time_limit,
        progress=progress,
    )
    return work.total(outcome.whole(checkpoint))
