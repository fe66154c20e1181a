"""What comes out of an interferometer, by the plainest sum over exchanges of photons."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache

import numpy as np


@cache
def exchanges_of(n: int) -> np.ndarray:
    """All permutations of so many, a row each."""
    return np.array(list(itertools.permutations(range(n))), dtype=int)


def permanent_of(matrix: np.ndarray) -> complex:
    n = len(matrix)
    return complex(matrix[np.arange(n), exchanges_of(n)].prod(axis=1).sum())


def distribution(a, photons, gram=None, kept=None) -> dict[tuple[int, ...], float]:
    """Probability of the photons in each output.

    `gram` holds the overlaps of the photons' internal states, and `kept` each photon's probability
    to be there at all. Without loss in `a`: its used columns are orthonormal.
    """
    a = np.asarray(a, dtype=complex)
    columns = np.repeat(np.arange(len(photons)), photons)
    n = len(columns)
    gram = np.ones((n, n)) if gram is None else np.asarray(gram)
    kept = np.ones(n) if kept is None else np.asarray(kept)
    found: Counter = Counter()
    for there in itertools.product((0, 1), repeat=n):
        share = math.prod(k if x else 1 - k for x, k in zip(there, kept, strict=True))
        if share:
            left = np.flatnonzero(there)
            for output, p in _of(a, columns[left], gram[np.ix_(left, left)]).items():
                found[output] += share * p
    return dict(found)


def _of(a, columns, gram) -> dict[tuple[int, ...], float]:
    n, outputs = len(columns), len(a)
    exchanges = [
        (list(rho), math.prod((gram[rho[j], j] for j in range(n)), start=1.0))
        for rho in itertools.permutations(range(n))
    ]
    norm = sum(
        weight for rho, weight in exchanges if all(columns[rho[j]] == columns[j] for j in range(n))
    )
    found = {}
    for rows in itertools.combinations_with_replacement(range(outputs), n):
        m = a[np.ix_(rows, columns)]
        value = sum(weight * permanent_of(m * m[:, rho].conj()) for rho, weight in exchanges)
        counts = np.bincount(rows, minlength=outputs)
        repeats = math.prod(math.factorial(s) for s in counts.tolist())
        found[tuple(counts.tolist())] = (value / norm / repeats).real
    return found


def interferometer(m: int, seed: int) -> np.ndarray:
    """A random unitary matrix."""
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(m, m)) + 1j * rng.normal(size=(m, m)))[0]
