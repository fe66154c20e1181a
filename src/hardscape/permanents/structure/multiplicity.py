"""Repeated rows and columns: given as multiplicities, or found in a matrix up to scalar factors."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import as_number_array, is_array
from hardscape.errors import InputError
from hardscape.permanents.matrix import MAX_SIDE, Matrix


@dataclass(frozen=True, eq=False)
class Repeated:
    """A matrix with multiplicities: per(A) = scale * per(`entries` with lines repeated)."""

    entries: NDArray[Any]  #: shape (m, n); of the type of `Matrix.entries`
    #: How often each row and column occurs, 1 or more; both add up to the same number.
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    scale: Fraction = Fraction(1)

    @property
    def side(self) -> int:
        """Rows of the matrix with all lines repeated."""
        return sum(self.rows)

    @property
    def steps(self) -> tuple[int, int]:
        """Terms of Glynn's formula over the rows, and over the columns."""
        return _steps(self.rows), _steps(self.cols)

    def transposed(self) -> Repeated:
        """The same with rows and columns exchanged."""
        return Repeated(
            np.ascontiguousarray(self.entries.T), cols=self.rows, rows=self.cols, scale=self.scale
        )

    def square(self) -> NDArray[Any]:
        """The matrix with all lines repeated."""
        whole: NDArray[Any] = np.repeat(np.repeat(self.entries, self.rows, 0), self.cols, 1)
        return whole


def _steps(multiplicities: Sequence[int]) -> int:
    # One copy of one line keeps its sign; the one with the fewest copies gains most.
    least = min(multiplicities, default=0)
    return math.prod(m + 1 for m in multiplicities) * least // (least + 1)


def expanded(matrix: Matrix, rows: Any, cols: Any) -> Matrix:
    """The square matrix that multiplicities of the given rows and columns, None for 1, stand for."""
    r, c = counts(matrix, rows, cols)
    entries = np.repeat(np.repeat(matrix.entries, r, axis=0), c, axis=1)
    return Matrix(matrix.kind, entries, matrix.transposed)


def counts(matrix: Matrix, rows: Any, cols: Any) -> tuple[list[int], list[int]]:
    """How often the rows and columns of `entries` count, by what is said of those that were given."""
    if matrix.is_batch:
        raise InputError("rows and cols are for one matrix, and a is a batch; pass its matrices")
    shape = matrix.shape[::-1] if matrix.transposed else matrix.shape
    r = multiplicities(rows, "rows", shape[0])
    c = multiplicities(cols, "cols", shape[1])
    if sum(r) != sum(c):
        left = "rows" if rows is None else "cols" if cols is None else ""
        each = f", each of the {shape[left == 'cols']} {left} being counted once" if left else ""
        raise InputError(
            f"rows add up to {sum(r)} and cols to {sum(c)}{each}; equal sums are accepted (a permanent "
            "takes one entry from each row and each column, repeated ones included)"
        )
    if sum(r) > MAX_SIDE:
        raise InputError(f"rows add up to {sum(r)}; up to {MAX_SIDE} are accepted")
    return (c, r) if matrix.transposed else (r, c)


def multiplicities(given: Any, name: str, length: int) -> list[int]:
    """Integers of 0 or more, one for each of so many lines; None for 1."""
    if given is None:
        return [1] * length
    try:
        values = list(as_number_array(given, name).tolist() if is_array(given) else given)
    except TypeError:
        raise InputError(f"{name}={given!r}; a sequence of {length} integers is accepted") from None
    if len(values) != length:
        raise InputError(f"{name} has {len(values)} multiplicities; {length} are accepted")
    counts = []
    for i, value in enumerate(values):
        whole = isinstance(value, numbers.Integral) or (
            isinstance(value, float | np.floating) and float(value).is_integer()
        )
        if isinstance(value, bool | np.bool_) or not whole or value < 0:
            raise InputError(f"{name}[{i}] is {value!r}; integers of 0 or more are accepted")
        counts.append(int(value))
    return counts


def repeated_lines(matrix: NDArray[Any]) -> Repeated:
    """Find the lines of a square matrix that are equal up to rational factors, exactly.

    They are compared as vectors of integers without common divisor: O(n^2) operations on these.
    """
    entries, rows, row_scale = _distinct(matrix)
    columns, cols, column_scale = _distinct(entries.T)
    return Repeated(
        np.ascontiguousarray(columns.T), tuple(rows), tuple(cols), row_scale * column_scale
    )


def _distinct(matrix: NDArray[Any]) -> tuple[NDArray[Any], list[int], Fraction]:
    """The rows of different direction, how often each occurs, and the product of the factors."""
    first: dict[tuple[int, ...], int] = {}
    lengths: list[Fraction] = []
    counts: list[int] = []
    kept: list[int] = []
    scale = Fraction(1)
    # Only lines with zeros in the same places are compared.
    support = np.asarray(matrix != 0, dtype=bool)
    patterns = [line.tobytes() for line in support]
    often = Counter(patterns)
    for i, line in enumerate(matrix):
        if often[patterns[i]] == 1:
            kept.append(i)
            counts.append(1)
            lengths.append(Fraction(1))
            continue
        direction, length = _direction(line)
        k = first.setdefault(direction, len(kept))
        if k == len(kept):
            kept.append(i)
            counts.append(1)
            lengths.append(length)
        else:
            counts[k] += 1
            scale *= length / lengths[k]
    return matrix[kept], counts, scale


def _direction(line: NDArray[Any]) -> tuple[tuple[int, ...], Fraction]:
    """Integers without common divisor, the first of them positive, and what they are to be times."""
    if np.iscomplexobj(line):
        line = np.stack([line.real, line.imag], axis=-1).ravel()
    ratios = [x.as_integer_ratio() for x in line.tolist()]
    if not any(numerator for numerator, _ in ratios):
        return (0,) * len(ratios), Fraction(1)
    denominator = math.lcm(*(below for _, below in ratios))
    whole = [above * (denominator // below) for above, below in ratios]
    common = math.gcd(*whole)
    if next(x for x in whole if x) < 0:
        common = -common
    return tuple(x // common for x in whole), Fraction(common, denominator)
