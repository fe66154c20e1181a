"""Exact permanents on CUDA are those of the CPU."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardscape
from hardscape import engine
from hardscape.permanents.methods.exact.cuda import STEP_BITS
from hardscape.permanents.methods.exact.exact import CudaResidueWork
from hardscape.permanents.numbers.gaussian import ExactComplex
from helpers.permanent_oracle import fullerene
from helpers.permanent_sums import summed

pytestmark = pytest.mark.gpu

GPU = [engine.Cuda(0)]


@pytest.mark.parametrize("n", [STEP_BITS + 1, STEP_BITS + 2, 17, 20, 23])
@pytest.mark.parametrize("size", [1, 2**40, 2**100])
def test_residues_of_dense_integers(n, size):
    matrix = np.random.default_rng(n).integers(-9, 9, (n, n)).astype(object) * size
    rows = tuple(map(tuple, matrix.tolist()))
    assert summed(CudaResidueWork.of(rows), GPU) == hardscape.permanent(matrix, device="cpu")


def test_a_ledger_of_residues_goes_on(tmp_path):
    rows = ((1,) * 24,) * 24
    ledger = tmp_path / "ones.ledger"
    for _ in range(2):
        assert summed(CudaResidueWork.of(rows), GPU, checkpoint=ledger) == math.factorial(24)


@pytest.mark.parametrize("kind", [int, float, complex, ExactComplex])
def test_every_kind_of_entry(kind):
    rng = np.random.default_rng(7)
    n = 26 if kind in (int, float) else 22
    matrix = rng.integers(-9, 9, (n, n)).astype(object)
    if kind is float:
        matrix = rng.normal(size=(n, n))
    if kind is complex:
        matrix = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    if kind is ExactComplex:
        matrix = np.frompyfunc(ExactComplex, 2, 1)(matrix, rng.integers(-9, 9, (n, n)))
    found = [
        hardscape.permanent(matrix, precision="exact", device=device)
        for device in ("cuda:0", "cpu")
    ]
    assert found[0] == found[1] != 0


def test_structure_is_used_there_too():
    rational = fullerene().astype(float) * 0.1
    exact = hardscape.permanent(rational, precision="exact", device="cuda:0", full_output=True)
    assert exact.value == hardscape.permanent(rational, precision="exact", device="cpu")
    assert exact.method == "frontier"
