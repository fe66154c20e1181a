"""Permanents by the plainest exact sum, and matrices whose permanents are known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def over_one_denominator(entries) -> tuple[list[int], int]:
    """Rational numbers, or what floats are exactly, as integers over one denominator."""
    exact = [Fraction(x) for x in entries]
    below = math.lcm(*(x.denominator for x in exact))
    return [x.numerator * (below // x.denominator) for x in exact], below


def exact_permanent_by_subsets(matrix) -> Fraction:
    """Row by row, what each set of used columns has collected; entries as the rationals they are.

    Rows must not outnumber columns. About n 2^n products.
    """
    sums, below = {0: 1}, 1
    for row in np.asarray(matrix, dtype=object).tolist():
        entries, scale = over_one_denominator(row)
        below *= scale
        grown: dict[int, int] = {}
        for used, value in sums.items():
            for j, x in enumerate(entries):
                if x and not used >> j & 1:
                    grown[used | 1 << j] = grown.get(used | 1 << j, 0) + value * x
        sums = grown
    return Fraction(sum(sums.values()), below)


def exact_complex_permanent(matrix) -> tuple[Fraction, Fraction]:
    """Real and imaginary part of the permanent of a square complex matrix, exactly."""
    sums, below = {0: (1, 0)}, 1
    for row in np.asarray(matrix, dtype=complex).tolist():
        parts, scale = over_one_denominator([x for z in row for x in (z.real, z.imag)])
        below *= scale
        entries = list(zip(parts[::2], parts[1::2], strict=True))
        grown: dict[int, tuple[int, int]] = {}
        for used, (re, im) in sums.items():
            for j, (x, y) in enumerate(entries):
                if not used >> j & 1:
                    a, b = grown.get(used | 1 << j, (0, 0))
                    grown[used | 1 << j] = (a + re * x - im * y, b + re * y + im * x)
        sums = grown
    re, im = sums.get((1 << len(matrix)) - 1, (0, 0))
    return Fraction(re, below), Fraction(im, below)


def repeat(matrix, rows, cols) -> np.ndarray:
    """The matrix with each line as often as it counts."""
    return np.repeat(np.repeat(np.asarray(matrix), rows, axis=0), cols, axis=1)


def adjacency(points: np.ndarray) -> np.ndarray:
    """Graph of the nearest neighbours among points, as a matrix of 0 and 1."""
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1)
    least = distance[distance > 1e-9].min()
    return (np.abs(distance - least) < 1e-6).astype(np.int64)


def _even_permutations(signed) -> list[tuple[float, ...]]:
    return [p for x, y, z in signed for p in ((x, y, z), (y, z, x), (z, x, y))]


def _signs(*coordinates) -> list[tuple[float, ...]]:
    found = {
        tuple(s * c for s, c in zip(signs, coordinates, strict=True))
        for signs in np.array(np.meshgrid(*[[1, -1]] * 3)).reshape(3, -1).T.tolist()
    }
    return sorted(found)


def fullerene() -> np.ndarray:
    """C60, the truncated icosahedron: 60 vertices of degree 3."""
    golden = (1 + 5**0.5) / 2
    points = (
        _even_permutations(_signs(0, 1, 3 * golden))
        + _even_permutations(_signs(1, 2 + golden, 2 * golden))
        + _even_permutations(_signs(golden, 2, golden**3))
    )
    return adjacency(np.array(points))


def dodecahedron() -> np.ndarray:
    """20 vertices of degree 3."""
    golden = (1 + 5**0.5) / 2
    points = _signs(1, 1, 1) + _even_permutations(_signs(0, 1 / golden, golden))
    return adjacency(np.array(points))


def grid_biadjacency(rows: int, columns: int) -> np.ndarray:
    """Black squares against white squares of a board: the permanent counts domino tilings."""
    squares = [(i, j) for i in range(rows) for j in range(columns)]
    black = [s for s in squares if sum(s) % 2 == 0]
    white = [s for s in squares if sum(s) % 2 == 1]
    return np.array(
        [[int(abs(i - k) + abs(j - m) == 1) for k, m in white] for i, j in black], dtype=np.int64
    )
