"""Semidefinite branch and bound on CUDA against the CPU: the same states."""

from __future__ import annotations

import numpy as np
import pytest

import hardscape
from hardscape.errors import DeviceError
from hardscape.ising import Ising, estimate
from hardscape.ising.generators.dense import instance
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice, wide_range

pytestmark = pytest.mark.gpu

MODELS = {
    "integers": lambda n: dense_integer(n, n),
    "no fields": lambda n: dense_integer(n, n, fields=False),
    "large integers": lambda n: dense_integer(n, n, bound=10**9),
    "gaussian": lambda n: dense_gaussian(n, n),
    "wide range": lambda n: wide_range(n, n),
    "signs": lambda n: Ising(
        np.zeros(n), np.triu(np.random.default_rng(n).choice([-1.0, 1.0], (n, n)), 1)
    ),
    "lattice": lambda n: plus_minus_lattice(n // 6, 6, 3),
}


def both(model, *asked, **how):
    """What a GPU and the CPU find."""
    return [
        hardscape.spectrum(model, *asked, device=device, method="semidefinite", seed=1, **how)
        for device in ("cuda:0", "cpu")
    ]


def assert_same(found, expected):
    assert found.certified
    assert found.states.tobytes() == expected.states.tobytes()
    assert found.energies.tobytes() == expected.energies.tobytes()
    assert found.levels == expected.levels


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("n", [1, 24, 30, 48])
@pytest.mark.parametrize("count", [1, 60])
def test_cuda_equals_cpu(kind, n, count):
    assert_same(*both(MODELS[kind](max(n, 6) if kind == "lattice" else n), count))


@pytest.mark.parametrize(
    ("kind", "n"), [("be", 80), ("g05", 60), ("g05", 70), ("pm1s", 80), ("gauss", 64)]
)
@pytest.mark.parametrize("count", [1, 100])
def test_dense_models_with_complete_ties(kind, n, count):
    found, expected = both(instance(kind, n, 1), count)
    assert_same(found, expected)
    assert found.info["cut"] > 0


def test_windows_and_cutoffs():
    model = dense_integer(40, 3)
    found, expected = both(model, 2000, window=30.0)
    assert_same(found, expected)
    assert found.num_states > 1
    top = float(expected.energies[1])
    assert_same(*both(model, 50, cutoff=top))
    assert_same(*both(model, 50, cutoff=float(expected.energies[0]) - 2))


def test_more_variables_than_a_warp_of_warps():
    """Of more than 128 spins another kernel is taken."""
    assert_same(*both(instance("be", 140, 1), 1))


def test_a_limit_leaves_the_best_and_a_bound():
    model = instance("gauss", 150, 1)
    found = hardscape.spectrum(
        model, 1, device="cuda:0", method="semidefinite", seed=1, time_limit=3
    )
    assert not found.certified
    assert found.lower_bound <= found.energies[0]


def test_a_ledger(tmp_path):
    model, ledger = instance("g05", 60, 2), tmp_path / "ledger"
    how = {"device": "cuda:0", "method": "semidefinite", "checkpoint": ledger}
    first, again = (hardscape.spectrum(model, 20, **how) for _ in range(2))
    assert_same(again, first)
    assert again.info["resumed_shards"] > 1


def test_an_estimate():
    told = estimate(instance("g05", 60, 1), 1, device="cuda:0", method="semidefinite")
    assert 0 < told.seconds < 60


def test_what_a_gpu_does_not_take():
    with pytest.raises(DeviceError):
        hardscape.spectrum(dense_gaussian(300, 1), 1, method="semidefinite", device="cuda:0")
