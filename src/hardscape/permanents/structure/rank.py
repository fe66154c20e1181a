r"""Low rank: matrices :math:`c A = U V + D` with few columns in U and a diagonal D, in (Gaussian) integers.

The rank is looked for modulo a prime, in a few elimination steps, and then proven: with rows I and columns J
of a nonsingular square B = A[I, J], A is of rank r if and only if
:math:`\det(B) A = A[:, J]\, \mathrm{adj}(B)\, A[I, :]`, which is checked in integers. Modulo
the prime -1 is a square, so that complex numbers have residues. A diagonal is found from
two such squares apart from it: what rows outside of J and columns outside of I say about an entry holds on the
diagonal, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.numbers.gaussian import ExactComplex, root_of_minus_one
from hardscape.permanents.structure.scaling import parts_of

#: Residues are below it, so that their products fit 64 bits; and one whose square is -1.
PRIME = 2**31 - 19
_I = root_of_minus_one(PRIME)
#: Bits of a float's mantissa.
_MANTISSA = 53


Number = int | ExactComplex
Lines = tuple[tuple[Number, ...], ...]


@dataclass(frozen=True)
class LowRank:
    """(Gaussian) integers with ``u @ v + diag(diagonal)`` the matrix times `times`."""

    u: Lines  #: shape (n, r)
    v: Lines  #: shape (r, n)
    diagonal: tuple[Number, ...] | None  #: n numbers, or None for zeros
    times: Number = 1

    @property
    def is_complex(self) -> bool:
        """Whether any of the numbers are Gaussian."""
        lines = (*self.u, *self.v, self.diagonal or (), (self.times,))
        return any(isinstance(x, ExactComplex) for line in lines for x in line)


def residues(entries: NDArray[Any]) -> NDArray[np.int64]:
    """Integers, rationals or floats, complex ones too, modulo the prime, all times one number that is not 0."""
    if entries.dtype == object:
        lines = [[_residue(x) for x in line] for line in entries.tolist()]
        return np.array(lines, dtype=np.int64).reshape(entries.shape)
    mantissa, exponent = np.frexp(parts_of(entries))
    whole = np.ldexp(mantissa, _MANTISSA).astype(np.int64) % PRIME
    used, place = np.unique(exponent, return_inverse=True)
    powers = np.array([pow(2, int(e - used[0]), PRIME) for e in used], dtype=np.int64)
    parts = whole * powers[place.reshape(exponent.shape)] % PRIME
    result: NDArray[np.int64] = parts[0]
    return result if len(parts) == 1 else (result + _I * parts[1] % PRIME) % PRIME


def _residue(number: Any) -> int:
    if isinstance(number, int):
        return number % PRIME
    parts = (x.numerator * pow(x.denominator, -1, PRIME) for x in (number.real, number.imag))
    real, imag = parts
    return int(real + _I * imag) % PRIME


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
        factors = left[:, j] * pow(int(left[i, j]), -1, PRIME) % PRIME
        left = (left - factors[:, None] * left[i] % PRIME) % PRIME
    return rows, columns


def low_rank(
    integers: Lines | NDArray[Any], found: NDArray[np.int64], most: int, mixed: int
) -> LowRank | None:
    """(Gaussian) integers of rank up to `most`, or of up to `mixed` plus a diagonal, proven; or None.

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
    if not determinant or (product != matrix * determinant).any():
        return None
    given = None if diagonal is None else tuple(determinant * x for x in diagonal)
    return LowRank(tuple(map(tuple, u.tolist())), tuple(map(tuple, v.tolist())), given, determinant)


def _diagonal(
    matrix: NDArray[Any], found: NDArray[np.int64], most: int
) -> tuple[list[Number], int] | None:
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
    values = [matrix[i, i] - x for i, x in zip(everywhere, entries, strict=True) if x is not None]
    times = math.lcm(*(part.denominator for x in values for part in (x.real, x.imag)))
    return [_whole(x * times) for x in values], times


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
) -> Fraction | ExactComplex | None:
    """What entry (i, i) would be if the square determined all."""
    adjugate, determinant = _adjugate(matrix[np.ix_(rows, columns)].tolist())
    if not determinant:
        return None
    if not rows:
        return Fraction(0)
    found: Fraction | ExactComplex = _ratio(
        matrix[i, columns].dot(adjugate).dot(matrix[rows, i]), determinant
    )
    return found


def _ratio(x: Any, y: Any) -> Any:
    return x / y if isinstance(x, ExactComplex) else Fraction(x, y)


def _quotient(x: Any, y: Any) -> Number:
    """The quotient where it is a (Gaussian) integer."""
    return _whole(x / y) if isinstance(x, ExactComplex) else x // y


def _whole(number: Any) -> Number:
    """A (Gaussian) integer by its value as one by type."""
    if isinstance(number, ExactComplex):
        return ExactComplex(int(number.real), int(number.imag))
    return int(number)


def _adjugate(square: list[list[Any]]) -> tuple[NDArray[Any], Any]:
    """Adjugate and determinant of a small square of integers, or Gaussian ones (E. Bareiss 1968)."""
    r = len(square)
    if r == 0:
        return np.zeros((0, 0), dtype=object), 1
    wide = [[*line, *(int(i == j) for j in range(r))] for i, line in enumerate(square)]
    previous: Any = 1
    sign = 1
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
                    _quotient(wide[k][k] * x - wide[i][k] * y, previous)
                    for x, y in zip(wide[i], wide[k], strict=True)
                ]
        previous = wide[k][k]
    # All diagonal entries are the determinant now, of the square with its rows exchanged.
    adjugate = np.array([[sign * x for x in line[r:]] for line in wide], dtype=object)
    return adjugate, sign * previous
