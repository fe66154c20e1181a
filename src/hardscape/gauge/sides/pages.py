"""Links in pages of 4 kB, each of which lies near the side of a GPU that reads it most.

Half of the second-level cache is near to each side, and homes of addresses change every 4 or 8 kB by a rule
that nobody tells. What is read of a page whose home is on the other side crosses the way between the halves
and is kept in both of them. So pages are put where their side is at home: a table, which stands before them,
tells where each is. An array of links is a multiple of a page and has as many near to each side, but for a few.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import CudaDevice, Kernel, kernel
from hardscape.gauge.stored.instance import Instance

#: Bytes of a page, and of an entry of the table.
_PAGE, _ENTRY = 4096, 4
#: Sites whose matrices lie together.
_TOGETHER = 32
#: Threads of a block that looks where pages are at home: so many warps a multiprocessor.
_LOOKING = 256
#: Pages that it looks at in a launch.
_AT_ONCE = 2**20


def homes_kernel() -> Kernel:
    """What looks at where pages are at home, as data."""
    return kernel("gauge/sides/sides.cu", "gauge_homes")


def wanted_sides(instance: Instance) -> NDArray[np.uint8]:
    """The side that reads each page of links most: each moves half of every timeslice, in z."""
    x, y, z, t = instance.box
    rows = (
        len(instance.shape) * instance.link_chunks
    )  # of 16 bytes for each of 32 sites that lie together
    blocks = -(-x * y * z * t // _TOGETHER)
    pages = -(-blocks * rows * _TOGETHER * 16 // _PAGE)
    block = np.arange(pages, dtype=np.int64) * (_PAGE // 16 // _TOGETHER) // rows
    plane = block * _TOGETHER % (x * y * z * t // 2) * 2 // (x * y)
    return (plane % z >= z // 2).astype(np.uint8)


def table_of(wanted: NDArray[np.uint8], homes: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Where each page goes, of as many places: to one at home where it is wanted, while there are such."""
    table = np.zeros(len(wanted), dtype=np.uint32)
    left = []
    for side in (0, 1):
        pages, places = np.flatnonzero(wanted == side), np.flatnonzero(homes == side)
        many = min(len(pages), len(places))
        table[pages[:many]] = places[:many]
        left.append((pages[many:], places[many:]))
    for (pages, _), (_, places) in zip(left, left[::-1], strict=True):
        table[pages] = places[: len(pages)]
    return table


def paged_links(device: CudaDevice, instance: Instance, sides: NDArray[np.uint8]) -> Any:
    """Room for the links of an instance, with the table before it. To be used inside ``cuda_device``."""
    import cupy

    wanted = wanted_sides(instance)
    head = -(-len(wanted) * _ENTRY // _PAGE)
    room = cupy.zeros((head + len(wanted) + 1) * _PAGE, dtype=np.uint8)
    begin = -room.data.ptr % _PAGE
    room = room[begin : begin + (head + len(wanted)) * _PAGE]
    homes = homes_of(device, room[head * _PAGE :], sides)
    table = table_of(wanted, homes) + np.uint32(head)
    room[: table.nbytes] = cupy.asarray(table.view(np.uint8))
    return room


def homes_of(device: CudaDevice, zeros: Any, sides: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The side that each page of an array of zeros is near to."""
    import cupy

    look, side_of = device.load(homes_kernel()), cupy.asarray(sides)
    homes = np.empty(zeros.nbytes // _PAGE, dtype=np.uint8)
    for first in range(0, len(homes), _AT_ONCE):
        some = homes[first : first + _AT_ONCE]
        latency = cupy.zeros((2, len(some)), dtype=np.uint32)
        given = np.uint32(len(some)), side_of, cupy.zeros(2, dtype=np.uint32), latency
        look(device.multiprocessors, _LOOKING, zeros[first * _PAGE :], *given)
        some[:] = (latency[1] < latency[0]).get()
    return homes
