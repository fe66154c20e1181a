"""Sparse matrices with a permanent that is not 0."""

import numpy as np


def sparse_matrix(n, density, seed=0, complex_entries=False):
    """Normal entries at random places and on the diagonal."""
    rng = np.random.default_rng(1000 * n + seed)
    a = rng.normal(size=(n, n)) * (rng.random((n, n)) < density) + np.diag(rng.normal(size=n))
    return a * np.exp(1j * rng.normal(size=a.shape)) if complex_entries else a
