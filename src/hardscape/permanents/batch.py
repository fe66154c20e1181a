"""Permanents of plain batches, and of small matrices, without a look at the matrices' structure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Cpu, RunOptions, Work, solve
from hardscape.permanents.matrix import Matrix, Number
from hardscape.permanents.methods.glynn.batch import BATCHES
from hardscape.permanents.methods.subset.batch import SubsetBatchWork
from hardscape.permanents.numbers.integers import integers_of
from hardscape.permanents.settings import Settings

#: Sides of matrices of a batch that are summed at once, and of those where zeros hardly help.
_LARGEST, _SMALL = 30, 16
#: Side of a single matrix whose sum takes no time.
AT_ONCE = 20


def is_dense(matrix: Matrix, settings: Settings) -> bool:
    """Whether many permanents may be found in double precision, without a look at the structure of each."""
    return (
        settings.precision in ("auto", "double")
        and settings.method in ("auto", "glynn")
        and matrix.kind in ("real", "complex")
    )


def is_plain(matrix: Matrix, settings: Settings) -> bool:
    """Whether a batch is summed at once."""
    side = matrix.shape[0]
    return (
        is_dense(matrix, settings)
        and len(matrix.entries) > 0
        and 1 <= side <= _LARGEST
        and (side <= _SMALL or matrix.density() > 0.5)
    )


def together(
    matrix: Matrix, settings: Settings, options: RunOptions, one: Callable[[Matrix], Number]
) -> NDArray[Any]:
    """Permanents of a plain batch; `one` finds those of which double precision lost too much."""
    kind = type(options.devices[0])
    if kind is Cpu or options.executor is not None:
        matrix = matrix.on_host()
    lanes = [device for device in options.devices if type(device) is kind]
    work: Work[Any] = BATCHES[kind](matrix.entries)
    if kind is Cpu:
        if matrix.shape[0] <= SubsetBatchWork.most:
            work = SubsetBatchWork(matrix.entries)
        else:
            matrix.check_finite()
    found = solve(work, options.on(lanes)).whole()
    if not found.finite.all():
        matrix.check_finite()
    values: NDArray[Any] = found.values
    if settings.precision == "auto":
        for i in np.flatnonzero(found.likely_errors > settings.rtol * np.abs(values)).tolist():
            lost = Matrix(matrix.kind, matrix.entries[i : i + 1]).on_host()
            values[i] = one(Matrix(lost.kind, lost.entries[0]))
    return values


def small(a: NDArray[Any], rtol: float) -> Number | None:
    """The permanent of a small array, by compiled sums that neither plan nor copy anything.

    None for arrays that are larger, no square or of other numbers, and where the error of a floating
    value is probably above `rtol` of it.
    """
    kernels = native.vector.permanents
    value = kernels.small_permanent(a, rtol)
    return kernels.glynn_permanent(a, rtol) if value is None else value


def repeated(a: NDArray[Any], rows: Any, cols: Any, rtol: float) -> float | complex | None:
    """The same of a floating array with rows and columns as often as they count, None for once."""
    return native.vector.permanents.repeated_permanent(a, rows, cols, rtol)


class Lines(NamedTuple):
    """A matrix with multiplicities, as they were given."""

    matrix: Matrix
    rows: Any
    cols: Any

    def permanent(self, rtol: float) -> float | complex | None:
        """Its permanent by `repeated`."""
        turned = self.matrix.transposed
        rows, cols = (self.cols, self.rows) if turned else (self.rows, self.cols)
        return repeated(self.matrix.entries, rows, cols, rtol)


class Quick(NamedTuple):
    """A permanent that was found at once, and how."""

    value: Number
    method: str
    terms: int | None  #: None where only the sum itself counted them


def at_once(
    matrix: Matrix, settings: Settings, options: RunOptions, lines: Lines | None = None
) -> Quick | None:
    """The permanent of a small matrix, or of one of few lines, or None if it is better to look closer."""
    arithmetic, entries = settings.arithmetic(matrix.kind), matrix.entries
    if settings.method != "auto" or not isinstance(options.devices[0], Cpu):
        return None
    if arithmetic == "double" and entries.dtype != object:
        rtol = settings.rtol if settings.precision == "auto" else math.inf
        value: Number | None = None if lines is None else lines.permanent(rtol)
        if value is not None:
            return Quick(value, "repeated", None)
        value, n = small(entries, rtol), len(entries)
        quick = ("subset", 2**n) if n <= SubsetBatchWork.most else ("glynn", 2 ** (n - 1))
        return None if value is None else Quick(value, *quick)
    if arithmetic != "exact" or matrix.kind not in ("integer", "rational"):
        return None
    # A look closer gives the same number, and what is asked for besides.
    if settings.full_output or options.checkpoint is not None or matrix.shape[0] > AT_ONCE:
        return None
    integers, scale = integers_of(entries) if matrix.kind == "rational" else (entries, 1)
    try:
        whole = small(np.array(integers, dtype=np.int64), 0.0)
    except OverflowError:
        return None
    return Quick(whole * scale, "subset", None) if isinstance(whole, int) else None
