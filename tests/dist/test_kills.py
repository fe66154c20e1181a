"""``kill -9`` at random moments: what goes on gives the bytes of who was left alone; others are refused."""

from __future__ import annotations

import multiprocessing
import random
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import hardscape
from hardscape.engine import chain
from hardscape.engine import ledger as ledgers
from hardscape.engine.jobs import job
from hardscape.errors import CheckpointError
from helpers.instances import dense_integer
from helpers.long_jobs import FURTHER_JOBS, LONG_JOBS

#: Kills of each job, of those of further methods, and the most seconds after its begin in which they come.
KILLS, FURTHER, MOST = 12, 5, 0.4


def perform(name: str, ledger: Path, telling: Connection) -> None:
    """Tell that the job begins, and what came out. All that is done is written at once."""
    chain._BETWEEN = chain._BETWEEN_WRITES = ledgers._BETWEEN_FOLDS = ledgers._FOLDING = 0.0
    telling.send_bytes(b"begin")
    telling.send_bytes(LONG_JOBS[name](device="cpu", threads=2, checkpoint=ledger))


def killed(name: str, ledger: Path, moment: float) -> bytes | None:
    """The answer of the job, or None where it was killed that many seconds after its begin."""
    here, there = multiprocessing.Pipe(duplex=False)
    # Forked from a process that has no threads and has imported all: it begins within milliseconds.
    life = multiprocessing.get_context("forkserver").Process(
        target=perform, args=(name, ledger, there)
    )
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
    enough = FURTHER if name in FURTHER_JOBS else KILLS
    while kills < enough or not kept:
        assert kills < 10 * enough
        answer = killed(name, ledger, moments.uniform(0, within))
        if answer is None:
            kills += 1
            kept += _kept(ledger) > 0
            if kills >= enough and not kept:
                within *= 1.5  # on a busy machine a job has not begun by then
        else:
            assert answer == expected
            ledger = tmp_path / str(kills)
            within *= 0.9  # quicker than the one that was left alone
    assert killed(name, ledger, 60) == expected == LONG_JOBS[name](device="cpu", threads=1)


def _kept(ledger: Path) -> int:
    """Shards or steps in a ledger; it may not have been begun."""
    try:
        told = job(ledger)
    except CheckpointError:
        return 0
    assert told.state in ("stopped", "finished")
    return told.done


def test_checkpoint_of_another_problem_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.hardscape"
    hardscape.spectrum(dense_integer(20, 1), 10, device="cpu", checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError):
        hardscape.spectrum(dense_integer(20, 2), 10, device="cpu", checkpoint=path)
    with pytest.raises(CheckpointError):
        hardscape.spectrum(dense_integer(20, 1), 11, device="cpu", checkpoint=path)
    assert path.read_bytes() == before
