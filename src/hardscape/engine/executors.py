"""Pools: what runs shards. Threads and GPUs of this process, or any executor of the user's."""

from __future__ import annotations

import mmap
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine.deadline import Deadline
from hardscape.engine.device import Cpu, Cuda, Device
from hardscape.engine.lanes import Lanes, require_room
from hardscape.engine.work import Context, Partial, Shard, ShardResult, Work

#: Shards in flight for each worker of an executor: one that runs and one that waits, so that no
#: worker idles for a round trip.
_IN_FLIGHT = 2

#: Where launchers of several processes on one host say which of them this is.
_LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


@dataclass(frozen=True)
class Report:
    """A shard that left the pool: its future holds a result, an exception, or is cancelled."""

    slot: int
    shard: Shard
    future: Future[ShardResult]


class Pool(ABC):
    """Slots in which shards run; each has its own stop flag, of `stops`.

    `reports` gets a `Report` whenever a shard leaves the pool.
    """

    def __init__(
        self, work: Work[Any], stops: NDArray[np.uint8], reports: SimpleQueue[Report | None]
    ) -> None:
        self._work = work
        self._stops = stops
        self._reports = reports
        self._free = list(range(len(stops)))[::-1]
        self._running: dict[int, tuple[Shard, Future[ShardResult]]] = {}

    @property
    def has_room(self) -> bool:
        """Whether another shard can be submitted."""
        return bool(self._free)

    @property
    def busy(self) -> bool:
        """Whether any shard has yet to be reported."""
        return bool(self._running)

    def submit(self, shard: Shard, incumbent: Partial | None) -> None:
        """Start `shard` in a free slot."""
        slot = self._free.pop()
        future = self._start(slot, shard, incumbent)
        self._running[slot] = (shard, future)
        future.add_done_callback(lambda done: self._reports.put(Report(slot, shard, done)))

    def release(self, report: Report) -> None:
        """Free the slot of a shard that was reported."""
        del self._running[report.slot]
        self._stops[report.slot] = 0
        self._free.append(report.slot)

    def stop(self, first: int = 0) -> None:
        """Ask shards with index `first` or above to return what they have."""
        for slot, (shard, future) in list(self._running.items()):
            if shard.index >= first:
                self._stops[slot] = 1
                self._withdraw(future)

    @abstractmethod
    def _start(self, slot: int, shard: Shard, incumbent: Partial | None) -> Future[ShardResult]: ...

    @abstractmethod
    def _withdraw(self, future: Future[ShardResult]) -> None:
        """Cancel a shard that has not begun, if that saves waiting for others."""

    @abstractmethod
    def close(self) -> None:
        """Give back threads and files; shards that still run are not waited for."""


class LocalPool(Pool):
    """One host thread for each device of this process: a GPU always sees the same thread."""

    def __init__(
        self, work: Work[Any], devices: Sequence[Device], reports: SimpleQueue[Report | None]
    ) -> None:
        super().__init__(work, np.zeros(len(devices), dtype=np.uint8), reports)
        require_room(min(len(devices), len(work.shards())))
        self._devices = devices
        self._lanes = Lanes([str(device) for device in devices])

    def _start(self, slot: int, shard: Shard, incumbent: Partial | None) -> Future[ShardResult]:
        context = Context(self._devices[slot], incumbent, self._stops[slot : slot + 1])
        return self._lanes.submit(slot, self._work.run, shard, context)

    def _withdraw(self, future: Future[ShardResult]) -> None:
        # A lane begins at once, and a shard that sees its flag still has something to tell.
        pass

    def close(self) -> None:
        """Let the threads end when their shards have."""
        self._lanes.close()


@dataclass(frozen=True)
class StopFile:
    """Stop flags that processes of one host share through a mapped file, one byte a slot.

    A worker on another host finds no file; it goes by the deadline alone.
    """

    path: str
    slot: int
    #: Unix time at which to stop.
    deadline: float | None

    @contextmanager
    def watch(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the flag, shape (1,)."""
        try:
            with open(self.path, "r+b") as file:
                flags = np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=np.uint8)
        except OSError:
            left = None if self.deadline is None else max(0.0, self.deadline - time.time())
            with Deadline(left).watched() as flag:
                yield flag
        else:
            yield flags[self.slot : self.slot + 1]


def run_shard(
    work: Work[Any],
    shard: Shard,
    devices: tuple[Device, ...],
    incumbent: Partial | None,
    stop: StopFile,
) -> ShardResult:
    """Run one shard in a worker of an executor, on the device that belongs to this worker."""
    with stop.watch() as flag, _ctrl_c_sets(flag):
        return work.run(shard, Context(_device_of_worker(devices), incumbent, flag))


def _device_of_worker(devices: tuple[Device, ...]) -> Device:
    gpus = [device for device in devices if isinstance(device, Cuda)]
    if not gpus:
        return Cpu()
    return gpus[_rank_of_worker() % len(gpus)]


def _rank_of_worker() -> int:
    for variable in _LOCAL_RANKS:
        if os.environ.get(variable, "").isdigit():
            return int(os.environ[variable])
    import multiprocessing  # 10 ms, and only workers come here

    identity: tuple[int, ...] = getattr(multiprocessing.current_process(), "_identity", ())
    return identity[-1] - 1 if identity else 0


@contextmanager
def _ctrl_c_sets(flag: NDArray[np.uint8]) -> Iterator[None]:
    """Turn Ctrl-C, which a terminal sends to workers too, into a stop of the shard in hand."""
    import multiprocessing

    child = multiprocessing.parent_process() is not None
    if not child or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: flag.fill(1))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class ExecutorPool(Pool):
    """Shards sent to an executor: a process pool, a Dask client, an MPI pool. It stays open.

    `deadline` is the Unix time at which shards stop that cannot see the stop flags.
    """

    def __init__(
        self,
        work: Work[Any],
        devices: Sequence[Device],
        reports: SimpleQueue[Report | None],
        executor: Any,
        workers: int | None,
        deadline: float | None,
    ) -> None:
        self._executor = _as_executor(executor)
        self._is_dask = hasattr(executor, "get_executor")
        slots = _IN_FLIGHT * (_workers_of(executor) if workers is None else workers)
        import tempfile

        descriptor, self._path = tempfile.mkstemp(prefix="hardscape-stop-")
        with os.fdopen(descriptor, "r+b") as file:
            file.write(bytes(slots))
            file.flush()
            stops = np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=np.uint8)
        super().__init__(work, stops, reports)
        self._devices = tuple(devices)
        self._deadline = deadline

    def _start(self, slot: int, shard: Shard, incumbent: Partial | None) -> Future[ShardResult]:
        stop = StopFile(self._path, slot, self._deadline)
        return self._executor.submit(run_shard, self._work, shard, self._devices, incumbent, stop)

    def _withdraw(self, future: Future[ShardResult]) -> None:
        # Dask would cancel a shard that runs, too, and lose what it has to tell.
        if not self._is_dask:
            future.cancel()

    def close(self) -> None:
        """Remove the file of stop flags; workers that have it mapped still see them."""
        with suppress(FileNotFoundError):
            Path(self._path).unlink()


def _as_executor(executor: Any) -> Executor:
    # A Dask client hands out an executor; "pure" would merge equal submissions into one.
    if hasattr(executor, "get_executor"):
        executor = executor.get_executor(pure=False)
    return executor  # type: ignore[no-any-return]


def _workers_of(executor: Any) -> int:
    if hasattr(executor, "nthreads"):  # a Dask client
        return max(1, sum(int(count) for count in executor.nthreads().values()))
    for attribute in ("_max_workers", "num_workers"):
        count = getattr(executor, attribute, None)
        if isinstance(count, int) and count > 0:
            return count
    return os.cpu_count() or 1
