"""What XOR systems are checked against: every assignment listed, and Gauss by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hardscape.xorsat import XorSystem


def all_assignments(n: int) -> NDArray[np.uint8]:
    """All 2^n assignments, shape (2^n, n)."""
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.uint8).reshape(2**n, n)


def matrix(system: XorSystem) -> NDArray[np.uint8]:
    """Left-hand sides as a dense matrix, shape (M, N)."""
    dense = np.zeros((system.num_clauses, system.num_variables), dtype=np.uint8)
    for clause, members in enumerate(system.clauses()):
        dense[clause, list(members)] = 1
    return dense


def gf2_rank(dense: NDArray[Any]) -> int:
    """Rank over GF(2), one pivot after another."""
    rows, rank = dense.astype(np.uint8) % 2, 0
    for column in range(rows.shape[1]):
        below = np.flatnonzero(rows[rank:, column])
        if len(below):
            rows[[rank, rank + below[0]]] = rows[[rank + below[0], rank]]
            others = rows[:, column].copy()
            others[rank] = 0
            rows ^= np.outer(others, rows[rank])
            rank += 1
    return rank


@st.composite
def systems(
    draw: st.DrawFn, most_variables: int = 8, longest: int = 5, most_clauses: int = 14
) -> XorSystem:
    """Small systems, clauses with repeated variables among them."""
    n = draw(st.integers(1, most_variables))
    clause = st.lists(st.integers(0, n - 1), min_size=1, max_size=longest)
    clauses = draw(st.lists(clause, max_size=most_clauses))
    parity = [draw(st.integers(0, 1)) for _ in clauses]
    return XorSystem.from_clauses(clauses, parity, num_variables=n)
