"""``hardscape gauge fix``: files in, files out, and refusals before the work."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import numpy as np
import pytest

from hardscape.cli import main
from hardscape.cli.gauge import fixing
from hardscape.errors import Interrupted
from hardscape.gauge import GaugeField, fix
from helpers import gauge_oracles


@pytest.fixture
def links(tmp_path: Path) -> Path:
    path = tmp_path / "links.nersc"
    GaugeField.random((4, 4, 4, 4), 2, seed=3).to_file(path)
    return path


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
def test_fixed_links_are_written(
    links: Path, gauge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target, turn = links.with_name("fixed.ildg"), links.with_name("g.npz")
    words = ["gauge", "fix", str(links), "--gauge", gauge, "-o", str(target), "--json"]
    assert main([*words, "--transformation", str(turn), "--device", "cpu", "--seed", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    fixed = GaugeField.from_file(target)
    assert gauge_oracles.theta(fixed.links, gauge) < 1.01e-12
    assert gauge_oracles.functional(fixed.links, gauge) == pytest.approx(found["functional"])
    with np.load(turn) as data:
        np.testing.assert_allclose(
            GaugeField.from_file(links).transform(data["g"]).links, fixed.links, atol=1e-14
        )
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
    assert GaugeField.from_file(target).plaquette() == pytest.approx(
        GaugeField.from_file(links).plaquette()
    )


def test_a_time_limit_ends_the_search(links: Path, capsys: pytest.CaptureFixture[str]) -> None:
    GaugeField.random((8, 8, 8, 8), 3, seed=3).to_file(links)
    target = links.with_name("fixed.nersc")
    words = ["gauge", "fix", str(links), "--theta", "1e-27", "--method", "relaxation", "--json"]
    words += ["--time-limit", "0.2", "--device", "cpu"]
    assert main([*words, "-o", str(target)]) == 2
    assert not target.exists()
    capsys.readouterr()
    assert main([*words, "--no-strict", "-o", str(target)]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert not found["converged"]
    assert "not converged" in told.err
    assert gauge_oracles.theta(GaugeField.from_file(target).links, "landau") == pytest.approx(
        found["theta_mean"]
    )


@pytest.mark.parametrize("converged", [True, False])
def test_interrupted(
    links: Path,
    converged: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(field: GaugeField, **_: object) -> None:
        found = fix(field, max_sweeps=2000 if converged else 3, strict=False, device="cpu")
        assert found.converged is converged
        raise Interrupted(signal.SIGINT, found)

    monkeypatch.setattr(fixing, "find_gauge", stop)
    target = links.with_name("fixed.nersc")
    assert main(["gauge", "fix", str(links), "-o", str(target)]) == 130
    assert target.exists() is converged
    assert (str(target) in capsys.readouterr().out) is converged


def test_a_wrong_checksum_can_be_ignored(links: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links.write_bytes(re.sub(rb"CHECKSUM = \w+", b"CHECKSUM = deadbeef", links.read_bytes()))
    words = ["gauge", "fix", str(links), "--device", "cpu", "--json"]
    assert main(words) == 2
    assert "--ignore-checksum" in capsys.readouterr().err
    assert main([*words, "--ignore-checksum"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["converged"]
    assert told.err.startswith("hardscape: warning: ")
    assert "deadbeef" in told.err


@pytest.mark.parametrize(
    "words",
    [
        ["--theta", "1e-40"],
        ["--omega", "3"],
        ["-o", "nowhere/fixed.nersc"],
        ["--transformation", "g.txt"],
        ["--plot", "picture.bmp"],
        ["--device", "tpu"],
    ],
)
def test_refusals(links: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(links.parent)
    assert main(["gauge", "fix", str(links), *words]) == 2
    assert sorted(path.name for path in links.parent.iterdir()) == ["links.nersc"]


def test_parts_of_an_ensemble_one_after_the_other(tmp_path: Path) -> None:
    for number in range(1, 5):
        GaugeField.random((2, 2, 2, 4), 2, seed=number).to_file(tmp_path / f"cfg.{number}.nersc")
    job = tmp_path / "fix.job"
    words = ["gauge", "fix", str(tmp_path / "cfg.*.nersc"), "--seed", "1", "--device", "cpu"]
    words += ["-o", str(tmp_path / "{stem}.lime"), "--checkpoint", str(job)]
    for shards in ("1/2", "2/2", "1/2"):
        assert main([*words, "--shards", shards]) == 0
    assert main(["merge", *map(str, sorted(tmp_path.glob("fix.*-of-2.job")))]) == 0
    table = tmp_path / "tables" / "fix.csv"  # whose folder is made, as those of outputs are
    assert main([*words, "--table", str(table)]) == 0
    assert len(table.read_text().splitlines()) == 5
    assert len(list(tmp_path.glob("*.lime"))) == 4
    job.unlink()
    assert main(words) == 2


def test_what_is_short_is_told_in_options(links: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gauge", "fix", str(links), "--max-sweeps", "2", "--device", "cpu"]) == 2
    told = capsys.readouterr().err
    assert "--no-strict" in told
    assert "strict=" not in told
    assert "--strict" not in told


def test_a_file_that_is_no_field_is_told_the_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noise").write_bytes(np.random.default_rng(1).bytes(8 * 2**4 * 8))
    assert (
        main(["gauge", "info", str(tmp_path / "noise"), "--format", "raw", "--shape", "2,2"]) == 2
    )
    told = capsys.readouterr().err
    assert all(
        told.count(f"--{name}") == 1 for name in ("layout", "precision", "byte-order", "skip")
    )
    assert "=" not in told
