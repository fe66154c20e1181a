"""Kinds of numbers: exact complex ones, decimals, those of mpmath and of wide floats, and many digits."""

from __future__ import annotations

import itertools
import json
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape.errors import InputError
from hardscape.permanents import ExactComplex, permanent, plan
from hardscape.permanents.numbers.gaussian import Conjugates
from hardscape.permanents.result import written
from helpers.permanent_oracle import exact_complex_permanent, repeat


def parts(number):
    return number.real, number.imag


def gaussian(rng, m, n):
    entries = rng.integers(-9, 10, (m, n, 2)).tolist()
    held = np.empty((m, n), dtype=object)
    for i, j in np.ndindex(m, n):
        held[i, j] = ExactComplex(*entries[i][j])
    return held


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 8])
def test_complex_matrices_exactly(n):
    rng = np.random.default_rng(n)
    whole = gaussian(rng, n, n)
    assert parts(permanent(whole)) == exact_complex_permanent(whole)
    floating = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    found = permanent(floating, precision="exact", full_output=True)
    assert parts(found.value) == exact_complex_permanent(floating)
    assert (found.precision, found.error_bound, found.rigorous) == ("exact", 0.0, True)
    assert permanent(floating) == pytest.approx(complex(found.value), rel=1e-12)


def test_types_of_exact_complex_numbers():
    whole = permanent([[ExactComplex(1, 2), 1], [1, ExactComplex(2, -1)]])
    assert whole == ExactComplex(5, 3) == 5 + 3j
    assert (type(whole.real), type(whole.imag)) == (int, int)
    third = permanent([[ExactComplex(Fraction(1, 3), 1), 1], [Fraction(1, 2), 3]])
    assert parts(third) == (Fraction(3, 2), 3)
    real = permanent(np.array([[2, 1j], [1j, 3]]), precision="exact")
    assert isinstance(real, ExactComplex)
    assert real == 5
    assert hash(real) == hash(5)
    assert not permanent(np.array([[1, 1j], [1j, 1]]), precision="exact")
    assert permanent([[ExactComplex(1, 1)]], precision="double") == 1 + 1j
    with pytest.raises(InputError):
        permanent([[ExactComplex(Fraction(1, 3), 1)]], precision="double")
    with pytest.raises(InputError):
        permanent([[ExactComplex(Fraction(1, 3), 1), 0.5], [1, 1]])


def test_structure_of_complex_matrices_is_used():
    rng = np.random.default_rng(1)
    rows, cols = [4, 3, 2], [3, 3, 3]
    unitary = gaussian(rng, 3, 3)
    found = permanent(unitary, rows=rows, cols=cols, method="repeated")
    assert parts(found) == exact_complex_permanent(repeat(unitary, rows, cols))
    assert plan(unitary, rows=[9, 9, 9], cols=[9, 9, 9]).method == "repeated"
    wide = gaussian(rng, 2, 6)
    minors = [
        exact_complex_permanent(wide[:, list(two)]) for two in itertools.combinations(range(6), 2)
    ]
    assert parts(permanent(wide)) == tuple(map(sum, zip(*minors, strict=True)))
    chain = np.zeros((30, 30), dtype=complex)
    for k in (-2, -1, 0, 1, 2):
        size = 30 - abs(k)
        chain += np.diag(rng.normal(size=size) + 1j * rng.normal(size=size), k)
    sparse = permanent(chain, precision="exact", full_output=True)
    assert sparse.method == "frontier"
    assert sparse.value == permanent(chain.T[::-1], precision="exact")
    doubled = permanent(chain, precision="double", full_output=True)
    off = [Fraction(x) - y for x, y in zip(parts(doubled.value), parts(sparse.value), strict=True)]
    assert off[0] ** 2 + off[1] ** 2 <= Fraction(doubled.error_bound) ** 2


def test_two_integer_matrices_stand_for_a_gaussian_one():
    matrix = gaussian(np.random.default_rng(2), 4, 4)
    pair = Conjugates.of(matrix)
    modulus = np.prod([int(p) for p in pair.primes], dtype=object)
    assert (pair.root**2 + 1) % modulus == 0
    assert all(p % 4 == 1 for p in pair.primes)
    values = [permanent(one.tolist()) for one in pair.matrices]
    assert parts(pair.joined(values)) == exact_complex_permanent(matrix)


def test_batches_of_exact_complex_matrices():
    batch = np.random.default_rng(3).integers(-5, 6, (3, 4, 4)) * (1 + 1j)
    found = permanent(batch, precision="exact")
    assert [parts(x) for x in found] == [exact_complex_permanent(one) for one in batch]


def test_decimals_are_what_they_say():
    matrix = [[Decimal("0.1"), 2], [Fraction(1, 3), Decimal("-7e-3")]]
    assert permanent(matrix) == Fraction(1, 10) * Fraction(-7, 1000) + Fraction(2, 3)
    for bad in ("nan", "inf"):
        with pytest.raises(InputError):
            permanent([[Decimal(bad), 1], [1, 1]])
    with pytest.raises(InputError):
        permanent([[Decimal("0.1"), 0.5], [1, 1]])


def test_numbers_of_mpmath():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(200):
        third, root = mpmath.mpf(1) / 3, mpmath.mpc(1, mpmath.sqrt(2))
        exact = Fraction(int(third.man), 1) * Fraction(2) ** int(third.exp)
        assert permanent([[third, 1], [2, -third]]) == 2 - exact**2
        found = permanent([[third, root], [root, 1]])
        assert found.real == pytest.approx(1 / 3 + 1 - 2, rel=1e-14)
        assert found.imag == pytest.approx(2 * 2**0.5, rel=1e-14)
    assert permanent([[mpmath.mpf(0), mpmath.mpf(3)], [1, 1]]) == 3
    for bad in (mpmath.inf, mpmath.nan, mpmath.mpc(1, mpmath.inf)):
        with pytest.raises(InputError):
            permanent([[bad, 1], [1, 1]])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long doubles are doubles here")
def test_long_doubles():
    third = np.longdouble(1) / 3
    matrix = np.array([[1, third], [2, 3]], dtype=np.longdouble)
    exact = Fraction(*third.as_integer_ratio())
    assert permanent(matrix) == 3 + 2 * exact
    wide = permanent(matrix * np.clongdouble(1j))
    assert parts(wide) == (-(3 + 2 * exact), 0)
    narrow = permanent(np.array([[1, 2], [3, 4]], dtype=np.longdouble))
    assert (type(narrow), narrow) == (float, 10.0)
    with pytest.raises(InputError):
        permanent(np.array([[1, third], [2, np.inf]], dtype=np.longdouble))


def test_values_of_any_length_are_written():
    large = [[10**5000, 1], [1, -(10**5000)]]
    value = 1 - 10**10000
    found = permanent(large, full_output=True)
    assert found.value == value
    assert repr(found)
    told = json.loads(found.to_json())["value"]
    assert told == written(value)
    before = sys.get_int_max_str_digits()
    numbers = (0, -5, 10**700, -(3**20000), Fraction(3**5000, 7**4000), 10**4299 - 1)
    try:
        sys.set_int_max_str_digits(0)
        expected = [str(x) for x in (*numbers, value)]
    finally:
        sys.set_int_max_str_digits(before)
    assert [written(x) for x in (*numbers, value)] == expected
    assert written(ExactComplex(Fraction(1, 2), -3)) == "1/2-3j"


def test_minors_of_exact_complex_matrices_are_refused():
    with pytest.raises(InputError):
        hardscape.permanents.minors([[ExactComplex(1, 1), 2], [3, 4]])
