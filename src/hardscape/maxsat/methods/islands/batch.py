"""Walks of consecutive streams that take their flips together, and those on CPU threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.maxsat.methods.islands.tables import WalkTables

#: Most flips of a step: ``kMostAtOnce`` of synchronous.hpp.
MOST_AT_ONCE = 8

#: What is known of a walk: ``WalkStatus`` of walker.hpp.
STATUS = np.dtype(
    [("random", "<u8"), ("steps", "<u8"), ("flips", "<u8"), ("violated", "<u4"), ("best", "<u4")]
)


class WalkBatch(ABC):
    """Walks of consecutive streams that search in steps, and count what an assignment violates."""

    walks: int
    #: Of each walk after the last `run`: ``steps``, ``flips``, and what its ``best`` assignment since the last
    #: `adopt` violates.
    status: NDArray[Any]

    @abstractmethod
    def run(self, steps: int, target: int, *, race: bool = False) -> None:
        """Let every walk do so many steps, or fewer if it comes to violate no more than `target`.

        In a `race`, a walk may also end after as many steps as one that came to the target.
        """

    @abstractmethod
    def adopt(self, sources: NDArray[np.int32], guest: NDArray[np.uint8] | None = None) -> None:
        """Let each walk with a source, not -1, go on from the best assignment of that walk.

        Behind the last walk is the `guest`.
        """

    @abstractmethod
    def best_of(self, walk: int) -> NDArray[np.uint8]:
        """Best assignment of a walk since the last `adopt`, uint8 of shape (n,)."""

    def winner(self) -> int:
        """Walk that violates least; of these the one with the fewest steps, then the first."""
        best, steps = self.status["best"], self.status["steps"]
        equal = np.flatnonzero(best == best.min())
        return int(equal[np.argmin(steps[equal])])


def elites_of(
    batch: WalkBatch, sources: NDArray[np.int32], guest: NDArray[np.uint8] | None
) -> dict[int, NDArray[np.uint8]]:
    """The assignments of all sources of an exchange; see `WalkBatch.adopt`."""
    found = {int(i): batch.best_of(int(i)) for i in set(sources) if 0 <= i < batch.walks}
    return found if guest is None else {**found, batch.walks: guest}


class CpuBatch(WalkBatch):
    """Walks of the compiled core on one CPU thread, one after the other."""

    _walks: Sequence[Any]
    _stop: NDArray[np.uint8]

    def run(self, steps: int, target: int, *, race: bool = False) -> None:
        """See `WalkBatch.run`."""
        for i, walk in enumerate(self._walks):
            done = walk.run(steps, target, self._stop)
            self.status["steps"][i] += done
            if race and walk.best_cost <= target:
                steps = min(steps, done)
        self._look()

    def best_of(self, walk: int) -> NDArray[np.uint8]:
        """See `WalkBatch.best_of`."""
        found: NDArray[np.uint8] = self._walks[walk].best()
        return found

    @abstractmethod
    def _look(self) -> None:
        """Take what the walks tell of themselves, but the steps, into `status`."""


class CpuWalks(CpuBatch):
    """The walks of synchronous.hpp on one CPU thread, one after the other, from stream `first` on."""

    def __init__(
        self, tables: WalkTables, seed: int, first: int, walks: int, stop: NDArray[np.uint8]
    ) -> None:
        self._stop = stop
        read = tables.clause, tables.rows, tables.others, tables.weights
        self._walks = [
            native.core.maxsat.SynchronousWalk(*read, seed, first + i) for i in range(walks)
        ]
        self.walks = walks
        self.status = np.zeros(walks, dtype=STATUS)
        self._look()

    def adopt(self, sources: NDArray[np.int32], guest: NDArray[np.uint8] | None = None) -> None:
        """See `WalkBatch.adopt`."""
        found = elites_of(self, sources, guest)
        for walk, source in zip(self._walks, sources.tolist(), strict=True):
            walk.renew(found.get(source))

    def _look(self) -> None:
        self.status["flips"] = [walk.flips for walk in self._walks]
        self.status["violated"] = [walk.cost for walk in self._walks]
        self.status["best"] = [walk.best_cost for walk in self._walks]
