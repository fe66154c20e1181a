"""Jobs: what checkpoints tell of them while they run and after, going on with them, copies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.cli import main
from hardscape.engine.fold import Block
from hardscape.engine.jobs import job
from hardscape.engine.ledger import Ledger
from hardscape.errors import PartDone
from hardscape.ising import Ising, formats, spectrum
from hardscape.xorsat import random_regular
from helpers.instances import dense_integer
from helpers.running import done
from helpers.works import HarmonicSum

Captured = pytest.CaptureFixture[str]
LONG = ["spectrum", "model.npz", "--no-prune", "--device", "cpu", "--threads", "1", "--yes"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    formats.write(dense_integer(40, seed=8), tmp_path / "model.npz")
    return tmp_path


def listed(capsys: Captured) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    assert main(["jobs", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == "jobs"
    return {Path(one["file"]).name: one for one in told["jobs"]}


def running(*words: str) -> subprocess.Popen[str]:
    """A long command that has finished shards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hardscape", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    path = Path(words[-1])
    while done(path) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    return process


def test_a_job_from_its_begin_to_its_end(capsys: Captured) -> None:
    with running(*LONG, "--checkpoint", "long.ledger") as process:
        told = listed(capsys)["long.ledger"]
        assert told["state"] == "running"
        assert 2 <= told["done"] < told["total"]
        assert told["command"] == [*LONG, "--checkpoint", "long.ledger"]
        assert told["folder"] == os.getcwd()
        assert told["host"] == os.uname().nodename
        assert told["eta"] > 0
        assert main(["show", "long.ledger"]) == 2  # in use
        assert main(["jobs", "copy", "long.ledger", "copy.ledger"]) == 0
        process.send_signal(signal.SIGKILL)
        process.communicate()
    after = listed(capsys)
    assert after["long.ledger"]["state"] == after["copy.ledger"]["state"] == "stopped"
    assert after["copy.ledger"]["done"] >= told["done"]
    capsys.readouterr()
    assert main(["show", "copy.ledger"]) == 0
    shown = capsys.readouterr()
    assert "ground energy" in shown.out
    assert "not finished" in shown.err
    assert "time limit" not in shown.out + shown.err
    assert job("copy.ledger").done >= told["done"]


def test_going_on_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    words = ["xorsat", "tts", "x.qh", "--runs", "6", "--timeout", "5", "--seed", "3", "--json"]
    random_regular(64, seed=1).to_file("x.qh")
    assert main([*words, "--checkpoint=runs"]) == 0
    ledgers = [path for path in tmp_path.iterdir() if path.name.startswith("runs")]
    assert len(ledgers) == 1
    first = json.loads(capsys.readouterr().out)
    told = job(ledgers[0])
    assert told.state == "finished"
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    if ledgers[0].name == "runs":
        assert main(["resume", str(ledgers[0])]) == 0
        assert json.loads(capsys.readouterr().out) == first


def test_the_same_answer_after_resume(capsys: Captured) -> None:
    formats.write(dense_integer(34, seed=3), "small.npz")
    words = ["spectrum", "small.npz", *LONG[2:], "--num-states", "3", "--seed", "5", "--json"]
    assert main(words) == 0
    expected = json.loads(capsys.readouterr().out)
    main([*words, "--checkpoint", "a", "--time-limit", "0.3"])
    told = job("a")
    assert told.state in ("stopped", "finished")
    before = told.done
    assert main(["resume", "a", "--time-limit", "0.001"]) in (0, 2)
    assert job("a").done >= before
    capsys.readouterr()
    while job("a").state != "finished":
        assert main(["resume", "a", "--time-limit=1e3"]) == 0
    capsys.readouterr()
    assert main(["resume", "a"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["energies"] == expected["energies"]
    assert found["states"] == expected["states"]


def test_what_is_shown_is_drawn_over_its_own_picture(capsys: Captured) -> None:
    words = [*LONG, "--plot", "levels.svg", "--checkpoint", "long"]
    assert main([*words, "--time-limit", "0.5"]) == 0
    assert "stopped by the time limit" in capsys.readouterr().err
    assert main(["show", "long"]) == 0
    assert "not finished" in capsys.readouterr().err


def test_a_finished_permanent_is_shown(capsys: Captured) -> None:
    np.save("matrix.npy", np.random.default_rng(1).normal(size=(24, 24)))
    words = ["permanent", "matrix.npy", "--device", "cpu", "--json", "--checkpoint", "sum"]
    assert main(words) == 0
    expected = json.loads(capsys.readouterr().out)["value"]
    assert job("sum").state == "finished"
    assert main(["show", "sum"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == expected


def test_a_part_that_tells_nothing_is_told_as_that(capsys: Captured) -> None:
    np.save("matrix.npy", np.random.default_rng(1).normal(size=(32, 32)))
    limit = ["--time-limit", "0.2", "--yes"]
    assert main(["permanent", "matrix.npy", "--device", "cpu", "--checkpoint", "sum", *limit]) == 2
    capsys.readouterr()
    assert main(["show", "sum"]) == 2
    err = capsys.readouterr().err
    assert "hardscape resume" in err
    assert "time limit" not in err  # which the command had, and not this one


def test_an_answer_is_shown_and_gone_on_with_without_the_executor(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    formats.write(dense_integer(30, seed=3), "small.npz")
    words = ["spectrum", "small.npz", *LONG[2:-3], "--num-states", "3", "--seed", "5", "--json"]
    nobody = ["--executor", "dask:nowhere.yaml", "--threads", "1"]
    monkeypatch.setattr("hardscape.engine.ledger.command", [*words, *nobody])
    with pytest.raises(PartDone):
        spectrum("small.npz", 3, prune=False, device="cpu", seed=5, checkpoint="a", shards="1/2")
    Path("a.1-of-2").rename("a")
    assert main(words) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main(["resume", "a"]) == 2  # the executor is not there
    assert main(["show", "a"]) == 0
    capsys.readouterr()
    assert main(["resume", "a", "--here"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["energies"], found["states"]) == (expected["energies"], expected["states"])
    assert main(["show", "a"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert (whole["certified"], whole["states_per_second"]) == (True, 0)  # of this run


def test_what_python_began_is_told(capsys: Captured, tmp_path: Path) -> None:
    with Ledger("work.ledger", HarmonicSum()) as ledger:
        told = listed(capsys)["work.ledger"]
        assert (told["state"], told["host"], told["done"]) == ("running", os.uname().nodename, 0)
        ledger.commit(Block(0, 1), {})
        assert job("work.ledger").state == "running"
    told = listed(capsys)["work.ledger"]
    assert (told["name"], told["command"], told["done"]) == ("test.harmonic", [], 1)
    assert main(["resume", "work.ledger"]) == 2
    assert "Python" in capsys.readouterr().err


def test_a_run_that_was_killed_elsewhere_is_not_taken_for_running(tmp_path: Path) -> None:
    with Ledger("work.ledger", HarmonicSum()):
        pass
    with closing(sqlite3.connect("work.ledger", isolation_level=None)) as database:
        facts = {"host": "elsewhere", "pid": "7", "changed": "2020-01-01T00:00:00+00:00"}
        database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
    assert job("work.ledger").state == "stopped"


def test_killed_while_its_log_was_folded_in(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    with Ledger("work.ledger", HarmonicSum()) as ledger:
        told = listed(capsys)["work.ledger"]
        assert (told["state"], told["host"], told["done"]) == ("running", os.uname().nodename, 0)
        ledger.commit(Block(0, 1), {})
        for index in range(1, 20):
            ledger.commit(Block(index, index + 1), {"x": np.arange(500)})
        for path in tmp_path.glob("work.ledger*"):
            shutil.copy(path, "killed")
    torn = tmp_path / "killed" / "work.ledger"
    log = Path(f"{torn}-wal").read_bytes()
    pages = {int.from_bytes(log[at : at + 4], "big") for at in range(32, len(log), 24 + 4096)}
    with torn.open("r+b") as file:
        for page in pages - {1}:
            file.seek(4096 * (page - 1))
            file.write(bytes(4096))
    told = job(torn)
    assert (told.state, told.done) == ("running", 20)
    assert main(["jobs", "copy", str(torn), "copy"]) == 0
    assert job("copy").done == 20


def test_damaged_ledgers_are_told_and_refused(capsys: Captured, tmp_path: Path) -> None:
    with Ledger("good", HarmonicSum()) as ledger:
        for index in range(20):
            ledger.commit(Block(index, index + 1), {})
    data = bytearray(Path("good").read_bytes())
    for name, cut in (("short", data[:200]), ("torn", data[:100] + bytes(len(data) - 100))):
        Path(name).write_bytes(cut)
    told = listed(capsys)
    assert {name: one["state"] for name, one in told.items()} == {
        "good": "stopped",
        "short": "damaged",
        "torn": "damaged",
    }
    for words in (["resume", "short"], ["show", "torn"], ["jobs", "copy", "short", "x"]):
        assert main(words) == 2
        assert "damaged" in capsys.readouterr().err
    assert not Path("x").exists()


def test_what_is_no_ledger(capsys: Captured) -> None:
    for words in (["resume", "model.npz"], ["show", "nothing"], ["jobs", "nowhere"]):
        assert main(words) == 2
    assert listed(capsys) == {}
    shutil.copy("model.npz", "there")
    with Ledger("good", HarmonicSum()):
        pass
    assert main(["jobs", "copy", "good", "there"]) == 2
    assert Ising.from_file("there", format="npz").num_spins == 40
    assert main(["jobs", "copy", "good", "there", "--force"]) == 0
    assert job("there").state == "stopped"
