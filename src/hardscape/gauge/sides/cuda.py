"""The two sides of a GPU: which half of the second-level cache a multiprocessor is near to.

From compute capability 8.0 on large GPUs have a cache in two halves. An address belongs to one of them; what
multiprocessors of the other side read of it goes over the way between the halves, which is the narrowest
there is, and is kept on their side as well. So a part of a lattice is better moved by the same side always.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import CudaDevice, Kernel, kernel

#: Addresses that are looked at, and words between two of them.
_ADDRESSES, _APART = 64, 1056
#: Part of what latencies differ by that two sides must explain.
_EXPLAINED = 0.4
#: Bytes of shared memory of which a multiprocessor has room for one block.
_ALONE = 120 * 1024
#: By ordinal of the GPU.
_found: dict[int, NDArray[np.uint8] | None] = {}


def sides_kernel() -> Kernel:
    """The kernel that looks at them, as data."""
    return kernel("gauge/sides/sides.cu", "gauge_distances")


def distances(device: CudaDevice) -> NDArray[np.uint32]:
    """Cycles from each multiprocessor to some addresses. To be used inside ``cuda_device``."""
    import cupy

    zeros = cupy.zeros(_ADDRESSES * _APART, dtype=np.uint32)
    latency = cupy.zeros((device.multiprocessors, _ADDRESSES), dtype=np.uint32)
    loaded = device.load(sides_kernel())
    given = zeros, np.int32(_ADDRESSES), np.int32(_APART), latency
    loaded(device.multiprocessors, 32, *given, shared=_ALONE)
    found: NDArray[np.uint32] = latency.get()
    return found


def sides_of(latency: NDArray[Any]) -> NDArray[np.uint8] | None:
    """The side, 0 or 1, of each multiprocessor, as many of each; None where there are no two."""
    count = len(latency)
    if count % 2 or not latency.all():
        return None
    apart = latency - latency.mean(axis=1, keepdims=True)
    apart -= apart.mean(axis=0)
    left, sizes, _ = np.linalg.svd(apart, full_matrices=False)
    if sizes[0] ** 2 < _EXPLAINED * (sizes**2).sum():
        return None
    order = np.argsort(left[:, 0], kind="stable")
    sides = np.zeros(count, dtype=np.uint8)
    sides[order[count // 2 :]] = 1
    return sides


def sides(device: CudaDevice) -> NDArray[np.uint8] | None:
    """The same of a GPU, once a process. To be used inside ``cuda_device``."""
    if device.ordinal not in _found:
        _found[device.ordinal] = sides_of(distances(device))
    return _found[device.ordinal]
