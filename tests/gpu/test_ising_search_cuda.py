"""Searches on CUDA against the CPU: the same runs, move by move, hence the same states."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape.errors import DeviceError
from hardscape.ising import Ising, search
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice

pytestmark = pytest.mark.gpu


def real_lattice(rows, columns):
    exact = plus_minus_lattice(rows, columns, seed=1).exact
    rng = np.random.default_rng(1)
    pairs = zip(exact.row.tolist(), exact.col.tolist(), strict=True)
    return Ising(rng.normal(size=rows * columns), {pair: rng.normal() for pair in pairs})


def both(model, **how):
    """What a GPU and what CPU threads find."""
    return [search(model, device=device, seed=3, **how) for device in ("cuda:0", "cpu")]


def assert_same(found, expected):
    np.testing.assert_array_equal(found.states, expected.states)
    np.testing.assert_array_equal(found.energies, expected.energies)
    for name in ("runs", "moves", "search"):
        assert found.info[name] == expected.info[name]


#: A model, who searches it, and moves: some runs relink or join elites, the others are short.
MODELS = {
    "integers": (lambda: dense_integer(70, 1, bound=50), "tabu", 60_000),
    "16 bits": (lambda: dense_integer(150, 2, bound=1000), "tabu", 4000),
    "32 bits": (lambda: dense_integer(60, 3, bound=50_000), "tabu", 3000),
    "reals": (lambda: dense_gaussian(90, 4), "tabu", 60_000),
    "a warp is full": (lambda: dense_integer(1024, 5, bound=50), "tabu", 400),
    "two warps": (lambda: dense_integer(1100, 5, bound=50), "tabu", 400_000),
    "eight warps": (lambda: plus_minus_lattice(60, 120, 6), "tabu", 200),
    "reals on several warps": (lambda: dense_gaussian(1100, 7), "tabu", 200),
    "a lattice": (lambda: plus_minus_lattice(20, 20, 8), "annealing", 1_000_000),
    "a real lattice": (lambda: real_lattice(15, 15), "annealing", 800_000),
    "large gains": (lambda: dense_integer(100, 9, bound=50_000), "annealing", 400_000),
    "a large lattice": (lambda: plus_minus_lattice(70, 80, 10), "annealing", 1_000_000),
    "one spin": (lambda: Ising([2.0], {}), "tabu", 50),
    "free spins": (lambda: Ising(np.zeros(5), {}), "annealing", 200),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_run_makes_the_moves_of_the_cpu(kind):
    made, method, moves = MODELS[kind]
    model = made()
    found, expected = both(model, num_states=5, runs=21, moves=moves, method=method)
    assert_same(found, expected)


@pytest.mark.parametrize("method", ["tabu", "annealing"])
def test_given_states_and_equal_runs(method):
    model = dense_integer(70, 1)
    given = np.random.default_rng(1).choice([-1, 1], (3, 70))
    how = {"runs": 40, "equal_runs": 8, "moves": 5000, "method": method, "initial_states": given}
    assert_same(*both(model, num_states=30, **how))


def test_no_spins():
    assert search(Ising([], {}, 1.5), device="cuda:0", seed=1).energies.tolist() == [1.5]


def test_a_target_ends_it():
    model = dense_integer(100, 3)
    best = search(model, device="cpu", seed=1).energies[0]
    found = [search(model, device="cuda:0", seed=k, target=float(best)) for k in (1, 1)]
    assert found[0].energies[0] <= best
    assert_same(*found)


def test_a_time_limit_ends_it():
    found = search(dense_integer(300, seed=1), 3, device="cuda:0", time_limit=0.5, seed=1)
    assert found.stopped == "time_limit"
    assert found.num_states == 3
    assert found.info["device"] == "1 GPU(s)"


def test_auto_takes_a_gpu_for_seconds_of_work():
    model = dense_integer(100, 3)
    assert "GPU" in search(model, seed=1, time_limit=2.5).info["device"]
    assert "CPU" in search(model, seed=1, runs=2).info["device"]


def test_a_checkpoint_goes_on(tmp_path):
    model = dense_integer(100, 3)
    how = {"device": "cuda:0", "seed": 3, "runs": 20_000, "equal_runs": 20_000, "moves": 2000}
    expected = search(model, **how)
    for _ in range(2):
        found = search(model, checkpoint=tmp_path / "job", **how)
        assert_same(found, expected)
    assert found.info["resumed_shards"]


def test_what_a_gpu_does_not_take():
    ring = Ising(np.zeros(17_000), {(i, i + 1): 1.0 for i in range(16_999)})
    for method in ("tabu", "matching"):
        with pytest.raises(DeviceError):
            search(ring, method=method, device="cuda:0")
