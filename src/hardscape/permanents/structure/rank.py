r"""Low rank: matrices :math:`c A = U V + D` with few columns in U and a diagonal D, in integers.

The rank is looked for modulo a prime, in a few elimination steps, and then proven: with rows I and columns J
of a nonsingular square B = A[I, J], A is of rank r if and only if
:math:`\det(B) A = A[:, J]\, \mathrm{adj}(B)\, A[I, :]`, which is checked in integers. A diagonal is found from
two such squares apart from it: what rows outside of J and columns outside of I say about an entry holds on the
diagonal, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.numbers.integers import Rows

#: Residues are below it, so that their products fit 64 bits.
_PRIME = 2**31 - 1
#: Bits of a float's mantissa.
_MANTISSA = 53


@dataclass(frozen=True)
class LowRank:
    """Integers with ``u @ v + diag(diagonal)`` the matrix times `times`."""

    u: Rows  #: shape (n, r)
    v: Rows  #: shape (r, n)
    diagonal: tuple[int, ...] | None  #: n numbers, or None for zeros
    times: int = 1


def residues(entries: NDArray[Any]) -> NDArray[np.int64]:
    """Integers, rationals or real floats modulo a prime, all times one number that is not 0."""
    if entries.dtype == object:
        found = [
            (x.numerator if x.denominator == 1 else x.numerator * pow(x.denominator, -1, _PRIME))
            % _PRIME
            for x in entries.flat
        ]
        return np.array(found, dtype=np.int64).reshape(entries.shape)
    mantissa, exponent = np.frexp(entries)
    whole = np.ldexp(mantissa, _MANTISSA).astype(np.int64) % _PRIME
    used, place = np.unique(exponent, return_inverse=True)
    powers = np.array([pow(2, int(e - used[0]), _PRIME) for e in used], dtype=np.int64)
    result: NDArray[np.int64] = whole * powers[place.reshape(entries.shape)] % _PRIME
    return result


def pivots(matrix: NDArray[np.int64], most: int) -> tuple[list[int], list[int]] | None:
    """Rows and columns of a largest nonsingular square modulo the prime; None if it is above `most`."""
    left = matrix.copy()
    rows: list[int] = []
    columns: list[int] = []
    while left.any():
        if len(rows) == most:
            return None
        i, j = (int(k) for k in np.argwhere(left)[0])
        rows.append(i)
        columns.append(j)
        factors = left[:, j] * pow(int(left[i, j]), -1, _PRIME) % _PRIME
        left = (left - factors[:, None] * left[i] % _PRIME) % _PRIME
    return rows, columns


def low_rank(integers: Rows, found: NDArray[np.int64], most: int, mixed: int) -> LowRank | None:
    """A matrix of rank up to `most`, or of up to `mixed` plus a diagonal, proven; or None.

    `found` are its residues, or those of the matrix with lines multiplied.
    """
    matrix = np.array(integers, dtype=object)
    square = pivots(found, most)
    if square is not None:
        return _proven(matrix, *square, None)
    diagonal = _diagonal(matrix, found, mixed)
    if diagonal is None:
        return None
    times = diagonal[1]
    rest = times * matrix
    rest[np.diag_indices(len(rest))] -= diagonal[0]
    square = pivots(residues(rest), mixed)
    proven = None if square is None else _proven(rest, *square, diagonal[0])
    if proven is None or proven.diagonal is None:
        return None
    return LowRank(proven.u, proven.v, proven.diagonal, proven.times * times)


def _proven(
    matrix: NDArray[Any], rows: Sequence[int], columns: Sequence[int], diagonal: Any
) -> LowRank | None:
    """The factors, and `diagonal` beside them, if they give the matrix."""
    adjugate, determinant = _adjugate(matrix[np.ix_(rows, columns)].tolist())
    u, v = matrix[:, columns], adjugate.dot(matrix[rows]) if len(rows) else matrix[:0]
    product = u.dot(v) if len(rows) else matrix * 0
    if not determinant or (product != determinant * matrix).any():
        return None
    given = None if diagonal is None else tuple(determinant * x for x in diagonal)
    return LowRank(tuple(map(tuple, u.tolist())), tuple(map(tuple, v.tolist())), given, determinant)


def _diagonal(
    matrix: NDArray[Any], found: NDArray[np.int64], most: int
) -> tuple[list[int], int] | None:
    """What a diagonal would have to be to leave a rank of up to `most`, and what it is times."""
    n = len(matrix)
    everywhere = list(range(n))
    first = _apart(matrix, found, everywhere, most)
    if first is None:
        return None
    used = {*first[0], *first[1]}
    rest = [i for i in everywhere if i not in used]
    second = _apart(matrix, found, rest, most)
    if second is None:
        return None
    entries = [_said(matrix, *(second if i in used else first), i) for i in everywhere]
    if None in entries:
        return None
    values = [
        Fraction(matrix[i, i]) - x
        for i, x in zip(everywhere, entries, strict=True)
        if x is not None
    ]
    times = int(np.lcm.reduce(np.array([x.denominator for x in values], dtype=object)))
    return [int(x * times) for x in values], times


def _apart(
    matrix: NDArray[Any], found: NDArray[np.int64], lines: Sequence[int], most: int
) -> tuple[list[int], list[int]] | None:
    """Rows and columns, no number in both, of a nonsingular square of these lines."""
    rows, columns = lines[::2], lines[1::2]
    square = pivots(found[np.ix_(rows, columns)], most)
    if square is None:
        return None
    return [rows[i] for i in square[0]], [columns[j] for j in square[1]]


def _said(
    matrix: NDArray[Any], rows: Sequence[int], columns: Sequence[int], i: int
) -> Fraction | None:
    """What entry (i, i) would be if the square determined all."""
    adjugate, determinant = _adjugate(matrix[np.ix_(rows, columns)].tolist())
    if not determinant:
        return None
    if not rows:
        return Fraction(0)
    return Fraction(matrix[i, columns].dot(adjugate).dot(matrix[rows, i]), determinant)


def _adjugate(square: list[list[int]]) -> tuple[NDArray[Any], int]:
    """Adjugate and determinant of a small square of integers (Bareiss' elimination, E. Bareiss 1968)."""
    r = len(square)
    if r == 0:
        return np.zeros((0, 0), dtype=object), 1
    wide = [[*line, *(int(i == j) for j in range(r))] for i, line in enumerate(square)]
    previous, sign = 1, 1
    for k in range(r):
        pivot = next((i for i in range(k, r) if wide[i][k]), None)
        if pivot is None:
            return np.zeros((r, r), dtype=object), 0
        if pivot != k:
            wide[k], wide[pivot] = wide[pivot], wide[k]
            sign = -sign
        for i in range(r):
            if i != k:
                wide[i] = [
                    (wide[k][k] * x - wide[i][k] * y) // previous
                    for x, y in zip(wide[i], wide[k], strict=True)
                ]
        previous = wide[k][k]
    # All diagonal entries are the determinant now, of the square with its rows exchanged.
    adjugate = np.array([[sign * x for x in line[r:]] for line in wide], dtype=object)
    return adjugate, sign * previous
