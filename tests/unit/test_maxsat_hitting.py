"""The search by cores of unit propagation: its costs, its lower bound, and that its cuts do not matter."""

import threading
import time

import numpy as np
import pytest

from hardscape import native
from hardscape.benchmarks.maxsat.formulas import upgrade
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.presolve import presolve
from helpers import maxsat_oracle as oracle
from helpers.seeds import each_seed

STOP = np.zeros(1, dtype=np.uint8)
NO_TARGET = 0, 0


def instance(seed, n=9, firm=14, soft=14, most=9):
    """Random hard and weighted soft clauses, and what presolve leaves of them."""
    rng = np.random.default_rng(seed)

    def clauses(count, shortest):
        return [
            (
                (rng.choice(n, rng.integers(shortest, 4), replace=False) + 1)
                * rng.choice([-1, 1])
                * rng.choice([-1, 1], 1)
            ).tolist()
            for _ in range(count)
        ]

    lists = clauses(soft, 1), rng.integers(1, most + 1, soft).tolist(), clauses(firm, 2)
    return lists, presolve(Formula.from_clauses(lists[0], lists[1], hard=lists[2], num_variables=n))


def settled(seed, **sizes):
    """A small instance, and its least cost."""
    lists, found = instance(seed, **sizes)
    best = oracle.optimum(9, *lists)
    return found, None if best is None else best - found.constant


def searched(formula, flips, seed=1, slices=1, initial=None):
    search = native.core.maxsat.Hitting(formula, seed, 0, initial)
    for _ in range(slices):
        search.run(flips // slices, *NO_TARGET, STOP)
    hard, high, low = search.best_cost
    return search, (hard, (high << 64) + low)


@each_seed(range(60))
def test_costs_are_right_and_nothing_costs_less_than_the_bound(seed):
    found, best = settled(seed)
    if best is None or found.formula.num_hard == 0:
        pytest.skip("no such formula")
    f = found.formula
    search, cost = searched(f, 4000)
    high, low = search.lower
    assert (high << 64) + low <= best
    assert cost == f.evaluate(search.best())[:2]
    assert cost == (0, best)


def test_some_bounds_meet():
    met = 0
    for seed in range(60):
        found, best = settled(seed, firm=18, soft=8)
        if best is None or found.formula.num_hard == 0:
            continue
        search, cost = searched(found.formula, 2000)
        if search.given_up:
            assert cost == (0, best)
            met += 1
    assert met >= 20


@each_seed(range(60, 100))
def test_what_is_demanded_for_good_leaves_the_optimum(seed):
    found, best = settled(seed, most=int([1, 4, 10**9][seed % 3]))
    if best is None or found.formula.num_hard == 0:
        pytest.skip("no such formula")
    f = found.formula
    n = f.num_variables
    every = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
    solutions = every[f.hard_violations(every) == 0]
    search = native.core.maxsat.Hitting(f, seed, 0, None)
    for run in range(200):
        search.adopt(solutions[(7 * run) % len(solutions)], STOP)
        search.run(20, *NO_TARGET, STOP)
        (bound, low), (hard, *words) = search.lower, search.best_cost
        cost = (words[0] << 64) + words[1]
        assert (bound << 64) + low <= best <= cost
        assert hard == 0
    assert cost == best


def test_hard_clauses_that_contradict_one_another_are_given_up():
    pairs = [[1, 2], [1, -2], [-1, 3], [-1, -3]]
    search, cost = searched(Formula.from_clauses([[2], [3]], hard=pairs), 100)
    assert search.given_up
    assert cost[0] == 2**64 - 1


@pytest.mark.parametrize("seed", range(5))
def test_the_same_however_it_is_cut_into_runs(seed):
    _, found = instance(seed, n=30, firm=70, soft=60)
    whole, first = searched(found.formula, 3000, seed)
    parts, second = searched(found.formula, 3000, seed, slices=100)
    assert first == second
    assert (whole.best() == parts.best()).all()


def test_goes_on_from_an_assignment():
    _, found = instance(3, n=20, firm=30, soft=40)
    best, _ = searched(found.formula, 5000)
    search = native.core.maxsat.Hitting(found.formula, 2, 0, None)
    search.adopt(best.best(), STOP)
    assert search.best_cost == best.best_cost
    search.run(500, *NO_TARGET, STOP)
    assert search.best_cost <= best.best_cost


def test_weights_beyond_64_bits():
    big = 2**63 - 1
    soft = [[1], [2], [3], [4], [5]]
    hard = [[-1, -2], [-2, -3], [-3, -4], [-4, -5], [-1, -5]]
    search, cost = searched(Formula.from_clauses(soft, [big] * 5, hard=hard), 2000)
    assert cost == (0, 3 * big)
    assert search.lower == divmod(3 * big, 2**64)


def test_a_bound_that_meets_the_cost_is_a_proof_without_a_solver():
    hard = [[-1, 3], [-3, 4, 7], [-3, 4, -7], [-4, -2], [-5, 3], [-4, -6]]
    soft, weights = [[1], [2], [5], [6]], [4, 3, 6, 5]
    formula = Formula.from_clauses(soft, weights, hard=hard)
    assert oracle.optimum(7, soft, weights, hard) == 8
    result = solve(formula, method="weighting", seed=1, max_flips=200_000)
    assert (result.status, result.cost, result.lower_bound) == ("OPTIMUM FOUND", 8, 8)


def test_a_second_opinion_takes_no_bound_of_propagation():
    pytest.importorskip("pysat")
    pytest.importorskip("rustsat")
    hard = [[-i, -j] for i in range(1, 16) for j in range(1, i)]
    formula = Formula.from_clauses([[i] for i in range(1, 16)], hard=[*hard, [1, 2, 16], [-16, 3]])
    result = solve(formula, method="exact", check=True, seed=1)
    assert (result.status, result.cost) == ("OPTIMUM FOUND", 14)


@pytest.mark.parametrize(("seed", "least"), [(403, 58), (405, 75)])
def test_small_changes_around_a_clause_are_found(seed, least):
    """Least costs by RC2; without looks around violated clauses, most of these runs stop short of them."""
    variables, soft, weights, hard = upgrade(65, 5, seed)
    found = presolve(Formula.from_clauses(soft, weights, hard=hard, num_variables=variables))
    for run in range(3):
        search, cost = searched(found.formula, 100_000, run)
        assert cost == found.formula.evaluate(search.best())[:2]
        assert cost == (0, least - found.constant)


@each_seed(range(40))
def test_few_wishes_that_hit_all_cores_are_found_and_proven(seed):
    rng = np.random.default_rng(seed)
    n, least = 12, int(rng.integers(1, 4))
    # Of every group of wishes one is to be given up, and one is in all groups of its kind.
    hard = [
        [-1 - k % least, *(-int(v) for v in rng.choice(range(5, n + 1), 3, replace=False))]
        for k in range(9)
    ]
    weights = rng.integers(1, 9, n).tolist()
    formula = Formula.from_clauses([[v] for v in range(1, n + 1)], weights, hard=hard)
    every = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
    best = int(formula.cost(every[formula.hard_violations(every) == 0]).min())
    search, cost = searched(formula, 4000)
    assert cost == (0, best)
    assert search.lower == divmod(best, 2**64)


def test_a_descent_over_very_many_wishes_ends_or_stops():
    n = 100_000
    pairs = np.random.default_rng(1).integers(1, n + 1, (n, 2))
    hard = [[-a, -b] for a, b in pairs.tolist() if a != b]
    formula = Formula.from_clauses([[v] for v in range(1, n + 1)], hard=hard)
    search = native.core.maxsat.Hitting(formula, 1, 0, None)
    stop = np.zeros(1, dtype=np.uint8)
    timer = threading.Timer(20, stop.fill, [1])  # some 50 times what it takes
    timer.start()
    search.run(100_000, *NO_TARGET, stop)
    assert search.best_cost[0] == 0
    assert stop[0] == 0
    timer.cancel()
    timer = threading.Timer(0.2, stop.fill, [1])
    timer.start()
    began = time.perf_counter()
    search.run(2**40, *NO_TARGET, stop)
    assert time.perf_counter() - began < 5
    assert stop[0] == 1
    timer.join()
