"""The compiled clause-weighting search: what it says of itself, stops, pieces, restarts."""

import itertools

import numpy as np
import pytest

from hardscape import native
from hardscape.maxsat import Formula, WeightingOptions
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_clauses import random_clauses

STOP = np.zeros(1, dtype=np.uint8)


def formula(n, m, hard, seed, most=30):
    rng = np.random.default_rng(seed)
    soft = random_clauses(n, m, [1, 2, 3, 4], seed)
    firm = random_clauses(n, hard, [2, 3, 5], seed + 1) if hard else []
    whole = Formula.from_clauses(soft, rng.integers(1, most + 1, m), hard=firm, num_variables=n)
    return presolve(whole).formula


def search_of(f, seed=1, stream=0, initial=None, **options):
    return native.core.maxsat.Weighting(f, WeightingOptions(**options), seed, stream, initial)


def quality(search):
    hard, high, low = search.best_cost
    return hard, (high << 64) + low


@pytest.mark.parametrize(("hard", "most"), [(0, 30), (40, 30), (150, 1), (60, 2**63 - 1)])
def test_its_cost_is_that_of_its_assignment(hard, most):
    f = formula(60, 200, hard, 3, most)
    search = search_of(f, patience=2)
    last = None
    for flips in (1, 1, 5, 100, 3000, 300_000):
        search.run(flips, 0, 0, STOP)
        assert quality(search) == f.evaluate(search.best())[:2]
        assert last is None or quality(search) <= last
        last = quality(search)
    assert search.restarts > 10


def test_cut_into_pieces_it_is_the_same_search():
    f = formula(50, 150, 30, 4)
    whole, pieces = search_of(f, patience=3), search_of(f, patience=3)
    whole.run(20_000, 0, 0, STOP)
    for flips in (1, 511, 512, 513, 18_463):
        pieces.run(flips, 0, 0, STOP)
    assert quality(whole) == quality(pieces)
    assert (whole.best() == pieces.best()).all()
    assert whole.restarts == pieces.restarts


def test_pieces_do_not_decide_which_of_two_searches_has_more_turns():
    f = formula(80, 260, 60, 5)
    whole, pieces = search_of(f), search_of(f)
    whole.run(700_000, 0, 0, STOP)
    left = 700_000
    for flips in itertools.cycle((1, 3000, 8191, 29, 50_000)):
        left -= pieces.run(min(flips, left), 0, 0, STOP)
        if not left:
            break
    assert quality(whole) == quality(pieces)
    assert (whole.best() == pieces.best()).all()
    assert whole.restarts == pieces.restarts


def hypercube_cover(n):
    """The fewest edges of a hypercube that hold one of each square."""
    edges = [(v, i) for v in range(1 << n) for i in range(n) if not v >> i & 1]
    e = {edge: k for k, edge in enumerate(edges, 1)}
    hard = [
        [e[v, i], e[v, j], e[v | 1 << i, j], e[v | 1 << j, i]]
        for v in range(1 << n)
        for i in range(n)
        for j in range(i)
        if not (v >> i & 1 or v >> j & 1)
    ]
    return Formula.from_clauses([[-x] for x in e.values()], hard=hard)


def test_who_finds_more_with_as_many_flips_is_not_behind():
    search = search_of(hypercube_cover(11))
    search.run(2_000_000, 0, 0, STOP)
    # Who began anew is ahead at first, and at 4328 then; under pressure it takes as many flips to 4110.
    assert quality(search) < (0, 4300)


@pytest.mark.parametrize(("limit", "alike"), [(1, True), (50, False)])
def test_soft_clauses_grow_up_to_their_limit_and_no_further(limit, alike):
    f = formula(300, 1500, 300, 6)
    creeps, leaps = (search_of(f, soft_limit=limit, soft_increase=by) for by in (0.03, 0.6))
    creeps.run(40_000, 0, 0, STOP)
    leaps.run(40_000, 0, 0, STOP)
    same = quality(creeps) == quality(leaps) and (creeps.best() == leaps.best()).all()
    assert bool(same) is alike


def test_streams_and_seeds_differ():
    f = formula(80, 300, 30, 5)
    found = set()
    for seed, stream in ((1, 0), (1, 1), (2, 0)):
        search = search_of(f, seed, stream)
        search.run(20, 0, 0, STOP)
        found.add(search.best().tobytes())
    assert len(found) == 3


def test_it_starts_from_what_is_given():
    f = formula(40, 150, 20, 6)
    good = search_of(f)
    good.run(20_000, 0, 0, STOP)
    again = search_of(f, seed=9, initial=good.best())
    again.run(1, 0, 0, STOP)
    assert quality(again) <= quality(good)


@pytest.mark.parametrize("hard", [0, 20])
def test_it_goes_on_from_what_it_adopts(hard):
    f = formula(40, 150, hard, 6)
    good = search_of(f)
    good.run(20_000, 0, 0, STOP)
    again = search_of(f, seed=9)
    for before in (0, 10, 5000):  # flips; of two searches both have begun then
        again.run(before, 0, 0, STOP)
        again.adopt(good.best(), STOP)
        assert quality(again) <= quality(good)
        assert f.evaluate(again.best())[:2] == quality(again)


def test_it_stops():
    f = formula(40, 150, 20, 7)
    assert search_of(f).run(10**9, 0, 0, np.ones(1, dtype=np.uint8)) == 0
    easy = search_of(f)
    assert easy.run(10**9, 0, f.total_weight, STOP) < 10_000
    assert quality(easy)[0] == 0
    satisfied = search_of(Formula.from_clauses([[1, 2], [-1, 2], [1, -2]]))
    assert satisfied.run(1000, 0, 0, STOP) < 1000
    assert quality(satisfied) == (0, 0)


def test_searches_of_one_formula_do_not_disturb_one_another():
    whole = formula(60, 200, 40, 6)
    alone = search_of(whole)
    alone.run(5000, 0, 0, STOP)
    parts = [np.array(x) for x in (whole.literals, whole.offsets, whole.weights, whole.hard)]
    again = Formula(whole.num_variables, *parts)
    assert again == whole
    searches = [search_of(again), search_of(again, stream=1)]
    walk = native.core.maxsat.Walk(again, np.ones(256, dtype=np.uint32), 1, 0)
    del again, parts  # what they read is theirs
    for search in searches:
        for _ in range(5):
            walk.run(100, 0, STOP)
            search.run(1000, 0, 0, STOP)
    assert quality(searches[0]) == quality(alone)
    assert (searches[0].best() == alone.best()).all()
    assert whole.evaluate(searches[1].best())[:2] == quality(searches[1])


def test_formulas_with_the_same_literals_are_told_apart():
    literals = np.array([1, 2, 3, -1, -2, -3], dtype=np.int32)
    literals.flags.writeable = False
    weights, hard = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.bool_)
    pairs = Formula(3, literals, np.array([0, 3, 6]), weights, hard)
    units = Formula(3, literals, np.arange(7), np.repeat(weights, 3), np.repeat(hard, 3))
    assert pairs.literals is units.literals
    searches = [search_of(f) for f in (pairs, units)]
    for search, least in zip(searches, (0, 3), strict=True):
        search.run(100, 0, least, STOP)
        assert quality(search) == (0, least)


def large(hard=0, seed=1):
    """More than 300,000 literals: searches keep less of each clause."""
    rng = np.random.default_rng(seed)
    n, m = 24_000, 101_000
    first = rng.integers(0, n, m)
    step = rng.integers(1, n // 3, (m, 2))
    variables = np.stack([first, first + step[:, 0], first + step.sum(axis=1)], axis=1) % n
    literals = (1 + variables) * rng.choice([-1, 1], (m, 3))
    firm = np.arange(m) < hard
    weights = np.where(firm, 0, rng.integers(1, 20, m))
    return Formula(n, literals.ravel(), np.arange(0, 3 * m + 1, 3), weights, firm)


def searched(f, flips=40_000, **options):
    search = search_of(f, **options)
    search.run(flips, 0, 0, STOP)
    assert f.evaluate(search.best())[:2] == quality(search)
    return search.best()


@pytest.mark.parametrize("hard", [0, 60_000])
def test_a_large_formula_is_searched_alike_however_much_is_kept_of_a_clause(hard):
    # No weight comes near any limit here. Below the second one half as many bytes hold it, and below the third
    # one, where none is hard, a score, too.
    f = large(hard)
    most, fewer, fewest = (searched(f, soft_limit=2**bits) for bits in (20, 10, 7))
    assert (most == fewer).all()
    assert (most == fewest).all()


@pytest.mark.parametrize("soft", [0, 1, 5])
def test_it_ends_where_a_restart_satisfies_all_clauses(soft):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        planted = rng.integers(0, 2, 14) > 0
        clauses = [
            c
            for c in random_clauses(14, 60, [2, 3], seed)
            if any((x > 0) == planted[abs(x) - 1] for x in c)
        ]
        f = Formula.from_clauses(clauses[:soft], hard=clauses[soft:], num_variables=14)
        search = search_of(f, seed, initial=(~planted).astype(np.uint8))
        search.run(100_000, 0, 0, STOP)
        assert quality(search) == (0, 0)


@pytest.mark.parametrize("sign", [-1, 1])
def test_without_hard_clauses_all_variables_may_begin_alike(sign):
    n, rng = 300, np.random.default_rng(9)
    clauses = []  # parities of three, which no flips come near to, and which hold where all are of that sign
    for triple in rng.permuted(np.tile(np.arange(1, n + 1), (300, 1)), axis=1)[:, :3].tolist():
        for signs in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]):
            clauses.append([sign * s * x for s, x in zip(signs, triple, strict=True)])
    f = Formula.from_clauses(clauses, rng.integers(1, 9, len(clauses)), num_variables=n)
    search = search_of(f)
    search.run(8 * (4096 + n), 0, 0, STOP)  # turns of the search that begins anew
    assert quality(search) > (0, 0)
    search.run(1, 0, 0, STOP)
    assert quality(search) == (0, 0)
    assert f.evaluate(search.best())[:2] == (0, 0)
