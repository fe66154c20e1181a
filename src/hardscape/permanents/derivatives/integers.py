"""Minors of integers and rationals, which are found modulo primes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.matrix import Matrix
from hardscape.permanents.numbers.integers import (
    Rows,
    integers_of,
    joined,
    permanent_bound,
    primes_above,
)


def integer_rows(matrix: Matrix) -> tuple[Rows, tuple[Fraction, ...], tuple[int, ...], bool]:
    """A matrix for which minors are found modulo primes.

    Integers, what the minors of each row are to be multiplied with, as many primes as they need, and
    whether the minors are integers by type.
    """
    rows = [integers_of(row) for row in matrix.entries[:, None]]
    integers: Rows = tuple(row[0][0] for row in rows)
    whole = math.prod((row[1] for row in rows), start=Fraction(1))
    scale = tuple(whole / row[1] for row in rows)
    return integers, scale, primes_above(2 * _bound(integers) + 1), matrix.kind == "integer"


def _bound(matrix: Rows) -> int:
    """No minor's magnitude is above this."""
    # A minor is at most the permanent of the magnitudes, with a 1 added to each.
    bounds = [permanent_bound(tuple(tuple(abs(x) + 1 for x in row) for row in matrix))]
    for lines in (matrix, tuple(zip(*matrix, strict=True))):
        bounds.append(math.prod(max(1, sum(map(abs, line))) for line in lines))
    return min(bounds)


def lifted(
    residues: NDArray[np.uint64],
    primes: Sequence[int],
    power: int,
    scale: Sequence[Fraction],
    integral: bool,
) -> NDArray[Any]:
    """Minors, each row with its scale, from residues times ``2**power``, shape (primes, n, n)."""
    found = np.empty(residues.shape[1:], dtype=object)
    for i, j in np.ndindex(found.shape):
        minor = joined(residues[:, i, j].tolist(), primes, power) * scale[i]
        found[i, j] = int(minor) if integral else minor
    return found
