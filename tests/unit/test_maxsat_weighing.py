"""Clause-weighting walks by the thousand: the walk's definition, and what comes of islands of them."""

import numpy as np
import pytest

from hardscape.engine import RunOptions, solve
from hardscape.maxsat import Formula, WeightingOptions
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.islands import islands
from hardscape.maxsat.methods.islands.islands import WalkIslands, WeighingIslands
from hardscape.maxsat.methods.islands.weighing.tables import INFEASIBLE, WeighingTables, weighs
from hardscape.maxsat.methods.islands.weighing.weighing import CpuWeighers
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_random import random_clauses
from helpers.maxsat_weighing import PlainWeighing, crowded, partial

STOP = np.zeros(1, dtype=np.uint8)
CPU = {"device": "cpu", "threads": 1}


FORMULAS = {
    "hard and soft": lambda: partial(40, 60, 60, 1),
    "tight": lambda: partial(30, 115, 40, 2),
    "soft alone": lambda: partial(70, 0, 260, 3),
    "heavy": lambda: partial(20, 30, 40, 4, most=2**50),
    "crowded": crowded,
}


@pytest.mark.parametrize("kind", FORMULAS)
def test_steps_are_those_of_the_definition(kind):
    formula = FORMULAS[kind]()
    n = formula.num_variables
    tables = WeighingTables.of(formula, WeightingOptions(soft_limit=3))
    rng = np.random.default_rng(1)
    initials = rng.integers(0, 2, (2, n)).astype(np.uint8)
    walks = CpuWeighers(tables, initials, 11, 4, 4, STOP)
    plain = [PlainWeighing(tables, initials[(4 + i) // 5 % 2], 11, 4 + i) for i in range(4)]
    escapes = 0
    for number in range(150):
        if number == 80:  # some go on from another assignment, one of them with its weights
            walks.adopt(np.array([-1, 4, 4, -1], dtype=np.int32), initials[0])
            for walk in plain[1:3]:
                walk.renew(initials[0], afresh=not walk.lasts)
            assert [walk.lasts for walk in plain[1:3]] == [kind != "soft alone", False]
        walks.run(1, 0)
        for walk, status in zip(plain, walks.status, strict=True):
            if walk.least:
                escapes += walk.step()
            assert (status["steps"], status["best"]) == (walk.steps, walk.least)
    assert 0 < escapes < 600
    for i, walk in enumerate(plain):
        assert (walks.best_of(i) == walk.best).all()
    if kind in ("tight", "crowded", "heavy"):
        assert any(walk.restarts for walk in plain)
    if kind in ("tight", "crowded"):
        assert any(walk.pressed for walk in plain)


def test_costs_are_those_of_the_formula():
    formula = partial(40, 60, 60, 1)
    tables = WeighingTables.of(formula, WeightingOptions())
    walks = CpuWeighers(tables, np.zeros((1, formula.num_variables), np.uint8), 1, 0, 8, STOP)
    walks.run(3000, 0)
    feasible = 0
    for i, best in enumerate(walks.status["best"].tolist()):
        hard, cost, _ = formula.evaluate(walks.best_of(i))
        assert best == (INFEASIBLE + hard if hard else cost)
        feasible += not hard
    assert feasible


def test_walks_go_on_from_the_best_of_others_or_from_a_guest():
    formula = partial(40, 60, 60, 1)
    n = formula.num_variables
    tables = WeighingTables.of(formula, WeightingOptions())
    initials = np.random.default_rng(2).integers(0, 2, (4, n)).astype(np.uint8)
    walks = CpuWeighers(tables, initials, 1, 0, 4, STOP)
    walks.run(50, 0)
    best = walks.status["best"].copy()
    guest = initials[3]
    walks.adopt(np.array([-1, 0, 4, 0], dtype=np.int32), guest)
    walks.run(0, 0)
    hard, cost, _ = formula.evaluate(guest)
    counts = INFEASIBLE + hard if hard else cost
    assert walks.status["best"].tolist() == [best[0], best[0], counts, best[0]]
    assert (walks.best_of(2) == guest).all()


def test_scores_cannot_overflow():
    """The largest weights that the tables allow, on a variable with many clauses."""
    m = 3000
    clauses = [[1, 2 + i % 20] for i in range(m)]
    weights = np.full(m, 10**12)
    weights[:5] = 1
    formula = Formula.from_clauses(clauses, weights)
    for options in (WeightingOptions(), WeightingOptions(soft_limit=1000, hard_start=1000)):
        tables = WeighingTables.of(formula, options)
        most = np.maximum(tables.most, tables.unit.astype(object) * options.soft_limit)
        assert m * int(most.max()) < 2**31 + m * options.soft_limit
        assert tables.unit.min() >= 1


def test_what_is_taken():
    assert weighs(partial(40, 60, 60, 1))
    assert not weighs(Formula.from_clauses([]))
    assert weighs(Formula.from_clauses([[1]], num_variables=2**15))
    assert not weighs(Formula.from_clauses([[1], [2]], [2**61, 2**61]))


@pytest.mark.parametrize("exchange", ["winners", "cellular"])
def test_the_answer_does_not_depend_on_how_turns_are_cut(exchange, monkeypatch):
    formula = partial(60, 80, 90, 7)
    answers = []
    for steps in (256, 17, 5000):
        monkeypatch.setattr(islands, "_FIRST_STEPS", steps)
        work = WeighingIslands(formula, seed=3, walks=10, max_steps=4000, exchange=exchange)
        found = solve(work, RunOptions.checked(**CPU)).answer
        hard, cost, _ = formula.evaluate(found["assignment"])
        assert (hard, cost) == (0, found["violated"][0])
        answers.append(found["assignment"])
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == answers[2]).all()


def test_small_optima_are_met():
    met = 0
    for seed in range(8):
        formula = partial(10, 12, 30, seed)
        n = formula.num_variables
        every = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
        costs = [formula.evaluate(x)[:2] for x in every]
        least = min(costs)
        if least[0]:
            continue
        work = WeighingIslands(formula, seed=1, walks=8, max_steps=3000)
        found = solve(work, RunOptions.checked(**CPU)).answer
        assert found["violated"][0] == least[1]
        met += 1
    assert met > 4


def test_the_target_ends_it():
    formula = partial(60, 80, 90, 7)
    work = WeighingIslands(formula, seed=3, walks=10, max_steps=4000)
    least = int(solve(work, RunOptions.checked(**CPU)).answer["violated"][0])
    sooner = WeighingIslands(formula, seed=3, walks=10, max_steps=4000, target=2 * least)
    found = solve(sooner, RunOptions.checked(**CPU)).answer
    assert least <= found["violated"][0] <= 2 * least
    assert found["flips"][0] < 40_000


@pytest.mark.parametrize("kind", [WalkIslands, WeighingIslands])
def test_others_know_better(kind):
    """What the incumbent holds is taken over, and searched from."""
    formula = random_clauses(60, 200, 3, seed=3)
    found = solve(kind(formula, seed=1, endless=True), RunOptions.checked(**CPU)).answer
    assert found["violated"][0] == 0
    incumbent = Incumbent(formula, None, 0.0)
    incumbent.aim(presolve(formula), None)
    incumbent.offer(found["assignment"])
    work = kind(formula, seed=2, incumbent=incumbent)
    assert (work._guest(1) == found["assignment"]).all()
    assert work._guest(0) is None
