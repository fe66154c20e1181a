"""``hardscape approximate``: estimates, options and refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hardscape.cli import main
from hardscape.permanents import approximate, bounds

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> str:
    np.save(tmp_path / "ones.npy", np.ones((60, 60)))
    return str(tmp_path / "ones.npy")


def test_the_answer_of_the_function(file: str, capsys: Captured) -> None:
    words = ["--num-samples", "500", "--confidence", "0.999", "--seed", "2", "--json"]
    assert main(["approximate", file, *words]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = approximate(np.ones((60, 60)), num_samples=500, confidence=0.999, seed=2)
    assert (found["value"], found["error_bound"]) == (expected.value, expected.error_bound)
    assert (found["method"], found["num_samples"], found["confidence"]) == ("huber-law", 500, 0.999)
    assert abs(found["value"] - math.factorial(60)) < found["error_bound"]
    assert found.items() >= bounds(np.ones((60, 60))).to_dict().items()


def test_a_wished_error(file: str, capsys: Captured) -> None:
    assert main(["approximate", file, "--relative-error", "0.2", "--seed", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["relative_error_bound"] < 0.2
    assert found["num_samples"] < 10_000


def test_for_people(file: str, capsys: Captured) -> None:
    assert main(["approximate", file, "--num-samples", "100", "--method", "gurvits"]) == 0
    assert "gurvits, 100 samples" in capsys.readouterr().out


def test_plot(file: str, tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "estimate.png"
    assert main(["approximate", file, "--num-samples", "100", "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "huber-law" in capsys.readouterr().out
    assert main(["approximate", file, "--plot", str(picture)]) == 2  # it is there
    assert main(["approximate", file, "--plot", str(tmp_path / "estimate.txt")]) == 2
    assert capsys.readouterr().out == ""


def test_refusals(file: str, tmp_path: Path, capsys: Captured) -> None:
    np.save(tmp_path / "signed.npy", -np.eye(2))
    np.save(tmp_path / "wide.npy", np.ones((2, 3)))
    for words in (
        [file, "--confidence", "1"],
        [file, "--num-samples", "0"],
        [file, "--num-samples", "10", "--relative-error", "0.1"],
        [file, "--method", "guess"],
        [str(tmp_path / "signed.npy"), "--method", "huber-law"],
        [str(tmp_path / "wide.npy")],
    ):
        assert main(["approximate", *words]) == 2
        assert capsys.readouterr().out == ""
