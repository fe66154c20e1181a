"""Formulas of clauses of one length: which ones look drawn at random, and what is made of the others."""

import itertools
import random

import pytest

from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.weighting.searches import looks_drawn, looks_random


def drawn(n, rows, size, seed, *, signs=True, among=None):
    """Such rows of literals, each on variables of its own range of `among`."""
    rng = random.Random(seed)
    found = []
    for _ in range(rows):
        start = rng.randrange(n // among) * among if among else 0
        variables = rng.sample(range(start + 1, start + (among or n) + 1), size)
        found.append([v if not signs or rng.random() < 0.5 else -v for v in variables])
    return found


def both(rows):
    """Not all alike."""
    return [*rows, *([-x for x in row] for row in rows)]


def cliques(vertices, size):
    """Of a complete graph: the edges of each."""
    number = {e: i + 1 for i, e in enumerate(itertools.combinations(range(vertices), 2))}
    among = itertools.combinations(range(vertices), size)
    return [[number[e] for e in itertools.combinations(each, 2)] for each in among]


def parities(rows, seed):
    """The clauses of exclusive ors on the variables of each row."""
    rng = random.Random(seed)
    signs = list(itertools.product((1, -1), repeat=len(rows[0])))
    found = []
    for row in rows:
        odd = rng.randrange(2)
        kept = [s for s in signs if sum(x < 0 for x in s) % 2 == odd]
        found += [[s * abs(x) for s, x in zip(each, row, strict=True)] for each in kept]
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("n", "rows", "size"),
    [(20, 91, 3), (100, 430, 3), (2000, 8400, 3), (500, 5000, 4), (300, 6300, 5), (120, 9000, 7)],
)
def test_what_is_drawn_looks_drawn(n, rows, size, seed):
    """At all sizes, also where pairs meet often by chance, and as not-all-equal clauses."""
    found = drawn(n, rows, size, seed)
    assert looks_drawn(Formula.from_clauses(found, num_variables=n))
    halved = Formula.from_clauses(both(found[: rows // 2]), num_variables=n)
    assert looks_drawn(halved)


@pytest.mark.parametrize(
    "rows",
    [
        parities(drawn(300, 280, 3, 1), 1),
        both([[a, b, a + b] for a in range(1, 60) for b in range(a + 1, 120 - a)]),
        both([[a + i * d for i in range(4)] for d in range(1, 20) for a in range(1, 61 - 3 * d)]),
        drawn(3000, 12_600, 3, 1, among=30),
        drawn(60, 40, 20, 1),
    ],
    ids=["parities", "sums", "progressions", "groups", "long"],
)
def test_what_is_made_does_not(rows):
    """Though all its clauses have one length."""
    formula = Formula.from_clauses(rows)
    assert looks_random(formula)
    assert not looks_drawn(formula)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cliques_are_weighed_early(seed):
    """Two colours of a complete graph's 190 edges: a walk alone has 31 to 38 cliques of one colour by then."""
    formula = Formula.from_clauses(both(cliques(20, 4)))
    found = solve(formula, method="weighting", max_flips=30_000, seed=seed, threads=1, device="cpu")
    assert found.cost == formula.cost(found.assignment) <= 28
