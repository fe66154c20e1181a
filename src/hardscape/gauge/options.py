"""What a gauge is, how it is fixed, and the limits of each choice: checked once, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import integer
from hardscape.errors import InputError
from hardscape.gauge.boundary import Boundary

Gauge = Literal["landau", "coulomb", "mag"]
MethodName = Literal[
    "auto",
    "relaxation",
    "overrelaxation",
    "stochastic",
    "annealing",
    "matrix-overrelaxation",
    "fourier-cg",
]
Precision = Literal["double", "single", "mixed"]
Reduction = Literal["mean", "max"]

#: Smallest theta that each precision is sure to reach, as mean and as maximum over sites: ten times
#: what rounding leaves on thermalised and on hot fields.
FLOORS = {
    "double": {"mean": 1e-27, "max": 1e-26},
    "single": {"mean": 1e-11, "max": 1e-10},
}


@dataclass(frozen=True, kw_only=True)
class FixOptions:
    """How to fix a gauge. Validates itself.

    Attributes
    ----------
    gauge, method, theta, reduction, per_slice, omega, precision, max_sweeps, xi
        See :func:`hardscape.gauge.fix`.
    omega_order : {1, 2}
        Order in r - 1 to which "overrelaxation" takes the power r^omega.
    probability : float
        With which "stochastic" squares a site's update.
    annealing_sweeps, microcanonical : int
        Heatbath sweeps, and microcanonical ones after each of them.
    temperatures : (float, float), optional
        Of the first and of the last heatbath sweep; those between fall geometrically. By default from above to
        below where g orders.
    boundary : {"periodic", "open", "sf", "open-sf"}
        Of the field.
    dimensions : {2, 3, 4, 5}
        Of the field.
    """

    gauge: Gauge = "landau"
    method: MethodName = "auto"
    theta: float = 1e-12
    reduction: Reduction = "mean"
    per_slice: bool = False
    omega: float | None = None
    precision: Precision = "double"
    max_sweeps: int = 20000
    xi: float = 1.0
    omega_order: Literal[1, 2] = 1
    probability: float = 0.5
    annealing_sweeps: int = 15
    microcanonical: int = 1
    temperatures: tuple[float, float] | None = None
    boundary: Boundary = "periodic"
    # Not in the digest of a work, which knows the shape of its links.
    dimensions: int = dataclass_field(default=4, repr=False)

    def __post_init__(self) -> None:
        _one_of("gauge", self.gauge, get_args(Gauge))
        _one_of("method", self.method, get_args(MethodName))
        _one_of("precision", self.precision, get_args(Precision))
        _one_of("reduction", self.reduction, get_args(Reduction))
        _one_of("omega_order", self.omega_order, (1, 2))
        _between("omega", self.omega, 1.0, 2.0)
        _between("probability", self.probability, 0.0, 1.0)
        integer(self.max_sweeps, "max_sweeps", 1, 2**63 - 1)
        integer(self.annealing_sweeps, "annealing_sweeps", 1, 2**31 - 1)
        integer(self.microcanonical, "microcanonical", 0, 2**31 - 1)
        _positive("theta", self.theta)
        checked_xi(self.xi)
        for temperature in self.temperatures or ():
            _positive("temperatures", temperature)
        if self.temperatures is not None and self.temperatures[1] > self.temperatures[0]:
            raise InputError(
                f"temperatures={self.temperatures}; the first must be at least the last"
            )
        if self.xi != 1 and self.gauge == "coulomb":
            raise InputError(f"xi={self.xi} is not for gauge='coulomb', without time")
        single = self.precision == "single"
        floor = FLOORS["single" if single else "double"][self.reduction]
        if self.theta < floor:
            way = "precision='double' or 'mixed' reaches less" if single else "no less is accepted"
            raise InputError(
                f"theta={self.theta:g} is below what precision={self.precision!r} can reach, "
                f"{floor:g}; {way}"
            )

    @property
    def directions(self) -> int:
        """Directions whose links count: all but time for Coulomb, else all."""
        return self.dimensions - self.sliced

    @property
    def sliced(self) -> bool:
        """Whether each timeslice is a problem of its own."""
        return self.gauge == "coulomb"

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight in the functional of the links in x, y, z, t."""
        return np.array([1.0] * (self.dimensions - 1) + [0.0 if self.sliced else self.xi**2])

    @property
    def scales(self) -> NDArray[np.float64]:
        """What links are multiplied by, of which the maximally Abelian functional takes squares."""
        return np.sqrt(self.weights) if self.gauge == "mag" else self.weights

    def links_counted(self, nc: int, slices: int) -> NDArray[np.float64]:
        """What the sum of a site's links, counted from both ends, is divided by on each timeslice."""
        whole = np.full(slices, 2.0 * float(self.weights.sum()) * nc)
        if self.boundary != "periodic":
            whole[[0, -1]] -= self.weights[-1] * nc
        return whole


def _one_of(name: str, value: object, accepted: tuple[object, ...]) -> None:
    if value not in accepted or isinstance(value, bool):
        names = ", ".join(map(repr, accepted))
        raise InputError(f"{name}={value!r}; accepted are {names}")


def _positive(name: str, value: float) -> None:
    if not (0 < value < math.inf):
        raise InputError(f"{name}={value!r}; finite numbers above 0 are accepted")


def _between(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low <= value <= high:
        raise InputError(f"{name}={value!r}; numbers from {low:g} to {high:g} are accepted")


def checked_xi(xi: float) -> float:
    """Of an anisotropic lattice: how many times larger the spacing in space is than that in time."""
    if isinstance(xi, bool) or not isinstance(xi, int | float | np.floating | np.integer):
        raise InputError(f"xi={xi!r}; a number above 0 is accepted")
    if not 1e-3 <= float(xi) <= 1e3:
        raise InputError(f"xi={xi!r}; 0.001 to 1000 is accepted")
    return float(xi)
