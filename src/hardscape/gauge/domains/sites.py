"""What windows of a lattice tell each other of their sites, where they do not write it while they sweep.

Sides go to ranks that have no access to this one's memory: which sites they are, and in which order, follows
from their places alone, so that two windows beside one another agree. Sums over timeslices whose rows several
GPUs have are made by one of them, of numbers that each tells; the order is that of a GPU that has the whole
slice, and so are the bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hardscape.arrays import array_namespace
from hardscape.engine import Kernel
from hardscape.gauge.lattice.cuda import PARTS, CudaLattices
from hardscape.gauge.stored.instance import THREADS, Instance

#: Sites that lie together, see site.cuh.
_TOGETHER = 32
TIME, ROWS = 0, 1


class Faces:
    """The sides of a window of an array [site / 32][matrix][chunk][site % 32][lane]."""

    def __init__(self, instance: Instance) -> None:
        self._extents = instance.shape[::-1]
        self._parity = int(instance.constants["kParity"])
        self._found: dict[tuple[int, int, int | None], Any] = {}

    def get(self, stored: Any, line: int, at: int, color: int | None, matrix: int = 0) -> Any:
        """Matrices of the sites, of one colour or both, in a slice or row, counted among those held."""
        block, lane = self._places(stored, line, at, color)
        return stored[:, matrix][block, :, lane]

    def put(
        self, stored: Any, line: int, at: int, color: int | None, values: Any, matrix: int = 0
    ) -> None:
        """Write what `get` of another window gave."""
        block, lane = self._places(stored, line, at, color)
        stored[:, matrix][block, :, lane] = array_namespace(stored).asarray(values)

    def _places(self, stored: Any, line: int, at: int, color: int | None) -> Any:
        """Blocks and places there. Of slices all that is held: what was told of rows goes around corners."""
        key = line, at, color
        if key not in self._found:
            ranges = [np.arange(extent) for extent in self._extents]
            if line == ROWS:
                ranges[TIME] = ranges[TIME][1:-1]
            ranges[line] = np.array([at])
            places = np.meshgrid(*ranges, indexing="ij")
            natural = np.ravel_multi_index([place.ravel() for place in places], self._extents)
            colors = (sum(place.ravel() for place in places) + self._parity) % 2
            numbers = colors * (math.prod(self._extents) // 2) + natural // 2
            if color is not None:
                numbers = numbers[colors == color]
            xp = array_namespace(stored)
            self._found[key] = xp.asarray(numbers // _TOGETHER), xp.asarray(numbers % _TOGETHER)
        return self._found[key]


def sites_kernel(window: CudaLattices) -> Kernel:
    """What tells the numbers of a window's sites, as data."""
    return window.instance.window_kernel("gauge_sites")


def room(window: CudaLattices, space: Sequence[int]) -> Any:
    """Room for functional and violation of each site of a window's slices (Z, Y, X), on its GPU."""
    import cupy

    return cupy.empty((2, window.moving[3], *space))


def tell(window: CudaLattices, numbers: Any, first: int) -> None:
    """Write those of a window's sites into a `room`, rows from `first` on, on whichever GPU it is."""
    instance = window.instance
    deep = instance.box[2] // instance.shape[-2]
    rows = numbers.shape[2] * deep
    given = window.links, window.transformations, numbers, np.int32(rows), np.int32(first * deep)
    window.load(sites_kernel(window))(-(-window.volume // THREADS), THREADS, *given)


def added(window: CudaLattices, numbers: Any) -> Any:
    """Begin to sum what was told: (1, T, parts, 3), as `CudaLattices.parts`."""
    import cupy

    _, slices, *space = numbers.shape
    sums = cupy.empty((1, slices, PARTS, 3))
    made = window.instance.window_kernel("gauge_sums")
    counts = np.int32(math.prod(space)), np.int32(slices), np.int32(PARTS)
    window.load(made)(PARTS * slices, THREADS, numbers, sums, *counts)
    return sums
