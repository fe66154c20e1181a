"""Rows of a table that are measured on several cores at once, each on one of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

Task = TypeVar("Task")
Row = TypeVar("Row")


def on_cores(measured: Callable[[Task], Row], tasks: Sequence[Task], cores: int) -> Iterator[Row]:
    """What comes of tasks, in their order, on so many cores; one is this process itself."""
    if cores == 1:
        yield from map(measured, tasks)
        return
    context = get_context("spawn")
    free = context.Queue()
    for core in sorted(os.sched_getaffinity(0))[:cores]:
        free.put(core)
    with ProcessPoolExecutor(cores, context, _pinned, (free,)) as pool:
        yield from pool.map(measured, tasks)


def _pinned(cores: Any) -> None:
    os.sched_setaffinity(0, {cores.get()})
