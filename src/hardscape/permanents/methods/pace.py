"""What ways of summing take on this machine: their costs, times the pace of their methods here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Cuda, Device, Work
from hardscape.engine.device import Cpu
from hardscape.engine.estimates.pace import giving, pace
from hardscape.engine.machine import cuda_status
from hardscape.permanents.methods.glynn.glynn import Glynn
from hardscape.permanents.methods.method import START_DEVICE, Block, Choice, Method, Way

#: Seconds on a core from which it is worth measuring, and for which a method may prepare what is measured.
_WORTH, _PREPARED = 5e-3, 1.0
#: Multiprocessors of an H200, and units for double precision of one, by compute capability; 2 in others.
_H200, _UNITS = 132, {"8.0": 32, "9.0": 64, "10.0": 64}


def seconds_here(ways: Iterable[Way], devices: tuple[Device, ...]) -> float:
    """Expected time of ways, one after the other, on these devices of this machine."""
    return float(sum(_seconds(way, devices) for way in ways))


def core_seconds_here(ways: Iterable[Way]) -> float:
    """The same on one core, also of ways that are for GPUs."""
    return float(sum(way.core_seconds * _pace_of(way, 1) for way in ways))


def cores_here(core_seconds: float, lanes: int) -> float:
    """Expected time of anything on so many cores, by the pace of dense sums."""
    return core_seconds / lanes * (_pace(Glynn(), lanes) if core_seconds >= _WORTH else 1.0)


def _seconds(way: Way, devices: tuple[Device, ...]) -> float:
    said = way.seconds(devices)
    if way.device is Cuda:
        start = START_DEVICE[Cuda]
        return start + (said - start) * _gpu_pace()
    given = giving(way.memory, large=True) if way.core_seconds >= _WORTH else 0.0
    return said * _pace_of(way, way.lanes(devices)) + given


def _pace_of(way: Way, lanes: int) -> float:
    return _pace(way.by, lanes) if way.core_seconds >= _WORTH else 1.0


def _pace(by: Method, lanes: int) -> float:
    name = f"permanents.{by.name}.{by.arithmetic}.{by.shape}"
    return pace(name, lambda: _probe(by), lanes)


def _gpu_pace() -> float:
    """Seconds that the first GPU takes for one of an H200, by its units for double precision."""
    for gpu in cuda_status().gpus:
        units = gpu.multiprocessors * _UNITS.get(gpu.compute_capability, 2)
        return _H200 * _UNITS["9.0"] / units
    return 1.0


def _probe(by: Method) -> tuple[Work[Any], float]:
    """Some milliseconds of a method, and what they are said to take."""
    block = Block(_ENTRIES[by.name, by.arithmetic, by.shape]())
    choice = Choice("real", by.arithmetic, by.name, (Cpu(),))
    ways = by.ways(block, choice, _PREPARED)
    assert isinstance(ways, list)
    (best, *_) = sorted(ways, key=lambda one: one.core_seconds)
    return best.work, best.core_seconds


def _real(rows: int, columns: int) -> NDArray[np.float64]:
    return np.random.default_rng(rows).normal(size=(rows, columns))


def _whole(rows: int, columns: int, most: int = 9) -> NDArray[Any]:
    drawn = np.random.default_rng(rows).integers(-most, most + 1, size=(rows, columns))
    return drawn.astype(object)


def _lattice(side: int) -> NDArray[Any]:
    """Which cells of a square a domino joins, black ones by white ones."""
    cells = np.indices((side, side)).reshape(2, -1).T
    black, white = (cells[cells.sum(axis=1) % 2 == color] for color in (0, 1))
    return np.asarray(np.abs(black[:, None] - white[None]).sum(axis=2) == 1, dtype=np.float64)


def _sparse() -> NDArray[Any]:
    n = 30
    return np.where(np.random.default_rng(n).random((n, n)) < 0.15, _real(n, n), 0) + np.eye(n)


def _exactly(entries: NDArray[Any]) -> NDArray[Any]:
    whole = np.empty(entries.shape, dtype=object)
    whole[:] = [[int(x) for x in row] for row in entries.tolist()]
    return whole


#: A matrix for each row of the table of methods: some milliseconds.
_ENTRIES: dict[tuple[str, str, str], Callable[[], NDArray[Any]]] = {
    ("glynn", "double", "square"): lambda: _real(23, 23),
    ("glynn", "extended", "square"): lambda: _real(20, 20),
    ("glynn", "exact", "square"): lambda: _whole(20, 20, 10**3),  # of several primes
    ("subset", "double", "square"): lambda: abs(_real(22, 22)),
    ("subset", "double", "rectangles"): lambda: _real(14, 20),
    ("subset", "exact", "any"): lambda: _whole(10, 10),
    ("repeated", "double", "square"): lambda: np.kron(_real(11, 11), np.ones((3, 3))),
    ("repeated", "exact", "square"): lambda: np.kron(_whole(7, 7), _exactly(np.ones((4, 4)))),
    ("rank", "double", "square"): lambda: _whole(30, 3, 3) @ _whole(3, 30, 3),
    ("rank", "exact", "square"): lambda: _whole(30, 3, 3) @ _whole(3, 30, 3),
    ("frontier", "double", "square"): lambda: _lattice(18),
    ("frontier", "exact", "square"): lambda: _exactly(_lattice(18)),
    ("sparse", "double", "square"): _sparse,
}
