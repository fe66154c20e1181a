"""The 2-body form has the energies of the system once its ancillas are minimised over."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

import hardscape
from hardscape.errors import InputError
from hardscape.xorsat import QuadraticModel, XorSystem, quadratize, random_regular
from helpers.xorsat_oracle import all_assignments, systems


@settings(deadline=None, max_examples=60)
@given(systems(most_variables=5, longest=6, most_clauses=4))
def test_energies(system: XorSystem) -> None:
    model = quadratize(system)
    states = all_assignments(system.num_variables)
    others = model.num_spins - system.num_variables
    spins = 1 - 2 * all_assignments(model.num_spins).astype(int)
    least = model.energy(spins).reshape(len(states), 2**others).min(axis=1)
    assert (least == system.energy(states)).all()
    assert (model.assignment(spins).reshape(len(states), 2**others, -1)[:, 0] == states).all()


def test_back() -> None:
    for n in (3, 12, 33):
        system = random_regular(n, seed=n, full_rank=False)
        model = quadratize(system)
        assert model.num_spins == 2 * n
        assert model.to_system() == system


def test_ancillas_of_either_sign() -> None:
    system = random_regular(12, seed=1)
    model = quadratize(system)
    signs = np.ones(24, dtype=int)
    signs[12:] = np.random.default_rng(0).choice([-1, 1], 12)
    turned = dataclasses.replace(
        model, h=model.h * signs, value=model.value * signs[model.row] * signs[model.col]
    )
    assert turned.to_system() == system


def test_the_ising_family_finds_the_solution() -> None:
    system = random_regular(9, seed=2)
    model = quadratize(system)
    ising = hardscape.ising.Ising.from_dict(model.terms(), offset=model.offset)
    ground = hardscape.spectrum(ising, 1)
    assert ground.energies[0] == -9
    assert system.violated(model.assignment(ground.states[0])) == 0
    assert model.energy(ground.states[0]) == -9


@pytest.mark.parametrize(
    "change",
    [
        {"h": np.zeros(24, dtype=np.int64)},
        {"num_variables": 11},
        {"num_variables": 24},
        {"value": np.ones(1)},
    ],
)
def test_other_models_have_no_system(change: dict) -> None:
    model = quadratize(random_regular(12, seed=1))
    if "value" in change:
        change = {"value": np.where(model.value == 1, 2, model.value)}
    with pytest.raises(InputError):
        dataclasses.replace(model, **change).to_system()
    with pytest.raises(InputError):
        quadratize(XorSystem.from_clauses([[0, 1, 2, 3]])).to_system()


def test_plain_data() -> None:
    model = quadratize(XorSystem.from_clauses([[0, 1], [2]], [0, 1]))
    assert model.to_dict() == {
        "num_variables": 3,
        "h": [0, 0, 1],
        "row": [0],
        "col": [1],
        "value": [-1],
        "offset": 0,
    }
    assert QuadraticModel(**model.to_dict()).offset == 0
