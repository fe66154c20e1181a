"""Pools: what runs blocks of shards, and how large these are. Here the threads and GPUs of this process."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial as partial_of
from queue import SimpleQueue
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine.device import Device
from hardscape.engine.fold import Block, Fold, Hint
from hardscape.engine.lanes import Lanes, require_room
from hardscape.engine.work import Context, Partial, Work

#: Parts that a straggler is cut into.
_PARTS = 16
#: Values of a stop flag: return what there is; return what is begun.
_STOP, _HAND_OVER = 1, 2
#: Seconds between two looks at what running blocks tell.
_HEARD_AGAIN = 0.1


@dataclass(frozen=True)
class BlockResult:
    """What came out of a block of shards.

    Attributes
    ----------
    nodes : tuple of (Block, Partial)
        What is complete, from the block's first shard on: the block itself, or some of the nodes below it.
    seconds : float
        What that took.
    incomplete : (Block, Partial) or None
        What was found in the shards that were stopped.
    """

    nodes: tuple[tuple[Block, Partial], ...]
    seconds: float
    incomplete: tuple[Block, Partial] | None = None


def run_block(work: Work[Any], block: Block, context: Context, seconds: float) -> BlockResult:
    """Run the shards of a block one after the other, and fold them; none is begun after `seconds`.

    An exception comes out if it is the first shard's; else what is complete is returned.
    """
    began = ended = time.monotonic()
    shards, fold, hint = work.shards(), Fold(work, block.stop), Hint(work, context.incumbent)
    context = replace(context, seconds=seconds)
    incomplete = None
    for several in block.cut(min(work.joined(), len(block))):
        try:
            result = work.run(several.shard(shards), context)
        except Exception:
            if several.start == block.start:
                raise
            break  # it is the first of its next block, if it does so again
        if not result.complete:
            incomplete = several, result.partial
            break
        done = several if result.left is None else Block(several.start, result.left)
        fold.add(done, result.partial)
        ended = time.monotonic()
        if result.left is not None or fold.limit < block.stop or several.stop == block.stop:
            break
        if ended >= began + seconds:
            break
        context = replace(context, incumbent=hint.look(fold))
    return BlockResult(tuple(fold.nodes()), ended - began, incomplete)


class Pace:
    """How many shards a block should have, by the time that those before took.

    Blocks are to take `seconds`, and less near the end, so that all workers end at about the same time; but
    not less than `least` seconds, by which what a block costs besides pays. Those that hand over what is
    left have the same share each.
    """

    #: Weight of a block in the means.
    _NEWEST = 0.2
    #: Growth from block to block, while little is known.
    _GROWTH = 8
    #: Blocks for each worker, of shards that are joined.
    _SHARE = 4

    def __init__(self, seconds: float, least: float) -> None:
        self._seconds = seconds
        self._least = least
        self._shard = 0.0  # mean seconds
        self._most = 1

    def took(self, shards: int, seconds: float) -> None:
        """Learn from a block."""
        if shards:
            self._most = max(self._most, self._GROWTH * shards)
            mean = max(seconds, 1e-7) / shards
            self._shard += (self._NEWEST if self._shard else 1.0) * (mean - self._shard)

    def shards(self, left: int, workers: int, joined: int) -> int:
        """How many shards the next block should have, of so many that are left for so many workers."""
        if joined > 1:
            return max(1, joined // (self._SHARE * workers))
        fair = left // (2 * workers)
        if not self._shard:
            return 1
        fair = max(fair, int(self._least / self._shard))
        timely = min(self._most, int(self._seconds / self._shard))
        return max(1, min(timely, fair))


@dataclass(frozen=True)
class Report:
    """A block that left the pool: its future holds a result, an exception, or is cancelled."""

    slot: int
    block: Block
    future: Future[BlockResult]


class Pool(ABC):
    """Slots in which blocks run; each has its own stop flag, of `stops`.

    `reports` gets a `Report` whenever a block leaves the pool.
    """

    #: Seconds after a stop for which blocks are waited for.
    patience = math.inf
    #: Seconds that a block should take, and those that one is worth.
    pace: ClassVar[tuple[float, float]]
    #: Seconds after which a block of joined shards may be asked for what it has not begun, at least, and for
    #: each worker: a single thread answers all of them.
    asked: ClassVar[tuple[float, float]]

    def __init__(
        self, work: Work[Any], stops: NDArray[np.uint8], reports: SimpleQueue[Report | None]
    ) -> None:
        self._work = work
        self._joined = work.joined()
        self._stops = stops
        self._reports = reports
        self._free = list(range(len(stops)))[::-1]
        self._running: dict[int, tuple[Block, Future[BlockResult]]] = {}
        self._began: dict[int, float] = {}

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many there are, now."""

    @property
    def idle(self) -> int:
        """How many workers have nothing to do."""
        return self.workers - len(self._running)

    @property
    def asked_after(self) -> float:
        """Seconds after which a block of joined shards may be asked for what it has not begun."""
        least, each = self.asked
        return max(least, each * self.workers)

    @property
    def told(self) -> list[Partial]:
        """What blocks that run have told of their answers."""
        return []

    @property
    def glance(self) -> float:
        """Seconds after which there may be more room, or a straggler, though no block was reported."""
        return math.inf

    @property
    def has_room(self) -> bool:
        """Whether another block can be submitted."""
        return bool(self._free)

    @property
    def busy(self) -> bool:
        """Whether any block has yet to be reported."""
        return bool(self._running)

    def submit(self, block: Block, incumbent: Partial | None) -> None:
        """Start `block` in a free slot."""
        slot = self._free.pop()
        self._began[slot] = time.monotonic()
        future = self._start(slot, block, incumbent)
        self._running[slot] = (block, future)
        future.add_done_callback(lambda done: self._reports.put(Report(slot, block, done)))

    def release(self, report: Report) -> bool:
        """Free the slot of a block that was reported; whether it was asked to stop."""
        asked = bool(self._stops[report.slot] == _STOP)
        del self._running[report.slot]
        self._stops[report.slot] = 0
        self._free.append(report.slot)
        return asked

    def stop(self, first: int = 0) -> None:
        """Ask blocks that have shards with index `first` or above to return what they have."""
        for slot, (block, future) in list(self._running.items()):
            if block.stop > first:
                self._stops[slot] = _STOP
                self._withdraw(future)

    def again(self, besides: Container[Block]) -> list[Block]:
        """The parts of a block that takes much longer than others, to be tried by other workers."""
        now = time.monotonic()
        for slot, (block, _) in self._running.items():  # the first to begin is the first
            if not self._straggles(now - self._began[slot]):
                break
            if block not in besides:
                return list(block.cut(max(1, block.size // _PARTS)))
        return []

    def ask(self) -> None:
        """Have blocks of joined shards hand over what they have not begun, as other workers idle."""
        if self._joined == 1:
            return
        asked = int(np.count_nonzero(self._stops == _HAND_OVER))
        idle = self.idle - asked
        now = time.monotonic()
        for slot, (block, _) in self._running.items():
            if idle <= 0 or now - self._began[slot] < self.asked_after:
                break
            if not self._stops[slot] and len(block) > 1:
                self._stops[slot] = _HAND_OVER
                idle -= 1

    def call_off(self, fold: Fold) -> None:
        """Stop blocks of which all shards have come from elsewhere."""
        for slot, (block, future) in list(self._running.items()):
            if self._stops[slot] != _STOP and fold.covers(block):
                self._stops[slot] = _STOP
                self._withdraw(future)

    def abandon(self) -> None:
        """Wait for nothing any more: what is still reported is not looked at."""
        self._running.clear()

    def _straggles(self, seconds: float) -> bool:
        """Whether a block that has run for so long should be run by another worker, too."""
        return False

    @abstractmethod
    def _start(self, slot: int, block: Block, incumbent: Partial | None) -> Future[BlockResult]: ...

    @abstractmethod
    def _withdraw(self, future: Future[BlockResult]) -> None:
        """Cancel a block that has not begun, if that saves waiting for others."""

    @abstractmethod
    def close(self) -> None:
        """Give back threads and files; blocks that still run are not waited for."""


class LocalPool(Pool):
    """One host thread for each device of this process: a GPU always sees the same thread."""

    pace = (0.1, 0.002)
    asked = (2e-4, 3e-5)

    def __init__(
        self, work: Work[Any], devices: Sequence[Device], reports: SimpleQueue[Report | None]
    ) -> None:
        super().__init__(work, np.zeros(len(devices), dtype=np.uint8), reports)
        require_room(min(len(devices), len(work.shards())))
        self._devices = devices
        self._shared = work.shared()
        self._lanes = Lanes([str(device) for device in devices])
        self._told: dict[int, Partial] = {}
        self._heard = 0.0

    @property
    def glance(self) -> float:
        """Lanes that are idle look whether there is something to share."""
        return self.asked_after if self._free and self._joined > 1 else math.inf

    @property
    def workers(self) -> int:
        """The devices."""
        return len(self._devices)

    @property
    def told(self) -> list[Partial]:
        """See `Pool.told`."""
        return list(self._told.values())

    def _tell(self, slot: int, partial: Partial) -> None:
        """Keep what a block told, and wake who waits for reports, now and then."""
        self._told[slot] = partial
        now = time.monotonic()
        if now >= self._heard + _HEARD_AGAIN:
            self._heard = now
            self._reports.put(None)

    def release(self, report: Report) -> bool:
        """See `Pool.release`."""
        self._told.pop(report.slot, None)
        return super().release(report)

    def _start(self, slot: int, block: Block, incumbent: Partial | None) -> Future[BlockResult]:
        stop = self._stops[slot : slot + 1]
        told = partial_of(self._tell, slot)
        context = Context(self._devices[slot], incumbent, stop, shared=self._shared, told=told)
        return self._lanes.submit(slot, run_block, self._work, block, context, self.pace[0])

    def _withdraw(self, future: Future[BlockResult]) -> None:
        # A lane begins at once, and a shard that sees its flag still has something to tell.
        pass

    def close(self) -> None:
        """Let the threads end when their blocks have."""
        self._lanes.close()
