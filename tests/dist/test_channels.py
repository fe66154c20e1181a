"""Stops that reach workers which do not see the flags of this host; workers that stop or die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import distributed
import pytest

from hardscape import native
from hardscape.engine import Cpu, Outcome, RunOptions, Work, solve
from hardscape.engine.cluster.channels import DaskChannel
from hardscape.engine.cluster.worker import StopSign, run_in_worker
from hardscape.engine.fold import Block
from helpers.running import done
from helpers.works import HarmonicSum, Signed, harmonic

LONG = HarmonicSum(units=8000, count=2, pause=0.01)
ELSEWHERE = "/nowhere/on/this/host"
TESTS = str(Path(__file__).resolve().parents[1])
SCHEDULER = ("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard")
WORKER = "distributed.cli.dask_worker"
OPTIONS = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "60")
#: A worker that sees no flags of this host, and whose clocks are an hour and some days ahead.
FAR = """
import mmap, time
def elsewhere(*_):
    raise OSError
mmap.mmap = elsewhere
now, passed = time.time, time.monotonic
time.time, time.monotonic = lambda: now() + 3600, lambda: passed() + 1e6
from distributed.cli.dask_worker import main
main()
"""
#: A client that can be killed.
CLIENT = """
import sys, distributed
from hardscape.engine import RunOptions, solve
from helpers.works import HarmonicSum
with distributed.Client(scheduler_file=sys.argv[1]) as client:
    work = HarmonicSum(units=400, count=40, pause=0.02)
    solve(work, RunOptions.checked(device="cpu", executor=client, checkpoint=sys.argv[2]))
"""


class Cluster:
    """A scheduler and workers that are started by hand."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._started: list[subprocess.Popen[bytes]] = []
        self._start("-m", *SCHEDULER, "--scheduler-file", str(file))

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, *words],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": TESTS},
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def worker(self, *python: str) -> subprocess.Popen[bytes]:
        """Start one; `python` are words for the interpreter in place of Dask's command."""
        words = python or ("-m", WORKER)
        return self._start(*words, "--scheduler-file", str(self.file), *OPTIONS)

    def kill(self, first: int) -> None:
        """Kill all from the first on, which are the workers from 1 on."""
        for process in self._started[first:]:
            with suppress(ProcessLookupError):  # it was killed before
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        del self._started[first:]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler alone."""
    hosts = Cluster(tmp_path_factory.mktemp("cluster") / "scheduler.json")
    try:
        deadline = time.monotonic() + 60
        while not hosts.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        yield hosts
    finally:
        hosts.kill(0)


@pytest.fixture
def cluster(hosts: Cluster) -> Iterator[tuple[distributed.Client, Cluster]]:
    """A cluster without workers, and a client of it."""
    with distributed.Client(scheduler_file=str(hosts.file)) as client:
        yield client, hosts
        hosts.kill(1)
        deadline = time.monotonic() + 60
        while client.nthreads():  # those that the next test would take for its own
            assert time.monotonic() < deadline
            time.sleep(0.02)


def solved(work: Work[Any], client: distributed.Client, **options: Any) -> Outcome[Any]:
    return solve(work, RunOptions.checked(device="cpu", executor=client, **options))


def raw(outcome: Outcome[Any]) -> dict[str, bytes]:
    assert outcome.complete
    assert outcome.partial is not None
    return {name: array.tobytes() for name, array in outcome.partial.items()}


def expected(work: HarmonicSum) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in harmonic(work).items()}


def test_dask_carries_a_stop(cluster) -> None:
    client, hosts = cluster
    hosts.worker()
    client.wait_for_workers(1)
    channel = DaskChannel()
    stop = StopSign(ELSEWHERE, 0, None, channel)
    work = HarmonicSum(units=40_000, count=5, pause=0.01)
    future = client.submit(
        run_in_worker, work, Block(4, 5), (Cpu(),), None, stop, native.level(), 60.0
    )
    time.sleep(1.0)
    began = time.monotonic()
    channel.tell(client, 3)
    assert not future.result(timeout=30).nodes
    assert time.monotonic() - began < 5  # all of it takes 80 s


def test_a_limit_is_kept_when_a_worker_stands_still(cluster) -> None:
    client, hosts = cluster
    first, _ = hosts.worker(), hosts.worker()
    client.wait_for_workers(2)
    work = HarmonicSum(units=8000, count=80, pause=0.01)
    timer = threading.Timer(1.5, first.send_signal, (signal.SIGSTOP,))
    timer.start()
    began = time.monotonic()
    outcome = solved(work, client, time_limit=4)
    assert time.monotonic() - began < 4 + 2 + 1
    assert outcome.stopped == "time_limit"
    assert outcome.shards_done > 0


def test_a_killed_worker_loses_nothing_and_a_new_one_helps(cluster, tmp_path: Path) -> None:
    client, hosts = cluster
    first, second = hosts.worker(), hosts.worker()
    client.wait_for_workers(2)
    work = Signed(units=400, count=40, pause=0.02, folder=str(tmp_path / "workers"))
    Path(work.folder).mkdir()
    new = []

    def replace() -> None:
        while not Path(work.folder, str(first.pid)).exists():
            time.sleep(0.05)
        first.kill()
        new.append(hosts.worker())

    threading.Thread(target=replace, daemon=True).start()
    assert raw(solved(work, client)) == expected(work)
    took_part = {int(path.name) for path in Path(work.folder).iterdir()}
    assert took_part == {first.pid, second.pid, new[0].pid}


def test_all_workers_are_dead_for_a_while(cluster) -> None:
    client, hosts = cluster
    workers = [hosts.worker(), hosts.worker()]
    client.wait_for_workers(2)

    def die() -> None:
        for worker in workers:
            worker.kill()

    threading.Timer(1.0, die).start()
    threading.Timer(2.5, hosts.worker).start()
    work = HarmonicSum(units=200, count=40, pause=0.02)
    assert raw(solved(work, client)) == expected(work)
    assert all(worker.poll() == -signal.SIGKILL for worker in workers)


def test_a_killed_client_is_gone_on_with_by_another(cluster, tmp_path: Path) -> None:
    client, hosts = cluster
    hosts.worker()
    client.wait_for_workers(1)
    ledger = tmp_path / "ledger"
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(hosts.file), str(ledger)],
        env={**os.environ, "PYTHONPATH": TESTS},
    ) as killed:
        deadline = time.monotonic() + 60
        while done(ledger) < 2:
            assert killed.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        killed.kill()
    work = HarmonicSum(units=400, count=40)
    outcome = solved(work, client, checkpoint=ledger)
    assert 2 <= outcome.resumed_shards < 40
    assert raw(outcome) == expected(work)


def test_two_clients_at_once(cluster) -> None:
    client, hosts = cluster
    hosts.worker()
    works = [HarmonicSum(units=units, count=30, pause=0.002) for units in (300, 301)]
    with distributed.Client(scheduler_file=str(hosts.file)) as other, ThreadPoolExecutor(2) as both:
        found = both.map(solved, works, (client, other))
        assert [raw(outcome) for outcome in found] == [expected(work) for work in works]


def test_clocks_that_are_ahead(cluster) -> None:
    client, hosts = cluster
    hosts.worker("-c", FAR)
    client.wait_for_workers(1)
    work = HarmonicSum(units=60, count=6, pause=0.002)
    assert raw(solved(work, client, time_limit=60)) == expected(work)
    began = time.monotonic()
    outcome = solved(HarmonicSum(units=8000, count=8, pause=0.01), client, time_limit=1.5)
    assert outcome.stopped == "time_limit"
    assert time.monotonic() - began < 1.5 + 2 + 1
    assert outcome.partial is not None
    assert outcome.partial["terms"] > 0
