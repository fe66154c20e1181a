"""Functional and gauge violation of links as they are, from every number in them.

What the methods report while they go on is of links that were brought to the group, in a gauge g that is not
applied yet; this is of those that are returned, or in a file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.gauge import boundary
from hardscape.gauge.field import GaugeField
from hardscape.gauge.fixed.cuda import condition_sums
from hardscape.gauge.intake import in_parts
from hardscape.gauge.lattice.lattices import Measurement
from hardscape.gauge.options import FixOptions


def measured(field: GaugeField, options: FixOptions) -> Measurement:
    """The functional and violation of a field's own links, in double, one timeslice after the other."""
    slices, sites = field.links.shape[0], field.volume // field.links.shape[0]
    sums = _sums(field, options) if field.device == "cpu" else condition_sums(field.links, options)
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
