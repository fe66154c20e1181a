"""``hardscape gauge fix``: files in, files out, and refusals before the work."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hardscape.cli import main
from hardscape.gauge import GaugeField, read, write
from helpers import gauge_oracles


@pytest.fixture
def links(tmp_path: Path) -> Path:
    path = tmp_path / "links.nersc"
    write(GaugeField.random((4, 4, 4, 4), 2, 3), path)
    return path


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
def test_fixed_links_are_written(
    links: Path, gauge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target, turn = links.with_name("fixed.ildg"), links.with_name("g.npz")
    words = ["gauge", "fix", str(links), "--gauge", gauge, "-o", str(target), "--json"]
    assert main([*words, "--transformation", str(turn), "--device", "cpu", "--seed", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    fixed = read(target)
    assert gauge_oracles.theta(fixed.links, gauge) < 1.01e-12
    assert gauge_oracles.functional(fixed.links, gauge) == pytest.approx(found["functional"])
    with np.load(turn) as data:
        np.testing.assert_allclose(read(links).transform(data["g"]).links, fixed.links, atol=1e-14)
    keys = {"command", "gauge", "method", "shape", "nc", "functional", "theta_mean", "theta_max"}
    keys |= {"sweeps", "copies", "site_updates_per_second", "seconds", "device"}
    assert keys <= set(found)
    assert (found["command"], found["gauge"], found["copies"]) == ("gauge fix", gauge, 1)


def test_table_copies_and_plot(links: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    plot = links.with_name("copies.png")
    words = ["gauge", "fix", str(links), "--copies", "3", "--annealing-sweeps", "5"]
    assert main([*words, "--device", "cpu", "--plot", str(plot)]) == 0
    assert plot.stat().st_size > 1000
    assert "3 of 3 converged" in capsys.readouterr().out


def test_not_converging_writes_nothing_unless_asked(links: Path) -> None:
    target = links.with_name("fixed.nersc")
    words = ["gauge", "fix", str(links), "--max-sweeps", "2", "-o", str(target), "--device", "cpu"]
    assert main(words) == 2
    assert not target.exists()
    assert main([*words, "--no-strict"]) == 0
    assert read(target).plaquette() == pytest.approx(read(links).plaquette())


@pytest.mark.parametrize(
    "words",
    [
        ["--theta", "1e-40"],
        ["--omega", "3"],
        ["-o", "nowhere/fixed.nersc"],
        ["-o", "fixed.unknown"],
        ["--transformation", "g.txt"],
        ["--plot", "picture.bmp"],
        ["--device", "tpu"],
    ],
)
def test_refusals(links: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(links.parent)
    assert main(["gauge", "fix", str(links), *words]) == 2
    assert sorted(path.name for path in links.parent.iterdir()) == ["links.nersc"]
