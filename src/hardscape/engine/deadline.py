"""The time limit of a call, as Python and as compiled code can see it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import DeviceError

#: Seconds of the shortest part that is begun.
_LEAST = 1e-3
#: Most of the time limit that is kept back for the end.
_MOST_RESERVED = 0.5


class Deadline:
    """Wall-clock limit of a call; its clock starts when it is made.

    Parameters
    ----------
    seconds : float or None
        None: no limit.

    Attributes
    ----------
    began : float
        ``time.monotonic()`` when the clock started.
    seconds : float or None

    Examples
    --------
    >>> from hardscape.engine import Deadline
    >>> Deadline(60.0).up, Deadline(None).left
    (False, None)
    """

    def __init__(self, seconds: float | None) -> None:
        self.began = time.monotonic()
        self.seconds = seconds
        self._reserved = 0.0

    def reserve(self, seconds: float) -> None:
        """Keep back what the end of the call will take, half of the limit at most."""
        if self.seconds is not None:
            self._reserved = min(seconds, _MOST_RESERVED * self.seconds)

    @property
    def left(self) -> float | None:
        """Seconds that are left, a millisecond at least; None without a limit, or one of centuries."""
        if self.seconds is None or self.seconds >= threading.TIMEOUT_MAX:
            return None
        return max(_LEAST, self.began + self.seconds - self._reserved - time.monotonic())

    @property
    def up(self) -> bool:
        """Whether the time is up."""
        left = self.left
        return left is not None and left <= _LEAST

    def within(self, seconds: float | None) -> Deadline:
        """A deadline that is over `seconds` from now, or with this one if that comes first."""
        left = self.left
        if seconds is None or left is None:
            return Deadline(left if seconds is None else seconds)
        return Deadline(min(seconds, left))

    @contextmanager
    def watched(self, stop: NDArray[np.uint8] | None = None) -> Iterator[NDArray[np.uint8]]:
        """Yield a flag (uint8, shape (1,); `stop` if given) that becomes 1 when the time is up."""
        flag = np.zeros(1, dtype=np.uint8) if stop is None else stop
        if self.left is None:
            yield flag
            return
        timer = threading.Timer(self.left, flag.fill, (1,))
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError as error:
            raise DeviceError(f"the system starts no thread for the time limit: {error}") from None
        try:
            yield flag
        finally:
            timer.cancel()
