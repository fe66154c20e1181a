"""Ray by its name, and Parsl's executor, where they are installed; and futures that nobody can cancel."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hardscape.engine import Context, Outcome, RunOptions, Shard, ShardResult, Work, solve
from hardscape.engine.cluster import named
from helpers.jobs import JOBS
from helpers.works import Failing, HarmonicSum

TESTS = str(Path(__file__).resolve().parents[1])
#: What workers of another process import: the tests.
PATHS = os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)


def solved(work: Work[Any], **options: Any) -> Outcome[Any]:
    return solve(work, RunOptions.checked(device="cpu", threads=1, **options))


def raw(outcome: Outcome[Any]) -> dict[str, bytes]:
    assert outcome.partial is not None
    return {name: array.tobytes() for name, array in outcome.partial.items()}


@pytest.fixture(scope="module")
def ray() -> Iterator[str]:
    module = pytest.importorskip("ray")
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "RAY_USAGE_STATS_ENABLED")}
    os.environ |= {"PYTHONPATH": PATHS, "RAY_USAGE_STATS_ENABLED": "0"}
    handler = signal.getsignal(signal.SIGTERM)
    module.init(
        "local", num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False
    )
    yield "ray"
    named._opened.pop("ray", None)
    module.shutdown()
    signal.signal(signal.SIGTERM, handler)
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(scope="module")
def parsl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    concurrent = pytest.importorskip("parsl.concurrent")
    # Its programs lie beside the interpreter, whose environment nobody need have entered.
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), before])
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.providers import LocalProvider

    workers = HighThroughputExecutor(
        address="127.0.0.1",
        max_workers_per_node=2,
        cores_per_worker=0.5,
        provider=LocalProvider(max_blocks=1, worker_init=f"export PYTHONPATH={PATHS}"),
    )
    config = Config([workers], run_dir=str(tmp_path_factory.mktemp("parsl")))
    with concurrent.ParslPoolExecutor(config) as pool:
        yield pool
    os.environ["PATH"] = before


@dataclass(frozen=True)
class Dying(HarmonicSum):
    """Its worker dies in the middle, the first time only: `mark` is a file that tells."""

    mark: str = ""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        if shard.index == 11 and not os.path.exists(self.mark):
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(shard, context)


@pytest.mark.parametrize("name", JOBS)
def test_ray_gives_the_same_bytes(ray: str, name: str) -> None:
    assert JOBS[name](executor=ray) == JOBS[name](threads=1)


def test_workers_of_ray_may_die(ray: str, tmp_path: Path) -> None:
    found = solved(Dying(mark=str(tmp_path / "mark")), executor=ray)
    assert (tmp_path / "mark").exists()
    assert raw(found) == raw(solved(HarmonicSum()))


def test_errors_and_limits_under_ray(ray: str) -> None:
    with pytest.raises(ZeroDivisionError):
        solved(Failing(), executor=ray)
    found = solved(HarmonicSum(units=4000, count=2, pause=0.01), executor=ray, time_limit=1.0)
    assert found.stopped == "time_limit"
    assert found.seconds < 10  # each shard alone would take 20 s
    assert raw(found)


@pytest.mark.parametrize("name", JOBS)
def test_parsl_gives_the_same_bytes(parsl: Executor, name: str) -> None:
    assert JOBS[name](executor=parsl, workers=2) == JOBS[name](threads=1)


def test_limits_under_parsl(parsl: Executor) -> None:
    work = HarmonicSum(units=4000, count=2, pause=0.01)
    found = solved(work, executor=parsl, workers=2, time_limit=1.0)
    assert found.stopped == "time_limit"
    assert found.seconds < 10


class Uncancelled(Future[Any]):
    """As those of Parsl."""

    def cancel(self) -> bool:
        raise NotImplementedError


class Strict(Executor):
    """Threads whose futures cannot be cancelled."""

    _max_workers = 2

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        found = Uncancelled()

        def call() -> None:
            try:
                found.set_result(function(*args, **kwargs))
            except BaseException as error:
                found.set_exception(error)

        self._threads.submit(call)
        return found


def test_futures_that_cannot_be_cancelled() -> None:
    work = HarmonicSum(units=4000, count=20, pause=0.01)
    found = solved(work, executor=Strict(), time_limit=0.3)
    assert found.stopped == "time_limit"
    assert found.units_total - found.units_done > 0
    with pytest.raises(ZeroDivisionError):
        solved(Failing(), executor=Strict())
    assert raw(solved(HarmonicSum(), executor=Strict())) == raw(solved(HarmonicSum()))
