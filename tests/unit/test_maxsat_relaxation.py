"""Linear programs in the prover: what multipliers make of a cost is exact, whatever they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("pysat")
pytest.importorskip("rustsat")

from pysat.solvers import Solver

from hardscape.maxsat.methods.exact.prover import board as boards
from hardscape.maxsat.methods.exact.prover import cores as lower
from hardscape.maxsat.methods.exact.prover import costs as arithmetic
from hardscape.maxsat.methods.exact.prover import oracle as oracles
from hardscape.maxsat.methods.exact.prover import program, relaxation
from hardscape.maxsat.methods.exact.prover import turns as prover
from helpers.maxsat_oracle import costs_of_all, holds
from helpers.maxsat_proofs import Silent, priced
from helpers.seeds import each_seed


def extended(costs, bits):
    """With what relaxes a clause: true where that does not hold."""
    values = list(bits)
    for v in range(len(bits) + 1, costs.top + 1):
        values.append(int(not holds(costs._relaxed[-v], bits)))
    return values


@each_seed(range(60))
def test_any_multipliers_leave_the_cost_as_it_was(seed):
    rng = np.random.default_rng(seed)
    formula = priced(seed)
    costs = arithmetic.Costs.of(formula, Silent())
    found = relaxation.Relaxation(costs, {})
    most = max(formula["weights"])
    found.multipliers = [int(rng.integers(0, most, endpoint=True)) * 3 for _ in found.rows]
    least, weight = found.reduced()
    for bits, cost in costs_of_all(formula).items():
        true = extended(costs, bits)
        slacks = [
            sum(true[abs(x) - 1] == (x > 0) for x in row.literals) - row.least for row in found.rows
        ]
        assert min(slacks, default=0) >= 0
        wishes = sum(w for wish, w in weight.items() if true[abs(wish) - 1] != (wish > 0))
        paid = sum(q * s for q, s in zip(found.multipliers, slacks, strict=True))
        assert found.scale * cost == least + wishes + paid


@each_seed(range(80))
def test_cliques_hold_every_pair_and_no_other(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    clauses = [
        [-a, -b] for a, b in itertools.combinations(range(1, n + 1), 2) if rng.random() < 0.5
    ]
    rows = relaxation.rows_of(clauses, (), {})
    pairs = {frozenset(pair) for row in rows for pair in itertools.combinations(row.literals, 2)}
    assert pairs == {frozenset(clause) for clause in clauses}
    assert all(row.least == len(row.literals) - 1 for row in rows)


@pytest.mark.parametrize("check", [False, True])
@each_seed(range(80))
def test_optima_and_bounds_with_a_linear_program(seed, check, monkeypatch):
    pytest.importorskip("highspy")
    if seed % 2:  # rows join one by one
        monkeypatch.setattr(program, "_AT_ONCE", 0)
        monkeypatch.setattr(program, "_EACH", 0)
        monkeypatch.setattr(program, "_JOIN", 1)
    own = 0.1 if seed % 3 == 0 else 0.0  # mostly the program comes at once
    monkeypatch.setattr(prover, "_BEFORE", own)
    formula, board = priced(1000 + seed), Silent(check=check)
    every = costs_of_all(formula)
    with pytest.raises(boards.Settled):
        prover.prove(formula, board, seed % 6)
    assert board.cost == min(every.values(), default=None)
    bounds = [message["lower"] for message in board.said if "lower" in message]
    assert bounds == sorted(set(bounds))
    assert max(bounds, default=0) <= min(every.values(), default=np.inf)


@each_seed(range(60))
def test_what_nothing_better_gives_up_is_demanded(seed):
    pytest.importorskip("highspy")
    formula, board = priced(2000 + seed), Silent()
    every = costs_of_all(formula)
    if not every:
        return
    costs = arithmetic.Costs.of(formula, board)
    board.cost = sorted(every.values())[min(seed % 4, len(every) - 1)]
    try:
        lower.Cores(costs).turn(0.0)
        costs.harden()
    except boards.Settled:
        assert min(every.values()) == board.cost
    assert board.lower <= min(every.values())
    left = Solver(name="m22", bootstrap_with=costs.clauses)
    for bits, cost in every.items():
        if cost < board.cost:
            assert left.solve([v if x else -v for v, x in enumerate(bits, 1)])


@each_seed(range(60))
def test_a_program_after_some_cores(seed, monkeypatch):
    pytest.importorskip("highspy")
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(oracles.Oracle, "late", lambda self: rng.random() < 0.3)
    formula, board = priced(4000 + seed), Silent()
    every = costs_of_all(formula)
    costs = arithmetic.Costs.of(formula, board)
    cores = lower.Cores(costs)
    monkeypatch.setattr(relaxation, "_SECONDS", -1.0)  # at first it takes too long

    def search():
        prover.begin(costs)
        while True:
            cores.turn(np.inf)
            if rng.random() < 0.3:
                costs.simplify()
            if rng.random() < 0.5:
                cores.relax(np.inf)

    with pytest.raises(boards.Settled):
        search()
    assert board.cost == min(every.values(), default=None)
    bounds = [message["lower"] for message in board.said if "lower" in message]
    assert max(bounds, default=0) <= min(every.values(), default=np.inf)


def ring():
    """Half of each of seven covers it, for 7; whole ones cost 8."""
    pairs = [[v, v % 7 + 1] for v in range(1, 8)]
    return {
        "variables": 7,
        "clauses": [[-v] for v in range(1, 8)] + pairs,
        "weights": [2] * 7 + [1] * 7,
        "hard": [0] * 7 + [1] * 7,
    }


def test_a_cover_is_proven_by_its_program_alone():
    pytest.importorskip("highspy")
    board = Silent()
    board.cost, board.model = 8, [1, -2, 3, -4, 5, -6, 7]
    costs = arithmetic.Costs.of(ring(), board)
    lower.Cores(costs).turn(0.0)
    assert board.lower == 7
    assert costs.paid == 7 * costs.scale


def test_no_program_lowers_what_cores_have(monkeypatch):
    pytest.importorskip("highspy")
    board = Silent()
    cores = lower.Cores(arithmetic.Costs.of(ring(), board))
    with pytest.raises(boards.Settled):
        cores.turn(np.inf)
    assert board.cost == 8
    monkeypatch.setattr(lower.Cores, "_go", lambda self: self._costs.raised(2))
    costs = arithmetic.Costs.of(ring(), Silent())
    lower.Cores(costs).turn(0.0)
    assert (costs.paid, costs.scale) == (8, 1)  # cliques pay for six of them


def test_a_program_that_takes_too_long_changes_nothing(monkeypatch):
    pytest.importorskip("highspy")
    rng = np.random.default_rng(1)
    clauses = [(rng.choice(300, 6, replace=False) + 1).tolist() for _ in range(400)]
    formula = {
        "variables": 300,
        "clauses": [[-v] for v in range(1, 301)] + clauses,
        "weights": [1] * 700,
        "hard": [0] * 300 + [1] * 400,
    }
    costs = arithmetic.Costs.of(formula, Silent())
    before = dict(costs.weight)
    monkeypatch.setattr(Silent, "over", lambda self: True)
    assert relaxation.relaxed(costs, {}, np.inf) is None
    monkeypatch.undo()
    assert relaxation.relaxed(costs, {}, -1.0) is None
    assert (costs.weight, costs.scale, costs.paid) == (before, 1, 0)


def test_where_little_has_a_price_no_program_comes_first():
    rng = np.random.default_rng(2)
    clauses = [(rng.choice(897, 6, replace=False) + 1).tolist() for _ in range(4000)]
    seconds = []
    for prices, variables in ((10, 900), (299, 900), (299, 897), (900, 900)):
        formula = {
            "variables": variables,
            "clauses": [[-v] for v in range(1, prices + 1)] + clauses,
            "weights": [1] * (prices + 4000),
            "hard": [0] * prices + [1] * 4000,
        }
        costs = arithmetic.Costs.of(formula, Silent())
        seconds.append(relaxation.first_seconds(costs, sum(map(len, costs.clauses))))
    assert seconds[:2] == [np.inf, 0.0]
    assert min(seconds[2:]) > 0.05


def test_without_a_solver_of_programs_nothing_changes(monkeypatch):
    monkeypatch.setattr(relaxation, "installed", lambda: False)
    for seed in range(3000, 3020):
        formula, board = priced(seed), Silent()
        with pytest.raises(boards.Settled):
            prover.prove(formula, board)
        assert board.cost == min(costs_of_all(formula).values(), default=None)
