"""Literals that others do for at no higher cost, as dominated sets of a cover, and the way back."""

import random

import numpy as np
import pytest

from hardscape.maxsat import Formula, solve
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_oracle import presolved


def cover(weights, rows, others=()):
    """Variables that cost their weight where they are true, of which each row needs one."""
    hard = [*rows, *(clause for weight, clause in others if weight is None)]
    kept = [(weight, clause) for weight, clause in others if weight is not None]
    soft = [[-v] for v in range(1, len(weights) + 1)] + [clause for _, clause in kept]
    return Formula.from_clauses(soft, [*weights, *(w for w, _ in kept)], hard=hard)


def random_cover(seed):
    """Often with clauses that forbid, or want, other things."""
    rng = random.Random(seed)
    n = rng.randint(3, 9)
    weights = [rng.choice((1, 1, 2, 3, 5)) for _ in range(n)]
    rows = [
        sorted(rng.sample(range(1, n + 1), rng.randint(2, min(n, 4))))
        for _ in range(rng.randint(2, 8))
    ]
    others = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        clause = [rng.choice((-1, -1, 1)) * v for v in rng.sample(range(1, n + 1), 2)]
        others.append((rng.choice((None, 1, 3)), clause))
    return cover(weights, rows, others)


@pytest.mark.parametrize("first", range(0, 400, 20))
def test_what_is_left_costs_the_same(first):
    found = [presolved(random_cover(seed)) for seed in range(first, first + 20)]
    assert any(len(one.moves) for one in found)


def pairs_of(found):
    """Who holds in place of whom."""
    return set(zip(found.moves[::2].tolist(), found.moves[1::2].tolist(), strict=True))


#: 2 is in both rows of 1.
_ROWS = [[1, 2, 5], [1, 2, 6], [2, 6, 7], [5, 6, 7], [3, 5, 7], [3, 4, 6], [4, 5, 7], [3, 4, 5]]


@pytest.mark.parametrize(("price", "goes"), [(3, True), (2, True), (1, False)])
def test_a_set_goes_where_another_one_covers_as_much_for_no_more(price, goes):
    found = presolve(cover([price, 2, 5, 5, 5, 5, 5], _ROWS))
    assert ((2, 1) in pairs_of(found)) == goes
    assert not goes or found.fixed[0] == 0


@pytest.mark.parametrize(("price", "goes"), [(4, True), (3, False)])
def test_a_set_goes_where_a_group_covers_as_much_for_no_more(price, goes):
    # 1 is in rows of 2 and in rows of 3, each of which has other rows, too.
    rows = [[1, 2, 4], [1, 2, 5], [1, 3, 4], [1, 3, 5], [2, 4, 5, 6], [3, 4, 5, 6], [2, 3, 6]]
    pairs = pairs_of(presolve(cover([price, 2, 2, 7, 7, 7], rows)))
    assert ({(2, 1), (3, 1)} <= pairs) == goes


def test_who_would_violate_something_does_not_do():
    weights = [3, 2, 5, 5, 5, 5, 5]
    for weight in (None, 4):  # hard, or dear
        assert (2, 1) not in pairs_of(presolve(cover(weights, _ROWS, [(weight, [-2, -3, -4])])))


def test_a_users_assignment_is_moved_on():
    rng = random.Random(5)
    rows = [sorted(rng.sample(range(1, 61), 4)) for _ in range(25)]
    formula = cover([rng.randint(1, 9) for _ in range(60)], rows)
    assert len(presolve(formula).moves)
    everything = np.ones(60, dtype=np.uint8)
    result = solve(formula, initial=everything, seed=1, threads=1)
    assert result.status == "OPTIMUM FOUND"
    assert result.cost == solve(formula, seed=2, method="exact", threads=1).cost


def test_it_ends_when_told_to():
    assert presolve(random_cover(3), stop=np.ones(1, dtype=np.uint8)) is None
