"""Progress of a run: events, and what shows them."""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import RLock, Timer, current_thread, main_thread
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError

#: Seconds to the end that nobody waits for: searches without one are not said to have it.
_ABSURD = 100 * 365 * 86400.0
#: Seconds between two events, so that a run of millions of shards does not spend its time on them.
_INTERVAL = 0.1
#: Seconds of a run that a bar is not worth, and between two lines of a log.
_BRIEF, _MINUTE = 0.3, 60.0


@dataclass(frozen=True)
class ProgressEvent:
    """How far a run is.

    Attributes
    ----------
    done, total : int
        Work units done, those resumed from a checkpoint included, and all of them.
    unit : str
        What a work unit is, in the plural.
    seconds : float
        Wall-clock time since this run began, in seconds.
    eta : float or None
        Expected seconds to the end, at the speed of this run alone, or to the time limit if that comes
        first; None before it did anything.
    share : float
        How much is done, from 0 to 1, by the time that parts are expected to take: of a search that
        bounds cut, few units may take most of it.
    bounds : tuple of (float, float), optional
        The lowest value met and one that none lies below, of works that know them, after a while.

    Examples
    --------
    >>> from hardscape.engine import ProgressEvent
    >>> event = ProgressEvent(done=1, total=4, unit="states", seconds=0.5, eta=1.5, share=0.25)
    >>> event.share
    0.25
    """

    done: int
    total: int
    unit: str
    seconds: float
    eta: float | None
    share: float
    bounds: tuple[float, float] | None = None


@runtime_checkable
class Progress(Protocol):
    """What is told how far a run is: entered when the run begins, left when it ends.

    Examples
    --------
    >>> from hardscape.engine import NullProgress, Progress
    >>> isinstance(NullProgress(), Progress)
    True
    """

    def update(self, event: ProgressEvent) -> None:
        """Take note of `event`; called in the thread that called `run`, a few times a second."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class NullProgress:
    """Shows nothing.

    Examples
    --------
    >>> from hardscape.engine import NullProgress, ProgressEvent
    >>> with NullProgress() as meter:
    ...     meter.update(ProgressEvent(1, 4, "states", 0.5, 1.5, 0.25))
    """

    def update(self, event: ProgressEvent) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class CallbackProgress(NullProgress):
    """Calls a function with each event; what the function raises ends the run.

    Examples
    --------
    >>> import hardscape
    >>> from hardscape.engine import CallbackProgress
    >>> events = []
    >>> found = hardscape.spectrum({(0, 1): -1.0}, 1, progress=CallbackProgress(events.append))
    >>> found.certified
    True
    """

    def __init__(self, function: Callable[[ProgressEvent], object]) -> None:
        self._function = function

    def update(self, event: ProgressEvent) -> None:
        """Call the function."""
        self._function(event)


class RichProgress:
    """Draws a bar with speed and ETA on standard error once a run takes a while; elsewhere a line a minute.

    A line says from where a run goes on, and SIGUSR1 asks for one at any time.

    Examples
    --------
    >>> from hardscape.engine import Progress, RichProgress
    >>> issubclass(RichProgress, Progress)
    True
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._timer: Timer | None = None
        self._first: ProgressEvent | None = None
        self._last: ProgressEvent | None = None
        self._lock = RLock()  # a signal may come while it is held
        self._before: Any = None

    def update(self, event: ProgressEvent) -> None:
        """Move the bar."""
        with self._lock:
            if self._first is None and 0 < event.done < event.total and not event.seconds:
                _print(f"goes on at {_share(event)}, from the checkpoint")
            self._first, self._last = self._first or event, event
            if self._bar is not None:
                self._move(self._bar, event)

    def _move(self, bar: Any, event: ProgressEvent) -> None:
        bar.update(
            self._task,
            completed=event.share,
            total=1.0,
            speed=self._speed(event),
            left=_left(event),
            bounds=_bounds(event),
        )

    def _speed(self, event: ProgressEvent) -> str:
        if self._first is None or event.seconds <= self._first.seconds:
            return ""
        rate = (event.done - self._first.done) / (event.seconds - self._first.seconds)
        return f"{rate:.3g} {event.unit}/s" if rate else ""

    def _start(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._bar, self._task = _started_bar()
                if self._last is not None:
                    self._move(self._bar, self._last)

    def _tell(self, *_: object) -> None:
        """Print how far it is."""
        with self._lock:
            if self._last is not None:
                last = self._last
                said = (_share(last), self._speed(last), _left(last), _bounds(last))
                _print(", ".join(filter(None, said)))

    def _tell_again(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._tell()
                self._start_timer(_MINUTE, self._tell_again)

    def _start_timer(self, seconds: float, function: Callable[[], None]) -> None:
        self._timer = Timer(seconds, function)
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> Self:
        self._first = self._last = None  # one bar may be entered for run after run
        if sys.stderr.isatty():
            self._start_timer(_BRIEF, self._start)
        else:
            self._start_timer(_MINUTE, self._tell_again)
        if current_thread() is main_thread():
            self._before = signal.signal(signal.SIGUSR1, self._tell)
        return self

    def __exit__(self, *exception: object) -> None:
        if current_thread() is main_thread():
            signal.signal(signal.SIGUSR1, self._before)
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
            self._timer = self._bar = None


def _print(told: str) -> None:
    print(f"hardscape: {told}", file=sys.stderr, flush=True)


def _share(event: ProgressEvent) -> str:
    return f"{event.share:.1%} ({event.done:.4g} of {event.total:.4g} {event.unit})"


def _left(event: ProgressEvent) -> str:
    return "" if event.eta is None or event.eta > _ABSURD else f"{duration(event.eta)} left"


def _bounds(event: ProgressEvent) -> str:
    if event.bounds is None:
        return ""
    best, bound = event.bounds
    return f"best {best:.10g}, none below {bound:.10g} (gap {best - bound:.4g})"


def _started_bar() -> tuple[Any, Any]:
    """A bar of rich, which nobody waits for who needs none, and its task."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[bounds]}"),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task("", total=None, speed="", left="", bounds="")


def duration(seconds: float) -> str:
    """Write a time for people: "0.3 s", "42 s", "5 min", "3.2 h", "12 d", "4.1e+03 y"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    for size, name, digits in ((60, "s", 0), (60, "min", 0), (24, "h", 1), (365, "d", 1)):
        if seconds < size * 1.5:
            return f"{seconds:.{digits}f} {name}"
        seconds /= size
    return f"{seconds:.2g} y"


def resolve_progress(
    progress: Progress | Callable[[ProgressEvent], object] | bool | None,
) -> Progress:
    """Turn what a user gave into something to tell.

    Parameters
    ----------
    progress : bool, callable, Progress or None
        None and False show nothing; True draws a bar on a terminal; a function is called with each
        `ProgressEvent`; an object with ``update`` that is a context manager is used as it is.

    Raises
    ------
    InputError
        For anything else.

    Examples
    --------
    >>> from hardscape.engine import NullProgress, resolve_progress
    >>> isinstance(resolve_progress(False), NullProgress)
    True
    """
    if progress is None or progress is False:
        return NullProgress()
    if progress is True:
        return RichProgress()
    if isinstance(progress, Progress):
        return progress
    if callable(progress):
        return CallbackProgress(progress)
    raise InputError(
        f"progress={progress!r}; True, False, None, a function of one ProgressEvent, and an object "
        "with update(event) that is a context manager are accepted"
    )


def is_silent(progress: Progress) -> bool:
    """Whether nobody is told anything."""
    return type(progress) is NullProgress


#: Given the seconds of a run, the shares that were resumed and that are done, from 0 to 1; None: as units.
Shares = Callable[[float], tuple[float, float] | None]


class Measure:
    """How much of the expected time lies in ranges of units, by that of equal parts of all units."""

    def __init__(self, parts: NDArray[np.float64], first: int, total: int) -> None:
        self._first, self._step = first, total / len(parts)
        self._sums = np.append(0.0, np.cumsum(parts / parts.sum()))

    def share(self, ranges: Iterable[tuple[int, int]]) -> float:
        """The share of ranges that have nothing in common, from 0 to 1."""
        ends = np.array([(x - self._first, y - self._first) for x, y in ranges], dtype=np.float64)
        places = ends.reshape(-1, 2) / self._step
        whole = np.interp(places, np.arange(len(self._sums)), self._sums)
        return min(1.0, float((whole[:, 1] - whole[:, 0]).sum()))


class Meter:
    """Turns counts of work units into events, a few times a second; `limit` bounds what is left."""

    def __init__(
        self, progress: Progress, total: int, unit: str, limit: float | None = None
    ) -> None:
        self._until = math.inf if limit is None else time.monotonic() + limit
        self._progress = progress
        self._total = total
        self._unit = unit
        self._began = time.monotonic()
        self._last = -_INTERVAL
        self._resumed = 0.0
        self._bounds: tuple[float, float] | None = None

    def begin(self, resumed: int) -> None:
        """Tell where the run starts; `resumed` units do not count as its speed."""
        self._resumed = self._share(resumed)
        self._began = time.monotonic()
        self._tell(resumed, 0.0, self._resumed)

    @property
    def due(self) -> bool:
        """Whether the last event is not too recent."""
        return time.monotonic() - self._began - self._last >= _INTERVAL

    def update(self, done: int, shares: Shares = lambda seconds: None) -> None:
        """Tell that `done` units are done, unless the last event is too recent.

        `shares` is asked for the shares that were resumed and that are done, where units do not tell.
        """
        seconds = time.monotonic() - self._began
        if seconds - self._last >= _INTERVAL:
            self._resumed, share = shares(seconds) or (self._resumed, self._share(done))
            self._tell(done, seconds, share)

    def bounded(self, bounds: tuple[float, float]) -> None:
        """Have later events tell the lowest value met, and one that none lies below."""
        self._bounds = bounds

    def end(self, done: int) -> None:
        """Tell where the run ended."""
        self._tell(done, time.monotonic() - self._began, self._share(done))

    def _share(self, done: int) -> float:
        return done / self._total if self._total else 1.0

    def _tell(self, done: int, seconds: float, share: float) -> None:
        self._last = seconds
        fresh = share - self._resumed
        eta = seconds * ((1 - share) / fresh) if fresh > 0 else None
        left = max(0.0, self._until - time.monotonic())
        if left < (math.inf if eta is None else eta):
            eta = left
        told = done, self._total, self._unit, seconds, eta, share, self._bounds
        self._progress.update(ProgressEvent(*told))
