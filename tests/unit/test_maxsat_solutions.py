"""What the last solutions of a proof say of wishes."""

from __future__ import annotations

import pytest

from hardscape import native

MODELS = [1, 2, -3, 4], [1, -2, -3, 4], [-1, 2, 3, 4]


@pytest.fixture
def solutions():
    found = native.core.maxsat.Solutions()
    for model in MODELS:
        found.take(list(model))
    return found


def test_a_wish_that_a_solution_violates_alone_is_needed(solutions):
    assert sorted(solutions.needed([1, 2, 3])) == [1, 3]  # the second one violates two of them
    assert solutions.needed([1, 4]) == [1]


def test_what_no_solution_knows_counts_as_violated(solutions):
    assert solutions.needed([1, 5]) == [5]
    assert solutions.fewest([5, 6, 3]) == 2


def test_the_fewest_violated_wishes_are_an_upper_bound(solutions):
    assert solutions.fewest([1, 2, 3]) == 1
    assert solutions.fewest([-4, 3]) == 1
    assert solutions.fewest([4]) == 0
    assert native.core.maxsat.Solutions().fewest([1, 2]) == 2


def test_a_new_wish_counts_others(solutions):
    solutions.count(-7, [1, 2, 3], 1)  # that no more than one of them is violated
    assert solutions.needed([-7, 4]) == [-7]  # by the second one
    assert solutions.fewest([-7]) == 0


def test_what_violates_a_demand_is_forgotten(solutions):
    solutions.demand([2])
    assert solutions.needed([1, 2, 3]) == [3, 1]
    solutions.demand([3])
    assert solutions.needed([1, 2, 3]) == [1]
    solutions.forget()
    assert solutions.needed([1, 2, 3]) == []


def test_only_the_last_ones_are_kept():
    found = native.core.maxsat.Solutions()
    found.take([-1, 2])
    for _ in range(127):
        found.take([1, 2])
    assert found.needed([1, 2]) == [1]
    found.take([1, 2])
    assert found.needed([1, 2]) == []
