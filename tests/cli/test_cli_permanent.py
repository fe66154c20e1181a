"""``hardscape permanent``: answers, JSON, options, estimates and refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardscape
from hardscape.cli import main
from helpers.commands import Captured, answered, refused
from helpers.running import done

KEYS = {"command", "shape", "value", "mantissa", "exponent", "error_bound", "rigorous",
        "likely_error", "condition", "method", "precision", "terms", "reductions", "seconds",
        "device", "stopped", "retries"}  # fmt: skip


answer = partial(answered, "permanent")
refusal = partial(refused, "permanent")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "whole.csv"
    path.write_text("1,2,3\n4,5,6\n7,8,10\n")
    return path


def saved(tmp_path: Path, array: Any) -> Path:
    np.save(tmp_path / "matrix.npy", array)
    return tmp_path / "matrix.npy"


def test_json_of_integers(whole: Path, capsys: Captured) -> None:
    found = answer(capsys, whole)
    assert set(found) == KEYS
    assert found["value"] == "463"
    assert (found["command"], found["shape"]) == ("permanent", [3, 3])
    assert (found["error_bound"], found["precision"]) == (0.0, "exact")


def test_json_of_floats_and_complex(tmp_path: Path, capsys: Captured) -> None:
    rng = np.random.default_rng(1)
    real = rng.normal(size=(7, 7))
    assert (
        answer(capsys, saved(tmp_path, real))["value"]
        == hardscape.permanent(real, full_output=True).value
    )
    made = real + 1j
    value = answer(capsys, saved(tmp_path, made), "--threads", "1")["value"]
    assert complex(value["re"], value["im"]) == hardscape.permanent(made, full_output=True).value


def test_options_reach_the_function(whole: Path, capsys: Captured) -> None:
    assert answer(capsys, whole, "--rows", "2,0,1", "--cols", "1, 1, 1")["value"] == str(
        hardscape.permanent([[1, 2, 3], [1, 2, 3], [7, 8, 10]])
    )
    assert answer(capsys, whole, "--precision", "double")["value"] == 463.0
    assert answer(capsys, whole, "--precision", "double", "--method", "glynn")["method"] == "glynn"


def test_beyond_float64(tmp_path: Path, capsys: Captured) -> None:
    path = saved(tmp_path, np.full((12, 12), 1e30) + np.eye(12) * 1e29)
    found = answer(capsys, path)
    assert found["value"] is None
    assert found["mantissa"] * 2.0 ** (found["exponent"] - 1000) > 1
    assert main(["permanent", str(path)]) == 0
    assert f"2^{found['exponent']}" in capsys.readouterr().out


def test_table_for_people(whole: Path, capsys: Captured) -> None:
    assert main(["permanent", str(whole)]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "463" in told.out
    assert "exact" in told.out


def test_long_integers_are_cut_for_people_only(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "long.csv"
    path.write_text("1" + "0" * 300 + "\n")
    assert main(["permanent", str(path)]) == 0
    assert "301" in capsys.readouterr().out
    assert answer(capsys, path)["value"] == str(10**300)


def test_estimate_and_yes(tmp_path: Path, capsys: Captured) -> None:
    path = saved(tmp_path, np.random.default_rng(1).normal(size=(50, 50)))
    found = answer(capsys, path, "--estimate")
    assert found["terms"] == 2**49
    assert found["seconds"] > 600
    assert found["seconds_elsewhere"]["1 H200"] > found["seconds_elsewhere"]["192 H200s"]
    assert main(["permanent", str(path), "--estimate"]) == 0
    assert "192 H200s" in capsys.readouterr().out
    assert "--yes" in refusal(capsys, path)
    began = time.monotonic()
    assert "time limit" in refusal(capsys, path, "--time-limit", "0.2")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--rows", "1,x,1"], "x"),
        (["--rows", "1,1"], "3"),
        (["--rows", "2,1,1"], "4"),
        (["--method", "ryser"], "glynn"),
        (["--precision", "quadruple"], "exact"),
        (["--threads", "0"], "0"),
        (["--device", "abacus"], "abacus"),
    ],
)
def test_refusals(whole: Path, capsys: Captured, words: list[str], hint: str) -> None:
    assert hint in refusal(capsys, whole, *words)


def test_files_that_are_no_matrix(tmp_path: Path, capsys: Captured) -> None:
    assert "nowhere.mtx" in refusal(capsys, "nowhere.mtx")
    assert "(2, 3, 3)" in refusal(capsys, saved(tmp_path, np.ones((2, 3, 3))))
    assert "nan" in refusal(capsys, saved(tmp_path, np.array([[np.nan]])))


def test_stopped_and_resumed(tmp_path: Path) -> None:
    path = saved(tmp_path, np.random.default_rng(2).normal(size=(28, 28)))
    ledger = tmp_path / "ledger"
    words = ["permanent", str(path), "--threads", "1", "--checkpoint", str(ledger), "--json"]
    command = [sys.executable, "-m", "hardscape", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None and not done(ledger):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert out == b""
    assert err.count(b"\n") == 1
    resumed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    expected = hardscape.permanent(np.load(path), full_output=True)
    assert json.loads(resumed.stdout)["value"] == expected.value
