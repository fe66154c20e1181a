"""Runs of a search by teams of a GPU's threads make the CPU's moves; here g++ compiles the kernels."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, Shard
from hardscape.ising import Ising
from hardscape.ising.methods.annealing.annealing import AnnealingWork
from hardscape.ising.methods.annealing.teams import AnnealingTeams
from hardscape.ising.methods.runs import RunsWork
from hardscape.ising.methods.tabu.tabu import TabuWork
from hardscape.ising.methods.tabu.teams import TabuTeams
from hardscape.ising.methods.walkers.batch import Batch, Effort
from hardscape.ising.methods.walkers.model import FlipModel
from hardscape.ising.search import units
from helpers.cuda_on_host import HostPlace
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

PLACE = HostPlace()
STOP = np.zeros(1, dtype=np.uint8)


def real_lattice(rows: int, columns: int) -> Ising:
    exact = plus_minus_lattice(rows, columns, seed=1).exact
    rng = np.random.default_rng(1)
    pairs = zip(exact.row.tolist(), exact.col.tolist(), strict=True)
    return Ising(rng.normal(size=rows * columns), {pair: rng.normal() for pair in pairs})


def both(work: RunsWork, given: np.ndarray) -> list[dict[str, np.ndarray]]:
    """What threads of a GPU and what the CPU makes of all runs."""
    shard = Shard(0, 0, work.runs)
    context = Context(Cpu(), None, STOP)
    together = work.made_together(shard, given, PLACE, context)
    one_by_one = work.run(shard, context)
    assert together.complete
    assert one_by_one.complete
    return [together.partial, one_by_one.partial]


def assert_same(work: RunsWork, given: np.ndarray) -> None:
    found, expected = both(work, given)
    for name in ("states", "energies", "counters"):
        np.testing.assert_array_equal(found[name], expected[name])


def given_states(n: int) -> np.ndarray:
    return np.random.default_rng(n).choice([-1, 1], (2, n)).astype(np.int8)


@pytest.mark.parametrize(
    ("kind", "make", "moves"),
    [
        (TabuWork, lambda: dense_integer(12, 5, bound=2), 9000),  # relinks, and begins again
        (TabuWork, lambda: dense_integer(90, 5, bound=20_000), 2500),
        (TabuWork, lambda: dense_gaussian(40, 6), 2500),
        (TabuWork, lambda: dense_integer(1030, 7, bound=3), 30),  # a team of two warps
        (AnnealingWork, lambda: plus_minus_lattice(10, 10, 1), 9000),
        (AnnealingWork, lambda: real_lattice(9, 9), 5000),
        (AnnealingWork, lambda: dense_integer(70, 1, bound=30_000), 8000),
    ],
)
def test_every_run_makes_the_moves_of_the_cpu(kind, make, moves, monkeypatch) -> None:
    monkeypatch.setattr("hardscape.ising.methods.annealing.annealing._SWEEPS", 20)
    monkeypatch.setattr("hardscape.ising.methods.tabu.tabu._LEAST_PATIENCE", 40)
    monkeypatch.setattr("hardscape.ising.methods.tabu.tabu._PATIENCE", 1)
    model = make()
    n = model.num_spins
    given = given_states(n)
    work = kind(model.exact, 7, 5, moves, 3, tuple(row.tobytes() for row in given), equal=2)
    assert_same(work, given)


def test_every_list_of_lowest_states_is_the_cpus() -> None:
    model = dense_integer(12, 5, bound=2)
    work = TabuWork(model.exact, 40, 3, 800, 9)
    teams = work.teams()
    effort = Effort(
        9, 0, np.full(3, 800), np.zeros(3, int), 40, given_states(12)[:0], work.numbers()
    )
    batch = Batch(teams, effort, PLACE)
    for moves in (100, 333, 800):
        batch.run(moves)
    for run in range(3):
        states, _, _ = work.made(given_states(12)[:0], run, 800, STOP)
        held = batch.lowest_of(run)
        assert {row.tobytes() for row in held} == {
            row.tobytes()
            for row in np.unpackbits(
                states.view(np.uint8), axis=1, count=12, bitorder="little"
            ).astype(np.int8)
            * 2
            - 1
        }


def test_a_target_ends_all_runs() -> None:
    model = dense_integer(90, 5, bound=20_000)
    work = TabuWork(model.exact, 1, 4, 10**6, 3, target=units(model, 1e9, "target"))
    found = work.made_together(
        Shard(0, 0, 4), given_states(90)[:0], PLACE, Context(Cpu(), None, STOP)
    )
    assert found.complete
    assert work.finished(found.partial)
    assert found.partial["counters"][1] < 4 * 10**6


def test_a_stop_ends_all_runs() -> None:
    model = dense_integer(90, 5, bound=20_000)
    work = TabuWork(model.exact, 2, 4, 10**6, 3)
    stopped = Context(Cpu(), None, np.ones(1, dtype=np.uint8))
    found = work.made_together(Shard(0, 0, 4), given_states(90)[:0], PLACE, stopped)
    assert not found.complete
    assert found.partial["counters"][1] < 4 * 10**6


@pytest.mark.parametrize("teams", [TabuTeams, AnnealingTeams])
@pytest.mark.parametrize("n", [1, 31, 100, 129, 1025, 2500])
def test_bits_of_states(teams, n: int) -> None:
    model = FlipModel(np.zeros(n), np.zeros(n + 1, int), np.zeros(0, int), np.zeros(0), True)
    given = given_states(n)
    held = teams(model)
    np.testing.assert_array_equal(held.states(held.bits(given)), given)
    assert held.bits(given).shape == (2, held.words, held.threads)


def test_what_fits() -> None:
    ring = Ising(np.zeros(17_000), {(i, i + 1): 1.0 for i in range(16_999)}).exact
    assert TabuWork.unfit(ring)
    assert not AnnealingWork.unfit(ring)
    assert not TabuWork.unfit(dense_integer(300, 1).exact)
