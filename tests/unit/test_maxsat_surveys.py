"""Survey propagation: what it says of a chain, that costs are right, and what a walk makes of it."""

import random

import numpy as np
import pytest

from hardscape import native
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.walkers import random_turns
from hardscape.maxsat.methods.weighting.searches import NEVER, Surveying, surveys_say

STOP = np.zeros(1, dtype=np.uint8)


def random_formula(n, m, size, seed):
    rng = random.Random(seed)
    clauses = [
        [v if rng.random() < 0.5 else -v for v in rng.sample(range(1, n + 1), size)]
        for _ in range(m)
    ]
    return Formula.from_clauses(clauses, num_variables=n)


def surveys_of(formula, seed=1, stream=0, pieces=(10_000,)):
    """At its end, and the flips until then."""
    surveys, flips = native.core.maxsat.Surveys(formula, seed, stream), 0
    while surveys.best_cost[0] == NEVER:
        for piece in pieces:
            assert surveys.run(piece, 0, 0, STOP) == piece
            flips += piece
    return surveys, flips


def test_what_follows_from_one_literal():
    """Of a tree surveys know all: one literal, and what follows from it, clause by clause."""
    n = 40
    chain = [[-v, v + 1] if v % 3 else [-v, v + 1, -1] for v in range(1, n)]
    for sign in (1, -1):
        clauses = [[sign * x for x in clause] for clause in [[1], *chain]]
        found, _ = surveys_of(Formula.from_clauses(clauses, num_variables=n))
        assert (found.best() == (sign > 0)).all()
        assert found.best_cost == (0, 0, 0)


@pytest.mark.parametrize(("n", "ratio", "size"), [(2000, 4.2, 3), (800, 9.5, 4), (2000, 3.0, 3)])
def test_cost_is_that_of_its_assignment_however_it_is_cut(n, ratio, size):
    formula = random_formula(n, int(ratio * n), size, 3)
    found, flips = surveys_of(formula)
    hard, cost, *_ = formula.evaluate(found.best())
    assert found.best_cost == (hard, 0, cost)
    again, others = surveys_of(formula, pieces=(1, 77, 2048, 7874))
    assert others == flips
    assert (again.best() == found.best()).all()
    other, _ = surveys_of(formula, stream=1)
    assert (other.best() != found.best()).any()


def test_few_clauses_are_violated():
    """At random an eighth would be."""
    formula = random_formula(3000, 12_600, 3, 5)
    found, _ = surveys_of(formula)
    assert found.best_cost[2] < 12_600 / 16


def test_stopped_it_has_nothing():
    stop = np.ones(1, dtype=np.uint8)
    formula = random_formula(300, 1260, 3, 1)
    search = Surveying(formula, 0, 1, 0, stop)
    assert search.run(1000, stop) == 0
    assert not search.over


def test_where_surveys_say_something():
    assert surveys_say(random_formula(1000, 4250, 3, 1))
    assert surveys_say(random_formula(500, 4900, 4, 1))
    for ratio in (3.5, 5.0):
        assert not surveys_say(random_formula(1000, int(1000 * ratio), 3, 1))


def test_a_search_with_surveys_is_repeatable_and_sooner(monkeypatch):
    formula = random_formula(10_000, 42_000, 3, 7)

    def solved():
        how = {"method": "weighting", "seed": 2, "threads": 1, "device": "cpu"}
        return solve(formula, max_flips=10_000_000, **how)

    one, other = solved(), solved()
    assert (one.assignment == other.assignment).all()
    assert one.flips == other.flips
    monkeypatch.setattr(random_turns, "surveys_say", lambda formula: False)
    assert one.cost < solved().cost
