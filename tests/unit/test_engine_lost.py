"""Workers that are silent, die or have no memory: limits are kept, shards run again, errors tell."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from hardscape.engine import Context, Shard, ShardResult, resolve
from hardscape.errors import WorkerError
from helpers.running import run as run_work
from helpers.works import HarmonicSum, harmonic

HERE = resolve("cpu", threads=1)


class Silent(Executor):
    """Runs shards below `answered` at once; the others never."""

    def __init__(self, answered: int) -> None:
        self._answered = answered
        self.silent = threading.Event()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if arguments[1].start < self._answered:
            future.set_result(function(*arguments))
        else:
            future.set_running_or_notify_cancel()
            self.silent.set()
        return future


class Careless(Executor):
    """Loses each shard some times before it runs it."""

    def __init__(self, times: int, error: BaseException) -> None:
        self._times, self._error = times, error
        self.attempts: Counter[int] = Counter()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.attempts[arguments[1].start] += 1
        if self.attempts[arguments[1].start] <= self._times:
            future.set_exception(self._error)
        else:
            future.set_result(function(*arguments))
        return future


@dataclass(frozen=True)
class Deadly(HarmonicSum):
    """Its last shard kills the process that runs it."""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        if shard.index == self.count - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(shard, context)


def test_a_time_limit_does_not_wait_for_workers_that_are_silent() -> None:
    began = time.monotonic()
    outcome = run_work(HarmonicSum(), devices=HERE, executor=Silent(5), workers=2, time_limit=1.0)
    assert time.monotonic() - began < 3.0 + 0.5
    assert outcome.stopped == "time_limit"
    assert 5 <= outcome.shards_done < 23


def test_nor_does_a_signal() -> None:
    pool = Silent(5)
    sent: list[float] = []

    def send() -> None:
        pool.silent.wait()  # however long those that are answered take
        time.sleep(0.2)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=send, daemon=True).start()
    outcome = run_work(HarmonicSum(), devices=HERE, executor=pool, workers=2)
    assert time.monotonic() - sent[0] < 2.0 + 0.5
    assert outcome.stopped == "SIGTERM"
    assert 5 <= outcome.shards_done < 23


@pytest.mark.parametrize(
    "error", [MemoryError(), OSError("gone"), BrokenExecutor("dead"), CancelledError()]
)
def test_what_a_worker_loses_runs_again(error: BaseException) -> None:
    work, pool = HarmonicSum(), Careless(2, error)
    outcome = run_work(work, devices=HERE, executor=pool, workers=2)
    assert outcome.complete
    assert outcome.partial is not None
    assert {k: x.tobytes() for k, x in outcome.partial.items()} == {
        k: x.tobytes() for k, x in harmonic(work).items()
    }
    assert set(pool.attempts.values()) == {3}


def test_what_is_lost_again_and_again_is_an_error_that_tells_where(tmp_path: Path) -> None:
    with pytest.raises(WorkerError) as caught:
        run_work(
            HarmonicSum(),
            devices=HERE,
            executor=Careless(3, MemoryError()),
            workers=1,
            checkpoint=tmp_path / "job",
        )
    assert isinstance(caught.value.__cause__, MemoryError)
    for told in ("shard 0", "MemoryError", str(tmp_path / "job")):
        assert told in str(caught.value)


def test_errors_of_the_work_itself_come_out_at_once() -> None:
    pool = Careless(1, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run_work(HarmonicSum(), devices=HERE, executor=pool, workers=1)
    assert max(pool.attempts.values()) == 1


def test_a_killed_process_of_a_pool(tmp_path: Path) -> None:
    work = Deadly(count=40)
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
        pytest.raises(WorkerError) as caught,
    ):
        run_work(work, devices=HERE, executor=pool, checkpoint=tmp_path / "job")
    assert isinstance(caught.value.__cause__, BrokenExecutor)
    rest = run_work(HarmonicSum(count=40), devices=HERE, checkpoint=tmp_path / "job")
    assert rest.complete
    assert 0 < rest.resumed_shards < 40


def test_lanes_of_this_process_run_shards_again_too() -> None:
    attempts: Counter[int] = Counter()

    class Tight(HarmonicSum):
        def run(self, shard: Shard, context: Context) -> ShardResult:
            attempts[shard.index] += 1
            if shard.index == 3 and attempts[3] < 3:
                raise MemoryError
            return super().run(shard, context)

    assert run_work(Tight(), devices=resolve("cpu", threads=2)).complete
    assert attempts[3] == 3
    assert sum(attempts.values()) == 23 + 2
