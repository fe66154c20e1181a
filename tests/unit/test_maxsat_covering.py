"""The compiled search for covers, and for which formulas it is there."""

import itertools

import numpy as np
import pytest

from hardscape import native
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.weighting.searches import asks_for_a_cover
from hardscape.maxsat.presolve import presolve

STOP = np.zeros(1, dtype=np.uint8)


def cover(n, rows, most, seed, sign=-1):
    """Rows of two to four variables; who is true, or for sign 1 who is false, pays."""
    rng = np.random.default_rng(seed)
    weights = [int(w) for w in rng.integers(1, most, n, endpoint=True)]
    hard = [
        [int(-sign * (v + 1)) for v in rng.choice(n, rng.integers(2, 5), replace=False)]
        for _ in range(rows)
    ]
    return Formula.from_clauses(
        [[sign * (v + 1)] for v in range(n)], weights, hard=hard, num_variables=n
    )


def squares_of_a_cube(dimension):
    """Edges of a hypercube, of which each square must lose one."""
    number = {}
    for v, i in itertools.product(range(2**dimension), range(dimension)):
        if not v >> i & 1:
            number[v, i] = len(number) + 1
    hard = [
        [number[v, i], number[v, j], number[v | 1 << i, j], number[v | 1 << j, i]]
        for i, j in itertools.combinations(range(dimension), 2)
        for v in range(2**dimension)
        if not v >> i & 1 and not v >> j & 1
    ]
    return Formula.from_clauses([[-e] for e in number.values()], hard=hard)


def search_of(f, seed=1, stream=0, initial=None):
    return native.core.maxsat.Covering(f, seed, stream, initial)


def quality(search):
    hard, high, low = search.best_cost
    return hard, (high << 64) + low


def optimum(f):
    values = (np.arange(2**f.num_variables)[:, None] >> np.arange(f.num_variables) & 1).astype(bool)
    costs = np.zeros(len(values), dtype=object)
    firm = np.zeros(len(values), dtype=np.int64)
    for c in range(f.num_clauses):
        literals = f.literals[f.offsets[c] : f.offsets[c + 1]]
        violated = ~(values[:, np.abs(literals) - 1] == (literals > 0)).any(axis=1)
        if f.hard[c]:
            firm += violated
        else:
            costs += violated * int(f.weights[c])
    return 0, min(costs[firm == 0])


@pytest.mark.parametrize("most", [1, 30, 2**62])
@pytest.mark.parametrize("sign", [1, -1])
def test_it_finds_the_cheapest_cover(most, sign):
    for seed in range(15):
        f = cover(10, 14, most, seed, sign)
        assert asks_for_a_cover(f)
        search = search_of(f, seed)
        search.run(3000, 0, 0, STOP)
        assert quality(search) == optimum(f)
        assert quality(search) == f.evaluate(search.best())[:2]


def test_covers_whose_optimum_is_known():
    # OR-Library's cyc6 has 60 (Grossman and Wool, EJOR 101, 81, 1997).
    f = squares_of_a_cube(6)
    assert (f.num_variables, f.num_hard) == (192, 240)
    assert (
        solve(f, method="weighting", target=60, max_flips=1_000_000, seed=1, threads=1).cost == 60
    )


def test_its_cost_is_that_of_its_assignment():
    f = cover(80, 300, 30, 2)
    search = search_of(f)
    last = None
    for flips in (1, 1, 5, 100, 3000, 30_000):
        search.run(flips, 0, 0, STOP)
        assert quality(search) == f.evaluate(search.best())[:2]
        assert last is None or quality(search) <= last
        last = quality(search)
    assert last[0] == 0


@pytest.mark.parametrize(("n", "rows"), [(80, 300), (20_000, 30_000)])
def test_cut_into_pieces_it_is_the_same_search(n, rows):
    f = cover(n, rows, 30, 3)
    whole, pieces = search_of(f), search_of(f)
    assert whole.run(20_000, 0, 0, STOP) == 20_000
    for flips in (1, 511, 512, 513, 18_463):
        assert pieces.run(flips, 0, 0, STOP) == flips
    assert quality(whole) == quality(pieces)
    assert (whole.best() == pieces.best()).all()


def test_what_many_open_rows_cost_counts():
    f = cover(20_000, 30_000, 30, 3)
    search = search_of(f)  # all rows are open
    search.run(3000, 0, 0, STOP)
    assert (search.best() != search_of(f).best()).sum() < 3000 / 2


def test_it_goes_on_from_what_is_better():
    f = cover(80, 300, 30, 4)
    good = search_of(f)
    good.run(20_000, 0, 0, STOP)
    for search in (search_of(f, 2, initial=good.best()), search_of(f, 2)):
        search.adopt(good.best(), STOP)
        assert quality(search) == quality(good)
        search.run(1000, 0, 0, STOP)
        assert quality(search) <= quality(good)


def test_it_stops():
    f = cover(80, 300, 30, 5)
    assert search_of(f).run(10**9, 0, 0, np.ones(1, dtype=np.uint8)) == 0
    easy = search_of(f)
    assert easy.run(10**9, 0, f.total_weight, STOP) < 1000
    assert quality(easy)[0] == 0


@pytest.mark.parametrize(
    ("soft", "hard"),
    [
        ([[1], [2]], []),
        ([[-1], [-2, -3]], [[1, 2], [2, 3]]),
        ([[-1], [-2]], [[1, 2], [-1, -2]]),
        ([[-1], [-2]], [[1, 2], [2, 3]]),
        ([[-1], [1], [-2]], [[1, 2]]),
    ],
)
def test_other_formulas_are_not_taken_for_covers(soft, hard):
    assert not asks_for_a_cover(Formula.from_clauses(soft, hard=hard))


@pytest.mark.parametrize("seed", range(5))
def test_a_solve_finds_the_cheapest_cover(seed):
    f = cover(14, 40, 20, seed)
    assert len(presolve(f).formula.literals) > 0
    for threads in (1, 2):
        found = solve(f, method="weighting", max_flips=40_000, seed=seed, threads=threads)
        assert (0, found.cost) == optimum(f)
