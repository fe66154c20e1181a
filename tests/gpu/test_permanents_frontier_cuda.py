"""The frontier program on CUDA against the CPU: the same integers, and sums within both bounds."""

from __future__ import annotations

import numpy as np
import pytest

import hardscape
from hardscape import engine
from hardscape.permanents.methods.frontier.cuda import CudaFrontierSumWork, CudaFrontierWork
from hardscape.permanents.methods.frontier.cuts import UNCUT, cut_up
from hardscape.permanents.methods.frontier.order import best_order
from hardscape.permanents.methods.frontier.work import FrontierSumWork, FrontierWork
from hardscape.permanents.numbers.integers import primes_above
from helpers.permanent_oracle import fullerene, grid_biadjacency
from helpers.permanent_sums import summed

pytestmark = pytest.mark.gpu

GPU = [engine.Cuda(0)]
CPU = engine.resolve("cpu")


def regular(n, degree, seed):
    rng = np.random.default_rng(seed)
    return sum(np.eye(n, dtype=np.int64)[rng.permutation(n)] for _ in range(degree))


@pytest.mark.parametrize("words", [1, 2, 4, 8])
@pytest.mark.parametrize("parts", [1, 3])
def test_integers_are_those_of_the_cpu(words, parts):
    matrix = regular(44, 3, words) * np.random.default_rng(2).choice([-3, -1, 1, 2], (44, 44))
    order, turned = best_order(matrix)
    rows = tuple(map(tuple, (matrix.T if turned else matrix).tolist()))
    cuts = UNCUT if parts == 1 else cut_up(order, 1.0, 1.0, order.peak / parts)
    ours = summed(CudaFrontierWork(rows, order, words, (), cuts), GPU)
    assert ours == summed(FrontierWork(rows, order, words, (), cuts), CPU)
    assert ours != 0


@pytest.mark.parametrize("bits", [3, 200, 700])  # 1, 4 and 12 primes
@pytest.mark.parametrize("parts", [1, 3])
def test_residues_are_those_of_the_cpu(bits, parts):
    matrix = regular(44, 3, bits) * np.random.default_rng(2).choice([-3, -1, 1, 2], (44, 44))
    matrix = matrix.astype(object) * (2 ** (bits // 44) + 1)
    order, turned = best_order(matrix)
    rows = tuple(map(tuple, (matrix.T if turned else matrix).tolist()))
    cuts = UNCUT if parts == 1 else cut_up(order, 1.0, 1.0, order.peak / parts)
    primes = primes_above(2**bits)
    ours = summed(CudaFrontierWork(rows, order, 0, primes, cuts), GPU)
    assert ours == summed(FrontierWork(rows, order, 0, primes, cuts), CPU)
    assert ours != 0


@pytest.mark.parametrize("kind", ["nonnegative", "signed", "complex"])
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-150])
def test_sums_are_within_both_bounds(kind, wrong, scale):
    rng = np.random.default_rng(3)
    matrix = regular(40, 3, 1) * rng.random((40, 40)) * scale
    if kind != "nonnegative":
        matrix *= rng.choice([-1, 1], matrix.shape)
    if kind == "complex":
        matrix = matrix * np.exp(1j * rng.normal(size=matrix.shape))
    error = 1e-9 * np.abs(matrix) if wrong else None
    order, turned = best_order(matrix)
    if turned:
        matrix = np.ascontiguousarray(matrix.T)
        error = None if error is None else np.ascontiguousarray(error.T)
    ours = summed(CudaFrontierSumWork(matrix, error, order), GPU)
    theirs = summed(FrontierSumWork(matrix, error, order), CPU)
    unit = 2.0 ** (theirs.exponent - ours.exponent)
    assert abs(ours.mantissa - theirs.mantissa * unit) <= ours.bound + theirs.bound * unit
    assert ours.bound == pytest.approx(theirs.bound * unit, rel=1e-3)


def test_graphs_and_boards():
    for matrix, expected in ((fullerene(), 395974320), (grid_biadjacency(8, 8), 12988816)):
        order, turned = best_order(matrix)
        rows = tuple(map(tuple, (matrix.T if turned else matrix).tolist()))
        assert summed(CudaFrontierWork(rows, order, 1), GPU) == expected


def test_auto_takes_the_gpu_for_wide_frontiers():
    matrix = regular(120, 3, 1).astype(float)
    result = hardscape.permanent(matrix, full_output=True)
    assert result.method == "frontier"
    assert "GPU" in result.device
    assert result.rigorous
    assert result.error_bound < 1e-12 * result.value
