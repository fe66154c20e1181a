"""Branch and bound over linear programs: what ends a branch is exact, whatever the solver proposes."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

pytest.importorskip("pysat")
pytest.importorskip("rustsat")
pytest.importorskip("highspy")

from hardscape.maxsat.methods.exact.prover import board as boards
from hardscape.maxsat.methods.exact.prover import branching as branches
from hardscape.maxsat.methods.exact.prover import costs as arithmetic
from hardscape.maxsat.methods.exact.prover import program as programs
from hardscape.maxsat.methods.exact.prover import turns
from hardscape.maxsat.methods.exact.prover.rows import cycles as odd
from helpers.maxsat_oracle import costs_of_all
from helpers.maxsat_proofs import Silent, priced
from helpers.seeds import each_seed

#: Of formulas: what few branches settle, and prices that sums in parts of a unit have room for.
FEW = {"variables": 8, "clauses": 19, "weight": 2**44}


def branched(formula, board, seconds=60.0, step=math.inf):
    """Branch until that is settled, in turns of so many seconds."""
    costs = arithmetic.Costs.of(formula, board)
    turns.begin(costs)
    branching = branches.Branching.of(costs, {})
    if branching is None:
        turns.improve(costs)
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        branching.turn(min(end, time.thread_time() + step))


@each_seed(range(150))
def test_optima_are_those_of_brute_force(seed):
    formula, board = priced(seed, **FEW), Silent()
    every = costs_of_all(formula)
    with pytest.raises(boards.Settled):
        branched(formula, board)
    best = min(every.values(), default=None)
    assert board.cost == best
    if best is None:
        return
    assert all(said.get("lower", 0) <= best for said in board.said)
    for said in board.said:
        if "model" in said:
            assert every[tuple(map(int, said["model"]))] == said["cost"]


@pytest.fixture
def joining(monkeypatch):
    """Rows join one by one."""
    monkeypatch.setattr(programs, "_AT_ONCE", 0)
    monkeypatch.setattr(programs, "_EACH", 0)
    monkeypatch.setattr(programs, "_JOIN", 1)


@each_seed(range(60))
def test_so_they_are_where_rows_join_one_by_one(seed, joining):
    formula, board = priced(seed, **FEW), Silent()
    with pytest.raises(boards.Settled):
        branched(formula, board)
    assert board.cost == min(costs_of_all(formula).values(), default=None)


@each_seed(range(20))
def test_rows_that_join_make_the_same_program(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n, many = 12, 150
    prices = rng.integers(-9, 10, n).astype(float)
    sizes = rng.integers(2, 5, many)
    literals = np.concatenate([rng.choice(n, k, replace=False) + 1 for k in sizes])
    literals *= rng.choice([-1, 1], len(literals), p=[0.7, 0.3])
    weights = rng.integers(1, 4, len(literals))
    told = prices, literals, sizes, np.ones(many, dtype=int), weights
    whole = programs.Program(*told)
    monkeypatch.setattr(programs, "_AT_ONCE", 0)
    monkeypatch.setattr(programs, "_EACH", 0)
    monkeypatch.setattr(programs, "_JOIN", 1)
    parts = programs.Program(*told)
    for program in (whole, parts):
        program.bound(np.zeros(n), (np.arange(n) != seed % n).astype(float))
    if whole.run() is False:
        assert parts.run() is False
        return
    for program in (whole, parts):
        assert program.run()
        assert (program.rows.sums(program.values) >= program.rows.bounds - 1e-6).all()
        assert len(program.duals) == many
    least = prices @ whole.values
    assert prices @ parts.values == pytest.approx(least)
    assert 0 < len(parts._told) < many
    left = prices.copy()
    given = np.sign(literals) * weights * np.repeat(parts.duals, sizes)
    np.subtract.at(left, abs(literals) - 1, given)
    free = np.arange(n) != seed % n
    assert parts.duals @ parts.rows.bounds + left[free & (left < 0)].sum() == pytest.approx(least)
    values = np.flatnonzero(free)[:1] + 1  # both of its literals must hold
    for program in (whole, parts):
        for literal in (values, -values):
            program.add(
                literal, np.ones(1, dtype=int), np.ones(1, dtype=int), np.ones(1, dtype=int)
            )
        assert program.run() is False
        assert len(program.ray) == many + 2


@each_seed(range(20))
def test_branches_go_on_where_turns_are_short(seed):
    formula, whole, parts = priced(seed, **FEW), Silent(), Silent()
    with pytest.raises(boards.Settled):
        branched(formula, whole)
    with pytest.raises(boards.Settled):
        branched(formula, parts, step=1e-4)
    assert parts.cost == whole.cost


@each_seed(range(60))
def test_no_multipliers_say_more_than_a_box_holds(seed):
    rng = np.random.default_rng(seed)
    formula, board = priced(seed, **FEW), Silent()
    every = costs_of_all(formula)
    costs = arithmetic.Costs.of(formula, board)
    branching = branches.Branching.of(costs, {})
    assert branching is not None
    n, shown = formula["variables"], branching._shown  # others are hidden behind rows
    lower = rng.integers(0, 2, len(shown)).astype(np.int8)
    upper = np.maximum(lower, rng.integers(0, 2, len(shown)).astype(np.int8))
    lower[shown >= n], upper[shown >= n] = 0, 1
    box = branches.Branch(lower, upper, 0, 0)
    held = [
        cost
        for bits, cost in every.items()
        if all(a <= bits[v] <= b for a, v, b in zip(lower, shown, upper, strict=True) if v < n)
    ]
    rows = len(branching._program.rows.norms)
    for scale in (0.0, 0.3, 1.0, 30.0, 1e9, 1e30):
        duals = scale * rng.random(rows) * (rng.random(rows) < 0.5)
        bound, reduced = branching._bounded(branching._prices, duals, box)
        assert all(branching._scale * cost >= bound for cost in held)
        empty, _ = branching._bounded(0 * branching._prices, duals, box)
        assert empty <= 0 or not held
        for cost in held:
            below, above = branching._fixed(box, reduced, branching._scale * cost - bound)
            assert (below <= above).all()


@each_seed(range(50, 90))
def test_what_is_fixed_no_better_assignment_lacks(seed):
    formula, board = priced(seed, **FEW), Silent()
    every = costs_of_all(formula)
    costs = arithmetic.Costs.of(formula, board)
    branching = branches.Branching.of(costs, {})
    assert branching is not None
    assert every
    branching._until = math.inf
    box = branching._left[0]
    first = branching._shown[branching._shown < formula["variables"]]  # others have no values here
    assert branching._program.run()
    bound, reduced = branching._bounded(branching._prices, branching._program.duals, box)
    for most in set(every.values()):
        below, above = branching._fixed(box, reduced, branching._scale * most - bound)
        for bits, cost in every.items():
            if cost <= most:
                assert (below[: len(first)] <= np.array(bits)[first]).all()
                assert (above[: len(first)] >= np.array(bits)[first]).all()


def test_a_solver_that_is_wrong_costs_time_alone(monkeypatch):
    rng = np.random.default_rng(1)

    class Liar(branches.Program):
        """Says what it likes."""

        def run(self):
            told = super().run()
            return told if rng.random() < 0.3 else [True, False][int(rng.integers(2))]

        @property
        def values(self):
            return rng.random(len(self._columns)).round(int(rng.integers(0, 3)))

        @property
        def duals(self):
            return rng.choice([-1.0, 0.0, 0.5, 3.0, 1e25], len(self._solver.getSolution().row_dual))

        @property
        def ray(self):
            return rng.random(len(self._solver.getSolution().row_dual))

    monkeypatch.setattr(branches, "Program", Liar)
    for seed in range(30):
        formula, board = priced(seed, **FEW), Silent()
        with pytest.raises(boards.Settled):
            branched(formula, board)
        assert board.cost == min(costs_of_all(formula).values(), default=None)


@each_seed(range(60))
def test_rows_of_odd_cycles_hold_and_refute_values(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    every = [
        (s * a, t * b)
        for a, b in itertools.combinations(range(1, n + 1), 2)
        for s in (1, -1)
        for t in (1, -1)
    ]
    pairs = [pair for pair in every if rng.random() < 0.3]
    values = rng.choice([0.0, 0.4, 0.5, 0.6, 1.0], n).tolist()
    for row in odd.OddCycles(pairs).violated(values, bool):
        assert sum(values[x - 1] if x > 0 else 1 - values[-x - 1] for x in row.literals) < row.least
        for bits in itertools.product([0, 1], repeat=n):
            true = [bits[abs(x) - 1] == (x > 0) for x in row.literals]
            allowed = all(any(bits[abs(x) - 1] == (x > 0) for x in pair) for pair in pairs)
            assert not allowed or sum(true) >= row.least


def test_a_ring_of_halves_is_refuted_by_all_of_it():
    ring = [(v, v % 7 + 1) for v in range(1, 8)]
    (row,) = odd.OddCycles(ring).violated([0.5] * 7, bool)
    assert (sorted(row.literals), row.least) == (list(range(1, 8)), 4)
    assert not list(odd.OddCycles(ring).violated([4 / 7] * 7, bool))


def edges(n, share, seed):
    """A cheapest vertex cover of a random graph."""
    rng = np.random.default_rng(seed)
    hard = [[a, b] for a, b in itertools.combinations(range(1, n + 1), 2) if rng.random() < share]
    weights = [1] * len(hard) + rng.integers(1, 6, n).tolist()
    kinds = [1] * len(hard) + [0] * n
    soft = [[-v] for v in range(1, n + 1)]
    return {"variables": n, "clauses": hard + soft, "weights": weights, "hard": kinds}


@each_seed(range(25))
def test_covers_of_edges_are_those_of_brute_force(seed):
    formula, board = edges(9, 0.3, seed), Silent()
    with pytest.raises(boards.Settled):
        branched(formula, board)
    assert board.cost == min(costs_of_all(formula).values())


def cover(sets, elements, size, seed):
    """A cheapest cover, elements in random sets."""
    rng = np.random.default_rng(seed)
    hard = [(rng.choice(sets, size, replace=False) + 1).tolist() for _ in range(elements)]
    soft = [[-v] for v in range(1, sets + 1)]
    weights = [1] * len(hard) + rng.integers(1, 51, sets).tolist()
    kinds = [1] * len(hard) + [0] * sets
    return {"variables": sets, "clauses": hard + soft, "weights": weights, "hard": kinds}


def test_branches_prove_a_cover_that_a_program_alone_does_not():
    formula, board = cover(120, 80, 8, 3), Silent()
    with pytest.raises(boards.Settled):
        branched(formula, board)
    found = Silent()
    with pytest.raises(boards.Settled):
        turns.prove(formula, found)
    assert board.cost == found.cost
