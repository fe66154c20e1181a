"""The gluon propagator: against its definition, bins, cuts, errors and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.gauge import GaugeField, fix, ghost_propagator, gluon_propagator
from hardscape.gauge.ghost.propagator import chosen_momenta
from hardscape.gauge.gluon.algebra import linear, logarithmic
from hardscape.gauge.gluon.momenta import Cut
from hardscape.gauge.groups import random_group_elements
from helpers import gauge_oracles as oracle


def wave(shape: tuple[int, int, int, int], k: tuple[int, ...], mu: int, size: float) -> GaugeField:
    """Links exp(i a T_3) in direction mu with a = size cos(p x): a transverse wave if k_mu = 0."""
    links = GaugeField.identity(shape, 2).links
    t, z, y, x = np.indices(links.shape[:4])
    phase = 2 * np.pi * sum(n * s / e for n, s, e in zip(k, (x, y, z, t), shape, strict=True))
    half = size * np.cos(phase) / 2
    links[..., mu, 0, 0], links[..., mu, 1, 1] = np.exp(1j * half), np.exp(-1j * half)
    return GaugeField(links)


def momenta(shape: tuple[int, ...], directions: int) -> Iterator[tuple[tuple[int, ...], float]]:
    for k in np.ndindex(*shape[:directions]):
        p = [2 * np.sin(np.pi * n / e) for n, e in zip(k, shape, strict=False)]
        yield k, float(np.linalg.norm(p))


@pytest.mark.parametrize(("gauge", "directions"), [("landau", 4), ("coulomb", 3)])
@pytest.mark.parametrize("nc", [2, 3])
def test_definition(gauge: Any, directions: int, nc: int) -> None:
    shape = (2, 3, 2, 4)
    field = GaugeField.random(shape, nc, seed=3)
    found = gluon_propagator(field, gauge, cylinder=None, theta=None)
    by_p: dict[float, list[float]] = {}
    for k, p in momenta(shape, directions):
        opposite = tuple(-n % e for n, e in zip(k, shape, strict=False))
        if k <= opposite:  # p and -p are one
            by_p.setdefault(round(p, 8), []).append(
                oracle.propagator_at(field.links, directions, k)
            )
    np.testing.assert_allclose(found.momentum, sorted(by_p), atol=1e-7)
    assert found.count.tolist() == [len(by_p[p]) for p in sorted(by_p)]
    np.testing.assert_allclose(found.value, [np.mean(by_p[p]) for p in sorted(by_p)], rtol=1e-12)
    assert found.theta == pytest.approx(oracle.theta(field.links, gauge), rel=1e-12)


def test_a_plane_wave() -> None:
    shape, size = (4, 4, 4, 8), 1e-3
    field = wave(shape, (0, 0, 0, 1), 0, size)
    found = gluon_propagator(field, cylinder=None)
    # One colour of three, one of three polarisations, cos = half in p and half in -p; times V.
    at_p = 4**3 * 8 * (size / 2) ** 2 / 9
    place = np.argmin(np.abs(found.momentum - 2 * np.sin(np.pi / 8)))
    assert found.count[place] == 1
    assert found.value[place] == pytest.approx(at_p, rel=1e-5)
    others = np.delete(found.value, place)
    assert np.abs(others).max() < 1e-5 * at_p
    assert found.dressing[place] == pytest.approx(found.momentum[place] ** 2 * at_p, rel=1e-5)
    scaled = gluon_propagator(field, cylinder=None, beta=2.0)
    np.testing.assert_allclose(scaled.value, found.value * 2.0 / 4)


def test_a_longitudinal_wave_is_in_no_gauge() -> None:
    field = wave((4, 4, 4, 8), (1, 0, 0, 0), 0, 0.1)
    for gauge in ("landau", "coulomb"):
        with pytest.raises(InputError):
            gluon_propagator(field, gauge)  # type: ignore[arg-type]


def test_the_cylinder() -> None:
    field = GaugeField.random((8, 8, 8, 8), 2, seed=1)
    whole = gluon_propagator(field, cylinder=None, theta=None)
    narrow = gluon_propagator(field, cylinder=0.1, theta=None)
    # Along the diagonal there are 0, (1,1,1,1), ..., (4,4,4,4) up to reflections.
    expected = [2 * 2 * np.sin(np.pi * n / 8) for n in range(5)]
    np.testing.assert_allclose(narrow.momentum, expected, atol=1e-12)
    assert narrow.count.tolist() == [1, 8, 8, 8, 1]
    wide = gluon_propagator(field, cylinder=2.0, theta=None)
    assert len(narrow.momentum) < len(wide.momentum) < len(whole.momentum)
    assert whole.count.sum() == (8**4 + 2**4) // 2


def test_bins() -> None:
    field = GaugeField.random((4, 4, 4, 4), 2, seed=1)
    fine = gluon_propagator(field, cylinder=None, theta=None)
    coarse = gluon_propagator(field, cylinder=None, theta=None, bin_width=0.5)
    assert coarse.momentum[0] == 0
    assert coarse.value[0] == fine.value[0]
    assert coarse.count.sum() == fine.count.sum()
    assert (np.diff(coarse.momentum) > 0).all()
    assert np.average(coarse.value, weights=coarse.count) == pytest.approx(
        np.average(fine.value, weights=fine.count)
    )


def test_ensembles() -> None:
    fields = [GaugeField.random((4, 4, 4, 4), 2, seed=seed) for seed in range(6)]
    singles = [gluon_propagator(field, theta=None) for field in fields]
    found = gluon_propagator(iter(fields), theta=None)
    values = np.array([single.value for single in singles])
    assert found.configurations == 6
    np.testing.assert_allclose(found.value, values.mean(axis=0))
    np.testing.assert_allclose(found.error, values.std(axis=0, ddof=1) / np.sqrt(6))
    assert found.theta == max(single.theta for single in singles)
    assert np.isnan(singles[0].error[0])


def test_of_a_fixed_field(tmp_path: Path) -> None:
    field = GaugeField.random((4, 4, 4, 4), 3, seed=2)
    for gauge in ("landau", "coulomb"):
        fixed = fix(field, gauge, device="cpu", theta=1e-12).fixed()  # type: ignore[arg-type]
        found = gluon_propagator(fixed, gauge)  # type: ignore[arg-type]
        assert found.theta <= 1e-12
        data = json.loads(found.to_json())
        assert data["value"] == found.value.tolist()
        assert data["error"][0] is None
        assert "SU(3)" in repr(found)


def test_results_can_be_compared() -> None:
    one, same, other = (
        gluon_propagator(GaugeField.random((4, 4, 4, 4), 2, seed=seed), theta=None)
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_plot() -> None:
    pytest.importorskip("matplotlib")
    found = gluon_propagator(GaugeField.random((4, 4, 4, 4), 2, seed=1), theta=None)
    ax = found.plot()
    drawn = ax.containers[0].lines[0]
    np.testing.assert_array_equal(drawn.get_xdata(), found.momentum)
    np.testing.assert_array_equal(drawn.get_ydata(), found.value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"gauge": "mag"},
        {"beta": 0.0},
        {"cylinder": -1.0},
        {"bin_width": float("nan")},
        {"fields": []},
        {"fields": [GaugeField.identity((2, 2, 2, 2)), GaugeField.identity((2, 2, 2, 4))]},
        {"fields": [GaugeField.identity((2, 2, 2, 2)), GaugeField.identity((2, 2, 2, 2), 2)]},
        {"theta": float("nan")},
    ],
)
def test_refusals(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        gluon_propagator(**({"fields": GaugeField.identity((2, 2, 2, 2))} | arguments))


def exponential(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """exp(i a) by its series."""
    total = term = np.eye(len(a), dtype=complex)
    for n in range(1, 60):
        term = term @ (1j * a) / n
        total = total + term
    return total


@pytest.mark.parametrize("nc", [2, 3])
def test_logarithms(nc: int) -> None:
    links = random_group_elements(200, nc, 5)
    found = logarithmic(links)
    for u, a in zip(links, found, strict=True):
        np.testing.assert_allclose(exponential(a), u, atol=1e-12)
        np.testing.assert_allclose(a, a.conj().T, atol=1e-13)
        assert abs(np.trace(a)) < 1e-12
        # No other choice of branches within the algebra is shorter.
        angles = np.linalg.eigvalsh(a)
        for shift in np.ndindex(*[5] * nc):
            other = angles + 2 * np.pi * (np.array(shift) - 2)
            if abs(other.sum()) < 1e-9:
                assert np.sum(angles**2) <= np.sum(other**2) + 1e-9


def test_logarithms_of_close_eigenvalues() -> None:
    rotation = random_group_elements(1, 3, 2)[0]
    angles = [
        [0, 0, 0],
        [1e-9, -1e-9, 0],
        [np.pi, -np.pi, 0],
        [np.pi - 1e-12, np.pi, -2 * np.pi + 1e-12],
        [1, 1 + 1e-13, -2 - 1e-13],
        [2 * np.pi / 3, 2 * np.pi / 3, -4 * np.pi / 3],
    ]
    for row in angles:
        u = (rotation * np.exp(1j * np.array(row))) @ rotation.conj().T
        np.testing.assert_allclose(exponential(logarithmic(u[None])[0]), u, atol=1e-13)


def test_definitions_differ_in_the_third_order() -> None:
    small = []
    for size in (1e-1, 1e-2):
        a = size * linear(random_group_elements(20, 3, 1))
        links = np.array([exponential(x) for x in a])
        np.testing.assert_allclose(logarithmic(links), a, atol=1e-14)
        small.append(np.abs(linear(links) - a).max())
    assert small[0] / small[1] == pytest.approx(1000, rel=0.05)


def test_the_logarithmic_propagator() -> None:
    shape = (2, 3, 2, 4)
    field = GaugeField.random(shape, 3, seed=3)
    a = logarithmic(field.links)
    # A link whose linear field is that logarithm: 1 + i A, up to a hermitian part that drops out.
    same = np.eye(3) + 1j * a
    given: dict[str, Any] = {"cylinder": None, "theta": None}
    found = gluon_propagator(field, definition="logarithmic", **given)
    assert found.definition == "logarithmic"
    for k, p in momenta(shape, 4):
        if found.count[np.argmin(np.abs(found.momentum - p))] == 1:
            at = found.value[np.argmin(np.abs(found.momentum - p))]
            assert at == pytest.approx(oracle.propagator_at(same, 4, k), rel=1e-12)
    assert not np.allclose(found.value, gluon_propagator(field, **given).value, rtol=1e-2)
    with pytest.raises(InputError):
        gluon_propagator(field, definition="cubic", theta=None)  # type: ignore[arg-type]


def test_cuts() -> None:
    shape = (8, 8, 8, 16)
    k = np.indices((5, 5, 5, 9)).reshape(4, -1)
    q = 2 * np.pi * k / np.array(shape)[:, None]
    for cylinder, cone in ((1.0, None), (None, 20.0), (2.0, 20.0), (None, 90.0)):
        for one, vector, kept in zip(k.T, q.T, Cut(cylinder, cone).kept(k, shape), strict=True):
            length, along = np.linalg.norm(vector), vector.sum() / 2
            near = cylinder is None or length**2 - along**2 <= (cylinder * np.pi / 4) ** 2 + 1e-9
            flat = cone is None or along >= length * np.cos(np.radians(cone)) - 1e-9
            assert kept == (near and flat), one
    field = GaugeField.random((8, 8, 8, 8), 2, seed=1)
    whole = gluon_propagator(field, cylinder=None, theta=None)
    narrow = gluon_propagator(field, cylinder=None, cone=20.0, theta=None)
    assert (narrow.cylinder, narrow.cone) == (None, 20.0)
    assert 0 < narrow.count.sum() < whole.count.sum()
    for cone in (0.0, 91.0):
        with pytest.raises(InputError):
            gluon_propagator(field, cone=cone, theta=None)


def test_ghosts_have_the_same_cuts(tmp_path: Path) -> None:
    path = tmp_path / "free.nersc"
    GaugeField.identity((4, 4, 4, 8), 2).to_file(path)
    found = ghost_propagator(path, 50, cylinder=None, cone=15.0, device="cpu", threads=1)
    assert [tuple(k) for k in found.k.tolist()] == chosen_momenta((4, 4, 4, 8), 50, Cut(None, 15.0))
    np.testing.assert_allclose(found.dressing, 1, rtol=1e-6)
    assert len(found.k) < len(chosen_momenta((4, 4, 4, 8), 50, Cut()))
    with pytest.raises(InputError):
        chosen_momenta((5, 5, 5, 7), 50, Cut(None, 0.01))
