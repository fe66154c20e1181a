"""Random clauses as lists of literals."""

from __future__ import annotations

import numpy as np


def random_clauses(n, m, sizes, seed) -> list[list[int]]:
    """Distinct variables in each clause, signs at random; its size is drawn from `sizes`."""
    rng = np.random.default_rng(seed)
    clauses = []
    for _ in range(m):
        chosen = rng.choice(n, rng.choice(sizes), replace=False) + 1
        clauses.append([int(x) for x in chosen * rng.choice([-1, 1], len(chosen))])
    return clauses
