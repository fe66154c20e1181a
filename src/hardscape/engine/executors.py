"""Executors of the user's as pools: process pools, Dask clients, MPI pools, and stops that reach their workers.

A worker on the host of the run reads its stop flag from a mapped file. To those of other hosts a stop
travels by the engine that runs them, where there is a way: a `Channel`.
"""

from __future__ import annotations

import itertools
import mmap
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from hardscape import native
from hardscape.engine.device import Device
from hardscape.engine.pool import Pool, Report
from hardscape.engine.work import Partial, Shard, ShardResult, Work
from hardscape.engine.worker import Channel, StopSign, run_shard

#: Shards in flight for each worker of an executor: one that runs and one that waits, so that no
#: worker idles for a round trip.
_IN_FLIGHT = 2
#: Seconds for which workers that were told to stop are waited for: they look ten times a second or more, and
#: those that are dead or stopped themselves do not answer.
_PATIENCE = 1.5
#: Seconds of one question.
_ASKED = 0.25
#: Tags of the messages that stop the shards of one run.
_FIRST_TAG, _TAGS = 20_000, 10_000
_runs = itertools.count()


class ExecutorPool(Pool):
    """Shards sent to an executor: a process pool, a Dask client, an MPI pool. It stays open.

    `left` are the seconds of the time limit, which workers elsewhere keep by themselves.
    """

    patience = _PATIENCE

    def __init__(
        self,
        work: Work[Any],
        devices: Sequence[Device],
        reports: SimpleQueue[Report | None],
        executor: Any,
        workers: int | None,
        left: float | None,
    ) -> None:
        self._given = executor
        self._executor = _as_executor(executor)
        self._is_dask = hasattr(executor, "get_executor")
        self._channel = channel_of(executor)
        import tempfile

        slots = _IN_FLIGHT * (_workers_of(executor) if workers is None else workers)
        descriptor, self._path = tempfile.mkstemp(prefix="hardscape-stop-")
        with os.fdopen(descriptor, "r+b") as file:
            file.write(bytes(slots))
            file.flush()
            stops = np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=np.uint8)
        super().__init__(work, stops, reports)
        self._devices = tuple(devices)
        self._until = None if left is None else time.monotonic() + left
        self._level = native.level()

    def stop(self, first: int = 0) -> None:
        """See `Pool`; workers of other hosts are told too."""
        super().stop(first)
        if self._channel is not None and self._running:
            self._channel.tell(self._given, first)

    def _start(self, slot: int, shard: Shard, incumbent: Partial | None) -> Future[ShardResult]:
        left = None if self._until is None else max(0.0, self._until - time.monotonic())
        stop = StopSign(self._path, slot, left, self._channel)
        arguments = (self._work, shard, self._devices, incumbent, stop, self._level)
        return self._executor.submit(run_shard, *arguments)

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


@dataclass(frozen=True)
class DaskChannel:
    """A variable that the scheduler keeps."""

    name: str = field(default_factory=lambda: f"hardscape-stop-{uuid.uuid4().hex}")

    def tell(self, executor: Any, first: int) -> None:
        """See `Channel`. Nobody waits for a scheduler that may be gone."""

        def tell() -> None:
            with suppress(Exception):
                _variable(self.name, executor).set(first, timeout=_ASKED)

        threading.Thread(target=tell, name="hardscape-tell", daemon=True).start()

    def listen(self) -> Callable[[], int | None]:
        """See `Channel`."""
        from distributed import get_client

        variable = _variable(self.name, get_client())

        def told() -> int | None:
            with suppress(Exception):  # nothing was told yet, or the scheduler is not there
                return int(variable.get(timeout=_ASKED))
            return None

        return told


def _variable(name: str, client: Any) -> Any:
    import distributed

    made: Any = distributed.Variable
    return made(name, client=client)


@dataclass(frozen=True)
class MpiChannel:
    """Messages from rank 0, which asks, to all others, which work."""

    tag: int = field(default_factory=lambda: _FIRST_TAG + next(_runs) % _TAGS)

    def tell(self, executor: Any, first: int) -> None:
        """See `Channel`. A rank that listens no more leaves the message where it is."""
        from mpi4py import MPI

        for rank in range(1, MPI.COMM_WORLD.Get_size()):
            _sent.append(MPI.COMM_WORLD.isend(first, dest=rank, tag=self.tag))

    def listen(self) -> Callable[[], int | None]:
        """See `Channel`."""
        from mpi4py import MPI

        def told() -> int | None:
            while MPI.COMM_WORLD.iprobe(source=0, tag=self.tag):
                _heard[self.tag] = MPI.COMM_WORLD.recv(source=0, tag=self.tag)
            return _heard.get(self.tag)

        return told


#: Messages on their way, which must not be forgotten before they have arrived.
_sent: list[Any] = []
#: What this process was told, by tag.
_heard: dict[int, int] = {}


def channel_of(executor: Any) -> Channel | None:
    """The channel that an executor's workers can hear, if there is one."""
    package = type(executor).__module__.partition(".")[0]
    if package == "distributed" and hasattr(executor, "get_executor"):
        return DaskChannel()
    if package == "mpi4py":
        from mpi4py import MPI

        threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        if threads and MPI.COMM_WORLD.Get_rank() == 0 and MPI.COMM_WORLD.Get_size() > 1:
            return MpiChannel()
    return None
