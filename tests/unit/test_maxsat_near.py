"""Proofs without a process of their own."""

from __future__ import annotations

import time

import numpy as np
import pytest

from hardscape import maxsat
from hardscape.engine import Context, Cpu
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.exact import exact, near, proof
from helpers.seeds import each_seed

pytest.importorskip("pysat")
pytest.importorskip("rustsat")


def formula_of(seed, hard_share):
    rng = np.random.default_rng(seed)
    clauses = [(rng.choice(14, 2, replace=False) + 1) * rng.choice([-1, 1], 2) for _ in range(60)]
    lists = [[int(x) for x in clause] for clause in clauses]
    count = int(60 * hard_share)
    weights = rng.integers(1, 9, 60 - count).tolist()
    return maxsat.Formula.from_clauses(lists[count:], weights, hard=lists[:count])


def known(formula, assignment):
    incumbent = Incumbent(formula, None, time.monotonic())
    presolved = maxsat.presolve.presolve(formula)
    incumbent.aim(presolved, None)
    incumbent.offer(assignment)
    return presolved, incumbent


@each_seed(range(30))
def test_what_is_proven_at_once_is_least(seed):
    formula = formula_of(seed, 0.3)
    n = formula.num_variables
    every = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
    solutions = every[formula.hard_violations(every) == 0]
    if len(solutions) == 0:
        return
    presolved, incumbent = known(formula, solutions[0])
    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
    how = presolved.formula, presolved.constant, incumbent
    assert near.proven_at_once(*how, context)
    assert incumbent.best.cost == formula.cost(incumbent.best.assignment)
    assert incumbent.best.cost == formula.cost(solutions).min()
    assert incumbent.lower <= incumbent.best.cost


def test_it_begins_nothing_without_an_assignment_of_a_long_formula_or_once_stopped(monkeypatch):
    formula = formula_of(1, 0.0)
    presolved, incumbent = known(formula, np.zeros(14, dtype=np.uint8))
    how = presolved.formula, presolved.constant, incumbent
    stopped = Context(Cpu(), None, np.ones(1, dtype=np.uint8))
    assert not near.proven_at_once(*how, stopped)
    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
    monkeypatch.setattr(near, "_BRIEF", 10)
    assert not near.proven_at_once(*how, context)
    monkeypatch.undo()
    assert not near.proven_at_once(*how[:2], Incumbent(formula, None, 0.0), context)
    assert incumbent.lower == presolved.constant
    assert near.proven_at_once(*how, context)


def test_short_proofs_start_no_process(monkeypatch):
    def started(*_, **__):
        raise AssertionError("a process")

    monkeypatch.setattr(proof, "started", started)
    for seed in range(10):
        formula = formula_of(seed, 0.0)
        result = maxsat.solve(formula, method="exact", threads=1, device="cpu", seed=1)
        assert result.status == "OPTIMUM FOUND"


class Turns:
    """Cores that close the gap of a board as they are told."""

    def __init__(self, gaps):
        self.gap, *self.left = gaps
        self.taken = 0

    def turn(self, until):
        self.taken += 1
        self.gap = self.left.pop(0)


@pytest.mark.parametrize(
    ("gaps", "taken"),
    [
        ([100, 90, 80], 1),  # too slow
        ([100, 50, 25, 24, 23], 3),  # slow at last
        ([1000, 2, 2, 2, 2, 2], 5),  # near one another
    ],
)
def test_the_attempt_goes_on_as_long_as_the_bounds_come_together(gaps, taken):
    turns = Turns(gaps)
    near._hasten(turns, turns)
    assert turns.taken == taken


def pigeons(count):
    """As hard clauses, so many in one hole less; each soft clause keeps one out of the first hole."""
    holes = range(count - 1)
    hard = [[p * count + h + 1 for h in holes] for p in range(count)]
    pairs = ((p, q) for p in range(count) for q in range(p))
    hard += [[-p * count - h - 1, -q * count - h - 1] for p, q in pairs for h in holes]
    return maxsat.Formula.from_clauses([[-p * count - 1] for p in range(count)], hard=hard)


@pytest.fixture
def alone(monkeypatch):
    """No process, no moment's attempt, and no tables."""

    def refuse(*args, **options):
        raise AssertionError("a process was started")

    monkeypatch.setattr(proof, "started", refuse)
    monkeypatch.setattr(proof, "proven_at_once", refuse)
    monkeypatch.setattr(exact.Tables, "of", lambda formula: None)


@each_seed(range(20))
def test_small_formulas_are_proven_in_this_process(alone, seed):
    formula = formula_of(seed, 0.3 * (seed % 3))
    n = formula.num_variables
    every = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
    solutions = every[formula.hard_violations(every) == 0]
    bounds = []
    result = maxsat.solve(
        formula, method="exact", threads=1, seed=seed, on_bound=bounds.append, time_limit=60
    )
    if len(solutions) == 0:
        assert result.status == "UNSATISFIABLE"
        return
    assert result.status == "OPTIMUM FOUND"
    assert result.cost == result.lower_bound == formula.cost(solutions).min()
    assert bounds == sorted(bounds)


def test_contradictions_and_stops_in_this_process(alone):
    result = maxsat.solve(pigeons(6), method="exact", threads=1, seed=1)
    assert result.status == "UNSATISFIABLE"
    rng = np.random.default_rng(1)
    drawn = [(rng.choice(90, 3, replace=False) + 1) * rng.choice([-1, 1], 3) for _ in range(1500)]
    hard = maxsat.Formula.from_clauses([v.tolist() for v in drawn], hard=[[1, 2], [-1, 3]])
    for limit in (0.5, 5.0, 50.0):  # a busy machine needs longer for its first bound
        result = maxsat.solve(hard, method="exact", threads=1, seed=1, time_limit=limit)
        assert result.stopped == "time_limit"
        if result.lower_bound > 0:
            break
    assert 0 < result.lower_bound < result.cost
    assert result.flips > 0
    result = maxsat.solve(hard, method="exact", threads=1, seed=1, target=result.cost + 10)
    assert result.status == "SATISFIABLE"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_not_over_soon_goes_on_in_a_process(monkeypatch, seed):
    calls = []
    begin = proof.started
    monkeypatch.setattr(proof, "started", lambda *a, **k: calls.append(1) or begin(*a, **k))
    monkeypatch.setattr(exact.Tables, "of", lambda formula: None)
    monkeypatch.setattr(near, "_HERE", 0.0)
    formula = pigeons(5) if seed == 0 else formula_of(seed, 0.0)
    result = maxsat.solve(formula, method="exact", threads=1, seed=seed, time_limit=60)
    assert calls == [1] or seed == 0  # whose walk refutes the hard clauses, sooner or later
    assert result.flips > 0
    if seed == 0:
        assert result.status == "UNSATISFIABLE"
        return
    every = (np.arange(2**14)[:, None] >> np.arange(14) & 1).astype(np.uint8)
    assert result.status == "OPTIMUM FOUND"
    assert result.cost == result.lower_bound == formula.cost(every).min()


def test_proofs_begin_here_where_a_formula_is_small_or_the_limit_long(monkeypatch):
    formula = formula_of(1, 0.3)
    assert near.begins_here(formula, 0.5)
    monkeypatch.setattr(near, "SMALL", 10)
    assert not near.begins_here(formula, 2.0)
    assert near.begins_here(formula, 2.1)
    monkeypatch.setattr(near, "programs_first", lambda formula: True)
    assert not near.begins_here(formula, 2.1)


@pytest.mark.parametrize("seed", range(4))
def test_the_first_turn_on_a_longer_formula_proves_it_here(monkeypatch, seed):
    monkeypatch.setattr(near, "SMALL", 10)
    monkeypatch.setattr(exact.Tables, "of", lambda formula: None)
    monkeypatch.setattr(proof, "started", lambda *_, **__: pytest.fail("a process"))
    monkeypatch.setattr(near, "_FIRST_TURN", 60.0)  # on a busy machine
    formula = formula_of(seed, 0.0)
    result = maxsat.solve(formula, method="exact", threads=1, seed=seed, time_limit=60)
    every = (np.arange(2**14)[:, None] >> np.arange(14) & 1).astype(np.uint8)
    assert result.status == "OPTIMUM FOUND"
    assert result.cost == formula.cost(every).min()


@pytest.mark.parametrize(("pairs", "answer"), [(True, False), (False, True)])
def test_a_question_in_short_looks_has_room_for_more_and_more_clauses(pairs, answer):
    from hardscape.maxsat.methods.exact.prover.board import Board
    from hardscape.maxsat.methods.exact.prover.oracle import Oracle

    board = Board()
    board.patience = 60.0
    places = [list(range(5 * i + 1, 5 * i + 6)) for i in range(6)]
    alone = [[-a[j], -b[j]] for a in places for b in places if a < b for j in range(5)]
    oracle = Oracle(places + alone * pairs, board, "m22", most=20)
    oracle._conflicts = oracle._least = 20
    oracle.spare, oracle.until = (31, 32), 1e9
    assert oracle.ask([]) is answer
    given = len(places + alone * pairs)
    assert given < oracle._solver.nof_clauses() < 10 * given or answer
    assert answer or oracle.core() == []


def test_a_proof_here_does_not_wait_for_a_first_assignment(alone, monkeypatch):
    monkeypatch.setattr(exact, "asks_in_vain", lambda task: pytest.fail("a search may go on"))
    monkeypatch.setattr(near, "_HERE", 60.0)  # on a busy machine
    result = maxsat.solve(formula_of(1, 0.3), method="exact", threads=1, seed=1, time_limit=60)
    assert result.status == "OPTIMUM FOUND"
