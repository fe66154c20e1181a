"""The Wilson flow against NumPy, its invariances, scales, and how it stops and goes on."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.engine import ProgressEvent
from hardscape.errors import CheckpointError, InputError, Interrupted
from hardscape.gauge import GaugeField, WilsonFlow, generate, wilson_flow

#: Extents that fit the vectors, and some that do not.
SHAPES = [
    ((4, 4, 4, 4), 3),
    ((8, 4, 4, 4), 3),
    ((3, 4, 5, 2), 3),
    ((4, 4, 4, 4), 4),
    ((8, 4, 4, 4), 2),
    ((2, 3, 2, 3), 2),
]


def dagger(matrices: Any) -> Any:
    return np.swapaxes(matrices, -1, -2).conj()


class Oracle:
    """The flow as the paper writes it, on arrays of shape (4, T, Z, Y, X, N, N)."""

    def __init__(self, field: GaugeField) -> None:
        self.u = np.moveaxis(field.links, 4, 0).copy()
        self.nc = field.nc

    def ahead(self, a: Any, *directions: int) -> Any:
        """Values at x + the directions; -1 - mu goes back."""
        for mu in directions:
            forward = mu >= 0
            a = np.roll(a, -1 if forward else 1, axis=3 - (mu if forward else -1 - mu))
        return a

    def algebra(self, m: Any) -> Any:
        x = (m - dagger(m)) / 2
        return x - np.trace(x, axis1=-2, axis2=-1)[..., None, None] * np.eye(self.nc) / self.nc

    def force(self) -> Any:
        forces = []
        for mu in range(4):
            staples = 0
            for nu in set(range(4)) - {mu}:
                u, v = self.u[mu], self.u[nu]
                staples += self.ahead(v, mu) @ dagger(self.ahead(u, nu)) @ dagger(v)
                back = dagger(self.ahead(v, mu)) @ dagger(u) @ v
                staples += self.ahead(back, -1 - nu)
            forces.append(-self.algebra(self.u[mu] @ staples))
        return np.array(forces)

    def exponential(self, x: Any) -> Any:
        values, vectors = np.linalg.eigh(-1j * x)
        return (vectors * np.exp(1j * values)[..., None, :]) @ dagger(vectors)

    def step(self, size: float) -> None:
        z0 = size * self.force()
        self.u = self.exponential(z0 / 4) @ self.u
        z1 = size * self.force()
        self.u = self.exponential(8 / 9 * z1 - 17 / 36 * z0) @ self.u
        z2 = size * self.force()
        self.u = self.exponential(3 / 4 * z2 - 8 / 9 * z1 + 17 / 36 * z0) @ self.u

    def link(self, direction: int, *site: int) -> Any:
        """The link from x + site in a direction, ahead or back."""
        if direction >= 0:
            return self.ahead(self.u[direction], *site)
        return dagger(self.ahead(self.u[-1 - direction], *site, direction))

    def leaf(self, a: int, b: int) -> Any:
        """The plaquette that leaves x along a and comes back along b."""
        loop = self.link(a) @ self.link(b, a)
        return loop @ self.link(-1 - a, a, b) @ self.link(-1 - b, b)

    def clover(self, mu: int, nu: int) -> Any:
        a, b = -1 - mu, -1 - nu
        corners = [(mu, nu), (nu, a), (a, b), (b, mu)]
        return self.algebra(sum(self.leaf(*corner) for corner in corners)) / 4

    def measured(self) -> tuple[float, float, float]:
        """Energy densities by clovers and by plaquettes, and the charge."""
        field = {(mu, nu): self.clover(mu, nu) for mu, nu in itertools.permutations(range(4), 2)}
        volume = field[0, 1][..., 0, 0].size
        clovers = -sum(np.einsum("...ij,...ji", x, x).sum() for x in field.values()) / 2
        traces = [
            np.trace(self.leaf(mu, nu), axis1=-2, axis2=-1).real
            for mu, nu in itertools.combinations(range(4), 2)
        ]
        plaquettes = 2 * sum((self.nc - trace).sum() for trace in traces)
        charge = 0.0
        for order in itertools.permutations(range(4)):
            sign = np.linalg.det(np.eye(4)[list(order)])
            first, second = field[order[:2]], field[order[2:]]
            charge -= sign * np.einsum("...ij,...ji", first, second).sum().real / (32 * np.pi**2)
        return clovers.real / volume, plaquettes / volume, charge


def flow_along(oracle: Oracle, field: GaugeField) -> WilsonFlow:
    """Four steps of a flow, each what the oracle says that it is."""
    flow = wilson_flow(field, 0.2, step=0.05, threads=1)
    assert flow.flow_time == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    for i in range(5):
        if i:
            oracle.step(0.05)
        told = flow.energy[i], flow.energy_plaquette[i], flow.charge[i]
        np.testing.assert_allclose(told, oracle.measured(), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(np.moveaxis(flow.field.links, 4, 0), oracle.u, rtol=0, atol=1e-12)
    return flow


@pytest.mark.parametrize(("shape", "nc"), SHAPES)
def test_the_flow_is_that_of_the_paper(shape: tuple[int, int, int, int], nc: int) -> None:
    field = GaugeField.random(shape, nc, seed=1)
    flow = flow_along(Oracle(field), field)
    for threads in (2, 3):
        again = wilson_flow(field, 0.2, step=0.05, threads=threads)
        assert again.field.links.tobytes() == flow.field.links.tobytes()
        assert again.charge.tobytes() == flow.charge.tobytes()


def test_what_does_not_change() -> None:
    field = generate((4, 4, 4, 4), 5.7, seed=2, sweeps=20)
    flow = wilson_flow(field, 0.3, step=0.1)
    turn = GaugeField.random((4, 4, 4, 4), 3, seed=3).links[..., 0, :, :]
    turned = wilson_flow(field.transform(turn), 0.3, step=0.1)
    np.testing.assert_allclose(turned.energy, flow.energy, rtol=1e-12)
    np.testing.assert_allclose(turned.charge, flow.charge, rtol=0, atol=1e-12)
    assert (np.diff(flow.energy_plaquette) < 0).all()
    still = wilson_flow(GaugeField.identity((4, 4, 4, 4)), 0.3)
    assert not still.energy.any()
    assert still.t0 is None


def test_errors_of_steps_are_of_third_order() -> None:
    field = generate((4, 4, 4, 4), 5.7, seed=2, sweeps=20)
    coarse, middle, fine = (wilson_flow(field, 0.4, step=x).energy[-1] for x in (0.1, 0.05, 0.005))
    assert 5 < (coarse - fine) / (middle - fine) < 14


def test_scales_are_where_they_are_said_to_be() -> None:
    time = np.linspace(0, 4, 401)
    values = 0.1 * time  # t^2 E = 0.1 t: 0.3 at t = 3, and so is its logarithmic derivative
    with np.errstate(invalid="ignore", divide="ignore"):
        energy = np.nan_to_num(values / time**2)
    flow = WilsonFlow(time, energy, energy, time, GaugeField.identity((2, 2, 2, 2)), "", 0.0)
    assert flow.t0 == pytest.approx(3, abs=1e-9)
    assert flow.w0 == pytest.approx(3**0.5, abs=1e-9)
    assert "t_0" in flow.plot().get_title()
    assert flow.to_dict()["t0"] == flow.t0


def test_stops_and_goes_on(tmp_path: Path) -> None:
    field = GaugeField.random((4, 4, 4, 4), 2, seed=1)
    whole = wilson_flow(field, 0.4, threads=2)
    ledger = tmp_path / "ledger"

    def stop(event: ProgressEvent) -> None:
        if event.done:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted) as caught:
        wilson_flow(field, 400, threads=1, checkpoint=ledger, progress=stop)
    part = caught.value.result
    assert 1 < len(part.flow_time) < 20001
    assert part.stopped == "SIGINT"
    with pytest.raises(CheckpointError):
        wilson_flow(field, 0.02, checkpoint=ledger)
    begun = tmp_path / "begun"
    wilson_flow(field, 0.2, checkpoint=begun)
    again = wilson_flow(field, 0.4, checkpoint=begun)
    assert again.energy.tobytes() == whole.energy.tobytes()
    assert again.field.links.tobytes() == whole.field.links.tobytes()
    assert (
        wilson_flow(field, 0.4, executor="processes:1").charge.tobytes() == whole.charge.tobytes()
    )
    assert wilson_flow(field, 400, time_limit=0.5).stopped == "time_limit"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"flow_time": 0}, "flow_time"),
        ({"step": 0.2}, "step"),
        ({"flow_time": 1e9}, "step"),
        ({"step": -1}, "step"),
    ],
)
def test_refusals(options: dict[str, float], name: str) -> None:
    with pytest.raises(InputError, match=name):
        wilson_flow(GaugeField.identity((2, 2, 2, 2)), **{"flow_time": 0.1, **options})


class Ended(Oracle):
    """The flow of fields that end in time: openQCD's equation, written out for what is at the ends."""

    def __init__(self, field: GaugeField) -> None:
        super().__init__(field)
        self.boundary = field.boundary

    def force(self) -> Any:
        forces = np.zeros_like(self.u)
        for mu in range(4):
            for nu in set(range(4)) - {mu}:
                u, v = self.u[mu], self.u[nu]
                staples = self.ahead(v, mu) @ dagger(self.ahead(u, nu)) @ dagger(v)
                back = dagger(self.ahead(v, mu)) @ dagger(u) @ v
                derivative = self.algebra(u @ (staples + self.ahead(back, -1 - nu)))
                # plaquettes in space count half at an end, and the derivative there twice
                factor = np.ones(len(u))
                if mu < 3:
                    factor[[0, -1]] = 2.0 * (0.5 if nu < 3 else 1.0)
                forces[mu] -= factor[:, None, None, None, None, None] * derivative
        if self.boundary == "sf":
            forces[:3, 0] = 0
        if self.boundary in ("sf", "open-sf"):
            forces[:3, -1] = 0
        forces[3, -1] = 0
        return forces

    def measured(self) -> tuple[float, float, float]:
        inner = slice(1, -1)
        field = {(mu, nu): self.clover(mu, nu) for mu, nu in itertools.permutations(range(4), 2)}
        field = {plane: x[inner] for plane, x in field.items()}
        sites = field[0, 1][..., 0, 0].size
        energy = sum(np.einsum("...ij,...ij", x, x.conj()).real.sum() for x in field.values()) / 2
        traces = [
            np.trace(self.leaf(mu, nu)[inner], axis1=-2, axis2=-1).real.sum()
            for mu, nu in itertools.combinations(range(4), 2)
        ]
        dual = [((0, 1), (2, 3), 1), ((0, 2), (1, 3), -1), ((0, 3), (1, 2), 1)]
        charge = -sum(
            sign * np.einsum("...ij,...ji", field[one], field[two]).real.sum()
            for one, two, sign in dual
        ) / (4 * np.pi**2)
        return energy / sites, 2 * (6 * self.nc * sites - sum(traces)) / sites, charge


@pytest.mark.parametrize("boundary", ["open", "sf", "open-sf"])
@pytest.mark.parametrize(("shape", "nc"), [((4, 2, 4, 8), 3), ((3, 4, 2, 5), 2), ((2, 2, 2, 4), 4)])
def test_fields_that_end_in_time(boundary: Any, shape: tuple[int, int, int, int], nc: int) -> None:
    field = generate(shape, 2.0 * nc, nc, seed=3, sweeps=5, boundary=boundary, device="cpu")
    flow = flow_along(Ended(field), field)
    assert flow.field.boundary == boundary
    again = wilson_flow(field, 0.2, step=0.05, threads=2)
    assert again.field == flow.field
    assert again.charge.tobytes() == flow.charge.tobytes()


def test_ends_need_timeslices_between() -> None:
    links = GaugeField.random((2, 2, 2, 2), 2, seed=1).links.copy()
    links[-1, ..., 3, :, :] = 0
    with pytest.raises(InputError, match="between"):
        wilson_flow(GaugeField(links, boundary="open"), 0.1)


def test_what_another_code_found() -> None:
    # wilson_flow/test/wilson_flow.wilson.1.sample-out of MILC, in single precision: E of planes with
    # and without time, the charge, and Re tr of both kinds of plaquettes.
    place = Path(__file__).resolve().parents[3] / "shared" / "data" / "gauge" / "lat.sample.l4448"
    if not place.exists():
        pytest.skip("lat.sample.l4448, a public configuration, is not in ../shared/data/gauge")
    field = GaugeField.from_file(place).astype(np.complex128).reproject()
    found = wilson_flow(field, 1.0, step=0.0625)
    for step, density, charge in (
        (0, 1.05787 + 1.03094, 0.0955429),
        (4, 0.401488 + 0.375439, 0.0125646),
        (8, 0.15253 + 0.125713, 0.00569573),
        (16, 0.0494345 + 0.0329748, 0.000479992),
    ):
        assert found.energy[step] == pytest.approx(density, rel=1e-5)
        assert found.charge[step] == pytest.approx(charge, rel=2e-5)
    planes = 3 - np.array([1.72375 + 1.69059, 2.96232 + 2.95723, 2.99285 + 2.98962]) / 2
    np.testing.assert_allclose(found.energy_plaquette[[0, 8, 16]], 12 * planes, rtol=1e-4)
