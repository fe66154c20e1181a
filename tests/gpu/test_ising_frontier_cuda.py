"""The frontier on CUDA against the CPU: the same states."""

from __future__ import annotations

import numpy as np
import pytest

import hardscape
from hardscape.errors import DeviceError
from hardscape.ising import Ising
from helpers.instances import plus_minus_lattice

pytestmark = pytest.mark.gpu


def torus(rows, columns, values, seed=1):
    """A lattice around both edges with couplings of these values."""
    rng = np.random.default_rng(seed)
    place = np.arange(rows * columns).reshape(rows, columns)
    couplings = np.zeros((place.size, place.size))
    for axis in range(2):
        couplings[place, np.roll(place, -1, axis)] = rng.choice(values, place.shape)
    return Ising(np.zeros(place.size), np.triu(couplings + couplings.T))


MODELS = {
    "32 bits": lambda: torus(8, 9, [-1.0, 1.0]),
    "64 bits": lambda: torus(6, 8, [2.0**24 + 1, -(2.0**23) + 3, 5.0]),
    "128 bits": lambda: torus(6, 6, [2.0**50 + 1, -(2.0**49) + 3, 5.0]),
    "wide": lambda: torus(12, 12, [-1.0, 1.0]),
    "free edges": lambda: plus_minus_lattice(9, 14, 3),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("wanted", [{"num_states": 1}, {"num_states": 500}, {"window": 4.0}])
def test_cuda_equals_cpu(kind, wanted):
    model = MODELS[kind]()
    if "window" in wanted and kind in ("wide", "free edges", "32 bits"):
        wanted = {**wanted, "num_states": 2000}
    found, expected = (
        hardscape.spectrum(model, method="frontier", device=device, **wanted)
        for device in ("cuda:0", "cpu")
    )
    assert found.certified
    assert found.levels == expected.levels
    np.testing.assert_array_equal(found.states, expected.states)
    np.testing.assert_array_equal(found.energies, expected.energies)


def test_a_torus_in_slices():
    """Of width 28, whose slices differ from those of CPUs."""
    model = torus(14, 14, [-1.0, 1.0])
    found = hardscape.spectrum(model, 1, method="frontier", device="cuda:0")
    expected = hardscape.spectrum(model, 1, device="cpu")
    np.testing.assert_array_equal(found.states, expected.states)
    assert found.certified


def test_a_torus_of_width_32_is_planned_for_the_gpu_s_memory():
    model = torus(16, 16, [-1.0, 1.0], seed=2)
    found = hardscape.spectrum(model, 1, method="frontier", device="cuda:0", seed=1)
    expected = hardscape.spectrum(model, 1, device="cpu", seed=1)
    np.testing.assert_array_equal(found.states, expected.states)
    assert found.certified


def test_what_a_gpu_does_not_take():
    wide = Ising([1e12, 1e-12], {(0, 1): 3e-7})
    with pytest.raises(DeviceError):
        hardscape.spectrum(wide, 1, method="frontier", device="cuda:0")
