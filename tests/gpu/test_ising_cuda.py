"""The spectrum on CUDA against the CPU: the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

import hardscape
from hardscape.ising.methods.exhaustive import cuda
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice, wide_range

pytestmark = pytest.mark.gpu

INSTANCES = {
    "integer": lambda n, seed: dense_integer(n, seed),
    "integer, no fields": lambda n, seed: dense_integer(n, seed, fields=False),
    "large integers": lambda n, seed: dense_integer(n, seed, bound=10**9),
    "gaussian": lambda n, seed: dense_gaussian(n, seed),
    "gaussian, no fields": lambda n, seed: dense_gaussian(n, seed, fields=False),
    "wide range": lambda n, seed: wide_range(n, seed),
}


def assert_same(a, b):
    assert a.certified
    assert b.certified
    assert a.energies.tobytes() == b.energies.tobytes()
    assert a.states.tobytes() == b.states.tobytes()
    assert a.levels == b.levels


@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("n", [20, 24, 33])
def test_cuda_equals_cpu(kind, n):
    model = INSTANCES[kind](n, n)
    for num_states in (1, 3000):
        expected = hardscape.spectrum(model, num_states, device="cpu")
        for prune in (True, False):
            assert_same(
                hardscape.spectrum(model, num_states, device="cuda:0", prune=prune), expected
            )


def test_degenerate_ground_states():
    model = plus_minus_lattice(5, 6, 3)
    assert_same(
        hardscape.spectrum(model, 20000, device="cuda:0"),
        hardscape.spectrum(model, 20000, device="cpu"),
    )


def test_window():
    model = dense_gaussian(30, 4)
    cpu = hardscape.spectrum(model, window=6.0, device="cpu")
    assert cpu.num_states > 10
    assert_same(hardscape.spectrum(model, window=6.0, device="cuda:0"), cpu)


def test_nothing_is_dropped_when_the_buffer_overflows(monkeypatch):
    model = dense_integer(30, 9, bound=3)
    expected = hardscape.spectrum(model, 50000, device="cpu")
    monkeypatch.setattr(cuda, "_CAPACITY", 64)
    assert_same(hardscape.spectrum(model, 50000, device="cuda:0"), expected)


def test_result_of_many_chunks_is_the_same_on_all_gpus():
    model = dense_gaussian(34, 8)
    assert_same(
        hardscape.spectrum(model, 1000, device="cuda"),
        hardscape.spectrum(model, 1000, device="cuda:0"),
    )


def test_input_is_not_modified():
    h, J = np.ones(20), np.triu(np.ones((20, 20)), 1)
    hardscape.spectrum((h, J), 10, device="cuda:0")
    assert (h == 1).all()
    assert (np.triu(np.ones((20, 20)), 1) == J).all()
