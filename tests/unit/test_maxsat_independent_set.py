"""Wishes that exclude one another in pairs: what vertices with few neighbours come to, and the way back."""

import itertools
import random

import numpy as np
import pytest

from hardscape.maxsat import Formula, solve
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_oracle import costs_of, presolved


def graph(weights, edges, signs=None, others=()):
    """Wishes, one of two at most along each edge, and other clauses, hard or (weight, clause)."""
    signs = signs or [1] * len(weights)
    hard = [[-signs[a] * (a + 1), -signs[b] * (b + 1)] for a, b in edges]
    soft = [[s * (v + 1)] for v, s in enumerate(signs)]
    weights = list(weights)
    for other in others:
        if isinstance(other, list):
            hard.append(other)
        else:
            weights.append(other[0])
            soft.append(other[1])
    return Formula.from_clauses(soft, weights, hard=hard, num_variables=len(signs))


def random_graph(seed):
    """Few edges; often with clauses of other kinds, most of which only forbid."""
    rng = random.Random(seed)
    n = rng.randint(2, 9)
    share = rng.choice((0.1, 0.2, 0.3, 0.5))
    edges = [e for e in itertools.combinations(range(n), 2) if rng.random() < share]
    signs = [rng.choice((-1, 1)) for _ in range(n)]
    others = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        chosen = rng.sample(range(n), min(n, rng.randint(2, 3)))
        forbids = rng.random() < 0.6
        clause = [(-signs[v] if forbids else rng.choice((-1, 1))) * (v + 1) for v in chosen]
        others.append(clause if rng.random() < 0.5 else (rng.randint(1, 4), clause))
    weights = [rng.choice((1, 1, 2, 3, 5)) for _ in range(n)]
    return graph(weights, edges, signs, others)


@pytest.mark.parametrize("first", range(0, 300, 10))
def test_what_is_left_costs_the_same(first):
    for seed in range(first, first + 10):
        presolved(random_graph(seed))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", ["path", "tree", "ring", "cactus"])
def test_nothing_is_left_of_thin_graphs(shape, seed):
    """Trees of any weights; rings and triangles on a path of weights of 1."""
    rng = random.Random(seed)
    n = 60
    weights = [rng.randint(1, 100) if shape in ("path", "tree") else 1 for _ in range(n)]
    if shape == "tree":
        edges = [(rng.randrange(v), v) for v in range(1, n)]
    else:
        edges = list(itertools.pairwise(range(n)))
        edges += [(n - 1, 0)] if shape == "ring" else []
        edges += [(v, v + 2) for v in range(0, n - 2, 2)] if shape == "cactus" else []
    formula = graph(weights, edges)
    found = presolve(formula)
    assert found.formula.num_clauses == 0
    assignment = found.lift(np.empty(0, dtype=np.uint8))
    hard, cost, _ = formula.evaluate(assignment)
    assert (hard, cost) == (0, found.constant)
    if shape in ("path", "tree"):
        assert cost == sum(weights) - heaviest(weights, edges)
    else:
        assert cost == n // 2


def heaviest(weights, edges):
    """Most weight of an independent set of a tree whose vertices come after their parents."""
    taken, left = list(weights), [0] * len(weights)
    for parent, child in sorted(edges, key=lambda edge: -edge[1]):
        taken[parent] += left[child]
        left[parent] += max(taken[child], left[child])
    return max(taken[0], left[0])


#: Three neighbours each, and no two of them neighbours.
PETERSEN = [(v, (v + 1) % 5) for v in range(5)]
PETERSEN += [(v, v + 5) for v in range(5)] + [(5 + v, 5 + (v + 2) % 5) for v in range(5)]


def test_a_neighbour_that_excludes_more_and_weighs_no_more_goes():
    assert presolve(graph([1] * 10, PETERSEN)).formula.num_variables == 10
    edges = [*PETERSEN, *((v, 10) for v in (0, 1, 4, 5, 7))]
    found = presolve(graph([1] * 11, edges))
    assert found.formula.num_variables == 10
    assert found.fixed[10] == 0
    without = found.restrict(np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1], dtype=np.uint8))
    assert without.tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_weights_as_large_as_may_be():
    most = 2**63 - 1
    found = presolve(graph([most] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]))
    assert found.formula.num_clauses == 0
    assert found.constant == 3 * most


def test_few_of_many_variables_stay():
    """Not for the sake of one in so many: the order of all else would change with it."""
    rng = random.Random(1)
    clauses = [[rng.choice((-1, 1)) * v for v in rng.sample(range(3, 600), 3)] for _ in range(2500)]
    formula = Formula.from_clauses([*clauses, [1], [2]], hard=[[-1, -2]], num_variables=600)
    assert presolve(formula).formula.num_variables == 599


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_the_same(seed):
    formula = random_graph(seed + 5000)
    whole = costs_of(formula)
    result = solve(formula, seed=1, device="cpu", threads=1)
    assert result.cost == result.lower_bound == min(whole.values())
    assert formula.evaluate(result.assignment)[:2] == (0, result.cost)
