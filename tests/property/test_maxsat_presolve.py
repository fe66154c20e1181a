"""Presolve keeps costs, hard clauses and the optimum."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.maxsat import Formula
from hardscape.maxsat.presolve import presolve
from helpers import maxsat_oracle as oracle
from helpers.maxsat_strategies import formulas


def assignments(n):
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)


@settings(max_examples=300)
@given(formulas(max_clauses=10))
def test_costs_lift_and_the_optimum_stays(lists):
    formula = lists.formula()
    best = oracle.optimum(lists.num_variables, lists.soft, lists.weights, lists.hard)
    found = presolve(formula)
    if found.unsatisfiable:
        assert best is None
        return
    left = assignments(found.formula.num_variables)
    whole = found.lift(left)
    costs = formula.cost(whole)
    fits = found.formula.hard_violations(left) == 0
    assert (costs == found.formula.cost(left) + found.constant)[fits].all()
    assert (fits == (formula.hard_violations(whole) == 0)).all()
    assert (min(costs[fits].tolist(), default=None)) == best
    assert (found.restrict(whole) == left).all()


@settings(max_examples=100)
@given(formulas(max_clauses=10))
def test_what_is_left_is_clean(lists):
    found = presolve(lists.formula())
    formula = found.formula
    clauses = [
        tuple(formula.literals[a:b].tolist())
        for a, b in zip(formula.offsets, formula.offsets[1:], strict=False)
    ]
    assert len(set(clauses)) == len(clauses)
    present = {x for clause in clauses for x in clause}
    assert present == {-x for x in present}, "a pure literal is left"
    assert {abs(x) for x in present} == set(range(1, formula.num_variables + 1))
    for clause, hard in zip(clauses, formula.hard.tolist(), strict=True):
        assert len({abs(x) for x in clause}) == len(clause) > hard


@settings(max_examples=150)
@given(formulas(max_variables=4, max_clauses=16, max_weight=2**63 - 1))
def test_no_clause_holds_wherever_a_hard_one_does(lists):
    """Few variables, so that clauses hold one another; and weights whose sums are beyond 64 bits."""
    formula = lists.formula()
    found = presolve(formula)
    f = found.formula
    clauses = [
        set(f.literals[a:b].tolist()) for a, b in zip(f.offsets, f.offsets[1:], strict=False)
    ]
    for i, firm in enumerate(f.hard.tolist()):
        assert not firm or not any(clauses[i] < other for other in clauses)
    best = oracle.optimum(lists.num_variables, lists.soft, lists.weights, lists.hard)
    left = assignments(f.num_variables)
    fits = (f.hard_violations(left) == 0) & (not found.unsatisfiable)
    known = [int(cost) + found.constant for cost in f.cost(left)[fits]]
    assert min(known, default=None) == best


def test_weights_that_do_not_fit_one_clause_stay_apart():
    big = 2**63 - 1
    formula = Formula.from_clauses(
        [[1, 2], [1, 2], [-1, 2], [1, -2], [-1, -2]], [big, big, 1, 1, 1]
    )
    found = presolve(formula)
    assert found.formula.total_weight == 2 * big + 3
    units = presolve(Formula.from_clauses([[1], [-1], [1], [-1]], [big, big - 3, 5, 2]))
    assert units.formula.num_variables == 0
    assert units.constant == big - 1


def test_constant_beyond_64_bits():
    big = 2**63 - 1
    found = presolve(Formula.from_clauses([[]] * 5, [big] * 5, num_variables=2))
    assert (found.constant, found.formula.num_clauses) == (5 * big, 0)


def test_chain_of_hard_clauses():
    n = 5000
    hard = [[1]] + [[-i, i + 1] for i in range(1, n)]
    found = presolve(Formula.from_clauses([[-n], [-1, -n]], [4, 5], hard=hard))
    assert (found.constant, found.formula.num_variables) == (9, 0)
    assert found.lift(np.zeros(0)).all()
    assert presolve(Formula.from_clauses([], hard=[*hard, [-n]])).unsatisfiable
    assert presolve(Formula.from_clauses([], hard=[[]])).unsatisfiable


@given(st.integers(1, 40))
@settings(max_examples=20)
def test_repeated_clauses_become_one(count):
    soft = [[1, -2]] * count + [[-2, 1, 1]] + [[-1, 2]] * 3 + [[1, 2], [-1, -2]]
    found = presolve(Formula.from_clauses(soft)).formula
    assert sorted(found.weights.tolist()) == sorted([count + 1, 3, 1, 1])
