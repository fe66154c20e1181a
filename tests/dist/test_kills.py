"""``kill -9`` at random moments: whatever is killed, what goes on gives the bytes of who was left alone."""

from __future__ import annotations

import multiprocessing
import random
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from hardscape.engine.jobs import job
from hardscape.errors import CheckpointError
from helpers.long_jobs import LONG_JOBS

#: Kills of each job, and the most seconds after its begin in which they come.
KILLS, MOST = 30, 0.3


def perform(name: str, ledger: Path, telling: Connection) -> None:
    """Tell that the job begins, and what came out."""
    telling.send_bytes(b"begin")
    telling.send_bytes(LONG_JOBS[name](device="cpu", threads=2, checkpoint=ledger))


def killed(name: str, ledger: Path, moment: float) -> bytes | None:
    """The answer of the job, or None where it was killed that many seconds after its begin."""
    here, there = multiprocessing.Pipe(duplex=False)
    # Forked from a process that has no threads and has imported all: it begins within milliseconds.
    life = multiprocessing.get_context("forkserver").Process(target=perform, args=(name, ledger, there))
    life.start()
    there.close()
    try:
        assert here.recv_bytes() == b"begin"
        return here.recv_bytes() if here.poll(moment) else None
    finally:
        life.kill()
        life.join()
        here.close()


@pytest.mark.parametrize("name", LONG_JOBS)
def test_killed_at_random_moments(name: str, tmp_path: Path) -> None:
    killed(name, tmp_path / "first", 60)  # starts what is forked from
    began = time.monotonic()
    expected = killed(name, tmp_path / "undisturbed", 60)
    within = min(MOST, (time.monotonic() - began) / 2)
    moments = random.Random(name)
    kills, kept, ledger = 0, 0, tmp_path / "0"
    while kills < KILLS:
        answer = killed(name, ledger, moments.uniform(0, within))
        if answer is None:
            kills += 1
            kept += _kept(ledger) > 0
        else:
            assert answer == expected
            ledger = tmp_path / str(kills)
    assert kept > 0
    assert killed(name, ledger, 60) == expected == LONG_JOBS[name](device="cpu", threads=1)


def _kept(ledger: Path) -> int:
    """Shards or steps in a ledger; it may not have been begun."""
    try:
        told = job(ledger)
    except CheckpointError:
        return 0
    assert told.state in ("stopped", "finished")
    return told.done
