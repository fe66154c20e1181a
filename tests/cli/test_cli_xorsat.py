"""``hardscape xorsat``: solve, tts, generate, theory, and what they refuse."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from hardscape.cli import main
from hardscape.xorsat import XorSystem, random_regular, random_system
from helpers.commands import Captured, answered, refused
from helpers.running import done

SOLVE_KEYS = {
    "command", "num_variables", "num_clauses", "satisfied", "violated", "assignment", "method", "clones",
    "sweeps", "spin_updates_per_second", "seconds", "device",
}  # fmt: skip
TTS_KEYS = {"tau", "tau_low", "tau_high", "tts99", "num_solved", "runs", "tau_sweeps"}
CPU = ("--device", "cpu", "--threads", "1", "--seed", "1")


answer = partial(answered, "xorsat")
refusal = partial(refused, "xorsat")


@pytest.fixture
def regular(tmp_path: Path) -> Path:
    random_regular(30, seed=1).to_file(tmp_path / "regular.qh")
    return tmp_path / "regular.qh"


@pytest.fixture
def inconsistent(tmp_path: Path) -> Path:
    random_system(30, 2.0, planted=False, seed=1).to_file(tmp_path / "inconsistent.cnf")
    return tmp_path / "inconsistent.cnf"


def test_solve(regular: Path, capsys: Captured) -> None:
    system = XorSystem.from_file(regular)
    for method in ("auto", "elimination", "quasi-greedy"):
        words = CPU if method == "quasi-greedy" else ()
        found = answer(capsys, "solve", regular, "--method", method, *words)
        assert set(found) >= SOLVE_KEYS
        assert found["command"] == "xorsat solve"
        assert found["satisfied"]
        assert system.violated([int(x) for x in found["assignment"]]) == found["violated"] == 0
        assert found["method"] == ("elimination" if method == "auto" else method)
    assert main(["xorsat", "solve", str(regular)]) == 0
    told = capsys.readouterr()
    assert found["assignment"] in told.out
    assert "elimination" in told.out
    assert told.err == ""


def test_what_cannot_be_satisfied(inconsistent: Path, capsys: Captured) -> None:
    found = answer(capsys, "solve", inconsistent, "--max-sweeps", 64, *CPU)
    assert not found["satisfied"]
    assert found["contradiction"]
    system = XorSystem.from_file(inconsistent)
    assert system.violated([int(x) for x in found["assignment"]]) == found["violated"]
    assert main(["xorsat", "solve", str(inconsistent), "--max-sweeps", "64", *CPU]) == 0
    told = capsys.readouterr()
    assert "0 = 1" in told.out
    assert "max sweeps" in told.err
    found = answer(capsys, "solve", inconsistent, "--method", "elimination")
    assert found["violated"] > 0


def test_options_of_the_search(regular: Path, capsys: Captured) -> None:
    words = ("solve", regular, "--method", "quasi-greedy", "--clones", 2048, "--w1", 0.06, *CPU)
    found = answer(capsys, *words)
    assert found["clones"] == 2048
    assert answer(capsys, *words)["sweeps"] == found["sweeps"]
    limited = answer(capsys, "solve", regular, "--target", 3, *CPU)
    assert limited["violated"] <= 3
    assert limited["method"] == "quasi-greedy"


def test_equal_variables_are_told(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "x.cnf"
    path.write_text("p cnf 3 2\nx1 1 2 0\nx2 3 0\n")
    assert answer(capsys, "solve", path)["satisfied"]
    assert main(["xorsat", "solve", str(path)]) == 0
    assert "1 pair" in capsys.readouterr().err


def test_tts(regular: Path, tmp_path: Path, capsys: Captured) -> None:
    words = ("--runs", 6, "--timeout", 5, *CPU)
    found = answer(capsys, "tts", regular, *words, "--plot", tmp_path / "x.png")
    assert set(found) >= TTS_KEYS | {"command", "file"}
    assert found["command"] == "xorsat tts"
    assert found["num_solved"] == found["runs"] == 6
    assert found["tau_low"] < found["tau"] < found["tau_high"]
    assert (tmp_path / "x.png").stat().st_size > 1000
    assert answer(capsys, "tts", regular, *words)["tau_sweeps"] == found["tau_sweeps"]
    both = answer(capsys, "tts", regular, regular, *words)
    assert [x["tau_sweeps"] for x in both["instances"]] == [found["tau_sweeps"]] * 2
    assert both["median_tts99_low"] < both["median_tts99"] < both["median_tts99_high"]
    assert main(["xorsat", "tts", str(regular), str(regular), *map(str, words)]) == 0
    told = capsys.readouterr().out
    assert "median TTS99" in told
    assert "6/6" in told


def test_generate(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "x.cnf"
    found = answer(capsys, "generate", "--num-variables", 24, "--seed", 3, "-o", path)
    assert found == {
        "command": "xorsat generate",
        "file": str(path),
        "seed": 3,
        "num_variables": 24,
        "num_clauses": 24,
        "rank": 24,
    }
    assert XorSystem.from_file(path) == random_regular(24, seed=3)
    words = ("--num-variables", 20, "--density", 0.5, "--k", 4, "--seed", 3, "--no-planted")
    answer(capsys, "generate", *words, "-o", tmp_path / "y.npz")
    assert XorSystem.from_file(tmp_path / "y.npz") == random_system(
        20, 0.5, 4, planted=False, seed=3
    )
    assert main(["xorsat", "generate", "--num-variables", "9", "--degree", "2", "--no-full-rank", "-o",
                 str(tmp_path / "z.qh")]) == 0  # fmt: skip
    assert str(tmp_path / "z.qh") in capsys.readouterr().out


def test_theory(tmp_path: Path, capsys: Captured) -> None:
    found = answer(capsys, "theory", "--plot", tmp_path / "x.svg")
    assert found["command"] == "xorsat theory"
    assert round(found["height"], 7) == 0.0827249
    assert round(found["spinodal_temperature"], 6) == 0.980548
    assert (tmp_path / "x.svg").read_text().startswith("<?xml")
    assert main(["xorsat", "theory", "--w1", "0.05", "--k", "4"]) == 0
    assert "spinodal" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "missing.cnf"],
        ["solve", "{file}", "--method", "other"],
        ["solve", "{file}", "--format", "other"],
        ["solve", "{file}", "--method", "elimination", "--time-limit", "0"],
        ["solve", "{file}", "--method", "elimination", "--clones", "10"],
        ["solve", "{file}", "--method", "elimination", "--target", "1"],
        ["solve", "{file}", "--method", "quasi-greedy", "--w1", "2"],
        ["solve", "{file}", "--target", "-1"],
        ["tts"],
        ["tts", "{file}", "--runs", "0"],
        ["tts", "{file}", "--timeout", "0"],
        ["tts", "{file}", "--plot", "x.gif"],
        ["generate", "--num-variables", "10", "--k", "3", "--degree", "4", "-o", "x.cnf"],
        ["generate", "--num-variables", "10", "--density", "1", "--degree", "4", "-o", "x.cnf"],
        ["generate", "--num-variables", "9", "-o", "x.txt"],
        ["generate", "--num-variables", "9"],
        ["theory", "--w1", "0"],
        ["theory", "--w1", "0.5"],
        ["theory", "--k", "2"],
    ],
)
def test_refused(
    words: list[str], regular: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(regular.parent)
    refusal(capsys, *[word.format(file=regular) for word in words])


def test_ctrl_c_prints_the_best_so_far(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    random_system(300, 1.5, planted=False, seed=1).to_file(path)
    words = ["xorsat", "solve", str(path), "--time-limit", "60", "--json", *CPU]
    with subprocess.Popen(
        [sys.executable, "-m", "hardscape", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    found = json.loads(told)
    assert found["violated"] > 0
    assert found["stopped"] == "SIGINT"


def test_ctrl_c_keeps_the_runs_that_had_ended(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    random_regular(40, seed=1).to_file(path)
    words = ["xorsat", "tts", str(path), str(path), "--runs", "1000000", "--json", *CPU]
    words += ["--checkpoint", str(tmp_path / "runs")]
    with subprocess.Popen(
        [sys.executable, "-m", "hardscape", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not any(map(done, tmp_path.glob("runs*"))):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    (found,) = json.loads(told)["instances"]
    assert 0 < found["runs"] < 1000000
    assert found["num_solved"] == found["runs"]


def test_what_only_says_how_to_run_ends_no_command(regular: Path, capsys: Captured) -> None:
    words = ["--method", "elimination", "--time-limit", "40", "--seed", "1", "--threads", "1"]
    assert answer(capsys, "solve", regular, *words)["violated"] == 0


def test_energy(regular: Path, tmp_path: Path, capsys: Captured) -> None:
    words = ["energy", regular, "--sweeps", 20, "--looks", 4, "--clones", 2048, *CPU]
    found = answer(capsys, *words)
    assert found["sweeps"][-1] == 20
    assert found["energy"][-1] < found["energy"][0]
    annealed = answer(capsys, *words, "--w1", 0.4, "--until", 0.05, "--dynamics", "metropolis")
    assert annealed["w1"][0] == 0.4 > annealed["w1"][-1]
    refusal(capsys, "energy", regular, "--sweeps", 0)


def test_scan(regular: Path, tmp_path: Path, capsys: Captured) -> None:
    words = ["scan", regular, "--values", "0.04,0.05,0.07", "--runs", 4, *CPU]
    found = answer(capsys, *words, "--checkpoint", tmp_path / "runs")
    assert len(found["w1"]) == len(found["results"]) == 3
    assert all(x["num_solved"] for x in found["results"])
    assert answer(capsys, *words, "--checkpoint", tmp_path / "runs") == found
    refusal(capsys, "scan", regular, "--values", "many")
