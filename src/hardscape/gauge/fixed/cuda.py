"""Links in another gauge, and what is told of links as they are, on the GPU that holds them."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Kernel, cuda_device, kernel
from hardscape.gauge.options import FixOptions

#: Threads of a block, and blocks that share a timeslice.
_THREADS, _PARTS = 128, 16
#: Blocks that look for the link farthest from the group, at most.
_FAR = 1024


@lru_cache(maxsize=64)
def fixed_kernel(
    name: str, dimensions: int, nc: int, single: bool, directions: int = 0, abelian: bool = False
) -> Kernel:
    """A kernel of fixed.cu, for any extents."""
    constants = {
        "kDimensions": dimensions,
        "kDirections": directions or dimensions,
        "kColors": nc,
        "kSingle": single,
        "kAbelian": abelian,
        "kThreads": _THREADS,
    }
    return kernel("gauge/fixed/fixed.cu", f"fixed_{name}", constants=constants)


def transformed(links: Any, g: Any) -> Any:
    """The links g(x) U_mu(x) g(x+mu)^dagger, CuPy arrays both."""
    import cupy

    turned = cupy.empty_like(links, order="C")
    rotation = cupy.ascontiguousarray(g, dtype=np.complex128)
    sites = prod(links.shape[:-3])
    blocks = -(-sites * links.shape[-3] // _THREADS)
    _launch("transform", links, blocks, (), rotation, turned, after=(np.int32(sites),))
    return turned


def condition_sums(links: Any, options: FixOptions) -> NDArray[np.float64]:
    """Of each timeslice the functional, links counted from both ends, theta and the largest theta, (T, 3)."""
    import cupy

    weights = cupy.asarray(np.asarray(options.weights, dtype=np.float64))
    sums = cupy.empty((links.shape[0], _PARTS, 3))
    grid = _PARTS, links.shape[0]
    _launch("conditions", links, grid, (options.directions, options.gauge == "mag"), weights, sums)
    parts = sums.get()
    return np.concatenate([parts[..., :2].sum(axis=1), parts[..., 2:].max(axis=1)], axis=1)


def plaquette_sums(links: Any) -> NDArray[np.float64]:
    """Sums of Re tr of the plaquettes that start on each timeslice, (T, planes)."""
    import cupy

    planes = links.shape[-3] * (links.shape[-3] - 1) // 2
    sums = cupy.empty((links.shape[0], _PARTS, planes))
    _launch("plaquettes", links, (_PARTS, links.shape[0]), (), sums)
    found: NDArray[np.float64] = sums.get().sum(axis=1)
    return found


def farthest(links: Any) -> tuple[float, int]:
    """Distance from the group of the link that is farthest from it, and its number."""
    import cupy

    matrices = prod(links.shape[:-2])
    blocks = min(_FAR, -(-matrices // _THREADS))
    far, places = cupy.empty(blocks), cupy.empty(blocks, dtype=np.int64)
    _launch("distances", links, blocks, (), far, places, after=(np.int64(matrices),))
    return farthest_of(far.get(), places.get())


def farthest_of(far: NDArray[np.float64], places: NDArray[np.int64]) -> tuple[float, int]:
    """Of what blocks found the largest, and of its like the first; a NaN is larger than any number."""
    largest = np.isnan(far) if np.isnan(far).any() else far == far.max()
    place = int(places[largest].min())
    return float(far[places == place][0]), place


def _launch(
    name: str,
    links: Any,
    grid: int | tuple[int, ...],
    choices: tuple[Any, ...],
    *arrays: Any,
    after: tuple[Any, ...] = (),
) -> None:
    """Run a kernel on links, arrays, the extents x, y, ..., t and what comes after them."""
    import cupy

    dimensions, nc = links.shape[-3], links.shape[-1]
    single = links.dtype == np.complex64
    extents = [*reversed(links.shape[:-3]), 1, 1, 1][:5]
    cupy.cuda.get_current_stream().synchronize()  # the kernel is on another stream
    with cuda_device(links.device.id) as device:
        run = device.load(fixed_kernel(name, dimensions, nc, single, *choices))
        whole = cupy.ascontiguousarray(links)
        run(grid, _THREADS, whole, *arrays, *map(np.int32, extents), *after)
        device.synchronize()
