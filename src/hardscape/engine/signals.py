"""Signals during a run: the first one that stops asks it to stop, the second one ends it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Literal, Self, cast

from hardscape.errors import Interrupted
from hardscape.interrupts import ONE_SIGNAL, hear, heard, run_is_over
from hardscape.stops import STOPS

SignalName = Literal["SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU"]


class StopSignals:
    """Catches `STOPS` while it is entered, and calls `wake` for the first.

    Handlers belong to the main thread: entered in another one, this does nothing. A signal that the
    process ignores (``nohup``, background jobs of a shell) stays ignored. What an earlier run of the same
    call has heard is caught from the beginning.

    Attributes
    ----------
    caught : str
        The name of the signal, or "" before any came.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._previous: dict[int, Any] = {}
        self._caught_at = 0.0
        self.caught: SignalName | Literal[""] = ""

    def __enter__(self) -> Self:
        if heard():
            self._catch(heard())
        if threading.current_thread() is threading.main_thread():
            for number in STOPS:
                before = signal.getsignal(number)
                # None: a handler that Python did not install and could not put back.
                if before is not None and before is not signal.SIG_IGN:
                    self._previous[number] = before
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._previous.items():
            signal.signal(number, before)
        self._previous.clear()
        if self.caught:
            hear(signal.Signals[self.caught])
        run_is_over()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        name = name_of(number)
        if self.caught == name:
            # timeout(1) and some schedulers send a signal to the process and to its group.
            if time.monotonic() - self._caught_at > ONE_SIGNAL:
                raise Interrupted(number)
            return
        if not self.caught:
            self._catch(number)
            self._wake()

    def _catch(self, number: int) -> None:
        self.caught = name_of(number)
        self._caught_at = time.monotonic()


def name_of(number: int) -> SignalName:
    """What results call a signal."""
    return cast(SignalName, signal.Signals(number).name)
