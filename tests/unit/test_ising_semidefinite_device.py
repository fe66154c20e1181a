"""Semidefinite bounds as a GPU finds them; here g++ compiles the kernel."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, Cuda, RunOptions, Shard
from hardscape.ising import Ising
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.semidefinite import device_bounds
from hardscape.ising.methods.semidefinite.semidefinite import Semidefinite, SemidefiniteWork
from helpers.cuda_on_host import HostPlace

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

PLACE = HostPlace()
KINDS = {
    "integers": lambda rng, n: rng.integers(-9, 10, (n, n)),
    "signs": lambda rng, n: rng.choice([-1, 1], (n, n)),
    "cut": lambda rng, n: 7 * rng.integers(0, 2, (n, n)),
    "ferromagnet": lambda rng, n: -np.ones((n, n)),
    "real": lambda rng, n: rng.normal(size=(n, n)),
    "wide": lambda rng, n: rng.normal(size=(n, n)) * 10.0 ** rng.integers(-9, 9, (n, n)),
}


def work_of(
    kind: str, n: int, seed: int, count: int, window: int | None = None
) -> SemidefiniteWork:
    rng = np.random.default_rng([seed, n])
    couplings = np.triu(KINDS[kind](rng, n), 1).astype(float)
    fields = rng.integers(-5, 6, n) * float(seed % 2)
    wanted = Wanted(Ising(fields, couplings).exact, min(count, 1 << n) + 1, window)
    options = RunOptions.checked(device="cpu", threads=1, seed=1)
    return Semidefinite().work(wanted, options)


def context(stop: int = 0) -> Context:
    return Context(Cpu(), None, np.full(1, stop, dtype=np.uint8))


def on_device(work: SemidefiniteWork, ranges, leaf: int, together: int):
    """What is found with bounds of the kernel, and how many nodes they cut."""
    found, cut = work.nothing(), 0
    for numbers in ranges:
        task = (work.places + work.wanted.terms.symmetric, *numbers, *work.sought(None))
        states, energies, complete, *counters, _ = device_bounds.search(
            work.core, task, PLACE, context(), leaf, together
        )
        assert complete
        cut += counters[1]
        found = work.merge(found, {**work.nothing(), "states": states, "energies": energies})
    return work.result(found), cut


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("count", "window"), [(1, None), (40, None), (30, 9)])
def test_spectra_are_those_of_the_cpu(kind, count, window) -> None:
    cuts = 0
    for n, seed in ((1, 0), (8, 1), (10, 2)):
        work = work_of(kind, n, seed, count, window)
        expected = work.result(work.run(Shard(0, 0, 1 << work.free), context()).partial)
        found, cut = on_device(work, [(0, 1 << work.places)], leaf=3, together=64)
        # The last one only tells whether others tie with the one before.
        np.testing.assert_array_equal(found.states[:count], expected.states[:count])
        np.testing.assert_array_equal(found.energies, expected.energies)
        cuts += cut
    assert cuts > 0 or count > 1


def test_parts_of_few_nodes_and_few_duals_and_nothing_known(monkeypatch) -> None:
    monkeypatch.setattr(device_bounds, "_DUALS", 3)
    for seed in range(3):
        work = replace(work_of("integers", 9, seed, 5), known=None)
        expected = work.result(work.run(Shard(0, 0, 1 << work.free), context()).partial)
        middle = (1 << work.places) // 3
        found, cut = on_device(
            work, [(0, middle), (middle, 1 << work.places)], leaf=2, together=1 + seed
        )
        np.testing.assert_array_equal(found.states[:5], expected.states[:5])
        np.testing.assert_array_equal(found.energies, expected.energies)
        assert cut > 0


def test_a_stop_leaves_what_is_known() -> None:
    work = work_of("signs", 26, 0, 1)
    task = (work.places + 1, 0, 1 << work.places, *work.sought(None))
    found = device_bounds.search(work.core, task, PLACE, context(stop=1))
    assert not found[2]
    np.testing.assert_array_equal(found[1][:1], work.known["energies"][:1])


def _pair_energies(couplings, fields):
    """Of all states of m variables, the first one up."""
    m = len(fields)
    states = 1 - 2 * (np.arange(1 << m - 1)[:, None] << 1 >> np.arange(m) & 1)
    whole = couplings.copy()
    whole[0], whole[:, 0] = fields, fields
    return ((states @ np.triu(whole, 1)) * states).sum(axis=1)


def _node(m, couplings, fields, target):
    others = np.triu(couplings[1:m, 1:m], 1)
    scale = max(np.sqrt(2 * (others**2).sum() / m**2), 1.0)
    total = np.abs(others).sum() + np.abs(fields).sum()
    unit = 2.0 ** (np.floor(np.log2(max(total, 1.0))) - 49)
    kind = np.dtype([("numbers", "<f8", 4), ("whole", "<i4", 8)])
    assert kind.itemsize == 64
    node = np.zeros(1, dtype=kind)
    node["numbers"], node["whole"] = (
        (target, scale, unit, 4 * total + 4),
        (m, -1, -1, 80, 0, 16, 0, 0),
    )
    return node.view(np.uint8)


@pytest.mark.parametrize("kind", ["integers", "signs", "cut", "ferromagnet"])
def test_no_more_is_proven_than_holds_and_nearly_all_of_it(kind) -> None:
    """The least energy is no bound that is exceeded; a step below it the proof mostly succeeds."""
    proven = 0
    for seed in range(3):
        rng = np.random.default_rng([seed, 5])
        m = 9
        couplings = np.triu(KINDS[kind](rng, m), 1).astype(float)
        couplings += couplings.T
        fields = np.append(0.0, rng.integers(-9, 10, m - 1))
        least = _pair_energies(couplings, fields).min()
        bounds = device_bounds.DeviceBounds(PLACE, couplings, 2, 1)
        targets = (least, least - 2)
        nodes = np.concatenate([_node(m, couplings, fields, target) for target in targets])
        bounds.start(nodes, np.stack([fields, fields]))
        told = np.dtype(
            [("energy", "<f8", 2), ("cut", "<i4"), ("rounds", "<i4"), ("down", "<u4", 8)]
        )
        found = bounds.bounds().view(told)
        assert found["cut"][0] == 0
        proven += found["cut"][1]
        # The state that it comes upon has the energy that it tells.
        spins = 1 - 2 * (int(found["down"][0, 0]) >> np.arange(m) & 1)
        whole = couplings.copy()
        whole[0], whole[:, 0] = fields, fields
        assert spins[0] == 1
        assert found["energy"][0, 1] == spins @ np.triu(whole, 1) @ spins
        assert found["energy"][0, 1] >= least
    assert proven >= 2


def test_what_a_gpu_takes() -> None:
    row = Semidefinite()
    few, many = (Wanted(Ising(np.ones(n), {}).exact, 2, None) for n in (100, 300))
    assert row.runs_on(Cuda(0), few)
    assert not row.runs_on(Cuda(0), many)
    assert row.runs_on(Cpu(0), many)


def test_where_the_device_is_left_open(monkeypatch) -> None:
    """A GPU is taken for long searches under semidefinite bounds, if nothing speaks against it."""
    found, spectrum = [], sys.modules["hardscape.ising.spectrum"]
    monkeypatch.setattr(spectrum, "resolve", lambda *_, **__: (Cuda(0),))
    for n, run in ((110, {}), (60, {}), (110, {"threads": 1}), (110, {"device": "cpu"})):
        wanted = Wanted(Ising(np.zeros(n), np.triu(np.ones((n, n)), 1)).exact, 2, None)
        options = RunOptions.checked(**run)
        placed = spectrum._placed(wanted, "semidefinite", True, options, run)
        found.append(isinstance(placed.devices[0], Cuda))
    assert found == [True, False, False, False]
