"""Annealing over the values of things: what it takes for one, that costs are right, and what it finds."""

import itertools
import random

import numpy as np
import pytest

from hardscape import native
from hardscape.maxsat import Formula, solve
from helpers.seeds import each_seed

STOP = np.zeros(1, dtype=np.uint8)


def one_of(variables):
    """Exactly one of them holds."""
    return [list(variables), *([-a, -b] for a, b in itertools.combinations(variables, 2))]


def things(rng, count, size):
    """Variables of so many things, and that each has one value."""
    values = [[1 + t * size + k for k in range(size)] for t in range(count)]
    rng.shuffle(values)
    return values, [clause for value in values for clause in one_of(value)]


def problem(seed, count=5, size=3):
    """Things with costs of values, pairs that exclude one another or cost, also by relaxed clauses."""
    rng = random.Random(seed)
    values, hard = things(rng, count, size)
    n = count * size
    soft, weights = [], []

    def costs(clause, weight):
        soft.append(clause)
        weights.append(weight)

    for value in values:
        for v in value:
            if rng.random() < 0.5:
                costs([rng.choice((v, -v))], rng.randint(1, 9))
    for one, other in itertools.combinations(values, 2):
        kind = rng.randrange(5)
        for a, b in itertools.product(one, other):
            if kind == 0 and rng.random() < 0.2:
                hard.append([-a, -b])
            elif kind == 1 and rng.random() < 0.5:
                costs([-a, -b], rng.randint(1, 9))
        if kind == 2:  # what a value needs of another thing
            costs([-one[0], *other[1:]], rng.randint(1, 9))
            costs([one[1], -other[0]], rng.randint(1, 9))
        if kind == 3:  # one variable for all of them
            n += 1
            hard += [[-a, -b, n] for a, b in itertools.product(one, other) if rng.random() < 0.5]
            costs([-n], rng.randint(1, 9))
        if kind == 4:
            n += 1
            costs([n, -one[0]], rng.randint(1, 9))
            costs([-n, -other[0]], rng.randint(1, 9))
    return Formula.from_clauses(soft, weights, hard=hard, num_variables=n)


def annealing_of(formula, seed=1, stream=0, initial=None):
    return native.core.maxsat.Annealing(formula, seed, stream, initial)


def told(search):
    hard, high, low = search.best_cost
    return hard, (high << 64) + low


def is_found(formula):
    search = annealing_of(formula)
    search.run(1, 0, 0, STOP)
    return search.best_cost[0] < 2**64 - 1


@each_seed(range(40))
def test_the_optimum_is_found_and_costs_what_it_says(seed):
    formula = problem(seed)
    result = solve(formula, method="exact", seed=1, threads=1, device="cpu")
    search = annealing_of(formula, seed)
    search.run(20_000, 0, 0, STOP)
    assert told(search) == formula.evaluate(search.best())[:2]
    if result.status == "OPTIMUM FOUND":
        assert told(search) == (0, result.cost)
    else:
        assert told(search)[0] > 0


def test_the_same_seed_takes_the_same_steps():
    formula = problem(7, count=12, size=5)
    searches = [annealing_of(formula, seed) for seed in (1, 1, 2)]
    for search in searches:
        search.run(3000, 0, 0, STOP)
    first, again, other = ((told(x), x.best().tolist(), x.run(1, 0, 0, STOP)) for x in searches)
    assert first == again
    assert first[1] != other[1]


def test_it_ends_at_its_target_and_where_it_is_stopped():
    formula = problem(3, count=12, size=5)
    search = annealing_of(formula)
    search.run(20_000, 0, 0, STOP)
    cost = told(search)[1]
    assert search.run(1000, 0, cost, STOP) == 0
    assert search.run(1000, 0, 0, np.ones(1, dtype=np.uint8)) == 0


@pytest.mark.parametrize("seed", range(10))
def test_an_assignment_is_gone_on_from(seed):
    formula = problem(seed, count=12, size=4)
    good = annealing_of(formula, 1)
    good.run(20_000, 0, 0, STOP)
    begun, adopting = annealing_of(formula, 2, 0, good.best()), annealing_of(formula, 2)
    adopting.adopt(good.best(), STOP)
    assert told(begun) <= told(good)
    assert told(adopting) <= told(good)


def test_values_that_nothing_else_asks_for_need_not_exclude_one_another():
    """Several that hold cost no less than one of them."""
    clashes = [([-a, -b - 3], 1 + a + b) for a, b in itertools.product((1, 2, 3), (1, 2, 3))]
    soft, weights = zip(*clashes, ([-1], 2), ([-6], 5), strict=True)
    formula = Formula.from_clauses(soft, weights, hard=[[1, 2, 3], [4, 5, 6]])
    assert is_found(formula)
    search = annealing_of(formula, 1, 0, np.ones(6, dtype=np.uint8))
    search.run(2000, 0, 0, STOP)
    assert told(search) == (0, solve(formula, method="exact", seed=1).cost)
    asked = [*soft, [2], [3]]
    assert not is_found(Formula.from_clauses(asked, [*weights, 7, 7], hard=[[1, 2, 3], [4, 5, 6]]))


def test_other_formulas_are_left_alone():
    rng = random.Random(1)
    values, hard = things(rng, 4, 3)
    wishes = [[v] for value in values for v in value]
    assert is_found(Formula.from_clauses(wishes, hard=hard))
    three = [-values[0][0], -values[1][0], -values[2][0]]
    assert not is_found(Formula.from_clauses([*wishes, three], hard=hard))
    assert not is_found(Formula.from_clauses([*wishes, *([[v] for v in range(13, 40)])], hard=hard))
    assert not is_found(Formula.from_clauses([[1, 2], [-1, 3], [2, -3]]))
    heavy = [2**52] * len(wishes)
    assert not is_found(Formula.from_clauses(wishes, heavy, hard=hard))


def test_a_variable_that_relaxes_clauses_of_several_pairs_is_no_cost_of_each():
    """It costs once where two of them are violated."""
    values, hard = things(random.Random(2), 3, 3)
    a, b, c = (value[0] for value in values)
    wishes, weights = [[a], [b], [c], [-10]], [9, 9, 9, 4]
    apart = [[-a, -b, 10], [-b, -c, 10]]
    assert is_found(Formula.from_clauses(wishes, weights, hard=[*hard, apart[0]]))
    formula = Formula.from_clauses(wishes, weights, hard=[*hard, *apart])
    assert not is_found(formula)
    assert solve(formula, seed=1).cost == 4


def test_a_frequency_assignment_is_searched_by_values():
    """Cheapest distances of pairs of things: all of the walker together finds what the exact search does."""
    rng = random.Random(5)
    values, hard = things(rng, 6, 6)
    clashes = {}
    for one, other in itertools.combinations(values, 2):
        far, weight = rng.randint(1, 3), rng.choice((1, 10, 100))
        for (i, a), (j, b) in itertools.product(enumerate(one), enumerate(other)):
            if abs(i - j) < far:
                clashes[a, b] = weight
    formula = Formula.from_clauses(
        [[-a, -b] for a, b in clashes], list(clashes.values()), hard=hard
    )
    best = solve(formula, method="exact", seed=1, threads=1).cost
    found = solve(formula, method="weighting", seed=1, threads=1, max_flips=200_000)
    assert found.cost == best
