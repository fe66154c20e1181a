"""Faces of planar graphs: which two each edge lies between."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError, needed

#: What asks for packages that an extra installs.
_PURPOSE = "method='matching'"


def sides(num_vertices: int, row: NDArray[np.int64], col: NDArray[np.int64]) -> NDArray[np.int64]:
    """The faces on both sides of each edge, shape (2, edges), of a drawing without crossings.

    An edge is two darts, one from either end. Those that leave a vertex lie around it in the order of a planar
    drawing; a face is a round of darts each of which is followed by the one next to its reverse.

    Raises
    ------
    InputError
        If there is no such drawing.
    """
    edges = len(row)
    if not edges:
        return np.empty((2, 0), dtype=np.int64)
    order = _lattice(num_vertices, row, col)
    if order is None:
        order = _drawn(num_vertices, row, col)
    tail = np.concatenate([row, col])
    around = np.lexsort((order, tail))
    first = np.flatnonzero(np.diff(tail[around], prepend=-1))
    last = np.append(first[1:], len(tail)) - 1
    following = np.roll(around, -1)
    following[last] = around[first]
    beside = np.empty(2 * edges, dtype=np.int64)
    beside[around] = following
    darts = np.arange(2 * edges)
    return _rounds(beside[(darts + edges) % (2 * edges)]).reshape(2, edges)


def _lattice(
    num_vertices: int, row: NDArray[np.int64], col: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Directions of darts, counterclockwise, on a square lattice that is numbered line by line."""
    apart = col - row
    width = int(apart.max(initial=1))
    along = apart == 1
    if width > 1 and not (along | (apart == width)).all():
        return None
    if width > 1 and ((row[along] + 1) % width == 0).any():
        return None
    return np.concatenate([np.where(along, 0, 1), np.where(along, 2, 3)])


def _drawn(num_vertices: int, row: NDArray[np.int64], col: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of darts around their tails in a planar drawing of any graph."""
    networkx = needed("networkx", "networkx", "matching", _PURPOSE)
    pairs = list(zip(row.tolist(), col.tolist(), strict=True))
    planar, drawing = networkx.check_planarity(networkx.Graph(pairs))
    if not planar:
        raise InputError(
            f"the graph of the {len(pairs)} couplings (and of fields, as couplings to one more spin) is not "
            "planar; method='matching' takes planar ones"
        )
    dart = {pair: k for k, pair in enumerate(pairs)}
    dart |= {(j, i): k + len(pairs) for k, (i, j) in enumerate(pairs)}
    order = np.empty(2 * len(pairs), dtype=np.int64)
    for vertex in drawing:
        for place, other in enumerate(drawing.neighbors_cw_order(vertex)):
            order[dart[vertex, other]] = place
    return order


def _rounds(following: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the round that each dart is in."""
    sparse = needed("scipy.sparse", "scipy", "matching", _PURPOSE)
    graph = needed("scipy.sparse.csgraph", "scipy", "matching", _PURPOSE)
    count = len(following)
    steps = sparse.coo_array(
        (np.ones(count, dtype=np.int8), (np.arange(count), following)), shape=(count, count)
    )
    rounds: NDArray[np.int64] = graph.connected_components(steps, directed=False)[1]
    return rounds.astype(np.int64)
