"""What a run shares with workers of its host, and what is left of runs that were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hardscape.engine import Context, RunOptions, Shard, ShardResult, solve
from hardscape.engine.cluster import folder
from hardscape.engine.cluster.folder import Folder, flags_of, shared_of
from helpers.works import HarmonicSum


@dataclass(frozen=True)
class Telling(HarmonicSum):
    """Each shard counts itself in the shared words, and notes how many there were."""

    def shared(self) -> NDArray[np.uint64]:
        return np.array([0, 7], dtype=np.uint64)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        assert context.shared is not None
        assert context.shared[1] == 7
        context.shared[0] += 1
        result = super().run(shard, context)
        most = np.array([context.shared[0]], dtype=np.int64)
        return ShardResult({**result.partial, "terms": most}, result.complete)

    def merge(self, left, right):
        most = max(left["terms"], right["terms"])
        return {**super().merge(left, right), "terms": most}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_words_are_shared_on_a_host_and_a_process_s_own_elsewhere(place: Path) -> None:
    work = Telling()
    run = Folder(work.shared())
    flags_of(str(run.flags))[3] = 2
    assert run.stops[3] == 2
    assert len(run.stops) == folder.SLOTS
    here = shared_of(str(run.flags), work)
    assert here is not None
    here[0] = 5
    folder._kept.clear()
    again = shared_of(str(run.flags), work)
    assert again is not None
    assert again.tolist() == [5, 7]
    # A file of another host, seen over a network: its words are not read.
    other = run.flags.with_name("flags-of-another-host")
    run.flags.rename(other)
    own = shared_of(str(other), work)
    assert own is not None
    assert own.tolist() == [0, 7]
    assert shared_of(str(other), work) is own
    assert shared_of(str(place / "absent"), HarmonicSum()) is None
    run.remove()
    assert not list(place.iterdir())


@pytest.mark.parametrize("how", ["threads", "one thread", "processes"])
def test_shards_see_what_others_shared(how: str, place: Path) -> None:
    run = {"threads": 2} if how == "threads" else {"threads": 1}
    if how == "processes":
        run = {"executor": "processes:2"}
    outcome = solve(Telling(units=40, count=8), RunOptions.checked(device="cpu", **run))
    assert outcome.partial is not None
    assert outcome.partial["terms"] > 4  # one process at least ran more than half of them
    assert not list(place.glob("hardscape-run-*"))


def test_what_a_killed_run_left_is_removed_and_what_others_hold_is_not(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Folder(None)
    program = (
        "import os, numpy as np, tempfile; from hardscape.engine.cluster.folder import Folder; "
        f"tempfile.tempdir = {str(place)!r}; Folder(np.zeros(3, dtype=np.uint64)); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    assert len(list(place.iterdir())) == 2
    Folder(None).remove()  # too young to be sure
    assert len(list(place.iterdir())) == 2
    for path in place.iterdir():
        os.utime(path, (0, 0))
    Folder(None).remove()
    assert list(place.iterdir()) == [held.path]
    held.remove()
    assert not list(place.iterdir())
