"""All first minors at once, and the gradient."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.engine import RunOptions, solve
from hardscape.errors import BudgetError, DeviceError, InputError, OverflowWarning
from hardscape.permanents import minors, plan, plan_gradient, value_and_grad
from hardscape.permanents.derivatives.frontier import (
    FrontierMinorResidueWork,
    FrontierMinorWork,
    narrow_order,
)
from hardscape.permanents.derivatives.minors import MinorWork
from hardscape.permanents.matrix import Matrix
from helpers.permanent_oracle import (
    exact_complex_permanent,
    exact_permanent_by_subsets,
    fullerene,
    grid_biadjacency,
    repeat,
)


def one_by_one(matrix, permanent=exact_permanent_by_subsets):
    n = len(matrix)
    without = [[np.delete(np.delete(matrix, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return [[permanent(x) for x in row] for row in without]


def complex_permanent(matrix):
    return complex(*map(float, exact_complex_permanent(matrix)))


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


def by_glynn(matrix):
    return solve(MinorWork(matrix), RunOptions.checked(threads=1)).whole()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 8])
@pytest.mark.parametrize("scale", [1.0, 1e-30])
def test_real(n, scale):
    rng = np.random.default_rng(n)
    matrix = rng.normal(size=(n, n)) * scale ** rng.integers(0, 2, (n, 1))
    expected = np.array(one_by_one(matrix), dtype=float).reshape(n, n)
    magnitude = np.array(one_by_one(np.abs(matrix)), dtype=float)
    for way in (minors, by_glynn):
        found = way(matrix)
        assert (np.abs(found - expected) <= 1e-13 * magnitude).all()
        assert found.dtype == np.float64


@pytest.mark.parametrize("way", [minors, by_glynn])
def test_complex_is_holomorphic(way):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6))
    found = way(matrix)
    assert np.allclose(found, one_by_one(matrix, complex_permanent), rtol=1e-11)


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


@pytest.mark.parametrize("n", [1, 2, 4, 7])
@pytest.mark.parametrize("density", [0.2, 0.4, 0.7])
def test_the_frontier_program_gives_all_minors(n, density):
    """Those of zeros, too, and where no permutation is without a 0."""
    options = RunOptions.checked(threads=2)
    for seed in range(4):
        rng = np.random.default_rng((n, seed))
        entries = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-9, 9, (n, 1))
        entries *= rng.random((n, n)) < density
        order = narrow_order(entries)
        found = solve(FrontierMinorWork(entries, *order), options).whole()
        expected = np.array(one_by_one(entries), dtype=float).reshape(n, n)
        sizes = np.array(one_by_one(np.abs(entries)), dtype=float).reshape(n, n)
        assert (np.abs(found - expected) <= 1e-14 * n * sizes).all()
        whole = Matrix("integer", rng.integers(-5, 6, (n, n)).astype(object) * (entries != 0))
        order = narrow_order(whole.entries)
        assert (
            solve(FrontierMinorResidueWork.of(whole, *order), options).whole().tolist()
            == one_by_one(whole.entries)
        )  # fmt: skip


def test_complex_minors_by_the_frontier_program():
    rng = np.random.default_rng(8)
    a = (rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6))) * (rng.random((6, 6)) < 0.6)
    found = solve(FrontierMinorWork(a, *narrow_order(a)), RunOptions.checked(threads=1)).whole()
    expected = one_by_one(a, complex_permanent)
    assert np.allclose(found, expected, rtol=1e-12)
    assert np.abs(expected).max() > 0.1


@pytest.mark.parametrize("kind", [int, float])
def test_sparse_matrices_of_any_side(kind):
    squares = grid_biadjacency(10, 14).astype(kind)  # of side 70
    value, gradient = value_and_grad(squares)
    assert value == hardscape.permanent(squares)
    same = (lambda x, y: x == y) if kind is int else np.isclose
    assert same((squares * gradient).sum(axis=0), value).all()
    assert same((squares * gradient).sum(axis=1), value).all()
    i, j = np.argwhere(squares == 0)[1000]
    without = hardscape.permanent(np.delete(np.delete(squares, i, 0), j, 1))
    assert same(gradient[i, j], without)


def test_a_long_band_neither_over_nor_underflows():
    n = 400
    a = 1e-3 * (np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1))
    found = minors(1e3 * a)
    fibonacci = [1, 1]
    while len(fibonacci) <= n:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    expected = [fibonacci[i] * fibonacci[n - 1 - i] for i in range(n)]
    assert np.allclose(np.diag(found), np.array(expected, dtype=float), rtol=1e-12)


def by_permanents(a, rows, cols):
    found = np.zeros(a.shape, dtype=object)
    for i, j in np.ndindex(a.shape):
        if rows[i] and cols[j]:
            r = [x - (k == i) for k, x in enumerate(rows)]
            c = [x - (k == j) for k, x in enumerate(cols)]
            re, im = exact_complex_permanent(repeat(a, r, c))
            found[i, j] = rows[i] * cols[j] * (re if im == 0 else complex(re, im))
    return found


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        ([2, 1, 0, 3], [1, 1, 2, 1, 1]),
        ([2, 2, 2, 2], [1, 3, 2, 1, 1]),
        ([1, 1, 1, 0], [1, 0, 1, 0, 1]),
        ([0, 0, 6, 0], [1, 1, 2, 1, 1]),
        ([0, 1, 0, 0], [0, 0, 0, 1, 0]),
        ([0, 0, 0, 0], [0, 0, 0, 0, 0]),
        ([3, 3, 1, 1], [8, 0, 0, 0, 0]),
    ],
)
def test_repeated_lines(rows, cols):
    rng = np.random.default_rng(9)
    real = rng.normal(size=(4, 5))
    for a in (real, real + 1j * rng.normal(size=(4, 5)), rng.integers(-3, 4, (4, 5))):
        value, gradient = value_and_grad(a, rows=rows, cols=cols)
        expected = by_permanents(a, rows, cols)
        if a.dtype.kind == "i":
            assert gradient.tolist() == expected.tolist()
        else:
            assert np.allclose(gradient, expected.astype(a.dtype), rtol=1e-11, atol=1e-11)
        assert value == hardscape.permanent(a, rows=rows, cols=cols)
        turned = value_and_grad(a.T, rows=cols, cols=rows)[1]
        assert np.allclose(turned.T.astype(complex), gradient.astype(complex), rtol=1e-11)


def test_many_photons():
    """The chain rule for a matrix that is homogeneous in each line."""
    a = np.random.default_rng(10).normal(size=(5, 5))
    rows, cols = [9, 7, 8, 5, 6], [7, 7, 7, 7, 7]
    value, gradient = value_and_grad(a, rows=rows, cols=cols)
    assert np.allclose((a * gradient).sum(axis=1), np.array(rows) * value, rtol=1e-8)
    assert np.allclose((a * gradient).sum(axis=0), np.array(cols) * value, rtol=1e-8)
    assert (gradient == value_and_grad(a, rows=rows, cols=cols, threads=1)[1]).all()


def test_powers_of_two_in_repeated_lines():
    a = np.random.default_rng(11).normal(size=(3, 3))
    scale = 2.0 ** np.array([-90, 40, 10])[:, None]
    rows, cols = [2, 3, 1], [1, 2, 3]
    whole = 2.0 ** float((np.array(rows) * [-90, 40, 10]).sum())
    found = value_and_grad(a * scale, rows=rows, cols=cols)[1] * scale / whole
    assert np.allclose(found, value_and_grad(a, rows=rows, cols=cols)[1], rtol=1e-12)


@pytest.mark.parametrize("kind", [int, float, complex])
def test_batches(kind):
    batch = (10 * np.random.default_rng(12).normal(size=(7, 5, 5))).astype(kind)
    values, gradients = value_and_grad(batch)
    assert gradients.shape == batch.shape
    for matrix, value, gradient in zip(batch, values, gradients, strict=True):
        alone = value_and_grad(matrix)
        assert np.isclose(complex(value), complex(alone[0]), rtol=1e-9)
        assert (gradient == alone[1]).all()
    assert value_and_grad(batch[:0])[1].shape == (0, 5, 5)
    assert (minors(batch, threads=1) == gradients).all()


@given(st.integers(1, 5), st.integers(1, 11), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_lines_of_any_size_keep_their_digits_in_batches(n, count, is_complex, seed):
    """Zeros, and powers of two far apart in some, beside matrices that are nothing like these."""
    rng = np.random.default_rng(seed)
    batch = rng.normal(size=(count, n, n)) * (rng.random((count, n, n)) < rng.choice([0.5, 1.0]))
    if is_complex:
        batch = batch + 1j * rng.normal(size=batch.shape)
    far = rng.integers(-70, 70, (2, count, n)) * (rng.random(count) < 0.5)[:, None]
    lines = far[0][:, :, None] + far[1][:, None, :]
    found = minors(batch * 2.0**lines)
    found = found * 2.0 ** (lines - far.sum(axis=(0, 2))[:, None, None])
    for matrix, gradient in zip(batch, found, strict=True):
        expected = np.array(one_by_one(matrix, complex_permanent)).reshape(n, n)
        size = np.array(one_by_one(np.abs(matrix)), dtype=float).reshape(n, n)
        assert (np.abs(gradient - expected) <= 1e-14 * n * size).all()


@pytest.mark.parametrize("n", [2, 3, 9, 13])
@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_what_is_not_finite_is_refused_in_batches(n, wrong):
    batch = np.ones((11, n, n))
    batch[9, 1, 0] = wrong
    with pytest.raises(InputError):
        minors(batch)
    with pytest.raises(InputError):
        minors(batch[:, :1, :1] * wrong)


def test_minors_beyond_float64_are_infinite():
    batch = np.stack([np.full((4, 4), 1e150), np.ones((4, 4)), np.full((4, 4), 1e-150)])
    with pytest.warns(OverflowWarning):
        found = minors(batch)
    assert (found == np.array([np.inf, 6, 0])[:, None, None]).all()


@pytest.mark.parametrize(("n", "kind"), [(12, float), (14, float), (15, complex), (17, float)])
def test_larger_matrices_of_a_batch(n, kind):
    """Expansions along all lines, over the widths at which another way is the cheapest."""
    batch = np.random.default_rng(n).normal(size=(3, n, n)).astype(kind)
    if kind is complex:
        batch += 1j * batch[::-1]
    values, gradients = value_and_grad(batch)
    size = hardscape.permanent(np.abs(batch))
    for axis in (1, 2):
        off = (batch * gradients).sum(axis=axis) - values[:, None]
        assert (np.abs(off) <= 1e-13 * size[:, None]).all()
    assert (gradients == minors(batch, threads=1)).all()


def test_gradients_are_planned():
    dense = plan_gradient(np.random.default_rng(13).normal(size=(40, 40)), threads=1)
    value = plan(np.random.default_rng(13).normal(size=(40, 40)), threads=1)
    assert dense.seconds > 4 * value.seconds
    assert dense.blocks[:-1] == value.blocks
    assert (dense.blocks[-1].side, dense.blocks[-1].method) == (40, "glynn")
    graph = plan_gradient(fullerene(), threads=1)
    assert graph.blocks[-1].method == "frontier"
    assert graph.seconds < 100
    assert graph.blocks[-1].memory_bytes > 0
    photons = plan_gradient(np.ones((5, 5)) + np.eye(5), rows=[6] * 5, cols=[6] * 5, threads=1)
    assert photons.blocks[-1].method == "repeated"
    assert photons.seconds < 10
    exact = plan_gradient([[1, 2], [3, 4]], rows=[2, 1], cols=[1, 2])
    assert exact.terms >= 4
    for wrong in (np.ones((2, 3)), np.ones((2, 2, 2))):
        with pytest.raises(InputError):
            plan_gradient(wrong)


def test_refusals():
    for wrong in (np.ones((2, 3)), [["a"]], np.ones((64, 64)), np.full((2, 2, 2), np.nan)):
        with pytest.raises(InputError):
            minors(wrong)
    for rows, cols in (([1, 1], [1, 2]), ([1], [1, 1]), ([-1, 2], [1, 0])):
        with pytest.raises(InputError):
            value_and_grad(np.ones((2, 2)), rows=rows, cols=cols)
    with pytest.raises(InputError):
        value_and_grad(np.ones((2, 2, 2)), rows=[1, 1], cols=[1, 1])
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


@pytest.mark.parametrize("way", [minors, by_glynn])
def test_rows_of_very_different_size_keep_their_digits(way):
    a = np.random.default_rng(5).normal(size=(9, 9))
    a[-1, 1] *= 1e-4  # small in the largest row only
    scale = 2.0 ** np.array([-30, 0, 0, 0, 0, 0, 0, 0, 30])[:, None]
    np.testing.assert_allclose(way(a * scale) * scale, way(a), rtol=1e-11, atol=1e-8)
