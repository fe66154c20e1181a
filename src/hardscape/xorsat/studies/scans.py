"""How the time to solution depends on w1 and on the number of variables: fits with error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.engine import RunArguments, RunOptions
from hardscape.errors import InputError
from hardscape.interrupts import interruptible
from hardscape.plain import Plain, finite_or_none
from hardscape.xorsat.methods.quasi_greedy.plan import Dynamics
from hardscape.xorsat.methods.quasi_greedy.search import suits_gpu
from hardscape.xorsat.studies.plots import draw_exponent, draw_w1
from hardscape.xorsat.studies.runs import quasi_greedy_trial
from hardscape.xorsat.studies.time_to_solution import study
from hardscape.xorsat.studies.times import TimeToSolution
from hardscape.xorsat.system import XorSystem, checked_system


@dataclass(frozen=True, eq=False)
class W1Scan(Plain):
    r"""Times to solution at several w1, and the parabola through :math:`\ln \tau_{sweeps}`.

    Attributes
    ----------
    w1 : float64, shape (points,)
    results : tuple of TimeToSolution
        One for each w1.
    coefficients : float64, shape (3,), or None
        Of ``c[0] + c[1] w1 + c[2] w1**2``; None with fewer than three points with solved runs.
    optimum, optimum_error : float
        The w1 at its minimum, with its standard error; NaN where there is no minimum among the
        points, only beyond them or none.
    seed : int or None
        With which the scan can be repeated, if it was one.

    Examples
    --------
    >>> from hardscape import xorsat
    >>> scan = xorsat.scan_w1(xorsat.random_regular(24, seed=1), [0.04, 0.06, 0.08], 20, seed=1, device="cpu")
    >>> scan.w1.tolist()
    [0.04, 0.06, 0.08]
    """

    w1: NDArray[np.float64]
    results: tuple[TimeToSolution, ...]
    coefficients: NDArray[np.float64] | None
    optimum: float
    optimum_error: float
    seed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "w1": self.w1.tolist(),
            "results": [x.to_dict() for x in self.results],
            "coefficients": None if self.coefficients is None else self.coefficients.tolist(),
            "optimum": finite_or_none(self.optimum),
            "optimum_error": finite_or_none(self.optimum_error),
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        return f"<W1Scan: {len(self.w1)} points, optimum={self.optimum:.4g} +- {self.optimum_error:.2g}>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the scan; see `hardscape.xorsat.studies.plots.draw_w1`."""
        return draw_w1(self, ax)


@dataclass(frozen=True, eq=False)
class ExponentFit(Plain):
    r"""The law :math:`TTS = A e^{a N}` fitted to times at several sizes.

    Attributes
    ----------
    sizes, times, errors : float64, shape (points,)
        What was fitted: N, TTS and the standard errors of TTS (all 1 where none were given).
    exponent, exponent_error : float
        a and its standard error; without errors of the times the latter comes from their scatter.
    log_prefactor : float
        ln A.
    chi_square : float
        Sum of squares of deviations over errors, for points - 2 degrees of freedom.

    Examples
    --------
    >>> from hardscape.xorsat import ExponentFit, fit_exponent
    >>> fit = fit_exponent([32, 48, 64], [1.0, 4.0, 16.0], [0.1, 0.4, 1.6])
    >>> isinstance(fit, ExponentFit), round(fit.exponent, 4)
    (True, 0.0866)
    """

    COLUMNS: ClassVar[str] = "sizes times errors"

    sizes: NDArray[np.float64]
    times: NDArray[np.float64]
    errors: NDArray[np.float64]
    exponent: float
    exponent_error: float
    log_prefactor: float
    chi_square: float

    def __repr__(self) -> str:
        return (
            f"<ExponentFit: {len(self.sizes)} sizes, exponent={self.exponent:.4g} +- "
            f"{self.exponent_error:.2g}>"
        )

    def predict(self, sizes: ArrayLike) -> NDArray[np.float64]:
        """TTS at other sizes."""
        n = np.asarray(sizes, dtype=np.float64)
        return np.asarray(np.exp(self.log_prefactor + self.exponent * n))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        arrays = {name: getattr(self, name).tolist() for name in ("sizes", "times", "errors")}
        numbers = ("exponent", "exponent_error", "log_prefactor", "chi_square")
        return arrays | {name: finite_or_none(getattr(self, name)) for name in numbers}

    def plot(self, ax: Any = None) -> Any:
        """Draw the fit; see `hardscape.xorsat.studies.plots.draw_exponent`."""
        return draw_exponent(self, ax)


@interruptible
def scan_w1(
    system: XorSystem | str | Path,
    points: ArrayLike = (0.03, 0.04, 0.05, 0.06, 0.07, 0.08),
    runs: int = 100,
    timeout: float = 10.0,
    *,
    dynamics: Dynamics = "quasi-greedy",
    clones: int | None = None,
    restart: int | None = None,
    max_sweeps: int | None = None,
    **run: Unpack[RunArguments],
) -> W1Scan:
    r"""Measure the time to solution at several w1, and fit a parabola to :math:`\ln \tau`.

    Parameters
    ----------
    system : XorSystem, or the path of a file of one
    points : array-like, shape (points,)
        w1 of each point, 0 to 1.
    runs, timeout
        Of each point, as for :func:`time_to_solution`.
    dynamics, clones, restart, max_sweeps, **run
        As for :func:`time_to_solution`, for all points together.

    Returns
    -------
    W1Scan
        `optimum` is the w1 of least sweeps; the paper has 0.054(1) for N = 256.

    Raises
    ------
    InputError
    BudgetError
        If `time_limit` came before a run had ended.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the scan of the runs that had ended, or None.

    Examples
    --------
    >>> from hardscape import xorsat
    >>> scan = xorsat.scan_w1(xorsat.random_regular(24, seed=1), (0.04, 0.06, 0.08), 20, seed=1, device="cpu")
    >>> len(scan.results)
    3
    """
    given = np.asarray(points, dtype=np.float64)
    if given.ndim != 1 or not len(given):
        raise InputError(
            f"points have shape {given.shape}; one axis, one value or more is accepted"
        )
    system = checked_system(system)
    options = RunOptions.checked(big_enough=suits_gpu(system), **run)
    seeds = np.random.SeedSequence(options.seed).generate_state(len(given), np.uint64)
    trials = [
        quasi_greedy_trial(system, options.devices, w1, clones, restart, dynamics, max_sweeps)
        for w1 in given.tolist()
    ]

    def read(results: Sequence[TimeToSolution]) -> W1Scan:
        return replace(fit_w1(given, results), seed=options.seed)

    return study(trials, seeds.tolist(), runs, timeout, options, read, max_sweeps)


def fit_w1(w1: ArrayLike, results: Sequence[TimeToSolution]) -> W1Scan:
    r"""Fit a parabola to :math:`\ln \tau_{sweeps}` against w1, points weighted by solved runs.

    Parameters
    ----------
    w1 : array-like, shape (points,)
    results : sequence of TimeToSolution

    Raises
    ------
    InputError
        If there are not as many results as values.

    Examples
    --------
    >>> from hardscape import xorsat
    >>> system, points = xorsat.random_regular(24, seed=1), (0.04, 0.06, 0.08)
    >>> how = {"runs": 20, "timeout": 5.0, "seed": 1, "device": "cpu"}
    >>> results = [xorsat.time_to_solution(system, w1=w1, **how) for w1 in points]
    >>> xorsat.fit_w1(points, results).w1.tolist()
    [0.04, 0.06, 0.08]
    """
    x = np.asarray(w1, dtype=np.float64)
    if x.shape != (len(results),):
        raise InputError(f"w1 has shape {x.shape}; ({len(results)},), one a result, is accepted")
    solved = np.array([r.num_solved for r in results])
    used = solved > 0
    if len(np.unique(x[used])) < 3:
        return W1Scan(x, tuple(results), None, math.nan, math.nan)
    y = np.log([r.tau_sweeps for r in results if r.num_solved])
    # ln tau has the standard error 1 / sqrt(n).
    c, optimum, error = parabola(x[used], y, 1 / np.sqrt(solved[used]))
    return W1Scan(x, tuple(results), c, optimum, error)


def parabola(
    x: NDArray[np.float64], y: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, float]:
    """Coefficients of a parabola, its least x and its standard error; NaN where none is among the points."""
    c, covariance = _least_squares(np.vander(x, 3, increasing=True), y, errors)
    optimum = error = math.nan
    if c[2] > 0 and x.min() <= -c[1] / (2 * c[2]) <= x.max():
        optimum = -c[1] / (2 * c[2])
        slope = np.array([0, -1 / (2 * c[2]), c[1] / (2 * c[2] ** 2)])
        error = math.sqrt(slope @ covariance @ slope)
    return c, float(optimum), float(error)


def least_w1(
    w1: NDArray[np.float64], log: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[float, float]:
    r"""W1 of the least :math:`\ln\tau = A - b \ln w_1 + c w_1`, and its standard error.

    With few flips clones wait for them, with many they stay warm: unlike a parabola this law rises steeply to
    the left and slowly to the right, so that points far from the least one may be fitted too. NaN where its
    least is not among the points.
    """
    if len(np.unique(w1)) < 3:
        return math.nan, math.nan
    design = np.stack([np.ones_like(w1), -np.log(w1), w1], axis=1)
    (_, b, c), covariance = _least_squares(design, log, errors)
    if c <= 0 or not w1.min() <= b / c <= w1.max():
        return math.nan, math.nan
    slope = np.array([0, 1 / c, -b / c**2])
    return float(b / c), math.sqrt(slope @ covariance @ slope)


def pooled_times(
    solved: NDArray[np.float64], totals: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Mean ln tau of the same instances in several ways of search, and its standard error without theirs.

    Of instance i searched in way w, :math:`\ln\tau = a_i + f_w` is fitted to solved runs and times of shape
    (instances, ways): the likeliest :math:`e^{-a_i} = \sum_w n_{iw} / \sum_w T_{iw} e^{-f_w}`, and likewise
    f. Instances that no way solved say nothing. A way that solved nothing has infinities.
    """
    used = solved.sum(axis=1) > 0
    n, t = solved[used], totals[used]
    rate = np.ones(n.shape[1])
    for _ in range(200):
        each = n.sum(axis=1) / (t @ rate)
        rate = n.sum(axis=0) / np.maximum(each @ t, 1e-300)
    with np.errstate(divide="ignore"):
        return -np.log(rate) - np.log(each).mean(), 1 / np.sqrt(n.sum(axis=0))


def fit_exponent(
    sizes: ArrayLike, times: ArrayLike, errors: ArrayLike | None = None
) -> ExponentFit:
    r"""Fit :math:`TTS = A e^{a N}` by least squares in ln TTS.

    Parameters
    ----------
    sizes : array-like, shape (points,)
        N, two different ones or more.
    times : array-like, shape (points,)
        TTS above 0, in any unit.
    errors : array-like, shape (points,), optional
        Their standard errors, above 0.

    Raises
    ------
    InputError

    Examples
    --------
    The published median times, N = 128, 256 and 320, of 327,680 clones on a V100:

    >>> fit = fit_exponent([128, 256, 320], [0.0275, 640, 130e3], [0.0005, 20, 30e3])
    >>> round(fit.exponent, 4), round(fit.exponent_error, 4)
    (0.0786, 0.0003)
    """
    n, t = (np.asarray(x, dtype=np.float64) for x in (sizes, times))
    given = np.ones_like(t) if errors is None else np.asarray(errors, dtype=np.float64)
    if n.ndim != 1 or not n.shape == t.shape == given.shape:
        raise InputError(
            f"sizes, times and errors have shapes {n.shape}, {t.shape} and {given.shape}; one axis "
            "of the same length is accepted"
        )
    if len(np.unique(n)) < 2:
        raise InputError(f"sizes are {n.tolist()}; two different ones or more are accepted")
    if not (np.isfinite(n) & np.isfinite(t) & np.isfinite(given) & (t > 0) & (given > 0)).all():
        raise InputError("times and errors must be finite and above 0, sizes finite")
    relative = np.ones_like(t) if errors is None else given / t
    c, covariance = _least_squares(np.vander(n, 2, increasing=True), np.log(t), relative)
    deviations = (np.log(t) - c[0] - c[1] * n) / relative
    chi_square, freedom = float(deviations @ deviations), len(n) - 2
    if errors is None:
        covariance = covariance * (chi_square / freedom if freedom else math.nan)
    return ExponentFit(
        n, t, given, float(c[1]), math.sqrt(covariance[1, 1]), float(c[0]), chi_square
    )


def _least_squares(
    design: NDArray[np.float64], y: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients and their covariance."""
    scaled = design / errors[:, None]
    inverse = np.linalg.pinv(scaled)
    return inverse @ (y / errors), inverse @ inverse.T
