"""Limits that fall into the setting up, and what is known then."""

import itertools
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings

from hardscape import native
from hardscape.engine import Shard, team
from hardscape.errors import InputError
from hardscape.maxsat import (
    CellularOptions,
    Formula,
    WeightingOptions,
    cellular_search,
    solve,
)
from hardscape.maxsat.methods.cellular.generation import UNKNOWN, CellularKernel
from hardscape.maxsat.methods.cellular.run import CellularRun, unpack_individual
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


def first(formula, stop=None):
    return native.core.maxsat.first(formula, stop)


def compiled(name, formula, stop):
    """A search of either kind that is stopped before it begins."""
    if name == "Walk":
        weights = np.ones(256, dtype=np.uint32)
        return native.core.maxsat.Walk(formula, weights, 1, 0, None, stop)
    return native.core.maxsat.Weighting(formula, WeightingOptions(), 1, 0, None, stop)


@settings(max_examples=60)
@given(formulas(max_clauses=10))
def test_the_first_assignment_is_one(lists):
    formula = lists.formula()
    for stop in (None, STOP):
        found = first(formula, stop)
        assert found.shape == (formula.num_variables,)
        assert np.isin(found, (0, 1)).all()


def test_the_first_assignment_is_better_than_a_random_one():
    formula = large_formula(3000, 12_000, 1)
    rng = np.random.default_rng(2)
    chance = formula.cost(rng.integers(0, 2, (20, 3000)))
    assert formula.cost(first(formula)) < 0.5 * chance.min()


@pytest.mark.parametrize("m", [3000, 120_000], ids=["by propagation", "by a walk"])
def test_the_first_assignment_satisfies_hard_clauses_that_are_easy(m):
    formula = large_formula(m, m, 1, hard=m // 2)
    assert formula.hard_violations(first(formula)) == 0


def test_the_first_assignment_of_hard_clauses_that_contradict_one_another():
    always, never = [[1, -1, 2]] * 40_000, [[3], [-3], [], [4, 4], [-4, -4]]
    formula = Formula.from_clauses([[5]], hard=always * 3 + never)
    assert formula.hard_violations(first(formula)) == 3


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


def alike(formula):
    """The same clauses, all soft with one weight."""
    ones = np.ones(formula.num_clauses, dtype=np.int64)
    return Formula(formula.num_variables, formula.literals, formula.offsets, ones, ones < 1)


def generation(kernel, parents=None):
    """Room for a generation, the first one or one after it, and what breeds a part of it."""
    children, number = kernel.room(), 0 if parents is None else 1
    return children, lambda islands, stop: kernel.breed(
        5, number, 20 * number, parents, islands, children, stop
    )


KINDS = {"weighted": lambda f: f, "alike": alike}
SMALL = CellularOptions(width=4, height=3, columns=2, rows=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flips", [0, 100])
def test_the_cellular_search_stopped_in_its_construction_is_made_anew(kind, flips):
    formula = KINDS[kind](large_formula(300, 1000, 1, hard=300))
    kernel = CellularKernel(formula, CellularOptions(walk_flips=flips))
    assert kernel.native(STOP) is None
    assert generation(kernel)[1](Shard(0, 0, 30), STOP) is None
    made = kernel.native(np.zeros(1, dtype=np.uint8))
    assert made.complete
    assert kernel.native(STOP) is made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flips", [0, 100])
def test_a_stopped_generation_has_no_costs(kind, flips):
    formula = KINDS[kind](large_formula(300, 1000, 1, hard=300))
    kernel = CellularKernel(formula, CellularOptions(walk_flips=flips, columns=2, rows=1))
    free = np.zeros(1, dtype=np.uint8)
    first, breed_first = generation(kernel)
    assert kernel.native() is not None
    assert breed_first(Shard(0, 0, 2), STOP) is None
    assert (first["costs"] == UNKNOWN).all()
    assert breed_first(Shard(0, 0, 2), free) == 0
    second, breed_second = generation(kernel, first)
    assert breed_second(Shard(0, 0, 2), STOP) is None
    assert (second["costs"] == UNKNOWN).all()
    assert breed_second(Shard(0, 0, 2), free) is not None
    for born in (first, second):
        rows = [unpack_individual(words, 300) for words in born["bits"]]
        told = [tuple(formula.evaluate(row)[:2]) for row in rows]
        assert born["costs"].tolist() == [list(cost) for cost in told]


def test_of_a_generation_cut_short_the_best_is_kept():
    formula = large_formula(300, 1000, 1)
    options = CellularOptions(width=4, height=4, columns=4, rows=4, walk_flips=100_000)
    run = CellularRun(CellularKernel(formula, options), 5, (0, 0))
    stop = np.zeros(1, dtype=np.uint8)
    with team(1, stop) as alone:
        assert run.advance(1, alone) == 1
        before = run.result()
        threading.Timer(0.5, stop.fill, (1,)).start()
        assert run.advance(1, alone) == 0  # all of it would take some ten times longer
    after = run.result()
    assert tuple(after["costs"][0]) < tuple(before["costs"][0])
    cost = formula.evaluate(unpack_individual(after["bits"][0], 300))[:2]
    assert tuple(after["costs"][0]) == tuple(cost)
    assert after["generations"].tolist() == [0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_generation_can_be_stopped_on_its_way(kind):
    formula = KINDS[kind](large_formula(300, 1400, 1))
    options = CellularOptions(width=4, height=3, columns=2, rows=2, walk_flips=2**30)
    kernel = CellularKernel(formula, options)
    first, breed_first = generation(kernel)
    stop = np.zeros(1, dtype=np.uint8)
    assert breed_first(Shard(0, 0, 4), stop) == 0
    threading.Timer(0.1, stop.fill, (1,)).start()
    assert generation(kernel, first)[1](Shard(0, 0, 4), stop) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_cellular_search_without_time_gives_one_random_individual(kind, threads):
    formula = KINDS[kind](large_formula(30_000, 120_000, 1, hard=40_000))
    told = []
    results = [
        cellular_search(
            formula,
            seed=seed,
            runs=runs,
            threads=threads,
            device="cpu",
            time_limit=1e-9,
            on_improvement=lambda improvement: told.append(improvement.assignment),
        )
        for seed, runs in ((1, 1), (1, 3), (2, 1))
    ]
    assert len(told) == 3
    for result, shown in zip(results, told, strict=True):
        assert result.stopped
        assert (result.runs, result.generations) == (1, 0)
        assert (shown == result.assignment).all()
        assert (result.hard_violations, result.cost) == formula.evaluate(result.assignment)[:2]
        assert result.run_costs.tolist() == [[result.hard_violations, result.cost]]
    assert (results[0].assignment == results[1].assignment).all()
    assert (results[0].assignment != results[2].assignment).any()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_limit_that_does_not_strike_changes_nothing(threads):
    formula = large_formula(500, 2000, 1, hard=500)
    found = [
        cellular_search(
            formula, seed=3, options=SMALL, threads=threads, device="cpu", time_limit=limit
        )
        for limit in (None, 1e6)
    ]
    assert (found[0].assignment == found[1].assignment).all()
    assert (found[0].history == found[1].history).all()


@pytest.mark.parametrize("method", ["auto", "weighting", "cellular"])
@pytest.mark.parametrize("limit", [1e-9, 0.02, 0.2])
def test_something_is_known_whenever_the_limit_falls(method, limit):
    formula = large_formula(60_000, 250_000, 1)
    began = time.monotonic()
    result = solve(formula, method=method, seed=1, time_limit=limit)
    assert time.monotonic() - began < limit + 3  # what a busy machine takes; benchmarks say more
    assert result.stopped == "time_limit"
    assert result.cost == formula.cost(result.assignment)
    assert result.num_satisfied == np.count_nonzero(formula.satisfied(result.assignment))
    first = result.improvements[0]
    assert first.cost == formula.cost(first.assignment)
    assert first.num_satisfied == formula.evaluate(first.assignment).num_satisfied


def test_a_wrong_device_is_refused_also_when_the_time_is_up():
    with pytest.raises(InputError):
        solve(large_formula(200_000, 600_000, 1), device="gpu", time_limit=1e-9)


def test_clauses_that_presolve_merges():
    twice = random_clauses(30, 80, [2, 3], 5)
    formula = Formula.from_clauses(twice + [c[::-1] for c in twice], hard=twice[:5])
    found = presolve(formula).formula
    assert found.num_clauses <= len({tuple(sorted(c)) for c in twice})
    assert set(found.weights.tolist()) <= {0, 2, 4, 6}


def large_arrays(clauses=700_000, variables=170_000):
    """Arrays of random clauses of three distinct variables, more literals than are copied for little."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, variables, (clauses, 1))
    steps = np.cumsum(rng.integers(1, variables // 4, (clauses, 2)), axis=1)
    drawn = 1 + np.hstack([first, first + steps]) % variables
    literals = (drawn * rng.choice([-1, 1], drawn.shape)).astype(np.int32)
    weights = rng.integers(1, 20, clauses)
    return variables, literals, np.arange(clauses + 1) * 3, weights, np.zeros(clauses, dtype=bool)


def test_a_large_formula_of_which_presolve_takes_little_is_not_copied():
    n, literals, *rest = large_arrays()
    formula = Formula(n, literals.ravel(), *rest)
    found = presolve(formula)
    assert found.formula is formula
    assignment = np.random.default_rng(1).integers(0, 2, n, dtype=np.uint8)
    assert (found.lift(assignment) == assignment).all()
    assert (found.restrict(assignment) == assignment).all()
    result = solve(formula, method="weighting", seed=1, threads=1, max_flips=2000)
    true = result.assignment[np.abs(literals) - 1] == (literals > 0)
    assert result.cost == rest[1][~true.any(axis=1)].sum()


@pytest.mark.parametrize("change", ["repeated", "tautology", "hard unit", "opposite units"])
def test_a_large_formula_that_must_change_is_copied(change):
    n, literals, offsets, weights, hard = large_arrays()
    if change == "repeated":
        literals[5, 1] = literals[5, 0]
    elif change == "tautology":
        literals[5, 1] = -literals[5, 0]
    else:
        second = [-3] if change == "opposite units" else []
        literals = np.append(literals.ravel(), [3, *second]).astype(np.int32)
        more = 1 + len(second)
        offsets = np.append(offsets, offsets[-1] + 1 + np.arange(more))
        weights = np.append(weights, [0] if more == 1 else [4, 6])
        hard = np.append(hard, [more == 1] * more)
    formula = Formula(n, literals.ravel(), offsets, weights, hard)
    found = presolve(formula)
    left = found.formula
    assert 0.9 * len(formula.literals) < len(left.literals) < len(formula.literals)
    assert found.constant == (4 if change == "opposite units" else 0)
    assignment = np.random.default_rng(1).integers(0, 2, left.num_variables, dtype=np.uint8)
    assert formula.cost(found.lift(assignment)) == left.cost(assignment) + found.constant


def test_nothing_follows_a_first_assignment_that_is_as_good_as_wanted(monkeypatch):
    def refuse(*args, **options):
        raise AssertionError("presolve")

    monkeypatch.setattr("hardscape.maxsat.anytime.presolve", refuse)
    formula = Formula.from_clauses([[1, 2], [-1, 3]], hard=[[2, 3], [-2, 3]])
    result = solve(formula, initial=[0, 1, 1])
    assert (result.status, result.cost, result.lower_bound) == ("OPTIMUM FOUND", 0, 0)
    dear = Formula.from_clauses([[1], [-1], [2]], [5, 3, 1], hard=[[1, 2]])
    result = solve(dear, initial=[0, 1], target=5)
    assert (result.status, result.cost, result.stopped) == ("SATISFIABLE", 5, "")
    with pytest.raises(AssertionError):
        solve(dear, initial=[0, 1], target=4)


def test_a_limit_on_flips_is_not_used_up_where_the_search_itself_has_proven_its_cost():
    rng = np.random.default_rng(5)
    ended = 0
    for seed in range(40):
        n = int(rng.integers(4, 9))
        soft, hard = (
            [(rng.choice([-1, 1], 3) * rng.integers(1, n + 1, 3)).tolist() for _ in range(size)]
            for size in rng.integers(2, 16, 2)
        )
        weights = rng.integers(1, 10, len(soft)).tolist()
        formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=n)
        result = solve(formula, method="weighting", max_flips=100_000, seed=seed, threads=1)
        every = np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.uint8)
        allowed = [bits for bits in every if formula.hard_violations(bits) == 0]
        if not allowed:
            continue
        assert result.cost == min(formula.cost(bits) for bits in allowed)
        ended += 0 < result.flips < 100_000 and result.cost > 0
    assert ended > 2
