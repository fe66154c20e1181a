"""``hardscape gauge``: files checked, converted and generated, propagators, and refusals."""

from __future__ import annotations

import json
import re
import signal
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hardscape.cli import main
from hardscape.cli.gauge import fixing as fixing_cli
from hardscape.cli.gauge import generating
from hardscape.errors import Interrupted
from hardscape.gauge import GaugeField, fix, formats, generate, gluon_propagator
from helpers.commands import Captured, answered, refused


@pytest.fixture
def links(tmp_path: Path) -> Path:
    path = tmp_path / "u.nersc"
    formats.write(
        GaugeField.random((2, 4, 2, 6), 3, seed=1), path, header={"ENSEMBLE_ID": "random"}
    )
    return path


answer = partial(answered, "gauge")
refusal = partial(refused, "gauge")


def test_info(links: Path, capsys: Captured) -> None:
    found = answer(capsys, "info", links)
    field = formats.read(links)
    keys = {"command", "format", "shape", "nc", "plaquette", "link_trace", "checksum_ok"}
    assert keys | {"unitarity"} <= set(found)
    assert found["command"] == "gauge info"
    assert (found["format"], found["shape"], found["nc"]) == ("nersc", [2, 4, 2, 6], 3)
    assert found["plaquette"] == field.plaquette()
    assert found["checksum_ok"] is True
    assert main(["gauge", "info", str(links)]) == 0
    told = capsys.readouterr().out
    assert "2x4x2x6" in told
    assert "ENSEMBLE_ID = random" in told


def test_info_of_a_damaged_file(links: Path, capsys: Captured) -> None:
    links.write_bytes(re.sub(rb"CHECKSUM = \w+", b"CHECKSUM = deadbeef", links.read_bytes()))
    found = answer(capsys, "info", links, code=2)
    assert found["checksum_ok"] is False
    assert found["plaquette_ok"] is True
    assert answer(capsys, "info", links, "--ignore-checksum")["ok"] is False
    assert "deadbeef" in refusal(capsys, "convert", links, links.with_suffix(".ildg"))
    assert not links.with_suffix(".ildg").exists()
    words = ["convert", links, links.with_suffix(".ildg"), "--ignore-checksum"]
    answer(capsys, *words)
    assert formats.inspect(links.with_suffix(".ildg"))[1].ok


def test_info_of_links_out_of_the_group(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "u.ildg"
    field = GaugeField.random((2, 2, 2, 2), 2, seed=1)
    formats.write(GaugeField(1.01 * field.links), path)
    assert answer(capsys, "info", path, code=2)["checksum_ok"] is True
    refusal(capsys, "convert", path, tmp_path / "v.npz")
    answer(capsys, "convert", path, tmp_path / "v.npz", "--reproject")
    np.testing.assert_allclose(formats.read(tmp_path / "v.npz").links, field.links, atol=1e-14)


def test_convert(links: Path, capsys: Captured) -> None:
    target = links.with_suffix(".any")
    words = ["convert", links, target, "--to", "nersc", "--rows", 2, "--byteorder", "little"]
    found = answer(capsys, *words, "--precision", "single")
    assert (found["format"], found["source_format"]) == ("nersc", "nersc")
    _, report = formats.inspect(target)
    assert report.header["DATATYPE"] == "4D_SU3_GAUGE"
    assert report.header["FLOATING_POINT"] == "IEEE32LITTLE"
    assert report.header["ENSEMBLE_ID"] == "random"
    answer(capsys, "convert", links, links.with_suffix(".lime"), "--no-checksum")
    assert formats.inspect(links.with_suffix(".lime"))[1].checksum_ok is None


def test_generate(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "u.ildg"
    words = ["generate", "--shape", "4,2,4,6", "--beta", 2.3, "--nc", 2, "--sweeps", 3, "-o", path]
    found = answer(capsys, *words, "--seed", 4)
    field = formats.read(path)
    assert field.shape == (4, 2, 4, 6)
    assert field.nc == 2
    assert found["plaquette"] == field.plaquette()
    assert (found["seed"], found["sweeps"], found["overrelax"]) == (4, 3, 2)
    first = path.read_bytes()
    answer(capsys, *words, "--seed", 4, "--force")
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    "words",
    [
        ["--shape", "4,4,4,4", "--nc", 2, "-o", "u.bmw"],
        ["--shape", "4,4,4,3", "-o", "u.openqcd"],
        ["--shape", "4,4,4,4", "--boundary", "sf", "-o", "u.openqcd"],
        ["--shape", "4,4,4", "-o", "u.nersc"],
        ["--shape", "4,4,4,4", "-o", "u.ildg", "--rows", 2],
        ["--shape", "4,4,4,4", "-o", "u.milc", "--precision", "double"],
        ["--shape", "4,4,4", "-o", "u.{number}.ildg", "--chain", 2],
    ],
)
def test_what_no_format_holds_is_refused_before_the_work(
    words: list[object], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(capsys, "generate", "--beta", 6, "--sweeps", 10**6, *words)


def test_what_no_format_holds_is_not_fixed_first(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object, **__: object) -> None:
        pytest.fail("worked before it was refused")

    monkeypatch.setattr(fixing_cli, "find_gauge", forbidden)
    GaugeField.identity((4, 4, 4, 3)).to_file(tmp_path / "u.nersc")
    refusal(capsys, "fix", tmp_path / "u.nersc", "-o", tmp_path / "u.openqcd")


def test_packages_that_files_need_are_asked_for_before_the_work(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    words = ["generate", "--shape", "4,4,4,4", "--beta", 6, "--sweeps", 10**6]
    refusal(capsys, *words, "-o", "u.h5")
    refusal(capsys, *words, "--chain", 2, "-o", "u.{number}.nersc", "--table", "u.h5")


def test_generate_goes_on_from_a_checkpoint(tmp_path: Path, capsys: Captured) -> None:
    words = ["generate", "--shape", "4,4,4,4", "--beta", "2.3", "--nc", "2", "--seed", "4"]
    kept = ["--checkpoint", str(tmp_path / "chain")]
    answer(capsys, *words, "-o", tmp_path / "short.npz", *kept, "--sweeps", "3")
    resumed = answer(capsys, *words, "-o", tmp_path / "long.npz", *kept, "--sweeps", "5")
    whole = answer(capsys, *words, "-o", tmp_path / "whole.npz", "--sweeps", "5")
    assert resumed["plaquette"] == whole["plaquette"]


def test_the_same_command_replaces_what_it_wrote(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["generate", "--shape", "4,4,4,4", "--beta", 6, "--seed", 4, "--sweeps", 3]
    words += ["-o", tmp_path / "u.npz", "--checkpoint", tmp_path / "chain"]
    first = answer(capsys, *words)
    for more in ((), ("--time-limit", 60, "--threads", 1)):
        assert answer(capsys, *words, *more)["plaquette"] == first["plaquette"]
    assert main(["resume", str(tmp_path / "chain")]) == 0
    assert json.loads(capsys.readouterr().out)["plaquette"] == first["plaquette"]
    assert main(["gauge", *map(str, words), "--overrelax", "3", "--json"]) == 2
    monkeypatch.chdir(tmp_path)  # where names may mean other files
    assert main(["gauge", *map(str, words), "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_generate_interrupted(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Interrupted(signal.SIGTERM, GaugeField.identity((2, 2, 2, 2)))

    monkeypatch.setattr(generating, "make_field", stop)
    path = tmp_path / "u.ildg"
    words = ["gauge", "generate", "--shape", "4,4,4,4", "--beta", "6", "-o", str(path)]
    assert main(words) == 143
    assert str(path) in capsys.readouterr().err
    assert not path.exists()


def test_propagator(tmp_path: Path, capsys: Captured) -> None:
    paths = []
    for seed in range(2):
        field = GaugeField.random((4, 4, 4, 4), 2, seed=seed)
        paths.append(tmp_path / f"{seed}.npz")
        formats.write(fix(field, theta=1e-12, device="cpu").fixed(), paths[-1])
    found = answer(capsys, "propagator", *paths, "--beta", 2.3, "--no-cut")
    assert (found["configurations"], found["gauge"]) == (2, "landau")
    assert len(found["value"]) == len(found["momentum"]) == 9
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"no links")
    for command in (["propagator"], ["ghost", "--momenta", 1], ["eigenvalues", "--count", 1]):
        assert answer(capsys, *command, broken, *paths, code=2)["configurations"] == 2
    pytest.importorskip("matplotlib")
    assert main(["gauge", "propagator", *map(str, paths), "--plot", str(tmp_path / "d.png")]) == 0
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")
    assert "p^2 D(p^2)" in capsys.readouterr().out


def test_refusals(links: Path, capsys: Captured) -> None:
    refusal(capsys, "info", links.with_name("nowhere"))
    refusal(capsys, "info", links, "--format", "milc")
    refusal(capsys, "convert", links, links.with_suffix(".milc"), "--precision", "double")
    refusal(capsys, "propagator", links)
    refusal(capsys, "propagator")
    refusal(capsys, "propagator", links, "--plot", "p.txt")
    output = ["--beta", 6, "-o", links.with_suffix(".ildg")]
    refusal(capsys, "generate", "--shape", "4,4,4", *output)
    refusal(capsys, "generate", "--shape", "4,4,4,1", *output)
    refusal(capsys, "generate", "--shape", "4,4,4,4", "--beta", -1, *output[2:])
    refusal(capsys, "generate", "--shape", "4,4,4,4", "--beta", 6, "-o", links.with_suffix(".txt"))
    gone = links.parent / "no" / "u.ildg"
    refusal(capsys, "generate", "--shape", "4,4,4,4", "--beta", 6, "-o", gone)
    assert not links.with_suffix(".ildg").exists()


def test_reading_what_does_not_say_itself(tmp_path: Path, capsys: Captured) -> None:
    field = generate((4, 2, 4, 6), 2.4, 2, sweeps=15, seed=1, device="cpu")
    path = tmp_path / "lat.400"
    path.write_bytes(b"skip" + field.links.astype(">c16").tobytes())
    shape = ["--format", "raw", "--shape", "4,2,4,6"]
    assert main(["gauge", "info", str(path), *shape]) == 0
    told = capsys.readouterr()
    assert "t z y x mu a b" in told.err
    words = [*shape, "--layout", "t z y x mu a b", "--precision", "double", "--byte-order", "big"]
    found = answer(capsys, "info", path, *words, "--skip", 4)
    assert found["plaquette"] == pytest.approx(field.plaquette())
    assert "--shape" in refusal(capsys, "info", path, "--format", "raw")
    answer(capsys, "convert", path, tmp_path / "u.ildg", *words, "--skip", 4)
    np.testing.assert_array_equal(formats.read(tmp_path / "u.ildg").links, field.links)


def test_angles_of_a_boundary_that_is_not_in_the_file(tmp_path: Path, capsys: Captured) -> None:
    links = GaugeField.random((4, 2, 4, 7), 2, seed=8).links.copy()
    angles, path = (-1.2, 1.2), tmp_path / "u.openqcd"
    links[-1, ..., 3, :, :] = 0
    for mu, extent in enumerate((4, 2, 4)):
        links[-1, ..., mu, :, :] = np.diag(np.exp(1j * np.array(angles) / extent))
    field = GaugeField(links, boundary="open-sf")
    formats.write(field, path)
    assert main(["gauge", "info", str(path)]) != 0
    assert "--angles" in capsys.readouterr().err
    found = answer(capsys, "info", path, "--angles=-1.2,1.2")
    assert (found["boundary"], found["plaquette_ok"]) == ("open-sf", True)
    answer(capsys, "convert", path, tmp_path / "v.npz", "--angles=-1.2,1.2")
    assert formats.read(tmp_path / "v.npz") == field
    refusal(capsys, "info", path, "--angles", "1.2,x")


def test_an_output_without_a_name_takes_the_format_of_the_input(
    tmp_path: Path, capsys: Captured
) -> None:
    source = tmp_path / "u.vogt"
    formats.write(generate((4, 2, 4, 6), 5.7, sweeps=10, seed=1, device="cpu"), source)
    assert answer(capsys, "convert", source, tmp_path / "lat.400")["format"] == "vogt"
    assert (tmp_path / "lat.400").read_bytes() == source.read_bytes()
    answer(capsys, "fix", tmp_path / "lat.400", "-o", tmp_path / "cfg.1000", "--seed", 1)
    assert formats.detect(tmp_path / "cfg.1000") == "vogt"
    words = ["fix", source, "-o", tmp_path / "w.nersc", "--output-precision", "single"]
    found = answer(capsys, *words, "--reproject")
    assert formats.read(tmp_path / "w.nersc").dtype == np.complex64
    again = gluon_propagator(tmp_path / "w.nersc")
    assert again.theta == pytest.approx(found["theta_mean"], rel=1e-6)
    assert formats.read(tmp_path / "w.nersc").plaquette() == found["plaquette"]


def test_no_room_for_a_lattice(tmp_path: Path, capsys: Captured) -> None:
    shape = ["--shape", "180,180,180,180", "--beta", 6]
    told = refusal(capsys, "generate", *shape, "-o", tmp_path / "u.nersc")
    assert "GB" in told
    assert "x" in told.split("hold")[-1]


def test_flow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    GaugeField.random((4, 4, 4, 4), 2, seed=1).to_file(tmp_path / "u.nersc")
    words = ["gauge", "flow", str(tmp_path / "u.nersc"), "--flow-time", "0.5"]
    plot = tmp_path / "flow.png"
    assert main([*words, "--json", "--plot", str(plot)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["flow_time"]) == len(found["energy"]) == 26
    assert plot.stat().st_size > 1000
    assert main(words) == 0
    assert f"{found['charge'][-1]:.4f}" in capsys.readouterr().out
    assert main([*words, "--step", "1"]) == 2
