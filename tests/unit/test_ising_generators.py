"""Models that are drawn: what each kind holds, and that seeds tell them apart."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import hardscape
from hardscape.errors import InputError
from hardscape.ising.generators import KINDS, chimera, generate, lattice

SPINS = {
    "grid": 25,
    "torus": 25,
    "cube": 125,
    "chimera": 200,
    "assignment": 25,
    "tour": 25,
    "colouring": 20,
}


@pytest.mark.parametrize("kind", KINDS)
def test_one_seed_gives_one_model(kind):
    model = generate(kind, 5, 7)
    assert model == generate(kind, 5, 7)
    assert model.num_spins == SPINS.get(kind, 5)
    assert len({generate(kind, 5, seed) for seed in range(8)}) > 1


@pytest.mark.parametrize(
    ("kind", "values", "fields"),
    [
        ("g05", {1}, False),
        ("pm1d", {-1, 1}, False),
        ("torus", {-1, 1}, False),
        ("chimera", {-1, 1}, True),
    ],
)
def test_weights(kind, values, fields):
    model = generate(kind, 12, 1)
    assert set(model.couplings[2].tolist()) == values
    assert model.h.any() == fields


def test_densities_and_degrees():
    assert abs(generate("g05", 200, 1).num_couplings / (100 * 199) - 0.5) < 0.02
    assert abs(generate("pm1s", 200, 1).num_couplings / (100 * 199) - 0.1) < 0.01
    assert generate("gka-b", 40, 1).num_couplings > 0.97 * 20 * 39
    assert lattice((4, 5), True, "gauss").num_couplings == 40
    assert lattice((3, 4, 5), False, "signs").num_couplings == 2 * 20 + 3 * 15 + 4 * 12
    assert chimera(3, "gauss").num_couplings == 9 * 16 + 2 * 4 * 3 * 2


def test_assignments_and_partitions_have_their_meaning():
    rng = np.random.default_rng(3)
    costs = rng.integers(1, 100, (4, 4))
    least = hardscape.spectrum(generate("assignment", 4, 3), 1).energies[0]
    assert least == min(sum(costs[i, j] for i, j in enumerate(p)) for p in permutations(range(4)))
    numbers = np.random.default_rng(2).integers(1, 1 << 12, 9).tolist()
    sums = {0}
    for x in numbers:
        sums = {s + x for s in sums} | {s - x for s in sums}
    found = hardscape.spectrum(generate("partition12", 9, 2), 1)
    assert found.energies[0] == min(map(abs, sums)) ** 2


@pytest.mark.parametrize(
    "wrong", [("ising", 5), ("g05", 0), ("g05", 5000), ("g05", 5.5), ("g05", 5, -1), (None, 3)]
)
def test_what_is_refused(wrong):
    with pytest.raises(InputError):
        generate(*wrong)
