"""The cheapest assignments: all of them, in order, each once."""

import os
import random
import signal
import threading
from itertools import product

import numpy as np
import pytest

from hardscape.errors import InputError, Interrupted
from hardscape.maxsat import Formula, enumerate
from hardscape.maxsat.methods.listing.listing import Listing
from helpers import maxsat_oracle as oracle
from helpers.maxsat_clauses import random_clauses


def drawn(rng, n):
    """Clauses with repeated ones, tautologies and empty ones among them."""
    clauses = [
        [rng.choice([1, -1]) * rng.randint(1, n) for _ in range(rng.randint(0, 3))]
        for _ in range(rng.randint(0, 8))
    ]
    hard = [
        [rng.choice([1, -1]) * rng.randint(1, n) for _ in range(rng.randint(1, 3))]
        for _ in range(rng.randint(0, 5))
    ]
    return clauses, [rng.randint(1, 4) for _ in clauses], hard


def feasible(n, clauses, weights, hard):
    """Every assignment that satisfies the hard clauses, from the cheapest on."""
    found = [
        (oracle.cost(clauses, weights, x), x)
        for x in product((0, 1), repeat=n)
        if not oracle.violations(hard, x)
    ]
    return sorted(found)


def rows(found):
    return list(zip(found.costs, map(tuple, found.assignment.tolist()), strict=True))


def test_everything_is_listed_in_order():
    rng = random.Random(6)
    none = 0
    for k in range(16):
        n = rng.randint(1, 5)
        lists = drawn(rng, n)
        formula = Formula.from_clauses(lists[0], lists[1], hard=lists[2], num_variables=n)
        every = feasible(n, *lists)
        if k % 3 == 0:
            found = enumerate(formula, 100)
            assert rows(found) == every
            assert found.complete_below is None
            assert found.ties_complete
        elif k % 3 == 1:
            count = rng.randint(1, 6)
            found = enumerate(formula, count)
            assert found.costs == tuple(cost for cost, _ in every[:count])
            assert set(rows(found)) <= set(every)
            below = found.complete_below
            assert {x for x in every if below is None or x[0] < below} <= set(rows(found))
            last = every[len(found.costs) - 1][0] if every else 0
            ties = sum(cost == last for cost, _ in every)
            assert found.ties_complete == (found.costs.count(last) == ties) or not every
        else:
            gap = rng.randint(0, 3)
            found = enumerate(formula, 100, max_gap=gap)
            assert rows(found) == [x for x in every if x[0] <= every[0][0] + gap]
            assert found.ties_complete
        none += not every
    assert 0 < none < 8


def test_no_variables_have_one_assignment():
    found = enumerate(Formula.from_clauses([[], []], [3, 1]), 5)
    assert (found.costs, found.assignment.shape, found.complete_below) == ((4,), (1, 0), None)
    assert enumerate(Formula.from_clauses([], hard=[[]])).costs == ()


def test_variables_that_tell_assignments_apart():
    formula = Formula.from_clauses([[1], [2], [3]], [1, 2, 4], hard=[[-1, -2, -3]])
    found = enumerate(formula, distinct=[1, 3])
    assert found.costs == (1, 2, 4, 5)
    assert found.assignment[:, [0, 2]].tolist() == [[0, 1], [1, 1], [1, 0], [0, 0]]
    assert enumerate(formula, distinct=[]).costs == (1,)


def test_weights_beyond_64_bits_in_sum():
    big = 2**63 - 1
    formula = Formula.from_clauses([[1], [-1, 2], [-2], []], [big, big, big - 1, big])
    assert enumerate(formula).costs == (2 * big - 1, 2 * big, 2 * big, 3 * big - 1)


@pytest.mark.parametrize("seed", [8, 13, 37])  # the last one contradicts itself
def test_what_is_named_where_solve_proves_the_least_cost(seed):
    pytest.importorskip("rustsat", reason="rustsat is not installed")
    rng = random.Random(seed)
    lists = drawn(rng, 5)
    every = feasible(5, *lists)
    formula = Formula.from_clauses(lists[0], lists[1], hard=lists[2], num_variables=5)
    with Listing(formula, 100, 0, (1, 2, 3, 4, 5))._lister("proven.py", 100) as lister:
        while not lister.gone:
            lister.hear()
    named = {tuple(row.tolist()) for row in lister.found}
    assert len(named) == len(lister.found)
    assert named == {x for cost, x in every if cost == every[0][0]}
    assert lister.enough == bool(every)
    assert lister.ended == (not every)


def test_one_list_of_two_that_are_made(monkeypatch):
    """Where RC2 is silent `solve` proves the least cost."""
    monkeypatch.setattr("hardscape.maxsat.methods.listing.listing._SILENCE", 0.0)
    lists = drawn(random.Random(8), 5)
    formula = Formula.from_clauses(lists[0], lists[1], hard=lists[2], num_variables=5)
    assert rows(enumerate(formula, 100)) == feasible(5, *lists) != []


def test_limits():
    formula = Formula.from_clauses(random_clauses(60, 600, [3], 1), np.arange(600) % 7 + 1)
    found = enumerate(formula, time_limit=0.5)
    assert (found.stopped, found.costs, found.complete_below) == ("time_limit", (), 0)
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(Interrupted) as stop:
        enumerate(formula)
    assert stop.value.result.stopped == "SIGINT"


def test_refusals():
    formula = Formula.from_clauses([[1]])
    for arguments in (
        {"num_assignments": 0},
        {"max_gap": -1},
        {"distinct": [2]},
        {"shards": "1/2"},
    ):
        with pytest.raises(InputError):
            enumerate(formula, **arguments)
