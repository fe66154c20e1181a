"""Large formulas: cores of unit propagation first, and beside the others where few wishes hit them all."""

import itertools

import numpy as np
import pytest

from hardscape.benchmarks.maxsat.formulas import diagnosis, planted
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.walkers import schedule
from hardscape.maxsat.methods.walkers.local import Walker
from hardscape.maxsat.methods.walkers.standing import Standing
from hardscape.maxsat.methods.weighting.searches import Diagnosing
from helpers import maxsat_oracle as oracle
from helpers.seeds import each_seed

pytest.importorskip("pysat", reason="python-sat is not installed")


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Every formula counts as one whose soft clauses are too many to be exchanged, and as no circuit.

    And as one that clause weighting does not come close to satisfying.
    """
    monkeypatch.setattr(schedule, "_MOST_SWAPPED", 0)
    monkeypatch.setattr(schedule, "FEW", -1)
    monkeypatch.setattr(Diagnosing, "given_up", True)


@pytest.fixture
def searches(monkeypatch):
    """Who has searched, in order."""
    seen = []
    advance = Walker._advance

    def noted(self, search, end):
        seen.append(type(search).__name__)
        return advance(self, search, end)

    monkeypatch.setattr(Walker, "_advance", noted)
    return seen


def searched(formula, flips, seed=1):
    return solve(formula, method="weighting", max_flips=flips, seed=seed, threads=1, device="cpu")


def gates(seed, inputs=8, count=80, faults=3, tests=6):
    n, soft, weights, hard = diagnosis(inputs, count, faults, tests, seed)
    return Formula.from_clauses(soft, weights, hard=hard, num_variables=n)


@pytest.mark.parametrize("seed", range(6))
def test_broken_gates_are_found_and_proven(seed):
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    _, soft, weights, hard = diagnosis(8, 80, 3, 6, seed)
    wcnf = WCNF()
    wcnf.extend(hard)
    wcnf.extend(soft, weights)
    with RC2(wcnf) as peer:
        peer.compute()
        least = peer.cost
    result = searched(gates(seed), 100_000)
    assert (result.status, result.cost, result.lower_bound) == ("OPTIMUM FOUND", least, least)


def test_cores_are_sought_first_and_not_above_a_size(searches, monkeypatch):
    searched(gates(1), 30_000)
    assert {"Weighing", "Hitting"} <= set(searches)
    searches.clear()
    monkeypatch.setattr(schedule, "_MOST_LITERALS", 0)
    assert searched(gates(1), 3000).status != "OPTIMUM FOUND"
    assert "Hitting" not in searches


def rows(seed, n=9):
    """Random hard clauses and weighted units, or now and then longer soft ones."""
    rng = np.random.default_rng(seed)

    def clause(size):
        return ((rng.choice(n, size, replace=False) + 1) * rng.choice([-1, 1], size)).tolist()

    hard = [clause(int(rng.integers(2, 4))) for _ in range(int(rng.integers(8, 25)))]
    soft = [clause(1 + int(rng.random() < 0.2)) for _ in range(14)]
    return soft, rng.integers(1, 9, len(soft)).tolist(), hard


@each_seed(range(60))
def test_costs_are_right_and_no_bound_lies_above_the_least(seed):
    soft, weights, hard = rows(seed)
    formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=9)
    least = oracle.optimum(9, soft, weights, hard)
    result = searched(formula, 30_000, seed)
    if least is None:
        assert result.cost is None
        return
    assert result.lower_bound <= least <= result.cost
    assert result.cost == oracle.cost(soft, weights, result.assignment)
    again = searched(formula, 30_000, seed)
    assert (again.assignment == result.assignment).all()


def test_where_many_wishes_are_lost_others_go_on(searches):
    rng = np.random.default_rng(3)
    n = 60
    threes = (rng.choice(n, 3, replace=False) + 1 for _ in range(250))
    hard = [[-int(a), -int(b), int(c) if c % 2 else -int(c)] for a, b, c in threes]
    soft = [[v] for v in range(1, n + 1)]
    formula = Formula.from_clauses(soft, rng.integers(1, 9, n).tolist(), hard=hard)
    searched(formula, 400_000)
    assert {"Weighing", "Hitting"} <= set(searches)
    assert {"Weighing", "Growing"} <= set(searches)
    assert "Hitting" not in searches[-5:]


@pytest.mark.parametrize("satisfies", [False, True])
def test_wishes_are_exchanged_where_clause_weighting_finds_nothing_whoever_satisfied_the_hard_clauses(
    satisfies, searches, monkeypatch
):
    monkeypatch.setattr(Standing, "satisfies", lambda self, search: satisfies)
    n, soft, weights, hard = planted(120, 420, 60, 1)
    formula = Formula.from_clauses(soft, weights, hard=hard, num_variables=n)
    result = searched(formula, 400_000)
    assert formula.evaluate(result.assignment)[:2] == (0, result.cost)
    assert "Swapping" in searches


@pytest.mark.parametrize("swapped", [0, 200_000])
def test_a_solver_is_asked_where_clause_weighting_violates_hard_clauses(
    swapped, searches, monkeypatch
):
    monkeypatch.setattr(schedule, "_MOST_SWAPPED", swapped)
    rng, n = np.random.default_rng(1), 150
    values, hard = rng.integers(0, 2, n), []
    for _ in range(140):  # sums of three, which no flip comes nearer to
        chosen = rng.choice(n, 3, replace=False)
        odd = int(values[chosen].sum()) % 2
        for signs in itertools.product((1, -1), repeat=3):
            if (signs.count(-1) % 2) == 1 - odd:
                hard.append([int(s * (v + 1)) for s, v in zip(signs, chosen, strict=True)])
    formula = Formula.from_clauses([[v] for v in range(1, n + 1)], hard=hard, num_variables=n)
    result = searched(formula, 100_000)
    assert formula.evaluate(result.assignment)[:2] == (0, result.cost)
    first = searches.index("Swapping")
    assert "Weighing" in searches[:first]
    assert "Growing" not in searches[:first]


def test_who_asks_for_all_clauses_has_whole_turns_and_clause_weighting_in_vain_has_less(
    monkeypatch,
):
    rng, n, turns, ends = np.random.default_rng(5), 250, [], set()
    soft = [
        [int(v * rng.choice([-1, 1])) for v in rng.choice(n, size, replace=False) + 1]
        for size in [3] * 1100 + [4] * 20
    ]
    advance = Walker._advance

    def noted(self, search, end):
        if end not in ends:
            ends.add(end)
            turns.append((type(search).__name__, end - self.flips))
        return advance(self, search, end)

    monkeypatch.setattr(Walker, "_advance", noted)
    searched(Formula.from_clauses(soft), 1_000_000)
    asked = [i for i, (name, _) in enumerate(turns) if name == "Together"]
    assert asked
    for i in asked:
        after = [turn for name, turn in turns[i + 1 : i + 2] if name == "Weighing"]
        assert all(turn in (turns[i][1] >> less for less in range(4)) for turn in after)
