"""Functional and gauge violation of links as they are, from every number in them.

What the methods report while they go on is of links that were brought to the group, in a gauge g that is not
applied yet; this is of those that are returned, or in a file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import array_namespace, current, to_device
from hardscape.gauge import boundary
from hardscape.gauge.field import GaugeField
from hardscape.gauge.groups import dagger
from hardscape.gauge.intake import in_parts
from hardscape.gauge.lattice.lattices import Measurement
from hardscape.gauge.options import FixOptions


def measured(field: GaugeField, options: FixOptions) -> Measurement:
    """The functional and violation of a field's own links, in double, one timeslice after the other."""
    slices, sites = field.links.shape[0], field.volume // field.links.shape[0]
    sums = _sums(field, options) if field.device == "cpu" else _device_sums(field, options)
    counted = options.links_counted(field.nc, slices)
    live = boundary.live(options.boundary, slices)
    functional, mean, largest = sums.T[:, None, :]
    return Measurement(
        functional / (sites * counted),
        np.where(live, mean / sites, 0.0),
        np.where(live, largest, 0.0),
        counted,
        live,
    )


def _sums(field: GaugeField, options: FixOptions) -> NDArray[np.float64]:
    """Of each timeslice the functional, links counted from both ends, theta and the largest theta, (T, 3)."""

    def of_slices(i: int, j: int) -> NDArray[np.float64]:
        abelian = options.gauge == "mag"
        return native.vector.gauge.conditions(
            field.links, options.scales, options.directions, abelian, i, j
        )

    return np.concatenate(in_parts(field.links.shape[0], field.links.nbytes, of_slices))


def _device_sums(field: GaugeField, options: FixOptions) -> NDArray[np.float64]:
    """The same on the GPU of the links."""
    xp = array_namespace(field.links)
    sums = np.empty((field.links.shape[0], 3))
    with current(field.links):
        for t in range(len(sums)):
            here = field.links[t].astype(xp.complex128)
            before = field.links[t - 1, ..., -1, :, :].astype(xp.complex128)
            total, delta = (
                _abelian(here, before, options)
                if options.gauge == "mag"
                else _linear(here, before, options)
            )
            theta = xp.sum(xp.abs(delta) ** 2, axis=(-2, -1)) / field.nc
            found = xp.stack([total, xp.sum(theta), xp.max(theta)])
            sums[t] = to_device(found, "cpu")
    return sums


def _behind(here: Any, before: Any, mu: int) -> Any:
    """U_mu(x - mu) of a timeslice, from its own links and from those in t of the one before."""
    time = here.shape[-3] - 1
    if mu == time:
        return before
    return array_namespace(here).roll(here[..., mu, :, :], 1, axis=time - 1 - mu)


def _linear(here: Any, before: Any, options: FixOptions) -> tuple[Any, Any]:
    """Re tr of the links from both ends, weighted, and Delta."""
    xp = array_namespace(here)
    total, divergence = 0.0, xp.zeros_like(here[..., 0, :, :])
    for mu in range(options.directions):
        weight = float(options.weights[mu])
        ahead, behind = here[..., mu, :, :], _behind(here, before, mu)
        divergence += weight * (ahead - behind)
        for links in (ahead, behind):
            total += weight * xp.trace(links, axis1=-2, axis2=-1).real.sum()
    delta = divergence - dagger(divergence)
    trace = xp.trace(delta, axis1=-2, axis2=-1)[..., None, None]
    nc = here.shape[-1]
    return total, delta - trace * xp.eye(nc) / nc


def _abelian(here: Any, before: Any, options: FixOptions) -> tuple[Any, Any]:
    """The squared moduli of U_jj from both ends, and Delta of the maximally Abelian gauge.

    With W_j = U P_j U^dagger + V^dagger P_j V of the links U ahead and V behind, Delta_ab is
    (W_b)_ab - (W_a)_ab off the diagonal.
    """
    xp = array_namespace(here)
    total, delta = 0.0, xp.zeros_like(here[..., 0, :, :])
    for mu in range(options.directions):
        weight = float(options.weights[mu])
        ahead, behind = here[..., mu, :, :], _behind(here, before, mu)
        for links in (ahead, behind):
            diagonal = xp.diagonal(links, axis1=-2, axis2=-1)
            total += weight * xp.sum(xp.abs(diagonal) ** 2)
        for links in (ahead, dagger(behind)):
            diagonal = xp.diagonal(links, axis1=-2, axis2=-1)
            # U_ab conj(U_bb) - U_aa conj(U_ba), which vanishes for a = b
            delta += weight * links * diagonal.conj()[..., None, :]
            delta -= weight * diagonal[..., :, None] * dagger(links)
    return total, delta
