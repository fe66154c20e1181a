"""Sums over subsets: nonnegative squares and rectangles of few rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape.engine import Context, Cpu
from hardscape.permanents.methods.subset.subset import RectangleWork, SubsetWork
from helpers.permanent_oracle import exact_permanent_by_subsets


def total(work):
    (shard,) = work.shards()
    result = work.run(shard, Context(Cpu(), None, np.zeros(1, np.uint8)))
    assert result.complete
    return work.result(result.partial)


@pytest.mark.parametrize("n", range(1, 11))
def test_nonnegative_matrices_lose_nothing(n):
    rng = np.random.default_rng(n)
    matrix = rng.random((n, n)) * 10.0 ** rng.integers(-30, 30, (n, n))
    found = total(SubsetWork(matrix))
    expected = exact_permanent_by_subsets(matrix)
    assert abs(Fraction(found.value) - expected) <= Fraction(found.error_bound)
    assert found.error_bound <= 1e-14 * found.value


def test_errors_of_entries_count():
    rng = np.random.default_rng(1)
    matrix = rng.random((6, 6))
    error = matrix * 1e-7 * rng.random((6, 6))
    found = total(SubsetWork(matrix, error))
    moved = exact_permanent_by_subsets(matrix + error)
    assert abs(Fraction(found.value) - moved) <= Fraction(found.error_bound)
    assert found.error_bound < 1e-5 * found.value


def test_all_ones_have_all_digits_where_signs_lose_some():
    n = 22
    result = hardscape.permanent(np.ones((n, n)), method="subset", full_output=True)
    assert result.value == pytest.approx(math.factorial(n), rel=1e-15)
    signs = hardscape.permanent(np.ones((n, n)), method="glynn", full_output=True)
    assert signs.error_bound > 100 * result.error_bound
    assert abs(signs.value - math.factorial(n)) <= signs.error_bound


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 3), (3, 3), (4, 9), (6, 7)])
def test_rectangles(shape):
    rng = np.random.default_rng(shape)
    matrix = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, shape)
    found = total(RectangleWork(matrix))
    expected = exact_permanent_by_subsets(matrix)
    assert abs(Fraction(found.value) - expected) <= Fraction(found.error_bound)
    turned = total(RectangleWork(matrix * 1j))
    assert abs(complex(turned.value) - 1j ** shape[0] * float(expected)) <= 2 * turned.error_bound


def test_rectangles_of_many_columns():
    matrix = np.random.default_rng(2).normal(size=(4, 300)) * 1e-90
    result = hardscape.permanent(matrix, full_output=True)
    assert result.method == "subset"
    assert result.value == 0.0
    larger = hardscape.permanent(matrix * 1e90, full_output=True)
    exact = hardscape.permanent(matrix * 1e90, precision="exact")
    assert abs(Fraction(larger.value) - exact) <= Fraction(larger.error_bound)


def test_stopped():
    work = SubsetWork(np.ones((12, 12)))
    (shard,) = work.shards()
    assert not work.run(shard, Context(Cpu(), None, np.ones(1, np.uint8))).complete
