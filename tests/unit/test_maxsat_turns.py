"""Who of the searches that take turns has how much of them."""

import collections
import itertools
import random

import pytest

from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.exact import exact
from hardscape.maxsat.methods.weighting import local

pytest.importorskip("pysat", reason="python-sat is not installed")


def parities(variables, count, seed=1):
    """Hard sums modulo 2 of three variables each, with a solution, and weighted soft units."""
    rng = random.Random(seed)
    hidden = [rng.randrange(2) for _ in range(variables)]
    hard = []
    for _ in range(count):
        three = rng.sample(range(variables), 3)
        odd = sum(hidden[v] for v in three) % 2
        for signs in itertools.product((0, 1), repeat=3):
            if sum(signs) % 2 != odd:
                hard.append([-(v + 1) if x else v + 1 for v, x in zip(three, signs, strict=True)])
    soft = [[v if rng.randrange(2) else -v] for v in range(1, variables + 1)]
    return Formula.from_clauses(soft, [rng.randint(1, 100) for _ in soft], hard=hard)


@pytest.fixture
def flips(monkeypatch):
    """Flips of each kind of search."""
    spent = collections.Counter()
    advance = local.Walker._advance

    def counted(self, search, end):
        before = self.flips
        going_on = advance(self, search, end)
        spent[type(search).__name__] += self.flips - before
        return going_on

    monkeypatch.setattr(local.Walker, "_advance", counted)
    return spent


def test_a_search_that_stays_behind_has_ever_less(flips):
    found = solve(parities(120, 100, 2), method="weighting", max_flips=1_000_000, seed=1, threads=1)
    assert found.status == "SATISFIABLE"
    assert flips["Hitting"] < flips["Swapping"] / 2


def test_a_walk_that_asks_a_solver_comes_before_the_prover(flips, monkeypatch):
    began = []
    prove = exact.Exact._prove

    def noted(self, task, *rest):
        began.append((task.incumbent.best.hard_violations, flips["Swapping"] > 0))
        return prove(self, task, *rest)

    monkeypatch.setattr(exact.Exact, "_prove", noted)
    monkeypatch.setattr(exact, "_BEFORE_FEASIBLE", 60.0)
    formula = parities(1200, 900)
    found = solve(formula, seed=1, threads=1, time_limit=20, target=10**6)
    assert found.status == "SATISFIABLE"
    assert not began
    assert flips["Swapping"] > 0
