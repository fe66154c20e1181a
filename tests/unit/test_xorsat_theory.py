"""The cavity free energy: published values, its own equations, and where it has no barrier."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.errors import InputError
from hardscape.xorsat import theory


def excess(m: float, beta: float, k: int) -> float:
    """The free energy written out term by term, the saddle point found by solving for h."""
    low, high = 0.0, 20.0
    for _ in range(200):
        h = (low + high) / 2
        u = math.atanh(math.tanh(beta) * math.tanh(h) ** (k - 1))
        low, high = (h, high) if math.tanh(h + u) < m else (low, h)
    b = h - (k - 1) * u
    z_i = 2 * math.cosh(k * u + b) / (2 * math.cosh(u)) ** k
    z_a = math.cosh(beta) * (1 + math.tanh(beta) * math.tanh(h) ** k)
    z_ai = math.cosh(u + h) / (2 * math.cosh(u) * math.cosh(h))
    minus_beta_f = math.log(z_i) + math.log(z_a) - k * math.log(z_ai) - b * m
    return math.log(2 * math.cosh(beta)) - minus_beta_f


def test_published_values() -> None:
    assert round(theory.spinodal_temperature(), 6) == 0.980548
    barrier = theory.free_energy_barrier(theory.run_temperature(0.055))
    assert round(barrier.height, 7) == 0.0827249
    assert round(barrier.magnetization, 3) == 0.803
    assert theory.run_temperature(math.exp(-2 / 0.7)) == pytest.approx(0.7, rel=1e-14)
    assert barrier.to_dict()["height"] == barrier.height


@settings(deadline=None, max_examples=30)
@given(st.floats(0.3, 2.5), st.integers(3, 6))
def test_the_curve(temperature: float, k: int) -> None:
    curve = theory.free_energy(temperature, k, points=40)
    assert curve.magnetization[0] == 0
    assert curve.excess[0] == pytest.approx(0, abs=1e-13)
    assert (np.diff(curve.magnetization) > 0).all()
    for m, value in list(zip(curve.magnetization, curve.excess, strict=True))[1:-1:5]:
        assert excess(float(m), 1 / temperature, k) == pytest.approx(value, abs=1e-10)


@settings(deadline=None, max_examples=30)
@given(st.floats(0.3, 0.99), st.integers(3, 6))
def test_the_barrier_is_the_highest_point_before_the_solution(share: float, k: int) -> None:
    temperature = share * theory.spinodal_temperature(k)
    top = theory.free_energy_barrier(temperature, k)
    curve = theory.free_energy(temperature, k, points=4001)
    inside = curve.magnetization < top.magnetization + 0.5 * (1 - top.magnetization) * (1 - share)
    assert curve.excess[inside].max() <= top.height + 1e-12
    assert curve.excess[inside].max() == pytest.approx(top.height, abs=1e-4)
    assert excess(top.magnetization, 1 / temperature, k) == pytest.approx(top.height, abs=1e-10)


def test_the_solution_is_no_minimum_above_the_spinodal() -> None:
    highest = theory.spinodal_temperature()
    for temperature, falls in ((highest * 0.99, True), (highest * 1.01, False)):
        curve = theory.free_energy(temperature, points=20_001)
        assert bool((np.diff(curve.excess) < -1e-12).any()) == falls


@pytest.mark.parametrize("w1", [0, 1, -0.1, float("nan")])
def test_refused_w1(w1) -> None:
    with pytest.raises(InputError):
        theory.run_temperature(w1)


@pytest.mark.parametrize(
    ("temperature", "k"), [(0, 3), (-1, 3), (float("nan"), 3), (1.0, 3), (0.5, 2), (0.5, 3.0)]
)
def test_refused_barriers(temperature, k) -> None:
    with pytest.raises(InputError):
        theory.free_energy_barrier(temperature, k)
    with pytest.raises(InputError):
        theory.free_energy(0.7, points=1)
