"""The kernels of the walks compile, without a GPU; their tables describe the formula."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's Python bindings are not installed")

from hardscape.engine import jit
from hardscape.maxsat import Formula
from hardscape.maxsat.walkers import WalkTables, fits
from hardscape.maxsat.walkers.tables import walk_kernels


@pytest.mark.parametrize(
    ("group", "arch"), [(4, "sm_90"), (8, "sm_80"), (8, "sm_90"), (8, "sm_100"), (32, "sm_90")]
)
def test_walk_kernels(group, arch):
    for kernel in walk_kernels(group=group, threads=256, listed=128):
        assert jit.compile(kernel, arch).startswith(b"\x7fELF")


def test_tables():
    formula = Formula.from_clauses([[1, -2, 3], [-3, 2], [3], [-1, 2, -3]])
    tables = WalkTables.of(formula)
    never = 6
    assert tables.clause[:, :3].tolist() == [[0, 3, 4], [5, 2, never], [4, never, never], [1, 2, 5]]
    assert tables.occurrences.tolist() == [[0, 1 | 1 << 16], [2, 2 | 1 << 16], [5, 2 | 2 << 16]]
    # Occurrences of 1, -1, 2, 2, -2, 3, 3, -3, -3, in the order of the clauses.
    assert tables.clause_of.tolist() == [0, 3, 1, 3, 0, 0, 2, 1, 3]
    pairs = [{int(x) & 0xFFFF, int(x) >> 16} for x in tables.others]
    assert pairs == [
        {3, 4},
        {2, 5},
        {5, never},
        {1, 5},
        {0, 4},
        {0, 3},
        {never},
        {2, never},
        {1, 2},
    ]


def test_what_fits():
    assert fits(Formula.from_clauses([[1, 2, 3], [-1]]))
    assert not fits(Formula.from_clauses([[1, 2, 3, 4]]))
    assert not fits(Formula.from_clauses([[]], num_variables=3))
    assert not fits(Formula.from_clauses([]))
    assert not fits(Formula.from_clauses([[1]], num_variables=2**15))
    assert not fits(Formula.from_clauses(np.ones((2**16, 1), dtype=int).tolist()))
