"""The cheapest faults of a circuit: costs, bounds and proofs beside all assignments, and what is no circuit."""

import numpy as np
import pytest

from hardscape import native
from hardscape.benchmarks.maxsat.formulas import diagnosis, set_cover, timetable
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_circuits import faulty_circuit, renamed

STOP = np.zeros(1, dtype=np.uint8)
NO_TARGET = 0, 0
NEVER = 2**64 - 1


def formula_of(lists):
    n, soft, weights, hard = lists
    return Formula.from_clauses(soft, weights, hard=hard, num_variables=n)


def optimum(lists):
    """Least cost over all assignments, by the definition; None if there is none."""
    n, soft, weights, hard = lists
    every = np.arange(2**n)[:, None] >> np.arange(n) & 1 > 0

    def violated(clause):
        return ~np.any([every[:, abs(x) - 1] == (x > 0) for x in clause], axis=0)

    allowed = np.ones(2**n, dtype=bool)
    for clause in hard:
        allowed &= ~violated(clause)
    cost = sum(w * violated(c).astype(np.int64) for c, w in zip(soft, weights, strict=True))
    return min(cost[allowed], default=None)


def diagnosed(formula, flips=10**7, slices=1):
    search = native.core.maxsat.Diagnosis(formula, 1, 0)
    for _ in range(slices):
        search.run(flips // slices, *NO_TARGET, STOP)
    hard, *cost = search.best_cost
    high, low = search.lower
    return search, hard, (cost[0] << 64) + cost[1], (high << 64) + low


def checked(lists):
    """What is found of lists, after presolve; whether it is proven. None where nothing is left to find."""
    left = presolve(formula_of(lists))
    best = optimum(lists)
    if left.unsatisfiable or left.formula.num_hard == 0:
        return None
    search, hard, cost, lower = diagnosed(left.formula)
    assert search.given_up
    if best is None:
        assert hard != 0
        return None
    assert lower + left.constant <= best
    if hard == NEVER:
        return False
    assert (hard, cost) == left.formula.evaluate(search.best())[:2]
    assert hard == 0
    assert cost + left.constant >= best
    return lower == cost


@pytest.mark.parametrize("most", [1, 9, 10**6, 2**58])
def test_costs_and_bounds_are_right(most):
    sizes = [{"tests": 2, "gates": 4}, {"tests": 1, "gates": 7}]
    found = [checked(faulty_circuit(seed, most=most, **sizes[seed % 2])) for seed in range(40)]
    assert sum(each is not None for each in found) >= 15
    assert sum(each is True for each in found) >= 6


@pytest.mark.parametrize("seed", range(12))
def test_names_and_order_do_not_matter_to_what_is_right(seed):
    checked(renamed(faulty_circuit(seed, tests=2, gates=4), seed))


@pytest.mark.parametrize("seed", [0, 1, 5, 13])
def test_faults_of_larger_circuits_are_proven_cheapest(seed):
    rc2 = pytest.importorskip("pysat.examples.rc2")
    n, soft, weights, hard = diagnosis(10, 80, 2, 5, seed)
    peer = pytest.importorskip("pysat.formula").WCNF()
    peer.extend(hard)
    peer.extend(soft, weights)
    with rc2.RC2(peer) as solver:
        solver.compute()
        best = solver.cost
    for lists in ((n, soft, weights, hard), renamed((n, soft, weights, hard), seed)):
        left = presolve(formula_of(lists))
        _, hard_violations, cost, lower = diagnosed(left.formula)
        assert (hard_violations, cost, lower) == (0, best - left.constant, best - left.constant)


def test_two_faults_of_equal_symptoms_are_told_apart_by_their_prices():
    # Two buffers in a row, with the same in and the other way out: the cheaper one is at fault.
    hard = [[-1, 3], [-2, -3]]
    for weights, at_fault in (([2, 5], 0), ([5, 2], 1)):
        search, *found = diagnosed(Formula.from_clauses([[1], [2]], weights, hard=hard))
        assert found == [0, 2, 2]
        assert search.best()[:2].tolist() == [at_fault != 0, at_fault != 1]


def test_a_call_is_over_when_the_faults_are_proven():
    formula = formula_of(diagnosis(20, 200, 2, 6, 3))
    result = solve(formula, method="weighting", seed=1, max_flips=10**6, threads=1)
    assert result.status == "OPTIMUM FOUND"
    assert result.lower_bound == result.cost == formula.evaluate(result.assignment)[1]


def test_the_same_however_it_is_cut_into_runs():
    formula = presolve(formula_of(diagnosis(20, 200, 2, 6, 5))).formula
    whole, *first = diagnosed(formula, 10_000)
    parts, *second = diagnosed(formula, 10_000, slices=1000)
    assert first == second
    assert (whole.best() == parts.best()).all()


@pytest.mark.parametrize(
    "lists",
    [
        set_cover(20, 15, 3, 1),
        timetable(6, 3, 3, 0.2, 1),
        (3, [[1, 2]], [1], [[-1, 3]]),
        (3, [[1], [2]], [1, 1], [[-1, -2, 3], [-3, 1]]),
    ],
)
def test_what_is_no_circuit_is_given_up_at_once(lists):
    search, hard, _, lower = diagnosed(formula_of(lists))
    assert search.given_up
    assert (hard, lower) == (NEVER, 0)


def test_stopped_before_it_begins_and_on_the_way():
    formula = presolve(formula_of(diagnosis(20, 200, 2, 6, 5))).formula
    on = np.ones(1, dtype=np.uint8)
    assert native.core.maxsat.Diagnosis(formula, 1, 0, None, on).given_up
    search = native.core.maxsat.Diagnosis(formula, 1, 0)
    assert search.run(1000, *NO_TARGET, on) == 0
    assert search.best_cost[0] == NEVER
    search.run(10**6, *NO_TARGET, STOP)
    assert search.best_cost[0] == 0
