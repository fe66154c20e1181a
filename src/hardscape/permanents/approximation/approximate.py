"""Permanents that are too large to be found, estimated with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Unpack, get_args

import numpy as np

from hardscape.arguments import integer
from hardscape.engine import Cpu, RunArguments, RunOptions, solve
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, DeviceError, InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.permanents.approximation.balance import Balanced, balanced
from hardscape.permanents.approximation.bounds import Bounds, exponential
from hardscape.permanents.approximation.works import (
    MAX_SAMPLES,
    AcceptedSamples,
    Estimate,
    Samples,
    SignSamples,
)
from hardscape.permanents.plan import unasked
from hardscape.permanents.result import devices_of
from hardscape.plain import Plain, finite_or_none

Estimator = Literal["auto", "gurvits", "huber-law"]

#: Samples where nobody says how many.
_SAMPLES = 10_000
#: Sides for which the squares of samples stay in float64.
_MAX_SIDE = 400


@dataclass(frozen=True, eq=False, repr=False)
class Approximation(Plain):
    """A permanent, about.

    Attributes
    ----------
    value : float or complex
        Infinite, or 0, beyond float64.
    mantissa : float or complex
    exponent : int
        The value is ``mantissa * 2**exponent`` whatever its size.
    error_bound : float
        ``abs(value - permanent)`` is not above this, with the probability `confidence`: proven for any
        matrix.
    relative_error_bound : float
        The same over the value's magnitude.
    standard_error : float
        Estimate of the root mean square of ``value - permanent``.
    confidence : float
    method : str
        "gurvits", "huber-law", or "structure" if zeros decided.
    num_samples : int
    seed : int
    seconds : float
    device : str
    stopped : str
        "" or what cut the call short: there are fewer samples then.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import approximate
    >>> found = approximate(np.ones((8, 8)), seed=1)
    >>> abs(found.value - 40320) <= found.error_bound
    True
    """

    value: float | complex
    mantissa: float | complex
    exponent: int
    error_bound: float
    relative_error_bound: float
    standard_error: float
    confidence: float
    method: str
    num_samples: int
    seed: int
    seconds: float
    device: str
    stopped: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data; complex values are ``{"re", "im"}``, numbers beyond float64 None."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, x in plain.items():
            if isinstance(x, float):
                plain[name] = finite_or_none(x)
            elif isinstance(x, complex):
                plain[name] = {"re": finite_or_none(x.real), "im": finite_or_none(x.imag)}
        return plain

    def plot(self, ax: Any = None, *, between: Bounds | None = None) -> Any:
        """Draw the interval, and `between`, the bounds of the same matrix, beside it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        between : Bounds, optional
            What :func:`hardscape.permanents.bounds` says of the matrix.

        Returns
        -------
        matplotlib axes
            With the logarithm to base 10 of magnitudes.
        """
        from hardscape.permanents.approximation.plots import draw_approximation

        return draw_approximation(self, between, ax)


@interruptible
def approximate(
    a: Any,
    *,
    method: Estimator = "auto",
    num_samples: int | None = None,
    relative_error: float | None = None,
    confidence: float = 0.95,
    **run: Unpack[RunArguments],
) -> Approximation:
    r"""Estimate the permanent of a square matrix by random samples, with a proven interval.

    Parameters
    ----------
    a : array-like, shape (n, n)
        As for :func:`hardscape.permanent`.
    method : {"auto", "gurvits", "huber-law"}
        "huber-law" for nonnegative matrices: accepts samples with a probability that is a known part of the
        permanent. Good for dense ones, of side 100 or more. "gurvits" for all: the mean of Glynn's formula
        over random signs; what it knows is how large the permanent is compared with
        :math:`\lVert A \rVert_2^n`. "auto" takes the first where it can.
    num_samples : int, optional
        By default 10,000. The interval narrows with its square root.
    relative_error : float, optional
        Instead of `num_samples`: `relative_error_bound` that is wished for. A trial of other samples, of a
        second at most, tells how many it takes; in some of a hundred calls that is too few, and the bound is a
        little above the wish.
    confidence : float
        Probability, below 1, with which the interval holds the permanent.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. It runs on CPU threads alone.

    Returns
    -------
    Approximation
        The same for any number of threads and workers; with a `time_limit` from the samples drawn by
        then.

    Raises
    ------
    InputError
        If `a` is not one square matrix, "huber-law" is asked for where it has negative or complex
        entries, or both of `num_samples` and `relative_error` are given.
    DeviceError
        If `device` is a GPU.
    BudgetError
        If the estimate is a day or more and none of `time_limit`, `checkpoint` and `executor` says to
        run it anyway.
    Interrupted
        On Ctrl-C or SIGTERM, with the approximation so far.

    Notes
    -----
    Rows and columns are scaled first so that their magnitudes add up to 1 (Sinkhorn). A sample takes
    :math:`O(n^2)`. "huber-law" needs some :math:`\mathrm{per}(A)^{-1} \prod_i h(r_i) / e` samples for one that
    is accepted, 2 for equal entries; its interval is Clopper and Pearson's. That of "gurvits" is Maurer and
    Pontil's, from the variance of the samples and their largest possible value.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import approximate
    >>> matrix = np.random.default_rng(1).random((100, 100))
    >>> found = approximate(matrix, seed=1)
    >>> found.method, found.relative_error_bound < 0.25
    ('huber-law', True)
    >>> approximate(matrix[:20, :20], relative_error=0.1, seed=1).relative_error_bound < 0.1
    True
    """
    if method not in get_args(Estimator):
        accepted = ", ".join(map(repr, get_args(Estimator)))
        raise InputError(f"method={method!r}; {accepted} are accepted")
    if not 0 < confidence < 1:
        raise InputError(f"confidence={confidence!r}; a number between 0 and 1 is accepted")
    if num_samples is not None and relative_error is not None:
        raise InputError(
            f"num_samples={num_samples!r} and relative_error={relative_error!r}; one of them is accepted"
        )
    count = integer(_SAMPLES if num_samples is None else num_samples, "num_samples", 1, MAX_SAMPLES)
    wished = None if relative_error is None else _wish(relative_error)
    options = RunOptions.checked(**run)
    if not all(isinstance(device, Cpu) for device in options.devices):
        raise DeviceError(f"samples are not drawn on {options.devices[0]}; use device='cpu'")
    scaled = balanced(a)
    device = devices_of((), options.devices)
    if scaled is None or scaled.side == 0:
        value = 0.0 if scaled is None else 1.0
        return Approximation(
            value,
            value,
            0,
            0.0,
            0.0,
            0.0,
            confidence,
            "structure",
            0,
            options.seed,
            0.0,
            device,
            "",
        )
    name, work, log_scale = _work(scaled, method, count, options.seed, confidence)
    if wished is not None:
        left = options.deadline.left
        count = work.needed(wished, 1.0 if left is None else min(1.0, left / 4))
        name, work, log_scale = _work(scaled, method, count, options.seed, confidence)
    _check_budget(work, options)
    outcome = solve(work, options)
    estimate = outcome.answer or Estimate(0.0, 1.0, 1.0, 0)
    numbers = _placed(estimate, log_scale, scaled.log_error)
    found = Approximation(
        *numbers, confidence, name, estimate.num_samples, options.seed, outcome.seconds, device,
        outcome.cut,
    )  # fmt: skip
    if outcome.signum:
        raise Interrupted(outcome.signum, found)
    return found


def _wish(relative_error: float) -> float:
    if isinstance(relative_error, bool) or not 0 < relative_error < 1:
        raise InputError(f"relative_error={relative_error!r}; a number between 0 and 1 is accepted")
    return float(relative_error)


def _work(
    scaled: Balanced, method: Estimator, count: int, seed: int, confidence: float
) -> tuple[str, Samples, float]:
    """The method, its work, and the logarithm of what the work's estimate lacks."""
    if method == "huber-law" and not scaled.nonnegative:
        raise InputError("method='huber-law' is for nonnegative matrices; 'gurvits' takes all")
    if scaled.nonnegative and method != "gurvits":
        ways = []
        for p in (scaled.magnitudes, scaled.magnitudes.T):
            largest = p.max(axis=1)
            work = AcceptedSamples(p / largest[:, None], count, seed, confidence)
            ways.append((work.log_scale + float(np.log(largest).sum()), work))
        log, best = min(ways, key=lambda way: way[0])
        return "huber-law", best, scaled.log_scale + log
    if scaled.side > _MAX_SIDE:
        raise InputError(f"a has side {scaled.side}; method='gurvits' takes {_MAX_SIDE} at most")
    signs = SignSamples(scaled.entries, count, seed, confidence)
    return "gurvits", signs, scaled.log_scale + signs.log_scale


def _check_budget(work: Samples, options: RunOptions) -> None:
    seconds = unasked(work.core_seconds, options.threads, options)
    if seconds is not None:
        raise BudgetError(
            f"{work.count} samples take about {duration(seconds)} on {options.threads} CPU threads; "
            "pass time_limit= for those that are drawn by then, or checkpoint="
        )


def _placed(
    estimate: Estimate, log_scale: float, log_error: float
) -> tuple[float | complex, float | complex, int, float, float, float]:
    """Value, mantissa, exponent, error bound, relative one and standard error, of their true size."""
    exponent = math.floor(log_scale / math.log(2))
    unit = math.exp(log_scale - exponent * math.log(2))
    size = abs(estimate.value)
    bound = (estimate.error_bound + 4 * (log_error + 1e-15) * (size + 1)) * (1 + 1e-12)
    whole = exponential(log_scale)
    value = estimate.value * unit
    return (
        _power(value, exponent), value, exponent, bound * whole, bound / size if size else math.inf,
        estimate.standard_error * whole if estimate.standard_error else 0.0,
    )  # fmt: skip


def _power(value: float | complex, exponent: int) -> float | complex:
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(value, complex):
            return complex(*np.ldexp([value.real, value.imag], exponent).tolist())
        return float(np.ldexp(value, exponent))
