"""The gluon propagator: against its definition, bins, cuts, errors and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.gauge import GaugeField, fix, gluon_propagator
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
