"""Integers from matrices of integers and rationals, and the sum over subsets of their rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from hardscape.permanents.integers import Rows

__all__ = ["MAX_SUBSET_ROWS", "SUBSET_SECONDS", "integers_of", "subset_sum"]

#: Rough seconds of a step of the subset sum.
SUBSET_SECONDS = 1.5e-7
#: Rows whose subset sums fit in memory.
MAX_SUBSET_ROWS = 22


def subset_sum(matrix: Rows) -> int:
    """Permanent of m rows, none longer than another, by a sum over their subsets, column by column.

    Entry S is the permanent of the rows in S with the columns so far: n m 2**(m-1) products of
    Python's integers.
    """
    m = len(matrix)
    sums = [1] + [0] * (2**m - 1)
    for column in zip(*matrix, strict=True):
        entries = [(1 << i, x) for i, x in enumerate(column) if x]
        # From large to small subsets, so that those without row i do not have this column yet.
        for rows in range(2**m - 1, 0, -1):
            sums[rows] += sum(sums[rows ^ bit] * x for bit, x in entries if rows & bit)
    return sums[-1]


def integers_of(matrix: NDArray[Any]) -> tuple[Rows, Fraction]:
    """Integers, and what their permanent is to be multiplied with, of a matrix of ints and Fractions.

    Rows and, of square matrices, columns come out without common factors. The shape is (m, n), m <= n.
    """
    m, n = matrix.shape
    scale = Fraction(1)
    lines: list[list[int]] = []
    for row in matrix.tolist():
        ratios = [x.as_integer_ratio() for x in row]
        denominator = math.lcm(*(below for _, below in ratios))
        line = [above * (denominator // below) for above, below in ratios]
        common = math.gcd(*line) or 1
        scale *= Fraction(common, denominator)
        lines.append([x // common for x in line])
    if m == n:
        for j in range(n):
            common = math.gcd(*(line[j] for line in lines)) or 1
            scale *= common
            for line in lines:
                line[j] //= common
    return tuple(map(tuple, lines)), scale
