"""An executor of the user's as a pool: of processes, a Dask client, an MPI pool."""

from __future__ import annotations

import os
import pickle
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from hardscape import native
from hardscape.engine.cluster.channels import channel_of
from hardscape.engine.cluster.folder import SLOTS, Folder
from hardscape.engine.cluster.named import Processes
from hardscape.engine.cluster.worker import Parcel, StopSign, run_in_worker, unpacked
from hardscape.engine.device import Device
from hardscape.engine.fold import Block
from hardscape.engine.pool import BlockResult, Pool, Report
from hardscape.engine.work import Partial, Work

#: Blocks in flight for each worker of an executor: one that runs and one that waits, so that no
#: worker idles for a round trip.
_IN_FLIGHT = 2
#: Seconds of a block for each worker, at least: to send one takes a millisecond of this process, or more.
_TURN = 2e-3
#: Seconds between two counts of the workers that there are.
_COUNTED = 1.0
#: Seconds for which workers that were told to stop are waited for: they look ten times a second or more, and
#: those that are dead or stopped themselves do not answer.
_PATIENCE = 1.5
#: Bytes of a work that go with each block; a larger one goes to each worker once.
_SMALL = 2**15
#: A block is a straggler that runs so many times longer than the others, and so many seconds.
_STRAGGLING, _LEAST_STRAGGLING = 3.0, 1.0


class ExecutorPool(Pool):
    """Blocks sent to an executor, which stays open. Workers may come and go.

    `left` are the seconds of the time limit, which workers elsewhere keep by themselves.
    """

    patience = _PATIENCE
    pace = (0.4, 0.02)
    asked = (5e-3, 5e-5)

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
        self._is_dask = hasattr(executor, "get_executor")
        # A Dask client hands out an executor; "pure" would merge equal submissions into one.
        self._executor = executor.get_executor(pure=False) if self._is_dask else executor
        self._channel = channel_of(executor)
        self._workers = workers
        self._counted = 0
        self._count_at = 0.0
        self._folder = Folder(work.shared())
        super().__init__(work, self._folder.stops, reports)
        self._devices = tuple(devices)
        self._until = None if left is None else time.monotonic() + left
        self._level = native.level()
        self._parcel = self._packed(work)
        self._taken: list[float] = []

    def _packed(self, work: Work[Any]) -> Any:
        """What is sent with each block in place of the work."""
        packed = pickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL)
        if len(packed) <= _SMALL:
            return work
        if (
            self._is_dask
        ):  # a task, whose result goes from worker to worker, and is made again if it is lost
            return self._given.submit(unpacked, packed, pure=False)
        here = type(self._executor).__module__ in _OF_THIS_HOST
        return Parcel.of(packed, self._folder.path if here else None)

    @property
    def glance(self) -> float:
        """Workers are counted as they come; those that are idle look whether there is something to share."""
        return (
            self.asked_after if self._joined > 1 and len(self._running) < self.workers else _COUNTED
        )

    @property
    def workers(self) -> int:
        """How many there are, counted now and then."""
        now = time.monotonic()
        if now >= self._count_at:
            self._count_at = now + _COUNTED
            self._counted = self._workers or workers_of(self._given)
        return self._counted

    @property
    def has_room(self) -> bool:
        """Whether another block can be submitted: twice as many as there are workers now."""
        return len(self._running) < min(SLOTS, _IN_FLIGHT * self.workers)

    @classmethod
    def turn(cls, workers: int) -> float:
        """Seconds after which one of so many workers sends back what it has."""
        return max(cls.pace[0], _TURN * workers)

    def release(self, report: Report) -> bool:
        """See `Pool`."""
        asked = super().release(report)
        if not report.future.cancelled() and report.future.exception() is None:
            self._taken.append(report.future.result().seconds)
        return asked

    def _straggles(self, seconds: float) -> bool:
        """Whether it takes longer than others do."""
        if not self._taken:
            return False
        usual = statistics.median(self._taken[-100:])
        return seconds > max(_LEAST_STRAGGLING, _STRAGGLING * usual)

    def stop(self, first: int = 0) -> None:
        """See `Pool`; workers of other hosts are told too."""
        super().stop(first)
        if self._channel is not None and self._running:
            self._channel.tell(self._given, first)

    def _start(self, slot: int, block: Block, incumbent: Partial | None) -> Future[BlockResult]:
        left = None if self._until is None else max(0.0, self._until - time.monotonic())
        stop = StopSign(str(self._folder.flags), slot, left, self._channel)
        seconds = self.turn(self.workers)
        arguments = (self._parcel, block, self._devices, incumbent, stop, self._level, seconds)
        future: Future[BlockResult] = self._executor.submit(run_in_worker, *arguments)
        return future

    def _withdraw(self, future: Future[BlockResult]) -> None:
        # Dask would cancel a block that runs, too, and lose what it has to tell.
        if not self._is_dask:
            _cancel(future)

    def abandon(self) -> None:
        """See `Pool`."""
        futures = [future for _, future in self._running.values()]
        for future in futures:
            _cancel(future)
        if isinstance(self._given, Processes):
            self._given.forget(futures)
        super().abandon()

    def close(self) -> None:
        """Remove what workers shared; those that have it mapped still see their flags."""
        self._folder.remove()


def _cancel(future: Future[Any]) -> None:
    with suppress(NotImplementedError):  # Parsl cancels nothing
        future.cancel()


#: Executors whose workers are processes of this host.
_OF_THIS_HOST = (
    "concurrent.futures.process",
    "hardscape.engine.cluster.named",
    "loky.process_executor",
)


def workers_of(executor: Any) -> int:
    """How many workers an executor has, as far as it tells."""
    if hasattr(executor, "nthreads"):  # a Dask client
        return max(1, sum(int(count) for count in executor.nthreads().values()))
    for attribute in ("_max_workers", "num_workers"):
        count = getattr(executor, attribute, None)
        if isinstance(count, int) and count > 0:
            return count
    return os.cpu_count() or 1
