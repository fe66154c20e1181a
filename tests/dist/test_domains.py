"""One lattice over ranks of MPI: the same bits for any number of them, limits, signals, refusals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from dist import domains_program
from hardscape.gauge import GaugeField

HERE = Path(__file__).resolve().parent


def start(ranks: int, *command: object, cwd: Path = HERE) -> subprocess.Popen[str]:
    """So many ranks that run a command, in a session of their own."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    mpiexec = shutil.which("mpiexec", path=folders)
    assert mpiexec is not None
    return subprocess.Popen(
        [mpiexec, "-n", str(ranks), *map(str, command)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(HERE.parent), "HYDRA_LAUNCHER": "fork"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


#: What so many ranks do one after another: to begin takes them longer than most of it.
DO = {1: ("digests", "chains"), 2: ("digests", "limit"), 3: ("digests", "chains", "refusals")}
DO[4] = DO[1]


@cache
def told(ranks: int) -> dict[str, Any]:
    with start(ranks, sys.executable, HERE / "domains_program.py", *DO[ranks]) as process:
        out, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    found: dict[str, Any] = json.loads(out)
    return found


@cache
def alone() -> list[str]:
    return domains_program.digests(None)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_any_number_of_ranks_gives_the_same_bits(ranks: int) -> None:
    assert told(ranks)["digests"] == alone()


def test_any_number_of_ranks_generates_the_same_links() -> None:
    """Of more ranks than one, three cut slabs of unequal widths, and four along two directions."""
    by_ranks = [told(ranks)["chains"] for ranks in (1, 3, 4)]
    assert by_ranks == [by_ranks[0]] * 3  # the plaquettes too, which ranks add up by slices
    links = [chain[0] for chain in by_ranks[0]]
    assert links == [chain[0] for chain in domains_program.chains(None)]


def test_what_ranks_cannot_do_is_refused_and_they_go_on() -> None:
    assert told(3)["refusals"] == [True, True, True, True, True]


def test_a_time_limit_ends_all_ranks() -> None:
    found = told(2)["limit"]
    assert found["stopped"] == "time_limit"
    assert found["seconds"] < 20  # all of it would take days


HARDSCAPE = [sys.executable, "-m", "hardscape"]


def test_the_command_writes_what_one_process_writes(tmp_path: Path) -> None:
    GaugeField.random((4, 4, 4, 4), nc=2, seed=1).to_file(tmp_path / "u.nersc")
    words = ["gauge", "fix", "u.nersc", "--seed", 1, "--theta", 1e-6, "-o"]
    subprocess.run([*HARDSCAPE, *map(str, words), "one.nersc"], cwd=tmp_path, check=True)
    with start(2, *HARDSCAPE, *words, "two.nersc", "--domains", cwd=tmp_path) as process:
        out, error = process.communicate(timeout=100)
    assert process.returncode == 0, error
    assert out.count("two.nersc") == 1  # one rank prints
    assert (tmp_path / "one.nersc").read_bytes() == (tmp_path / "two.nersc").read_bytes()


def test_the_command_alone_is_refused(tmp_path: Path) -> None:
    GaugeField.random((4, 4, 4, 4), nc=2, seed=1).to_file(tmp_path / "u.nersc")
    line = [*HARDSCAPE, "gauge", "fix", "u.nersc", "--domains"]
    assert subprocess.run(line, cwd=tmp_path, capture_output=True).returncode == 2


def test_a_signal_to_the_first_rank_ends_all(tmp_path: Path) -> None:
    GaugeField.random((8, 8, 8, 8), nc=3, seed=1).to_file(tmp_path / "u.nersc")
    words = [
        "gauge",
        "fix",
        "u.nersc",
        "--domains",
        "--copies",
        100000,
        "--seed",
        1,
        "-o",
        "v.nersc",
    ]
    with start(2, *HARDSCAPE, *words, cwd=tmp_path) as process:
        first = None
        while first is None:
            time.sleep(0.1)
            family = psutil.Process(process.pid).children(recursive=True)
            ranks = {one.environ().get("PMI_RANK"): one for one in family if one.name() != "sh"}
            first = ranks.get("0")
        # By then it computes, also on a busy machine: who ends before MPI begins is not missed by the others.
        while sum(first.cpu_times()[:2]) < 2.5:
            time.sleep(0.1)
        first.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=60)
        finally:
            for one in family:
                with suppress(psutil.NoSuchProcess):
                    one.kill()
    assert process.returncode not in (0, None)
