"""Symmetries of formulas: what is found is one, and breaking them leaves an optimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hardscape import native
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.symmetry import breaking as module
from hardscape.maxsat.methods.symmetry.breaking import Rows, breaking, keeps, symmetries
from helpers.seeds import each_seed


def automorphisms(edges, colours, most=10**7):
    """Generators of those of a graph, as tuples."""
    n = len(colours)
    first, second = np.array(list(edges), dtype=np.uint32).reshape(-1, 2).T.copy()
    count, images = native.core.maxsat.automorphisms(
        first, second, np.array(colours, dtype=np.uint32), most
    )
    return [tuple(image) for image in images.reshape(count, n).tolist()]


def group_of(generators, n):
    """All products of generators."""
    found, new = {tuple(range(n))}, [tuple(range(n))]
    while new:
        made = {tuple(g[x] for x in each) for each in new for g in generators}
        new = list(made - found)
        found |= made
    return found


@each_seed(range(60))
def test_groups_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    colours = rng.integers(0, 2, n).tolist() if seed % 2 else [0] * n
    pairs = list(itertools.combinations(range(n), 2))
    edges = {pair for pair in pairs if rng.random() < rng.choice([0.2, 0.5])}
    kept = [
        p
        for p in itertools.permutations(range(n))
        if all(colours[p[v]] == colours[v] for v in range(n))
        and {tuple(sorted((p[a], p[b]))) for a, b in edges} == edges
    ]
    assert group_of(automorphisms(sorted(edges), colours), n) == set(kept)


@pytest.mark.parametrize(("sides", "order"), [(4, 8), (7, 14), (12, 24)])
def test_a_ring_turns_and_flips(sides, order):
    edges = [(i, (i + 1) % sides) for i in range(sides)]
    assert len(group_of(automorphisms(edges, [0] * sides), sides)) == order


def test_few_steps_find_less_and_nothing_wrong():
    edges = [(i, (i + 1) % 9) for i in range(9)]
    whole = group_of(automorphisms(edges, [0] * 9), 9)
    for most in range(0, 300, 20):
        assert set(automorphisms(edges, [0] * 9, most)) <= whole


def symmetric(seed):
    """A small formula that some permutation of its literals maps to itself, with a counter or without."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    order = (rng.permutation(n) + 1) * rng.choice([-1, 1], n, p=[0.2, 0.8])
    hard, soft, weights = [], [], []
    for _ in range(int(rng.integers(1, 9))):
        size = int(rng.integers(1, min(n, 3), endpoint=True))
        clause = [
            int(x) for x in (rng.choice(n, size, replace=False) + 1) * rng.choice([-1, 1], size)
        ]
        weight = int(rng.integers(1, 4)) if rng.random() < 0.5 else 0
        orbit = {tuple(sorted(clause))}
        while True:
            clause = [int(np.sign(x) * order[abs(x) - 1]) for x in clause]
            if tuple(sorted(clause)) in orbit:
                break
            orbit.add(tuple(sorted(clause)))
        for each in sorted(orbit):
            (soft if weight else hard).append(list(each))
            weights += [weight] * bool(weight)
    if rng.random() < 0.5:  # at most one of some, by a counter
        some = rng.choice(n, int(rng.integers(2, n, endpoint=True)), replace=False) + 1
        for i, v in enumerate(map(int, some)):
            n += 1
            hard += [[-v, n]] + ([[-(n - 1), n], [-v, -(n - 1)]] if i else [])
    return Formula.from_clauses(soft, weights, hard=hard, num_variables=n)


def least(formula, also=()):
    """The least cost under further clauses, which some values of new variables satisfy; by brute force."""
    n = formula.num_variables
    new = range(n + 1, max((abs(x) for clause in also for x in clause), default=n) + 1)
    best = None
    for bits in itertools.product([0, 1], repeat=n):
        found = formula.evaluate(np.array(bits, dtype=np.uint8))
        if found.hard_violations or (best is not None and found.cost >= best):
            continue
        values = {v: bool(bits[v - 1]) for v in range(1, n + 1)}
        if extends(values, list(also), list(new)):
            best = int(found.cost)
    return best


def extends(values, clauses, new):
    """Whether values of new variables, each one at most as true as needed, satisfy clauses."""
    for v in new:  # each is implied by those before, or may be false
        values[v] = False
        values[v] = any(
            v in c and not any(abs(x) in values and values[abs(x)] == (x > 0) for x in c)
            for c in clauses
        )
    return all(any(values[abs(x)] == (x > 0) for x in c) for c in clauses)


@each_seed(range(80))
def test_an_optimum_is_left(seed):
    formula = symmetric(seed)
    clauses = breaking(formula)
    assert least(formula, clauses) == least(formula)


def test_symmetric_formulas_were_broken():
    assert sum(bool(breaking(symmetric(seed))) for seed in range(80)) > 25


def same_clauses(formula, image):
    """Whether a map of variables makes the same clauses of them, all of them written down."""
    literals, ends, hard = (
        formula.literals.tolist(),
        formula.offsets.tolist(),
        formula.hard.tolist(),
    )
    clauses = [sorted(literals[a:b]) for a, b in itertools.pairwise(ends)]
    kinds = [-1 if h else w for h, w in zip(hard, formula.weights.tolist(), strict=True)]
    rows = sorted(zip(kinds, clauses, strict=True))
    mapped = [
        (k, sorted(image.get(abs(x), abs(x)) * (1 if x > 0 else -1) for x in c)) for k, c in rows
    ]
    return sorted(mapped) == rows


@each_seed(range(80))
def test_images_of_a_symmetry_satisfy_as_much(seed):
    formula = symmetric(seed)
    for image in symmetries(Rows.of(formula)):
        assert same_clauses(formula, image)
        assert keeps(Rows.of(formula), image)


def test_a_map_is_told_from_a_symmetry():
    told = []
    for seed in range(80):
        formula, rng = symmetric(seed), np.random.default_rng(seed)
        for _ in range(20):
            some = rng.choice(formula.num_variables, 2, replace=False) + 1
            to = rng.permutation(some) * rng.choice([-1, 1], 2)
            image = dict(zip(some.tolist(), to.tolist(), strict=True))
            told.append(same_clauses(formula, image))
            assert keeps(Rows.of(formula), image) == told[-1]
    assert 50 < sum(told) < len(told) - 50


def test_what_is_no_map_of_variables_is_no_symmetry():
    rows = Rows.of(Formula.from_clauses([], hard=[[1, 2], [1, 3]], num_variables=3))
    assert not keeps(rows, {2: 3})
    assert keeps(rows, {2: 3, 3: 2})


def test_a_symmetry_that_is_wrong_is_left_out_where_proofs_are_checked(monkeypatch):
    formula = Formula.from_clauses([[1], [2], [-3]], [1, 2, 2], hard=[[-1, -2, 3]])
    monkeypatch.setattr(module, "symmetries", lambda rows: [{1: 2, 2: 1}])
    assert breaking(formula)
    assert breaking(formula, check=True) == []


def pigeons(holes):
    """More pigeons than holes, each of which wants to sit alone; hole by hole, by counters."""
    n, hard = 0, []
    at = [[(n := n + 1) for _ in range(holes)] for _ in range(holes + 1)]
    hard += [list(row) for row in at]
    soft = []
    for hole in range(holes):
        column = [row[hole] for row in at]
        for a, b in itertools.combinations(column, 2):
            n += 1
            hard.append([-a, -b, n])
            soft.append([-n])
    return Formula.from_clauses(soft, [1] * len(soft), hard=hard, num_variables=n)


def test_pigeons_in_no_order_are_proven():
    pytest.importorskip("rustsat")
    result = solve(pigeons(5), threads=1, seed=1, time_limit=60)
    assert (result.cost, result.lower_bound) == (1, 1)


def test_pigeons_in_no_order_are_proven_by_two_solvers():
    pytest.importorskip("rustsat")
    result = solve(pigeons(10), threads=1, seed=1, time_limit=60, check=True)
    assert (result.cost, result.lower_bound) == (1, 1)
