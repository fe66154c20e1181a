"""Executors by name, workers that come and go, large works, and shards that hang."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distributed
import pytest

from hardscape.cli import main
from hardscape.engine import Context, Outcome, RunOptions, Shard, ShardResult, Work, solve
from hardscape.engine.cluster import executors, named
from hardscape.errors import DeviceError, InputError
from hardscape.maxsat import Formula
from helpers.maxsat_clauses import random_clauses
from helpers.works import HarmonicSum

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: Runs a copy of a job's script, which is removed at once.
SBATCH = """#!/bin/sh
cp "$1" "$0.$$"
setsid sh "$0.$$" > /dev/null 2>&1 &
echo "Submitted batch job $$"
"""


def solved(work: Work[Any], **options: Any) -> Outcome[Any]:
    return solve(work, RunOptions.checked(device="cpu", threads=1, **options))


def raw(outcome: Outcome[Any]) -> dict[str, bytes]:
    assert outcome.partial is not None
    return {name: array.tobytes() for name, array in outcome.partial.items()}


@dataclass(frozen=True)
class Once(HarmonicSum):
    """Does something bad in the middle, the first time only: `mark` is a file that tells."""

    mark: str = ""
    bad: str = "die"

    def run(self, shard: Shard, context: Context) -> ShardResult:
        if shard.index == 11 and not os.path.exists(self.mark):
            Path(self.mark).touch()
            if self.bad == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            deadline = time.monotonic() + 60
            while not context.stop[0] and time.monotonic() < deadline:
                time.sleep(0.05)
        return super().run(shard, context)


@dataclass(frozen=True)
class Hanging(HarmonicSum):
    """Shards 20 and 21 hang for a minute, the first time only."""

    folder: str = ""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        mark = Path(self.folder) / str(shard.index)
        if shard.index in (20, 21) and not mark.exists():
            mark.touch()
            deadline = time.monotonic() + 60
            while not context.stop[0] and time.monotonic() < deadline:
                time.sleep(0.05)
        return super().run(shard, context)


@dataclass(frozen=True)
class Stopping(HarmonicSum):
    """Its worker is stopped, and does not answer any more."""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        os.kill(os.getpid(), signal.SIGSTOP)
        return super().run(shard, context)


@dataclass(frozen=True)
class Heavy(HarmonicSum):
    """Notes in a file each time that it is unpacked."""

    ballast: bytes = b""
    notes: str = ""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with open(self.notes, "a") as file:
            file.write(f"{os.getpid()}\n")


def test_a_pool_of_ours_is_begun_anew(tmp_path: Path) -> None:
    work = Once(mark=str(tmp_path / "mark"))
    found = solved(work, executor="processes:2")
    assert found.complete
    assert raw(found) == raw(solved(HarmonicSum()))
    assert (tmp_path / "mark").exists()


def test_a_shard_that_hangs_is_run_by_another_worker_too(tmp_path: Path) -> None:
    began = time.monotonic()
    found = solved(Once(mark=str(tmp_path / "mark"), bad="hang"), executor="processes:2")
    assert time.monotonic() - began < 30
    assert raw(found) == raw(solved(HarmonicSum()))


def test_workers_of_ours_that_do_not_answer_are_replaced() -> None:
    found = solved(Stopping(), executor="processes:1", time_limit=2)
    assert (found.stopped, found.shards_done) == ("time_limit", 0)
    assert raw(solved(HarmonicSum(), executor="processes:1")) == raw(solved(HarmonicSum()))


def test_what_comes_after_workers_were_given_up_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(named, "_LAST_WORDS", 0.5)
    pool = named.Processes(1)
    left = [pool.submit(time.sleep, 60) for _ in range(6)]
    while not left[1].running():
        time.sleep(0.01)
    assert sum(future.cancel() for future in left) >= 3
    pool.forget(left)
    later = [pool.submit(pow, 2, 3) for _ in range(3)]
    told: queue.SimpleQueue[Future[int]] = queue.SimpleQueue()
    for future in later:
        future.add_done_callback(told.put)
    assert {told.get(timeout=30) for _ in later} == set(later)
    assert pool.submit(pow, 2, 3).result(timeout=30) == 8
    pool.shutdown()


#: Prints the number of a worker, and waits to be killed.
CLIENT = """
import os, time
from hardscape.engine.cluster.named import named
if __name__ == "__main__":
    print(named("processes:1").submit(os.getpid).result(), flush=True)
    time.sleep(60)
"""


def test_workers_of_ours_end_when_their_client_is_killed() -> None:
    words = [sys.executable, "-c", CLIENT]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        worker = Path("/proc", client.stdout.readline().strip(), "stat")
        assert worker.exists()
        client.kill()
    deadline = time.monotonic() + 30
    with suppress(OSError):  # it is not there any more
        while ") Z " not in worker.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_all_that_hang_are_run_by_others(tmp_path: Path) -> None:
    """Two of three workers hang, each with a shard in hand and one that waits behind it."""
    began = time.monotonic()
    found = solved(Hanging(count=40, folder=str(tmp_path)), executor="processes:3")
    assert time.monotonic() - began < 30
    assert len(list(tmp_path.iterdir())) == 2
    assert raw(found) == raw(solved(HarmonicSum(count=40)))


@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_a_large_work_goes_to_each_worker_once(kind: str, tmp_path: Path, tcp: str) -> None:
    notes = tmp_path / "notes"
    work = Heavy(ballast=bytes(10**6), notes=str(notes), pause=0.001)
    found = solved(work, executor="processes:2" if kind == "processes" else tcp)
    assert raw(found) == raw(solved(HarmonicSum()))
    told = notes.read_text().split()
    assert 1 <= len(told) <= 3  # of 23 shards
    assert len(told) == len(set(told)) or kind == "dask"


@pytest.fixture(scope="module")
def tcp() -> Any:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address.replace("tcp:", "dask:")
        client = named._opened.pop(cluster.scheduler_address.replace("tcp:", "dask:"), None)
        if client is not None:
            client.close()


def test_a_scheduler_by_its_address(tcp: str) -> None:
    assert raw(solved(HarmonicSum(), executor=tcp)) == raw(solved(HarmonicSum()))


def test_a_cluster_of_slurm_that_a_file_describes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, script in {"sbatch": SBATCH, "scancel": "#!/bin/sh\n"}.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "slurm.yaml"
    file.write_text(
        "cluster: SLURMCluster\ncores: 1\nprocesses: 1\nmemory: 1GB\nwalltime: '00:05:00'\n"
        "interface: lo\nscheduler_options: {dashboard_address: ':0'}\n"
        "worker_extra_args: [--no-dashboard]\nscale: 1\n"
    )
    name = f"dask:{file}"
    handlers = [signal.getsignal(x) for x in (signal.SIGINT, signal.SIGTERM)]
    try:
        assert raw(solved(HarmonicSum(), executor=name)) == raw(solved(HarmonicSum()))
        assert handlers == [signal.getsignal(x) for x in (signal.SIGINT, signal.SIGTERM)]
    finally:
        client = named._opened.pop(name)
        client.shutdown()


def test_workers_that_come_later_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0
    submit = executors.ExecutorPool.submit

    def counted(self: executors.ExecutorPool, *arguments: Any) -> None:
        nonlocal most
        submit(self, *arguments)
        most = max(most, len(self._running))

    monkeypatch.setattr(executors.ExecutorPool, "submit", counted)
    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.loop.call_later(0.5, lambda: cluster.scale(3))
        work = HarmonicSum(units=450, count=225, pause=0.02)
        assert solved(work, executor=client).complete
        threads = sum(client.nthreads().values())
    assert most == 2 * threads
    assert threads == 3


@pytest.mark.parametrize(
    "name",
    ["", "process", "processes:0", "processes:x", "dask", "dask:x", "mpi:2", "ray:x", "ray://x"],
)
def test_names_that_are_not_understood(name: str) -> None:
    with pytest.raises(InputError):
        solved(HarmonicSum(), executor=name)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "- 1",
        "cluster: Nothing",
        "cluster: LocalCluster\nn_workers: 0\ndashboard_address: ':0'",
        "cluster: [",
        None,
    ],
)
def test_files_that_describe_no_cluster(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InputError):
        solved(HarmonicSum(), executor=f"dask:{file}")


def test_mpi_needs_ranks() -> None:
    with pytest.raises(DeviceError):
        solved(HarmonicSum(), executor="mpi")


class Counting(ThreadPoolExecutor):
    """Threads that count what they were given."""

    count = 0

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        return super().submit(function, *args, **kwargs)


#: What an answer tells of the time that it took, and of where.
OF_THE_RUN = {"seconds", "states_per_second", "device", "site_updates_per_second", "file", "bounds"}
OF_THE_RUN |= {"spin_updates_per_second", "improvements", "ran", "flips", "output", "results"}
OF_THE_RUN |= {"tau", "tau_low", "tau_high", "tts99", "tts99_low", "tts99_high"}


@pytest.mark.parametrize(
    "words",
    [
        "spectrum sk24.txt --seed 1",
        "spectrum sk24.txt --method mps --num-states 5 --bond-dimension 8 --seed 1",
        "density torus30.rudy",
        "permanent dodecahedron.mtx",
        "permanent dodecahedron.mtx --precision exact --method glynn",
        "permanent whole.csv --rows 2,1,0",
        "approximate dodecahedron.mtx --num-samples 5000 --seed 1",
        "bosons mixed.csv --photons 1,1,0 --num-samples 20 --seed 1",
        "xorsat solve regular64.cnf --method quasi-greedy --seed 1",
        "xorsat tts regular64.cnf --runs 3 --seed 1",
        "xorsat scan regular64.cnf --runs 2 --values 0.05,0.06 --seed 1",
        "maxsat triples.cnf --method weighting --max-flips 1000 --seed 1",
        "maxsat triples.cnf --method cellular --seed 1",
        "gauge fix hot4.nersc --gauge landau --copies 2 --theta 1e-6 --seed 1",
        "gauge generate --shape 4,4,4,4 --beta 6 --sweeps 2 --seed 1 -o {folder}",
        "gauge flow hot4.nersc --flow-time 0.1",
    ],
)
def test_every_long_command_takes_one(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    Path("whole.csv").write_text("1.5,2,3\n4,5,6\n7,8,10\n")
    Path("mixed.csv").write_text("0.6,0.8,0\n-0.8,0.6,0\n0,0,1\n")
    Formula.from_clauses(random_clauses(30, 200, [3], 1)).to_file("triples.cnf")

    def told(name: str, *more: str) -> dict[str, Any]:
        words_here = words.format(folder=f"{name}.nersc").split()
        assert main([*words_here, "--threads", "1", "--json", *more]) in (0, 10, 30)
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    with Counting(2) as pool:
        monkeypatch.setitem(named._opened, "processes:2", pool)
        found = told("there", "--cluster" if "spectrum" in words else "--executor", "processes:2")
    assert pool.count > 0
    here = told("here")
    assert found.keys() == here.keys()
    different = {key for key in here if found[key] != here[key]}
    assert different <= OF_THE_RUN
    assert len(here.keys() - OF_THE_RUN - {"command"}) >= 3
