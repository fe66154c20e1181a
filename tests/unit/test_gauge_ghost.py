"""The Faddeev-Popov operator against NumPy, and its inverse against that of the whole matrix."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape import gauge, native
from hardscape.engine import team
from hardscape.errors import InputError, NotConverged
from hardscape.gauge import GaugeField
from hardscape.gauge.ghost.operator import CpuFaddeevPopov, generators

SHAPE = (2, 4, 2, 4)


def dagger(m: Any) -> Any:
    return m.conj().swapaxes(-1, -2)


def operator(links: Any, field: Any) -> Any:
    """Minus the second variation of the gauge functional, written out."""
    found, nc = np.zeros_like(field), links.shape[-1]
    for mu in range(4):
        u = links[..., mu, :, :]
        v = np.roll(u, 1, axis=3 - mu)
        ahead, behind = (np.roll(field, step, axis=3 - mu) for step in (-1, 1))
        h = (u + dagger(u) + v + dagger(v)) / 2
        found += (field @ h + h @ field) / 2
        found -= (u @ ahead + ahead @ dagger(u) + dagger(v) @ behind + behind @ v) / 2
    return found - np.trace(found, axis1=-2, axis2=-1)[..., None, None] * np.eye(nc) / nc


def whole_matrix(field: GaugeField) -> tuple[Any, Any]:
    """The generators, and the operator's matrix between them at each site."""
    colours, volume = generators(field.nc), field.volume
    np.testing.assert_allclose(
        np.einsum("aij,bji->ab", colours, colours), np.eye(len(colours)) / 2, atol=1e-15
    )
    size = volume * len(colours)
    matrix = np.zeros((size, size))
    for column in range(size):
        one = np.zeros((volume, field.nc, field.nc), complex)
        one[column // len(colours)] = colours[column % len(colours)]
        image = operator(field.links, one.reshape(field.links[..., 0, :, :].shape))
        image = image.reshape(volume, field.nc, field.nc)
        matrix[:, column] = 2 * np.einsum("bij,vji->vb", colours, image).real.reshape(-1)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-13)
    return colours, matrix


@pytest.fixture(scope="module", params=[2, 3])
def fixed(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    nc = request.param
    path = tmp_path_factory.mktemp("ghost") / f"su{nc}.landau.nersc"
    field = gauge.generate(SHAPE, {2: 2.3, 3: 5.8}[nc], nc, seed=4, sweeps=20, device="cpu")
    gauge.fix(field, theta=1e-24, seed=1, device="cpu").fixed().to_file(path)
    return path


@pytest.fixture(scope="module")
def whole(fixed: Path) -> tuple[Any, Any, Any]:
    """The whole matrix of the field that is fixed, and its inverse beside constant fields."""
    colours, matrix = whole_matrix(GaugeField.from_file(fixed))
    return colours, matrix, np.linalg.pinv(matrix, rcond=1e-8, hermitian=True)


@pytest.mark.parametrize("nc", [2, 3, 4, 8])
@pytest.mark.parametrize("count", [1, 7, 8, 11])
def test_the_operator(nc: int, count: int) -> None:
    links = GaugeField.random((4, 2, 3, 5), nc, seed=1).links
    random = np.random.default_rng(count)
    fields = random.normal(size=(*links.shape[:4], nc, nc, count, 2)) @ [1, 1j]
    found = np.empty_like(fields)
    for first, last in ((0, 50), (50, 120)):
        native.vector.gauge.faddeev_popov(links, np.ones(4), fields, found, first, last)
    for i in range(count):
        np.testing.assert_allclose(found[..., i], operator(links, fields[..., i]), atol=1e-12)


def test_it_is_the_second_variation() -> None:
    links = GaugeField.random(SHAPE, 3, seed=3).links
    random = np.random.default_rng(5)
    omega = random.normal(size=(*links.shape[:4], 3, 3, 2)) @ [1, 1j]
    omega = (omega + dagger(omega)) / 2
    omega -= np.trace(omega, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) / 3
    values, vectors = np.linalg.eigh(omega)

    def functional(step: float) -> float:
        g = (vectors * np.exp(1j * step * values)[..., None, :]) @ dagger(vectors)
        turned = GaugeField(links, layout="t z y x mu a b").transform(g).links
        return float(np.trace(turned, axis1=-2, axis2=-1).real.sum())

    step = 1e-3
    curvature = (functional(step) + functional(-step) - 2 * functional(0)) / step**2
    assert -np.vdot(omega, operator(links, omega)).real == pytest.approx(curvature, rel=1e-5)


def test_the_propagator_is_the_inverse_of_the_whole_matrix(
    fixed: Path, whole: tuple[Any, Any, Any]
) -> None:
    field = GaugeField.from_file(fixed)
    colours, matrix, inverse = whole
    size, volume = len(matrix), field.volume
    momenta = [(1, 0, 0, 0), (0, 1, 0, 1), (1, 2, 1, 2), (0, -1, 0, 0)]
    found = gauge.ghost_propagator(fixed, momenta, residual=1e-10, device="cpu")
    for k, value in zip(momenta, found.value, strict=True):
        z, y, x, t = (np.indices(field.links.shape[:4])[axis] for axis in (1, 2, 3, 0))
        phase = sum(n * r / e for n, r, e in zip(k, (x, y, z, t), field.shape, strict=True))
        wave = np.exp(2j * np.pi * phase).reshape(-1)
        total = 0.0
        for a in range(len(colours)):
            source = np.zeros((volume, len(colours)), complex)
            source[:, a] = wave
            total += np.vdot(source, inverse @ source.reshape(-1)).real
        assert value == pytest.approx(total / size, rel=1e-8)
    again = gauge.ghost_propagator(fixed, momenta, residual=1e-10, threads=3, device="cpu")
    assert again.value.tolist() == found.value.tolist()
    # One momentum alone: its sources lie in memory in another order.
    for k, value in zip(momenta, found.value, strict=True):
        alone = gauge.ghost_propagator(fixed, [k], residual=1e-10, device="cpu")
        assert alone.value[0] == pytest.approx(value, rel=1e-8)


def test_sources_on_all_points_are_plane_waves(fixed: Path) -> None:
    momenta = [(1, 0, 0, 0), (0, 1, 0, 1), (1, 2, 1, -1), (0, 5, 0, 2)]
    waves = gauge.ghost_propagator(fixed, momenta, residual=1e-12, device="cpu")
    every = gauge.ghost_propagator(
        fixed, momenta, sources="point", num_points=64, residual=1e-12, seed=2, device="cpu"
    )
    np.testing.assert_allclose(every.value, waves.value, rtol=1e-10)
    assert (waves.num_points, every.num_points, every.seed) == (0, 64, 2)


def test_a_point_is_a_column_of_the_inverse(fixed: Path, whole: tuple[Any, Any, Any]) -> None:
    field = GaugeField.from_file(fixed)
    colours, _, inverse = whole
    k, count = (1, 0, 1, 1), len(colours)
    found = gauge.ghost_propagator(
        fixed, [k], sources="point", residual=1e-12, seed=3, device="cpu"
    )
    inverse = inverse.reshape(field.volume, count, field.volume, count)
    sites = np.indices(field.shape[::-1]).reshape(4, -1)
    waves = np.exp(-2j * np.pi * np.array(k)[::-1] / np.array(field.shape)[::-1] @ sites)
    traces = np.einsum("xaya->xy", inverse) / count
    columns = (waves @ traces * waves.conj()).real
    assert np.abs(columns - found.value[0]).min() < 1e-9
    assert np.ptp(columns) > 1e-3
    again = gauge.ghost_propagator(
        fixed, [k], sources="point", residual=1e-12, seed=3, device="cpu"
    )
    assert again.value.tobytes() == found.value.tobytes()
    others = [
        gauge.ghost_propagator(fixed, [k], sources="point", seed=seed, device="cpu").value[0]
        for seed in range(4)
    ]
    assert len(set(others)) > 1
    for wrong in (
        {"sources": "wall"},
        {"sources": "point", "num_points": 65},
        {"sources": "point", "num_points": 0},
    ):
        with pytest.raises(InputError):
            gauge.ghost_propagator(fixed, [k], **wrong)


def test_the_lowest_eigenvalues_are_those_of_the_whole_matrix(
    fixed: Path, whole: tuple[Any, Any, Any], tmp_path: Path
) -> None:
    field = GaugeField.from_file(fixed)
    every = np.linalg.eigvalsh(whole[1])
    constant = field.nc**2 - 1
    np.testing.assert_allclose(every[:constant], 0, atol=1e-9)
    found = gauge.faddeev_popov_eigenvalues(fixed, 5, residual=1e-7, device="cpu")
    assert 0 < found.residual <= 1e-7
    np.testing.assert_allclose(found.value, every[constant : constant + 5], atol=1e-7)
    both = [fixed, Path(shutil.copy(fixed, tmp_path))]
    again = gauge.faddeev_popov_eigenvalues(both, 5, threads=3, device="cpu")
    assert again.configurations == 2
    np.testing.assert_allclose(again.eigenvalues[1], found.value, atol=2e-6)
    assert found.plot() is not None


def test_beyond_the_horizon_they_are_negative(tmp_path: Path) -> None:
    hot = GaugeField.random(SHAPE, 2, seed=1)
    hot.to_file(tmp_path / "hot.nersc")
    with pytest.raises(InputError):
        gauge.faddeev_popov_eigenvalues(tmp_path / "hot.nersc", device="cpu")
    found = gauge.faddeev_popov_eigenvalues(tmp_path / "hot.nersc", 2, theta=None, device="cpu")
    assert found.value[0] < 0
    with pytest.raises(NotConverged):
        gauge.faddeev_popov_eigenvalues(
            tmp_path / "hot.nersc", theta=None, max_iterations=1, device="cpu"
        )
    for wrong in ({"count": 0}, {"count": 10**6}, {"residual": 0.0}, {"max_iterations": 0}):
        with pytest.raises(InputError):
            gauge.faddeev_popov_eigenvalues(tmp_path / "hot.nersc", device="cpu", **wrong)


def test_free_links_have_the_free_propagator(tmp_path: Path) -> None:
    GaugeField.identity((4, 4, 4, 8)).to_file(tmp_path / "one.nersc")
    found = gauge.ghost_propagator(tmp_path / "one.nersc", 5, device="cpu")
    np.testing.assert_allclose(found.dressing, 1, rtol=1e-12)
    assert len(found.momentum) == 5
    assert found.momentum[-1] == pytest.approx(4)


def test_the_running_coupling(fixed: Path, tmp_path: Path) -> None:
    both = [fixed, Path(shutil.copy(fixed, tmp_path))]
    ghost = gauge.ghost_propagator(both, 4, cylinder=None, device="cpu")
    gluon = gauge.gluon_propagator(both, beta=5.8, cylinder=None, device="cpu")
    found = gauge.running_coupling(ghost, gluon)
    assert len(found.momentum) == 4
    for p, alpha, j in zip(found.momentum, found.value, ghost.dressing, strict=True):
        z = gluon.dressing[np.abs(gluon.momentum - p).argmin()]
        assert alpha == pytest.approx(2 * ghost.nc / 5.8 / (4 * np.pi) * z * j**2)
    assert found.plot() is not None
    assert ghost.plot() is not None
    with pytest.raises(InputError):
        gauge.running_coupling(ghost, gauge.gluon_propagator(fixed, cylinder=None))


def test_what_is_in_no_gauge_is_refused(fixed: Path, tmp_path: Path) -> None:
    path = tmp_path / "hot.nersc"
    GaugeField.random(SHAPE, 3, seed=1).to_file(path)
    with pytest.raises(InputError):
        gauge.ghost_propagator(path, device="cpu")
    with pytest.raises(NotConverged):
        gauge.ghost_propagator(path, theta=None, device="cpu")
    with pytest.raises(NotConverged):
        gauge.ghost_propagator(fixed, max_iterations=2, device="cpu")
    for wrong in ([(0, 0, 0, 0)], [], [(1, 2)], 0, [(2, 4, 2, 4)]):
        with pytest.raises(InputError):
            gauge.ghost_propagator(fixed, wrong, device="cpu")
    with pytest.raises(InputError):
        gauge.ghost_propagator(fixed, residual=0.0, device="cpu")


def test_sums_do_not_depend_on_threads() -> None:
    field = GaugeField.random((4, 4, 4, 4), 3, seed=1)
    fields = np.random.default_rng(1).normal(size=(4, 4, 4, 4, 3, 3, 5)) + 0j
    seen = []
    for size in (1, 2, 3):
        with team(size) as lanes:
            made = CpuFaddeevPopov(field, lanes)
            seen.append(made.products(fields, made.apply(fields)).tolist())
    assert seen[0] == seen[1] == seen[2]
