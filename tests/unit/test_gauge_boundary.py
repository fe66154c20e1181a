"""Open boundaries and the Schroedinger functional: plaquettes, files, gauge fixing, refusals."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.errors import FormatError, InputError
from hardscape.gauge import (
    GaugeField,
    WilsonChain,
    fix,
    formats,
    generate,
    gluon_propagator,
    observables,
)
from helpers import gauge_files as codes
from helpers import gauge_oracles

PUBLIC = Path(__file__).resolve().parents[3] / "shared" / "data" / "gauge"
SHAPE = (4, 2, 4, 6)
PERIODIC = {
    nc: generate(SHAPE, 2.4 * (nc - 1) ** 1.3, nc, sweeps=15, seed=5, device="cpu") for nc in (2, 3)
}
#: Angles of the boundaries that define a coupling, at times 0 and T.
PHI = (-np.pi / 3, 0.0, np.pi / 3), (-np.pi, np.pi / 3, 2 * np.pi / 3)
RUN: dict[str, Any] = {"device": "cpu", "seed": 1}


def open_links(nc: int = 3) -> Any:
    found = PERIODIC[nc].links.copy()
    found[-1, ..., 3, :, :] = 0
    return found


def sf_links() -> Any:
    """Timeslices 0 to 6, the first and the last one fixed."""
    found = np.concatenate([PERIODIC[3].links, PERIODIC[3].links[:1]])
    for t, angles in ((0, PHI[0]), (-1, PHI[1])):
        for mu in range(3):
            found[t, ..., mu, :, :] = np.diag(np.exp(1j * np.array(angles) / SHAPE[mu]))
    found[-1, ..., 3, :, :] = 0
    return found


OPEN = GaugeField(open_links(), boundary="open", layout="t z y x mu a b")
SF = GaugeField(sf_links(), boundary="sf", layout="t z y x mu a b")


def weighted(links: Any) -> float:
    """The plaquette as openQCD's log has it: boundary plaquettes in space count half."""
    space, time = codes.traces(links)
    total = space.sum() - (space[0] + space[-1]) / 2 + time.sum()
    return float(total / (6 * (len(links) - 1) * np.prod(links.shape[1:4]) * links.shape[-1]))


@pytest.mark.parametrize("field", [OPEN, SF], ids=["open", "sf"])
def test_plaquette(field: GaugeField) -> None:
    assert field.plaquette() == pytest.approx(weighted(field.links), rel=1e-13)
    assert field.unitarity() < 1e-13
    assert field.reproject().links == pytest.approx(field.links, abs=1e-14)
    assert pickle.loads(pickle.dumps(field)) == field
    assert field != GaugeField(field.links, layout="t z y x mu a b")
    assert field.boundary in repr(field)


def test_link_trace() -> None:
    traces = np.trace(OPEN.links, axis1=-2, axis2=-1).real
    there = traces.size - traces.size // (4 * SHAPE[3])
    assert OPEN.link_trace() == pytest.approx(traces.sum() / (3 * there), rel=1e-12)


def test_links_that_have_no_such_boundary() -> None:
    for name in ("open", "sf"):
        with pytest.raises(InputError):
            GaugeField(PERIODIC[3].links, boundary=name, layout="t z y x mu a b")
    with pytest.raises(InputError):
        GaugeField(OPEN.links, boundary="sf", layout="t z y x mu a b")
    with pytest.raises(InputError):
        GaugeField(OPEN.links, boundary="shut", layout="t z y x mu a b")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="open"):
        GaugeField(OPEN.links, layout="t z y x mu a b").require_unitary()


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("nc", [2, 3])
def test_fixing_open_boundaries(nc: int, copies: int, gauge: Any) -> None:
    field = GaugeField(open_links(nc), boundary="open", layout="t z y x mu a b")
    found = fix(field, gauge, theta=1e-18, copies=copies, annealing_sweeps=10, **RUN)
    fixed = found.fixed()
    assert fixed.boundary == "open"
    assert fixed.plaquette() == pytest.approx(field.plaquette(), abs=1e-13)
    # Links that are zero add nothing to the definitions.
    assert gauge_oracles.theta(fixed.links, gauge) <= 1.01e-18
    links = fixed.links[..., list(gauge_oracles.DIRECTIONS[gauge]), :, :]
    diagonal = np.diagonal(links, axis1=-2, axis2=-1)
    total = (np.abs(diagonal) ** 2).sum() if gauge == "mag" else diagonal.real.sum()
    there = links[..., 0, 0].size - (0 if gauge == "coulomb" else np.prod(SHAPE[:3]))
    assert found.functional == pytest.approx(total / (nc * there), rel=1e-12)
    assert found.functional == pytest.approx(found.copies.functional[found.copies.best], rel=1e-12)


@pytest.mark.parametrize("method", ["overrelaxation", "fourier-cg", "annealing"])
@pytest.mark.parametrize("copies", [1, 2])
def test_fixing_the_schroedinger_functional(copies: int, method: Any) -> None:
    found = fix(SF, "landau", method=method, theta=1e-16, copies=copies, annealing_sweeps=5, **RUN)
    fixed = found.fixed()
    assert fixed.boundary == "sf"
    np.testing.assert_allclose(
        fixed.links[[0, -1], ..., :3, :, :], SF.links[[0, -1], ..., :3, :, :]
    )
    np.testing.assert_array_equal(
        found.g[[0, -1]], np.broadcast_to(np.eye(3), found.g[[0, -1]].shape)
    )
    by_site = gauge_oracles.theta_by_site(fixed.links, "landau")[1:-1]
    assert by_site.mean() <= 1.01e-16
    assert found.theta_mean == pytest.approx(by_site.mean(), rel=1e-6)
    assert fixed.plaquette() == pytest.approx(SF.plaquette(), abs=1e-13)


def test_what_has_no_boundaries() -> None:
    with pytest.raises(InputError, match="boundary"):
        gluon_propagator(OPEN, theta=None)


@pytest.mark.parametrize(("field", "free"), [(OPEN, range(SHAPE[3])), (SF, range(1, SHAPE[3]))])
def test_the_equal_time_propagator_of_open_fields(field: GaugeField, free: range) -> None:
    def of(*slices: int) -> Any:
        chosen = slices or None
        return gluon_propagator(field, "coulomb", theta=None, cylinder=None, slices=chosen).value

    each = [of(t, t + 1) for t in free]
    np.testing.assert_allclose(of(), np.mean(each, axis=0), rtol=1e-12)
    np.testing.assert_allclose(of(1, 3), np.mean([of(1, 2), of(2, 3)], axis=0), rtol=1e-12)
    with pytest.raises(InputError):
        of(0, 99)
    with pytest.raises(InputError):
        gluon_propagator(field, "landau", theta=None, slices=(0, 1))
    if field is SF:
        with pytest.raises(InputError):
            of(0, 1)


# -- files ------------------------------------------------------------------------------------


def test_files_of_open_fields(tmp_path: Path) -> None:
    space, time = codes.traces(OPEN.links)
    (tmp_path / "a").write_bytes(codes.openqcd(OPEN.links, space.sum() + time.sum()))
    (tmp_path / "b").write_bytes(codes.hirep(OPEN.links, weighted(OPEN.links)))
    for name, kind in (("a", "openqcd"), ("b", "hirep")):
        field, report = formats.inspect(tmp_path / name)
        assert (report.format, report.boundary, report.ok) == (kind, "open", True)
        assert report.plaquette_ok
        assert field == OPEN
        formats.write(field, tmp_path / "again", format=kind)
        assert (tmp_path / "again").read_bytes()[32:] == (tmp_path / name).read_bytes()[32:]
        assert formats.inspect(tmp_path / "again")[1].plaquette_ok


def openqcd_sf(links: Any) -> bytes:
    """All plaquettes of the lattice, those in space at time T among them, over 6 T."""
    space, time = codes.traces(links)
    return codes.openqcd(links[:-1], space.sum() + time.sum())


def test_openqcd_with_schroedinger_boundaries(tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.write_bytes(openqcd_sf(SF.links))
    field, report = formats.inspect(path, format="openqcd")
    assert (report.boundary, report.ok, report.shape) == ("sf", True, (4, 2, 4, 7))
    assert report.plaquette == pytest.approx(weighted(SF.links), rel=1e-12)
    np.testing.assert_allclose(field.links, SF.links, atol=1e-15)
    assert any("phi'" in note for note in report.notes)
    formats.write(field, tmp_path / "v", format="openqcd")
    assert (tmp_path / "v").read_bytes()[24:] == path.read_bytes()[24:]
    assert formats.inspect(tmp_path / "v")[1].ok


def test_openqcd_with_other_angles(tmp_path: Path) -> None:
    links = SF.links.copy()
    angles = (-2.0, 0.7, 1.3)
    for mu in range(3):
        links[-1, ..., mu, :, :] = np.diag(np.exp(1j * np.array(angles) / SHAPE[mu]))
    path = tmp_path / "u"
    path.write_bytes(openqcd_sf(links))
    with pytest.raises(FormatError, match="angles"):
        formats.read(path, format="openqcd")
    with pytest.warns(UserWarning, match="phi'"):
        field = formats.read(path, format="openqcd", angles=angles)
    np.testing.assert_allclose(field.links, links, atol=1e-15)
    with pytest.raises(InputError):
        formats.read(path, format="openqcd", angles=(1.0,))
    found = observables(path, read={"format": "openqcd", "angles": angles}, device="cpu")
    assert found["plaquette"][0] == pytest.approx(field.plaquette(), rel=1e-12)


def test_hirep_with_schroedinger_boundaries(tmp_path: Path) -> None:
    one = np.broadcast_to(np.eye(3), SF.links[:1].shape)
    stored = np.concatenate([one, SF.links])
    stored[-1, ..., 3, :, :] = np.eye(3)
    space, time = codes.traces(SF.links)
    slices = len(SF.links)
    inner = (space[1:-1].sum() + time.sum()) / (18 * (slices - 1) * np.prod(SHAPE[:3]))
    path = tmp_path / "u"
    path.write_bytes(codes.hirep(stored, inner))
    field, report = formats.inspect(path)
    assert (report.format, report.boundary, report.ok) == ("hirep", "sf", True)
    np.testing.assert_allclose(field.links, SF.links, atol=1e-15)
    formats.write(field, tmp_path / "v", format="hirep")
    assert (tmp_path / "v").read_bytes()[28:] == path.read_bytes()[28:]
    # Older files have zeros outside, and the mean over all slices in their header.
    older = stored.copy()
    older[0] = 0
    whole = codes.periodic_plaquette(older)
    (tmp_path / "w").write_bytes(codes.hirep(older, whole))
    field, report = formats.inspect(tmp_path / "w")
    assert (report.boundary, report.ok) == ("sf", True)
    np.testing.assert_allclose(field.links, SF.links, atol=1e-15)
    (tmp_path / "w").write_bytes(codes.hirep(older, whole + 1e-6))
    assert not formats.inspect(tmp_path / "w")[1].ok
    assert struct.unpack(">d", (tmp_path / "v").read_bytes()[20:28])[0] == pytest.approx(inner)


@pytest.mark.parametrize("field", [OPEN, SF], ids=["open", "sf"])
@pytest.mark.parametrize(
    "name", ["nersc", "ildg", "milc", "npz", "npy", "vogt", "mdp", "ddalphaamg", "bmw"]
)
def test_any_format_keeps_the_boundary(name: str, field: GaugeField, tmp_path: Path) -> None:
    formats.write(field, tmp_path / "u", format=name)
    back, report = formats.inspect(tmp_path / "u", format=name)
    assert (back.boundary, report.ok) == (field.boundary, True)
    np.testing.assert_allclose(back.links, field.links, atol=1e-7 if name == "milc" else 1e-15)


def test_a_public_configuration() -> None:
    path = PUBLIC / "HiRep_obc_L8T8.hirep"
    if not path.exists():
        pytest.skip(f"{path.name}, a public configuration, is not in ../shared/data/gauge")
    field = GaugeField.from_file(path)
    found = fix(field, theta=1e-14, **RUN)
    assert gauge_oracles.theta(found.fixed().links, "landau") <= 1.01e-14
    assert found.fixed().plaquette() == pytest.approx(0.826682342165, abs=1e-11)


# -- open at time 0, fixed at T -----------------------------------------------------------------


def open_sf(angles: tuple[float, ...] = (-5 * np.pi / 3, 2 * np.pi / 3, np.pi)) -> GaugeField:
    links = GaugeField.random((4, 2, 4, 7), 3, seed=8).links
    links[-1, ..., 3, :, :] = 0
    for mu in range(3):
        links[-1, ..., mu, :, :] = np.diag(np.exp(1j * np.array(angles) / SHAPE[mu]))
    return GaugeField(links, boundary="open-sf")


def test_openqcd_open_at_one_end_alone(tmp_path: Path) -> None:
    path, whole = tmp_path / "u", open_sf()
    path.write_bytes(openqcd_sf(whole.links))
    field, report = formats.inspect(path, format="openqcd")
    assert (report.boundary, report.ok, report.shape) == ("open-sf", True, (4, 2, 4, 7))
    np.testing.assert_allclose(field.links, whole.links, atol=1e-15)
    formats.write(field, tmp_path / "v", format="openqcd")
    assert (tmp_path / "v").read_bytes()[24:] == path.read_bytes()[24:]
    formats.write(field, tmp_path / "w.npz")
    assert formats.inspect(tmp_path / "w.npz")[0] == field


def test_openqcd_with_the_angles_of_another_eta(tmp_path: Path) -> None:
    eta, path = 0.3, tmp_path / "u"
    phi = (eta - np.pi / 3, -eta / 2, -eta / 2 + np.pi / 3)
    there = (-phi[0] - 4 * np.pi / 3, -phi[2] + 2 * np.pi / 3, -phi[1] + 2 * np.pi / 3)
    links = SF.links.copy()
    for t, angles in ((0, phi), (-1, there)):
        for mu in range(3):
            links[t, ..., mu, :, :] = np.diag(np.exp(1j * np.array(angles) / SHAPE[mu]))
    path.write_bytes(openqcd_sf(links))
    field, report = formats.inspect(path, format="openqcd")
    assert (report.boundary, report.ok) == ("sf", True)
    np.testing.assert_allclose(field.links, links, atol=1e-14)


@pytest.mark.parametrize("copies", [1, 2])
def test_fixing_open_sf(copies: int) -> None:
    field = open_sf()
    found = fix(field, "landau", theta=1e-16, copies=copies, **RUN)
    assert found.fixed().boundary == "open-sf"
    assert (found.g[-1] == np.eye(3)).all()
    assert not (found.g[0] == np.eye(3)).all()
    by_site = gauge_oracles.theta_by_site(found.fixed().links, "landau")[:-1]
    assert by_site.mean() <= 1.01e-16


def test_chains_of_open_sf() -> None:
    start = GaugeField(open_sf().links, boundary="open-sf")
    chain = WilsonChain(start, 6.0, seed=1, threads=1)
    chain.run(3)
    after = chain.field
    assert after.boundary == "open-sf"
    np.testing.assert_array_equal(after.links[-1], start.links[-1])
    assert not (after.links[0] == start.links[0]).any()
    assert generate((4, 4, 4, 5), 5.0, seed=1, sweeps=2, boundary="open-sf").boundary == "open-sf"
