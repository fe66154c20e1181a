"""Two GPUs of one host: the answers of one, also from a ledger that the other number began."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardscape
from hardscape.engine import ProgressEvent, cuda_status
from hardscape.errors import Interrupted
from hardscape.gauge import GaugeField, fix
from hardscape.xorsat import random_regular, time_to_solution
from helpers.instances import dense_gaussian

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(len(cuda_status().gpus) < 2, reason="fewer than two GPUs can be used here"),
]


def spectrum(**run: Any) -> bytes:
    found = hardscape.spectrum(dense_gaussian(45, 3), 50, method="exhaustive", prune=False, **run)
    return found.energies.tobytes() + found.states.tobytes()


def permanent(**run: Any) -> bytes:
    a = np.random.default_rng(4).normal(size=(40, 40))
    found = hardscape.permanent(a, full_output=True, **run)
    return repr((found.value, found.error_bound)).encode()


def copies(**run: Any) -> bytes:
    field, limits = GaugeField.random((16, 16, 16, 16), 3, seed=2), {"max_sweeps": 1000}
    found = fix(field, method="overrelaxation", copies=96, strict=False, seed=1, **limits, **run)
    return found.g.tobytes() + found.copies.functional.tobytes()


def trials(**run: Any) -> bytes:
    system = random_regular(128, seed=1)
    found = time_to_solution(system, 400, 60.0, clones=2**17, seed=1, **run)
    return np.asarray(found.sweeps).tobytes()


JOBS: list[Callable[..., bytes]] = [spectrum, permanent, copies, trials]


@pytest.mark.parametrize("job", JOBS)
def test_two_gpus_give_what_one_does(job: Callable[..., bytes]) -> None:
    one = job(device="cuda:0")
    assert job(device="cuda:0,1") == one
    assert job(device="cuda", executor="processes:2") == one


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("devices", [("cuda:0,1", "cuda:1"), ("cuda:0", "cuda:0,1")])
def test_a_ledger_goes_on_on_another_number_of_gpus(
    job: Callable[..., bytes], devices: tuple[str, str], tmp_path: Path
) -> None:
    ledger, expected = tmp_path / "job.ledger", job(device="cuda:0")
    events: list[ProgressEvent] = []

    def stopping(event: ProgressEvent) -> None:
        if 0 < event.done < event.total and not events:
            events.append(event)
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        job(device=devices[0], checkpoint=ledger, progress=stopping)
    assert events
    assert job(device=devices[1], checkpoint=ledger) == expected
