"""The gluon propagator of one configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace, to_device
from hardscape.engine import Context
from hardscape.errors import InputError
from hardscape.gauge import boundary
from hardscape.gauge.ensembles.work import Configuration, Task
from hardscape.gauge.field import GaugeField
from hardscape.gauge.gluon.algebra import FIELDS, Definition
from hardscape.gauge.gluon.momenta import Bins, Cut
from hardscape.gauge.measure import measured
from hardscape.gauge.options import FixOptions

#: Transverse part of a direction below which a bin says nothing about it.
_LONGITUDINAL = 1e-9


@dataclass(frozen=True)
class PropagatorTask(Task):
    """The propagator of one configuration, binned."""

    name: ClassVar[str] = "propagator"
    revision: ClassVar[int] = 3
    goes_on: ClassVar[bool] = True

    gauge: Literal["landau", "coulomb"]
    definition: Definition
    cut: Cut
    bin_width: float | None
    theta: float | None
    xi: float = 1.0
    like: tuple[tuple[int, ...], int] | None = None  # shape and Nc of all
    slices: tuple[int, int] | None = (
        None  # first and, not included, last timeslice of Coulomb gauge
    )

    def measure(self, configuration: Configuration, context: Context) -> Mapping[str, Any] | None:
        """See `of`."""
        return self.of(configuration.field)

    def of(self, field: GaugeField) -> dict[str, Any]:
        """D and its spread over the momenta of each bin, and the violation; refuses other fields."""
        if self.like not in (None, (field.shape, field.nc)):
            raise InputError(
                f"{field!r}; the first configuration is of SU({self.like[1]}), "
                f"{'x'.join(map(str, self.like[0]))}"
            )
        if field.boundary != "periodic" and self.gauge != "coulomb":
            raise InputError(
                f"a boundary in time ({field.boundary!r}); propagators with momenta in time are of "
                "periodic fields, equal-time ones of Coulomb gauge of all"
            )
        field.require_unitary()
        found = _violation(field, self.gauge, self.xi)
        if self.theta is not None and not found <= self.theta:
            raise InputError(
                f"not in {self.gauge} gauge: theta = {found:.3g}, at most {self.theta:g} is accepted; "
                "fix it with hardscape.gauge.fix, or raise theta"
            )
        directions = field.dimensions - (self.gauge == "coulomb")
        if directions < 2:
            raise InputError(
                f"{field!r}; Coulomb gauge has transverse gluons in three dimensions and more"
            )
        bins = Bins(field.shape, directions, self.cut, self.bin_width, self.xi)
        links = field.links
        if self.gauge == "coulomb":
            links = links[self._free(field)]
        by_momentum, each = _spectra(links, directions, self.definition, self.xi)
        mean, spread = bins.mean(by_momentum), bins.spread(by_momentum)
        part = np.where(bins.transverse > _LONGITUDINAL, bins.transverse, np.nan)
        return {
            "momentum": bins.momentum,
            "count": bins.count,
            "value": mean,
            "spread": spread,
            "by_direction": np.array([bins.mean(one) for one in each]) / part,
            "theta": found,
        }

    def _free(self, field: GaugeField) -> slice:
        """The timeslices that are averaged over: those that are asked for and whose links are not fixed."""
        slices = field.shape[-1]
        first, last = self.slices or (0, slices)
        found = np.flatnonzero(boundary.live(field.boundary, slices)[first:last]) + first
        if last > slices or not len(found):
            raise InputError(
                f"slices={(first, last)}; a part of the {slices} timeslices is accepted whose links are "
                "not all fixed"
            )
        return slice(int(found[0]), int(found[-1]) + 1)


def _violation(field: GaugeField, gauge: Literal["landau", "coulomb"], xi: float) -> float:
    """Mean of tr(Delta Delta^dagger) / Nc over the sites; at its worst timeslice for Coulomb."""
    options = FixOptions(
        gauge=gauge,
        per_slice=gauge == "coulomb",
        xi=xi if gauge == "landau" else 1.0,
        boundary=field.boundary,
        dimensions=field.dimensions,
    )
    return float(measured(field, options).violation(options).max())


def _spectra(
    links: Any, directions: int, definition: Definition, xi: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """D at each momentum, in the order of the Fourier transform: (T, Z, Y, X), or (Z, Y, X).

    Of links (T, Z, Y, X, 4, Nc, Nc). And of each A_mu alone, not divided by what is transverse of it,
    (directions, ...).
    """
    xp = array_namespace(links)
    dimensions, nc = links.ndim - 3, links.shape[-1]
    whole = directions == dimensions
    axes = tuple(range(dimensions - directions, dimensions))
    total = xp.zeros(links.shape[:-3])
    each = []
    for mu in range(directions):
        a = FIELDS[definition](links[..., mu, :, :].astype(xp.complex128))
        # A_t is xi times what the link has, in units of the spacing in space.
        weight = xi**2 if mu == dimensions - 1 else 1.0
        alone = xp.zeros(total.shape)
        for i in range(nc):
            for j in range(nc):
                square = weight * xp.abs(xp.fft.fftn(a[..., i, j], axes=axes)) ** 2
                alone += square
                total += square
        each.append(alone if whole else alone.mean(axis=0))
    mean = total if whole else total.mean(axis=0)
    # A site is a volume of 1 / xi.
    scale = 2 / ((nc**2 - 1) * mean.size * (xi if whole else 1.0))
    d, *parts = (to_device(scale * x, "cpu") for x in (mean, *each))
    origin = (0,) * d.ndim
    zero = d[origin] / directions
    d = d / (directions - 1)
    d[origin] = zero
    return d, np.array(parts)
