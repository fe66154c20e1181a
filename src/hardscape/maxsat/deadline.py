"""When a search must have ended, as its compiled parts can see it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["LARGE", "Deadline"]

#: Literals from which on an evaluation takes long enough that time is kept back for the last one.
LARGE = 300_000

#: Seconds of the shortest search.
_LEAST = 1e-3
#: Most of the time limit that is kept back for the end.
_MOST_RESERVED = 0.5


class Deadline:
    """Wall-clock limit of a call.

    Parameters
    ----------
    began : float
        ``time.monotonic()`` when the call began.
    seconds : float or None
        None: no limit.

    Attributes
    ----------
    stop : uint8 array, shape (1,)
        Becomes 1 when the time is up, within :meth:`watched`.
    """

    def __init__(self, began: float, seconds: float | None) -> None:
        self._began = began
        self._seconds = seconds
        self._reserved = 0.0
        self.stop = np.zeros(1, dtype=np.uint8)

    def reserve(self, seconds: float) -> None:
        """Keep back what the end will take: the last assignment must be evaluated within the limit."""
        if self._seconds is not None:
            self._reserved = min(seconds, _MOST_RESERVED * self._seconds)

    @property
    def left(self) -> float | None:
        """Seconds to search, above 0; None without a limit."""
        if self._seconds is None:
            return None
        ahead = self._began + self._seconds - self._reserved - time.monotonic()
        return max(_LEAST, ahead)

    @property
    def up(self) -> bool:
        """Whether there is no time left to search."""
        return self.left is not None and self.left <= _LEAST

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within this, `stop` is set in time."""
        if self.left is None or self.left > threading.TIMEOUT_MAX:
            yield
            return
        timer = threading.Timer(self.left, self.stop.fill, (1,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
