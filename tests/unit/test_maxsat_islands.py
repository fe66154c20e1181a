"""Islands of walks: who takes over whose assignment, and what comes of it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from hardscape.engine import Cpu, Cuda, RunOptions, cuda_status, solve
from hardscape.engine.cuda.driver import Gpu
from hardscape.maxsat import Formula, WeightingOptions
from hardscape.maxsat.anytime import choose
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.islands import elites, islands, rows
from hardscape.maxsat.methods.islands.batch import CpuWalks
from hardscape.maxsat.methods.islands.elites import Cellular, Winners
from hardscape.maxsat.methods.islands.islands import WalkIslands
from hardscape.maxsat.methods.islands.rows import IslandWalks
from hardscape.maxsat.methods.islands.tables import WalkTables
from hardscape.maxsat.presolve import NOTHING_LEFT
from hardscape.maxsat.task import Task
from helpers.maxsat_random import random_clauses
from helpers.maxsat_walk import PlainWalk

STOP = np.zeros(1, dtype=np.uint8)
CPU = {"device": "cpu", "threads": 1}


def places(walks, columns):
    """Coordinates of each walk on the torus of all islands of 4 x 4."""
    return {
        w: (w // 16 % columns * 4 + w % 16 % 4, w // 16 // columns * 4 + w % 16 // 4)
        for w in range(walks)
    }


def beside(walks, columns, rows, walk, across):
    """Neighbours of a walk: on its own island, or with `across` on the torus of all."""
    place = places(walks, columns)
    at = {xy: w for w, xy in place.items()}
    x, y = place[walk]
    found = set()
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        if across:
            there = (x + dx) % (4 * columns), (y + dy) % (4 * rows)
        else:
            there = x // 4 * 4 + (x + dx) % 4, y // 4 * 4 + (y + dy) % 4
        if there in at:
            found.add(at[there])
    return found


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize(("walks", "columns", "rows"), [(96, 2, 3), (16, 1, 1), (37, 1, 3)])
def test_the_best_neighbour_is_taken_over_where_it_is_better(
    walks, columns, rows, across, monkeypatch
):
    monkeypatch.setattr(elites, "DIFFUSION", float(across))
    rng = np.random.default_rng(walks)
    rule = Cellular(walks, 1, 0)
    first = rng.integers(5, 30, walks)
    assert (rule.sources(first) == -1).all()  # all have done better than nothing
    second = rng.integers(5, 30, walks)
    sources = rule.sources(second)
    taken = 0
    for walk, source in enumerate(sources):
        around = beside(walks, columns, rows, walk, across)
        least = min(second[list(around)], default=99)
        if second[walk] < first[walk] or least >= second[walk]:
            assert source == -1
        else:
            assert source in around
            assert second[source] == least
            taken += 1
    assert taken


def test_diffusion_is_as_rare_as_it_says():
    walks = 16 * 64
    rule = Cellular(walks, 3, 0)
    rule.sources(np.full(walks, 10))
    islands_apart = 0
    for _ in range(200):
        best = np.full(walks, 10)
        best[np.arange(16) + 16 * 9] = 1  # one good island
        sources = rule.sources(best)
        takers = np.flatnonzero(sources >= 0)
        assert (sources[takers] // 16 == 9).all()
        islands_apart += len(takers)
        rule.sources(np.full(walks, 10))
    # 16 cells beyond the rim of the good island, one in twenty of which looks across.
    assert islands_apart / 200 / 16 == pytest.approx(elites.DIFFUSION, rel=0.2)


def test_walks_adopt_the_best_of_others():
    formula = random_clauses(60, 260, 3, seed=2)
    walks = CpuWalks(WalkTables.of(formula), 5, 0, 4, STOP)
    walks.run(200, 0)
    best = walks.status["best"].copy()
    violated = walks.status["violated"].copy()
    walks.adopt(np.array([-1, 0, 3, -1], dtype=np.int32))
    walks.run(0, 0)
    assert walks.status["violated"].tolist() == [violated[0], best[0], best[3], violated[3]]
    assert (walks.status["best"] == walks.status["violated"]).all()
    assert walks.status["steps"].tolist() == [200] * 4


def test_the_answer_does_not_depend_on_how_turns_are_cut(monkeypatch):
    formula = random_clauses(150, 620, 3, seed=2)
    answers = []
    for steps in (256, 17, 5000):
        monkeypatch.setattr(islands, "_FIRST_STEPS", steps)
        work = WalkIslands(formula, seed=3, walks=20, target=2, exchange="cellular")
        found = solve(work, RunOptions.checked(**CPU)).answer
        assert found["violated"][0] <= 2
        assert formula.cost(found["assignment"]) == found["violated"][0]
        answers.append(found["assignment"])
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == answers[2]).all()


def test_limits_and_offers():
    formula = random_clauses(100, 500, 3, seed=1)
    work = WalkIslands(formula, seed=1, walks=5, max_steps=3000)
    some = solve(work, RunOptions.checked(**CPU))
    assert some.complete
    assert 15_000 < some.partial["flips"][0] <= 120_000
    offered = []
    work = WalkIslands(
        formula, seed=1, endless=True, offer=lambda x: offered.append(formula.cost(x))
    )
    limited = solve(work, RunOptions.checked(time_limit=0.2, **CPU))
    assert not limited.complete
    assert offered == sorted(set(offered), reverse=True)
    assert offered[-1] == limited.partial["violated"][0]
    # Without a limit it ends when nothing improves.
    assert solve(WalkIslands(formula, seed=1, walks=2), RunOptions.checked(**CPU)).complete


def test_in_a_race_the_fewest_flips_win():
    formula = random_clauses(60, 200, 3, seed=3)
    alone, racing = (CpuWalks(WalkTables.of(formula), 7, 0, 12, STOP) for _ in range(2))
    alone.run(50_000, 0)
    racing.run(50_000, 0, race=True)
    assert (alone.status["best"] == 0).all()
    winner = alone.winner()
    assert racing.winner() == winner
    assert (racing.best_of(racing.winner()) == alone.best_of(alone.winner())).all()
    assert racing.status["steps"].max() <= alone.status["steps"].max()
    assert racing.status["steps"][winner] == racing.status["steps"].min()


def test_winners_are_taken_over_by_turns():
    best = np.array([7, 3, 9, 3, 8, 2, 9, 4, 5, 6])
    # Four of ten go on: walks 5, 1, 3 and 7.
    assert Winners().sources(best).tolist() == [3, -1, 5, -1, 7, -1, 1, -1, 5, 1]
    assert Winners().sources(np.array([3])).tolist() == [-1]
    assert elites.elites("none", 10, 1, 0) is None
    assert isinstance(elites.elites("winners", 10, 1, 0), Winners)
    assert isinstance(elites.elites("cellular", 10, 1, 0), Cellular)


@pytest.mark.parametrize(
    ("n", "m", "shortest", "wanted"),
    [(40, 168, 3, {1, 2, 4, 8}), (50, 120, 1, {4, 8}), (9, 300, 2, {8})],
)
def test_steps_are_those_of_the_definition(n, m, shortest, wanted):
    rng = np.random.default_rng(n + m)
    clauses = [
        [int(x) for x in (rng.choice(n, k, replace=False) + 1) * rng.choice([-1, 1], k)]
        for k in rng.integers(shortest, 4, m)
    ]
    tables = WalkTables.of(Formula.from_clauses(clauses, num_variables=n))
    walks = CpuWalks(tables, 11, 3, 2, STOP)
    plain = [PlainWalk(n, clauses, tables.weights, 11, 3 + i) for i in range(2)]
    widths = set()
    for _ in range(60):
        walks.run(1, 0)
        for walk, status in zip(plain, walks.status, strict=True):
            if walk.violated:
                widths.add(walk.step())
            assert (status["violated"], status["flips"]) == (len(walk.violated), walk.flips)
            assert status["best"] == walk.least
    for i, walk in enumerate(plain):
        assert (walks.best_of(i) == walk.best).all()
    assert widths >= wanted


@pytest.mark.parametrize(
    ("n", "ratio", "pays"),
    [
        (2000, 4.2, True),
        (2000, 5.0, False),
        (300, 4.2, False),
        (6000, 4.2, False),
        (6000, 4.0, True),
    ],
)
def test_auto_takes_a_gpu_for_formulas_that_may_be_satisfiable(n, ratio, pays):
    rng = np.random.default_rng(1)
    clauses = rng.integers(1, n + 1, (round(ratio * n), 3)) * rng.choice([-1, 1], 3)
    task = task_of(Formula.from_clauses(clauses.tolist(), num_variables=n), "auto", anywhere=True)
    assert IslandWalks().pays(task) == pays


def task_of(formula, method, *, anywhere):
    return Task(
        formula=formula,
        method=method,
        options=RunOptions.checked(**CPU),
        anywhere=anywhere,
        max_flips=None,
        target=None,
        initial=None,
        parameters=WeightingOptions(),
        incumbent=Incumbent(formula, None, 0.0),
        presolved=replace(NOTHING_LEFT, formula=formula),
    )


@pytest.mark.parametrize("method", ["auto", "exact", "weighting"])
def test_what_a_named_gpu_cannot_walk_on_is_left_to_the_cpu(method, monkeypatch):
    """And said: too large costs, and too little memory."""
    gpu = Gpu(0, "small one", "9.0", 2**16, None, 1)
    monkeypatch.setattr(rows, "cuda_status", lambda: replace(cuda_status(), gpus=(gpu,)))
    clauses = [[1 + i % 60, 2 + i % 60, -3 - i % 60, 4 + i % 60] for i in range(240)]
    for times, weight, reason in ((1, 1, ""), (1, 2**55, "too large"), (9, 1, "GB")):
        formula = Formula.from_clauses(clauses * times, np.full(240 * times, weight), hard=[[1, 2]])
        task = task_of(formula, method, anywhere=False)
        task.options = task.options.on([Cuda(0)])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert choose(task) is not None
        assert isinstance(task.options.devices[0], Cpu if reason else Cuda)
        assert [reason in str(warning.message) for warning in told] == [True] * bool(reason)
