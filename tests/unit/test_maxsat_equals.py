"""Literals that hard clauses make equal: one stands for all, and values of the others come back."""

import itertools
import random

import numpy as np
import pytest

from hardscape.maxsat import Formula, solve
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_oracle import costs_of, presolved
from helpers.seeds import each_seed


def tied(seed):
    """Random clauses, many of the hard ones of two literals."""
    rng = random.Random(seed)
    n = rng.randint(3, 9)

    def clause(size):
        return [rng.choice((v, -v)) for v in rng.sample(range(1, n + 1), min(n, size))]

    hard = [clause(2) for _ in range(rng.randint(0, n))] + [
        clause(3) for _ in range(rng.randint(0, n))
    ]
    soft = [clause(rng.randint(1, 4)) for _ in range(rng.randint(1, 2 * n))]
    weights = [rng.randint(1, 9) for _ in soft]
    return Formula.from_clauses(soft, weights, hard=hard, num_variables=n)


@each_seed(range(150))
def test_what_is_left_costs_the_same(seed):
    presolved(tied(seed))


def one_of(variables):
    """Exactly one of them holds."""
    return [
        list(variables),
        *([-a, -b] for a, b in itertools.combinations(variables, 2)),
    ]


def test_a_ring_of_implications_is_one_variable():
    soft = [[1, 5], [-2, 6], [3, -5, 6], [-4, -6], [5]]
    found = presolve(
        Formula.from_clauses(soft, [1, 2, 3, 4, 5], hard=[[-1, 2], [-2, -3], [3, 4], [-4, 1]])
    )
    assert found.formula.num_variables == 3
    assert found.formula.num_hard == 0
    values = found.lift(np.array([1, 0, 0], dtype=np.uint8))
    assert values.tolist()[:4] == [1, 1, 0, 1]


def test_things_that_decide_one_another_are_one():
    """What one thing's value leaves of the other's follows by a longer clause."""
    size = 5
    first, second = range(1, size + 1), range(size + 1, 2 * size + 1)
    image = [second[(2 * i + 1) % size] for i in range(size)]
    hard = one_of(first) + one_of(second)
    hard += [[-a, -b] for a, own in zip(first, image, strict=True) for b in second if b != own]
    soft = [[-a, -b] for a in first for b in second] + [[-v] for v in (*first, *second)]
    formula = Formula.from_clauses(soft, list(range(1, len(soft) + 1)), hard=hard)
    found = presolve(formula)
    assert found.formula.num_variables == size
    left = costs_of(found.formula)
    assert {cost + found.constant for cost in left.values()} == set(costs_of(formula).values())


def test_a_literal_from_which_a_contradiction_follows_is_false():
    soft = [[4, 6], [5, -6], [1, 6], [-1, 2]]
    hard = [[-1, 2], [-1, 3], [-2, -3, 4], [-1, -4], [2, 3, 5, 6], [4, 5, 6]]
    found = presolve(Formula.from_clauses(soft, hard=hard))
    assert found.fixed[0] == 0


def test_a_literal_that_equals_its_negation_is_none():
    hard = [[-1, 2], [-2, -1], [1, 3], [-3, 1]]
    assert presolve(Formula.from_clauses([[1, 2]], hard=hard)).unsatisfiable


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_the_same(seed):
    formula = tied(seed + 1000)
    whole = costs_of(formula)
    if whole:
        result = solve(formula, seed=1, device="cpu", threads=1)
        assert result.cost == result.lower_bound == min(whole.values())
