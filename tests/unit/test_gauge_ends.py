"""Chains with open and Schroedinger-functional boundaries: what is fixed, and with which weight the rest is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.cli import main
from hardscape.errors import CheckpointError, InputError
from hardscape.gauge import GaugeField, WilsonChain, fix, formats, generate, generate_ensemble

CPU: dict[str, Any] = {"device": "cpu", "threads": 1}
SHAPES = [(4, 4, 4, 6), (3, 4, 5, 7), (8, 4, 4, 8)]


def traces(links: Any) -> tuple[Any, Any]:
    """Re tr P / Nc of each timeslice, averaged over its plaquettes: in space, and in time."""
    nc = links.shape[-1]
    found: dict[bool, list[Any]] = {False: [], True: []}
    for mu in range(4):
        for nu in range(mu + 1, 4):
            u, v = links[..., mu, :, :], links[..., nu, :, :]
            over = v @ np.roll(u, -1, axis=3 - nu)
            plaquettes = u @ np.roll(v, -1, axis=3 - mu) @ over.conj().swapaxes(-1, -2)
            trace = np.trace(plaquettes, axis1=-2, axis2=-1).real.mean(axis=(1, 2, 3)) / nc
            found[nu == 3].append(trace)
    return np.mean(found[False], axis=0), np.mean(found[True], axis=0)


def ratio_of_bessel(x: float) -> float:
    """I_2(x) / I_1(x), by their series: one plaquette of SU(2) at beta = x."""
    terms = np.array([(x / 2) ** (2 * k) for k in range(30)])
    factorial = np.cumprod([1.0, *range(1, 33)])
    first = (terms / (factorial[:30] * factorial[1:31])).sum() * x / 2
    second = (terms / (factorial[:30] * factorial[2:32])).sum() * (x / 2) ** 2
    return float(second / first)


@pytest.mark.parametrize("boundary", ["open", "sf"])
def test_strong_coupling(boundary: Any) -> None:
    # To the fourth power of a plaquette's own mean, 2e-4 here, plaquettes do not know of one another.
    beta, measured = 0.5, []
    start = generate((4, 4, 4, 6), beta, 2, sweeps=5, boundary=boundary, seed=1, **CPU)
    chain = WilsonChain(start, beta, seed=2, **CPU)
    for _ in range(400):
        chain.run(1)
        measured.append(traces(chain.field.links))
    space, time = np.mean(measured, axis=0)
    whole, half = ratio_of_bessel(beta), ratio_of_bessel(beta / 2)
    np.testing.assert_allclose(space[1:-1], whole, atol=0.006)
    np.testing.assert_allclose(space[[0, -1]], half if boundary == "open" else 1.0, atol=0.007)
    inner = slice(1, -2) if boundary == "sf" else slice(0, -1)
    np.testing.assert_allclose(time[inner], whole, atol=0.006)
    np.testing.assert_array_equal(time[-1], 0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("nc", [2, 3, 4])
@pytest.mark.parametrize("boundary", ["open", "sf"])
def test_what_stays(shape: Any, nc: int, boundary: Any) -> None:
    start = generate(shape, 2.0 * nc, nc, sweeps=1, boundary=boundary, seed=3, **CPU)
    chain = WilsonChain(start, 2.0 * nc, seed=4, **CPU)
    plaquettes = chain.run(3)
    field = chain.field
    assert field.boundary == start.boundary == boundary
    assert not field.links[-1, ..., 3, :, :].any()
    assert field.require_unitary() < 1e-13
    assert field.plaquette() == pytest.approx(plaquettes[-1], rel=1e-12)
    ends, inside = field.links[[0, -1], ..., :3, :, :], field.links[1:-1]
    assert (np.abs(inside - start.links[1:-1]).max(axis=(-2, -1)) > 0).all()
    if boundary == "sf":
        np.testing.assert_array_equal(ends, start.links[[0, -1], ..., :3, :, :])
    else:
        assert (np.abs(ends - start.links[[0, -1], ..., :3, :, :]).max(axis=(-2, -1)) > 0).all()
    again = WilsonChain(start, 2.0 * nc, seed=4, device="cpu", threads=3)
    again.run(3)
    assert again.field.links.tobytes() == field.links.tobytes()


def test_other_fixed_links() -> None:
    links = GaugeField.random((4, 4, 4, 6), 3, seed=1).links
    links[-1, ..., 3, :, :] = 0
    for t, angles in ((0, (-1.0, 0.2, 0.8)), (-1, (0.5, 0.1, -0.6))):
        links[t, ..., :3, :, :] = np.diag(np.exp(1j * np.array(angles) / 4))
    start = GaugeField(links, boundary="sf", layout="t z y x mu a b")
    chain = WilsonChain(start, 6.0, seed=1, **CPU)
    chain.run(4)
    for t in (0, -1):
        np.testing.assert_array_equal(chain.field.links[t, ..., :3, :, :], links[t, ..., :3, :, :])
    assert chain.field.plaquette() > 0.4


def test_far_from_the_ends_it_is_periodic() -> None:
    beta, nc = 2.3, 2
    periodic = WilsonChain(generate((6, 6, 6, 6), beta, nc, seed=1, sweeps=60, **CPU), beta, **CPU)
    field = generate((6, 6, 6, 14), beta, nc, seed=1, sweeps=60, boundary="open", **CPU)
    chain, middle = WilsonChain(field, beta, seed=5, **CPU), []
    for _ in range(60):
        chain.run(2)
        space, time = traces(chain.field.links)
        middle.append([space[5:9].mean(), time[5:9].mean()])
    expected = periodic.run(200).mean()
    np.testing.assert_allclose(np.mean(middle, axis=0), expected, atol=0.006)


def test_it_goes_on(tmp_path: Path) -> None:
    given: dict[str, Any] = {"nc": 2, "seed": 1, "boundary": "open", **CPU}
    whole = generate((4, 4, 4, 6), 2.2, sweeps=12, **given)
    generate((4, 4, 4, 6), 2.2, sweeps=5, checkpoint=tmp_path / "job", **given)
    went_on = generate((4, 4, 4, 6), 2.2, sweeps=12, checkpoint=tmp_path / "job", **given)
    assert went_on.links.tobytes() == whole.links.tobytes()
    other = given | {"boundary": "sf"}
    with pytest.raises(CheckpointError):
        generate((4, 4, 4, 6), 2.2, sweeps=12, checkpoint=tmp_path / "job", **other)


def test_files_and_gauges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "open.hirep"
    words = (
        f"gauge generate --shape 4,4,4,6 --beta 5.7 --boundary open --sweeps 5 --seed 1 -o {path}"
    )
    assert main([*words.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["boundary"] == "open"
    field = formats.read(path)
    assert field.boundary == "open"
    assert fix(field, "landau", device="cpu").converged
    made = generate_ensemble(
        (4, 4, 4, 6), 5.7, 2, str(tmp_path / "{number}.hirep"), sweeps=3, boundary="sf", seed=2
    )
    assert formats.read(made.files[1]).boundary == "sf"
    assert formats.read(made.files[1]).plaquette() == pytest.approx(made["plaquette"][1], rel=1e-12)


def test_refusals() -> None:
    for wrong in ({"boundary": "closed"}, {"boundary": "open", "shape": (4, 4, 4, 2)}):
        with pytest.raises(InputError):
            generate(**({"shape": (4, 4, 4, 4), "beta": 6.0} | wrong))  # type: ignore[arg-type]
