"""Permanents of plain batches, and of small matrices, without a look at the matrices' structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Cpu, RunOptions, solve
from hardscape.permanents.matrix import Matrix, Number
from hardscape.permanents.methods.glynn.batch import BATCHES, OneWork
from hardscape.permanents.methods.subset.subset import IntegerSubsetWork
from hardscape.permanents.numbers.integers import integers_of
from hardscape.permanents.settings import Settings

#: Sides of matrices of a batch that are summed at once, and of those where zeros hardly help.
_LARGEST, _SMALL = 30, 10
#: Sides of a single matrix whose sum takes no time, in double precision and exactly.
_AT_ONCE, _EXACT_AT_ONCE = 14, 4


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


def together(
    matrix: Matrix, settings: Settings, options: RunOptions, one: Callable[[Matrix], Number]
) -> NDArray[Any]:
    """Permanents of a plain batch; `one` finds those of which double precision lost too much."""
    kind = type(options.devices[0])
    if kind is Cpu or options.executor is not None:
        matrix = matrix.on_host()
    lanes = [device for device in options.devices if type(device) is kind]
    found = solve(BATCHES[kind](matrix.entries), options.on(lanes)).whole()
    if not found.finite.all():
        matrix.check_finite()
    values = found.values
    if settings.precision == "auto":
        for i in np.flatnonzero(found.likely_errors > settings.rtol * np.abs(values)).tolist():
            lost = Matrix(matrix.kind, matrix.entries[i : i + 1]).on_host()
            values[i] = one(Matrix(lost.kind, lost.entries[0]))
    return values


def at_once(matrix: Matrix, settings: Settings, options: RunOptions) -> Number | None:
    """The permanent of a small matrix, or None if it is better to look closer.

    That is so for larger ones, where more than the value is asked for, where double precision lost too
    much, and for floating ones with zeros. To look closer takes a hundred times as long as this.
    """
    (side, columns), entries = matrix.shape, matrix.entries
    plain = 1 <= side == columns <= _AT_ONCE and settings.wants_value_only(options)
    if not plain or not isinstance(options.devices[0], Cpu):
        return None
    arithmetic = settings.arithmetic(matrix.kind)
    if arithmetic == "exact" and side <= _EXACT_AT_ONCE and entries.dtype == object:
        integers, scale = integers_of(entries)
        exact = solve(IntegerSubsetWork(integers), options).whole() * scale
        return int(exact) if matrix.kind == "integer" else exact
    if (
        arithmetic != "double"
        or entries.dtype == object
        or np.count_nonzero(entries) < entries.size
        # Where nothing cancels there are sums that lose no digits.
        or (matrix.kind == "real" and entries.min() >= 0)
    ):
        return None
    value, error = solve(OneWork(entries), options).whole()
    lost = settings.precision == "auto" and error > settings.rtol * abs(value)
    return None if lost else value
