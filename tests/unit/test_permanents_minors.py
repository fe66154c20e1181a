"""All first minors at once, and the gradient."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.errors import BudgetError, DeviceError, InputError
from hardscape.permanents import minors, value_and_grad
from helpers.permanent_oracle import exact_complex_permanent, exact_permanent_by_subsets


def one_by_one(matrix, permanent=exact_permanent_by_subsets):
    n = len(matrix)
    without = [[np.delete(np.delete(matrix, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return [[permanent(x) for x in row] for row in without]


@given(st.integers(1, 7), st.integers(0, 2**32), st.sampled_from([3, 2**40]))
@settings(max_examples=25, deadline=None)
def test_integers_exactly(n, seed, size):
    matrix = np.random.default_rng(seed).integers(-size, size + 1, (n, n)).astype(object)
    found = minors(matrix)
    assert found.tolist() == one_by_one(matrix)
    assert {type(x) for x in found.flat} == {int}


def test_fractions():
    matrix = [[Fraction(1, 2), 3, 0], [Fraction(2, 3), 1, 1], [0, 5, Fraction(1, 7)]]
    found = minors(matrix)
    assert found.tolist() == one_by_one(np.array(matrix, dtype=object))
    assert all(isinstance(x, Fraction) for x in found.flat)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 9])
@pytest.mark.parametrize("scale", [1.0, 1e-30])
def test_real(n, scale):
    rng = np.random.default_rng(n)
    matrix = rng.normal(size=(n, n)) * scale ** rng.integers(0, 2, (n, 1))
    found = minors(matrix)
    expected = np.array(one_by_one(matrix), dtype=float).reshape(n, n)
    magnitude = np.array(one_by_one(np.abs(matrix)), dtype=float)
    assert (np.abs(found - expected) <= 1e-13 * magnitude).all()
    assert found.dtype == np.float64


def test_complex_is_holomorphic():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6))
    found = minors(matrix)
    expected = one_by_one(matrix, lambda x: complex(*map(float, exact_complex_permanent(x))))
    assert np.allclose(found, expected, rtol=1e-11)


def test_many_positions_and_shards():
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(18, 18))
    found = minors(matrix)
    value = hardscape.permanent(matrix)
    assert np.allclose((matrix * found).sum(axis=0), value, rtol=1e-9)
    assert np.allclose((matrix * found).sum(axis=1), value, rtol=1e-9)
    assert found[3, 5] == pytest.approx(
        hardscape.permanent(np.delete(np.delete(matrix, 3, 0), 5, 1)), rel=1e-9
    )
    assert (minors(matrix, threads=1) == minors(matrix, threads=3)).all()


def test_many_terms_modulo_primes():
    matrix = np.random.default_rng(3).integers(-99, 100, (14, 14))
    found = minors(matrix)
    value = hardscape.permanent(matrix)
    assert ((matrix * found).sum(axis=0) == value).all()
    assert ((matrix * found).sum(axis=1) == value).all()


def test_zeros_have_derivatives():
    assert minors([[0, 0], [0, 0]]).tolist() == [[0, 0], [0, 0]]
    assert minors([[0.0, 0.0], [0.0, 2.0]]).tolist() == [[2.0, 0.0], [0.0, 0.0]]
    assert minors(np.empty((0, 0))).shape == (0, 0)
    assert minors([[5]]).tolist() == [[1]]


def test_gradient_by_differences():
    matrix = np.random.default_rng(4).normal(size=(5, 5))
    value, gradient = value_and_grad(matrix)
    assert value == hardscape.permanent(matrix)
    step = np.zeros((5, 5))
    step[2, 3] = 0.5
    # The permanent is linear in each entry.
    moved = hardscape.permanent(matrix + step)
    assert moved - value == pytest.approx(0.5 * gradient[2, 3], rel=1e-11)


def test_refusals():
    for wrong in (np.ones((2, 3)), np.ones((2, 2, 2)), [["a"]], np.ones((64, 64))):
        with pytest.raises(InputError):
            minors(wrong)
    big = np.random.default_rng(5).normal(size=(55, 55))
    with pytest.raises(BudgetError):
        minors(big)
    with pytest.raises(BudgetError):
        minors(big, time_limit=0.1)


def test_value_and_gradient_have_checkpoints_of_their_own(tmp_path):
    matrix = np.random.default_rng(7).normal(size=(12, 12))
    path = tmp_path / "run"
    value, gradient = value_and_grad(matrix, checkpoint=path)
    assert {file.name for file in tmp_path.iterdir()} >= {"run", "run.minors"}
    again = value_and_grad(matrix, checkpoint=path)
    assert again[0] == value
    assert (again[1] == gradient).all()


def test_minors_do_not_run_on_gpus():
    with pytest.raises(DeviceError):
        minors(np.ones((3, 3)), device="cuda:0")


def test_rows_of_very_different_size_keep_their_digits():
    a = np.random.default_rng(5).normal(size=(9, 9))
    a[-1, 1] *= 1e-4  # small in the largest row only
    scale = 2.0 ** np.array([-30, 0, 0, 0, 0, 0, 0, 0, 30])[:, None]
    np.testing.assert_allclose(minors(a * scale) * scale, minors(a), rtol=1e-11, atol=1e-8)
