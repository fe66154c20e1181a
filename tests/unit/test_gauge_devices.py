"""Gribov copies on GPUs that come and go: what runs on each, with a CPU in the place of each."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, Cuda, CudaStatus, Device, Shard, ShardResult
from hardscape.engine import device as device_module
from hardscape.errors import DeviceError
from hardscape.gauge import GaugeField, GaugeFixResult, fix
from hardscape.gauge.work import GaugeFixWork

_COPIES = 24
_run = GaugeFixWork.run


class Gpus:
    """GPUs of a host: each shard is noted, and computed copy by copy on a CPU.

    With `failing` the first shard is the only one that does not fail.
    """

    def __init__(self, failing: bool = False) -> None:
        self.ran: list[tuple[Device, int]] = []  #: where, and how many copies
        self._failing = failing
        self._first = threading.Event()
        self._lock = threading.Lock()

    def run(self, work: GaugeFixWork, shard: Shard, context: Context) -> ShardResult:
        """In place of `GaugeFixWork.run`."""
        assert isinstance(context.device, Cuda)
        if self._failing and shard.index:
            assert self._first.wait(60)
            raise DeviceError("the GPU has fallen off the bus")
        alone = replace(context, device=Cpu())
        each = [_run(work, Shard(c, c, c + 1), alone) for c in range(shard.start, shard.stop)]
        with self._lock:
            self.ran.append((context.device, shard.stop - shard.start))
        self._first.set()
        return ShardResult(reduce(work.merge, [one.partial for one in each]))

    @contextmanager
    def of(self, ordinals: Sequence[int]) -> Iterator[None]:
        """This host has those of these numbers."""
        devices = tuple(map(Cuda, ordinals))

        def run(work: GaugeFixWork, shard: Shard, context: Context) -> ShardResult:
            return self.run(work, shard, context)

        with (
            mock.patch.object(device_module, "_usable_gpus", return_value=devices),
            mock.patch.object(
                device_module, "cuda_status", return_value=CudaStatus(True, *("",) * 6, ())
            ),
            mock.patch.object(GaugeFixWork, "run", run),
            # Links are checked on the one GPU that works.
            mock.patch.object(
                import_module("hardscape.gauge.fix"), "_checked", lambda field, *_: field
            ),
        ):
            yield


@pytest.fixture(scope="module")
def field() -> GaugeField:
    """Near the identity, where all copies converge soon."""
    rough = np.eye(2) + 0.3 * GaugeField.random((4, 4, 4, 4), 2, seed=11).links
    return GaugeField(rough, layout="t z y x mu a b").reproject()


def fixed(field: GaugeField, **run: Any) -> GaugeFixResult:
    return fix(field, method="relaxation", theta=1e-6, copies=_COPIES, seed=1, **run)


def raw(found: GaugeFixResult) -> tuple[bytes, ...]:
    return found.g.tobytes(), found.copies.functional.tobytes(), found.copies.sweeps.tobytes()


@pytest.fixture(scope="module")
def expected(field: GaugeField) -> tuple[bytes, ...]:
    return raw(fixed(field, device="cpu"))


@pytest.mark.parametrize("later", [(0, 1, 2, 3), (1,)])
def test_a_ledger_begun_on_two_gpus_goes_on_on_others(
    field: GaugeField, expected: tuple[bytes, ...], later: tuple[int, ...], tmp_path: Path
) -> None:
    ledger = tmp_path / "copies.ledger"
    begun, gone_on = Gpus(failing=True), Gpus()
    with begun.of((0, 1)), pytest.raises(DeviceError, match="fallen"):
        fixed(field, device="cuda", checkpoint=ledger)
    with gone_on.of(later):
        found = fixed(field, device="cuda", checkpoint=ledger)
    assert [copies for _, copies in begun.ran] == [_COPIES // 2]
    assert [copies for _, copies in gone_on.ran] == [_COPIES // 2]  # not those that are there
    assert raw(found) == expected


def test_each_gpu_has_its_share_of_the_copies(
    field: GaugeField, expected: tuple[bytes, ...]
) -> None:
    gpus = Gpus()
    with gpus.of((0, 1, 2, 3)):
        found = fixed(field, device="cuda")
    assert [copies for _, copies in gpus.ran] == [_COPIES // 4] * 4
    assert raw(found) == expected


def test_copies_are_batched_by_the_gpus_of_the_workers(
    field: GaugeField, expected: tuple[bytes, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    together = threading.Barrier(3)  # no worker does the shard of another

    class Together(Gpus):
        def run(self, work: GaugeFixWork, shard: Shard, context: Context) -> ShardResult:
            together.wait(60)
            return super().run(work, shard, context)

    gpus = Together()
    with gpus.of((0, 1, 2)), ThreadPoolExecutor(3) as workers:
        found = fixed(field, device=Cuda(anywhere=True), executor=workers)
    assert sorted((str(gpu), copies) for gpu, copies in gpus.ran) == [
        (f"cuda:{i}", _COPIES // 3) for i in range(3)
    ]
    assert raw(found) == expected
