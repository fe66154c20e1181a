"""Low rank, and low rank plus a diagonal: found, proven, summed exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.engine import Context, Cpu
from hardscape.errors import BudgetError, InputError
from hardscape.permanents import ExactComplex, permanent_of_product, plan
from hardscape.permanents.methods.rank.rank import LowRankWork
from hardscape.permanents.numbers.gaussian import gaussian_integers_of
from hardscape.permanents.numbers.integers import integers_of
from hardscape.permanents.structure.rank import PRIME, low_rank, residues
from helpers.permanent_oracle import exact_complex_permanent, exact_permanent_by_subsets


def of_rank(n, r, seed=0, mixed=False, is_complex=False):
    rng = np.random.default_rng([n, r, seed])

    def integers(size, *shape):
        real = rng.integers(-size, size + 1, shape)
        return real + 1j * rng.integers(-size, size + 1, shape) if is_complex else real

    matrix = integers(4, n, r) @ integers(4, r, n)
    return matrix + np.diag(integers(9, n)) if mixed else matrix


def complex_permanent(matrix):
    return ExactComplex(*map(int, exact_complex_permanent(matrix)))


def _summed(factors):
    work = LowRankWork(factors)
    (shard,) = work.shards()
    result = work.run(shard, Context(Cpu(), None, np.zeros(1, np.uint8)))
    return work.result(result.partial)


@given(st.integers(5, 8), st.integers(1, 3), st.integers(0, 99), st.booleans())
@settings(max_examples=30, deadline=None)
def test_against_the_plain_sum(n, r, seed, mixed):
    matrix = of_rank(n, r, seed, mixed)
    integers, found = _found(matrix)
    factors = low_rank(integers, found, 3, 1)
    assert mixed or factors is not None
    if factors is None:
        return
    assert _summed(factors) == exact_permanent_by_subsets(integers)


@given(st.integers(5, 7), st.integers(1, 2), st.integers(0, 99), st.booleans())
@settings(max_examples=20, deadline=None)
def test_complex_against_the_plain_sum(n, r, seed, mixed):
    matrix = of_rank(n, r, seed, mixed, is_complex=True)
    integers, _ = gaussian_integers_of(matrix)
    factors = low_rank(integers, residues(integers), 2, 1)
    assert mixed or factors is not None
    if factors is None:
        return
    assert _summed(factors) == complex_permanent(integers)


@pytest.mark.parametrize("mixed", [False, True])
def test_complex_low_rank_is_found(mixed):
    n = 11
    matrix = of_rank(n, 2 - mixed, mixed=mixed, is_complex=True) / 8
    expected = complex_permanent(8 * matrix)
    floats = hardscape.permanent(matrix, method="rank", full_output=True)
    assert floats.method == "rank"
    assert floats.value == pytest.approx(complex(expected) / 8.0**n, rel=1e-15)
    exactly = hardscape.permanent(matrix, precision="exact", method="rank", full_output=True)
    assert (exactly.method, exactly.value) == ("rank", expected / 8**n)
    changed = (8 * matrix).copy()
    changed[0, n - 1] += 1j
    integers, _ = gaussian_integers_of(changed)
    assert low_rank(integers, residues(integers), 2 - mixed, 1) is None
    large = of_rank(40, 1, mixed=True, is_complex=True)
    assert plan(large, time_limit=60).method == plan(large, precision="exact").method == "rank"


def _found(matrix):
    integers, _ = integers_of(matrix.astype(object))
    return integers, residues(np.array(integers, dtype=object))


@pytest.mark.parametrize("mixed", [False, True])
def test_low_rank_is_found(mixed):
    matrix = of_rank(12, 2, mixed=mixed)
    found = low_rank(*_found(matrix), 3, 2)
    assert len(found.v) == 2
    assert (found.diagonal is not None) == mixed
    floats = hardscape.permanent(matrix.astype(float), method="rank", full_output=True)
    assert Fraction(floats.value) == pytest.approx(exact_permanent_by_subsets(matrix), rel=1e-15)


def test_what_is_nearly_of_low_rank_is_not_taken_for_it():
    matrix = of_rank(14, 2)
    for place in ((0, 13), (13, 0), (5, 6)):
        changed = matrix.copy()
        changed[place] += 1
        assert low_rank(*_found(changed), 2, 1) is None
    # A multiple of the prime is 0 modulo it, and an integer all the same.
    hidden = matrix.astype(object)
    hidden[3, 9] += PRIME
    assert low_rank(*_found(hidden), 2, 1) is None
    full = np.random.default_rng(1).random((2, 12, 12))
    for dense in (full[0], full[0] + 1j * full[1]):
        for precision in ("auto", "exact"):
            with pytest.raises(InputError):
                hardscape.permanent(dense, method="rank", precision=precision)


def test_known_permanents():
    n = 40
    ones = np.ones((n, n), dtype=int)
    derangements = sum((-1) ** k * math.factorial(n) // math.factorial(k) for k in range(n + 1))
    assert hardscape.permanent(ones - np.eye(n, dtype=int)) == derangements
    # Elementary symmetric polynomials of the diagonal, times factorials.
    diagonal = np.arange(1, n + 1)
    symmetric = [1]
    for d in diagonal.tolist():
        symmetric = [a + d * b for a, b in zip([*symmetric, 0], [0, *symmetric], strict=True)]
    expected = sum(e * math.factorial(n - k) for k, e in enumerate(symmetric))
    result = hardscape.permanent(ones + np.diag(diagonal), full_output=True)
    assert (result.value, result.method) == (expected, "rank")
    rng = np.random.default_rng(1)
    assert plan(rng.random((n, n)), time_limit=1).method != "rank"


def test_factors_are_taken():
    rng = np.random.default_rng(2)
    u, v, diagonal = (
        rng.integers(-5, 6, (9, 2)),
        rng.integers(-5, 6, (2, 9)),
        rng.integers(-5, 6, 9),
    )
    for beside in (None, diagonal):
        whole = u @ v + (0 if beside is None else np.diag(beside))
        expected = exact_permanent_by_subsets(whole)
        assert permanent_of_product(u, v, diagonal=beside) == expected
        thirds = [[Fraction(int(x), 3) for x in row] for row in u]
        other = None if beside is None else [Fraction(int(x), 3) for x in beside]
        assert permanent_of_product(thirds, v, diagonal=other) == expected / Fraction(3) ** 9
    real, other = rng.normal(size=(8, 2)), rng.normal(size=(2, 8))
    exactly = [
        [sum(Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True)) for y in other.T]
        for x in real
    ]
    assert permanent_of_product(real, other) == float(exact_permanent_by_subsets(exactly))
    assert permanent_of_product(np.ones((50, 1), int), np.ones((1, 50), int)) == math.factorial(50)


@pytest.mark.parametrize(
    ("u", "v", "diagonal"),
    [
        (np.ones((3, 2)), np.ones((3, 2)), None),
        (np.ones((3, 2)), np.ones((2, 3)), [1, 2]),
        (np.ones((2, 3, 1)), np.ones((1, 3)), None),
        (np.ones((3, 2)), np.full((2, 3), np.nan), None),
    ],
)
def test_factors_that_do_not_fit(u, v, diagonal):
    with pytest.raises(InputError):
        permanent_of_product(u, v, diagonal=diagonal)


def test_complex_factors_are_taken():
    rng = np.random.default_rng(4)
    u, v, diagonal = (
        rng.integers(-5, 6, shape) + 1j * rng.integers(-5, 6, shape)
        for shape in ((7, 2), (2, 7), 7)
    )
    for beside in (None, diagonal, diagonal.real):
        whole = u @ v + (0 if beside is None else np.diag(beside))
        expected = complex_permanent(whole)
        assert permanent_of_product(u, v, diagonal=beside) == complex(expected)
        exactly = [[ExactComplex.of(x) for x in row] for row in u.tolist()]
        others = [[ExactComplex.of(x) for x in row] for row in v.tolist()]
        if beside is None:
            assert permanent_of_product(exactly, others) == expected
    assert permanent_of_product(u, v.real) == complex(complex_permanent(u @ v.real))
    assert permanent_of_product(1j * np.ones((8, 1)), np.ones((1, 8))) == math.factorial(8)


def test_a_time_limit_ends_it():
    rng = np.random.default_rng(3)
    with pytest.raises(BudgetError):
        permanent_of_product(rng.normal(size=(60, 5)), rng.normal(size=(5, 60)), time_limit=0.2)
