"""Relaxation: what a sweep does at each site, and the overrelaxation that suits a lattice."""

from __future__ import annotations

import numpy as np

from hardscape.gauge.lattice.lattices import Sweep
from hardscape.gauge.options import FixOptions

#: Below this theta the functional is quadratic and rates of convergence mean something.
QUADRATIC = 1e-2
#: Steps in which omega is tuned, a part of 1: devices whose functions round in different ways take the same.
STEPS = 2**20

#: Temperatures of the first and of the last heatbath sweep, in units of that at which g orders.
_SPAN = (1.15, 0.7)


def temperatures(options: FixOptions, nc: int) -> tuple[float, float]:
    """Between which annealing cools: those asked for, or from above to below where g orders."""
    if options.temperatures is not None:
        return options.temperatures
    ordered = _ordering(options, nc)
    return _SPAN[0] * ordered, _SPAN[1] * ordered


def schedules(options: FixOptions, nc: int) -> list[tuple[float, float]]:
    """What a scan compares: annealing's own temperatures, from twice as warm, and to half as cold."""
    first, last = temperatures(options, nc)
    return [(first, last), (2 * first, last), (first, last / 2)]


def _ordering(options: FixOptions, nc: int) -> float:
    """The temperature below which the mean field of the neighbours holds itself up.

    At d / N in d directions, or 2 d / N for the real traces of SU(2), less what fluctuations and links take
    from it (theory/gauge-fixing).
    """
    directions = float(options.weights.sum())
    if options.gauge == "mag":
        return (0.36 if nc == 2 else 0.21) * directions * (1 if nc <= 3 else 3 / nc)
    return (0.65 if nc == 2 else 0.9 / nc) * directions


def relaxed(options: FixOptions, omega: float) -> Sweep:
    """One hit in each subgroup."""
    return Sweep(0)


def subgroups(options: FixOptions, omega: float) -> Sweep:
    """One overrelaxed hit in each subgroup."""
    second = 0.5 * omega * (omega - 1) if options.omega_order == 2 else 0.0
    return Sweep(0, omega=omega, second=second)


def stochastic(options: FixOptions, omega: float) -> Sweep:
    """One hit in each subgroup, squared with a probability."""
    return Sweep(0, omega=2.0, second=1.0, probability=options.probability)


def matrix(options: FixOptions, omega: float) -> Sweep:
    """The site's maximum, and overrelaxation of the whole matrix."""
    return Sweep(1, omega=omega)


class OmegaTuner:
    """Finds the overrelaxation of one copy while it converges.

    Successive overrelaxation of a quadratic functional contracts by omega - 1 a sweep if omega is at
    or above its best value, and by a larger factor lambda below it; from lambda follows the best
    omega (D. M. Young, Iterative Solution of Large Linear Systems, 1971, chapter 6). theta goes with
    the square of the contraction.
    """

    def __init__(self, start: float, fixed: bool, noise: float = 0.0) -> None:
        self.omega = start
        self.fixed = fixed
        self.noise = noise  # theta below which rounding shows
        self.floor = 1.0

    def look(self, before: float, after: float, sweeps: int) -> None:
        """Take note of theta before and after some sweeps."""
        if self.fixed or not self.noise < after < QUADRATIC or not before < QUADRATIC:
            return
        rate = (after / before) ** (0.5 / sweeps)
        contraction = self.omega - 1
        if rate >= 1:
            return
        if rate > 1.03 * contraction:  # below the best value
            mu2 = min((rate + contraction) ** 2 / (rate * self.omega**2), 0.9999)
            best = 2 / (1 + np.sqrt(1 - mu2))
            self.floor = max(self.floor, self.omega)
            self.omega = _in_steps(min(max(best, self.omega), 1.98))
        elif self.omega > self.floor:
            lower = 1 + 0.94 * contraction
            self.omega = _in_steps(max(lower, 0.5 * (self.floor + self.omega)))


def _in_steps(omega: float) -> float:
    return float(np.rint(omega * STEPS) / STEPS)
