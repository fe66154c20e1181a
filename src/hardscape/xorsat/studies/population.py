r"""Times to solution of many instances: the law of tau among them, from runs that may be stopped.

From instance to instance tau varies by orders of magnitude, about lognormally. If :math:`n_i` runs
of instance i solved, in a time :math:`T_i` of all its runs, the likelihood of the median
:math:`e^\mu` and the scatter s is

.. math:: \prod_i \int dx \, N(x; \mu, s) \, e^{-n_i x - T_i e^{-x}}, \qquad x = \ln\tau,

so that instances without any solved run count for what they are. The median of point estimates is biased where
few runs solve; this is not, as long as tau is lognormal. The prior is uniform in :math:`\mu` and :math:`\ln s`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.plain import Plain, finite_or_none
from hardscape.xorsat.studies.times import TimeToSolution

#: Points of the grids in mu, ln s and x, and in c and a; how far they reach.
_MU, _S, _X, _LINES = 41, 31, 801, 101
_LEAST_S, _MOST_S = 0.05, 3.0
_SCATTERS = np.geomspace(_LEAST_S, _MOST_S, _S)
#: Standard deviations that the grid in mu reaches to either side.
_REACH = 6.0


@dataclass(frozen=True, eq=False, repr=False)
class Population(Plain):
    """The law of tau among instances.

    Attributes
    ----------
    instances, solved : int
        How many instances, and how many of all their runs solved.
    median : float
        exp(mu), in the unit of the times.
    log_error : float
        Standard deviation of mu: that of ln median.
    scatter, scatter_error : float
        s, the standard deviation of ln tau among instances, and its own.

    Examples
    --------
    >>> from hardscape import xorsat
    >>> systems = [xorsat.random_regular(24, seed=seed) for seed in range(8)]
    >>> how = {"runs": 20, "timeout": 5.0, "seed": 1, "device": "cpu"}
    >>> law = xorsat.fit_population([xorsat.time_to_solution(system, **how) for system in systems])
    >>> law.instances, law.solved, law.median > 0
    (8, 160, True)
    """

    instances: int
    solved: int
    median: float
    log_error: float
    scatter: float
    scatter_error: float

    @property
    def error(self) -> float:
        """Standard error of the median."""
        return self.median * self.log_error

    def tts(self, percent: float = 99) -> float:
        r"""TTS_p of the median instance, :math:`-\ln(1 - p/100)` times the median of tau."""
        if not 0 < percent < 100:
            raise InputError(f"percent={percent}; a percentage above 0 and below 100 is accepted")
        return -math.log1p(-percent / 100) * self.median

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        names = ("median", "log_error", "scatter", "scatter_error")
        counts = {"instances": self.instances, "solved": self.solved}
        return counts | {name: finite_or_none(getattr(self, name)) for name in names}


def fit_population(
    results: Sequence[TimeToSolution],
    counted: Literal["clone sweeps", "updates", "seconds"] = "clone sweeps",
) -> Population:
    """Fit a lognormal law of tau to the times to solution of instances.

    Parameters
    ----------
    results : sequence of TimeToSolution
        One an instance.
    counted : {"clone sweeps", "updates", "seconds"}
        What time is counted in. Sweeps of one clone, those of a run times its clones, and spin
        updates compare across machines and numbers of clones; seconds do not.

    Returns
    -------
    Population

    Raises
    ------
    InputError
        If no run of any instance solved.

    Examples
    --------
    >>> from hardscape.xorsat import random_regular, times_to_solution
    >>> systems = [random_regular(24, seed=seed) for seed in range(8)]
    >>> found = times_to_solution(systems, 10, 5.0, device="cpu", threads=1, seed=1)
    >>> law = fit_population(found)
    >>> law.instances, law.solved, 0 < law.log_error < 1
    (8, 80, True)
    """
    scale: dict[str, Callable[[TimeToSolution], float]] = {
        "clone sweeps": lambda x: float(x.sweeps.sum()) * x.clones,
        "updates": lambda x: float(x.sweeps.sum()) * x.clones * x.num_variables,
        "seconds": lambda x: float(x.seconds.sum()),
    }
    if counted not in scale:
        raise InputError(f"counted={counted!r}; {', '.join(scale)} are accepted")
    solved = np.array([x.num_solved for x in results], dtype=np.float64)
    return population_of(solved, np.array([scale[counted](x) for x in results]))


def population_of(solved: NDArray[np.float64], totals: NDArray[np.float64]) -> Population:
    """The same from solved runs and the time of all runs, instance by instance."""
    used = totals > 0
    solved, totals = solved[used], totals[used]
    if not solved.sum():
        raise InputError(f"no run of {len(totals)} instances solved; one at least is needed")
    middle = math.log(totals.sum() / solved.sum())
    spread = 3.0 / math.sqrt(len(totals)) + 3.0 / math.sqrt(solved.sum())
    mean = deviation = np.zeros(2)
    for _ in range(3):  # the grid is laid where the one before found the law
        mean, deviation = _moments(solved, totals, middle, spread)
        middle, spread = float(mean[0]), _REACH * float(deviation[0])
    return Population(
        len(totals),
        int(solved.sum()),
        math.exp(mean[0]),
        float(deviation[0]),
        float(mean[1]),
        float(deviation[1]),
    )


class Growth(NamedTuple):
    """Growth of the median tau with N: a of exp(a N), the median at the largest N, and standard deviations."""

    exponent: float
    error: float
    median: float
    log_error: float


def growth_of(
    runs: Mapping[int, tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> Growth:
    r"""Growth of the median, :math:`\mu = c + a N`; prior uniform in c and a.

    `runs` has, for each N, solved runs and the time of all runs, instance by instance. Unlike a line through
    medians this takes in sizes of which no run has solved yet. Two of the others are needed.
    """
    known = {n: population_of(*pair) for n, pair in runs.items() if pair[0].sum()}
    sizes = np.array(list(known))
    center = float(sizes.mean())
    medians = np.log([one.median for one in known.values()])
    errors = np.array([one.log_error for one in known.values()])
    (slope, height), spread = np.polyfit(sizes - center, medians, 1, w=1 / errors, cov="unscaled")
    # As far as the line is uncertain: one size of few solutions does not make the grid coarse.
    tilt, lift = _REACH * np.sqrt(np.diag(spread))
    slopes = slope + np.linspace(-1, 1, _LINES) * tilt
    heights = height + np.linspace(-1, 1, _LINES) * lift
    log = np.zeros((_LINES, _LINES))
    for n, pair in runs.items():
        mu = heights[:, None] + slopes * (n - center)
        grid = np.linspace(mu.min(), mu.max(), 2 * _LINES)
        log += np.interp(mu, grid, _log_likelihood(*pair, grid))
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    top = heights[:, None] + slopes * (max(runs) - center)
    found = []
    for values in (np.broadcast_to(slopes, weight.shape), top):
        mean = float((values * weight).sum())
        found += [mean, math.sqrt(float(((values - mean) ** 2 * weight).sum()))]
    return Growth(found[0], found[1], math.exp(found[2]), found[3])


def _log_likelihood(
    solved: NDArray[np.float64], totals: NDArray[np.float64], mu: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each mu, ascending, up to a constant; s is averaged over its prior."""
    used = totals > 0
    log = _log_likelihoods(solved[used], totals[used], mu)
    top = log.max(axis=1)
    return np.asarray(top + np.log(np.exp(log - top[:, None]).mean(axis=1)))


def _moments(
    solved: NDArray[np.float64], totals: NDArray[np.float64], middle: float, spread: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and standard deviations of mu and s, on a grid of mu about `middle`."""
    mu = middle + spread * np.linspace(-1, 1, _MU)
    log = _log_likelihoods(solved, totals, mu)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    points = np.stack(np.meshgrid(mu, _SCATTERS, indexing="ij"))
    means = (points * weight).sum(axis=(1, 2))
    variances = ((points - means[:, None, None]) ** 2 * weight).sum(axis=(1, 2))
    return means, np.sqrt(variances)


def _log_likelihoods(
    solved: NDArray[np.float64], totals: NDArray[np.float64], mu: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each mu and s of the grid."""
    s = _SCATTERS
    x = np.linspace(mu[0] - 4 * _MOST_S, mu[-1] + 4 * _MOST_S, _X)
    each = -solved[:, None] * x - totals[:, None] * np.exp(-x)
    tops = each.max(axis=1, keepdims=True)
    likelihood = np.exp(each - tops)  # shape (instances, x)
    away = (x - mu[:, None, None]) / s[:, None]
    normal = np.exp(-0.5 * away**2) / s[:, None]  # shape (mu, s, x)
    return np.asarray(np.log(np.tensordot(likelihood, normal, (1, 2)) + 1e-300).sum(axis=0))
