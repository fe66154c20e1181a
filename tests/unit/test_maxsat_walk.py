"""The focused random walk against a plain one, step by step."""

import numpy as np
import pytest

from hardscape import native
from hardscape.maxsat import Formula
from hardscape.maxsat.methods.weighting.searches import Walking
from hardscape.maxsat.methods.weighting.walk import break_weights
from helpers import maxsat_oracle as oracle
from helpers.maxsat_clauses import random_clauses


def walk_of(n, clauses, seed, stream, weights=None, initial=None):
    f = Formula.from_clauses(clauses, num_variables=n)
    weights = break_weights(3) if weights is None else weights
    return native.core.maxsat.Walk(f, weights, seed, stream, initial)


STOP = np.zeros(1, dtype=np.uint8)


@pytest.mark.parametrize(
    ("n", "m", "sizes"), [(12, 80, [3]), (30, 140, [1, 2, 3, 5]), (9, 60, [7]), (40, 168, [3])]
)
@pytest.mark.parametrize("stream", [0, 5])
def test_trajectory(n, m, sizes, stream):
    clauses = random_clauses(n, m, sizes, n)
    weights = break_weights(max(sizes))
    flipped, value = oracle.walk(n, clauses, weights, 2**64 - 3, stream, 60)
    walk = walk_of(n, clauses, 2**64 - 3, stream, weights)
    least = []
    for _ in flipped:
        assert walk.run(1, 0, STOP) == 1
        least.append(walk.cost)
    assert walk.cost == sum(not oracle.holds(c, value) for c in clauses)
    assert walk.best_cost <= min(least)
    best = walk.best().tolist()
    assert sum(not oracle.holds(c, best) for c in clauses) == walk.best_cost


def test_large_indices_take_the_same_way():
    """Formulas too large for 16-bit indices: the same clauses on variables far apart."""
    small = random_clauses(50, 200, [3], 1)
    spread = [[x * 1000 for x in clause] for clause in small]
    b = walk_of(50_000, spread, 3, 0, initial=np.zeros(50_000, np.uint8))
    a = walk_of(50, small, 3, 0, initial=np.zeros(50, np.uint8))
    for _ in range(50):
        assert a.run(10, 0, STOP) == b.run(10, 0, STOP)
        assert (a.cost, a.best_cost) == (b.cost, b.best_cost)
    assert (b.best()[999::1000] == a.best()).all()


def test_cut_into_pieces_it_is_the_same_walk():
    clauses = random_clauses(100, 430, [3], 4)
    whole, pieces = walk_of(100, clauses, 1, 2), walk_of(100, clauses, 1, 2)
    done = whole.run(30_000, 0, STOP)
    assert done == sum(pieces.run(n, 0, STOP) for n in (1, 2047, 2048, 2049, 5, 23_850))
    assert (whole.best() == pieces.best()).all()
    assert whole.cost == pieces.cost


def test_best_survives_long_wandering():
    clauses = random_clauses(20, 200, [3], 5)
    walk = walk_of(20, clauses, 1, 0)
    walk.run(200_000, 0, STOP)
    best = walk.best().tolist()
    assert sum(not oracle.holds(c, best) for c in clauses) == walk.best_cost
    assert walk.best_cost < walk.cost


def test_it_stops():
    clauses = random_clauses(50, 400, [3], 6)
    assert walk_of(50, clauses, 1, 0).run(10**9, 0, np.ones(1, dtype=np.uint8)) == 0
    walk = walk_of(50, clauses, 1, 0)
    walk.run(10**6, 20, STOP)
    assert walk.best_cost <= 20
    assert walk_of(3, [], 1, 0).run(100, 0, STOP) == 0


@pytest.mark.parametrize(
    ("clauses", "sizes", "exponent"),
    [(420, [3], 2.2), (500, [3], 2.6), (500, [2, 3], 2.2)],
)
def test_a_walk_is_greedier_where_random_clauses_cannot_all_hold(clauses, sizes, exponent):
    f = Formula.from_clauses(random_clauses(100, clauses, sizes, 1))
    mean = len(f.literals) / f.num_clauses
    alone = native.core.maxsat.Walk(f, break_weights(mean, exponent), 1, 0, None, STOP)
    alone.run(1000, 0, STOP)
    search = Walking(f, 1, 0, None, STOP)
    search.run(1000, STOP)
    assert (search.best() == alone.best()).all()


@pytest.mark.parametrize("longest", [3, 5])
def test_a_greedier_walk_takes_a_power_of_the_probabilities(longest):
    plain, greedier = (break_weights(longest, 2.2, power)[:4].astype(float) for power in (1.0, 1.5))
    assert greedier == pytest.approx(greedier[0] * (plain / plain[0]) ** 1.5, rel=1e-3)


def test_a_walk_goes_on_by_other_weights():
    clauses = random_clauses(40, 168, [3], 1)
    first, other = break_weights(3, 2.2), break_weights(3, 2.2, 1.4)
    anew, turned = (walk_of(40, clauses, 1, 0, weights) for weights in (other, first))
    turned.weigh(other)
    for each in (anew, turned):
        each.run(1000, 0, STOP)
    assert (anew.cost, anew.best_cost) == (turned.cost, turned.best_cost)
    assert (anew.best() == turned.best()).all()
    with pytest.raises(ValueError, match="wrong number"):
        turned.weigh(other[:5])


def test_a_walk_that_cools_gets_deeper():
    f = Formula.from_clauses(random_clauses(3000, 13500, [3], 1))
    further, cooler = (Walking(f, 1, 0, None, STOP) for _ in range(2))
    for power in (1.0, 1.0, 1.2, 1.4):
        cooler.cool(power)
        for each in (further, cooler):
            each.run(100_000, STOP)
    assert cooler.quality < further.quality


def test_weights_fall_with_the_break_count():
    for longest in (2, 3, 4, 5, 6, 7, 30):
        weights = break_weights(longest).astype(np.int64)
        assert weights.shape == (256,)
        assert weights[0] < 2**28
        assert (np.diff(weights) <= 0).all()
        assert weights[-1] >= 1
    three = break_weights(3).astype(float)
    assert three[0] / three[2] == pytest.approx((0.9 / 2.9) ** -2.06, rel=1e-6)
    assert break_weights(5)[0] / break_weights(5)[1] == pytest.approx(3.7, rel=1e-6)
