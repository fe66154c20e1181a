"""Walks on CUDA against the walk of the same stream on the CPU: the same steps."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape import engine
from hardscape.engine.cuda import cuda_device
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.islands import cuda, islands
from hardscape.maxsat.methods.islands.batch import CpuWalks
from hardscape.maxsat.methods.islands.cuda import CudaWalks
from hardscape.maxsat.methods.islands.islands import WalkIslands
from hardscape.maxsat.methods.islands.tables import WalkTables, fits
from hardscape.maxsat.presolve import presolve
from helpers.maxsat_random import random_clauses

pytestmark = pytest.mark.gpu

STOP = np.zeros(1, dtype=np.uint8)


def walked(work, device="cuda:0", **how):
    """Let islands walk on one device."""
    return engine.solve(work, engine.RunOptions.checked(device=device, threads=1, **how))


def mixed(n, m, seed):
    """Clauses of one to three literals, presolved."""
    rng = np.random.default_rng(seed)
    clauses = [
        [int(x) for x in (rng.choice(n, k, replace=False) + 1) * rng.choice([-1, 1], k)]
        for k in rng.choice([1, 2, 3, 3, 3], m)
    ]
    return presolve(Formula.from_clauses(clauses, num_variables=n)).formula


def few_variables(m):
    """Variables with hundreds of occurrences."""
    return presolve(random_clauses(12, m, 3, seed=1)).formula


FORMULAS = {
    "easy": lambda: random_clauses(60, 240, 3, seed=1),
    "threshold": lambda: random_clauses(200, 840, 3, seed=2),
    "long list": lambda: random_clauses(3000, 12600, 3, seed=3),
    "mixed": lambda: mixed(100, 330, 4),
    "many occurrences": lambda: few_variables(900),
    "16 bits": lambda: random_clauses(15000, 64000, 3, seed=5),
}


@pytest.mark.parametrize(
    ("kind", "shared", "listed"),
    [
        *((kind, cuda.MOST_SHARED, 128) for kind in FORMULAS),
        ("threshold", 0, 96),
        ("mixed", 0, 96),
        ("easy", 0, 320),
    ],
)
def test_every_walk_is_that_of_its_stream(kind, shared, listed, monkeypatch):
    """With the formula in shared memory and without, and lists of violated clauses within and beyond it."""
    formula = FORMULAS[kind]()
    assert fits(formula)
    monkeypatch.setattr(cuda, "MOST_SHARED", shared)
    monkeypatch.setattr(cuda, "LISTED", listed)
    first, walks, turns, target = 5, 37, (1, 700, 2300), 0
    tables = WalkTables.of(formula)
    plain = CpuWalks(tables, 9, first, walks, STOP)
    rng = np.random.default_rng(1)
    with cuda_device(0) as device:
        found = CudaWalks(tables, 9, first, walks, device)
        for steps in turns:
            for batch in (plain, found):
                batch.run(steps, target)
            assert_same(formula, plain, found)
            sources = rng.integers(-1, walks, walks).astype(np.int32)
            for batch in (plain, found):
                batch.adopt(sources)


def assert_same(formula, plain, found):
    for name in ("steps", "flips", "violated", "best"):
        assert (plain.status[name] == found.status[name]).all()
    winner = found.winner()
    assert winner == plain.winner()
    best = found.best_of(winner)
    assert (best == plain.best_of(winner)).all()
    violated = formula.num_clauses - formula.satisfied(best).sum()
    assert violated == plain.status["best"][winner]


def test_islands_take_the_same_way_on_every_device():
    formula = random_clauses(200, 1000, 3, seed=11)  # too many clauses to satisfy
    for walks, seed, exchange in ((48, 1, "cellular"), (37, 2, "winners"), (40, 3, "none")):
        work = WalkIslands(formula, seed=seed, walks=walks, max_steps=9000, exchange=exchange)
        answers = [walked(work, device=device).answer for device in ("cpu", "cuda:0")]
        for name in ("assignment", "violated", "flips"):
            assert (answers[0][name] == answers[1][name]).all()


def test_the_answer_does_not_depend_on_how_launches_are_cut(monkeypatch):
    formula = random_clauses(200, 840, 3, seed=2)
    answers = []
    for steps in (100, 17, 5000):
        monkeypatch.setattr(islands, "_FIRST_STEPS", steps)
        work = WalkIslands(formula, seed=3, walks=500)
        outcome = walked(work)
        assert outcome.partial["violated"][0] == 0
        assert formula.cost(outcome.partial["assignment"]) == 0
        answers.append(outcome.partial["assignment"])
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == answers[2]).all()


def test_limits():
    formula = random_clauses(300, 1500, 3, seed=1)
    some = walked(WalkIslands(formula, seed=1, walks=100, max_steps=1500))
    assert some.complete
    assert 150_000 < some.partial["flips"][0] <= 1_200_000
    offered = []
    endless = WalkIslands(
        formula, seed=1, endless=True, offer=lambda x: offered.append(formula.cost(x))
    )
    limited = walked(endless, time_limit=0.5)
    assert not limited.complete
    assert limited.seconds < 3
    assert offered == sorted(set(offered), reverse=True)
    assert (
        formula.cost(limited.partial["assignment"]) == offered[-1] == limited.partial["violated"][0]
    )


def test_solve_walks_on_the_gpu():
    formula = random_clauses(2500, 10000, 3, seed=7)  # 30,000 literals: big enough for "auto"
    for device in ("cuda:0", "auto"):
        found = solve(formula, method="weighting", seed=1, device=device, target=0, time_limit=60)
        assert found.cost == 0
        assert found.device.split()[0] == "cuda:0"  # "auto" takes all there are
        assert found.status == "OPTIMUM FOUND"
    crowded = random_clauses(300, 1800, 3, seed=7)
    found = solve(crowded, method="weighting", seed=1, device="cuda:0", time_limit=0.5)
    assert found.stopped == "time_limit"
    assert found.cost == crowded.cost(found.assignment) > 0
