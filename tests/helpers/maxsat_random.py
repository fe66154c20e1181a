"""Random MAX-k-SAT formulas for tests."""

from __future__ import annotations

import numpy as np

from hardscape.maxsat import Formula


def random_clauses(variables: int, clauses: int, size: int, seed: int, weights=None) -> Formula:
    """Clauses of distinct variables with random signs."""
    rng = np.random.default_rng(seed)
    drawn = np.argsort(rng.random((clauses, variables)), axis=1)[:, :size] + 1
    signed = drawn * rng.choice([-1, 1], (clauses, size))
    return Formula.from_clauses(signed.tolist(), weights, num_variables=variables)
