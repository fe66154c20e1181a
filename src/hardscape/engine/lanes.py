"""Threads of this process: lanes that each run one thing at a time."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.engine.machine import cpu_count
from hardscape.errors import DeviceError

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")

#: Bytes of a thread's stack where nothing limits it.
_STACK = 2**21
#: Bytes that the C library reserves for a heap of a thread, and the most heaps for each CPU.
_HEAP, _HEAPS_A_CPU = 2**26, 8


#: Threads that the call of the moment may take; None for all CPUs.
_most: ContextVar[int | None] = ContextVar("_most", default=None)


def working_threads() -> int:
    """How many threads may share something here: as many as there are CPUs, or as the call says."""
    most = _most.get()
    return cpu_count() if most is None else min(cpu_count(), most)


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Let `working_threads` be no more than these; None changes nothing."""
    before = _most.get()
    told = [n for n in (threads, before) if n is not None]
    token = _most.set(min(told, default=None))
    try:
        yield
    finally:
        _most.reset(token)


def on_its_threads(function: Callable[P, R]) -> Callable[P, R]:
    """Have all that a call shares among threads keep to its argument ``threads``, what it reads too."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        threads = kwargs.get("threads")
        # What is no number of threads is refused where the other arguments are.
        with at_most(threads if isinstance(threads, int) and threads > 0 else None):
            return function(*args, **kwargs)

    return called


class Lanes:
    """Threads that are started when something is first put on them.

    Parameters
    ----------
    names : sequence of str
        One for each lane.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._threads: list[ThreadPoolExecutor | None] = [None] * len(names)
        self._names = names

    def submit(self, lane: int, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """Call `function` in the thread of a lane.

        Raises
        ------
        DeviceError
            If the system gives no further thread.
        """
        thread = self._threads[lane]
        if thread is None:
            thread = ThreadPoolExecutor(1, f"hardscape-{self._names[lane]}")
            self._threads[lane] = thread
        try:
            return thread.submit(function, *arguments)
        except RuntimeError as error:
            begun = sum(other is not None for other in self._threads) - 1
            raise DeviceError(
                f"the system started {begun} of {len(self._names)} threads ({error}); take fewer "
                "(threads=), or raise its limits of processes or memory"
            ) from None

    def close(self) -> None:
        """Let the threads end when they have done what they were given."""
        for thread in self._threads:
            if thread is not None:
                thread.shutdown(wait=False)


class Team:
    """Lanes that work on one thing together; the calling thread is the first of them.

    Attributes
    ----------
    size : int
    stop : uint8 array, shape (1,)
        Becomes 1 when what is running should end early (time limit, signal). Native code polls it.

    Examples
    --------
    >>> from hardscape.engine import team
    >>> with team(2) as threads:
    ...     list(threads.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, lanes: Lanes, size: int) -> None:
        self._lanes = lanes
        self.size = size
        self.stop = np.zeros(1, dtype=np.uint8)

    def run(self, function: Callable[[int], object]) -> None:
        """Call ``function(rank)`` for each rank from 0 to ``size - 1`` at once; wait for all.

        No rank begins before every one has its thread, so ranks may wait for one another. What a rank
        raises is raised here, that of the lowest rank first, when all have ended.
        """
        gate = _Gate()
        try:
            others = [
                self._lanes.submit(rank, gate.passed, function, rank)
                for rank in range(1, self.size)
            ]
        except BaseException:
            gate.open(False)
            raise
        gate.open(True)
        try:
            function(0)
        finally:
            failures = [future.exception() for future in others]
        for failure in failures:
            if failure is not None:
                raise failure

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Apply `function` to each item, on whichever lane is free; results in order."""
        found: list[Any] = [None] * len(items)
        waiting: Iterator[int] = iter(range(len(items)))

        def work(rank: int) -> None:
            for i in waiting:  # one step of it is atomic
                found[i] = function(items[i])

        Team(self._lanes, min(self.size, max(1, len(items)))).run(work)
        return found


class _Gate:
    """Where ranks wait for all to be there."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._all_there = False

    def open(self, all_there: bool) -> None:
        """Let them begin, or go home."""
        self._all_there = all_there
        self._opened.set()

    def passed(self, function: Callable[[int], object], rank: int) -> object:
        """Wait, and call ``function(rank)``."""
        self._opened.wait()
        return function(rank) if self._all_there else None


def require_room(count: int) -> None:
    """Refuse threads that the limit of the address space leaves no room for: one that starts may abort.

    Raises
    ------
    DeviceError
    """
    left = memory.address_space()
    if left is None:
        return
    usual, _ = resource.getrlimit(resource.RLIMIT_STACK)
    stack = threading.stack_size() or (_STACK if usual == resource.RLIM_INFINITY else usual)
    heaps = min(count, _HEAPS_A_CPU * (os.cpu_count() or 1))
    needed = count * stack + heaps * _HEAP
    if needed > left:
        raise DeviceError(
            f"{count} threads need {needed / 1e9:.3g} GB of address space; {left / 1e9:.3g} GB are left "
            "(ulimit -v): take fewer (threads=), or raise that limit"
        )


@contextmanager
def team(size: int, stop: NDArray[np.uint8] | None = None) -> Iterator[Team]:
    """Make a team of `size` lanes, the calling thread among them.

    Parameters
    ----------
    size : int
    stop : uint8 array, shape (1,), optional
        The flag of `Team.stop`.

    Raises
    ------
    DeviceError
        If the system gives too few threads.

    Examples
    --------
    >>> from hardscape.engine import team
    >>> with team(2) as threads:
    ...     list(threads.map(lambda x: x * x, [1, 2, 3]))
    [1, 4, 9]
    """
    if size > 1:
        require_room(size - 1)
    lanes = Lanes([f"team:{rank}" for rank in range(size)])
    try:
        for started in [lanes.submit(rank, int) for rank in range(1, size)]:
            started.result()
        made = Team(lanes, size)
        if stop is not None:
            made.stop = stop
        yield made
    finally:
        lanes.close()
