"""Islands of walks: who takes over whose assignment, and what comes of it."""

import numpy as np
import pytest

from hardscape import native
from hardscape.engine import Device, run
from hardscape.maxsat.walk import MANY_EXPONENTS, break_weights
from hardscape.maxsat.walkers import CpuWalks, WalkIslands, elites, islands
from hardscape.maxsat.walkers.elites import Elites
from helpers.maxsat_random import random_clauses

STOP = np.zeros(1, dtype=np.uint8)
CPU = [Device("cpu", 0)]


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
    rule = Elites(walks, 1, 0)
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
    rule = Elites(walks, 3, 0)
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


def test_a_walk_goes_on_from_an_assignment():
    formula = random_clauses(60, 250, 3, seed=1)
    weights = break_weights(3)
    walk = native.core().Walk(60, formula.literals, formula.offsets, weights, 3, 0, None)
    walk.run(100, 0, STOP)
    best, least, cost = walk.best(), walk.best_cost, walk.cost
    walk.renew()
    assert walk.best_cost == walk.cost == cost >= least
    walk.renew(best)
    assert (walk.best() == best).all()
    assert walk.best_cost == walk.cost == least
    walk.run(50, 0, STOP)
    assert formula.num_clauses - formula.satisfied(walk.best()).sum() == walk.best_cost <= least


def test_walks_adopt_the_best_of_others():
    formula = random_clauses(60, 260, 3, seed=2)
    walks = CpuWalks(formula, 5, 0, 4, STOP)
    walks.run(200, 0)
    best = walks.status["best"].copy()
    violated = walks.status["violated"].copy()
    walks.adopt(np.array([-1, 0, 3, -1], dtype=np.int32))
    walks.run(0, 0)
    assert walks.status["violated"].tolist() == [violated[0], best[0], best[3], violated[3]]
    assert (walks.status["best"] == walks.status["violated"]).all()
    assert walks.status["flips"].tolist() == [200] * 4


def test_the_answer_does_not_depend_on_how_turns_are_cut(monkeypatch):
    formula = random_clauses(150, 620, 3, seed=2)
    answers = []
    for flips in (256, 17, 5000):
        monkeypatch.setattr(islands, "_FIRST_FLIPS", flips)
        found = run(
            WalkIslands(formula, seed=3, walks=20, target=2, exchange=700), devices=CPU
        ).partial
        assert found["violated"][0] <= 2
        assert formula.cost(found["assignment"]) == found["violated"][0]
        answers.append(found["assignment"])
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == answers[2]).all()


def test_limits_and_offers():
    formula = random_clauses(100, 500, 3, seed=1)
    some = run(WalkIslands(formula, seed=1, walks=5, max_flips=6000, exchange=2500), devices=CPU)
    assert some.complete
    assert some.partial["flips"][0] == 30_000
    offered = []
    work = WalkIslands(
        formula, seed=1, endless=True, offer=lambda x: offered.append(formula.cost(x))
    )
    limited = run(work, devices=CPU, time_limit=0.2)
    assert not limited.complete
    assert offered == sorted(set(offered), reverse=True)
    assert offered[-1] == limited.partial["violated"][0]
    # Without a limit it ends when nothing improves.
    assert run(WalkIslands(formula, seed=1, walks=2), devices=CPU).complete


def test_in_a_race_the_fewest_flips_win():
    formula = random_clauses(60, 200, 3, seed=3)
    alone, racing = (CpuWalks(formula, 7, 0, 12, STOP) for _ in range(2))
    alone.run(50_000, 0)
    racing.run(50_000, 0, race=True)
    assert (alone.status["best"] == 0).all()
    winner = alone.winner()
    assert racing.winner() == winner
    assert (racing.improvement() == alone.improvement()).all()
    assert racing.status["flips"].max() <= alone.status["flips"].max()
    assert racing.status["flips"][winner] == racing.status["flips"].min()


def test_walks_differ_in_greed():
    formula = random_clauses(80, 336, 3, seed=4)
    walks = CpuWalks(formula, 5, 0, 4, STOP)
    walks.run(500, 0)
    for i, status in enumerate(walks.status):
        weights = break_weights(3, MANY_EXPONENTS[i % len(MANY_EXPONENTS)])
        walk = native.core().Walk(80, formula.literals, formula.offsets, weights, 5, i, None)
        walk.run(500, 0, STOP)
        assert (status["violated"], status["best"]) == (walk.cost, walk.best_cost)
