"""A worker's side: what stops its shards, and the GPU that it takes."""

from __future__ import annotations

import math
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hardscape import native
from hardscape.engine import Context, Cpu, Cuda, CudaStatus, Device, Shard, ShardResult, Work
from hardscape.engine import device as device_module
from hardscape.engine.cluster.worker import Parcel, StopSign, run_in_worker
from hardscape.engine.fold import Block
from hardscape.engine.pool import BlockResult
from hardscape.errors import DeviceError
from helpers.works import HarmonicSum

LONG = HarmonicSum(units=40_000, count=10, pause=0.01)


@dataclass(frozen=True)
class Told:
    """A channel that tells `first` at once."""

    first: int

    def tell(self, executor: object, first: int) -> None:
        raise AssertionError

    def listen(self) -> Callable[[], int | None]:
        return lambda: self.first


def run(stop: StopSign, index: int = 0, level: str | None = None) -> BlockResult:
    return run_in_worker(*call(LONG, (Cpu(),), stop, index, level))


def call(
    work: Work[Any],
    devices: tuple[Device, ...],
    stop: StopSign,
    index: int = 0,
    level: str | None = None,
) -> tuple[Any, ...]:
    """What a worker is given to run one shard."""
    block = Block(index, index + 1)
    return work, block, devices, None, stop, level or native.level(), math.inf


def test_a_worker_on_another_host_goes_by_its_seconds(tmp_path: Path) -> None:
    began = time.monotonic()
    assert not run(StopSign(str(tmp_path / "absent"), 0, 0.2)).nodes
    assert time.monotonic() - began < 10  # all of it takes 40 s


def test_clocks_of_hosts_need_not_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    began = time.monotonic()
    assert not run(StopSign(str(tmp_path / "absent"), 0, 0.2)).nodes
    assert 0.1 < time.monotonic() - began < 10


@pytest.mark.parametrize(("first", "index"), [(0, 0), (3, 5), (5, 5)])
def test_a_worker_on_another_host_hears_the_channel(tmp_path: Path, first: int, index: int) -> None:
    began = time.monotonic()
    stop = StopSign(str(tmp_path / "absent"), 0, None, Told(first))
    assert not run(stop, index).nodes
    assert time.monotonic() - began < 10


def test_shards_before_the_one_that_is_told_go_on(tmp_path: Path) -> None:
    began = time.monotonic()
    stop = StopSign(str(tmp_path / "absent"), 0, 1.0, Told(3))
    assert not run(stop, 2).nodes
    assert time.monotonic() - began > 0.9  # its seconds, not the channel


def test_a_worker_of_other_vectors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeviceError):
        run(StopSign(str(tmp_path / "absent"), 0, None), level="v0")


@pytest.mark.parametrize("gpus", [(Cuda(1), Cuda(3)), (Cuda(anywhere=True),)])
def test_workers_of_a_host_take_a_gpu_each(
    gpus: tuple[Device, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_module, "_usable_gpus", lambda: (Cuda(1), Cuda(3)))
    monkeypatch.setattr(device_module, "cuda_status", lambda: CudaStatus(True, *("",) * 6, ()))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("SLURM_LOCALID", "0")
    taken: dict[int, list[Device]] = {}
    stop = StopSign(str(tmp_path / "absent"), 0, None)
    all_there = threading.Barrier(4)

    class Where(HarmonicSum):
        def run(self, shard: Shard, context: Context) -> ShardResult:
            taken.setdefault(threading.get_ident(), []).append(context.device)
            return super().run(shard, context)

    def worker(_: int) -> None:
        for _ in range(2):
            run_in_worker(*call(Where(), gpus, stop))
        all_there.wait(30)  # none ends before all have a GPU

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(worker, range(4)))
    held = [devices[0] for devices in taken.values()]
    assert all(devices[0] == devices[1] for devices in taken.values())
    assert sorted(map(str, held)) == ["cuda:1", "cuda:1", "cuda:3", "cuda:3"]


@pytest.mark.parametrize(
    ("visible", "taken"),
    [
        (("0,1", "0,1"), [Cuda(0), Cuda(1)]),
        (("0,1", "1,0"), [Cuda(0), Cuda(0)]),  # dask-cuda: all GPUs, a worker's own one first
    ],
)
def test_a_gpu_has_its_own_name_whatever_number_it_has(
    visible: tuple[str, str],
    taken: list[Device],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stop = StopSign(str(tmp_path / "absent"), 0, None)
    found: list[Device] = []
    has_one, done = threading.Semaphore(0), threading.Event()

    class Where(HarmonicSum):
        def run(self, shard: Shard, context: Context) -> ShardResult:
            found.append(context.device)
            return super().run(shard, context)

    def worker() -> None:
        run_in_worker(*call(Where(), (Cuda(0), Cuda(1)), stop))
        has_one.release()
        done.wait(30)

    with ThreadPoolExecutor(2) as pool:
        for seen in visible:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
            pool.submit(worker)
            assert has_one.acquire(timeout=30)
        done.set()
    assert found == taken


def test_threads_do_not_take_one_another_s_work() -> None:
    works = [HarmonicSum(units=100 + k, count=1) for k in range(2)]
    parcels = [Parcel.of(pickle.dumps(work), None) for work in works]

    def wrong(k: int) -> int:
        return sum(parcels[k % 2].work() != works[k % 2] for _ in range(20_000))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(wrong, range(4))) == 0
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("gpus", [(Cuda(0), Cuda(1)), (Cuda(anywhere=True),)])
def test_workers_beyond_the_gpus_take_cpus_where_they_may(
    gpus: tuple[Device, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_module, "_usable_gpus", lambda: (Cuda(0), Cuda(1)))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stop = StopSign(str(tmp_path / "absent"), 0, None)
    taken: dict[int, Device] = {}
    all_there = threading.Barrier(4)

    class Where(HarmonicSum):
        def run(self, shard: Shard, context: Context) -> ShardResult:
            taken[threading.get_ident()] = context.device
            return super().run(shard, context)

    def worker(_: int) -> None:
        for _ in range(2):
            run_in_worker(*call(Where(), (Cpu(0), *gpus, Cpu(1)), stop))
        all_there.wait(30)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(worker, range(4)))
    assert sorted(map(str, taken.values())) == ["cpu:0", "cpu:0", "cuda:0", "cuda:1"]


def test_a_worker_without_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = CudaStatus(False, "none", "buy one", *("",) * 4, ())
    monkeypatch.setattr(device_module, "cuda_status", lambda: nothing)
    seen = []

    class Where(HarmonicSum):
        def run(self, shard: Shard, context: Context) -> ShardResult:
            seen.append(context.device)
            return super().run(shard, context)

    stop = StopSign(str(tmp_path / "absent"), 0, None)
    for devices in ((Cpu(0), Cpu(1)), (Cpu(0), Cuda(anywhere=True))):
        run_in_worker(*call(Where(), devices, stop))
    assert seen == [Cpu(), Cpu()]
    with pytest.raises(DeviceError, match="buy one"):
        run_in_worker(*call(Where(), (Cuda(anywhere=True),), stop))
