"""Stops that reach workers which do not see the flags of this host; workers that stop or die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import distributed
import pytest

from hardscape import native
from hardscape.engine import Cpu, RunOptions, Shard, solve
from hardscape.engine.cluster.channels import DaskChannel
from hardscape.engine.cluster.worker import StopSign, run_shard
from helpers.works import HarmonicSum

LONG = HarmonicSum(units=8000, count=2, pause=0.01)
ELSEWHERE = "/nowhere/on/this/host"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[distributed.Client, Callable[[], subprocess.Popen[bytes]]]]:
    """A client of a scheduler started by hand, and what starts a worker."""
    started = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
        started.append(
            subprocess.Popen(command, stderr=subprocess.DEVNULL, env=_with_helpers(), start_new_session=True)
        )
        return started[-1]

    file = tmp_path / "scheduler.json"
    start("dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))

    def worker() -> subprocess.Popen[bytes]:
        options = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "60")
        return start("dask_worker", "--scheduler-file", str(file), *options)

    try:
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        with distributed.Client(scheduler_file=str(file)) as client:
            yield client, worker
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _with_helpers() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}


def test_dask_carries_a_stop(cluster) -> None:
    client, worker = cluster
    worker()
    client.wait_for_workers(1)
    channel = DaskChannel()
    stop = StopSign(ELSEWHERE, 0, None, channel)
    shard = Shard(4, 0, LONG.units)
    future = client.submit(run_shard, LONG, shard, (Cpu(),), None, stop, native.level())
    time.sleep(1.0)
    began = time.monotonic()
    channel.tell(client, 3)
    assert not future.result(timeout=30).complete
    assert time.monotonic() - began < 5  # all of it takes 80 s


def test_a_limit_is_kept_when_a_worker_stands_still(cluster) -> None:
    client, worker = cluster
    first, _ = worker(), worker()
    client.wait_for_workers(2)
    work = HarmonicSum(units=8000, count=80, pause=0.01)
    timer = threading.Timer(1.5, first.send_signal, (signal.SIGSTOP,))
    timer.start()
    began = time.monotonic()
    options = RunOptions.checked(device="cpu", executor=client, time_limit=4)
    outcome = solve(work, options)
    assert time.monotonic() - began < 4 + 2 + 1
    assert outcome.stopped == "time_limit"
    assert outcome.shards_done > 0


def test_a_killed_worker_loses_nothing_and_a_new_one_helps(cluster) -> None:
    client, worker = cluster
    first, _ = worker(), worker()
    client.wait_for_workers(2)
    work = HarmonicSum(units=400, count=40, pause=0.02)

    def replace() -> None:
        first.kill()
        worker()

    threading.Timer(1.0, replace).start()
    outcome = solve(work, RunOptions.checked(device="cpu", executor=client))
    assert outcome.complete
    assert outcome.partial is not None
    alone = solve(HarmonicSum(units=400, count=40), RunOptions.checked(device="cpu", threads=1))
    assert alone.partial is not None
    assert outcome.partial["sum"].tobytes() == alone.partial["sum"].tobytes()
