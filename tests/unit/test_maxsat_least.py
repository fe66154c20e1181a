"""What everything costs at least, told before any search."""

from __future__ import annotations

import itertools
import random

import pytest

from hardscape import native
from hardscape.maxsat import Formula, solve
from helpers import maxsat_oracle as oracle


def least(formula: Formula) -> int:
    high, low = native.core.maxsat.least(formula)
    return (high << 64) + low


def drawn(rng: random.Random) -> tuple[int, list[list[int]], list[int], list[list[int]]]:
    """Wishes, pairs that exclude one another, and longer clauses, also with repetitions and tautologies."""
    n = rng.randrange(1, 9)

    def clause(size: int) -> list[int]:
        return [rng.randint(1, n) * rng.choice((1, -1)) for _ in range(size)]

    against = rng.choice((1, -1))
    top = rng.choice((1, 9, 2**62, 2**63 - 1))
    wishes = [[against * v] for v in range(1, n + 1)] + [clause(1) for _ in range(rng.randrange(3))]
    soft = wishes + [clause(rng.randrange(0, 4)) for _ in range(rng.randrange(4))]
    pairs = [[-against * a, -against * b] for a, b in itertools.combinations(range(1, n + 1), 2)]
    hard = rng.sample(pairs, rng.randint(0, len(pairs)))
    hard += [clause(rng.randrange(1, 5)) for _ in range(rng.randrange(4))]
    return n, soft, [rng.randint(1, top) for _ in soft], hard


@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_satisfies_the_hard_clauses_costs_less(seed: int) -> None:
    rng = random.Random(seed)
    told = 0
    for _ in range(250):
        n, soft, weights, hard = drawn(rng)
        optimum = oracle.optimum(n, soft, weights, hard)
        found = least(Formula.from_clauses(soft, weights, hard=hard, num_variables=n))
        assert optimum is None or found <= optimum
        told += optimum is not None and 0 < found == optimum
    assert told > 50


def test_things_with_one_value_each() -> None:
    """Of 4 cliques of 5 wishes each all but one are violated; one more in each weighs more."""
    groups = [range(5 * i + 1, 5 * i + 6) for i in range(4)]
    hard = [[-a, -b] for group in groups for a, b in itertools.combinations(group, 2)]
    soft = [[v] for group in groups for v in group]
    assert least(Formula.from_clauses(soft, hard=hard)) == 16
    weights = [v % 5 + 1 for group in groups for v in group]
    assert least(Formula.from_clauses(soft, weights, hard=hard)) == 4 * (1 + 2 + 3 + 4)


def test_it_is_told_at_once_but_for_what_is_checked() -> None:
    n = 40
    formula = Formula.from_clauses(
        [[-v] for v in range(1, n + 1)],
        hard=[[a, b, c] for a, b, c in zip(range(1, n), range(2, n), range(3, n + 1), strict=False)]
        + [[v, (7 * v) % n + 1, (11 * v) % n + 1] for v in range(1, n)],
    )
    told: list[int] = []
    found = solve(formula, method="weighting", seed=1, max_flips=1, on_bound=told.append)
    assert found.lower_bound == told[-1] > 8
    assert found.bounds[-1][1] == told[-1]
