"""The gluon propagator of one configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace
from hardscape.engine import Context
from hardscape.errors import InputError
from hardscape.gauge.ensembles.work import Configuration, Task
from hardscape.gauge.field import GaugeField
from hardscape.gauge.gluon.algebra import FIELDS, Definition
from hardscape.gauge.gluon.momenta import Bins, Cut
from hardscape.gauge.measure import measured
from hardscape.gauge.options import FixOptions

#: Directions that the gauge condition sums over.
DIRECTIONS = {"landau": 4, "coulomb": 3}


@dataclass(frozen=True)
class PropagatorTask(Task):
    """The propagator of one configuration, binned."""

    name: ClassVar[str] = "propagator"
    revision: ClassVar[int] = 2

    gauge: Literal["landau", "coulomb"]
    definition: Definition
    cut: Cut
    bin_width: float | None
    theta: float | None
    like: tuple[tuple[int, int, int, int], int] | None = None  # shape and Nc of all

    def measure(self, configuration: Configuration, context: Context) -> Mapping[str, Any] | None:
        """See `of`."""
        return self.of(configuration.field, configuration.number)

    def of(self, field: GaugeField, position: int) -> dict[str, Any]:
        """D and its spread over the momenta of each bin, and the violation; refuses other fields."""
        if self.like not in (None, (field.shape, field.nc)):
            raise InputError(
                f"configuration {position} is {field!r}; the first one is of SU({self.like[1]}), "
                f"{'x'.join(map(str, self.like[0]))}"
            )
        if field.boundary != "periodic":
            raise InputError(
                f"configuration {position} has a boundary in time ({field.boundary!r}); propagators in "
                "momentum space are of periodic fields"
            )
        field.require_unitary()
        found = _violation(field, self.gauge)
        if self.theta is not None and not found <= self.theta:
            raise InputError(
                f"configuration {position} is not in {self.gauge} gauge: theta = {found:.3g}, at most "
                f"{self.theta:g} is accepted; fix it with hardscape.gauge.fix, or raise theta"
            )
        bins = Bins(field.shape, DIRECTIONS[self.gauge], self.cut, self.bin_width)
        by_momentum = _by_momentum(field, DIRECTIONS[self.gauge], self.definition)
        mean, spread = bins.mean(by_momentum), bins.spread(by_momentum)
        return {
            "momentum": bins.momentum,
            "count": bins.count,
            "value": mean,
            "spread": spread,
            "theta": found,
        }


def _violation(field: GaugeField, gauge: Literal["landau", "coulomb"]) -> float:
    """Mean of tr(Delta Delta^dagger) / Nc over the sites; at its worst timeslice for Coulomb."""
    options = FixOptions(gauge=gauge, per_slice=gauge == "coulomb")
    return float(measured(field, options).violation(options).max())


def _by_momentum(field: GaugeField, directions: int, definition: Definition) -> NDArray[np.float64]:
    """D at each momentum, in the order of the Fourier transform: (T, Z, Y, X), or (Z, Y, X)."""
    xp = array_namespace(field.links)
    axes = (0, 1, 2, 3) if directions == 4 else (1, 2, 3)
    square = xp.zeros(field.links.shape[:4])
    for mu in range(directions):
        a = FIELDS[definition](field.links[..., mu, :, :].astype(xp.complex128))
        for i in range(field.nc):
            for j in range(field.nc):
                square += xp.abs(xp.fft.fftn(a[..., i, j], axes=axes)) ** 2
    total = square if directions == 4 else square.mean(axis=0)
    d = total * (2 / ((field.nc**2 - 1) * total.size))
    on_host: NDArray[np.float64] = d if xp is np else d.get()
    zero = on_host[(0,) * on_host.ndim] / directions
    on_host = on_host / (directions - 1)
    on_host[(0,) * on_host.ndim] = zero
    return on_host
