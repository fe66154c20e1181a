"""Telling of improvements while a search runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hardscape.plain import Plain


@dataclass(frozen=True, eq=False, repr=False)
class Improvement(Plain):
    """Fewer violated clauses than before.

    Attributes
    ----------
    violated : int
    sweeps : int
        Sweeps of each clone until then, those of earlier rounds included.
    seconds : float
        Wall-clock time since the search began.

    Examples
    --------
    >>> from hardscape.xorsat import Improvement
    >>> best = Improvement(violated=1, sweeps=120, seconds=0.002)
    >>> best.to_dict()["violated"]
    1
    """

    violated: int
    sweeps: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.listed("violated sweeps seconds")


class Watch:
    """Passes on what is better than all before it, whichever of the rounds side by side it is from.

    `tell` is called in the thread that found it, one at a time; what it raises ends the search.
    """

    def __init__(self, tell: Callable[[Improvement], object], began: float) -> None:
        self._tell = tell
        self._began = began
        self._least: int | None = None
        self._lock = threading.Lock()

    def offer(self, violated: int, sweeps: int) -> None:
        """Tell of it, unless as few violated clauses have been told of."""
        with self._lock:
            if self._least is not None and violated >= self._least:
                return
            self._least = violated
            self._tell(Improvement(violated, sweeps, time.monotonic() - self._began))
