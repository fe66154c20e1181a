"""The command ``hardscape reproduce``."""

from __future__ import annotations

import json

import pytest

from hardscape.cli import main

pytest.importorskip("matplotlib")


def test_figures_are_listed(capsys):
    assert main(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert "xorsat-5" in listed
    assert main(["reproduce", "list"]) == 0
    assert capsys.readouterr().out == listed
    assert main(["reproduce", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["figures"]
    assert {"name", "paper", "shows"} == set(listed[0])


def test_a_folder_keeps_what_was_done_before(capsys, tmp_path):
    folder = tmp_path / "figures"
    assert main(["reproduce", "xorsat-7", "--folder", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "0.0827249" in out
    assert str(folder / "index.html") in out
    assert main(["reproduce", "xorsat-6", "--folder", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "xorsat-6"
    page = (folder / "index.html").read_text()
    assert page.index('src="xorsat-6.png"') < page.index('src="xorsat-7.png"')
    names = {f"{name}.{x}" for name in ("xorsat-6", "xorsat-7") for x in ("png", "csv", "json")}
    assert {path.name for path in folder.iterdir()} == names | {"index.html"}
    (folder / "xorsat-6.json").write_text("{")
    assert main(["reproduce", "xorsat-7", "--folder", str(folder)]) == 0
    assert "xorsat-6.json: is no result" in capsys.readouterr().err
    assert 'src="xorsat-6.png"' not in (folder / "index.html").read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["xorsat-77"], "no figure is called 'xorsat-77'"),
        (["xorsat-7", "--all"], "names or --all"),
        (["xorsat-7", "--seed", "-1"], "-1"),
        (["xorsat-5", "--device", "tpu"], "tpu"),
    ],
)
def test_mistakes_are_told(words, reason, capsys, tmp_path):
    assert main(["reproduce", *words, "--folder", str(tmp_path / "x")]) == 2
    assert reason in capsys.readouterr().err
