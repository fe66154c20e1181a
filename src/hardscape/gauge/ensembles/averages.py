r"""Averages over an ensemble and their statistical errors.

The jackknife leaves out one block of configurations after the other; of a mean its error is the usual one, of
a function of means it is that of the function. With the integrated autocorrelation time :math:`\tau` of a
chain the error grows by :math:`\sqrt{2 \tau}`, for which blocks must be long, or the Gamma method is taken
(U. Wolff, Comput. Phys. Commun. 156, 143 (2004)), as pyerrors has it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError, needed

ErrorMethod = Literal["jackknife", "gamma"]
#: Configurations that the Gamma method needs.
_LEAST = 5


class Average(NamedTuple):
    """A mean over configurations; its error is NaN where there are too few of them.

    `tau_int` is the integrated autocorrelation time, in configurations, where it was estimated.
    """

    value: float
    error: float
    tau_int: float | None = None


def checked_errors(error_method: str, bin_size: int) -> None:
    """Refuse what is no way to estimate errors."""
    if error_method not in get_args(ErrorMethod):
        raise InputError(f"error_method={error_method!r}; 'jackknife' and 'gamma' are accepted")
    if isinstance(bin_size, bool) or not isinstance(bin_size, int) or bin_size < 1:
        raise InputError(f"bin_size={bin_size!r}; an integer of 1 or more is accepted")
    if error_method == "gamma":
        _pyerrors()


def _pyerrors() -> Any:
    with warnings.catch_warnings():  # of what it imports
        warnings.simplefilter("ignore")
        return needed("pyerrors", "pyerrors", "errors", "error_method='gamma'")


def average(samples: NDArray[np.float64], error_method: ErrorMethod, bin_size: int = 1) -> Average:
    """The mean of numbers in the order of their chain, shape (n,), and its error; NaN where n is too small."""
    if error_method == "gamma":
        return _gamma(samples)
    value, error = jackknife(samples, bin_size=bin_size)
    return Average(float(value), float(error))


def _itself(means: NDArray[Any]) -> NDArray[Any]:
    return means


def jackknife(
    samples: NDArray[Any],
    function: Callable[[NDArray[Any]], Any] = _itself,
    *,
    bin_size: int = 1,
) -> tuple[Any, Any]:
    """A function of means, and its error.

    Parameters
    ----------
    samples : array, shape (n, ...)
        One entry a configuration.
    function : callable
        From means, shape (...), to a number or an array of numbers.
    bin_size : int
        Configurations that are left out together; those beyond a multiple of it are not used for the error.

    Returns
    -------
    value, error
        The error is NaN for less than two bins.
    """
    value = function(samples.mean(axis=0))
    bins = len(samples) // bin_size
    if bins < 2:
        return value, np.full_like(np.asarray(value, dtype=float), np.nan)[()]
    kept = samples[: bins * bin_size]
    blocks = kept.reshape(bins, bin_size, *samples.shape[1:]).mean(axis=1)
    total = blocks.sum(axis=0)
    without = np.array([function((total - block) / (bins - 1)) for block in blocks])
    spread = np.sum((without - without.mean(axis=0)) ** 2, axis=0)
    return value, np.sqrt(spread * (bins - 1) / bins)


def _gamma(samples: NDArray[np.float64]) -> Average:
    if len(samples) < _LEAST or not np.isfinite(samples).all() or np.ptp(samples) == 0:
        error = 0.0 if len(samples) >= _LEAST and np.ptp(samples) == 0 else math.nan
        return Average(float(samples.mean()), error)
    pyerrors = _pyerrors()
    seen = pyerrors.Obs([samples], ["chain"])
    seen.gamma_method()
    return Average(float(seen.value), float(seen.dvalue), float(seen.e_tauint["chain"]))
