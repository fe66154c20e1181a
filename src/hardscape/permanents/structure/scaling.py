"""Powers of two on rows and columns: matrices whose sums over signs are exact.

:mod:`hardscape.permanents.methods.glynn.glynn` says why, and what rounding to the grid costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.numbers.bounded import TINY, UNIT, shifted

#: Entries become multiples of this power of 1/2.
GRID_BITS = 52
#: Sweeps that balance rows and columns, at most; random matrices take one or two.
_SWEEPS = 8
#: The same for matrices that are looked at before anything is summed.
_BALANCINGS = 100
#: Exponents between which entries need no balance, and a change of powers that is none.
_LEVEL, _BALANCED = 32, 0.1


def parts_of(matrix: NDArray[Any], count: int | None = None) -> NDArray[np.float64]:
    """Real parts, and imaginary ones of complex numbers (or `count` of the two), parts first."""
    parts = np.stack([matrix.real, matrix.imag][: count or 1 + np.iscomplexobj(matrix)])
    return np.ascontiguousarray(parts)


def whole_of(parts: NDArray[np.float64]) -> NDArray[Any]:
    """The real or complex numbers with these parts."""
    real: NDArray[Any] = parts[0]
    return real if len(parts) == 1 else real + 1j * parts[1]


def padded(matrix: NDArray[Any], least: int) -> NDArray[np.float64]:
    """Real parts (and imaginary ones) of a square matrix, completed to `least` rows by an identity."""
    n = len(matrix)
    m = max(n, least)
    parts = np.zeros((2 if np.iscomplexobj(matrix) else 1, m, m))
    parts[0, range(n, m), range(n, m)] = 1
    parts[0, :n, :n] = matrix.real
    if len(parts) == 2:
        parts[1, :n, :n] = matrix.imag
    return parts


@dataclass(frozen=True, eq=False)
class ScaledMatrix:
    """A matrix whose column sums are exact: ``per(A)`` is about ``per(entries) * 2**exponent``."""

    #: Multiples of 2**-52, shape (parts, m, m), real and imaginary part apart, of the n rows or those
    #: that `of` completes them to; each column's magnitudes add up to less than 1 + m 2**-53.
    entries: NDArray[np.float64]
    slack: NDArray[np.float64]  #: upper bound of what rounding to the grid took off each column
    exponent: int

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return not self.slack.any()

    @property
    def different_terms(self) -> int:
        """Terms of different absolute value, at most: rows that are equal but for signs give equal ones."""
        counts: dict[bytes, int] = {}
        for i in range(len(self.slack)):
            row = self.entries[:, i].ravel()
            nonzero = row[row != 0]
            sign = -1.0 if nonzero.size and nonzero[0] < 0 else 1.0
            key = (sign * row + 0.0).tobytes()  # no negative zeros
            counts[key] = counts.get(key, 0) + 1
        return math.prod(count + 1 for count in counts.values())

    @classmethod
    def of(
        cls,
        matrix: NDArray[Any],
        least: int,
        error: NDArray[np.float64] | None = None,
    ) -> ScaledMatrix:
        """Scale a square float64 or complex128 matrix, completed to `least` rows with an identity.

        Bounds of the errors of the entries, if there are any, count with what rounding takes off.
        """
        parts = padded(matrix, least)
        n, m = len(matrix), parts.shape[1]
        off = np.zeros((m, m))
        if error is not None:
            off[:n, :n] = error
        plain = cls._scaled(parts, off, np.zeros(m, dtype=np.int64))
        return plain if plain.exact else cls._scaled(parts, off, row_exponents(parts))

    @classmethod
    def _scaled(
        cls, parts: NDArray[np.float64], error: NDArray[np.float64], rows: NDArray[np.int64]
    ) -> ScaledMatrix:
        columns = column_exponents(parts, rows)
        entries = shifted(parts, -(rows[:, None] + columns))
        # Entries are below 1 now; a second shift brings the sum of a column below 1.
        more = [
            max(math.frexp(math.fsum(np.abs(part[:, j]).tolist()))[1] for part in entries)
            for j in range(len(rows))
        ]
        columns += np.maximum(more, 0)
        shift = -(rows[:, None] + columns)
        entries = shifted(parts, shift)
        lost = shifted(entries, -shift) != parts
        grid = np.ldexp(np.rint(np.ldexp(entries, GRID_BITS)), -GRID_BITS)
        off = np.abs(entries - grid) + np.where(lost, TINY, 0.0)
        off[0] += np.where(error > 0, shifted(error, shift) + TINY, 0.0)
        slack = [
            math.fsum(off[:, :, j].ravel().tolist()) * (1 + 2.0**-50) for j in range(len(rows))
        ]
        return cls(grid, np.array(slack), int(rows.sum() + columns.sum()))


_NO_EXPONENT = -(10**6)


def _exponents(parts: NDArray[np.float64], shift: NDArray[np.int64]) -> NDArray[np.int64]:
    """Binary exponents of the entries' larger parts, less `shift`; zeros have `_NO_EXPONENT`."""
    size = np.abs(parts).max(axis=0)
    exponents = np.frexp(size)[1].astype(np.int64) - shift
    return np.where(size > 0, exponents, _NO_EXPONENT)


def column_exponents(parts: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Exponents to take off the columns, after those of the rows, so that all parts are below 1."""
    columns: NDArray[np.int64] = _exponents(parts, rows[:, None]).max(axis=0)
    columns[columns == _NO_EXPONENT] = 0
    return columns


def row_exponents(parts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exponents to take off the rows, so that rows and columns can have sums of about the same size.

    The largest entry alone does not tell: a column that is small in one large row only would be taken
    for a small one, and all other rows for small in all other columns.
    """
    columns = column_exponents(parts, np.zeros(len(parts[0]), dtype=np.int64))
    rows: NDArray[np.int64] = _exponents(parts, columns).max(axis=1)
    rows[rows == _NO_EXPONENT] = 0
    size = np.abs(parts).max(axis=0)
    for _ in range(_SWEEPS):
        more = np.frexp(shifted(size, -(rows[:, None] + columns)).sum(axis=1))[1]
        rows = rows + more
        columns = columns + np.frexp(shifted(size, -(rows[:, None] + columns)).sum(axis=0))[1]
        if not more.any():
            break
    return rows


def exponents_of(
    parts: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Exponents to take off rows, shape (m, 1), and columns, shape (1, n), so that all parts are below 1."""
    rows = row_exponents(parts)
    columns = column_exponents(parts, rows)
    return rows[:, None].astype(np.int32), columns[None].astype(np.int32)


def equilibrated(matrix: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """A matrix whose entries are at most 1 in each part, by powers of two, and what these add up to."""
    parts = parts_of(matrix)
    rows, columns = exponents_of(parts)
    return whole_of(shifted(parts, -(rows + columns))), int(rows.sum() + columns.sum())


def balanced(matrix: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """A square matrix without powers of two on rows and columns, and what these add up to.

    Sums of rows and of columns are about equal then (R. Sinkhorn and P. Knopp, Pacific J. Math. 21, 343
    (1967)), wherever every entry is in a perfect matching. Nothing is rounded: a matrix whose entries are
    near one another, or too far apart to be shifted, is given back.
    """
    size, power = np.frexp(np.maximum(np.abs(matrix.real), np.abs(matrix.imag)))
    if np.ptp(power[size > 0]) <= _LEVEL:
        return matrix, 0
    logs = np.where(size > 0, power + np.log2(np.where(size > 0, size, 1.0)), -np.inf)
    columns = np.zeros(len(logs))
    for _ in range(_BALANCINGS):
        before, rows = columns, _log_sums(logs - columns)
        columns = _log_sums(logs.T - rows)
        if np.abs(columns - before).max() < _BALANCED:
            break
    off = np.rint(rows).astype(np.int64)[:, None] + np.rint(columns).astype(np.int64)
    scaled = shifted(matrix, -off)
    if not (shifted(scaled, off) == matrix).all():
        return matrix, 0
    return scaled, int(np.trace(off))


def _log_sums(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of the sums of rows, from those of the entries."""
    most = logs.max(axis=1, keepdims=True)
    sums: NDArray[np.float64] = np.log2(np.exp2(logs - most).sum(axis=1)) + most[:, 0]
    return sums


def rounding_effect(scaled: ScaledMatrix, n: int) -> float:
    r"""What rounding the entries of the first n lines to the grid probably changes of their permanent.

    Root mean square of :math:`\sum_{ij} \delta_{ij} M_{ij}` for random entries of the given size in each
    column, with minors M. It matters where factors cancel to nothing, so that all terms are small.
    """
    if scaled.exact:
        return 0.0
    parts = len(scaled.entries)
    squares = ((scaled.entries[:, :n, :n] ** 2).sum(axis=(0, 1)) / n).tolist()
    minors = sum(math.prod(squares[:j] + squares[j + 1 :]) for j in range(n))
    return UNIT * math.sqrt(parts / 3 * math.factorial(n) * minors)


def typical_excess(scaled: ScaledMatrix) -> float:
    """Estimate of the relative effect that rounding entries to the grid has on the permanent."""
    spread = np.sqrt((scaled.entries**2).sum(axis=(0, 1)))
    return float((scaled.slack / np.where(spread > 0, spread, 1.0)).sum())
