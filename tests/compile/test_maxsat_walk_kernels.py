"""The kernels of the walks compile, without a GPU; their tables describe the formula."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's Python bindings are not installed")

from hardscape.maxsat import Formula
from hardscape.maxsat.methods.islands.tables import WalkTables, fits, walk_kernels
from hardscape.maxsat.methods.islands.weighing.weighing import weighing_kernels
from helpers.compiling import compiles


@pytest.mark.parametrize(
    ("arch", "cached", "uniform"),
    [
        ("sm_80", True, True),
        ("sm_90", True, True),
        ("sm_90", True, False),
        ("sm_90", False, True),
        ("sm_90", False, False),
        ("sm_100", True, True),
    ],
)
@pytest.mark.parametrize("synchronous", [False, True])
def test_walk_kernels(arch, cached, uniform, synchronous):
    kernels = walk_kernels(threads=512, cached=cached, uniform=uniform, synchronous=synchronous)
    assert set(kernels) == {"start", "run", "adopt"}
    for name, kernel in kernels.items():
        assert kernel.name == f"walk_{name}"
        assert compiles(kernel, arch)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(
    ("near", "bits_near", "wide"),
    [(True, True, False), (False, True, False), (False, True, True), (False, False, True)],
)
def test_weighing_kernels(arch, near, bits_near, wide):
    kernels = weighing_kernels(threads=128, near=near, bits_near=bits_near, wide=wide)
    assert set(kernels) == {"start", "run", "adopt"}
    for name, kernel in kernels.items():
        assert kernel.name == f"weigh_{name}"
        assert compiles(kernel, arch)


def test_tables():
    formula = Formula.from_clauses([[1, -2, 3], [-3, 2], [3], [-1, 2, -3]])
    tables = WalkTables.of(formula)
    assert not tables.uniform
    never = 6
    assert tables.clause[:, :3].tolist() == [[0, 3, 4], [5, 2, never], [4, never, never], [1, 2, 5]]
    # Of each literal: the other two literals of the clauses with its negation, and its place in them.
    found = [
        [
            (int(x) & 0x7FFF, int(x) >> 16 & 0x7FFF, (int(x) >> 15 & 1) + 2 * (int(x) >> 31))
            for x in tables.others[int(row) & 2**18 - 1 :][: int(row) >> 18]
        ]
        for row in tables.rows
    ]
    assert found == [
        [(2, 5, 0)],
        [(3, 4, 0)],
        [(4, 0, 1)],
        [(never, 5, 1), (5, 1, 1)],
        [(2, never, 0), (1, 2, 2)],
        [(0, 3, 2), (never, never, 0)],
        [],
        [],
    ]
    assert WalkTables.of(Formula.from_clauses([[1, -2, 3]])).uniform


def test_what_fits():
    assert fits(Formula.from_clauses([[1, 2, 3], [-1]]))
    assert not fits(Formula.from_clauses([[1, 2, 3, 4]]))
    assert not fits(Formula.from_clauses([[]], num_variables=3))
    assert not fits(Formula.from_clauses([]))
    assert not fits(Formula.from_clauses([[1]], num_variables=2**15))
    assert not fits(Formula.from_clauses(np.ones((2**16, 1), dtype=int).tolist()))
