"""Formulas that grow between calls: every answer is that of the formula as it is then."""

import copy
import gc
import os
import random

import pytest

from hardscape.errors import InputError, UnknownArgumentError
from hardscape.maxsat import Formula, Solver, solve
from hardscape.maxsat.modelling.solver import joined
from helpers import maxsat_oracle as oracle


class Mirror:
    """What was told to a solver, as lists."""

    def __init__(self, n):
        self.n, self.soft, self.weights, self.hard = n, [], [], []
        self.solver = Solver(Formula.from_clauses([], num_variables=n))

    def clause(self, rng):
        return [rng.choice([1, -1]) * rng.randint(1, self.n) for _ in range(rng.randint(1, 3))]

    def change(self, rng):
        kind = rng.randrange(4)
        if kind == 0:
            self.hard.append(self.clause(rng))
            self.solver.add_hard(self.hard[-1])
        elif kind == 1 and self.soft:
            k = rng.randrange(len(self.soft))
            self.weights[k] = rng.randint(0, 9)
            self.solver.set_weight(k, self.weights[k])
        else:
            self.soft.append(self.clause(rng))
            self.weights.append(rng.randint(1, 9))
            assert self.solver.add_soft(self.soft[-1], self.weights[-1]) == len(self.soft) - 1

    def optimum(self, assumed):
        hard = [*self.hard, *([x] for x in assumed)]
        return oracle.optimum(self.n, self.soft, self.weights, hard)


def test_every_answer_is_right():
    rng = random.Random(2)
    statuses = set()
    for _ in range(12):
        mirror = Mirror(6)
        for _ in range(12):
            for _ in range(rng.randint(0, 4)):
                mirror.change(rng)
            assumed = mirror.clause(rng) if rng.random() < 0.5 else []
            result = mirror.solver.solve(assumed, threads=1, seed=1)
            wanted = mirror.optimum(assumed)
            assert result.cost == wanted
            assert result.status == ("UNSATISFIABLE" if wanted is None else "OPTIMUM FOUND")
            assert all(result.model[abs(x) - 1] == x for x in assumed) or wanted is None
            statuses.add(result.status)
    assert len(statuses) == 2


def process_of(solver):
    talker = solver._keeper._talker
    return None if talker is None else talker.process


@pytest.fixture(autouse=True)
def provers_are_asked(monkeypatch):
    """Small formulas, too, are proven by the solver that is kept, not by tables."""
    monkeypatch.setattr("hardscape.maxsat.methods.elimination.elimination._MOST", 0)


@pytest.mark.parametrize("seed", range(3))
def test_a_prover_that_is_kept_answers_as_a_new_one(seed):
    pytest.importorskip("pysat")
    pytest.importorskip("rustsat")
    rng = random.Random(seed)
    processes, proven = set(), 0
    for _ in range(2):
        mirror = Mirror(9)
        for _ in range(60):
            mirror.soft.append([x * rng.choice([1, -1]) for x in rng.sample(range(1, 10), 3)])
            mirror.weights.append(rng.randint(1, 9))
            mirror.solver.add_soft(mirror.soft[-1], mirror.weights[-1])
        with mirror.solver as solver:
            for _ in range(12):
                for _ in range(rng.randint(0, 3)):
                    mirror.change(rng)
                if rng.random() < 0.15:  # a variable more
                    mirror.n += 1
                assumed = mirror.clause(rng) if rng.random() < 0.5 else []
                solver._bounds, solver._assignments = {}, []  # nothing is known but by the prover
                result = solver.solve(assumed, threads=1, seed=1, method="exact", device="cpu")
                wanted = mirror.optimum(assumed)
                assert result.cost == wanted
                assert result.status == ("UNSATISFIABLE" if wanted is None else "OPTIMUM FOUND")
                proven += any("exact" in what for what in result.ran)
                process = process_of(solver)
                if process is not None:
                    assert process.poll() is None
                    processes.add(process)
        assert process_of(solver) is None
    assert len(processes) == 2
    assert proven > 6  # the others are settled by the search
    assert all(process.returncode is not None for process in processes)


def harder(n=60):
    """A vertex cover that takes a prover a moment."""
    rng = random.Random(5)
    solver = Solver()
    for v in range(1, n + 1):
        solver.add_soft([-v], rng.randint(1, 9))
    for _ in range(5 * n):
        solver.add_hard(rng.sample(range(1, n + 1), 2))
    return solver


def test_limits_copies_and_ends_of_a_prover_that_is_kept():
    pytest.importorskip("pysat")
    pytest.importorskip("rustsat")
    solver = harder()
    fresh = solve(solver.formula, threads=1, seed=1, device="cpu")
    solver.solve(threads=1, time_limit=0.15, device="cpu")
    first = solver.solve(threads=1, device="cpu")
    assert first.cost == fresh.cost
    process = process_of(solver)
    other = copy.deepcopy(solver)
    assert process_of(other) is None
    for v in (1, 2, 3):
        assumed = [first.model[v] * -1]
        result = solver.solve(assumed, threads=1, device="cpu")
        units = Formula.from_clauses([], hard=[assumed])
        assert result.cost == solve(joined(solver.formula, units), threads=1, device="cpu").cost
        assert other.solve(assumed, threads=1, device="cpu").cost == result.cost
    assert process_of(solver) is process
    process.kill()
    process.wait()
    solver.add_soft([1, 2], 3)
    solver.add_hard([-first.model[0]])
    assert solver.solve(threads=1, device="cpu").cost == solve(solver.formula, threads=1).cost
    process = process_of(solver)
    assert process is not None
    child = os.fork()
    if not child:
        del solver
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert process.poll() is None
    del solver
    gc.collect()
    assert process.poll() is not None


def test_what_is_known_needs_no_search():
    rng = random.Random(7)
    mirror = Mirror(30)
    for _ in range(120):
        mirror.soft.append(mirror.clause(rng))
        mirror.solver.add_soft(mirror.soft[-1], 3)
    first = mirror.solver.solve(method="exact", threads=1, seed=1)
    assert first.status == "OPTIMUM FOUND"
    true = first.model[4]
    mirror.solver.add_hard([true, first.model[9]])
    mirror.solver.add_soft([true], 5)
    second = mirror.solver.solve([first.model[2]], threads=1, seed=1)
    assert (second.cost, second.status, second.ran) == (first.cost, "OPTIMUM FOUND", ())
    mirror.solver.set_weight(0, 1)
    less = mirror.solver.solve(threads=1, seed=1, method="exact")
    assert less.status == "OPTIMUM FOUND"
    assert less.cost == solve(mirror.solver.formula, method="exact", seed=2).cost


def test_a_lower_bound_ends_a_search():
    formula = Formula.from_clauses([[v] for v in range(1, 30)], hard=[[-1, -2], [-2, -3]])
    result = solve(formula, method="weighting", lower_bound=1, seed=1)
    assert (result.cost, result.status, result.lower_bound) == (1, "OPTIMUM FOUND", 1)
    with pytest.raises(InputError):
        solve(formula, lower_bound=-1)


def test_limits_on_sums():
    solver = Solver()
    for v in range(1, 9):
        solver.add_soft([v], v)
    solver.add_at_most(range(1, 9), 3)
    assert solver.solve(seed=1).cost == 15  # 8, 7 and 6 hold
    solver.add_at_most([8, 7, 6], 20, weights=[8, 7, 6])
    assert solver.solve(seed=1).cost == 16
    solver.add_at_most([1, 2], -1, weights=[-1, -1])
    assert solver.solve(seed=1).cost == 19  # 8, 7 and 2
    own = solver.formula.num_variables
    with pytest.raises(InputError):
        solver.add_hard([own])
    free = solver.new_variable()
    solver.add_hard([free, -8])
    assert solver.solve(seed=1).cost == 19


def test_nothing_at_all():
    solver = Solver()
    assert solver.solve().cost == 0
    assert solver.solve([3, -1]).model == [-1, 2, 3] or solver.solve([3, -1]).model == [-1, -2, 3]


@pytest.mark.parametrize(
    "refused",
    [
        lambda solver: solver.add_hard([0]),
        lambda solver: solver.add_soft([1], 0),
        lambda solver: solver.add_soft([1.5]),
        lambda solver: solver.set_weight(1, 3),
        lambda solver: solver.set_weight(0, -3),
        lambda solver: solver.add_soft([7], 2.5),
        lambda solver: solver.add_at_most([1, 2], 1, weights=[1]),
        lambda solver: solver.add_at_most([1, 7], 1.5),
        lambda solver: solver.add_at_most(7, 1),
        lambda solver: solver.solve(["a"]),
        lambda solver: solver.solve(method="magic"),
    ],
)
def test_refusals(refused):
    solver = Solver()
    solver.add_soft([1])
    with pytest.raises(InputError):
        refused(solver)
    assert solver.formula == Formula.from_clauses([[1]])
    assert solver.solve().cost == 0


@pytest.mark.parametrize(
    "own", [{"initial": [0, 1]}, {"lower_bound": 0}, {"formula": Formula.from_clauses([[1]])}]
)
def test_what_a_solver_gives_itself_is_refused_by_name(own):
    with pytest.raises(UnknownArgumentError) as refused:
        Solver(Formula.from_clauses([[1, 2]])).solve(**own)
    assert refused.value.names == list(own)
