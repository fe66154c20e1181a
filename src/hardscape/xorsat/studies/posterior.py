r"""The mean time to solution from runs that may have been stopped: its posterior distribution.

A search by many clones solves at an exponentially distributed time, :math:`P[TTS > t] =
e^{-t/\tau}`. If n runs solved, and all runs together, stopped ones included, searched for the time
T, the likelihood is :math:`\tau^{-n} e^{-T/\tau}`. With a prior that is uniform in :math:`\ln\tau`,

.. math:: P(\tau | n) = \frac{T^n}{(n-1)!} \frac{e^{-T/\tau}}{\tau^{n+1}}

(Bernaschi et al., EPL 133, 60005, 2021, where T is runs times timeout, as nearly all runs are
stopped). Where only the number of solved runs is known,

.. math:: P(\tau | n) \propto \frac1\tau (1 - e^{-t/\tau})^n (e^{-t/\tau})^{runs - n}.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.errors import InputError

#: Where a normal distribution has minus and plus one standard deviation.
_LOW, _HIGH = 0.15865525393145707, 0.8413447460685429


class _Posterior(ABC):
    @property
    def low(self) -> float:
        """The quantile at one standard deviation below, 16%."""
        return self.quantile(_LOW)

    @property
    def high(self) -> float:
        """The quantile at one standard deviation above, 84%."""
        return self.quantile(_HIGH)

    def quantile(self, probability: float) -> float:
        """The tau below which a share `probability` of the posterior lies."""
        if not 0 < probability < 1:
            raise InputError(f"probability={probability}; above 0 and below 1 is accepted")
        return self._quantile(probability)

    @abstractmethod
    def _quantile(self, probability: float) -> float: ...


@dataclass(frozen=True)
class TauPosterior(_Posterior):
    """The posterior of tau given n solved runs and the total time: an inverse gamma distribution.

    Notes
    -----
    With n = 0 there is no upper limit: `mode` and `high` are infinite, and `low` is the tau whose
    runs would all have failed with the probability that `low` leaves below it otherwise, 16%.
    """

    solved: int  #: n
    total: float  #: time of all runs, in any unit; tau has the same

    def __post_init__(self) -> None:
        if self.solved < 0 or not 0 <= self.total < math.inf:
            raise InputError(
                f"solved={self.solved}, total={self.total}; a count and a finite time are accepted"
            )

    @property
    def mode(self) -> float:
        """The likeliest ln tau: T/n, the mean time to solution."""
        return self.total / self.solved if self.solved else math.inf

    @property
    def low(self) -> float:
        """The quantile at one standard deviation below, 16%."""
        return self.quantile(_LOW) if self.solved else self.total / -math.log(_LOW)

    def _quantile(self, probability: float) -> float:
        if not self.solved:
            return math.inf
        return self.total / _gamma_quantile(self.solved, 1 - probability)

    def density(self, tau: ArrayLike) -> NDArray[np.float64]:
        """P(tau | n) for tau > 0; zero everywhere where n = 0, as it cannot be normalised."""
        t = np.asarray(tau, dtype=np.float64)
        if not self.solved or not self.total:
            return np.zeros_like(t)
        n = self.solved
        log = n * math.log(self.total) - math.lgamma(n) - self.total / t - (n + 1) * np.log(t)
        density: NDArray[np.float64] = np.exp(log)
        return density


@dataclass(frozen=True)
class CountPosterior(_Posterior):
    """The posterior of tau where it is only known how many runs solved before a common timeout.

    Notes
    -----
    It has two proper tails only for 0 < solved < runs. Quantiles are found on a grid in ln tau.
    """

    solved: int
    runs: int
    timeout: float

    def __post_init__(self) -> None:
        if not 0 < self.solved < self.runs or not 0 < self.timeout < math.inf:
            raise InputError(
                f"solved={self.solved} of runs={self.runs} within timeout={self.timeout}; some and "
                "not all solved within a finite time are accepted: otherwise tau has no limit on one "
                "side"
            )

    def log_weight(self, tau: ArrayLike) -> NDArray[np.float64]:
        """Ln P(tau | n) tau, up to a constant: the density in ln tau."""
        x = self.timeout / np.asarray(tau, dtype=np.float64)
        weight: NDArray[np.float64] = (
            self.solved * np.log(-np.expm1(-x)) - (self.runs - self.solved) * x
        )
        return weight

    @property
    def mode(self) -> float:
        """The likeliest ln tau: timeout / -ln(1 - n/runs)."""
        return self.timeout / -math.log1p(-self.solved / self.runs)

    def _quantile(self, probability: float) -> float:
        # Tails in ln tau fall like exp(-solved ln tau) above and faster below.
        reach = 40 / math.sqrt(self.solved) + 40 / self.solved
        grid = math.log(self.mode) + np.linspace(-min(reach, 12), reach, 200_001)
        log = self.log_weight(np.exp(grid))
        share = np.cumsum(np.exp(log - log.max()))
        return float(np.exp(np.interp(probability * share[-1], share, grid)))


def _gamma_quantile(n: int, probability: float) -> float:
    """The x with P(n, x) = probability, P the regularised incomplete gamma function, by bisection."""
    low, high = 0.0, n + 40 * math.sqrt(n) + 40
    for _ in range(100):
        middle = (low + high) / 2
        if _gamma_share(n, middle) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _gamma_share(n: int, x: float) -> float:
    """P(n, x): a series below n + 1, Lentz's continued fraction for the complement above."""
    if x <= 0:
        return 0.0
    front = math.exp(n * math.log(x) - x - math.lgamma(n))
    if x < n + 1:
        term = total = 1 / n
        k = n
        while term > total * 1e-17:
            k += 1
            term *= x / k
            total += term
        return front * total
    b = x + 1 - n
    c, d = math.inf, 1 / b
    fraction = d
    for i in range(1, 100_000):
        a = -i * (i - n)
        b += 2
        d = 1 / (a * d + b)
        c = b + a / c
        step = c * d
        fraction *= step
        if abs(step - 1) < 1e-16:
            break
    return 1 - front * fraction
