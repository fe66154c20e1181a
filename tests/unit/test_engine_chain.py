"""Chains: the same bytes for any cut of the steps, any team, any process; what ends them early."""

import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from hardscape import errors
from hardscape.engine import Chain, ProgressEvent, RunOptions, steps
from hardscape.engine.jobs import job
from helpers.works import Walk


def walked(total: int, start: int = 1) -> int:
    """The answer of a `Walk`, by a plain loop."""
    x = start
    for step in range(total):
        x = (3 * x + sum(range(step % 7))) % (2**61 - 1)
    return x


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_answer_is_the_same_for_any_team(threads: int) -> None:
    outcome = steps(Walk(1000), RunOptions.checked(device="cpu", threads=threads))
    assert outcome.answer == outcome.whole() == walked(1000)
    assert outcome.complete
    assert outcome.stopped == ""
    assert (outcome.units_done, outcome.units_total) == (1000, 1000)


def test_no_steps() -> None:
    outcome = steps(Walk(0), RunOptions.checked())
    assert outcome.complete
    assert outcome.answer == 1


def test_an_end_before_the_last_step() -> None:
    outcome = steps(Walk(1000, end=64), RunOptions.checked(threads=1))
    assert outcome.complete
    assert (outcome.stopped, outcome.units_done < 1000) == ("finished", True)


def test_a_time_limit_and_a_checkpoint(tmp_path: Path) -> None:
    ledger = tmp_path / "walk.ledger"
    options = {"threads": 1, "checkpoint": ledger}
    cut = steps(Walk(100, pause=0.01), RunOptions.checked(time_limit=0.3, **options))
    assert not cut.complete
    assert cut.stopped == "time_limit"
    assert 0 < cut.units_done < 100
    assert cut.answer == walked(cut.units_done)
    with pytest.raises(errors.BudgetError, match="checkpoint"):
        cut.whole()
    whole = steps(Walk(100), RunOptions.checked(**options))
    assert whole.resumed_shards == 1
    assert whole.answer == walked(100)
    longer = steps(Walk(150), RunOptions.checked(**options))
    assert longer.answer == walked(150)
    with pytest.raises(errors.CheckpointError):
        steps(Walk(150, start=2), RunOptions.checked(**options))


class Known(Walk):
    """A walk of which nobody expects that it ends before its last step."""

    finished = Chain.finished


def test_a_ledger_tells_how_far_a_chain_is(tmp_path: Path) -> None:
    ledger = tmp_path / "walk.ledger"
    options = {"threads": 1, "checkpoint": ledger}
    cut = steps(Known(100, pause=0.01), RunOptions.checked(time_limit=0.3, **options))
    told = job(ledger)
    assert (told.state, told.done, told.total) == ("stopped", cut.units_done, 100)
    assert told.share == pytest.approx(cut.units_done / 100)
    assert told.eta == pytest.approx(told.seconds * (100 / told.done - 1))
    steps(Known(100), RunOptions.checked(**options))
    assert (job(ledger).state, job(ledger).eta) == ("finished", 0.0)
    steps(Known(100), RunOptions.checked(**options))  # has nothing to do
    assert job(ledger).state == "finished"
    steps(Known(2000, pause=0.01), RunOptions.checked(time_limit=0.3, **options))
    assert (job(ledger).state, job(ledger).total) == ("stopped", 2000)


def test_the_end_of_a_chain_that_ends_by_itself_is_not_known_before(tmp_path: Path) -> None:
    ledger = tmp_path / "walk.ledger"
    options = {"threads": 1, "checkpoint": ledger}
    steps(Walk(1000, end=900, pause=0.01), RunOptions.checked(time_limit=0.3, **options))
    assert (job(ledger).state, job(ledger).total, job(ledger).eta) == ("stopped", 0, None)
    steps(Walk(1000, end=900), RunOptions.checked(**options))
    assert job(ledger).state == "finished"


def test_an_older_chain_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = RunOptions.checked(threads=1, checkpoint=tmp_path / "walk.ledger")
    steps(Walk(10), options)
    monkeypatch.setattr(Walk, "revision", 2)
    with pytest.raises(errors.CheckpointError):
        steps(Walk(20), options)


def test_a_signal_ends_it_with_what_there_is(tmp_path: Path) -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    began = time.monotonic()
    outcome = steps(Walk(100_000, pause=0.005), RunOptions.checked(threads=2))
    timer.join()
    assert outcome.stopped == "SIGTERM"
    assert outcome.signum == signal.SIGTERM
    assert time.monotonic() - began < 5
    assert outcome.answer == walked(outcome.units_done)


def test_progress_tells_of_steps() -> None:
    events: list[ProgressEvent] = []
    steps(Walk(40, pause=0.01), RunOptions.checked(threads=1, progress=events.append))
    assert events[0].done == 0
    assert events[-1].done == events[-1].total == 40
    assert events[-1].unit == "steps"


def test_a_worker_does_the_steps(tmp_path: Path) -> None:
    ledger = tmp_path / "walk.ledger"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        cut = steps(
            Walk(2000, pause=0.005),
            RunOptions.checked(executor=pool, time_limit=2.0, checkpoint=ledger),
        )
        assert cut.stopped == "time_limit"
        assert cut.answer == walked(cut.units_done)
        chain = Walk(cut.units_done + 50)
        whole = steps(chain, RunOptions.checked(executor=pool, checkpoint=ledger))
    assert whole.complete
    assert whole.answer == walked(cut.units_done + 50)
