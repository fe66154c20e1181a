"""Variables that only hard clauses of two literals have: what goes, and what comes back."""

import itertools
import random

import numpy as np

from hardscape.maxsat import Formula, solve
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_oracle import presolved
from helpers.seeds import each_seed


def linked(seed):
    """Random clauses, some of whose variables are in hard clauses of two literals alone."""
    rng = random.Random(seed)
    n = rng.randint(3, 9)
    order = rng.sample(range(1, n + 1), n)
    links = order[: rng.randint(1, n - 1)]
    others = order[len(links) :]

    def signed(variables):
        return [v if rng.randrange(2) else -v for v in variables]

    hard, soft = [], []
    for _ in range(rng.randint(1, 3 * n)):
        link = rng.choice(links)
        hard.append(signed([link, rng.choice([v for v in order if v != link])]))
    for clauses, shortest in ((hard, min(2, len(others))), (soft, 1)):
        for _ in range(rng.randint(1, n)):
            longest = min(3, len(others))
            clauses.append(signed(rng.sample(others, rng.randint(shortest, longest))))
    weights = [rng.randint(1, 9) for _ in soft]
    return Formula.from_clauses(soft, weights, hard=hard, num_variables=n)


@each_seed(range(60))
def test_what_is_left_costs_the_same(seed):
    presolved(linked(seed))


def ladder(size, first=1):
    """At most one of so many variables, by a ladder of as many more behind them; and the pairs."""
    x = range(first, first + size)
    s = range(first + size, first + 2 * size)
    steps = [[-a, b] for a, b in zip(x, s, strict=True)]
    steps += [[-a, b] for a, b in itertools.pairwise(s)]
    steps += [[-a, -b] for a, b in zip(s, x[1:], strict=False)]
    return steps, [[-a, -b] for a, b in itertools.combinations(x, 2)]


def threes(size):
    """Clauses of three with as many more variables: without any, nearly all would be the ladder's."""
    first = 2 * size + 1
    return [[v + 1, first + v, -(first + (v + 1) % size)] for v in range(size)]


def hard_of(formula):
    """Hard ones, in order."""
    ends = formula.offsets.tolist()
    literals = formula.literals.tolist()
    return sorted(
        sorted(literals[a:b])
        for a, b, hard in zip(ends, ends[1:], formula.hard, strict=False)
        if hard
    )


def test_a_ladder_becomes_its_pairs():
    steps, pairs = ladder(8)
    wishes = [[v] for v in range(1, 9)]
    found = presolve(Formula.from_clauses(wishes, range(1, 9), hard=steps + threes(8)))
    assert found.original.tolist() == [*range(1, 9), *range(17, 25)]
    as_left = [[x - (x > 8) * 8 + (x < -8) * 8 for x in clause] for clause in threes(8)]
    assert hard_of(found.formula) == sorted(map(sorted, pairs + as_left))
    one = np.eye(16, dtype=np.uint8)
    lifted = found.lift(one)
    assert lifted.shape == (16, 24)
    assert all(hold(steps, x) for x in lifted)


def hold(steps, values):
    """Whether clauses do."""
    return all(any(values[abs(x) - 1] == (x > 0) for x in clause) for clause in steps)


def copies(clauses, variables, wished, count):
    """So many copies of hard clauses, and of wishes for the first variables."""
    each = np.array([x for clause in clauses for x in clause], dtype=np.int32)
    shift = np.arange(count, dtype=np.int32)[:, None] * variables
    hard = (np.sign(each) * (np.abs(each) + shift)).ravel()
    soft = (np.arange(1, wished + 1, dtype=np.int32) + shift).ravel()
    lengths = np.concatenate([np.tile(list(map(len, clauses)), count), np.ones(len(soft), int)])
    is_hard = np.arange(len(lengths)) < len(clauses) * count
    return Formula(
        variables * count,
        np.concatenate([hard, soft]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        (~is_hard).astype(np.int64),
        is_hard,
    )


def test_nothing_goes_where_the_formula_would_grow_by_too_much():
    steps, pairs = ladder(50)
    few, many = (presolve(copies(steps + threes(50), 150, 50, k)) for k in (600, 1000))
    assert (len(few.links[0]), few.formula.num_hard) == (600 * 49, 600 * (len(pairs) + 50))
    assert many.links is None
    assert many.formula.num_variables == 1000 * 149  # the last of a ladder is true at no cost


def test_nothing_goes_where_nearly_all_is_counters():
    steps, _ = ladder(8)
    assert presolve(copies(steps, 16, 8, 3)).links is None
    assert presolve(copies(steps + threes(8), 24, 8, 3)).links is not None


def test_what_has_many_resolvents_stays():
    steps, _ = ladder(60)
    found = presolve(copies(steps + threes(60), 180, 60, 1))
    assert 0 < len(found.links[0]) < 59
    rng = np.random.default_rng(1)
    for x in rng.integers(0, 2, (50, found.formula.num_variables), dtype=np.uint8):
        assert hold(steps, found.lift(x)) >= (found.formula.evaluate(x)[0] == 0)


def test_a_search_over_ladders_is_proven_as_over_pairs():
    rng = random.Random(3)
    hard, plain, wishes, weights = [], [], [], []
    for group in range(6):
        steps, pairs = ladder(9, first=1 + 18 * group)
        hard += steps
        plain += pairs
        wishes += [[v] for v in range(1 + 18 * group, 10 + 18 * group)]
    apart = [
        [-(1 + 18 * a + rng.randrange(9)), -(1 + 18 * b + rng.randrange(9))]
        for a, b in itertools.combinations(range(6), 2)
        for _ in range(9)
    ]
    weights = [rng.randint(1, 50) for _ in wishes]
    wide = [[1 + 18 * a + k for k in range(9)] for a in range(6)]  # one of each group
    told = [
        solve(Formula.from_clauses(wishes, weights, hard=rows + apart + wide), seed=1, threads=1)
        for rows in (hard, plain)
    ]
    assert [x.status for x in told] == ["OPTIMUM FOUND"] * 2
    assert told[0].cost == told[1].cost
