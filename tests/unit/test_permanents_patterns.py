"""Many patterns of rows and columns of one matrix in one call."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.methods.repeated.patterns import CpuPatternWork, CudaPatternWork
from helpers.permanent_oracle import exact_complex_permanent, exact_permanent_by_subsets, repeat


def unitary(modes, seed=0):
    rng = np.random.default_rng((modes, seed))
    return np.linalg.qr(rng.normal(size=(modes, modes)) + 1j * rng.normal(size=(modes, modes)))[0]


def every(modes, photons):
    """All ways to spread photons over modes, shape (patterns, modes)."""
    chosen = itertools.combinations_with_replacement(range(modes), photons)
    return np.array([np.bincount(modes_of, minlength=modes) for modes_of in chosen])


def some(modes, photons, count, seed):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, modes, (count, photons))
    return np.array([np.bincount(one, minlength=modes) for one in drawn])


def assert_right(values, a, rows, cols):
    for i, value in enumerate(values):
        r = rows[i] if np.ndim(rows) == 2 else rows
        c = cols[i] if np.ndim(cols) == 2 else cols
        exact = complex(*exact_complex_permanent(repeat(a, r, c)))
        assert abs(value - exact) <= 1e-10 * max(abs(exact), np.sqrt(np.mean(np.abs(values) ** 2)))


@pytest.mark.parametrize("photons", [1, 2, 3, 4])
@pytest.mark.parametrize("modes", [1, 2, 4])
def test_probabilities_of_all_outputs_add_up_to_one(modes, photons):
    u = unitary(modes)
    into, out = some(modes, photons, 1, 3)[0], every(modes, photons)
    values = hardscape.permanent(u, rows=into, cols=out)
    factorials = [math.prod(map(math.factorial, one)) for one in out.tolist()]
    weight = math.prod(map(math.factorial, into.tolist()))
    assert (np.abs(values) ** 2 / factorials).sum() == pytest.approx(weight, rel=1e-12)
    assert_right(values, u, into, out)


@pytest.mark.parametrize("complex_entries", [False, True])
def test_patterns_of_rows_of_columns_and_of_both(complex_entries):
    a = unitary(5) if complex_entries else unitary(5).real
    r, c = some(5, 6, 40, 1), some(5, 6, 40, 2)
    for rows, cols in ((r, c), (r[0], c), (r, c[0]), (r.tolist(), c[:1]), (r[:1].tolist(), c)):
        values = hardscape.permanent(a, rows=rows, cols=cols)
        assert values.dtype == a.dtype
        given = [x[0] if len(x) == 1 else x for x in (rows, cols)]
        assert_right(values, a, *given)
        turned = hardscape.permanent(a.T, rows=cols, cols=rows)
        np.testing.assert_allclose(turned, values, rtol=1e-10, atol=1e-13)


def test_rectangles_and_a_default_of_ones():
    a = unitary(6)[:3]
    cols = np.array([p for p in every(6, 3) if p.max() < 3])
    assert_right(hardscape.permanent(a, cols=cols), a, [1] * 3, cols)
    assert_right(hardscape.permanent(a.T, rows=cols), a, [1] * 3, cols)


def test_patterns_of_different_numbers_of_photons():
    a = unitary(4)
    cols = np.concatenate([some(4, n, 3, n) for n in (0, 2, 5)])
    rows = np.concatenate([some(4, n, 3, n + 9) for n in (0, 2, 5)])
    values = hardscape.permanent(a, rows=rows, cols=cols)
    assert values[:3].tolist() == [1.0] * 3
    for i in range(9):
        one = hardscape.permanent(a, rows=rows[i], cols=cols[i])
        assert values[i] == pytest.approx(one, rel=1e-9)


def test_what_interferes_to_nothing():
    fourier = np.exp(2j * np.pi * np.outer(range(4), range(4)) / 4) / 2
    out = every(4, 4)
    values = hardscape.permanent(fourier, rows=[1] * 4, cols=out)
    assert_right(values, fourier, [1] * 4, out)
    assert (np.abs(values) < 1e-15).sum() > 10


def test_exact_and_told_in_full():
    a = np.random.default_rng(0).integers(-9, 9, (3, 3))
    out = every(3, 3)
    values = hardscape.permanent(a, rows=[1, 2, 0], cols=out)
    assert values.tolist() == [
        exact_permanent_by_subsets(repeat(a, [1, 2, 0], one)) for one in out.tolist()
    ]
    told = hardscape.permanent(unitary(3), rows=[1, 2, 0], cols=out, full_output=True)
    plain = hardscape.permanent(unitary(3), rows=[1, 2, 0], cols=out)
    for one, value in zip(told, plain, strict=True):
        assert one.rigorous
        assert one.value == value
    strict = hardscape.permanent(unitary(3).real, rows=[1, 2, 0], cols=out, rtol=0.0)
    for value, one in zip(strict, out.tolist(), strict=True):
        exact = exact_permanent_by_subsets(repeat(unitary(3).real, [1, 2, 0], one))
        assert abs(Fraction(value) - exact) <= Fraction(2, 2**53) * abs(exact)


def test_sizes_do_not_matter():
    a, out = unitary(4), every(4, 5)
    plain = hardscape.permanent(a, rows=[2, 1, 1, 1], cols=out)
    for power in (-150, 150):
        scaled = hardscape.permanent(a * 2.0**power, rows=[2, 1, 1, 1], cols=out)
        assert (scaled == plain * 2.0 ** (5 * power)).all()


def test_the_same_on_any_number_of_threads():
    a, out = unitary(12), every(12, 6)
    rows = [1] * 6 + [0] * 6
    values = [hardscape.permanent(a, rows=rows, cols=out, threads=t) for t in (1, 3)]
    assert values[0].tobytes() == values[1].tobytes()


def test_none():
    assert hardscape.permanent(unitary(3), rows=[1, 1, 1], cols=np.empty((0, 3), int)).shape == (0,)


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        ([1, 1, 0], [[1, 1, 0], [1, 0, 0]]),
        ([1, 1, 0], [[1, 1], [1, 1]]),
        ([1, 1, 0], [[1, 1, 0], [3, -1, 0]]),
        ([1, 1, 0], [[1.5, 0.5, 0]]),
        ([1, 1, 0], [[True, True, False]]),
        ([[1, 0, 0], [1, 0, 0]], [[1, 0, 0]] * 3),
        ([1, 1, 0], [[[1, 1, 0]]]),
    ],
)
def test_patterns_that_do_not_fit(rows, cols):
    with pytest.raises(InputError):
        hardscape.permanent(unitary(3), rows=rows, cols=cols)


def test_what_is_not_for_patterns(tmp_path):
    cols = [[1, 1, 0], [0, 1, 1]]
    with pytest.raises(InputError):
        hardscape.permanent(np.ones((2, 3, 3)), rows=[1, 1, 0], cols=cols)
    with pytest.raises(InputError):
        hardscape.permanent(unitary(3), rows=[1, 1, 0], cols=cols, checkpoint=tmp_path / "x")
    with pytest.raises(BudgetError):
        hardscape.permanent(unitary(50), rows=[1] * 50, cols=[[1] * 50] * 2)


def test_works_pickle():
    for kind in (CpuPatternWork, CudaPatternWork):
        work = kind(unitary(3), np.ones((1, 3), np.int16), np.ones((2, 3), np.int16))
        assert pickle.loads(pickle.dumps(work)).digest() == work.digest()
