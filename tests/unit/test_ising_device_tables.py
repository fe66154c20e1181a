"""Tables of the frontier as a GPU fills them against those of a CPU thread; here g++ compiles the kernel."""

from __future__ import annotations

import gc
import shutil
import weakref
from functools import partial

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, Cuda, RunOptions, Shard
from hardscape.errors import BudgetError
from hardscape.ising import Ising
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.frontier import elimination
from hardscape.ising.methods.frontier.device_tables import DeviceTables
from hardscape.ising.methods.frontier.lowest import Frontier, FrontierStatesWork
from helpers.cuda_on_host import HostPlace
from helpers.instances import plus_minus_lattice

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

PLACE = HostPlace()
COEFFICIENTS = {
    32: [-3.0, -2.0, 0.0, 1.0, 2.0, 3.0],
    64: [2.0**24 + 1, -(2.0**23) + 3, 5.0],
    128: [2.0**50 + 1, -(2.0**49) + 3, 5.0],
}


def sparse(size: int, n: int, seed: int, fields: bool) -> Ising:
    rng = np.random.default_rng([seed, size])
    drawn = rng.choice(COEFFICIENTS[size], (n, n))
    couplings = np.triu(np.where(rng.random((n, n)) < 3 / n, drawn, 0.0), 1)
    return Ising(rng.choice(COEFFICIENTS[size], n) * fields, couplings)


def assert_same(work: FrontierStatesWork, stop: int = 0) -> None:
    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
    shard = Shard(0, 0, work.plan.slices)
    make = partial(DeviceTables, PLACE)
    found = work.with_tables(make, shard, context, scarce=True).partial
    expected = work.run(shard, context).partial
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("size", COEFFICIENTS)
@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize(("count", "window"), [(2, None), (60, None), (100, 4)])
def test_the_lowest_states_are_those_of_the_cpu(size, fields, count, window) -> None:
    for n, seed in ((1, 1), (9, 2), (24, 3)):
        exact = sparse(size, n, seed, fields).exact
        plan = elimination.elimination(exact)
        work = FrontierStatesWork(Wanted(exact, min(count, 1 << n), window), plan)
        assert n < 24 or work.size == size
        assert_same(work)


def test_slices(monkeypatch) -> None:
    exact = plus_minus_lattice(5, 6, seed=2).exact
    plan = elimination.elimination(exact)
    for _ in range(2):
        held = exact.num_spins - 1
        inside = (exact.row != held) & (exact.col != held)
        graph = elimination._Graph(exact.num_spins, exact.row[inside], exact.col[inside])
        plan = graph.finer(plan)
    work = FrontierStatesWork(Wanted(exact, 300, None), plan)
    assert work.plan.slices == 4
    assert_same(work)


def test_scarce_tables_are_there_once() -> None:
    # More states tie than the tables' bits tell apart, slice after slice.
    exact = Ising(np.zeros(45), {(i, i + 1): 1.0 for i in range(0, 44, 2)}).exact
    graph = elimination._Graph.of(exact)
    plan = graph.finer(elimination.elimination(exact))
    work = FrontierStatesWork(Wanted(exact, 4, None), plan)
    most, made = 0, []

    def make(*told):
        nonlocal most
        gc.collect()
        most = max(most, 1 + sum(one() is not None for one in made))
        tables = DeviceTables(PLACE, *told)
        made.append(weakref.ref(tables))
        return tables

    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
    shard = Shard(0, 0, work.plan.slices)
    found = work.with_tables(make, shard, context, scarce=True).partial
    assert len(made) > work.plan.slices == 2
    assert most == 1
    np.testing.assert_array_equal(found["states"], work.run(shard, context).partial["states"])


def test_a_gpu_takes_larger_slices() -> None:
    side = 14
    place = np.arange(side * side).reshape(side, side)
    couplings = np.zeros((side * side, side * side))
    for axis in range(2):
        couplings[place, np.roll(place, -1, axis)] = 1.0
    exact = Ising(np.zeros(side * side), np.triu(couplings + couplings.T)).exact
    many, few = (elimination.elimination(exact, most).slices for most in (2.0**24, 2.0**32))
    assert few < many


def test_what_a_gpu_does_not_take() -> None:
    frontier = Frontier()
    wide = Wanted(Ising([1e12, 1e-12], {(0, 1): 3e-7}).exact, 2, None)
    plain = Wanted(Ising([1.0, 2.0], {(0, 1): 3.0}).exact, 2, None)
    assert [frontier.runs_on(Cuda(), wanted) for wanted in (wide, plain)] == [False, True]
    assert frontier.runs_on(Cpu(), wide)


def test_a_stop_and_too_little_memory(monkeypatch) -> None:
    exact = plus_minus_lattice(4, 4, seed=2).exact
    options = RunOptions.checked(device="cpu", threads=1, seed=1)
    work = Frontier().work(Wanted(exact, 3, None), options)
    stopped = Context(Cpu(), None, np.ones(1, dtype=np.uint8))
    make = partial(DeviceTables, PLACE)
    assert not work.with_tables(make, Shard(0, 0, 1), stopped).complete
    monkeypatch.setattr(PLACE, "free", lambda: 100)
    with pytest.raises(BudgetError):
        work.with_tables(make, Shard(0, 0, 1), stopped)
