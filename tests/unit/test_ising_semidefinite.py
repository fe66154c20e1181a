"""Branch and bound under semidefinite bounds: the same spectra as by the other tree, and proofs that hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import hardscape
from hardscape.engine import Cpu, ProgressEvent, RunOptions
from hardscape.errors import DeviceError, InputError
from hardscape.ising import Ising, estimate
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.semidefinite.semidefinite import SemidefiniteWork
from hardscape.ising.spectrum import METHODS
from helpers.spectra import assert_same_list


def model_of(kind, n, seed):
    rng = np.random.default_rng([seed, n])
    couplings = {
        "integers": lambda: rng.integers(-9, 10, (n, n)),
        "signs": lambda: rng.choice([-1, 1], (n, n)),
        "cut": lambda: 7 * rng.integers(0, 2, (n, n)),
        "sparse": lambda: rng.choice([-1, 1], (n, n)) * (rng.random((n, n)) < 0.15),
        "real": lambda: rng.normal(size=(n, n)),
        "wide": lambda: rng.normal(size=(n, n)) * 10.0 ** rng.integers(-9, 9, (n, n)),
    }[kind]()
    fields = np.zeros(n) if seed % 2 else rng.integers(-5, 6, n) * (1 if kind != "real" else 0.7)
    return Ising(fields, np.triu(couplings, 1).astype(float))


@pytest.mark.parametrize("kind", ["integers", "signs", "cut", "sparse", "real", "wide"])
@pytest.mark.parametrize("seed", range(4))
def test_spectra_are_those_of_the_other_tree(kind, seed):
    model = model_of(kind, 27 + 2 * seed, seed)
    for num_states in (1, 2, 40):
        found = hardscape.spectrum(
            model, num_states, method="semidefinite", device="cpu", threads=1, seed=seed
        )
        assert_same_list(
            found, hardscape.spectrum(model, num_states, method="tree", device="cpu", threads=1)
        )
        assert found.method == "semidefinite"
    assert found.info["cut"] > 0


def test_windows():
    model = model_of("integers", 28, 0)
    asked = {"num_states": 500, "window": 12, "device": "cpu"}
    found = hardscape.spectrum(model, method="semidefinite", **asked)
    assert_same_list(found, hardscape.spectrum(model, method="tree", **asked))
    assert found.num_states > 1


@pytest.mark.parametrize("n", [0, 1, 2, 5, 24, 25])
def test_few_spins(n):
    for seed in (0, 1):
        model = model_of("integers", n, seed)
        found = hardscape.spectrum(model, 3, method="semidefinite", device="cpu", seed=1)
        assert_same_list(found, hardscape.spectrum(model, 3, method="exhaustive", device="cpu"))


def planted(n, seed):
    """Couplings that all favour one state and its partner; that state and its energy."""
    rng = np.random.default_rng(seed)
    state = rng.choice([-1, 1], n)
    strength = np.triu(rng.integers(1, 20, (n, n)), 1).astype(float)
    return Ising(np.zeros(n), -strength * np.outer(state, state)), state, -strength.sum()


@pytest.mark.parametrize("n", [63, 64, 65, 90, 128, 129, 200])
def test_states_of_several_words(n):
    model, state, energy = planted(n, n)
    found = hardscape.spectrum(model, 2, device="cpu", threads=1, seed=1)
    assert found.method == "semidefinite"
    assert found.certified
    assert {row.tobytes() for row in found.states} == {
        row.astype(np.int8).tobytes() for row in (state, -state)
    }
    assert found.energies.tolist() == [energy, energy]


def test_the_same_bytes_whoever_searches(tmp_path):
    model = model_of("real", 44, 3)
    run = {"method": "semidefinite", "device": "cpu", "seed": 3}
    alone = hardscape.spectrum(model, 20, threads=1, **run)
    assert_same_list(hardscape.spectrum(model, 20, threads=3, **run), alone)
    with ThreadPoolExecutor(2) as executor:
        assert_same_list(hardscape.spectrum(model, 20, executor=executor, **run), alone)
    path = tmp_path / "low.ledger"
    cut = hardscape.spectrum(model, 20, threads=1, time_limit=0.05, checkpoint=path, **run)
    assert not cut.certified
    assert_same_list(hardscape.spectrum(model, 20, threads=2, checkpoint=path, **run), alone)


@pytest.mark.parametrize("num_states", [1, 2, 5, 30])
@pytest.mark.parametrize("seed", [0, 1])
def test_ties_that_are_not_listed(num_states, seed):
    rng = np.random.default_rng(seed)
    n = 30
    couplings = np.kron(np.eye(6), np.ones((5, 5))) * rng.choice([-1, 1], (n, n))
    fields = np.zeros(n) if seed else np.kron(rng.integers(0, 2, 6), np.ones(5))
    model = Ising(fields, np.triu(couplings, 1))
    found = hardscape.spectrum(model, num_states, method="semidefinite", device="cpu", seed=1)
    assert_same_list(found, hardscape.spectrum(model, num_states, method="tree", device="cpu"))
    assert not found.levels[-1].complete


@pytest.mark.parametrize("kind", ["integers", "real", "cut", "wide"])
def test_bounds_of_what_is_left(kind):
    rng = np.random.default_rng(1)
    row = next(row for row in METHODS if row.name == "semidefinite")
    for seed in range(4):
        terms = model_of(kind, 11, seed).exact
        work = row.work(
            Wanted(terms, 2, None), RunOptions.checked(device="cpu", threads=1, seed=seed)
        )
        units = np.arange(1 << work.free)
        spins = np.empty((len(units), 11), dtype=np.int8)
        for place, spin in enumerate(work.order):
            differs = units >> (10 - place) & 1
            spins[:, spin] = np.where(differs, -1, 1) * (1 if work.gauge >> spin & 1 else -1)
        energies = from_limbs(terms.words(spins))
        for _ in range(4):
            a, b, c, d = sorted(rng.choice(len(units) + 1, 4, replace=False).tolist())
            bound = work.least_bound([(a, b), (c, d)])
            assert bound is None or bound <= min(energies[a:b] + energies[c:d])
        bound = work.least_bound([(0, len(units))])
        assert bound is not None
        assert min(energies) - terms.bound / 10 <= bound <= min(energies)


def test_the_bound_of_what_is_left_does_not_depend_on_the_shards(monkeypatch):
    """A GPU has all states in one shard; its bound is that of a tree all the same."""
    monkeypatch.setattr("hardscape.ising.methods.semidefinite.semidefinite._BOUND_SECONDS", 60.0)
    row = next(row for row in METHODS if row.name == "semidefinite")
    options = RunOptions.checked(device="cpu", threads=1, seed=1)
    for seed in range(4):
        model = model_of("integers", 14, seed)
        work = replace(row.work(Wanted(model.exact, 2, None), options), numbered=0)
        assert len(work.shards()) == 1
        least = hardscape.spectrum(model, 1, method="exhaustive", device="cpu").energies[0]
        # The tree is opened as far as it goes: to single states.
        bound = work.least_bound([(0, 1 << work.free)])
        assert bound is not None
        assert model.exact.floats([bound])[0] == least


def test_auto_takes_what_pays():
    dense, sparse = model_of("integers", 60, 1), Ising.from_any({(i, i + 1): 1 for i in range(60)})
    assert hardscape.spectrum(sparse, 1, device="cpu").method == "frontier"
    limited = {"device": "cpu", "threads": 1, "time_limit": 0.2}
    assert hardscape.spectrum(dense, 1, **limited).method == "semidefinite"
    assert hardscape.spectrum(dense, 10**5, **limited).method == "tree"
    # A budget: all spins repel one another.
    budget = Ising(np.zeros(40), np.triu(model_of("integers", 40, 1).J + 30, 1))
    found = hardscape.spectrum(budget, 1, device="cpu", threads=1, seed=1)
    assert (found.method, found.certified) == ("semidefinite", True)


def test_estimates():
    cost = estimate(
        model_of("integers", 60, 1), 1, method="semidefinite", device="cpu", threads=1, seed=1
    )
    assert 0 < cost.seconds < 600


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "sdp"},
        {"method": "semidefinite", "prune": False},
        {"method": "semidefinite", "num_states": 10**6},
        {"method": "tree", "prune": False},
    ],
)
def test_what_no_method_does(wrong):
    with pytest.raises(InputError):
        hardscape.spectrum(model_of("integers", 30, 1), **{"device": "cpu", **wrong})


def test_it_runs_on_cpus(monkeypatch):
    row = next(row for row in METHODS if row.name == "semidefinite")
    monkeypatch.setattr(type(row), "devices", ())
    with pytest.raises(DeviceError):
        hardscape.spectrum(
            model_of("integers", 30, 1), 1, method="semidefinite", device="cpu", threads=1
        )


@pytest.mark.parametrize("n", [3, 12, 30])
def test_parts_weigh_as_much_as_random_paths_that_come_there(n: int) -> None:
    work = SemidefiniteWork(Wanted(model_of("real", n, 0).exact, 5, None))
    parts = work.expected(Cpu(), None)
    assert parts is not None
    depth = min(16, work.places)
    assert parts.shape == (1 << depth,)
    assert parts.sum() == pytest.approx(1)
    for number in (0, 1, len(parts) // 3, len(parts) - 1):
        away = number.bit_count()  # from the low state
        assert parts[number] == pytest.approx(0.7 ** (depth - away) * 0.3**away)


def test_progress_weighs_parts() -> None:
    model = Ising(np.zeros(86), np.triu(np.random.default_rng(3).normal(size=(86, 86)), 1))
    told: list[ProgressEvent] = []
    found = hardscape.spectrum(model, 10, method="semidefinite", threads=1, progress=told.append)
    assert found.certified
    shares = [event.share for event in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    underway = [event for event in told if 0 < event.done < event.total]
    if len(underway) > 2:  # what parts take is known soon after the first of them
        assert any(event.share > event.done / event.total for event in underway)
