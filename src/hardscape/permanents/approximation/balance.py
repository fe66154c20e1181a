r"""Matrices of magnitudes, scaled until rows and columns add up to 1.

A nonnegative matrix has positive factors of rows and columns that make it doubly stochastic if each of its
nonzero entries is in a perfect matching (R. Sinkhorn and P. Knopp, Pacific J. Math. 21, 343, 1967). Entries in
none are dropped: no permanent changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.permanents.matrix import Matrix, intake
from hardscape.permanents.structure.reduce import masks_of, matching, strong

#: Sweeps over rows and columns, at most, and how far from 1 sums may be left.
_SWEEPS, _CLOSE = 1000, 1e-13


@dataclass(frozen=True, eq=False)
class Balanced:
    """A square matrix with factors taken off: per(A) = per(`entries`) * exp(`log_scale`)."""

    #: float64 or complex128; magnitudes of rows and of columns add up to about 1.
    entries: NDArray[Any]
    log_scale: float
    log_error: float  #: what rounding may change of the logarithm of the permanent, at most
    nonnegative: bool

    @property
    def side(self) -> int:
        """Rows."""
        return len(self.entries)

    @cached_property
    def magnitudes(self) -> NDArray[np.float64]:
        """Of the entries."""
        sizes: NDArray[np.float64] = np.abs(self.entries)
        return sizes


def balanced(a: Any) -> Balanced | None:
    """Scale a square matrix, or find that its permanent is 0."""
    matrix = intake(a)
    m, n = matrix.shape
    if matrix.is_batch or m != n:
        raise InputError(f"a has shape {matrix.entries.shape}; one square matrix is accepted")
    logs, phases = _polar(matrix)
    support = np.isfinite(logs)
    useful = _useful(support)
    if useful is None:
        return None
    logs = np.where(useful, logs, -np.inf)
    rows, columns = np.zeros((n, 1)), np.zeros((1, n))
    for _ in range(_SWEEPS):
        more = _log_sums(logs - rows - columns, 1)
        rows = rows + more
        columns = columns + _log_sums(logs - rows - columns, 0)
        if np.abs(more).max(initial=0.0) < _CLOSE:
            break
    rows = rows + _log_sums(logs - rows - columns, 1)
    entries = phases * np.exp(logs - rows - columns)
    nonnegative = bool(matrix.kind not in ("gaussian", "complex") and (phases[useful] > 0).all())
    # Of n logarithms of entries, and of the factors taken off, each rounded a few times.
    room = 1e-14 * float(n + n**2 / 10 + np.abs(rows).sum() + np.abs(columns).sum())
    return Balanced(entries, float(rows.sum() + columns.sum()), room, nonnegative)


def _polar(matrix: Matrix) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Logarithms of the magnitudes, and numbers of magnitude 1."""
    entries = matrix.entries
    if matrix.kind == "gaussian":
        entries = entries.astype(np.complex128)
    if entries.dtype != object:
        # Over the larger part first: squares of it may leave float64.
        size = np.maximum(np.abs(entries.real), np.abs(entries.imag))
        unit = np.where(size > 0, entries / np.where(size > 0, size, 1.0), 1.0)
        with np.errstate(divide="ignore"):
            return np.log(size) + np.log(np.abs(unit)), unit / np.abs(unit)
    logs: NDArray[np.float64] = np.array([_log(x) for x in entries.flat]).reshape(entries.shape)
    return logs, np.where(np.asarray(entries < 0, dtype=bool), -1.0, 1.0)


def _log(number: int | Fraction) -> float:
    ratio = Fraction(number)
    return math.log(abs(ratio.numerator)) - math.log(ratio.denominator) if ratio else -math.inf


def _log_sums(logs: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    largest = logs.max(axis=axis, keepdims=True, initial=-1e300)
    sums: NDArray[np.float64] = largest + np.log(np.exp(logs - largest).sum(axis, keepdims=True))
    return sums


def _useful(support: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """The entries that are in a perfect matching; None if there is none."""
    column_of = matching(masks_of(support))
    if -1 in column_of:
        return None
    matched = support[:, column_of]  # entry (i, r): row i points to row r
    groups = strong(masks_of(matched), masks_of(matched.T))
    rows = np.zeros(len(support), dtype=np.int64)
    for label, group in enumerate(groups):
        rows[group] = label
    columns = np.zeros_like(rows)
    columns[column_of] = rows
    useful: NDArray[np.bool_] = support & (rows[:, None] == columns)
    return useful
