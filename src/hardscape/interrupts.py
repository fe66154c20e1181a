"""Signals that stop a computation, and Ctrl-C where no run hears it: while a file is read, between two runs."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from hardscape.errors import Interrupted

#: Ctrl-C, and what comes before a kill: of batch systems, limits of CPU time, connections that are gone.
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)

P = ParamSpec("P")
R = TypeVar("R")


def interruptible(function: Callable[P, R]) -> Callable[P, R]:
    """Let Ctrl-C raise `Interrupted` out of a function, whatever it is doing."""

    @wraps(function)
    def heard(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Interrupted:
            raise
        except KeyboardInterrupt as stop:
            raise Interrupted(signal.SIGINT) from stop

    return heard
