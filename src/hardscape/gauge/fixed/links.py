"""Links in another gauge, and what is told of links as they are, wherever they are: in memory or on a GPU."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import array_namespace, current
from hardscape.gauge import boundary as boundaries
from hardscape.gauge.boundary import Boundary
from hardscape.gauge.fixed import cuda
from hardscape.gauge.groups import project_to_group, unclear
from hardscape.gauge.intake import in_parts


def plaquette_traces(links: Any) -> NDArray[np.float64]:
    """Sums of Re tr of the plaquettes that start on each timeslice, (T, planes)."""
    if array_namespace(links) is not np:
        with current(links):
            return cuda.plaquette_sums(links)
    traces = native.vector.gauge.plaquette_traces
    return np.concatenate(in_parts(links.shape[0], links.nbytes, lambda i, j: traces(links, i, j)))


def plaquette_means(
    traces: NDArray[np.float64], shape: tuple[int, ...], nc: int, boundary: Boundary
) -> dict[tuple[int, int], float]:
    """Means of the plaquette for each plane (mu, nu), mu < nu, of what `plaquette_traces` found."""
    weights, slices = boundaries.plaquette_weights(boundary, len(traces))
    counted = math.prod(shape[:-1]) * slices * nc
    means = {}
    for (mu, nu), sums in zip(combinations(range(len(shape)), 2), traces.T, strict=True):
        in_space = nu < len(shape) - 1 and slices < len(traces)
        means[mu, nu] = float((sums * weights if in_space else sums).sum()) / counted
    return means


def link_trace(links: Any, boundary: Boundary) -> float:
    """Mean of Re tr / Nc over the links that there are."""
    xp = array_namespace(links)
    diagonal = xp.diagonal(links, axis1=-2, axis2=-1).real
    missing = 0 if boundary == "periodic" else math.prod(links.shape[1:-3])
    counted = math.prod(links.shape[:-2]) - missing
    return float(xp.sum(diagonal, dtype=np.float64) / (links.shape[-1] * counted))


def transformed(links: Any, g: Any) -> Any:
    """The links g(x) U_mu(x) g(x+mu)^dagger; on the host they are computed in double."""
    if array_namespace(links) is not np:
        with current(links):
            return cuda.transformed(links, g)
    turned = np.empty_like(links)
    rotation = np.ascontiguousarray(g, dtype=np.complex128)

    def turn(i: int, j: int) -> None:
        native.vector.gauge.transform(links, rotation, i, j, turned)

    in_parts(math.prod(links.shape[:-3]), links.nbytes, turn)
    return turned


def farthest(links: Any, boundary: Boundary) -> tuple[float, int]:
    """Distance from the group of the link that is farthest from it, and its number."""
    whole = _closed(links, boundary)
    if array_namespace(links) is not np:
        return cuda.farthest(whole)
    distance = native.vector.gauge.worst_matrix
    parts = in_parts(math.prod(links.shape[:-2]), whole.nbytes, lambda i, j: distance(whole, i, j))
    # The first of the largest; a NaN is larger than any number.
    worst: tuple[float, int] = max(
        parts, key=lambda part: math.inf if math.isnan(part[0]) else part[0]
    )
    return worst


def reprojected(links: Any, boundary: Boundary) -> Any:
    """Links near the group brought back to it; those that a boundary lacks stay zero."""
    found = _projected(_closed(links, boundary))
    if boundary != "periodic":
        found[-1, ..., -1, :, :] = 0
    return found


def _closed(links: Any, boundary: Boundary) -> Any:
    """The links, with the identity for those that a boundary lacks."""
    if boundary == "periodic":
        return links
    whole = links.copy()
    whole[-1, ..., -1, :, :] = array_namespace(links).eye(links.shape[-1], dtype=links.dtype)
    return whole


def _projected(matrices: Any) -> Any:
    """Matrices near the group brought back to it, on their device."""
    if array_namespace(matrices) is not np:
        return project_to_group(matrices)
    near = np.ascontiguousarray(matrices)
    found = np.empty_like(near)

    def bring(i: int, j: int) -> tuple[int, int]:
        return native.vector.gauge.reproject(near, i, j, found), j

    for reached, last in in_parts(math.prod(near.shape[:-2]), near.nbytes, bring):
        if reached < last:
            raise unclear([int(i) for i in np.unravel_index(reached, near.shape[:-2])])
    return found
