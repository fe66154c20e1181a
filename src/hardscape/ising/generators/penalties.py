"""QUBOs with penalties, and number partitioning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Coefficients in the upper triangle, fields on the diagonal; the constant.
Qubo = tuple[NDArray[np.float64], float]


class Penalties:
    """A QUBO to which penalties are added."""

    def __init__(self, variables: int) -> None:
        self.matrix, self.offset = np.zeros((variables, variables)), 0.0

    def add(self, i: int, j: int, value: float) -> None:
        """Add ``value * x_i x_j``."""
        self.matrix[min(i, j), max(i, j)] += value

    def equals(self, variables: list[int], total: int, weight: float) -> None:
        """Add ``weight * (sum of x - total)**2``."""
        self.offset += weight * total**2
        for k, i in enumerate(variables):
            self.add(i, i, weight * (1 - 2 * total))
            for j in variables[:k]:
                self.add(i, j, 2 * weight)

    @property
    def qubo(self) -> Qubo:
        """Matrix and constant."""
        return self.matrix, self.offset


def assignment(size: int, rng: np.random.Generator) -> Qubo:
    """Each of `size` workers gets one of as many jobs, at costs 1 to 99."""
    n, costs = size, rng.integers(1, 100, (size, size))
    told = Penalties(n * n)
    for i in range(n):
        for j in range(n):
            told.add(n * i + j, n * i + j, float(costs[i, j]))
        told.equals([n * i + j for j in range(n)], 1, 200.0)
        told.equals([n * j + i for j in range(n)], 1, 200.0)
    return told.qubo


def tour(cities: int, rng: np.random.Generator) -> Qubo:
    """The shortest closed tour of cities in a square: variable n c + t is 1 if city c is the t-th."""
    n, places = cities, rng.random((cities, 2))
    lengths = np.rint(100 * np.linalg.norm(places[:, None] - places[None], axis=2))
    told = Penalties(n * n)
    for a in range(n):
        told.equals([n * a + t for t in range(n)], 1, 200.0)
        told.equals([n * b + a for b in range(n)], 1, 200.0)
        for b in range(n):
            for t in range(n) if a != b else ():
                told.add(n * a + t, n * b + (t + 1) % n, float(lengths[a, b]))
    return told.qubo


def stable(vertices: int, rng: np.random.Generator) -> Qubo:
    """The largest stable set of a random graph of density 1/2 (a clique of its complement)."""
    told = Penalties(vertices)
    for i in range(vertices):
        told.add(i, i, -1.0)
        for j in range(i):
            if rng.random() < 0.5:
                told.add(i, j, 2.0)
    return told.qubo


def gka_b(variables: int, rng: np.random.Generator) -> Qubo:
    """As the instances gka1b to gka10b of the Biq Mac library: fields -63 to 0, couplings 0 to 100."""
    n = variables
    couplings = np.triu(rng.integers(0, 101, (n, n)), 1).astype(float)
    matrix = 2 * couplings - np.diag(rng.integers(0, 64, n))
    return matrix, 0.0


def colouring(vertices: int, rng: np.random.Generator) -> Qubo:
    """Four colours, one a vertex, and edges of mean degree 4.5 whose ends should differ."""
    told, colours = Penalties(4 * vertices), 4
    for i in range(vertices):
        told.equals([colours * i + c for c in range(colours)], 1, 2.0)
        for j in range(i):
            for c in range(colours) if rng.random() < 4.5 / vertices else ():
                told.add(colours * i + c, colours * j + c, 1.0)
    return told.qubo


def portfolio(assets: int, rng: np.random.Generator) -> Qubo:
    """A fifth of the assets, of least variance for their return: three factors and noise."""
    factors = rng.normal(size=(assets, 3))
    covariance = factors @ factors.T + np.diag(rng.random(assets))
    told = Penalties(assets)
    for i in range(assets):
        told.add(i, i, float(np.rint(20 * covariance[i, i]) - rng.integers(0, 200)))
        for j in range(i):
            told.add(i, j, float(2 * np.rint(20 * covariance[i, j])))
    told.equals(list(range(assets)), assets // 5, 500.0)
    return told.qubo


def partition(bits: int) -> Callable[[int, np.random.Generator], Qubo]:
    """Two piles of numbers of so many bits: the square of the difference of their sums."""

    def drawn(count: int, rng: np.random.Generator) -> Qubo:
        numbers = rng.integers(1, 1 << bits, count).astype(float)
        matrix = 8 * np.triu(np.outer(numbers, numbers), 1)
        return matrix + np.diag(4 * numbers * (numbers - numbers.sum())), float(numbers.sum() ** 2)

    return drawn


#: What is drawn of a size.
KINDS: dict[str, Callable[[int, np.random.Generator], Qubo]] = {
    "assignment": assignment,
    "tour": tour,
    "stable": stable,
    "gka-b": gka_b,
    "colouring": colouring,
    "portfolio": portfolio,
    "partition20": partition(20),
    "partition12": partition(12),
}
