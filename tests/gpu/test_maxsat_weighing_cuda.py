"""Clause-weighting walks on CUDA against those of the same streams on the CPU: the same steps."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape import engine
from hardscape.engine.cuda import cuda_device
from hardscape.maxsat import Formula, WeightingOptions, solve
from hardscape.maxsat.methods.exact import sharing
from hardscape.maxsat.methods.islands.islands import WeighingIslands
from hardscape.maxsat.methods.islands.weighing import weighing
from hardscape.maxsat.methods.islands.weighing.tables import WeighingTables
from hardscape.maxsat.methods.islands.weighing.weighing import CpuWeighers, CudaWeighers
from hardscape.maxsat.presolve import presolve

pytestmark = pytest.mark.gpu

TABLES = "hardscape.maxsat.methods.islands.weighing.tables"
STOP = np.zeros(1, dtype=np.uint8)


def partial(n, hard, soft, seed, sizes=(1, 2, 3, 4), most=9):
    """Hard and weighted soft clauses, presolved."""
    rng = np.random.default_rng(seed)

    def clauses(m, sizes):
        return [
            [int(x) for x in (rng.choice(n, k, replace=False) + 1) * rng.choice([-1, 1], k)]
            for k in rng.choice(sizes, m)
        ]

    weights = rng.integers(1, most + 1, soft)
    firm = clauses(hard, [k for k in sizes if k > 2])
    return presolve(Formula.from_clauses(clauses(soft, sizes), weights, hard=firm)).formula


FORMULAS = {
    "small": lambda: partial(40, 100, 60, 1),
    "weighted": lambda: partial(400, 900, 900, 2, most=2**40),
    "soft alone": lambda: partial(300, 0, 1500, 3),
    "long": lambda: partial(500, 400, 900, 4, sizes=(1, 3, 40, 300)),
    "long rows": lambda: partial(20, 300, 800, 5, sizes=(2, 3, 4, 5)),
    "large": lambda: partial(20_000, 50_000, 20_000, 6),
    "wide": lambda: partial(60_000, 150_000, 60_000, 6),
}


@pytest.mark.parametrize(
    ("kind", "near", "bits"),
    [
        *((kind, 14 * 1024, 227 * 1024) for kind in FORMULAS),
        ("weighted", 0, 227 * 1024),
        ("long rows", 0, 227 * 1024),
        ("weighted", 0, 0),
        ("wide", 0, 0),
    ],
)
def test_every_walk_is_that_of_its_stream(kind, near, bits, monkeypatch):
    """With scores and bits in shared memory and without; some walks keep a temper under pressure."""
    monkeypatch.setattr(weighing, "MOST_NEAR", near)
    monkeypatch.setattr(weighing, "MOST_BITS", bits)
    monkeypatch.setattr(f"{TABLES}.EVERY", 3)
    formula = FORMULAS[kind]()
    n = formula.num_variables
    first, walks = 5, 13
    turns = {"large": (1, 300, 700), "wide": (1, 100, 200)}.get(kind, (1, 700, 2300))
    rng = np.random.default_rng(1)
    initials = rng.integers(0, 2, (3, n)).astype(np.uint8)
    tables = WeighingTables.of(formula, WeightingOptions())
    plain = CpuWeighers(tables, initials, 9, first, walks, STOP)
    with cuda_device(0) as device:
        found = CudaWeighers(tables, initials, 9, first, walks, device)
        assert_same(plain, found)
        for steps in turns:
            for batch in (plain, found):
                batch.run(steps, 0)
            assert_same(plain, found)
            sources = rng.integers(-1, walks + 1, walks).astype(np.int32)
            guest = rng.integers(0, 2, n).astype(np.uint8)
            for batch in (plain, found):
                batch.adopt(sources, guest)


def assert_same(plain, found):
    for name in ("steps", "flips", "best"):
        assert (plain.status[name] == found.status[name]).all()
    for walk in range(plain.walks):
        assert (plain.best_of(walk) == found.best_of(walk)).all()


def walked(work, device="cuda:0", **how):
    """Let islands walk on one device."""
    return engine.solve(work, engine.RunOptions.checked(device=device, threads=1, **how))


@pytest.mark.parametrize("exchange", ["winners", "cellular", "none"])
def test_islands_take_the_same_way_on_every_device(exchange):
    formula = partial(200, 400, 400, 11)
    work = WeighingIslands(formula, seed=1, walks=37, max_steps=6000, exchange=exchange)
    answers = [walked(work, device=device).answer for device in ("cpu", "cuda:0")]
    for name in ("assignment", "violated", "flips"):
        assert (answers[0][name] == answers[1][name]).all()


def test_in_a_race_the_fewest_steps_win():
    formula = partial(200, 400, 400, 11)
    least = int(
        walked(WeighingIslands(formula, seed=1, walks=64, max_steps=2000)).answer["violated"][0]
    )
    work = WeighingIslands(formula, seed=1, walks=64, max_steps=2000, target=2 * least)
    answers = [walked(work, device=device).answer for device in ("cpu", "cuda:0")]
    assert answers[0]["violated"][0] <= 2 * least
    for name in ("assignment", "violated"):
        assert (answers[0][name] == answers[1][name]).all()


def test_solve_weighs_on_the_gpu():
    formula = partial(60, 100, 90, 7)
    proven = solve(formula, method="exact", device="cpu", time_limit=20, seed=1)
    assert proven.status == "OPTIMUM FOUND"
    how = {"device": "cuda:0", "target": proven.cost, "time_limit": 20, "seed": 1}
    found = solve(formula, method="weighting", **how)
    assert found.ran == ("weighing on cuda:0",)
    assert found.cost == proven.cost == formula.cost(found.assignment)


def test_formulas_of_many_variables_are_walked_on():
    formula = partial(60_000, 150_000, 60_000, 6)
    found = solve(formula, method="weighting", device="cuda:0", time_limit=3, seed=1)
    assert found.ran == ("weighing on cuda:0",)
    assert found.hard_violations == 0
    assert found.cost == formula.cost(found.assignment)


def test_walks_on_the_gpu_go_on_beside_the_proof():
    formula = partial(300, 500, 900, 8)
    cpu, cuda = (
        solve(formula, method="exact", device=device, threads=1, time_limit=2, seed=1)
        for device in ("cpu", "cuda:0")
    )
    assert "cuda:0" in cuda.ran[-1]
    assert cuda.flips > 10 * cpu.flips
    assert cuda.lower_bound <= cuda.cost == formula.cost(cuda.assignment)
    assert cpu.lower_bound <= cuda.cost


def test_a_number_of_flips_has_one_answer():
    formula = partial(200, 400, 400, 11)
    answers = [
        solve(formula, method="weighting", device="cuda:0", max_flips=3000, seed=4).assignment
        for _ in range(2)
    ]
    assert (answers[0] == answers[1]).all()


def test_one_thread_beside_a_gpu_still_walks_in_turns_with_its_proof(monkeypatch):
    turns = []
    walk = sharing.Turns.walk
    monkeypatch.setattr(
        sharing.Turns, "walk", lambda self, lower: (turns.append(lower), walk(self, lower))[1]
    )
    formula = partial(2000, 6000, 3000, 6)
    found = solve(formula, method="exact", device="cuda:0", threads=1, time_limit=3, seed=1)
    assert len(turns) > 2
    assert turns == sorted(turns)
    assert found.lower_bound <= found.cost == formula.cost(found.assignment)
