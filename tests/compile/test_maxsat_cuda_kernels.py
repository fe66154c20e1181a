"""Every kernel of the cellular genetic algorithm compiles, without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's Python bindings are not installed")

from hardscape.maxsat import CellularOptions, Formula
from hardscape.maxsat.methods.cellular.cuda import FormulaTables, cellular_kernels
from hardscape.maxsat.methods.cellular.generation import CellularKernel
from helpers.compiling import compiles


@pytest.mark.parametrize(
    ("three", "weighted", "arch"),
    [
        (True, False, "sm_80"),
        (True, False, "sm_90"),
        (False, True, "sm_90"),
        (True, True, "sm_100"),
    ],
)
@pytest.mark.parametrize(
    ("warps", "planes", "table"), [(1, True, True), (4, True, False), (1, False, False)]
)
def test_cellular_kernels(three, weighted, arch, warps, planes, table):
    kernels = cellular_kernels(
        warps=warps, three=three, weighted=weighted, planes_shared=planes, table_shared=table
    )
    for name, kernel in kernels.items():
        assert kernel.name == f"cellular_{name}"
        assert compiles(kernel, arch)


def test_tables_name_the_other_literals_of_each_occurrence():
    formula = Formula.from_clauses([[1, -2, 3], [2, 2], [-1, 3, 1], [3, -1], []], num_variables=3)
    tables = FormulaTables.of(CellularKernel(formula, CellularOptions()).native(), 3)
    # Clause 2 is a tautology and left out, clause 1 is a unit, clause 4 a constant.
    assert tables.base == (0, 1)
    assert tables.three
    assert not tables.weighted
    found = [
        (literal, {int(x) & 0xFFFF, int(x) >> 16} - {6})
        for literal in range(6)
        for x in tables.others[tables.first[literal] : tables.first[literal + 1]]
    ]
    assert found == [(0, {3, 4}), (1, {4}), (2, set()), (3, {0, 4}), (4, {0, 3}), (4, {1})]


def test_tables_of_long_clauses():
    formula = Formula.from_clauses([[1, 2, 3, 4, 5], [-1, 5]], [3, 4])
    tables = FormulaTables.of(CellularKernel(formula, CellularOptions()).native(), 5)
    assert not tables.three
    assert tables.weighted
    assert np.diff(tables.others_from).tolist() == [4, 1, 4, 4, 4, 4, 1]
    assert tables.gain[:, 1].tolist() == [3, 4, 3, 3, 3, 3, 4]
