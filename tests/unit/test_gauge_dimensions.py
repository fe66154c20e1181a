"""Two, three, four and five dimensions, and anisotropy: against NumPy, and against what is known exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape import gauge
from hardscape.engine import team
from hardscape.errors import HardscapeError, InputError
from hardscape.gauge import GaugeField
from hardscape.gauge.ghost.operator import CpuFaddeevPopov
from hardscape.gauge.groups import random_group_elements
from helpers import gauge_dimension_oracles as oracle

#: One that fits vectors and one that does not, of each number of dimensions.
SHAPES = [(8, 16), (5, 6), (8, 4, 8), (3, 4, 5), (4, 4, 4, 8), (4, 2, 4, 2, 8), (2, 3, 2, 2, 3)]


def smooth(shape: tuple[int, ...], nc: int = 3) -> GaugeField:
    return gauge.generate(shape, 2.0 * nc, nc, seed=5, sweeps=10, threads=1)


@pytest.mark.parametrize("nc", [2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_plaquettes_and_transformations(shape: tuple[int, ...], nc: int) -> None:
    field = GaugeField.random(shape, nc, seed=1)
    assert field.shape == shape
    assert field.dimensions == len(shape)
    expected = oracle.plaquettes(field.links)
    assert field.plaquettes() == pytest.approx(expected, abs=1e-13)
    time = len(shape) - 1
    in_time = [x for plane, x in expected.items() if time in plane]
    assert field.plaquette() == pytest.approx(np.mean(list(expected.values())), abs=1e-13)
    assert field.plaquette_time() == pytest.approx(np.mean(in_time), abs=1e-13)
    g = random_group_elements(field.volume, nc, 2).reshape(*shape[::-1], nc, nc)
    turned = field.transform(g)
    for mu in range(len(shape)):
        far = oracle.ahead(g, len(shape), mu)
        wanted = g @ oracle.link(field.links, mu) @ oracle.dagger(far)
        np.testing.assert_allclose(turned.links[..., mu, :, :], wanted, atol=1e-13)
    assert turned.plaquettes() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("shape", SHAPES)
def test_fixing(shape: tuple[int, ...], kind: Any) -> None:
    field = smooth(shape)
    xi = 1.0 if kind == "coulomb" else 1.5
    found = gauge.fix(field, kind, theta=1e-20, xi=xi, seed=1, device="cpu")
    links = found.fixed().links
    assert float(oracle.theta_by_site(links, kind, xi**2).mean()) < 1e-20
    height = oracle.functional(links, kind, xi**2)
    assert found.functional == pytest.approx(height, abs=1e-12)
    assert height > oracle.functional(field.links, kind, xi**2)
    assert found.fixed().plaquettes() == pytest.approx(field.plaquettes(), abs=1e-12)


@pytest.mark.parametrize(
    "method",
    [
        "relaxation",
        "overrelaxation",
        "stochastic",
        "annealing",
        "matrix-overrelaxation",
        "fourier-cg",
    ],
)
@pytest.mark.parametrize("shape", [(8, 8), (4, 4, 8), (4, 4, 2, 2, 4)])
def test_every_method(shape: tuple[int, ...], method: Any) -> None:
    field = smooth(shape, 2)
    found = gauge.fix(field, method=method, theta=1e-18, seed=2, annealing_sweeps=5, device="cpu")
    assert float(oracle.theta_by_site(found.fixed().links, "landau").mean()) < 1e-18


@pytest.mark.parametrize("shape", [(8, 16), (3, 4, 5), (2, 4, 2, 4, 4)])
def test_the_same_for_any_number_of_threads(shape: tuple[int, ...]) -> None:
    fields = [gauge.generate(shape, 3.0, 2, seed=9, sweeps=4, xi=1.5, threads=n) for n in (1, 3)]
    assert fields[0] == fields[1]
    found = [gauge.fix(fields[0], copies=2, theta=1e-10, seed=3, threads=n).g for n in (1, 3)]
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("xi", [1.0, 2.0])
@pytest.mark.parametrize("shape", [(8, 8), (4, 4, 6), (3, 4, 2, 4), (2, 2, 2, 3, 4)])
def test_generated_fields_obey_the_equations_of_their_action(
    shape: tuple[int, ...], xi: float
) -> None:
    beta = 2.0
    chain = gauge.WilsonChain(GaugeField.random(shape, 2, seed=1), beta, xi=xi, seed=2, threads=1)
    chain.run(20)
    values, wrong = [], []
    for _ in range(60):
        chain.run(2)
        values.append(oracle.schwinger_dyson(chain.field.links, beta, xi))
        wrong.append(oracle.schwinger_dyson(chain.field.links, beta, 2 * xi))
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values)) < 4 * error
    assert abs(np.mean(wrong)) > 6 * np.std(wrong) / np.sqrt(len(wrong))


def bessel_ratio(x: float) -> float:
    """I_2(x) / I_1(x), by their series."""
    terms = np.arange(40)
    factorials = np.cumprod(np.concatenate([[1.0], np.arange(1, 60)]))
    series = [
        ((x / 2) ** (2 * terms + n) / factorials[terms] / factorials[terms + n]).sum()
        for n in (1, 2)
    ]
    return float(series[1] / series[0])


@pytest.mark.parametrize(("beta", "xi"), [(2.2, 1.0), (2.0, 1.8)])
@pytest.mark.parametrize("boundary", ["periodic", "open"])
def test_two_dimensions_are_solved(beta: float, xi: float, boundary: Any) -> None:
    """All plaquettes of a plane are free where it has an end; a torus of 128 sites does not tell."""
    start = gauge.generate((8, 16), beta, 2, seed=3, xi=xi, sweeps=20, boundary=boundary, threads=1)
    chain = gauge.WilsonChain(start, beta, xi=xi, seed=4, threads=1)
    seen = chain.run(1500).reshape(-1, 10).mean(axis=1)
    error = seen.std() / np.sqrt(len(seen))
    assert error < 1e-3
    assert abs(seen.mean() - bessel_ratio(beta * xi)) < 4 * error
    assert np.isnan(chain.field.plaquette_space())
    assert chain.field.plaquette_time() == pytest.approx(chain.field.plaquette(), abs=1e-14)


def test_strong_coupling_of_an_anisotropic_action() -> None:
    """A plaquette alone, and the cubes that its five other faces close: what is left out is of higher order."""
    beta, xi = 0.8, 1.6
    space, time = bessel_ratio(beta / xi), bessel_ratio(beta * xi)
    # Of SU(2) in the character expansion a cube is 4 times the product of its faces; u' = 1 - 3 u / b - u^2.
    grows_space = 4 * (1 - 3 * space * xi / beta - space**2)
    grows_time = 4 * (1 - 3 * time / (beta * xi) - time**2)
    of_space = space + 2 * grows_space * (time**4 * space + space**5)
    of_time = time + 4 * grows_time * time**3 * space**2
    start = GaugeField.random((4, 4, 4, 8), 2, seed=5)
    chain = gauge.WilsonChain(start, beta, xi=xi, seed=6, threads=1)
    chain.run(10)
    seen = []
    for _ in range(300):
        chain.run(1)
        field = chain.field
        seen.append((field.plaquette_space(), field.plaquette_time()))
    mean, error = np.mean(seen, axis=0), np.std(seen, axis=0) / np.sqrt(len(seen))
    assert error.max() < 1e-3
    assert np.abs(mean - [of_space, of_time]).max() < 3 * error.max()
    assert abs(mean[0] - space) > abs(mean[0] - of_space)


@pytest.mark.parametrize("xi", [1.0, 2.5])
@pytest.mark.parametrize("shape", [(4, 6), (3, 4, 5), (2, 3, 2, 4), (2, 2, 2, 3, 2)])
def test_the_gluon_propagator(shape: tuple[int, ...], xi: float) -> None:
    field = GaugeField.random(shape, 2, seed=7)
    found = gauge.gluon_propagator(field, xi=xi, cylinder=None, theta=None)
    binned: dict[float, list[Any]] = {}
    for k in np.ndindex(*shape):
        if k <= tuple(-n % e for n, e in zip(k, shape, strict=True)):
            p, each, d = oracle.gluon(field.links, xi, k)
            units = [1.0] * (len(shape) - 1) + [xi]
            parts = [
                1 - (u * 2 * np.sin(np.pi * n / e)) ** 2 / max(p, 1e-30) ** 2
                for u, n, e in zip(units, k, shape, strict=True)
            ]
            binned.setdefault(round(float(p), 7), []).append((d, each, parts))
    np.testing.assert_allclose(found.momentum, sorted(binned), atol=1e-6)
    for i, p in enumerate(sorted(binned)):
        rows = binned[p]
        assert found.value[i] == pytest.approx(np.mean([row[0] for row in rows]), rel=1e-10)
        for mu in range(len(shape)):
            part = np.mean([row[2][mu] for row in rows])
            alone = np.mean([row[1][mu] for row in rows])
            if part > 1e-9:
                assert found.by_direction[mu, i] == pytest.approx(alone / part, rel=1e-9)
            else:
                assert np.isnan(found.by_direction[mu, i])


def test_the_propagator_at_weak_coupling_knows_the_spacing_in_time() -> None:
    """p^2 D beta / 4 goes to 1 in every direction as beta grows, if xi is taken into account."""
    beta, xi = 400.0, 2.0
    chain = gauge.WilsonChain(
        GaugeField.identity((6, 6, 12), 2), beta, xi=xi, seed=8, overrelax=3, threads=1
    )
    chain.run(60)
    fields = []
    for _ in range(16):
        chain.run(6)
        fixed = gauge.fix(chain.field, xi=xi, theta=1e-14, device="cpu", seed=1)
        fields.append(fixed.fixed())
    free = gauge.gluon_propagator(fields, xi=xi, beta=beta, cylinder=None)
    z = (free.dressing[1:] * free.count[1:]).sum() / free.count[1:].sum()
    assert 0.9 < z < 1.1
    each = np.nanmean(free.by_direction[:, 1:] * free.momentum[1:] ** 2, axis=1)
    assert each == pytest.approx(np.ones(3), abs=0.12)
    wrong = gauge.gluon_propagator(fields, xi=1.0, beta=beta, cylinder=None, theta=None)
    apart = np.nanmean(wrong.by_direction[:, 1:] * wrong.momentum[1:] ** 2, axis=1)
    assert abs(apart[2] / apart[0] - 1) > 0.3


@pytest.mark.parametrize("xi", [1.0, 1.5])
@pytest.mark.parametrize("shape", [(4, 6), (3, 4, 4), (2, 2, 3, 4), (2, 2, 2, 2, 3)])
def test_the_faddeev_popov_operator(shape: tuple[int, ...], xi: float) -> None:
    field = GaugeField.random(shape, 3, seed=3)
    rng = np.random.default_rng(1)
    omega = rng.standard_normal((2, *shape[::-1], 3, 3, 5))
    several = omega[0] + 1j * omega[1]
    with team(1) as lanes:
        found = CpuFaddeevPopov(field, lanes, xi).apply(several)
    for i in range(5):
        wanted = oracle.faddeev_popov(field.links, several[..., i], xi)
        np.testing.assert_allclose(found[..., i], wanted, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 6), (4, 4, 6), (4, 2, 2, 2, 4)])
def test_free_ghosts(shape: tuple[int, ...], tmp_path: Path) -> None:
    path, xi = tmp_path / "free.npy", 2.0
    GaugeField.identity(shape, 2).to_file(path)
    ghost = gauge.ghost_propagator(path, 4, xi=xi, cylinder=None)
    np.testing.assert_allclose(ghost.dressing, 1.0, rtol=1e-7)
    lowest = gauge.faddeev_popov_eigenvalues(path, 1, xi=xi)
    assert lowest.value[0] == pytest.approx(lowest.free, rel=1e-7)
    assert lowest.free == pytest.approx(
        min(
            4 * (xi if e == shape[-1] and i == len(shape) - 1 else 1) ** 2 * np.sin(np.pi / e) ** 2
            for i, e in enumerate(shape)
        ),
        rel=1e-12,
    )


@pytest.mark.parametrize("name", ["npy", "npz", "h5", "mdp", "raw"])
@pytest.mark.parametrize("shape", [(4, 6), (3, 4, 5), (2, 3, 2, 2, 4)])
def test_files(shape: tuple[int, ...], name: str, tmp_path: Path) -> None:
    if name == "h5":
        pytest.importorskip("h5py")
    field, path = smooth(shape), tmp_path / f"links.{name}"
    if name == "raw":
        field.to_file(path, format="raw")
        names = gauge.layouts.ours(len(shape))
        read = GaugeField.from_file(
            path,
            format="raw",
            shape=shape,
            layout=names,
            precision="double",
            byteorder="little",
            skip=0,
        )
    else:
        field.to_file(path)
        read = GaugeField.from_file(path)
    assert read == field


@pytest.mark.parametrize(
    "name", ["lime", "nersc", "milc", "openqcd", "hirep", "bmw", "ddalphaamg", "vogt"]
)
def test_formats_of_four_dimensions_refuse_others(name: str, tmp_path: Path) -> None:
    path = tmp_path / "links"
    kind = {"lime": "ildg"}.get(name, name)
    with pytest.raises(InputError):
        smooth((4, 4, 4)).to_file(path, format=kind)
    assert not path.exists()


def test_a_layout_without_a_header_is_found(tmp_path: Path) -> None:
    field, path = smooth((4, 5, 6)), tmp_path / "links.dat"
    field.to_file(path, format="raw", layout="x y t mu[txy] b a", byteorder="big")
    with pytest.warns(UserWarning, match="layout"):
        read = GaugeField.from_file(path, format="raw", shape=(4, 5, 6), precision="double", skip=0)
    assert read == field


@pytest.mark.parametrize("shape", [(4, 4, 6), (4, 8)])
def test_loops_and_smearing(shape: tuple[int, ...], tmp_path: Path) -> None:
    field = smooth(shape, 2)
    loops = gauge.wilson_loops(field, 2, 2)
    assert loops[0, 0] == pytest.approx(field.plaquette_time(), abs=1e-13)
    assert gauge.smear(field, steps=2).plaquette() > field.plaquette()
    field.to_file(tmp_path / "field.npy")
    row = gauge.observables(tmp_path / "field.npy")
    assert row["plaquette_time"][0] == pytest.approx(field.plaquette_time(), abs=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda f: gauge.wilson_flow(f, 0.1),
        lambda f: f.to_pyquda(),
        lambda f: gauge.fix(f, "coulomb", xi=2.0),
        lambda f: gauge.gluon_propagator(f, xi=0.0),
        lambda f: gauge.WilsonChain(f, 2.0, xi=-1.0),
        lambda f: gauge.generate((4,), 2.0),
        lambda f: gauge.generate((2,) * 6, 2.0),
        lambda f: gauge.gluon_propagator(GaugeField.identity((4, 4), 2), "coulomb"),
    ],
)
def test_refusals(call: Any) -> None:
    with pytest.raises(HardscapeError):
        call(GaugeField.identity((4, 4, 4), 2))
