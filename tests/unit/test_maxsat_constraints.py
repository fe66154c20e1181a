"""Linear constraints as clauses: every assignment that obeys can be completed, and no other one can."""

import random
from itertools import product

import pytest
from pysat.solvers import Solver

from hardscape.errors import InputError
from hardscape.maxsat.modelling.constraints import Clauses


def obeyed(clauses, n):
    """The assignments of the first variables that the hard clauses allow."""
    with Solver(name="g4", bootstrap_with=clauses.hard) as solver:
        return {
            x
            for x in product((0, 1), repeat=n)
            if all(clauses.hard)
            and solver.solve(assumptions=[v if b else -v for v, b in enumerate(x, 1)])
        }


def holds(literal, x):
    return x[abs(literal) - 1] == (literal > 0)


def value(terms, x):
    return sum(weight * holds(literal, x) for weight, literal in terms)


def drawn(rng, n, most):
    """Terms that may name a variable more than once."""
    size = rng.randint(0, n + 1)
    return [
        (rng.randint(-most, most), rng.choice([1, -1]) * rng.randint(1, n)) for _ in range(size)
    ]


@pytest.mark.parametrize("most", [1, 3, 30])
def test_linear_constraints(most):
    rng = random.Random(most)
    kinds = set()
    for _ in range(150):
        n = rng.randint(1, 7)
        terms = drawn(rng, n, most)
        bound = rng.randint(-2 * most, 3 * most)
        unless = [rng.choice([1, -1]) * rng.randint(1, n) for _ in range(rng.randint(0, 2))]
        clauses = Clauses(n)
        clauses.at_least(terms, bound, unless)
        wanted = {
            x
            for x in product((0, 1), repeat=n)
            if value(terms, x) >= bound or any(holds(literal, x) for literal in unless)
        }
        assert obeyed(clauses, n) == wanted, (terms, bound, unless)
        kinds.add((clauses.num_variables > n, bool(wanted), len(wanted) < 2**n))
    assert len(kinds) >= 4


@pytest.mark.parametrize("n", [3, 6, 7, 11])
def test_cardinalities(n):
    literals = [v if v % 3 else -v for v in range(1, n + 1)]
    for bound in range(-1, n + 1):
        clauses = Clauses(n)
        clauses.at_most(literals, bound)
        wanted = {
            x for x in product((0, 1), repeat=n) if sum(holds(y, x) for y in literals) <= bound
        }
        assert obeyed(clauses, n) == wanted


@pytest.mark.parametrize("most", [50, 5000])
def test_large_sums(most):
    """Beyond totalizers."""
    rng = random.Random(most)
    terms = [(rng.randint(1, most), v) for v in range(1, 13)]
    clauses = Clauses(12)
    clauses.at_least(terms, 3 * most)
    assert obeyed(clauses, 12) == {
        x for x in product((0, 1), repeat=12) if value(terms, x) >= 3 * most
    }


@pytest.mark.parametrize("n", range(7))
def test_parities(n):
    clauses = Clauses(7)
    clauses.odd([v if v % 2 else -v for v in range(1, n + 1)], unless=[7])
    wanted = {
        x
        for x in product((0, 1), repeat=7)
        if x[6] or sum(x[v - 1] == v % 2 for v in range(1, n + 1)) % 2
    }
    assert obeyed(clauses, 7) == wanted


def test_an_objective_is_the_cost_and_an_offset():
    rng = random.Random(5)
    for _ in range(50):
        most = rng.choice([9, 2**63 - 1])
        terms, constant = drawn(rng, 5, most), rng.randint(-9, 9)
        clauses = Clauses(5)
        clauses.minimise(terms, constant)
        assert all(0 < weight < 2**63 for weight in clauses.weights)
        for x in product((0, 1), repeat=5):
            cost = sum(
                weight
                for (literal,), weight in zip(clauses.soft, clauses.weights, strict=True)
                if not holds(literal, x)
            )
            assert cost + clauses.offset == value(terms, x) + constant


def test_sums_beyond_64_bits():
    clauses = Clauses(4)
    with pytest.raises(InputError):
        clauses.at_least([(2**62 + v, v) for v in range(1, 5)], 2**63)
