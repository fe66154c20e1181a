"""Signals that stop a computation: where no run hears them, and where one hears them too late to stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from hardscape.errors import Interrupted, UnknownArgumentError
from hardscape.stops import STOPS

#: Seconds within which equal signals are one.
ONE_SIGNAL = 0.2

P = ParamSpec("P")
R = TypeVar("R")


class _Heard(threading.local):
    """The calls that a thread is in, one in the other, and the signal that their runs have heard."""

    calls = 0
    number = 0
    at = 0.0  #: when that was heard
    ended = False  #: whether one of these runs is over
    told = False  #: whether the answer is, for which signals come too late


_here = _Heard()


@contextmanager
def one_call() -> Iterator[None]:
    """Several runs: after a signal the others stop at once, also where it came just as one ended."""
    _here.calls += 1
    try:
        yield
    finally:
        _ends()


def _ends() -> None:
    _here.calls -= 1
    if not _here.calls and (_here.number or _here.ended or _here.told):
        _here.number, _here.ended, _here.told = 0, False, False


def hear(number: int) -> None:
    """Have the runs that follow in this call stop."""
    if _here.calls:
        _here.number, _here.at = number, time.monotonic()


def heard() -> int:
    """The signal that a run of this call has heard; 0 if none has."""
    return _here.number


def run_is_over() -> None:
    """Say so: from now on there may be an answer to be told."""
    _here.ended = _here.calls > 0


def answer_is_told() -> None:
    """Say so: until the call is over no signal unwinds the stack any more."""
    _here.told = _here.calls > 0


def waits(number: int) -> bool:
    """Whether a signal outside a run should not unwind the stack, as an answer may be about to be told.

    Runs that follow stop at once. A second signal does not wait, unless the answer is told.
    """
    if _here.told:
        return True
    if _here.number == number:
        return time.monotonic() < _here.at + ONE_SIGNAL
    if _here.number or not _here.ended:
        return False
    hear(number)
    return True


def interruptible(function: Callable[P, R]) -> Callable[P, R]:
    """Let signals raise `Interrupted` out of a function, whatever it is doing.

    One that comes too late to stop its last run raises it with the whole result, unless it is part of
    another call.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        # `one_call` without its context, which costs more than a small permanent.
        _here.calls += 1
        try:
            result = function(*args, **kwargs)
            if _here.number and _here.calls == 1:
                raise Interrupted(_here.number, result)
            return result
        except Interrupted:
            raise
        except UnknownArgumentError as error:
            raise error.of(function) from None
        except KeyboardInterrupt as stop:
            raise Interrupted(signal.SIGINT) from stop
        finally:
            _ends()

    return called


@contextmanager
def signals_wait() -> Iterator[None]:
    """Hear signals afterwards: a module that is being imported may swallow the exception of one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
