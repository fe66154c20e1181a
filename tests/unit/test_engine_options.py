"""The one door, the lanes behind it, and the clock."""

import os
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardscape
from hardscape import errors
from hardscape.engine import Cpu, Cuda, Deadline, RunOptions, resolve, team


@pytest.mark.parametrize("seed", [3, np.int64(3), np.uint8(3)])
def test_seeds_of_any_integer_type(seed: int) -> None:
    found = RunOptions.checked(seed=seed).seed
    assert found == 3
    assert type(found) is int


def test_the_largest_seed_and_drawn_ones() -> None:
    assert RunOptions.checked(seed=2**64 - 1).seed == 2**64 - 1
    assert RunOptions.checked(seed=np.uint64(2**64 - 1)).seed == 2**64 - 1
    drawn = {RunOptions.checked().seed for _ in range(8)}
    assert len(drawn) == 8
    assert all(0 <= seed < 2**64 for seed in drawn)


@pytest.mark.parametrize(
    "bad",
    [
        *({"seed": x} for x in (-1, 2**64, 1.5, 3.0, True, np.bool_(True), "3", Fraction(3))),
        *({"threads": x} for x in (0, -1, 1.5, 2.0, True, "2", 10**9)),
        *({"time_limit": x} for x in (0, -1, float("nan"), "1", True, 1j, [1])),
        *({"workers": x} for x in (0, -2, 1.5, True)),
        *({"checkpoint": x} for x in ("", 3, b"job", "a\0b")),
        *({"executor": x} for x in (3, "dask", object())),
        *({"progress": x} for x in (3, "yes")),
        *({"device": x} for x in ("tpu", "cuda:", "cpu:0", 3, (), ("cpu", "cpu"))),
    ],
)
def test_what_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(errors.InputError):
        RunOptions.checked(**bad)


def test_what_is_misspelt() -> None:
    with pytest.raises(TypeError, match="tim_limit"):
        RunOptions.checked(tim_limit=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="num_states"):  # is meant
        hardscape.spectrum({(0, 1): 1.0}, num_state=3)  # type: ignore[call-arg]


def test_limits_of_any_real_type() -> None:
    for limit in (2, 2.0, np.float32(2), np.int64(2), Fraction(2)):
        assert RunOptions.checked(time_limit=limit).deadline.seconds == 2.0  # type: ignore[arg-type]
    assert RunOptions.checked(time_limit=float("inf")).deadline.left is None
    assert RunOptions.checked(time_limit=1e300).deadline.left is None


def test_what_was_asked_for(tmp_path: Path) -> None:
    assert not RunOptions.checked().asked_for
    assert RunOptions.checked(time_limit=1e300).asked_for
    assert RunOptions.checked(time_limit=1).asked_for
    assert RunOptions.checked(checkpoint=tmp_path / "job").asked_for


def test_lanes() -> None:
    options = RunOptions.checked(device=Cuda(3), threads=2)
    assert options.devices == (Cuda(3),)
    assert options.on_cpu().devices == resolve("cpu", threads=2) == (Cpu(0), Cpu(1))
    assert options.on([Cpu(5)]).on_cpu().devices == (Cpu(5),)
    with pytest.raises(errors.InputError):
        options.on([])


def test_a_deadline() -> None:
    deadline = Deadline(0.2)
    assert not deadline.up
    assert 0.1 < (deadline.left or 0) <= 0.2
    began = time.monotonic()
    with deadline.watched() as flag:
        while not flag[0]:
            time.sleep(0.01)
    assert 0.1 < time.monotonic() - began < 2
    assert deadline.up
    assert (deadline.left or 0) > 0


def test_a_deadline_keeps_time_back_for_the_end() -> None:
    deadline = Deadline(10.0)
    deadline.reserve(2.0)
    assert 7.5 < (deadline.left or 0) <= 8.0
    deadline.reserve(100.0)
    assert 4.5 < (deadline.left or 0) <= 5.0
    assert (deadline.within(1.0).left or 0) <= 1.0
    assert 4.0 < (deadline.within(100.0).left or 0) <= 5.0
    assert Deadline(None).within(None).left is None
    assert (Deadline(None).within(3.0).left or 0) <= 3.0


def test_all_lanes_of_a_team_are_there_at_once() -> None:
    barrier = threading.Barrier(4)
    ranks: list[int] = []

    def meet(rank: int) -> None:
        barrier.wait(timeout=30)
        ranks.append(rank)

    with team(4) as lent:
        lent.run(meet)
        lent.run(meet)
    assert sorted(ranks) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_team_maps_in_order() -> None:
    with team(3) as lent:
        assert lent.map(lambda x: x * x, range(100)) == [x * x for x in range(100)]
        assert lent.map(str, []) == []


def test_what_a_rank_raises_is_raised() -> None:
    def fail(rank: int) -> None:
        if rank == 1:
            raise ZeroDivisionError

    with team(2) as lent, pytest.raises(ZeroDivisionError):
        lent.run(fail)


def test_threads_that_cannot_start_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    start = threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if len(started) >= 2:
            raise RuntimeError("can't start new thread")
        started.append(1)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(errors.DeviceError, match="2 of 8"), team(8):
        pass


def test_no_rank_begins_that_would_wait_for_a_missing_one() -> None:
    began: list[int] = []
    with team(3) as lent:
        last = lent._lanes._threads[2]
        assert last is not None
        last.shutdown()
        with pytest.raises(errors.DeviceError):
            lent.run(began.append)
        with pytest.raises(errors.DeviceError):
            lent.run(began.append)
    assert began == []


LIMITED = """
import resource, threading
from hardscape import memory
from hardscape.engine import resolve, team
from hardscape.errors import DeviceError
from helpers.running import run
from helpers.works import HarmonicSum
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))
try:
    {}
except DeviceError:
    print(threading.active_count())
"""


@pytest.mark.parametrize(
    "call",
    [
        "team(60).__enter__()",
        "run(HarmonicSum(units=400, count=100, pause=0.1), devices=resolve('cpu', threads=60))",
    ],
)
def test_threads_without_room_are_not_begun(call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(call)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "1\n"


def test_more_threads_than_make_sense_are_refused() -> None:
    most = max(64, 4 * (os.cpu_count() or 1))
    assert RunOptions.checked(threads=most).threads == most
    with pytest.raises(errors.InputError):
        RunOptions.checked(threads=most + 1)
