"""Gauge fields in CuPy: what they say is what the same field says in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.gauge import GaugeField, WilsonChain, gluon_propagator
from hardscape.gauge.groups import random_group_elements

pytestmark = pytest.mark.gpu


@pytest.fixture(params=[(2, np.complex128), (3, np.complex128), (3, np.complex64)], ids=str)
def pair(request: pytest.FixtureRequest) -> tuple[GaugeField, GaugeField]:
    nc, dtype = request.param
    host = GaugeField.random((4, 6, 3, 8), nc, seed=5, dtype=dtype)
    return host, host.to("cuda")


def rounding(field: GaugeField) -> float:
    return 1e-5 if field.dtype == np.complex64 else 1e-12


def test_averages(pair: tuple[GaugeField, GaugeField]) -> None:
    host, device = pair
    assert (device.device, device.dtype, device.shape) == ("cuda", host.dtype, host.shape)
    assert device.plaquette() == pytest.approx(host.plaquette(), abs=rounding(host))
    assert device.link_trace() == pytest.approx(host.link_trace(), abs=rounding(host))
    assert device.unitarity() == pytest.approx(host.unitarity(), abs=rounding(host))
    device.require_unitary()


def test_the_worst_link_is_named_as_on_the_cpu(pair: tuple[GaugeField, GaugeField]) -> None:
    links = pair[0].links.copy()
    links[5, 1, 3, 2, 1] *= 1.25
    links[2, 2, 4, 3, 0] *= 1.2
    host = GaugeField(links)
    assert host.to("cuda").unitarity() == pytest.approx(host.unitarity(), rel=1e-5)
    refused = []
    for field in (host, host.to("cuda")):
        with pytest.raises(InputError) as caught:
            field.require_unitary()
        refused.append(str(caught.value).split(" is ")[0])
    assert refused[0] == refused[1]


def test_fields_made_on_the_device() -> None:
    host = GaugeField.random((2, 4, 2, 2), 3, seed=9)
    device = GaugeField.random((2, 4, 2, 2), 3, seed=9).to("cuda")
    np.testing.assert_array_equal(device.to("cpu").links, host.links)
    assert GaugeField.identity((2, 2, 2, 2)).to("cuda").plaquette() == 1.0
    assert device.to("cuda") is device


def test_transformation(pair: tuple[GaugeField, GaugeField]) -> None:
    host, device = pair
    g = random_group_elements(host.volume, host.nc, 1).reshape(8, 3, 6, 4, host.nc, host.nc)
    moved = device.transform(_on_device(g))
    assert moved.device == "cuda"
    expected = host.transform(g).links
    np.testing.assert_allclose(moved.to("cpu").links, expected, atol=rounding(host))


def _on_device(array: Any) -> Any:
    import cupy

    return cupy.asarray(array)


def test_reprojection(pair: tuple[GaugeField, GaugeField]) -> None:
    host, _ = pair
    disturbed = GaugeField(1.001 * host.links)
    back = disturbed.to("cuda").reproject()
    np.testing.assert_allclose(
        back.to("cpu").links, disturbed.reproject().links, atol=rounding(host)
    )


def test_refusals() -> None:
    links = _on_device(GaugeField.identity((2, 2, 2, 2)).links)
    links[0, 1, 0, 1, 2, 1, 1] = np.nan
    with pytest.raises(InputError):
        GaugeField(links)


def test_files_and_chains(tmp_path: Path) -> None:
    host = GaugeField.random((4, 4, 4, 4), 3, seed=2)
    host.to("cuda").to_file(tmp_path / "u.nersc")
    np.testing.assert_array_equal(GaugeField.from_file(tmp_path / "u.nersc").links, host.links)
    chains = [WilsonChain(field, 6.0, seed=1) for field in (host, host.to("cuda"))]
    one, other = (chain.run(2) for chain in chains)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("gauge", ["landau", "coulomb"])
def test_propagator(pair: tuple[GaugeField, GaugeField], gauge: Any) -> None:
    host, device = pair
    one, other = (gluon_propagator(field, gauge, theta=None) for field in (host, device))
    np.testing.assert_allclose(other.value, one.value, rtol=1e-10)
    np.testing.assert_allclose(other.momentum, one.momentum)
    assert other.theta == pytest.approx(one.theta, rel=1e-10)
