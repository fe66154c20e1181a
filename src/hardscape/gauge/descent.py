"""The way to the gauge: which sweeps follow which, until the gauge condition holds.

Nothing here knows a device. A `Lattices` holds one or more copies of a gauge transformation over one
field and moves them; what is decided here for a copy depends on that copy alone, so its way does not
depend on what it is computed beside.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.gauge.fourier import FourierSteps
from hardscape.gauge.options import FLOORS, FixOptions

__all__ = ["Descent", "Lattices", "Measurement", "Sweep"]

#: Sweeps between two measurements.
_CHECK = 10
#: Below this theta the functional is quadratic and rates of convergence mean something.
_QUADRATIC = 1e-2
#: Checks without progress, at a theta below this many floors, after which a precision is taken to be
#: exhausted. Above that theta may rest for long and fall again.
_PATIENCE, _EXHAUSTED = 6, 100
#: Theta at which the conjugate gradient takes over from sweeps; where it gave up, it is tried again at
#: the next one.
_HANDOVERS = (2e-1, 1e-3, 1e-5, 1e-7, 1e-9)
#: Its iterations between two measurements, the decades of theta that one is hoped to gain, and by how
#: much the functional rises where theta does not fall because a saddle is being left.
_BURST, _HOPED, _CLIMB = 2, 0.3, 1e-6


@dataclass(frozen=True)
class Sweep:
    """What a sweep does at each site; the numbers are those of native ``Method`` and ``Step``.

    Attributes
    ----------
    method : int
        0 one hit in each SU(2) subgroup, 1 the whole matrix, 2 heatbath.
    omega, second : float
        Overrelaxation, and the weight of the second order in r - 1.
    probability : float
        Of overrelaxing a site.
    temperature : float
    """

    method: int
    omega: float = 1.0
    second: float = 0.0
    probability: float = 1.0
    temperature: float = 1.0

    def row(self) -> tuple[float, float, float, float]:
        """The step as numbers."""
        return self.omega, self.second, self.probability, self.temperature


#: r -> r^2 leaves the functional as it is.
MICROCANONICAL = Sweep(0, omega=2.0, second=1.0)


@dataclass(frozen=True)
class Measurement:
    """Gauge functional and gauge violation of each copy and timeslice, arrays of shape (copies, T).

    Attributes
    ----------
    functional : float64
        Mean over the links of the slice's sites; a link in t counts half for the site at each end.
    theta_mean, theta_max : float64
        Mean and maximum of tr(Delta Delta^dagger) / Nc over the slice's sites.
    """

    functional: NDArray[np.float64]
    theta_mean: NDArray[np.float64]
    theta_max: NDArray[np.float64]

    def violation(self, options: FixOptions) -> NDArray[np.float64]:
        """What is compared with theta: by slice, or the same number for all slices of a copy."""
        by_slice = self.theta_mean if options.reduction == "mean" else self.theta_max
        if options.per_slice:
            return by_slice
        whole = by_slice.mean(axis=1) if options.reduction == "mean" else by_slice.max(axis=1)
        return np.repeat(whole[:, None], by_slice.shape[1], axis=1)


class Lattices(ABC):
    """Copies of a gauge transformation over one field, on one device and in one precision."""

    copies: int
    slices: int
    volume: int
    single: bool
    threads: int = 1
    #: What an iteration of the conjugate gradient costs in sweeps, as far as time goes.
    iteration_cost: float = 3.0

    def floor(self, options: FixOptions) -> float:
        """Smallest theta that the precision is sure to reach."""
        return FLOORS["single" if self.single else "double"][options.reduction]

    @abstractmethod
    def sweep(
        self,
        sweeps: list[Sweep],
        seeds: NDArray[np.uint64],
        first: NDArray[np.int64],
        count: int,
        active: NDArray[np.bool_],
        stop: NDArray[np.uint8],
    ) -> int:
        """Do `count` sweeps, `sweeps[i]` on copy i, numbered from `first[i]`, where active (copies, T).

        Returns the sweeps done before `stop` became 1.
        """

    @abstractmethod
    def measure(self) -> Measurement:
        """Functional and violation of the moment."""

    @abstractmethod
    def randomize(self, seeds: NDArray[np.uint64]) -> None:
        """Set each copy's g from the Haar measure."""

    @abstractmethod
    def set_transformation(self, copy: int, g: Any) -> None:
        """Set a copy's g, shape (T, Z, Y, X, Nc, Nc), brought to the group in this precision."""

    def adopt(self, others: Lattices) -> None:
        """Take over the g of lattices of the same field in another precision."""
        for copy in range(self.copies):
            self.set_transformation(copy, others.transformation(copy))

    @abstractmethod
    def transformation(self, copy: int) -> Any:
        """Return a copy's g, shape (T, Z, Y, X, Nc, Nc), complex128, on the device."""

    @abstractmethod
    def gradient(self) -> Any:
        """Return Delta, packed (`Algebra` of algebra.hpp), shape (copies, components, T, Z, Y, X)."""

    @abstractmethod
    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g, for a packed direction and steps of shape (copies, T)."""


class OmegaTuner:
    """Finds the overrelaxation of one copy while it converges.

    Successive overrelaxation of a quadratic functional contracts by omega - 1 a sweep if omega is at
    or above its best value, and by a larger factor lambda below it; from lambda follows the best
    omega (D. M. Young, Iterative Solution of Large Linear Systems, 1971, chapter 6). theta goes with
    the square of the contraction.
    """

    def __init__(self, start: float, fixed: bool, noise: float = 0.0) -> None:
        self.omega = start
        self._fixed = fixed
        self._noise = noise  # theta below which rounding shows
        self._floor = 1.0

    def look(self, before: float, after: float, sweeps: int) -> None:
        """Take note of theta before and after some sweeps."""
        if self._fixed or not self._noise < after < _QUADRATIC or not before < _QUADRATIC:
            return
        rate = (after / before) ** (0.5 / sweeps)
        contraction = self.omega - 1
        if rate >= 1:
            return
        if rate > 1.03 * contraction:  # below the best value
            mu2 = min((rate + contraction) ** 2 / (rate * self.omega**2), 0.9999)
            best = 2 / (1 + np.sqrt(1 - mu2))
            self._floor = max(self._floor, self.omega)
            self.omega = float(min(max(best, self.omega), 1.98))
        elif self.omega > self._floor:
            lower = 1 + 0.94 * contraction
            self.omega = max(lower, 0.5 * (self._floor + self.omega))


@dataclass
class Descent:
    """The state of some copies on their way.

    Attributes
    ----------
    options : FixOptions
    seeds : uint64, shape (copies,)
    stop : uint8, shape (1,)
    """

    options: FixOptions
    seeds: NDArray[np.uint64]
    stop: NDArray[np.uint8]
    sweeps: NDArray[np.int64] = field(init=False)
    seconds: float = 0.0
    updates: float = 0.0
    history: list[list[tuple[float, float, float]]] = field(init=False)
    omegas: NDArray[np.float64] = field(init=False)
    _gained: NDArray[np.float64] = field(init=False)  # decades of theta a sweep, lately

    def __post_init__(self) -> None:
        copies = len(self.seeds)
        self.sweeps = np.zeros(copies, dtype=np.int64)
        self.omegas = np.full(copies, np.nan)
        self._gained = np.zeros(copies)
        self.history = [[] for _ in range(copies)]

    def finish(self, lattices: Lattices, target: float) -> None:
        """From where the copies are to theta below `target`, by the method of the options."""
        if self.options.method in ("fourier-cg", "auto") and self.options.gauge != "mag":
            for handover in _HANDOVERS:
                self.relax(lattices, max(target, handover))
                slow = lattices.iteration_cost * self._gained < _HOPED
                if self.options.method == "fourier-cg" or slow.any():
                    self.accelerate(lattices, target)
        self.relax(lattices, target)

    # -- stages ------------------------------------------------------------------------------

    def anneal(self, lattices: Lattices) -> None:
        """Heatbath sweeps at falling temperature, each followed by microcanonical ones."""
        options = self.options
        hot, cold = options.temperatures
        everywhere = np.ones((lattices.copies, lattices.slices), dtype=bool)
        for temperature in np.geomspace(hot, cold, options.annealing_sweeps):
            if self.stop[0]:
                return
            self._sweep(lattices, Sweep(2, temperature=float(temperature)), 1, everywhere)
            if options.microcanonical:
                self._sweep(lattices, MICROCANONICAL, options.microcanonical, everywhere)
        self._measured(lattices)

    def relax(self, lattices: Lattices, target: float) -> None:
        """Sweep until every copy has theta below `target`, or rounding stops it."""
        options = self.options
        limit = options.max_sweeps
        measured = self._measured(lattices)
        violation = measured.violation(options)
        tuners = [self._tuner(lattices, b) for b in range(lattices.copies)]
        best = violation.max(axis=1)
        waited = np.zeros(lattices.copies, dtype=int)
        while True:
            going = (self.sweeps < limit) & (waited < _PATIENCE)
            active = (violation > target) & going[:, None]
            if not active.any() or self.stop[0]:
                return
            steps = [self._sweep_of(tuner.omega) for tuner in tuners]
            count = int(min(_CHECK, (limit - self.sweeps[active.any(axis=1)]).min()))
            done = self._sweep(lattices, steps, count, active)
            if not done:
                return
            before = violation
            measured = self._measured(lattices, np.asarray(active.any(axis=1)))
            violation = measured.violation(options)
            for b in range(lattices.copies):
                worst = float(violation[b].max())
                if active[b].any():
                    tuners[b].look(float(before[b].max()), worst, done)
                    self._gained[b] = max(0.0, np.log10(before[b].max() / worst)) / done
                waited[b] = 0 if worst < 0.9 * best[b] else waited[b] + 1
                best[b] = min(best[b], worst)
            waited[best > _EXHAUSTED * lattices.floor(options)] = 0
            self.omegas = np.array([tuner.omega for tuner in tuners])

    def accelerate(self, lattices: Lattices, target: float) -> None:
        """Conjugate gradient steps while they gain more than the sweeps before did at their cost.

        Ends for a copy when theta is below `target`.
        """
        options = self.options
        measured = self._measured(lattices)
        violation = measured.violation(options)
        if (violation <= target).all():
            return
        slow = np.zeros(lattices.copies, dtype=int)
        steps = FourierSteps(lattices, options)
        while True:
            # One slow burst may be a line search that went astray; three in a row are not.
            going = (self.sweeps < options.max_sweeps) & (slow < 3)
            active = (violation > target) & going[:, None]
            if not active.any() or self.stop[0]:
                return
            began = time.perf_counter()
            for _ in range(_BURST):
                steps.advance(active)
            moving = np.asarray(active.any(axis=1))
            self.sweeps[moving] += _BURST
            self.seconds += time.perf_counter() - began
            self.updates += _BURST * float(active.mean(axis=1).sum()) * lattices.volume
            before, height = violation.max(axis=1), measured.functional.mean(axis=1)
            measured = self._measured(lattices, moving)
            violation = measured.violation(options)
            gained = np.log10(before / violation.max(axis=1)) / _BURST
            climbs = measured.functional.mean(axis=1) - height > _BURST * _CLIMB
            worth = gained > lattices.iteration_cost * self._gained
            slow = np.where(worth | climbs, 0, slow + 1)

    # -- parts -------------------------------------------------------------------------------

    def _tuner(self, lattices: Lattices, copy: int) -> OmegaTuner:
        options = self.options
        if options.omega is not None:
            return OmegaTuner(options.omega, fixed=True)
        if options.method in ("relaxation", "stochastic"):
            return OmegaTuner(1.0, fixed=True)
        if options.method == "overrelaxation":
            return OmegaTuner(1.4, fixed=True)
        noise = 10 * lattices.floor(options)
        if not np.isnan(self.omegas[copy]):
            return OmegaTuner(float(self.omegas[copy]), fixed=False, noise=noise)
        extent = lattices.volume**0.25
        return OmegaTuner(2 / (1 + 1.8 / extent), fixed=False, noise=noise)

    def _sweep_of(self, omega: float) -> Sweep:
        options = self.options
        if options.method == "relaxation":
            return Sweep(0)
        if options.method == "stochastic":
            return Sweep(0, omega=2.0, second=1.0, probability=options.probability)
        if options.method == "overrelaxation":
            second = 0.5 * omega * (omega - 1) if options.order == 2 else 0.0
            return Sweep(0, omega=omega, second=second)
        return Sweep(1, omega=omega)

    def _sweep(
        self, lattices: Lattices, sweep: Sweep | list[Sweep], count: int, active: NDArray[np.bool_]
    ) -> int:
        steps = sweep if isinstance(sweep, list) else [sweep] * lattices.copies
        began = time.perf_counter()
        moving = active.any(axis=1)
        done = lattices.sweep(steps, self.seeds, self.sweeps, count, active, self.stop)
        self.seconds += time.perf_counter() - began
        self.updates += done * float(active.mean(axis=1).sum()) * lattices.volume
        self.sweeps[moving] += done
        return done

    def _measured(self, lattices: Lattices, moved: NDArray[np.bool_] | None = None) -> Measurement:
        measured = lattices.measure()
        violation = measured.violation(self.options).max(axis=1)
        for b in range(lattices.copies):
            if moved is None or moved[b]:
                height = float(measured.functional[b].mean())
                row = float(self.sweeps[b]), height, float(violation[b])
                if self.history[b] and self.history[b][-1][0] == row[0]:
                    self.history[b].pop()
                self.history[b].append(row)
        return measured


def single_target(options: FixOptions) -> float:
    """Where sweeps in single precision hand over to double."""
    return max(options.theta, 10 * FLOORS["single"][options.reduction])
