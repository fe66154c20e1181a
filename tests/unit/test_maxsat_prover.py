"""The prover: bounds that hold, and optima."""

from __future__ import annotations

import itertools
import json
import time
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("pysat")
pytest.importorskip("rustsat")

from pysat.solvers import Solver

from hardscape import native
from hardscape.benchmarks.maxsat.formulas import planted
from hardscape.maxsat import Formula
from hardscape.maxsat.methods.exact.prover import board as boards
from hardscape.maxsat.methods.exact.prover import cores as lower
from hardscape.maxsat.methods.exact.prover import costs as arithmetic
from hardscape.maxsat.methods.exact.prover import exclusions, relaxation, tries
from hardscape.maxsat.methods.exact.prover import first as ahead
from hardscape.maxsat.methods.exact.prover import linear as upper
from hardscape.maxsat.methods.exact.prover import oracle as oracles
from hardscape.maxsat.methods.exact.prover import session as sessions
from hardscape.maxsat.methods.exact.prover import trim as trimming
from hardscape.maxsat.methods.exact.prover import turns as prover
from hardscape.maxsat.methods.symmetry.breaking import breaking as symmetries
from helpers.maxsat_oracle import costs_of_all
from helpers.maxsat_proofs import Silent
from helpers.seeds import each_seed

FOREVER = float("inf")


def random_formula(seed):
    """A weighted partial formula of up to 8 variables, as the prover takes it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    most = int(rng.choice([1, 3, 1000]))
    clauses, weights, hard = [], [], []
    for _ in range(int(rng.integers(3, 30))):
        size = min(int(rng.integers(1, 4)), n)
        variables = rng.choice(n, size, replace=False) + 1
        clauses.append([int(v * rng.choice([-1, 1])) for v in variables])
        weights.append(int(rng.integers(1, most + 1)))
        hard.append(int(rng.random() < 0.3))
    return {"variables": n, "clauses": clauses, "weights": weights, "hard": hard}


@pytest.fixture
def said(monkeypatch):
    told = []
    monkeypatch.setattr(boards, "say", lambda **message: told.append(message))
    return told


def check(formula, board, said):
    costs = costs_of_all(formula)
    least = min(costs.values(), default=None)
    assert board.cost == least
    for message in said:
        if "lower" in message and least is not None:
            assert message["lower"] <= least
        if "model" in message:
            assert costs[tuple(map(int, message["model"]))] == message["cost"]


@each_seed(range(120))
def test_optima_and_bounds(seed, said):
    said.clear()
    formula, board = random_formula(seed), boards.Board()
    with pytest.raises(boards.Settled):
        prover.prove(formula, board, seed % 6)
    check(formula, board, said)


def many_wishes(seed):
    """Some clauses of a few variables, and half the time an assignment that is known before."""
    rng = np.random.default_rng(seed)
    n, most = int(rng.integers(3, 8)), int(rng.choice([1, 2, 9]))
    clauses, weights, hard = [], [], []
    for _ in range(int(rng.integers(8, 40))):
        size = min(int(rng.choice([1, 1, 2, 2, 3])), n)
        variables = rng.choice(n, size, replace=False) + 1
        clauses.append([int(v * rng.choice([-1, 1])) for v in variables])
        weights.append(int(rng.integers(1, most + 1)))
        hard.append(int(rng.random() < 0.25))
    formula = {"variables": n, "clauses": clauses, "weights": weights, "hard": hard}
    known = list(costs_of_all(formula).items())
    board = boards.Board()
    if known and rng.random() < 0.5:
        values, board.cost = known[int(rng.integers(len(known)))]
        board.model = [v if x else -v for v, x in enumerate(values, 1)]
    return formula, board


# Bounds were above the optimum where what was proven of better assignments was taken for all.
@pytest.mark.parametrize("seed", [3156, 4077, 4654, *range(40)])
def test_no_bound_lies_above_the_optimum_whatever_was_known(seed, said):
    formula, board = many_wishes(seed)
    with pytest.raises(boards.Settled):
        prover.prove(formula, board, seed % 6 if seed < 40 else 0)
    check(formula, board, said)


@each_seed(range(60))
@pytest.mark.parametrize("clauses", [1, 30, 10**6])
def test_the_linear_search_alone_however_coarse(seed, clauses, said, monkeypatch):
    said.clear()
    monkeypatch.setattr(upper, "_CLAUSES", clauses)
    formula, board = random_formula(seed), boards.Board()
    costs = arithmetic.Costs.of(formula, board)
    costs.oracle.until = FOREVER
    if not costs.oracle.ask([]):
        assert not costs_of_all(formula)
        return
    costs.offer(costs.oracle.model())
    cores = lower.Cores(costs)
    linear = upper.Linear(costs, cores)
    try:
        linear.turn(FOREVER)
    except boards.Settled:
        pass
    else:
        assert not costs.weight  # all wishes must hold: there is nothing to encode
        with pytest.raises(boards.Settled):
            cores.turn(FOREVER)
    check(formula, board, said)


def costly_few(rng):
    """A formula of some variables that cost and some that do not."""
    n, m = int(rng.integers(4, 11)), int(rng.integers(6, 34))
    clauses = [
        [int(v * rng.choice([-1, 1])) for v in rng.choice(n, size, replace=False) + 1]
        for size in [min(int(rng.choice([2, 2, 3, 3, 4])), n) for _ in range(m)] + [1] * (n // 2)
    ]
    count = len(clauses)
    hard = [int(i < m and rng.random() < 0.7) for i in range(count)]
    weights = rng.integers(1, 6, count).tolist()
    return {"variables": n, "clauses": clauses, "weights": weights, "hard": hard}


def simplify_again_and_again(formula, board, rng):
    """Prove in short turns, with fewer clauses after some of them."""
    costs = arithmetic.Costs.of(formula, board, solver=str(rng.choice(["g4", "m22"])))
    if rng.random() < 0.5:
        costs.simplify()
    prover.begin(costs)
    cores = lower.Cores(costs)
    linear = upper.Linear(costs, cores)
    while True:
        cores.turn(FOREVER)
        if rng.random() < 0.5:
            costs.simplify()
        linear.turn(FOREVER)


@each_seed(range(60))
def test_simpler_clauses_have_the_same_optimum(seed, said, monkeypatch):
    said.clear()
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(oracles.Oracle, "late", lambda self: rng.random() < 0.3)
    monkeypatch.setattr(arithmetic, "_SHRUNK", float(rng.choice([0.95, 1.5])))
    formula, board = costly_few(rng), boards.Board()
    with pytest.raises(boards.Settled):
        simplify_again_and_again(formula, board, rng)
    check(formula, board, said)


def test_a_last_variable_of_no_clause_has_its_value_back(said):
    formula = {
        "variables": 5,
        "clauses": [[1, 2], [-1, 3], [-2], [-3]],
        "weights": [1] * 4,
        "hard": [1, 1, 0, 0],
    }
    costs = arithmetic.Costs.of(formula, boards.Board())
    costs.simplify()
    assert len(costs.clauses) == 1
    costs.oracle.until = FOREVER
    assert costs.oracle.ask([2])
    costs.offer(costs.oracle.model())
    assert [len(message["model"]) for message in said] == [5]


@each_seed(range(40))
def test_simpler_clauses_tell_wishes_apart_as_before(seed):
    rng = np.random.default_rng(seed)
    formula = random_formula(seed + 1000)
    costs = arithmetic.Costs.of(formula, boards.Board())
    before = Solver(name="m22", bootstrap_with=costs.clauses)
    wishes = list(costs.weight)
    try:
        costs.simplify()
    except boards.Settled:
        assert not before.solve()
        return
    after = Solver(name="m22", bootstrap_with=costs.clauses)
    for _ in range(30):
        chosen = [x * int(rng.choice([-1, 1])) for x in wishes if rng.random() < 0.6]
        assert before.solve(chosen) == after.solve(chosen)


@each_seed(range(20))
def test_what_a_session_has_learnt_stays_true(seed, said, monkeypatch):
    said.clear()
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(oracles.Oracle, "late", lambda self: rng.random() < 0.3)
    monkeypatch.setattr(sessions, "say", lambda **message: said.append(message))
    whole = random_formula(seed)
    n, given = whole["variables"], 0
    session = sessions.Session(n)
    for count in sorted(rng.integers(0, len(whole["clauses"]) + 1, 5).tolist()):
        clauses, hard = whole["clauses"][:count], whole["hard"][:count]
        weights = rng.integers(0, 6, count).tolist()
        assumed = [int(v * rng.choice([-1, 1])) for v in range(1, n + 1) if rng.random() < 0.1]
        n += int(rng.random() < 0.3)
        board = boards.Board()
        said.clear()
        session.call(
            {
                "variables": n,
                "clauses": clauses[given:],
                "hard": hard[given:],
                "weights": [w for w, h in zip(weights, hard, strict=True) if not h],
                "assumed": assumed,
            },
            board,
        )
        given = count
        units = [[x] for x in assumed]
        formula = {
            "variables": n,
            "clauses": clauses + units,
            "weights": weights + [1] * len(units),
            "hard": hard + [1] * len(units),
        }
        assert said.pop() == {"settled": True}
        check(formula, board, said)


@each_seed(range(40))
def test_a_better_assignment_is_heard(seed, said):
    said.clear()
    formula = random_formula(seed)
    costs = costs_of_all(formula)
    if not costs:
        return
    bits = min(costs, key=costs.get)
    line = json.dumps({"cost": costs[bits], "model": "".join(map(str, bits))})
    board = boards.Board([line])
    time.sleep(0.001)
    with pytest.raises(boards.Settled):
        prover.prove(formula, board)
    assert board.cost == costs[bits]
    assert all(message["cost"] >= costs[bits] for message in said if "model" in message)


def begins_a_proof(formula):
    tries.begin(arithmetic.Costs.of(formula, boards.Board()))


def begins_by_simpler_clauses(formula):
    """The first two literals of each clause are behind a gate, which simplification removes."""
    n, clauses = formula["variables"], []
    for gate, (a, b, c) in enumerate(formula["clauses"], n + 1):
        clauses += [[-gate, a, b], [gate, -a], [gate, -b], [gate, c]]
    formula = {
        "variables": n + len(formula["clauses"]),
        "clauses": clauses,
        "weights": [1] * len(clauses),
        "hard": [1] * len(clauses),
    }
    costs = arithmetic.Costs.of(formula, boards.Board())

    def simplify():
        costs.simplify()
        assert 2 * len(costs.clauses) < len(clauses)

    tries.begin(costs, simplify=simplify)


def begins_a_search(formula):
    ahead.first(formula, boards.Board())


@pytest.mark.parametrize("begins", [begins_a_proof, begins_by_simpler_clauses, begins_a_search])
@each_seed(range(20))
def test_a_first_assignment_after_many_tries_or_none(seed, begins, said, monkeypatch):
    said.clear()
    for module in (tries, ahead):
        monkeypatch.setattr(module, "FEW_CONFLICTS", 2)
    for name, value in ("_FEW_TRIES", 2), ("_LONG", 0.0), ("_LONGER", 0.0):
        monkeypatch.setattr(tries, name, value)
    rng = np.random.default_rng(seed)
    clauses = [
        [int(v * rng.choice([-1, 1])) for v in rng.choice(50, 3, replace=False) + 1]
        for _ in range(int(rng.integers(200, 230)))
    ]
    satisfiable = Solver(name="cd15", bootstrap_with=clauses).solve()
    count = len(clauses)
    formula = {"variables": 50, "clauses": clauses, "weights": [1] * count, "hard": [1] * count}
    if satisfiable:
        begins(formula)
        (found,) = said
        model = [int(x) for x in found["model"]]
        assert all(any(model[abs(x) - 1] == (x > 0) for x in clause) for clause in clauses)
    else:
        with pytest.raises(boards.Settled):
            begins(formula)
        assert not said


@pytest.mark.parametrize("gates", [False, True])
def test_no_solver_waits_for_another_that_finds_no_first_assignment(gates, monkeypatch):
    monkeypatch.setattr(tries, "_OCCURS", FOREVER if gates else 0)
    costs = arithmetic.Costs.of(random_formula(1), boards.Board())
    wishful, plain = (oracles.Oracle(costs.clauses, costs.board, "m22") for _ in range(2))
    simplified = []
    going = tries._longer(costs, wishful, plain, 1e4, lambda: simplified.append(1))
    longer = list(itertools.islice(going, 8))
    assert simplified == [1] * gates
    assert all(
        [who for who, _ in longer].count(each) >= 2 for each in (wishful, plain, costs.oracle)
    )
    assert min(conflicts for _, conflicts in longer) > oracles.FEW_CONFLICTS


def test_a_first_assignment_at_once_comes_before_the_opening(said):
    formula = random_formula(1) | {"hard": [0] * len(random_formula(1)["clauses"])}
    order = []
    tries.begin(arithmetic.Costs.of(formula, boards.Board()), lambda: order.extend(said))
    assert order == said != []


def test_a_solver_that_is_not_needed_is_told_nothing():
    board = boards.Board()
    oracle = oracles.Oracle([[1], [-1, 2]], board)
    oracle.restart([[1, 2]])
    oracle.delete()
    assert "_solver" not in vars(oracle)
    assert oracles.Oracle([[1], [-1, 2]], board).ask([-2]) is False


@each_seed(range(40))
def test_what_two_solvers_agree_on(seed, said):
    said.clear()
    formula, board = random_formula(seed), boards.Board(check=True)
    with pytest.raises(boards.Settled):
        prover.prove(formula, board, seed % 6)
    check(formula, board, said)


class Liar(Solver):
    """A solver that refutes whatever it is asked under assumptions."""

    def solve_limited(self, assumptions=(), **how):
        self.asked = list(assumptions)
        return False if self.asked else super().solve_limited(**how)

    def get_core(self):
        return self.asked


@each_seed(range(20))
def test_a_wrong_core_is_found_out(seed, said, monkeypatch):
    said.clear()
    # Two covers of 4, of which pairs that exclude one another tell 3: wishes stay, whatever is found first.
    rings = [first + np.random.default_rng(seed).permutation(7) for first in (1, 8)]
    edges = [edge for ring in rings for edge in np.column_stack([ring, np.roll(ring, 1)]).tolist()]
    clauses = [[-v] for v in range(1, 15)] + edges
    hard = [0] * 14 + [1] * 14
    formula = {"variables": 14, "clauses": clauses, "weights": [1] * 28, "hard": hard}
    honest = Solver
    monkeypatch.setattr(relaxation, "installed", lambda: False)  # it tells 8
    monkeypatch.setattr(
        oracles, "Solver", lambda name, **how: (honest if name == "cd15" else Liar)(name, **how)
    )
    with pytest.raises(boards.ContradictionError):
        prover.prove(formula, boards.Board(check=True))


@pytest.mark.parametrize("order_by", [1, -1, 0])
@each_seed(range(20))
def test_what_is_paid_for_cliques_is_a_bound(seed, order_by):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 11))
    wishes = range(1, n + 1)
    pairs = [pair for pair in itertools.combinations(wishes, 2) if rng.random() < 0.6]
    looked = native.core.maxsat.Exclusions([[-u, -v] for u, v in pairs], list(wishes), n, n)
    while looked.run(3):
        pass
    assert looked.close() == []
    against = {v: set(itertools.chain(*(p for p in pairs if v in p))) - {v} for v in wishes}
    assert looked.against() == {v: others for v, others in against.items() if others}
    weight = {v: int(rng.integers(0, 4)) for v in wishes}
    found = looked.cliques(list(weight.values()), order_by)
    for clique, paid in found:
        assert paid > 0
        assert all(v in against[u] for u, v in itertools.combinations(clique, 2))
    for v in wishes:
        assert sum(paid for clique, paid in found if v in clique) <= weight[v]
    least = min(
        sum(weight[v] for v in wishes if v not in kept)
        for size in range(n + 1)
        for kept in itertools.combinations(wishes, size)
        if all(v not in against[u] for u, v in itertools.combinations(kept, 2))
    )
    assert exclusions.gained(found) <= least


def trimmed(seed, said):
    """Wishes that went, and those that stayed, of a random formula; its least cost is proven afterwards."""
    said.clear()
    formula, board = random_formula(seed), boards.Board()
    every = costs_of_all(formula)
    costs = arithmetic.Costs.of(formula, board)
    first = board.lower
    units = {w: x for w, x in costs.weight.items() if abs(w) <= formula["variables"]}
    with suppress(boards.Settled):
        trimming.trim(costs, lower.Cores(costs), FOREVER)
        granted = {w: {bits[abs(w) - 1] == (w > 0) for bits in every} for w in units}
        assert {w for w in units if w in costs.weight} == {
            w for w, holds in granted.items() if len(holds) == 2
        }
        paid = sum(x for w, x in units.items() if granted[w] == {False})
        assert first + paid <= board.lower <= min(every.values(), default=board.lower)
    with pytest.raises(boards.Settled):
        prover.improve(costs)
    check(formula, board, said)
    return len(units.keys() - costs.weight.keys()), len(units.keys() & costs.weight.keys())


def test_wishes_that_always_or_never_hold_are_no_wishes_any_more(said):
    gone, stayed = np.sum([trimmed(seed, said) for seed in range(100)], axis=0)
    assert gone > 50
    assert stayed > 50


def test_wishes_stay_where_there_is_no_time_to_trim_them(said):
    clauses = [[1], [-1, 2], [-3, -4], [2], [3], [4]]
    formula = {"variables": 4, "clauses": clauses, "weights": [1] * 6, "hard": [1, 1, 1, 0, 0, 0]}
    costs = arithmetic.Costs.of(formula, boards.Board())
    trimming.trim(costs, lower.Cores(costs), 0.0)
    assert costs.weight == {2: 1, 3: 1, 4: 1}
    trimming.trim(costs, lower.Cores(costs), FOREVER)
    assert costs.weight == {3: 1, 4: 1}


def test_large_formulas_are_improved_before_they_are_simplified(said, monkeypatch):
    seen = []
    turn, simplify = prover.Linear.turn, arithmetic.Costs.simplify
    monkeypatch.setattr(
        prover.Linear, "turn", lambda self, until: (seen.append("turn"), turn(self, until))
    )
    monkeypatch.setattr(
        arithmetic.Costs, "simplify", lambda self: (seen.append("simplify"), simplify(self))
    )
    monkeypatch.setattr(prover, "_FIRST", 1e-3)
    n, soft, weights, hard = planted(150, 600, 60, 1)
    clauses = [*hard, *soft]
    formula = {
        "variables": n,
        "clauses": clauses,
        "weights": [1] * len(hard) + weights,
        "hard": [1] * len(hard) + [0] * len(soft),
    }
    with pytest.raises(boards.Settled):
        prover.prove(formula, boards.Board())
    assert seen[0] == "turn"
    assert seen.count("simplify") == 1


@pytest.mark.parametrize(("slow", "then"), [(True, "linear"), (False, "cores")])
def test_simplified_clauses_are_improved_upon_at_once_where_cores_are_slow(
    slow, then, said, monkeypatch
):
    seen = []
    monkeypatch.setattr(prover, "_PACE", 1e9 if slow else 0.0)
    for name, owner, method in (
        ("linear", prover.Linear, "turn"),
        ("cores", lower.Cores, "turn"),
        ("simplify", arithmetic.Costs, "simplify"),
    ):
        before = getattr(owner, method)
        monkeypatch.setattr(
            owner,
            method,
            lambda self, *told, name=name, before=before, **how: (
                seen.append(name),
                before(self, *told, **how),
            )[1],
        )
    monkeypatch.setattr(prover, "_BEFORE", 0.0)
    n, soft, weights, hard = planted(60, 240, 30, 1)
    formula = {
        "variables": n,
        "clauses": [*hard, *soft],
        "weights": [1] * len(hard) + weights,
        "hard": [1] * len(hard) + [0] * len(soft),
    }
    with pytest.raises(boards.Settled):
        prover.prove(formula, boards.Board())
    assert seen[seen.index("simplify") + 1] == then


@each_seed(range(30))
def test_all_clauses_together_hold_or_cost_the_lightest(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    clauses = [
        (rng.choice([-1, 1], 3) * (rng.choice(n, 3, replace=False) + 1)).tolist()
        for _ in range(int(rng.integers(5, 45)))
    ]
    weights = rng.integers(2, 9, len(clauses)).tolist()
    told = {"variables": n, "clauses": clauses, "weights": weights, "hard": [0] * len(clauses)}
    board = Silent()
    plain = lower.Simplified(arithmetic.Costs.of(told, board), clauses, min(weights))
    best = min(costs_of_all(told).values())
    if best == 0:
        with pytest.raises(boards.Settled):
            plain.turn(np.inf)
        assert board.cost == 0
    else:
        plain.turn(np.inf)
        assert plain.over
        assert board.lower == min(weights) <= best
    with pytest.raises(boards.Settled):
        prover.prove(told, whole := Silent())
    assert whole.cost == best


class Waited(Silent):
    """A board that somebody waits for."""

    patience = 0.02


@pytest.mark.parametrize(("count", "cost", "asked"), [(12, 1, True), (12, 40, False), (8, 1, True)])
def test_all_clauses_are_asked_for_at_first_where_little_is_violated(
    count, cost, asked, monkeypatch
):
    holes = range(11)
    at = [[11 * i + j + 1 for j in holes] for i in range(count)]
    twice = [[-a, -b] for hole in zip(*at, strict=True) for a, b in itertools.combinations(hole, 2)]
    clauses = at + twice
    told = {
        "variables": 11 * count,
        "clauses": clauses,
        "weights": [1] * len(clauses),
        "hard": [0] * len(clauses),
    }
    questions = []
    ask = oracles.Oracle.ask
    monkeypatch.setattr(
        oracles.Oracle, "ask", lambda self, *how: questions.append(self) or ask(self, *how)
    )
    monkeypatch.setattr(prover.Costs, "of", lambda *_: pytest.fail("wishes are made"))
    monkeypatch.setattr(prover, "_PLAIN_EACH", 1e-3 if count < 11 else 1e-9)  # one is never over
    board = Waited()
    board.cost, board.model = cost, [-v for v in range(1, 11 * count + 1)]
    with pytest.raises(boards.Settled if count < 11 else pytest.fail.Exception):
        prover.prove(told, board)
    assert bool(questions) == asked
    assert board.cost == (0 if count < 11 else cost)


@pytest.mark.parametrize("broken", [False, True])
def test_cores_wait_for_the_plain_question(broken, monkeypatch):
    at = np.arange(1, 133).reshape(12, 11)
    twice = [[-a, -b] for hole in at.T.tolist() for a, b in itertools.combinations(hole, 2)]
    clauses = at.tolist() + twice  # refuted soon where symmetries are broken
    ones = [1] * len(clauses)
    told = {"variables": 132, "clauses": clauses, "weights": ones, "hard": [0] * len(clauses)}
    costs = arithmetic.Costs.of(told, Silent())
    breaking = symmetries(Formula.from_clauses(clauses)) if broken else ()
    asked = []
    ask = costs.oracle.ask
    monkeypatch.setattr(costs.oracle, "ask", lambda *how: asked.append(how) or ask(*how))
    plain = lower.Simplified(costs, clauses, 1, breaking)
    lower.Cores(costs, plain=plain).turn(time.thread_time() + 0.2)
    assert plain.over == broken
    assert bool(asked) == broken


def test_wishes_exclude_what_propagation_tells_of_either():
    # 1 implies the denial of 3 by way of 2; 4 cannot hold; 6 relaxes, and is asked nothing itself.
    clauses = [[-1, 2], [-2, -3], [-4, 5], [-4, -5], [-7, -6]]
    looked = native.core.maxsat.Exclusions(clauses, [1, 3, 4, 7, 6], 4, 7)
    assert not looked.run(10)
    assert looked.close() == [4]
    assert looked.against() == {1: {3}, 3: {1}, 7: {6}, 6: {7}}


def test_wishes_are_not_looked_at_among_clauses_that_contradict_one_another():
    looked = native.core.maxsat.Exclusions([[1], [-1, 2], [-2]], [1, 2], 2, 2)
    assert not looked.run(10)
    assert looked.close() == []
    assert looked.against() == {}
