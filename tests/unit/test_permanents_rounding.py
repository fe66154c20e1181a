"""Lines of two floating entries: merged in large blocks, with the errors that this makes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.permanents.matrix import intake
from hardscape.permanents.numbers.rounding import Rounded, parts_of, rounded_entries
from hardscape.permanents.structure.reduce import reduce
from helpers.permanent_oracle import exact_permanent_by_subsets

FLOATS = st.floats(-1e100, 1e100, allow_subnormal=False)


@given(FLOATS, FLOATS, FLOATS, st.floats(0, 1e-3), st.sampled_from([-1, 0, 1]))
@settings(max_examples=150, deadline=None)
def test_errors_cover_what_is_rounded_and_what_was_wrong(x, y, z, relative, side):
    error = abs(x) * relative
    meant = Fraction(x) + side * Fraction(error)
    found = Rounded(x, error) * Rounded(y) + Rounded(z, abs(z) * relative)
    assert abs(Fraction(found.value) - (meant * Fraction(y) + Fraction(z))) <= Fraction(found.error)


def test_small_integers_stay_exact():
    found = Rounded(3.0) * Rounded(5.0) + Rounded(-15.0)
    assert (found.value, found.error) == (0.0, 0.0)
    assert not found
    assert Rounded(0.0, 1e-20)


def test_scaling_is_kept_apart():
    block = np.array([[1e300, 2e300], [1e-300, 3.0]])
    entries, exponent = rounded_entries(block, block.dtype)
    values, errors = parts_of(entries, block.dtype)
    assert np.abs(values).max() <= 1
    exact = exact_permanent_by_subsets(block)
    assert errors is None
    assert exact_permanent_by_subsets(values) * Fraction(2) ** exponent == exact


def chained(n, rng, complex_=False):
    """A band of three entries a row, every third row of two."""
    matrix = np.zeros((n, n), dtype=complex if complex_ else float)
    for i in range(n):
        for k in (0, 1) if i % 3 == 0 else (0, 1, 5):
            entry = rng.normal()
            matrix[i, (i + k) % n] = entry + 1j * rng.normal() if complex_ else entry
    return matrix


@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
@pytest.mark.parametrize("method", ["auto", "glynn", "frontier"])
def test_merged_matrices_are_within_their_bound(method, scale):
    rng = np.random.default_rng(1)
    matrix = chained(24, rng)
    matrix[::4] *= scale
    matrix[1::4] /= scale
    result = hardscape.permanent(matrix, method=method, full_output=True, precision="double")
    assert result.reductions.merged_rows + result.reductions.merged_columns > 3
    assert result.rigorous
    expected = exact_permanent_by_subsets(matrix)
    assert abs(Fraction(result.value) - expected) <= Fraction(result.error_bound)
    magnitude = hardscape.permanent(np.abs(matrix), precision="exact")
    assert result.error_bound <= 1e-11 * magnitude
    assert hardscape.permanent(matrix, precision="exact") == expected


def test_complex_matrices_are_merged():
    matrix = chained(24, np.random.default_rng(2), complex_=True)
    result = hardscape.permanent(matrix, full_output=True)
    other = hardscape.permanent(matrix.T[::-1], method="frontier", full_output=True)
    assert result.reductions.merged_rows > 3
    assert abs(result.value - other.value) <= result.error_bound + other.error_bound
    assert math.isfinite(result.error_bound)


def test_the_matrix_itself_stays():
    matrix = chained(24, np.random.default_rng(3))
    before = matrix.copy()
    reduced = reduce(intake(matrix))
    assert (matrix == before).all()
    assert all(len(block) < 24 for block in reduced.blocks)
    assert all(error is not None for error in reduced.errors)


def test_nonnegative_matrices_stay_so():
    matrix = np.abs(chained(24, np.random.default_rng(4)))
    result = hardscape.permanent(matrix, method="subset", full_output=True)
    expected = exact_permanent_by_subsets(matrix)
    assert abs(Fraction(result.value) - expected) <= Fraction(result.error_bound)
    assert result.error_bound <= 1e-13 * result.value


def test_what_merging_lost_is_found_again():
    """One entry is set to what makes the permanent vanish, but for its rounding."""
    matrix = chained(22, np.random.default_rng(5))
    matrix[1, 1] = 0
    rest = hardscape.permanent(matrix, precision="exact")
    minor = np.delete(np.delete(matrix, 1, 0), 1, 1)
    matrix[1, 1] = float(-rest / hardscape.permanent(minor, precision="exact"))
    exact = hardscape.permanent(matrix, precision="exact")
    doubled = hardscape.permanent(matrix, precision="double", full_output=True)
    assert doubled.reductions.merged_rows > 3
    assert abs(Fraction(doubled.value) - exact) <= Fraction(doubled.error_bound)
    assert hardscape.permanent(matrix) == pytest.approx(float(exact), rel=1e-9)
