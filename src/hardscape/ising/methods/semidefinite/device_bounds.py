"""Semidefinite bounds of many nodes at once by a GPU, and a search by them: rounds.hpp, bounds.cu."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Kernel, kernel
from hardscape.ising.methods.walkers.place import Place

#: Spins at most: a matrix of their couplings is in a block's shared memory.
MOST_SPINS = 220
#: Nodes that are open, of which those below are bounded in one round, of few variables and of many: some
#: tenths of a second. Nodes that fill a GPU.
_TOGETHER, _FULL = (2048, 512), 512
#: Spins of a node that is searched instead.
_LEAF = 24
#: Places for duals of nodes that are open; others begin anew.
_DUALS = 16384
#: Variables of smaller kernels, their triangles at most, and triangles of the others; see ``kRank``.
_FEW, _FEW_TRIANGLES, _TRIANGLES, _RANK = 128, 4096, 8192, 16
#: Most variables, and what a block has besides a matrix, and besides what each variable needs.
_MOST, _OTHERS = 256, 2 * _RANK + 256 + 8
#: Bytes of ``Bound``, and of ``Bounded``: bounded.hpp.
_BOUND_BYTES, _BOUNDED_BYTES = 56, 64
#: Where ``Bounded`` has the number of its variables.
_SIZE_AT = 32


def kernel_of(variables: int) -> Kernel:
    """The kernel that finds bounds of nodes of at most so many variables."""
    few = variables <= _FEW
    return kernel(
        "ising/methods/semidefinite/bounds.cu",
        "semidefinite_bounds",
        constants={
            "kThreads": _FEW if few else _MOST,
            "kMost": _FEW_TRIANGLES if few else _TRIANGLES,
        },
        options=("-ftz=true", "-prec-div=false"),
    )


def shared_bytes(variables: int) -> int:
    """Of a block: the matrix, of odd rows, and vectors, lengths and bins."""
    stride = variables + 1 | 1
    return 4 * (variables * stride + 3 + (_RANK + 1) * variables + _OTHERS)


class DeviceBounds:
    """Bounds of nodes at one place, for one matrix `pairs` of couplings: row and column 0 are not read."""

    def __init__(self, place: Place, pairs: NDArray[np.float64], together: int, duals: int) -> None:
        self._place, self._width = place, len(pairs)
        self.kernel = kernel_of(self._width)
        most = _FEW_TRIANGLES if self._width <= _FEW else _TRIANGLES
        self._fields = place.empty((together, self._width), "<f8")
        self._nodes = place.empty((together * _BOUNDED_BYTES,), np.uint8)
        self._bounds = place.empty((together * _BOUND_BYTES,), np.uint8)
        self._keep = [
            place.array(pairs),
            self._fields,
            self._nodes,
            self._bounds,
            place.empty((duals, self._width, _RANK), "<f4"),
            place.empty((duals, most), "<u4"),
            place.empty((duals, most), "<f4"),
            place.empty((duals,), "<i4"),
            place.empty((together, 2, most), "<u4"),
            place.empty((together, 2, most), "<f4"),
            place.empty((together, most), "<f4"),
            place.empty((together, 2 * most), "<u4"),
        ]
        addresses = [place.address(x) for x in self._keep]
        self._problem = place.array(np.array([*addresses, self._width], dtype=np.uint64))
        self._count = 0

    def start(self, nodes: NDArray[np.uint8], fields: NDArray[np.float64]) -> None:
        """Begin to bound some nodes, one row of fields each."""
        self._count = len(fields)
        self._nodes[: len(nodes)] = self._place.array(nodes)
        self._fields[: self._count] = self._place.array(fields)
        sizes = nodes.reshape(-1, _BOUNDED_BYTES)[:, _SIZE_AT : _SIZE_AT + 4]
        variables = int(np.ascontiguousarray(sizes).view("<i4").max())
        threads = -(-variables // 32) * 32
        shared = shared_bytes(variables)
        self._place.launch(self.kernel, self._count, threads, self._problem, shared=shared)

    def bounds(self) -> NDArray[np.uint8]:
        """What came of them."""
        return self._place.host(self._bounds[: self._count * _BOUND_BYTES])


def search(
    core: Any,
    task: tuple[Any, ...],
    place: Place,
    context: Context,
    leaf: int = _LEAF,
    together: int | None = None,
) -> tuple[Any, ...]:
    """What `core`, a compiled search, finds for a task, where bounds are found at a place.

    Nodes of at most `leaf` spins are searched here, meanwhile; of `together` open ones those below are
    bounded in one round.
    """
    pairs = core.pairs()
    together = together or _TOGETHER[len(pairs) > _FEW]
    duals = min(_DUALS, 16 * together)
    rounds = core.rounds(*task, context.shared, leaf, duals)
    bounds: DeviceBounds | None = None
    # 2 asks to leave to others what has not begun; here all has.
    while not (rounds.over() or context.stop[0] == 1 or time.monotonic() >= context.until):
        nodes, fields = rounds.take(together, min(_FULL, together))
        if len(fields):
            if bounds is None:
                bounds = DeviceBounds(place, pairs, 2 * together, duals)
            bounds.start(nodes, fields)
        rounds.search_leaves(context.stop)
        if bounds is not None and len(fields):
            rounds.give(bounds.bounds())
    found: tuple[Any, ...] = rounds.found()
    return found
