"""Vertices of a linear program that are assignments."""

import itertools
import math
import random

import numpy as np
import pytest

from hardscape.benchmarks.maxsat.formulas import upgrade
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.hitting.vertex import vertex_pays, whole_vertices
from hardscape.maxsat.methods.weighting import local

pytest.importorskip("highspy", reason="highspy is not installed")


def least_cost(formula):
    """By trying all."""
    n = formula.num_variables
    costs = (
        cost
        for values in itertools.product((0, 1), repeat=n)
        for hard, cost, _ in [formula.evaluate(np.array(values, dtype=np.uint8))]
        if hard == 0
    )
    return min(costs, default=None)


def first_of(formula):
    """The least vertex, if it is whole."""
    return next(whole_vertices(formula, lambda: math.inf), None)


def bipartite(seed, left=5, right=5):
    """A cheapest vertex cover of a bipartite graph, some clauses soft: all vertices are whole."""
    rng = random.Random(seed)
    edges = [[i, left + j] for i in range(1, left + 1) for j in range(1, right + 1)]
    rng.shuffle(edges)
    hard, soft = edges[:9], edges[9:14]
    units = [[-v] for v in range(1, left + right + 1)]
    weights = [rng.randint(1, 10**9 if seed % 2 else 9) for _ in units + soft]
    return Formula.from_clauses(units + soft, weights, hard=hard)


@pytest.mark.parametrize("seed", range(20))
def test_a_whole_vertex_is_optimal(seed):
    formula = bipartite(seed)
    found = first_of(formula)
    assert found is not None
    assert formula.evaluate(found)[:2] == (0, least_cost(formula))


@pytest.mark.parametrize("seed", range(60))
def test_a_whole_vertex_of_any_formula_is_optimal(seed):
    rng = random.Random(seed)

    def clauses(count, most):
        return [
            [rng.choice((-1, 1)) * v for v in rng.sample(range(1, 10), rng.randint(1, most))]
            for _ in range(count)
        ]

    soft = clauses(12, 3)
    formula = Formula.from_clauses(
        soft, [rng.randint(1, 20) for _ in soft], hard=clauses(8, 3), num_variables=9
    )
    found = first_of(formula)
    best = least_cost(formula)
    if found is not None:
        assert formula.evaluate(found)[:2] == (0, best)
    elif best is not None:
        assert solve(formula, method="weighting", max_flips=20_000, seed=1).cost == best


def test_an_odd_cycle_has_no_whole_vertex():
    formula = Formula.from_clauses([[-1], [-2], [-3]], hard=[[1, 2], [2, 3], [1, 3]])
    assert first_of(formula) is None
    found = [x for x in whole_vertices(formula, lambda: math.inf) if x is not None]
    assert formula.evaluate(found[-1])[:2] == (0, 2)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_of_the_program_is_tried(seed):
    rng = random.Random(seed)
    edges = [[a, b] for a, b in itertools.combinations(range(1, 9), 2) if rng.random() < 0.4]
    units = [[-v] for v in range(1, 9)]
    formula = Formula.from_clauses(units, [rng.randint(1, 9) for _ in units], hard=edges)
    costs = [math.inf]
    for found in whole_vertices(formula, lambda: costs[-1]):
        if found is not None:
            hard, cost, _ = formula.evaluate(found)
            assert hard == 0
            assert cost < costs[-1]
            costs.append(cost)
    assert costs[-1] == least_cost(formula)


def test_whose_vertex_is_looked_for():
    assert vertex_pays(bipartite(1))
    assert not vertex_pays(Formula.from_clauses([[v] for v in range(1, 12_002)]))
    assert not vertex_pays(Formula.from_clauses([], num_variables=3))


def test_a_search_goes_on_from_a_whole_vertex(monkeypatch):
    n, soft, weights, hard = upgrade(65, 5, 905)
    formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=n)
    known = {"method": "weighting", "max_flips": 1200, "seed": 1, "threads": 1}
    assert solve(formula, **known).cost == 56
    monkeypatch.setattr(local, "whole_vertices", lambda formula, known: iter(()))
    assert solve(formula, **known).cost > 56
