"""Small matrices, which take a way of their own, against exact sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape import native
from hardscape.errors import InputError, Interrupted
from helpers.permanent_oracle import (
    exact_complex_permanent,
    exact_permanent_by_subsets,
    repeat,
)

FLOATS = [np.float32, np.float64, np.complex64, np.complex128]


def matrix(n, dtype, density=1.0, seed=0):
    rng = np.random.default_rng((n, seed))
    entries = rng.normal(size=(n, n)) * (rng.random((n, n)) < density)
    if np.issubdtype(dtype, np.complexfloating):
        entries = entries * np.exp(1j * rng.uniform(0, 6, (n, n)))
    return entries.astype(dtype)


def off(value, entries):
    """Error of a permanent, relative to its size, and to 1 if it is 0."""
    real, imag = exact_complex_permanent(entries)
    size = abs(complex(real, imag))
    return abs(complex(Fraction(value.real) - real, Fraction(value.imag) - imag)) / (size or 1.0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("density", [1.0, 0.4])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 10, 11])
def test_floating_ones_are_right(n, density, dtype):
    if n >= 10 and dtype in (np.float32, np.complex64):
        n -= 7
    for seed in range(3 if n < 8 else 1):
        a = matrix(n, dtype, density, seed)
        value = hardscape.permanent(a)
        assert type(value) is (complex if np.iscomplexobj(a) else float)
        assert off(value, a) <= 1e-10
        found = hardscape.permanent(a, full_output=True)
        assert found.value == value
        assert found.rigorous
        assert off(value, a) * abs(value) <= found.error_bound * (1 + 1e-12)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("n", [1, 2, 3, 6, 8, 11])
def test_integers_are_exact(n, dtype):
    rng = np.random.default_rng(n)
    least = 0 if dtype is bool or np.issubdtype(dtype, np.unsignedinteger) else -9
    for density in (1.0, 0.3):
        a = (rng.integers(least, 10, (n, n)) * (rng.random((n, n)) < density)).astype(dtype)
        value = hardscape.permanent(a)
        assert type(value) is int
        assert value == exact_permanent_by_subsets(a)
        assert value == hardscape.permanent(a.tolist()) == hardscape.permanent(a.astype(object))


@pytest.mark.parametrize("bits", [7, 8, 15, 16, 31, 62, 63])
@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_integers_do_not_wrap_around(n, bits):
    rng = np.random.default_rng(bits)
    for a in (
        np.full((n, n), 2**bits - 1, dtype=np.int64),
        np.full((n, n), -(2**bits), dtype=np.int64),
        rng.integers(-(2**bits), 2**bits - 1, (n, n)),
    ):
        assert hardscape.permanent(a) == exact_permanent_by_subsets(a)


def test_integers_above_those_of_signed_types():
    a = np.array([[2**64 - 1, 1], [1, 2**63]], dtype=np.uint64)
    assert hardscape.permanent(a) == (2**64 - 1) * 2**63 + 1


@pytest.mark.parametrize("n", [5, 12])
def test_how_an_array_lies_does_not_matter(n):
    a = matrix(n, np.complex128)
    value = hardscape.permanent(a)
    wide = np.zeros((2 * n, 3 * n), dtype=complex)
    wide[::2, ::3] = a
    swapped = a.astype(">c16")
    for same in (np.asfortranarray(a), wide[::2, ::3], swapped, a[::-1][::-1]):
        assert hardscape.permanent(same) == value
    for turned in (a.T, a[::-1], a[:, ::-1]):
        assert hardscape.permanent(turned) == pytest.approx(value, rel=1e-12)
    read_only = a.copy()
    read_only.setflags(write=False)
    assert hardscape.permanent(read_only) == value


@pytest.mark.parametrize("n", [4, 9, 11])
def test_zeros_that_make_it_zero_are_told_from_small_numbers(n):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    a[: n // 2 + 2, : n // 2] = 0  # too few columns for these rows
    assert hardscape.permanent(a) == 0.0
    assert hardscape.permanent(np.stack([a, a + 1]))[0] == 0.0
    a[: n // 2 + 2, : n // 2] = 1e-100
    assert hardscape.permanent(a) == pytest.approx(float(exact_permanent_by_subsets(a)), rel=1e-9)
    assert hardscape.permanent(a) != 0


@pytest.mark.parametrize("n", [3, 6, 8])
@pytest.mark.parametrize("size", [1e-320, 1e-165, 1e-60, 1e60, 1e100])
def test_rows_of_any_size(n, size):
    a = np.random.default_rng(n).normal(size=(n, n))
    a[0] *= size
    a[1] *= 0.5 / size if size > 1e-300 else 1
    exact = exact_permanent_by_subsets(a)
    assert abs(Fraction(hardscape.permanent(a)) - exact) <= abs(exact) / 10**9 + Fraction(
        1, 10**321
    )


def test_what_cancels_is_looked_at_again():
    for n in (2, 6, 10):
        a = np.kron(np.eye(n // 2), [[1.0, 1.0], [1.0, -1.0 - 2.0**-50]])
        a += 1e-300 * np.random.default_rng(n).normal(size=(n, n))  # no zeros
        exact = exact_permanent_by_subsets(a)
        value = hardscape.permanent(a)
        assert abs(Fraction(value) - exact) <= abs(exact) / 10**9


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1, 3, 10, 12])
def test_what_is_not_finite_is_refused(n, bad):
    for dtype in FLOATS:
        a = matrix(n, dtype)
        a[n - 1, 0] = bad
        with pytest.raises(InputError):
            hardscape.permanent(a)
        with pytest.raises(InputError):
            hardscape.permanent(np.stack([a, a]))


@pytest.mark.parametrize("rtol", [-1.0, float("nan")])
def test_tolerances_are_checked_for_small_ones_too(rtol):
    with pytest.raises(InputError):
        hardscape.permanent(np.zeros((2, 2)), rtol=rtol)


def test_ctrl_c_is_heard(monkeypatch):
    def stop(array, rtol):
        raise KeyboardInterrupt

    monkeypatch.setattr(native.vector.permanents, "small_permanent", stop)
    with pytest.raises(Interrupted):
        hardscape.permanent(np.ones((2, 2)))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 10])
def test_a_batch_has_the_numbers_of_its_matrices(n, dtype):
    a = np.stack([matrix(n, dtype, 1.0 if seed % 2 else 0.6, seed) for seed in range(21)])
    a[3] *= 1e-20
    a[4, 0] = 0
    values = hardscape.permanent(a)
    assert values.dtype == dtype
    assert values.tolist() == [hardscape.permanent(one) for one in a]
    assert values.tolist() == [one.value for one in hardscape.permanent(a, full_output=True)]


def test_a_batch_of_sparse_ones():
    a = np.stack([matrix(11, np.float64, 0.25, seed) for seed in range(24)])
    values = hardscape.permanent(a)
    assert (values == 0).any()
    for value, one in zip(values, a, strict=True):
        exact = exact_permanent_by_subsets(one)
        assert abs(Fraction(value) - exact) <= abs(exact) / 10**10


def test_a_large_batch_is_the_same_on_any_number_of_threads():
    a = np.random.default_rng(5).normal(size=(20000, 8, 8))
    one, three = (hardscape.permanent(a, threads=threads) for threads in (1, 3))
    assert one.tobytes() == three.tobytes()


def patterns(modes, photons, seed):
    """How often each of so many modes is taken, by chance."""
    rng = np.random.default_rng(seed)
    return np.bincount(rng.integers(0, modes, photons), minlength=modes)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("modes", [1, 2, 3, 5])
@pytest.mark.parametrize("photons", [1, 2, 6, 9])
def test_few_lines_that_repeat(dtype, modes, photons):
    a = matrix(modes, dtype)
    for seed in range(3):
        rows, cols = patterns(modes, photons, seed), patterns(modes, photons, seed + 50)
        exact = exact_complex_permanent(repeat(a, rows, cols))
        for value in (
            hardscape.permanent(a, rows=rows, cols=cols),
            hardscape.permanent(a.T, rows=cols.tolist(), cols=tuple(rows)),
            hardscape.permanent(a, rows=iter(rows.tolist()), cols=cols, threads=1),
        ):
            assert type(value) is (complex if np.iscomplexobj(a) else float)
            error = abs(complex(Fraction(value.real) - exact[0], Fraction(value.imag) - exact[1]))
            assert error <= 1e-10 * abs(complex(*exact))
        result = hardscape.permanent(a, rows=rows, cols=cols, full_output=True)
        assert result.value == hardscape.permanent(a, rows=rows, cols=cols)


def test_rectangles_with_multiplicities():
    a = matrix(6, np.complex128)
    for rows, cols in (([3, 2], [1] * 5), ([0, 3], [1, 0, 0, 2, 0])):
        wide = a[:2, :5]
        exact = complex(*exact_complex_permanent(repeat(wide, rows, cols)))
        assert hardscape.permanent(wide, rows=rows, cols=cols) == pytest.approx(exact, rel=1e-12)
        assert hardscape.permanent(wide.T, rows=cols, cols=rows) == pytest.approx(exact, rel=1e-12)
        again = hardscape.permanent(wide.T, rows=cols, cols=rows, precision="double")
        assert again == pytest.approx(exact, rel=1e-12)


def test_thirty_photons_in_five_modes():
    unitary = np.linalg.qr(matrix(5, np.complex128))[0]
    # On a grid all is an integer.
    grid = 2.0**50
    real, imag = np.rint(unitary.real * grid), np.rint(unitary.imag * grid)
    value = hardscape.permanent((real + 1j * imag) / grid, rows=[6] * 5, cols=[6] * 5)
    assert value == pytest.approx(coefficient(real, imag, grid), rel=1e-12)


def coefficient(real, imag, grid):
    """The permanent of five modes with six photons each, by the product of linear forms in integers."""
    found = {(0,) * 5: (1, 0)}
    for row in [i for i in range(5) for _ in range(6)]:
        grown = {}
        for powers, (x, y) in found.items():
            for j, power in enumerate(powers):
                if power < 6:
                    key = (*powers[:j], power + 1, *powers[j + 1 :])
                    a, b = int(real[row, j]), int(imag[row, j])
                    p, q = grown.get(key, (0, 0))
                    grown[key] = (p + x * a - y * b, q + x * b + y * a)
        found = grown
    x, y = found[(6,) * 5]
    times = Fraction(720**5) / Fraction(grid) ** 30
    return complex(x * times, y * times)


@pytest.mark.parametrize(
    ("rows", "cols"), [([1, 1], [2, 1]), ([-1, 3], [1, 1]), ([True, 1], [1, 1]), ([2], [1, 1])]
)
def test_multiplicities_that_do_not_fit(rows, cols):
    with pytest.raises(InputError):
        hardscape.permanent(np.ones((2, 2)), rows=rows, cols=cols)
