"""A set of clauses that grows by answers of a SAT solver."""

import itertools
import threading
import time

import numpy as np
import pytest

from hardscape.maxsat import Formula
from helpers.maxsat_clauses import random_clauses
from helpers.seeds import each_seed

pytest.importorskip("pysat")
from hardscape.maxsat.methods.asking import growing
from hardscape.maxsat.methods.asking.growing import Growing, Together

STOP = np.zeros(1, dtype=np.uint8)


def formula(n, m, hard, seed, most=20):
    rng = np.random.default_rng(seed)
    soft = random_clauses(n, m, [1, 2, 3], seed)
    firm = random_clauses(n, hard, [2, 3], seed + 1) if hard else []
    return Formula.from_clauses(soft, rng.integers(1, most + 1, m), hard=firm, num_variables=n)


def holding(f, assignments):
    """Which clauses hold, a row for each assignment."""
    true = (np.atleast_2d(assignments)[:, np.abs(f.literals) - 1] == 1) == (f.literals > 0)
    return np.logical_or.reduceat(true, f.offsets[:-1], axis=1)


def every(n):
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)


def feasible(f):
    return next(x for x in every(f.num_variables) if f.hard_violations(x) == 0)


@pytest.mark.parametrize("hard", [0, 8])
def test_no_other_clause_can_join(hard):
    grown = 0
    for seed in range(20):
        f = formula(9, 40, hard, seed)
        start = feasible(f)
        search = Growing(f, 0, start, STOP)
        search.run(10**9, STOP)
        assert search.given_up
        assert search.cost() == f.evaluate(search.best())[:2]
        (before,), (after,) = holding(f, start), holding(f, search.best())
        assert (after >= before).all()
        grown += int(after.sum() > before.sum())
        known = holding(f, every(9))
        assert not ((known >= after).all(axis=1) & (known > after).any(axis=1)).any()
    assert grown > 3


def test_cut_into_pieces_it_is_the_same_search():
    f = formula(60, 300, 20, 3)
    start = next(
        x
        for x in np.random.default_rng(1).integers(0, 2, (100_000, 60), dtype=np.uint8)
        if f.hard_violations(x) == 0
    )
    whole, pieces = Growing(f, 0, start, STOP), Growing(f, 0, start, STOP)
    assert whole.run(400, STOP) == 400
    for flips in (1, 99, 100, 200):
        assert pieces.run(flips, STOP) == flips
    assert whole.cost() == pieces.cost() < f.evaluate(start)[:2]
    assert (whole.best() == pieces.best()).all()


def test_it_stops():
    f = formula(9, 40, 8, 5)
    start = feasible(f)
    assert Growing(f, 0, start, np.ones(1, dtype=np.uint8)).given_up
    search = Growing(f, 0, start, STOP)
    assert search.run(10**6, np.ones(1, dtype=np.uint8)) < 1000
    assert search.cost() == f.evaluate(start)[:2]
    easy = Growing(f, f.total_weight, start, STOP)
    assert easy.run(10**6, STOP) < 1000
    assert easy.cost() == f.evaluate(start)[:2]
    violating = Growing(Formula.from_clauses([[1]], hard=[[2]]), 0, np.zeros(2, np.uint8), STOP)
    assert violating.given_up


@each_seed(range(20))
def test_all_clauses_at_once(seed):
    f = formula(9, 20, 4, seed)
    search = Together(f, 0, np.zeros(9, dtype=np.uint8), STOP)
    search.run(10**6, STOP)
    if holding(f, every(9)).all(axis=1).any():
        assert f.evaluate(search.best())[:2] == search.cost() == (0, 0)
        assert search.lower == 0
    else:
        assert search.given_up
        assert not len(search.best())
        assert not search.is_last((0, 0))
        least = min(
            cost for hard, cost, *_ in map(f.evaluate, every(9)) if not hard
        )  # nothing costs less than the lightest
        assert 0 < search.lower == f.weights[~f.hard].min() <= least


def test_all_clauses_asked_for_in_pieces_and_until_it_stops():
    planted = np.random.default_rng(5).integers(0, 2, 200, dtype=np.uint8)
    clauses = random_clauses(200, 840, [3], 5)
    clauses = [c for c in clauses if any((planted[abs(x) - 1] == 1) == (x > 0) for x in c)]
    f = Formula.from_clauses(clauses, num_variables=200)
    none = np.zeros(200, dtype=np.uint8)
    whole, pieces = Together(f, 0, none, STOP), Together(f, 0, none, STOP)
    whole.run(10**6, STOP)
    while pieces.cost() != (0, 0):
        assert pieces.run(1000, STOP)
    assert (whole.best() == pieces.best()).all()
    assert f.evaluate(whole.best())[:2] == (0, 0)
    stopped = Together(f, 0, none, np.ones(1, dtype=np.uint8))
    assert stopped.given_up
    assert stopped.lower == 0
    near = Together(f, 0, planted, STOP)  # is what it tries first
    near.run(1, STOP)
    assert (near.best() == planted).all()


def test_only_all_clauses_are_better_than_the_lightest_violated():
    search = Together(Formula.from_clauses([[1], [2, 3]], [3, 2]), 0, np.zeros(3, np.uint8), STOP)
    assert search.is_last((0, 2))
    assert not search.is_last((0, 3))
    assert not search.is_last((1, 0))


def pigeons(holes):
    """One more than there are holes, each in one that no other one has."""
    at = np.arange(1, (holes + 1) * holes + 1).reshape(holes + 1, holes)
    twice = [[-a, -b] for hole in at.T.tolist() for a, b in itertools.combinations(hole, 2)]
    return at.tolist() + twice


def test_all_clauses_are_refuted_without_their_symmetries():
    search = Together(Formula.from_clauses(pigeons(11)), 0, np.zeros(132, np.uint8), STOP)
    search.run(10**5, STOP)
    assert search.given_up
    assert search.lower == 1


def test_a_question_for_all_clauses_keeps_what_it_learns_and_has_had_its_time(monkeypatch):
    clauses = pigeons(9)
    f = Formula.from_clauses(clauses, range(1, len(clauses) + 1))  # with no symmetries
    search = Together(f, 0, np.zeros(f.num_variables, np.uint8), STOP)
    given = search._solver.nof_clauses()
    flips = search.run(100_000, STOP)
    assert search._solver.nof_clauses() > 2 * given  # room for a third of these
    assert not search.tried
    assert not search.given_up
    monkeypatch.setattr(growing, "_TRIAL", flips)
    assert search.tried
    while not search.given_up:
        search.run(100_000, STOP)
    assert search.lower == 1


def test_a_question_for_all_clauses_ends_when_the_time_is_up():
    rng, stop = np.random.default_rng(1), np.zeros(1, dtype=np.uint8)
    clauses = pigeons(11)
    f = Formula.from_clauses(clauses, range(1, len(clauses) + 1))  # with no symmetries
    search = Together(f, 0, rng.integers(0, 2, f.num_variables, dtype=np.uint8), stop)
    threading.Timer(0.3, stop.fill, (1,)).start()
    began = time.monotonic()
    assert search.run(10**12, stop) < 10**12
    assert time.monotonic() - began < 20
    assert not search.given_up


def test_beside_hard_clauses_all_are_asked_for_at_once_without_symmetries(monkeypatch):
    def none(_):
        raise AssertionError("symmetries take longer than the question")

    monkeypatch.setattr(growing, "breaking", none)
    answers = set()
    for seed in range(20):
        f = formula(9, 12, 8, seed)
        search = Together(f, 0, feasible(f), STOP)
        search.run(10**6, STOP)
        costs = [f.evaluate(x)[1] for x in every(9) if f.hard_violations(x) == 0]
        all_hold = min(costs) == 0
        assert search.cost() == (0, 0) if all_hold else search.lower == f.weights[~f.hard].min()
        answers.add(all_hold)
    assert answers == {False, True}
