"""Killed, resumed, refused: a ledger gives the same bytes or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import hardscape
from hardscape.errors import CheckpointError
from helpers.instances import dense_gaussian, dense_integer

CHILD = """
import sys
sys.path.insert(0, sys.argv[2])
import hardscape
from helpers.instances import dense_gaussian
hardscape.spectrum(dense_gaussian(36, 5), 500, device="cpu", threads=2, prune=False,
                   checkpoint=sys.argv[1])
"""


def test_killed_in_the_middle_then_resumed(tmp_path):
    path = tmp_path / "job.hardscape"
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), tests])
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("job*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.4)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    model = dense_gaussian(36, 5)
    options = {"device": "cpu", "threads": 2, "prune": False}
    resumed = hardscape.spectrum(model, 500, checkpoint=path, **options)
    plain = hardscape.spectrum(model, 500, **options)
    assert resumed.energies.tobytes() == plain.energies.tobytes()
    assert resumed.states.tobytes() == plain.states.tobytes()
    assert resumed.levels == plain.levels
    again = hardscape.spectrum(model, 500, checkpoint=path, **options)
    assert again.info["resumed_shards"] == 64
    assert again.states.tobytes() == plain.states.tobytes()


def test_checkpoint_of_another_problem_is_refused(tmp_path):
    path = tmp_path / "job.hardscape"
    hardscape.spectrum(dense_integer(20, 1), 10, device="cpu", checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError):
        hardscape.spectrum(dense_integer(20, 2), 10, device="cpu", checkpoint=path)
    with pytest.raises(CheckpointError):
        hardscape.spectrum(dense_integer(20, 1), 11, device="cpu", checkpoint=path)
    assert path.read_bytes() == before
