"""What a permanent does not depend on, and identities for whole families of matrices."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.permanents.numbers.integers import permanent_bound
from helpers.permanent_oracle import exact_permanent_by_subsets

METHODS = ["auto", "glynn", "frontier", "subset"]


@st.composite
def matrices(draw, most=7):
    n = draw(st.integers(1, most))
    entry = st.one_of(st.just(0), st.integers(-9, 9))
    return np.array(draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=n, max_size=n)))


@given(matrices(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_transposition_and_scale(matrix, random):
    expected = exact_permanent_by_subsets(matrix)
    n = len(matrix)
    rows, columns = random.sample(range(n), n), random.sample(range(n), n)
    assert hardscape.permanent(matrix) == expected
    assert hardscape.permanent(matrix[rows][:, columns].T) == expected
    factors = [random.randint(-3, 3) for _ in range(n)]
    assert hardscape.permanent(matrix * np.array(factors)[:, None]) == expected * math.prod(factors)


@given(matrices(), st.sampled_from([1.0, 0.37, 1e-40, 1e120]))
@settings(max_examples=60, deadline=None)
def test_floats_stay_within_their_bound(matrix, scale):
    floating = matrix * scale
    result = hardscape.permanent(floating, full_output=True)
    expected = exact_permanent_by_subsets(floating)
    assert result.rigorous
    if math.isfinite(result.value):
        assert abs(Fraction(result.value) - expected) <= Fraction(result.error_bound)


@given(matrices())
@settings(max_examples=60, deadline=None)
def test_the_bound_of_the_permanent(matrix):
    rows = tuple(map(tuple, matrix.tolist()))
    assert abs(exact_permanent_by_subsets(matrix)) <= permanent_bound(rows)


def test_bregmans_bound_is_reached_by_blocks_of_ones():
    blocks = np.kron(np.eye(4, dtype=int), np.ones((3, 3), dtype=int))
    assert permanent_bound(tuple(map(tuple, blocks.tolist()))) < 2 * 6**4


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree(method):
    rng = np.random.default_rng(1)
    matrix = np.abs(rng.normal(size=(9, 9)))
    exact = hardscape.permanent(matrix, precision="exact")
    result = hardscape.permanent(matrix, method=method, full_output=True)
    assert abs(Fraction(result.value) - exact) <= Fraction(result.error_bound)
    whole = rng.integers(-9, 10, (9, 9))
    assert hardscape.permanent(whole, method=method) == exact_permanent_by_subsets(whole)


@pytest.mark.parametrize(("a", "b", "n"), [(2, 3, 9), (-1, 1, 14), (7, -2, 12)])
def test_multiples_of_identity_and_ones(a, b, n):
    matrix = a * np.eye(n, dtype=int) + b
    expected = sum(
        math.comb(n, k) * a**k * b ** (n - k) * math.factorial(n - k) for k in range(n + 1)
    )
    assert hardscape.permanent(matrix) == expected
    assert hardscape.permanent(matrix.astype(float)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_published_examples(n):
    """1 to n^2 row by row, as in the tests of several packages; the Hilbert matrix."""
    expected = {2: 10, 3: 450, 4: 55456}[n]
    matrix = np.arange(1, n * n + 1).reshape(n, n)
    assert hardscape.permanent(matrix) == expected
    assert hardscape.permanent(matrix.astype(float)) == expected
    hilbert = [[Fraction(1, i + j + 1) for j in range(5)] for i in range(5)]
    assert hardscape.permanent(hilbert) == Fraction(32104903, 470400000)
    assert hardscape.permanent(np.arange(1, 7).reshape(2, 3)) == 58
    assert hardscape.permanent(np.arange(1, 50).reshape(7, 7)) == 5373548250000


def test_roots_of_unity():
    """Per of [1 - zeta^j x_k] is n! (1 - prod x) for a primitive n-th root zeta."""
    n = 9
    x = np.random.default_rng(2).uniform(0.5, 1.5, n)
    zeta = np.exp(2j * np.pi * np.arange(n) / n)
    value = hardscape.permanent(1 - zeta[:, None] * x)
    assert value == pytest.approx(math.factorial(n) * (1 - x.prod()), rel=1e-9)
