"""A good first state, around which a search starts."""

from __future__ import annotations

import numpy as np

from hardscape import native
from hardscape.ising.exact import ExactTerms

__all__ = ["first_state"]

_REPLICAS, _SWEEPS = 16, 100


def first_state(terms: ExactTerms, seed: int) -> int:
    """A low state, found by annealing with float64 couplings; deterministic."""
    n = terms.num_spins
    matrix = np.zeros((n, n))
    matrix[terms.row, terms.col] = terms.floats(terms.couplings)
    # Only ratios matter, and scaled couplings cannot overflow.
    scale = max(
        float(np.abs(matrix).max(initial=0)),
        float(np.abs(terms.floats(terms.fields)).max(initial=0)),
    )
    exponent = int(np.frexp(scale)[1])
    matrix = np.ldexp(matrix, -exponent)
    fields = np.ldexp(terms.floats(terms.fields), -exponent)
    return native.vector.ising.anneal(fields, matrix + matrix.T, _REPLICAS, _SWEEPS, seed)
