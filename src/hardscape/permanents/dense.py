"""Permanents in double precision without a look at the matrices' structure: of batches, and of small ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Shard, run
from hardscape.permanents.batch import BatchWork
from hardscape.permanents.matrix import Matrix, Number
from hardscape.permanents.program import Precision
from hardscape.permanents.result import PermanentResult
from hardscape.permanents.settings import Settings

__all__ = ["at_once", "is_plain", "together", "values_of"]

#: Sides of matrices of a batch that are summed at once, and of those where zeros hardly help.
_LARGEST, _SMALL = 30, 10
#: Side of a single matrix whose sum takes no time.
_AT_ONCE = 14


def is_plain(matrix: Matrix, settings: Settings) -> bool:
    """Whether a batch is summed at once, without a look at the structure of each matrix."""
    side = matrix.shape[0]
    return (
        not settings.full_output
        and settings.precision in ("auto", "double")
        and settings.method in ("auto", "glynn")
        and len(matrix.entries) > 0
        and matrix.kind in ("real", "complex")
        and 1 <= side <= _LARGEST
        and (side <= _SMALL or matrix.density() > 0.5)
    )


def together(matrix: Matrix, settings: Settings, one: Callable[[Matrix], Number]) -> NDArray[Any]:
    """Permanents of a plain batch; `one` finds those of which double precision lost too much."""
    kind = settings.devices[0].kind
    if kind == "cpu" or settings.executor is not None:
        matrix = matrix.on_host()
    work = BatchWork(matrix.entries, kind)
    outcome = run(
        work,
        devices=[device for device in settings.devices if device.kind == kind],
        executor=settings.executor,
        time_limit=settings.left(),
        progress=settings.progress,
    )
    partial = outcome.whole()
    if not partial["finite"].all():
        matrix.check_finite()
    found = work.total(partial)
    values = found.values
    if settings.precision == "auto":
        for i in np.flatnonzero(found.likely_errors > settings.rtol * np.abs(values)).tolist():
            lost = Matrix(matrix.kind, matrix.entries[i : i + 1]).on_host()
            values[i] = one(Matrix(lost.kind, lost.entries[0]))
    return values


def values_of(
    results: Sequence[PermanentResult], matrix: Matrix, precision: Precision
) -> NDArray[Any]:
    """The permanents of a batch in an array: of Python's numbers where they are exact."""
    values = np.empty(len(results), dtype=object)
    values[:] = [result.value for result in results]
    if precision == "exact" or (precision == "auto" and matrix.kind in ("integer", "rational")):
        return values
    return values.astype(np.complex128 if matrix.kind == "complex" else np.float64)


def at_once(matrix: Matrix, settings: Settings) -> float | complex | None:
    """The permanent of a small matrix without zeros, or None if it is better to look closer.

    That is so for other matrices, where more than the value is asked for, and where double precision
    lost too much. Setting up a sum takes a hundred times as long as this one.
    """
    side, entries = matrix.shape[0], matrix.entries
    if not (
        matrix.kind in ("real", "complex")
        and 1 <= side == matrix.shape[1] <= _AT_ONCE
        and settings.wants_value_only
        and settings.devices[0].kind == "cpu"
        and bool(entries.all())
        # Where nothing cancels there are sums that lose no digits.
        and (matrix.kind == "complex" or bool((entries < 0).any()))
    ):
        return None
    work = BatchWork(entries[None])
    context = Context(settings.devices[0], None, np.zeros(1, dtype=np.uint8))
    found = work.total(work.run(Shard(0, 0, 1), context).partial)
    value = found.values[0].item()
    wanted = settings.rtol * abs(value)
    return None if settings.precision == "auto" and found.likely_errors[0] > wanted else value
