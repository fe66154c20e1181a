"""Sums over timeslices whose rows several GPUs have: each tells the numbers of its sites, one adds them up.

The order is that of a GPU that has the whole slice, and so are the bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hardscape.engine import Kernel
from hardscape.gauge.lattice.cuda import PARTS, CudaLattices
from hardscape.gauge.stored.instance import THREADS


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
