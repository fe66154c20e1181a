"""Vertices of a linear program that are assignments."""

import itertools
import math
import random

import numpy as np
import pytest

from hardscape.benchmarks.maxsat.formulas import assignment, upgrade
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.hitting.vertex import RESTS, vertex_pays, whole_vertices
from hardscape.maxsat.methods.walkers import hitting_turns
from hardscape.maxsat.methods.weighting.searches import Hitting
from helpers.seeds import each_seed

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


def search_of(formula):
    """A search by cores that has found nothing yet."""
    return Hitting(formula, 0, 1, 0, None, None)


def first_of(formula):
    """The least vertex, if it is whole."""
    return next(whole_vertices(formula, search_of(formula), lambda: math.inf), None)


def clauses(rng, variables, count, most):
    """Random clauses of up to so many literals."""
    return [
        [rng.choice((-1, 1)) * v for v in rng.sample(range(1, variables + 1), rng.randint(1, most))]
        for _ in range(count)
    ]


def found_by_branching(formula):
    """The costs that whole vertices and what lies near others have, and whether the last one is proven."""
    search, costs = search_of(formula), [math.inf]

    def known():
        hard, cost = search.cost()
        return math.inf if hard else cost

    for found in whole_vertices(formula, search, known):
        if found is not None and found is not RESTS:
            search.adopt(found, np.zeros(1, dtype=np.uint8))
        if known() < costs[-1]:
            assert formula.evaluate(search.best())[:2] == search.cost()
            costs.append(known())
    if search.given_up and known() < math.inf:
        assert search.lower == known()
    return costs, search.given_up


def bipartite(seed, left=5, right=5):
    """A cheapest vertex cover of a bipartite graph, some clauses soft: all vertices are whole."""
    rng = random.Random(seed)
    edges = [[i, left + j] for i in range(1, left + 1) for j in range(1, right + 1)]
    rng.shuffle(edges)
    hard, soft = edges[:9], edges[9:14]
    units = [[-v] for v in range(1, left + right + 1)]
    weights = [rng.randint(1, 10**9 if seed % 2 else 9) for _ in units + soft]
    return Formula.from_clauses(units + soft, weights, hard=hard)


@each_seed(range(20))
def test_a_whole_vertex_is_optimal(seed):
    formula = bipartite(seed)
    found = first_of(formula)
    assert found is not None
    assert formula.evaluate(found)[:2] == (0, least_cost(formula))


@each_seed(range(60))
def test_a_whole_vertex_of_any_formula_is_optimal(seed):
    rng = random.Random(seed)
    soft, hard = clauses(rng, 9, 12, 3), clauses(rng, 9, 8, 3)
    formula = Formula.from_clauses(
        soft, [rng.randint(1, 20) for _ in soft], hard=hard, num_variables=9
    )
    found = first_of(formula)
    best = least_cost(formula)
    if found is not None:
        assert formula.evaluate(found)[:2] == (0, best)
    elif best is not None:
        assert solve(formula, method="weighting", max_flips=20_000, seed=1).cost == best


def test_an_odd_cycle_has_no_whole_vertex():
    cycle = [[1, 2], [2, 3], [3, 4], [4, 5], [1, 5]]
    formula = Formula.from_clauses([[-v] for v in range(1, 6)], hard=cycle)
    assert first_of(formula) is None
    costs, proven = found_by_branching(formula)
    assert costs[-1] == 3
    assert proven


@each_seed(range(60))
def test_what_is_left_of_the_program_is_tried(seed):
    rng = random.Random(seed)
    edges = [[a, b] for a, b in itertools.combinations(range(1, 9), 2) if rng.random() < 0.4]
    units = [[-v] for v in range(1, 9)]
    formula = Formula.from_clauses(units, [rng.randint(1, 9) for _ in units], hard=edges)
    costs, proven = found_by_branching(formula)
    assert costs[-1] == least_cost(formula)
    assert proven


@each_seed(range(100))
def test_the_least_cost_is_found_near_a_vertex_or_by_branching(seed):
    rng = random.Random(seed)
    scale = rng.choice((1, 3, 10**6, 10**12))
    soft, hard = clauses(rng, 10, 14, 3), clauses(rng, 10, 12, rng.choice((2, 3)))
    weights = [scale * rng.randint(1, 20) for _ in soft]
    formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=10)
    best = least_cost(formula)
    costs, proven = found_by_branching(formula)
    assert costs[-1] == (math.inf if best is None else best)
    assert proven or best is None or scale > 10**6


def rows_of(formula):
    """The linear program's rows."""
    literals, sizes, least = (told.tolist() for told in search_of(formula).rows())
    left = iter(literals)
    return [(list(itertools.islice(left, size)), k) for size, k in zip(sizes, least, strict=True)]


@each_seed(range(20))
def test_the_rows_hold_where_the_hard_clauses_do_and_say_all_that_these_say(seed):
    rng = random.Random(seed)
    soft, hard = clauses(rng, 7, 3, 3), clauses(rng, 7, 20, 2) + clauses(rng, 7, 3, 3)
    formula = Formula.from_clauses(soft, hard=hard, num_variables=7)
    several = [clause for clause in soft if len(clause) > 1]
    rows = rows_of(formula)
    for values in itertools.product((0, 1), repeat=7):
        lost = [not any(values[abs(x) - 1] == (x > 0) for x in clause) for clause in several]
        truth = [*values, *lost]  # what relaxes a clause holds where it is violated
        kept = all(sum(truth[abs(x) - 1] == (x > 0) for x in row) >= k for row, k in rows)
        assert kept == (formula.evaluate(np.array(values, dtype=np.uint8))[0] == 0)


def test_pairs_that_exclude_one_another_are_a_clique():
    pairs = [[-a, -b] for a, b in itertools.combinations(range(1, 6), 2)]
    formula = Formula.from_clauses(
        [[1]], hard=[*pairs, [-2, -1], [-1, -6], [5, 6]], num_variables=6
    )
    told = sorted((sorted(row), k) for row, k in rows_of(formula))
    assert told == [([-6, -1], 1), ([-5, -4, -3, -2, -1], 4), ([5, 6], 1)]


def test_whose_vertex_is_looked_for():
    assert vertex_pays(bipartite(1))
    assert not vertex_pays(Formula.from_clauses([[v] for v in range(1, 12_002)]))
    assert not vertex_pays(Formula.from_clauses([], num_variables=3))


def test_a_search_goes_on_from_a_whole_vertex(monkeypatch):
    n, soft, weights, hard = upgrade(65, 5, 905)
    formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=n)
    known = {"method": "weighting", "max_flips": 1200, "seed": 1, "threads": 1}
    assert solve(formula, **known).cost == 56
    monkeypatch.setattr(hitting_turns, "whole_vertices", lambda *told: iter(()))
    assert solve(formula, **known).cost > 56


@pytest.mark.parametrize(
    ("make", "sizes", "flips", "cost"),
    [(upgrade, (65, 5, 905), 5000, 56), (assignment, (8, 40, 6, 5001), 200_000, 219)],
    ids=["small, at once", "larger, later"],
)
def test_a_search_proves_what_it_has_where_all_was_tried(make, sizes, flips, cost):
    pytest.importorskip("pysat", reason="python-sat, which encodes counts, is not installed")
    n, soft, weights, hard = make(*sizes)
    formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=n)
    found = solve(formula, method="weighting", max_flips=flips, seed=1, threads=1)
    assert (found.cost, found.lower_bound) == (cost, cost)


def test_what_lies_near_the_cheaper_of_two_vertices_is_tried_first():
    n, soft, weights, hard = upgrade(65, 5, 4208)
    formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=n)
    search = search_of(formula)

    def known():
        hard, cost = search.cost()
        return math.inf if hard else cost

    told = [x for x in whole_vertices(formula, search, known) if x is None]
    assert search.given_up
    assert search.cost() == (0, 64)
    assert len(told) < 15  # 25 where what costs more comes first
