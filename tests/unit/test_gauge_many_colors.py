"""SU(4) to SU(8) by what is known of any N, and by plain NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.gauge import GaugeField, WilsonChain, fix, generate
from hardscape.gauge.groups import group
from helpers import gauge_oracles as oracle

CPU: dict[str, Any] = {"device": "cpu", "threads": 1}


@pytest.mark.parametrize(("nc", "beta", "sweeps"), [(4, 1.0, 40), (6, 4.0, 16), (8, 8.0, 8)])
def test_strong_coupling(nc: int, beta: float, sweeps: int) -> None:
    """beta / (2 N^2); for N > 3 the next orders are beta^(N-1) / N! / (2 N)^(N-1) and beta^5."""
    chain = WilsonChain(GaugeField.random((8, 4, 4, 8), nc, seed=3), beta, seed=5, **CPU)
    chain.run(5)
    found = chain.run(sweeps)
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert error < 6e-4
    assert abs(found.mean() - beta / (2 * nc**2)) < 4 * error + 1e-4


@pytest.mark.parametrize(("nc", "beta"), [(4, 10.8), (5, 17.0)])
def test_the_ensemble_is_that_of_the_action(nc: int, beta: float) -> None:
    """An identity that holds exactly at any beta; a false beta breaks it."""
    chain = WilsonChain(GaugeField.random((4, 4, 4, 4), nc, seed=3), beta, seed=5, **CPU)
    oracle.assert_ensemble_of_action(chain, beta, 40, apart=3)


@pytest.mark.parametrize("nc", [4, 8])
def test_hot_and_cold_starts_meet(nc: int) -> None:
    means = []
    for start in ("hot", "cold"):
        begun: Any = start
        field = generate((4, 4, 4, 4), 0.75 * nc**2, nc, sweeps=20, start=begun, seed=1, **CPU)
        chain = WilsonChain(field, 0.75 * nc**2, seed=2, **CPU)
        bins = chain.run(24).reshape(8, -1).mean(axis=1)
        means.append((bins.mean(), bins.std(ddof=1) / np.sqrt(8)))
    (one, one_error), (other, other_error) = means
    assert abs(one - other) < 5 * np.hypot(one_error, other_error)


@cache
def thermalised(nc: int) -> GaugeField:
    return generate((4, 4, 4, 4), 0.75 * nc**2, nc, sweeps=15, seed=3, **CPU)


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("nc", [4, 5, 8])
def test_gauges_of_thermalised_fields(nc: int, gauge: Any) -> None:
    field = thermalised(nc)
    turned = field.transform(GaugeField.random(field.shape, nc, seed=1).links[..., 0, :, :])
    for precision in ("double", "mixed"):
        kind: Any = precision
        found = fix(turned, gauge, theta=1e-18, precision=kind, seed=1, **CPU)
        links = oracle.transformed(turned.links, found.g)
        np.testing.assert_allclose(found.fixed().links, links, atol=1e-13)
        assert np.abs(np.linalg.det(links) - 1).max() < 1e-12
        assert oracle.theta_by_site(links, gauge).mean() < 1.01e-18
        assert found.functional == pytest.approx(oracle.functional(links, gauge), abs=1e-13)
        assert found.functional > oracle.functional(turned.links, gauge)
        assert oracle.plaquette(links) == pytest.approx(oracle.plaquette(field.links), abs=1e-13)


@pytest.mark.parametrize("shape", [(8, 4, 4, 4), (3, 4, 5, 2)])
@pytest.mark.parametrize("nc", [4, 7])
def test_any_number_of_threads(shape: Any, nc: int) -> None:
    fields, rotations = [], []
    for threads in (1, 2, 3):
        chain = WilsonChain(
            GaugeField.random(shape, nc, seed=1), 0.7 * nc**2, seed=4, threads=threads
        )
        chain.run(2)
        fields.append(chain.field.links.tobytes())
        found = fix(
            chain.field,
            max_sweeps=20,
            strict=False,
            seed=1,
            copies=2,
            device="cpu",
            threads=threads,
        )
        rotations.append(found.g.tobytes())
    assert len(set(fields)) == len(set(rotations)) == 1


@pytest.mark.parametrize("nc", [4, 6, 8])
def test_the_last_row_follows_from_the_others(nc: int) -> None:
    links = GaugeField.random((2, 2, 2, 2), nc, seed=2).links
    rows = group(nc).last_row(links[..., :-1, :])
    np.testing.assert_allclose(rows, links[..., -1, :], atol=1e-13)


@pytest.mark.parametrize("nc", [4, 8])
def test_a_wrong_phase_is_not_in_the_group(nc: int) -> None:
    links = GaugeField.identity((2, 2, 2, 2), nc).links * np.exp(2j * np.pi / nc)
    assert GaugeField(links).unitarity() < 1e-14  # an element of the centre
    turned = GaugeField(links * np.exp(0.1j))
    assert turned.unitarity() == pytest.approx(abs(np.exp(0.1j * nc) - 1))
    links[0, 0, 0, 0, 0, 1] = links[0, 0, 0, 0, 0, 0]
    with pytest.raises(InputError, match=r"\[0, 0, 0, 0, 0\]"):
        GaugeField(links).reproject()
