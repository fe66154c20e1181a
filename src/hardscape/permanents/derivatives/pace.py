"""What gradients take on this machine: their costs, times the pace of their works here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hardscape.engine.estimates.pace import pace
from hardscape.permanents.derivatives.batch import GlynnMinorBatchWork, SubsetMinorWork
from hardscape.permanents.derivatives.frontier import (
    FrontierMinorResidueWork,
    FrontierMinorWork,
    narrow_order,
)
from hardscape.permanents.derivatives.minors import MinorResidueWork, Minors, MinorWork
from hardscape.permanents.derivatives.repeated import RepeatedMinorWork
from hardscape.permanents.matrix import Matrix

#: Seconds on a core from which it is worth measuring.
_WORTH = 5e-3


def seconds_here(work: Minors, threads: int) -> float:
    """Expected time of a work on some threads of this machine."""
    lanes = min(threads, len(work.shards()))
    said = work.core_seconds
    if said >= _WORTH:
        said *= pace(work.name, lambda: _probe(work.name), lanes)
    return said / lanes


def _probe(name: str) -> tuple[Minors, float]:
    """Some milliseconds of a kind of work, and what they are said to take."""
    work = _WORKS[name]()
    return work, work.core_seconds


def _integers(n: int) -> Matrix:
    drawn = np.random.default_rng(n).integers(-9, 10, size=(n, n))
    return Matrix("integer", drawn.astype(object))


def _frontier(width: int) -> FrontierMinorWork:
    band = np.tri(30, k=width) * np.tri(30, k=width).T
    found = narrow_order(band)
    assert found is not None
    return FrontierMinorWork(band, *found)


def _frontier_exactly(width: int) -> FrontierMinorResidueWork:
    floats = _frontier(width)
    whole = Matrix("integer", floats.matrix.astype(np.int64).astype(object))
    return FrontierMinorResidueWork.of(whole, floats.order, floats.turned)


def _dense() -> MinorWork:
    return MinorWork(np.random.default_rng(1).normal(size=(20, 20)))


def _repeated() -> RepeatedMinorWork:
    counts = np.full(7, 5, dtype=np.int32)
    return RepeatedMinorWork(np.eye(7) + 1, counts, counts)


#: A work of some milliseconds of each kind.
_WORKS: dict[str, Callable[[], Minors]] = {
    MinorWork.name: _dense,
    GlynnMinorBatchWork.name: _dense,
    SubsetMinorWork.name: lambda: SubsetMinorWork(np.ones((2000, 10, 10))),
    MinorResidueWork.name: lambda: MinorResidueWork.of(_integers(14)),
    RepeatedMinorWork.name: _repeated,
    FrontierMinorWork.name: lambda: _frontier(5),
    FrontierMinorResidueWork.name: lambda: _frontier_exactly(4),
}
