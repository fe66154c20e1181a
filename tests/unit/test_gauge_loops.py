"""Smearing, loops and the static potential, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape import gauge
from hardscape.errors import DeviceError, InputError
from hardscape.gauge import GaugeField, static_potential
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.gauge.loops.potential import lattice_inverse

#: Shapes that fit vectors of all lanes, of some, and of none.
FIELDS = {
    "su3": gauge.generate((4, 6, 4, 2), 5.5, 3, seed=3, sweeps=5, device="cpu"),
    "su2-odd": gauge.generate((3, 4, 5, 2), 1.5, 2, seed=3, sweeps=5, device="cpu"),
    "su3-wide": gauge.generate((8, 8, 4, 4), 5.5, 3, seed=4, sweeps=3, device="cpu"),
}


def dagger(m: Any) -> Any:
    return m.conj().swapaxes(-1, -2)


def ahead(m: Any, mu: int, steps: int = 1) -> Any:
    return np.roll(m, -steps, axis=3 - mu)


def staples(links: Any, mu: int, directions: range) -> Any:
    """What is parallel to U_mu(x), around every plaquette."""
    total, here = 0, links[..., mu, :, :]
    for nu in directions:
        if nu != mu:
            side = links[..., nu, :, :]
            total = total + side @ ahead(here, nu) @ dagger(ahead(side, mu))
            total = total + ahead(dagger(side) @ here @ ahead(side, mu), nu, -1)
    return total


def nearest(m: Any) -> Any:
    left, _, right = np.linalg.svd(m)
    unitary = left @ right
    angle = np.angle(np.linalg.det(unitary)) / m.shape[-1]
    return unitary * np.exp(-1j * angle)[..., None, None]


def exponential(x: Any) -> Any:
    values, vectors = np.linalg.eigh(-1j * x)
    return (vectors * np.exp(1j * values)[..., None, :]) @ dagger(vectors)


def smeared(links: Any, kind: str, weight: float, directions: range) -> Any:
    found, nc = links.copy(), links.shape[-1]
    for mu in directions:
        here, around = links[..., mu, :, :], staples(links, mu, directions)
        if kind == "ape":
            mixed = (1 - weight) * here + weight / (2 * len(directions) - 2) * around
            found[..., mu, :, :] = nearest(mixed)
        else:
            x = around @ dagger(here)
            x = (x - dagger(x)) / 2
            x = x - np.trace(x, axis1=-2, axis2=-1)[..., None, None] * np.eye(nc) / nc
            found[..., mu, :, :] = exponential(weight * x) @ here
    return found


@pytest.mark.parametrize("spatial", [False, True])
@pytest.mark.parametrize("kind", ["ape", "stout"])
@pytest.mark.parametrize("name", FIELDS)
def test_smearing(name: str, kind: Any, spatial: bool) -> None:
    field = FIELDS[name]
    links = field.links
    for _ in range(2):
        links = smeared(links, kind, 0.2, range(3 if spatial else 4))
    found = gauge.smear(field, kind, weight=0.2, steps=2, spatial=spatial)
    np.testing.assert_allclose(found.links, links, atol=1e-13)
    assert found.unitarity() < 1e-13
    again = gauge.smear(field, kind, weight=0.2, steps=2, spatial=spatial, threads=3)
    assert again == found
    if spatial:
        np.testing.assert_allclose(found.links[..., 3, :, :], field.links[..., 3, :, :], atol=1e-15)


@pytest.mark.parametrize("kind", ["ape", "stout"])
@pytest.mark.parametrize("nc", [2, 3, 4, 8])
def test_smearing_is_covariant(nc: int, kind: Any) -> None:
    field = GaugeField.random((4, 4, 2, 2), nc, seed=2)
    g = GaugeField.random((4, 4, 2, 2), nc, seed=5).links[..., 0, :, :]
    one = gauge.smear(field.transform(g), kind, steps=2)
    other = gauge.smear(field, kind, steps=2).transform(g)
    np.testing.assert_allclose(one.links, other.links, atol=1e-9)


def line(links: Any, mu: int, length: int) -> Any:
    product = np.eye(links.shape[-1])
    for step in range(length):
        product = product @ ahead(links[..., mu, :, :], mu, step)
    return product


@pytest.mark.parametrize("name", FIELDS)
def test_wilson_loops(name: str) -> None:
    field = FIELDS[name]
    links, nc = field.links, field.nc
    found = gauge.wilson_loops(field, 3, 2)
    for r in (1, 2, 3):
        for d in (1, 2):
            time = line(links, 3, d)
            traces = []
            for mu in range(3):
                space = line(links, mu, r)
                loop = space @ ahead(time, mu, r) @ dagger(ahead(space, 3, d)) @ dagger(time)
                traces.append(np.trace(loop, axis1=-2, axis2=-1).real.mean() / nc)
            assert found[r - 1, d - 1] == pytest.approx(np.mean(traces), abs=1e-13)
    planes = field.plaquettes()
    assert found[0, 0] == pytest.approx(np.mean([planes[mu, 3] for mu in range(3)]), abs=1e-13)
    g = GaugeField.random(field.shape, nc, seed=5).links[..., 0, :, :]
    np.testing.assert_allclose(gauge.wilson_loops(field.transform(g), 3, 2), found, atol=1e-12)


@pytest.mark.parametrize("name", FIELDS)
def test_lines_in_time(name: str) -> None:
    field = FIELDS[name]
    loop = line(field.links, 3, field.shape[3])[0]
    traces = np.trace(loop, axis1=-2, axis2=-1) / field.nc
    assert gauge.polyakov_loop(field) == pytest.approx(traces.mean(), abs=1e-13)
    found = gauge.line_correlators(field, 2, 2)
    for r, d in np.ndindex(2, 2):
        lines = line(field.links, 3, d + 1)
        products = [lines @ dagger(ahead(lines, mu, r + 1)) for mu in range(3)]
        mean = np.trace(products, axis1=-2, axis2=-1).real.mean() / field.nc
        assert found[r, d] == pytest.approx(mean, abs=1e-13)


def test_the_centre_turns_the_polyakov_loop() -> None:
    field = FIELDS["su3"]
    links = field.links.copy()
    links[1, ..., 3, :, :] *= np.exp(2j * np.pi / 3)
    turned = gauge.polyakov_loop(GaugeField(links))
    assert turned == pytest.approx(gauge.polyakov_loop(field) * np.exp(2j * np.pi / 3))


def ensemble(samples: Any, name: str = "loops") -> Ensemble:
    """What measured these loops, shape (n, R, D)."""
    files = tuple(map(str, range(len(samples))))
    values = {name: np.asarray(samples)}
    return Ensemble("x", files, (), values, len(files), "jackknife", 1, 1, "cpu", "", 1.0)


def lattice_coulomb(largest: int) -> Any:
    """4 pi times the lattice's propagator of three dimensions, by sums over the momenta of boxes."""
    found = []
    for extent in (36, 72):
        sines = 4 * np.sin(np.pi * np.arange(extent) / extent) ** 2
        p2 = sines[:, None, None] + sines[:, None] + sines
        p2[0, 0, 0] = np.inf
        along = (1 / p2).mean(axis=(1, 2))
        waves = np.cos(2 * np.pi * np.outer(np.arange(1, largest + 1), np.arange(extent)) / extent)
        r = np.arange(1, largest + 1)
        background = 2 * np.pi / 3 * r**2 / extent**3  # of the charge that makes the box neutral
        found.append(4 * np.pi * (waves * along).mean(axis=1) - background)
    return 2 * found[1] - found[0]  # what a box subtracts goes with 1 / its extent


def test_the_propagator_of_one_gluon() -> None:
    np.testing.assert_allclose(lattice_inverse(6), lattice_coulomb(6), rtol=0, atol=1e-4)
    assert lattice_inverse(40)[-1] == pytest.approx(1 / 40, rel=5e-4)
    # S. Necco, R. Sommer, Nucl. Phys. B 622, 328 (2002), eq. 2.6 and before
    flat = static_potential(ensemble(np.full((2, 6, 2), 0.5)), separation=1)
    np.testing.assert_allclose(flat.force_distance[:3], [1.3576, 2.2773, 3.3116], atol=1e-4)


def test_the_potential_of_loops_of_a_known_one() -> None:
    r, d = np.arange(1, 8)[:, None], np.arange(1, 6)[None, :]
    known = 0.6 - 0.28 * lattice_coulomb(7)[:, None] + 0.15 * r
    noise = np.random.default_rng(1).normal(size=(20, 7, 5))
    loops = 0.9 * np.exp(-known * d) * (1 + 1e-4 * noise)
    found = static_potential(ensemble(loops))
    assert found.separation.tolist() == [1, 2, 3, 4]
    assert np.abs(found.value - known)[:, :2].max() < 5e-4
    for got, true in (
        (found.self_energy, 0.6),
        (found.coulomb, 0.28),
        (found.string_tension, 0.15),
        (found.r0, np.sqrt((1.65 - 0.28) / 0.15)),
        (found.r0_of_force, np.sqrt((1.65 - 0.28) / 0.15)),
    ):
        assert abs(got[0] - true) < 5 * got[1] < 0.1
    np.testing.assert_allclose(
        found.force, 0.15 + 0.28 / found.force_distance**2, atol=5 * found.force_error.max()
    )
    exact = 0.6 - 0.28 * lattice_inverse(7)[:, None] + 0.15 * r
    lines = np.exp(-exact * d)[None].repeat(3, axis=0)
    of_lines = static_potential(ensemble(lines, "lines"), "lines", separation=0)
    np.testing.assert_allclose(of_lines.value, exact.repeat(5, axis=1), rtol=1e-12)
    assert of_lines.r0[0] == pytest.approx(np.sqrt(1.37 / 0.15))
    # 1.65 is reached before the first distance, and after the last one
    near, far = (static_potential(ensemble(0.9 * np.exp(-s * r * d)[None].repeat(2, axis=0)))
                 for s in (1.0, 0.01))  # fmt: skip
    assert np.isnan([near.r0_of_force[0], far.r0_of_force[0]]).all()
    assert found.plot() is not None
    single = static_potential(ensemble(loops[:1]))  # which has no errors
    for i, drawn in enumerate(single.plot().containers):
        np.testing.assert_array_equal(drawn[0].get_ydata(), single.value[:, i])
    assert np.isnan(static_potential(ensemble(loops[:, :4])).r0[0])
    for wrong in ({"source": "lines"}, {"source": "none"}, {"separation": 9}):
        with pytest.raises(InputError):
            static_potential(ensemble(loops), **wrong)


def test_the_separation_is_the_first_without_excited_states() -> None:
    r, d = np.arange(1, 8)[:, None], np.arange(1, 8)[None, :]
    noise = np.random.default_rng(2).normal(size=(50, 7, 7))
    known, gap = 0.3 + 0.15 * r, 1.2
    loops = np.exp(-known * d) * (0.9 + 0.1 * np.exp(-gap * d)) * (1 + 1e-3 * noise)
    found = static_potential(ensemble(loops))
    # V falls by 0.0049 from 2 to 3, by 0.0015 to 4, by 0.0005 to 5; the error of that is 0.0003.
    assert found.fitted_separation in (4, 5)
    assert np.abs(found.fitted - known[:, 0]).max() < 1.5e-3


def test_observables_of_files(tmp_path: Path) -> None:
    for n in range(3):
        field = gauge.generate((4, 4, 4, 4), 5.8, sweeps=6, seed=n, device="cpu")
        field.to_file(tmp_path / f"u.{n}.nersc")
    found = gauge.observables(
        tmp_path / "u.*", loops=(2, 3), lines=(2, 2), smearing=(0.4, 2), flow_time=0.1, device="cpu"
    )
    for n in range(3):
        field = GaugeField.from_file(tmp_path / f"u.{n}.nersc")
        assert found["plaquette"][n] == field.plaquette()
        assert found["polyakov_abs"][n] == abs(gauge.polyakov_loop(field))
        in_space = gauge.smear(field, weight=0.4, steps=2, spatial=True)
        np.testing.assert_array_equal(found["loops"][n], gauge.wilson_loops(in_space, 2, 3))
        np.testing.assert_array_equal(found["lines"][n], gauge.line_correlators(field, 2, 2))
        flow = gauge.wilson_flow(field, 0.1, device="cpu")
        assert (found["charge"][n], found["energy"][n]) == (flow.charge[-1], flow.energy[-1])
        assert np.isnan(found["t0"][n])
    assert {"loops_0_0", "loops_1_2", "charge"} <= set(found.columns)
    two = gauge.observables(tmp_path / "u.*", flow_time=0.1, executor="processes:2", device="cpu")
    assert two["charge"].tolist() == found["charge"].tolist()
    for wrong in ({"loops": (1,)}, {"smearing": (2.0, 1)}, {"flow_time": 0.0}, {"lines": (0, 1)}):
        with pytest.raises(InputError):
            gauge.observables(tmp_path / "u.*", **wrong)


@pytest.mark.parametrize("boundary", ["open", "sf"])
def test_loops_of_fields_that_end_in_time(boundary: Any) -> None:
    field = gauge.generate((4, 3, 2, 5), 2.4, 2, seed=3, sweeps=4, boundary=boundary, device="cpu")
    smeared = gauge.smear(field, steps=2, spatial=True)
    assert smeared.boundary == boundary
    np.testing.assert_array_equal(smeared.links[..., 3, :, :], field.links[..., 3, :, :])
    for t in range(5):  # a timeslice knows nothing of the others
        alone = np.repeat(field.links[t : t + 1], 2, axis=0)
        alone[..., 3, :, :] = np.eye(2)
        expected = gauge.smear(GaugeField(alone), steps=2, spatial=True).links[0, ..., :3, :, :]
        if boundary == "sf" and t in (0, 4):
            expected = field.links[t, ..., :3, :, :]
        np.testing.assert_allclose(smeared.links[t, ..., :3, :, :], expected, rtol=0, atol=1e-14)
    u = smeared.links
    found = gauge.wilson_loops(smeared, 2, 4)
    lines = gauge.line_correlators(smeared, 1, 4)
    for d in range(1, 5):
        loops, pairs = [], []
        for t in range(5 - d):
            time = u[t, ..., 3, :, :]
            for step in range(1, d):
                time = time @ u[t + step, ..., 3, :, :]
            for mu in range(3):
                low, high = (u[s, ..., mu, :, :] for s in (t, t + d))
                far = np.roll(time, -1, axis=2 - mu)
                loop = low @ far @ high.conj().swapaxes(-1, -2) @ time.conj().swapaxes(-1, -2)
                loops.append(np.trace(loop, axis1=-2, axis2=-1).real.mean() / 2)
                pairs.append((far.conj() * time).sum((-1, -2)).real.mean() / 2)
        assert found[0, d - 1] == pytest.approx(np.mean(loops), abs=1e-13)
        assert lines[0, d - 1] == pytest.approx(np.mean(pairs), abs=1e-13)
    row = gauge.observables(field, loops=(2, 2), flow_time=0.1, device="cpu")
    assert np.isnan(row["polyakov_abs"]).all()
    assert np.isfinite(row["loops"]).all()
    assert np.isfinite(row["charge"]).all()


def test_refusals() -> None:
    links = GaugeField.random((2, 2, 2, 6), seed=1).links.copy()
    links[-1, ..., 3, :, :] = 0
    bounded = GaugeField(links, boundary="open")
    for call in (gauge.polyakov_loop, gauge.smear, lambda x: gauge.wilson_loops(x, 1, 6)):
        with pytest.raises(InputError):
            call(bounded)
    field = FIELDS["su3"]
    for wrong in ({"kind": "hyp"}, {"weight": 1.5}, {"weight": 0.0}, {"steps": -1}):
        with pytest.raises(InputError):
            gauge.smear(field, **wrong)
    with pytest.raises(InputError):
        gauge.wilson_loops(field, 0, 1)
    with pytest.raises(DeviceError):
        gauge.observables(Path(__file__), device="cuda:0")


@pytest.mark.parametrize("measured", [gauge.wilson_loops, gauge.line_correlators])
def test_a_loop_is_no_longer_than_the_lattice(measured: Any) -> None:
    field = GaugeField.random((4, 3, 5, 6), 2, seed=1)
    assert measured(field, 3, 6).shape == (3, 6)
    for length, separation in ((4, 1), (1, 7)):
        with pytest.raises(InputError):
            measured(field, length, separation)


def test_what_another_code_found() -> None:
    # hvy_qpot/test/su3_hqp.2.sample-out of MILC, which projects to 1e-5: staples weigh 1/2.5 of a link.
    place = (
        Path(__file__).resolve().parents[3] / "shared" / "data" / "gauge" / "lat.sample.l4444.ildg"
    )
    if not place.exists():
        pytest.skip("lat.sample.l4444.ildg, a public configuration, is not in ../shared/data/gauge")
    field = GaugeField.from_file(place).astype(np.complex128).reproject()
    weight = 4 / 2.5 / (1 + 4 / 2.5)
    for steps, loops in (
        (5, [[6.668572e-01, 4.767808e-01], [5.617667e-01, 3.644175e-01]]),
        (10, [[6.681830e-01, 4.777803e-01], [5.699843e-01, 3.700636e-01]]),
    ):
        smeared = gauge.smear(field, weight=weight, steps=steps, spatial=True)
        found = gauge.wilson_loops(smeared, 2, 2)
        np.testing.assert_allclose(found, loops, rtol=1e-4)
