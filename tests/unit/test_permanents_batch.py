"""Batches of permanents in double precision, against one at a time."""

import pickle
import sys

import numpy as np
import pytest

import hardscape
from hardscape import engine
from hardscape.errors import BudgetError, InputError, MissingDependencyError
from hardscape.permanents.methods.glynn.batch import CpuBatchWork
from helpers.permanent_sums import glynn, glynn_batch


def lanes(threads=1):
    return engine.resolve("cpu", threads=threads)


def matrices(batch, n, complex_entries, seed=0):
    rng = np.random.default_rng(seed + n)
    real = rng.normal(size=(batch, n, n))
    return real + 1j * rng.normal(size=(batch, n, n)) if complex_entries else real


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 9, 11])
def test_each_is_the_permanent_of_its_matrix(n, complex_entries):
    a = matrices(7, n, complex_entries)
    a[2] *= 2.0**40
    a[3, :, 0] = 0
    a[4] *= 10.0 ** np.arange(n)[:, None]
    result = glynn_batch(a, devices=lanes())
    assert result.values.dtype == a.dtype
    for value, bound, one in zip(result.values, result.error_bounds, a, strict=True):
        expected = glynn(one, devices=lanes())
        assert abs(value - expected.value) <= bound + expected.error_bound
        assert bound <= 1e-9 * abs(expected.value) or expected.value == 0


def test_integers_are_exact():
    a = np.random.default_rng(1).integers(-9, 10, (30, 8, 8)).astype(float)
    expected = [glynn(one, devices=lanes()).value for one in a]
    assert (glynn_batch(a, devices=lanes()).values == expected).all()


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize("size", [1e-320, 1e-200, 1.0, 1e200])
def test_entries_of_any_size(size, complex_entries):
    a = matrices(4, 7, complex_entries)
    a[:, -1, 1] *= 1e-4  # the largest row is small here, but the column is not
    ordinary = glynn_batch(a, devices=lanes())
    scale = np.ones((7, 1))
    scale[0], scale[-1] = size, 1e-3 / size if size > 1e-300 else 1.0
    found = glynn_batch(a * scale, devices=lanes())
    # The smallest entries have few digits, and so has the result.
    tolerance = {"rtol": 1e-11} if size > 1e-300 else {"rtol": 0.1, "atol": 1e-322}
    np.testing.assert_allclose(found.values, ordinary.values * scale.prod(), **tolerance)


@pytest.mark.parametrize("dtype", [np.float32, float, complex, np.longdouble, object])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("precision", ["auto", "double", "exact"])
def test_entries_that_are_not_finite_are_named(dtype, bad, precision):
    a = np.where(np.arange(8) == 6, bad, 1).reshape(2, 2, 2).astype(dtype)
    with pytest.raises(InputError) as caught:
        hardscape.permanent(a, precision=precision)
    assert "[1, 1, 0]" in str(caught.value)


def test_overflow_is_infinite_with_the_right_sign():
    a = np.stack([np.full((6, 6), -1e200), np.eye(6)])
    a[0, 0] *= -1
    result = glynn_batch(a, devices=lanes())
    assert result.values.tolist() == [-np.inf, 1.0]
    assert result.error_bounds[0] == np.inf


def test_same_bytes_for_any_number_of_threads():
    a = matrices(300, 16, True)
    assert len(CpuBatchWork(a).shards()) > 1
    one, three = (glynn_batch(a, devices=lanes(threads)) for threads in (1, 3))
    assert one.values.tobytes() == three.values.tobytes()
    assert one.error_bounds.tobytes() == three.error_bounds.tobytes()


def test_time_limit_raises():
    with pytest.raises(BudgetError):
        glynn_batch(np.ones((4, 45, 45)), devices=lanes(), time_limit=0.05)


def test_an_empty_batch():
    for dtype in (np.float64, np.complex128):
        result = hardscape.permanent(np.ones((0, 3, 3), dtype=dtype))
        assert (result.shape, result.dtype) == ((0,), dtype)


def test_work_pickles():
    work = CpuBatchWork(matrices(3, 4, False))
    copy = pickle.loads(pickle.dumps(work))
    assert copy.digest() == work.digest() != CpuBatchWork(work.matrices + 1).digest()


def test_permanent_of_a_batch_is_that_of_each():
    a = matrices(6, 9, True)
    together = hardscape.permanent(a, threads=1)
    assert together.dtype == np.complex128
    np.testing.assert_allclose(
        together, [hardscape.permanent(one, threads=1) for one in a], rtol=1e-12
    )


def test_what_double_precision_loses_in_a_batch_is_found_again():
    a = matrices(3, 12, False)
    a[1] = 1 + 1e-3 * a[1]  # positive: Glynn's terms cancel
    a[1, :6] *= -1
    a[1, :, ::2] *= -1
    exact = float(hardscape.permanent(a[1], precision="exact", threads=1))
    improved = hardscape.permanent(a, threads=1, rtol=0.0)
    assert improved[1] == exact
    assert hardscape.permanent(a, threads=1, precision="double")[1] == pytest.approx(exact)


def test_a_gpu_without_its_packages_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    for a in (matrices(2, 9, False), matrices(1, 9, False)[0]):
        with pytest.raises(MissingDependencyError):
            hardscape.permanent(a, device=engine.Cuda(), method="glynn")
