"""Random instances for tests."""

from __future__ import annotations

import itertools

import numpy as np

from hardscape.ising import Ising


def dense_integer(n: int, seed: int, bound: int = 100, fields: bool = True) -> Ising:
    """Dense couplings (and fields) uniform in -bound to bound."""
    rng = np.random.default_rng(seed)
    J = np.triu(rng.integers(-bound, bound + 1, (n, n)), 1).astype(float)
    h = rng.integers(-bound, bound + 1, n).astype(float) * fields
    return Ising(h, J)


def dense_gaussian(n: int, seed: int, fields: bool = True) -> Ising:
    """Dense standard normal couplings (and fields)."""
    rng = np.random.default_rng(seed)
    return Ising(rng.normal(size=n) * fields, np.triu(rng.normal(size=(n, n)), 1))


def wide_range(n: int, seed: int) -> Ising:
    """Dense couplings and fields of magnitudes 1e-12 to 1e12."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-12, 13, (n, n))
    J = np.triu(rng.normal(size=(n, n)) * scale, 1)
    return Ising(rng.normal(size=n) * scale[0], J)


def plus_minus_lattice(rows: int, cols: int, seed: int) -> Ising:
    """Square lattice with open ends and couplings -1 or +1, no fields: highly degenerate."""
    rng = np.random.default_rng(seed)
    n = rows * cols
    J = {}
    for r in range(rows):
        for c in range(cols):
            i = r * cols + c
            if c + 1 < cols:
                J[i, i + 1] = float(rng.choice([-1, 1]))
            if r + 1 < rows:
                J[i, i + cols] = float(rng.choice([-1, 1]))
    return Ising(np.zeros(n), J)


def cut(n: int, seed: int) -> Ising:
    """A largest cut of a random graph of half of all edges."""
    edges = np.random.default_rng(seed).random((n, n)) < 0.5
    return Ising(np.zeros(n), np.triu(edges, 1).astype(float))


def stable_set(n: int, density: float, seed: int) -> Ising:
    """Heaviest stable sets of a random graph: variables (1 + s) / 2, a penalty for each edge."""
    random = np.random.default_rng(seed)
    penalties = 100.0 * np.triu(random.random((n, n)) < density, 1)
    weights = random.integers(1, 50, size=n)
    fields = -weights / 2 + (penalties.sum(axis=0) + penalties.sum(axis=1)) / 4
    return Ising(fields, penalties / 4)


def energies(model: Ising) -> list[float]:
    """Energies of all states; the first spin changes slowest, -1 comes before +1."""
    return model.energy(list(itertools.product((-1, 1), repeat=model.num_spins))).tolist()
