"""Ranks of MPI as workers: the same bytes, limits that hold, a killed job that is gone on with."""

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
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil
import pytest

import hardscape
from helpers.instances import dense_gaussian
from helpers.jobs import JOBS
from helpers.running import done

HERE = Path(__file__).resolve().parent


def start(*arguments: object) -> subprocess.Popen[str]:
    """One asking rank and two working ones, in a session of their own."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    mpiexec = shutil.which("mpiexec", path=folders)
    assert mpiexec is not None
    program = [sys.executable, "-m", "mpi4py.futures", str(HERE / "mpi_program.py")]
    return subprocess.Popen(
        [mpiexec, "-n", "3", *program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(HERE.parent), "HYDRA_LAUNCHER": "fork"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@cache
def told() -> dict[str, Any]:
    """All that ranks do which are left alone: they begin once."""
    with start("jobs", "limit", "channel") as process:
        out = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(out)
    return found


def test_ranks_give_the_same_bytes():
    assert told()["jobs"] == {
        "ranks": [1, 2],
        "digests": {name: sha256(job(threads=1)).hexdigest() for name, job in JOBS.items()},
    }


def test_a_time_limit_reaches_the_ranks():
    found = told()["limit"]
    assert not found["certified"]
    assert found["seconds"] < 10  # all of it would take minutes


def test_a_stop_travels_by_message() -> None:
    found = told()["channel"]
    assert not found["complete"]
    assert found["seconds"] < 10  # all of it takes 80 s


def ranks_of(process: subprocess.Popen[str]) -> dict[int, psutil.Process]:
    """The processes that run the program, by rank: 0 asks, the others work."""
    started = psutil.Process(process.pid).children(recursive=True)
    return {
        int(one.environ()["PMI_RANK"]): one for one in started if "mpi4py.futures" in one.cmdline()
    }


def family_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """All that it started and that still runs."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []


def alive(one: psutil.Process) -> bool:
    """Whether it may have files open."""
    with suppress(psutil.NoSuchProcess):
        return one.status() != psutil.STATUS_ZOMBIE
    return False


def gone(family: list[psutil.Process]) -> None:
    """Wait until all are dead; who is only not waited for has closed its files."""
    deadline = time.monotonic() + 30
    while any(alive(one) for one in family):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@cache
def plain() -> bytes:
    """The answer of this process."""
    found = hardscape.spectrum(dense_gaussian(36, 5), 500, device="cpu", threads=2, prune=False)
    return found.energies.tobytes() + found.states.tobytes()


@pytest.mark.parametrize("who", ["all", "a rank"])
def test_a_job_of_ranks_is_killed_and_gone_on_with(who: str, tmp_path: Path) -> None:
    path = tmp_path / "job.hardscape"
    with start("checkpoint", path) as process:
        try:
            deadline = time.monotonic() + 60
            while not done(path):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            if who == "a rank":
                ranks = ranks_of(process)
                assert sorted(ranks) == [0, 1, 2]
                ranks[2].kill()
                assert process.wait(timeout=60) != 0  # MPI ends them all
        finally:
            family = family_of(process)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    gone(family)  # a rank that is dying may hold the ledger for a moment
    model = dense_gaussian(36, 5)
    options = {"device": "cpu", "threads": 2, "prune": False}
    resumed = hardscape.spectrum(model, 500, checkpoint=path, **options)
    assert resumed.info["resumed_shards"] > 0
    assert resumed.energies.tobytes() + resumed.states.tobytes() == plain()
