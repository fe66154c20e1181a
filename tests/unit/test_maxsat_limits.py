"""Limits that fall into the setting up, and what is known then."""

import time

import numpy as np
import pytest
from hypothesis import given, settings

from hardscape import native
from hardscape.errors import InputError
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.deadline import Deadline
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_clauses import random_clauses
from helpers.maxsat_strategies import formulas

STOP = np.ones(1, dtype=np.uint8)


def large_formula(n, m, seed, hard=0):
    rng = np.random.default_rng(seed)
    literals = rng.integers(1, n + 1, (m, 3)) * rng.choice([-1, 1], (m, 3))
    firm = np.arange(m) < hard
    weights = np.where(firm, 0, rng.integers(1, 20, m))
    return Formula(n, literals.ravel(), np.arange(m + 1) * 3, weights, firm)


def greedy(formula, stop=None):
    return native.core().greedy_maxsat(
        formula.num_variables,
        formula.literals,
        formula.offsets,
        formula.weights,
        formula.hard.view(np.uint8),
        stop,
    )


def compiled(name, formula, stop):
    """A search of either kind that is stopped before it begins."""
    f = formula
    if name == "Walk":
        weights = np.ones(256, dtype=np.uint32)
        return native.core().Walk(f.num_variables, f.literals, f.offsets, weights, 1, 0, None, stop)
    return native.core().Weighting(
        f.num_variables,
        f.literals,
        f.offsets,
        f.weights,
        f.hard.view(np.uint8),
        1,
        0,
        *(50, 5, 0.3, 0.1, 0.03, 5, 1),
        None,
        stop,
    )


@settings(max_examples=60)
@given(formulas(max_clauses=10))
def test_the_first_assignment_is_one(lists):
    formula = lists.formula()
    for stop in (None, STOP):
        found = greedy(formula, stop)
        assert found.shape == (formula.num_variables,)
        assert np.isin(found, (0, 1)).all()


def test_the_first_assignment_is_better_than_a_random_one():
    formula = large_formula(3000, 12_000, 1)
    rng = np.random.default_rng(2)
    chance = formula.cost(rng.integers(0, 2, (20, 3000)))
    assert formula.cost(greedy(formula)) < 0.5 * chance.min()
    easy = large_formula(3000, 3000, 1, hard=3000)
    assert easy.hard_violations(greedy(easy)) < 30


def test_presolve_can_be_stopped():
    formula = large_formula(300, 1000, 1)
    assert presolve(formula, stop=STOP) is None
    assert presolve(formula, stop=np.zeros(1, dtype=np.uint8)).formula.num_clauses > 0


@pytest.mark.parametrize("name", ["Walk", "Weighting"])
def test_a_search_stopped_in_its_construction_does_nothing(name):
    formula = presolve(large_formula(300, 1000, 1)).formula
    search = compiled(name, formula, STOP)
    unknown = 2**64 - 1
    assert search.best_cost == (unknown if name == "Walk" else (unknown, 0, 0))
    free = np.zeros(1, dtype=np.uint8)
    done = search.run(100, 0, free) if name == "Walk" else search.run(100, 0, 0, free)
    assert done == 0


def test_a_search_stopped_in_its_first_assignment_begins_again():
    formula = presolve(large_formula(300, 1000, 1, hard=300)).formula
    free = np.zeros(1, dtype=np.uint8)
    search = compiled("Weighting", formula, free)
    assert search.run(100, 0, 0, STOP) == 0
    assert search.best_cost[0] == 2**64 - 1
    assert search.run(100, 0, 0, free) == 100
    hard, high, low = search.best_cost
    best = search.best()
    assert (hard, (high << 64) + low) == (formula.hard_violations(best), formula.cost(best))


@pytest.mark.parametrize("method", ["auto", "weighting"])
@pytest.mark.parametrize("limit", [1e-9, 0.02, 0.2])
def test_something_is_known_whenever_the_limit_falls(method, limit):
    formula = large_formula(60_000, 250_000, 1)
    began = time.monotonic()
    result = solve(formula, method=method, seed=1, time_limit=limit)
    assert time.monotonic() - began < limit + 3  # what a busy machine takes; benchmarks say more
    assert result.stopped == "time_limit"
    assert result.cost == formula.cost(result.assignment)
    assert result.satisfied == np.count_nonzero(formula.satisfied(result.assignment))
    first = result.improvements[0]
    assert first.cost == formula.cost(first.assignment)
    assert first.satisfied == formula.evaluate(first.assignment).satisfied


def test_a_wrong_device_is_refused_also_when_the_time_is_up():
    with pytest.raises(InputError):
        solve(large_formula(200_000, 600_000, 1), device="gpu", time_limit=1e-9)


def test_deadline():
    endless = Deadline(time.monotonic(), None)
    endless.reserve(5.0)
    assert endless.left is None
    with endless.watched():
        assert not endless.stop[0]
    late = Deadline(time.monotonic() - 10, 1.0)
    assert 0 < late.left < 0.01
    with late.watched():
        time.sleep(0.2)
        assert late.stop[0]
    ahead = Deadline(time.monotonic(), 100.0)
    ahead.reserve(10.0)
    assert 80 < ahead.left <= 90
    ahead.reserve(1e9)
    assert 40 < ahead.left <= 50
    with ahead.watched():
        assert not ahead.stop[0]


def test_clauses_that_presolve_merges():
    twice = random_clauses(30, 80, [2, 3], 5)
    formula = Formula.from_clauses(twice + [c[::-1] for c in twice], hard=twice[:5])
    found = presolve(formula).formula
    assert found.num_clauses <= len({tuple(sorted(c)) for c in twice})
    assert set(found.weights.tolist()) <= {0, 2, 4, 6}
