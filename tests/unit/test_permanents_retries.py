"""Answers that are looked for again: which one is kept, and what a result says of the others."""

from __future__ import annotations

import json
import logging
from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.numbers.bounded import BoundedNumber


def cancelling(n, seed=0):
    """A matrix whose terms cancel: entries near 1 and -1."""
    matrix = 1 + 1e-3 * np.random.default_rng(seed).normal(size=(n, n))
    matrix[: n // 2] *= -1
    matrix[:, ::2] *= -1
    return matrix


def test_a_result_says_what_made_it():
    matrix = cancelling(18) * np.exp(1j * np.arange(18.0))
    result = hardscape.permanent(matrix, rtol=1e-15, full_output=True)
    extended = hardscape.permanent(matrix, precision="extended", full_output=True)
    assert result.value == extended.value
    assert (result.method, result.precision) == ("glynn", "extended")
    (first,) = result.retries
    assert (first.side, first.method, first.precision) == (18, "glynn", "double")
    assert first.device == result.device
    assert first.error_bound > result.error_bound
    told = json.loads(result.to_json())
    assert told["precision"] == "extended"
    assert told["retries"][0]["precision"] == "double"
    assert told["retries"][0]["reason"]


def test_an_exact_sum_of_floats_is_named_too():
    matrix = cancelling(9)
    result = hardscape.permanent(matrix, rtol=1e-16, full_output=True)
    assert (result.precision, result.rigorous) == ("exact", True)
    assert type(result.value) is float
    exact = hardscape.permanent(matrix, precision="exact")
    assert abs(Fraction(result.value) - exact) <= Fraction(result.error_bound)
    assert [retry.precision for retry in result.retries] == ["double"]


def test_nothing_is_said_where_nothing_was_tried():
    plain = hardscape.permanent(np.random.default_rng(1).normal(size=(9, 9)), full_output=True)
    assert (plain.precision, plain.retries) == ("double", ())
    assert hardscape.permanent([[1, 2], [3, 4]], full_output=True).retries == ()


def test_only_the_block_that_lost_is_summed_again():
    matrix = np.eye(21)
    matrix[:9, :9] = np.random.default_rng(2).normal(size=(9, 9))
    matrix[9:16, 9:16] = cancelling(7)
    result = hardscape.permanent(matrix, rtol=3e-13, full_output=True)
    assert result.precision == "double+exact"
    assert [retry.side for retry in result.retries] in ([7], [9])


def test_a_better_answer_is_not_replaced_by_a_worse_one():
    # Twelve rows that must take an entry of 2^-400: beside the others, those have no digits left in
    # double-double numbers. Sums over subsets keep them, as nothing cancels.
    matrix = np.random.default_rng(3).uniform(0.5, 1.0, (22, 22))
    matrix[:12, 11:] *= 2.0**-400
    plain = hardscape.permanent(matrix, precision="double", full_output=True)
    assert plain.method == "subset"
    again = hardscape.permanent(matrix, rtol=0.0, full_output=True)
    assert again.value == plain.value
    assert again.error_bound <= plain.error_bound
    assert (again.method, again.precision) == ("subset", "double")
    assert [retry.precision for retry in again.retries] == ["extended"]
    assert again.retries[0].error_bound > again.error_bound


def test_sparse_matrices_too_large_for_extended_precision_are_summed_exactly():
    n = 80
    matrix = np.zeros((n, n))
    for k in (-1, 0, 1):
        matrix += np.diag(np.random.default_rng(k + 1).uniform(0.5, 1, n - abs(k)), k)
    again = hardscape.permanent(matrix, rtol=0.0, full_output=True)
    assert again.value == float(hardscape.permanent(matrix, precision="exact"))
    assert [retry.precision for retry in again.retries] == ["double"]


def test_bounds_compare_whatever_their_powers_of_two():
    small, large = BoundedNumber(1.0, 1e-10, -500), BoundedNumber(1.0, 1e-17, 0)
    assert small.is_better_than(large)
    assert not large.is_better_than(small)
    nothing, endless = BoundedNumber(1.0, 0.0, 900), BoundedNumber(1.0, np.inf, -900)
    assert nothing.is_better_than(small)
    assert small.is_better_than(endless)
    guess = BoundedNumber(1.0, 1e-17, 0, rigorous=False)
    assert large.is_better_than(guess)
    assert not guess.is_better_than(large)
    assert not large.is_better_than(large)


def test_the_log_says_why_methods_were_passed_over(caplog):
    with caplog.at_level(logging.DEBUG, logger="hardscape.permanents"):
        hardscape.permanent(cancelling(9), method="glynn", rtol=0.0, full_output=True)
    told = "\n".join(record.getMessage() for record in caplog.records)
    for name in ("subset", "sparse", "repeated", "frontier"):
        assert name in told


@pytest.mark.parametrize(
    "wrong",
    [
        {"threads": 1.5},
        {"threads": True},
        {"time_limit": "1"},
        {"time_limit": True},
        {"time_limit": -1},
        {"checkpoint": 7},
        {"executor": object()},
        {"progress": 3},
    ],
)
@pytest.mark.parametrize("matrix", [[[1, 2], [3, 4]], [[1.5, -2.0], [3.0, 4.0]]])
def test_options_are_checked_whatever_the_matrix(matrix, wrong):
    with pytest.raises(InputError):
        hardscape.permanent(matrix, **wrong)


def test_options_of_minors_are_checked():
    for wrong in ({"threads": 1.5}, {"time_limit": "1"}, {"time_limit": 0}):
        with pytest.raises(InputError):
            hardscape.permanents.minors([[1.0, 2.0], [3.0, 4.0]], **wrong)


def test_a_long_sum_of_integers_in_python_obeys_the_limit():
    matrix = np.random.default_rng(4).integers(-9, 10, (19, 19))
    with pytest.raises(BudgetError):
        hardscape.permanent(matrix, method="subset", time_limit=0.2)
