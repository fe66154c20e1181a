"""What shows progress."""

import io
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hardscape import errors
from hardscape.engine import (
    CallbackProgress,
    Device,
    NullProgress,
    Partial,
    ProgressEvent,
    RichProgress,
    resolve,
    resolve_progress,
)
from hardscape.engine import progress as progress_module
from hardscape.engine import run as run_module
from hardscape.engine.jobs import job
from hardscape.engine.progress import Measure, duration
from helpers.running import run
from helpers.works import HarmonicSum


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_resolve() -> None:
    assert isinstance(resolve_progress(None), NullProgress)
    assert isinstance(resolve_progress(False), NullProgress)
    assert isinstance(resolve_progress(True), RichProgress)
    assert isinstance(resolve_progress(print), CallbackProgress)
    own = NullProgress()
    assert resolve_progress(own) is own
    with pytest.raises(errors.InputError, match="17"):
        resolve_progress(17)  # type: ignore[arg-type]


def test_the_bar_is_drawn_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    work = HarmonicSum(units=40, count=20, pause=0.015)
    run(work, devices=resolve("cpu", threads=1), progress=True)
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run(work, devices=resolve("cpu", threads=1), progress=True)
    assert "terms/s" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_the_bar_is_there_before_the_first_shard_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with RichProgress() as bar:
        bar.update(ProgressEvent(0, 1, "copies", 0.0, None, 0.0))
        time.sleep(1.0)
        assert "0%" in terminal.getvalue()
    with RichProgress() as bar:  # too brief for one
        before = terminal.getvalue()
        bar.update(ProgressEvent(1, 1, "copies", 0.0, None, 1.0))
    assert terminal.getvalue() == before


def test_the_bar_takes_numbers_beyond_64_bits() -> None:
    with RichProgress() as bar:
        bar.update(ProgressEvent(0, 2**70, "states", 0.0, None, 0.0))
        bar.update(ProgressEvent(2**69, 2**70, "states", 1.0, 1.0, 0.5))
        bar.update(ProgressEvent(0, 0, "states", 1.0, None, 1.0))


def test_an_object_of_the_users_own() -> None:
    class Own:
        events: list[ProgressEvent] = []  # noqa: RUF012
        entered = left = False

        def update(self, event: ProgressEvent) -> None:
            assert self.entered
            assert not self.left
            self.events.append(event)

        def __enter__(self) -> "Own":
            self.entered = True
            return self

        def __exit__(self, *exception: object) -> None:
            self.left = True

    own = Own()
    run(HarmonicSum(), devices=resolve("cpu", threads=1), progress=own)
    assert own.left
    assert own.events[-1].done == 997


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.34, "0.3 s"),
        (42, "42 s"),
        (300, "5 min"),
        (3.2 * 3600, "3.2 h"),
        (12 * 86400, "12.0 d"),
        (10 * 365 * 86400, "10 y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_time_that_nobody_waits_for_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with RichProgress() as bar:
        bar.update(ProgressEvent(0, 2**70, "rounds", 0.0, None, 0.0))
        bar.update(ProgressEvent(1, 2**70, "rounds", 1.0, 2.0**70, 2.0**-70))
    assert "left" not in terminal.getvalue()


def test_what_is_left_ends_with_the_time_limit() -> None:
    events: list[ProgressEvent] = []
    work = HarmonicSum(units=40, count=20, pause=0.015)
    run(work, devices=resolve("cpu", threads=1), progress=events.append, time_limit=1e-2)
    assert all(event.eta is not None and event.eta <= 1e-2 for event in events)


def test_a_log_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_module, "_MINUTE", 0.1)
    work = HarmonicSum(units=40, count=40, pause=0.015)
    run(work, devices=resolve("cpu", threads=1), progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) >= 3
    assert all(line.startswith("hardscape: ") for line in lines)
    assert "terms/s" in lines[-1]
    assert "left" in lines[-1]


def test_sigusr1_asks_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    work = HarmonicSum(units=40, count=40, pause=0.015)
    outcome = run(work, devices=resolve("cpu", threads=1), progress=True)
    assert outcome.complete
    assert outcome.stopped == ""
    assert capsys.readouterr().err.count("of 40 terms") == 1
    assert signal.getsignal(signal.SIGUSR1) is before


def test_a_run_that_goes_on_says_from_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = HarmonicSum(units=40, count=40, pause=0.02)
    cpu = resolve("cpu", threads=1)
    first = run(work, devices=cpu, checkpoint=tmp_path / "job", time_limit=0.3, progress=True)
    assert 0 < first.shards_done < 40
    assert "goes on" not in capsys.readouterr().err
    run(work, devices=cpu, checkpoint=tmp_path / "job", progress=True)
    assert f"goes on at {first.shards_done / 40:.1%}" in capsys.readouterr().err


def test_a_measure_tells_the_share_of_ranges() -> None:
    measure = Measure(np.array([1.0, 5.0, 0.0, 4.0]), 100, 40)
    assert measure.share([]) == 0
    assert measure.share([(100, 140)]) == 1
    assert measure.share([(100, 110), (130, 135)]) == pytest.approx(0.3)
    assert measure.share([(105, 115)]) == pytest.approx(0.3)


@dataclass(frozen=True)
class FrontLoaded(HarmonicSum):
    """Its first half is expected to take nine tenths of the time."""

    def expected(self, device: Device, incumbent: Partial | None) -> NDArray[np.float64]:
        return np.array([9.0, 1.0])

    def share(self, done: int) -> float:
        return 0.18 * min(done, 5) + 0.02 * max(done - 5, 0)


class EnoughError(Exception):
    """Ends a run."""


def test_progress_goes_by_what_parts_are_expected_to_take(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run_module, "_MEASURED_AT", 0.0)
    path, lanes = tmp_path / "ledger", resolve("cpu", threads=1)
    work = FrontLoaded(units=10, count=10, pause=0.12)
    first: list[ProgressEvent] = []

    def until_four(event: ProgressEvent) -> None:
        first.append(event)
        if event.done >= 4:
            raise EnoughError

    with pytest.raises(EnoughError):
        run(work, devices=lanes, progress=until_four, checkpoint=path)
    assert first[-1].share == pytest.approx(work.share(first[-1].done))
    found = job(path)
    assert found.eta == pytest.approx(found.seconds * (1 - found.share) / found.share)

    second: list[ProgressEvent] = []
    run(work, devices=lanes, progress=second.append, checkpoint=path)
    resumed = second[0].done
    assert resumed >= 4
    told = [event for event in second[1:] if resumed < event.done < 10]
    assert told
    for event in told:
        assert event.share == pytest.approx(work.share(event.done))
        speed = (event.share - work.share(resumed)) / event.seconds
        assert event.eta == pytest.approx((1 - event.share) / speed)
    assert job(path).share == 1
