"""Elimination by tables: against all assignments, and grids that no core search proves at once."""

import itertools

import numpy as np
import pytest

from hardscape import native
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.elimination.elimination import Tables
from helpers import maxsat_oracle as oracle
from helpers.seeds import each_seed

STOP = np.zeros(1, dtype=np.uint8)


def lists(seed, n=8, soft=16, firm=8):
    rng = np.random.default_rng(seed)

    def clauses(count, shortest):
        sizes = rng.integers(shortest, 5, count)
        drawn = [rng.choice(n, k, replace=False) + 1 for k in sizes]
        return [(v * rng.choice([-1, 1], len(v))).tolist() for v in drawn]

    return clauses(soft, 0), rng.integers(1, 20, soft).tolist(), clauses(firm, 1)


def grid(side, seed):
    """A spin glass: of two opposite clauses of a bond at most one is violated."""
    rng = np.random.default_rng(seed)
    soft, weights = [], []
    for i, j in itertools.product(range(side), repeat=2):
        for k, m in ((i + 1, j), (i, j + 1)):
            if k < side and m < side:
                a, b, sign = i * side + j + 1, k * side + m + 1, int(rng.choice([-1, 1]))
                soft += [[a, sign * -b], [-a, sign * b]]
                weights += [int(rng.integers(1, 11))] * 2
    return Formula.from_clauses(soft, weights, num_variables=side * side)


@each_seed(range(80))
def test_least_of_all_assignments(seed):
    soft, weights, hard = lists(seed, firm=8 if seed % 4 else 22)
    formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=8)
    found = Tables.of(formula).solve(STOP)
    best = oracle.optimum(8, soft, weights, hard)
    if best is None:
        assert found[1] is None
        return
    assert found[0] == best == formula.cost(found[1])
    assert formula.hard_violations(found[1]) == 0


def test_any_order_gives_the_same_cost():
    formula = grid(5, 1)
    rng = np.random.default_rng(3)
    least = {
        native.core.maxsat.eliminate(formula, rng.permutation(25).astype(np.uint32))[0]
        for _ in range(5)
    }
    assert least == {Tables.of(formula).solve(STOP)[0]}


def test_what_is_wide_or_heavy_is_left_to_others():
    rng = np.random.default_rng(1)
    wide = [(rng.choice(100, 2, replace=False) + 1).tolist() for _ in range(1000)]
    assert Tables.of(Formula.from_clauses(wide)) is None
    assert Tables.of(Formula.from_clauses([[1, 2], [-1]], [2**62, 1])) is None
    assert Tables.of(Formula.from_clauses([[1, 2], [-1]], [2**61, 1])).solve(STOP)[0] == 0


def test_a_stop_is_heard():
    assert Tables.of(grid(8, 1)).solve(np.ones(1, dtype=np.uint8)) is None


def test_auto_proves_a_grid():
    pytest.importorskip("pysat")
    pytest.importorskip("rustsat")
    formula = grid(13, 4)
    result = solve(formula, seed=1)
    assert result.status == "OPTIMUM FOUND"
    assert result.cost == result.lower_bound == Tables.of(formula).solve(STOP)[0]
    assert result.cost == formula.cost(result.assignment)


def wide(seed, n=13):
    """Scopes of more variables than a block of a table has, and clauses too long to share a small one."""
    rng = np.random.default_rng(seed)
    sizes = [*rng.integers(1, 4, 30), *rng.integers(10, 13, 3)]
    drawn = [(rng.choice(n, k, replace=False) + 1) * rng.choice([-1, 1], k) for k in sizes]
    return [v.tolist() for v in drawn], rng.integers(1, 20, len(sizes)).tolist()


@pytest.mark.parametrize("heavy", [1, 2**40])
def test_costs_in_32_and_in_64_bits(heavy):
    every = (np.arange(2**13)[:, None] >> np.arange(13) & 1).astype(np.uint8)
    for seed in range(6):
        soft, weights = wide(seed)
        formula = Formula.from_clauses(soft, [w * heavy for w in weights], num_variables=13)
        found = Tables.of(formula).solve(STOP)
        assert found[0] == formula.cost(every).min() == formula.cost(found[1])
