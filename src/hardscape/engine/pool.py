"""Pools: what runs shards. Here the threads and GPUs of this process."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine.device import Device
from hardscape.engine.lanes import Lanes, require_room
from hardscape.engine.work import Context, Partial, Shard, ShardResult, Work


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

    #: Seconds after a stop for which shards are waited for.
    patience = math.inf
    #: Seconds after which there may be more room, or a straggler, though no shard was reported.
    glance = math.inf

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

    def straggler(self, besides: Container[int]) -> Shard | None:
        """A shard, not one of these, that takes so long that another worker should try it too."""
        return None

    def call_off(self, shard: Shard) -> None:
        """Stop a shard wherever it runs: its answer has come from elsewhere."""
        for slot, (other, future) in list(self._running.items()):
            if other == shard:
                self._stops[slot] = 1
                self._withdraw(future)

    def abandon(self) -> None:
        """Wait for nothing any more: what is still reported is not looked at."""
        self._running.clear()

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
