r"""Free energy of the K-spin model on K-regular random graphs at fixed magnetisation.

The quasi-greedy search flips a spin of one violated clause with probability w_1, as a Metropolis
algorithm would at the temperature :math:`T_{run} = -2 / \ln w_1`. Its time to solution grows
like :math:`\exp(N \beta \max_m \Delta f)`, the barrier between the paramagnet and the solution
(Bernaschi et al., EPL 133, 60005, 2021, Eq. 3 and 4, with the signs that make them consistent):

.. math::
    -\beta f &= \ln Z_i + \ln Z_a - K \ln Z_{ai} - \beta b m, \\
    Z_i &= \frac{2 \cosh \beta (K u + b)}{(2 \cosh \beta u)^K}, \quad
    Z_a = \cosh \beta \, (1 + \tanh \beta \tanh^K \beta h), \quad
    Z_{ai} = \frac{\cosh \beta (u + h)}{2 \cosh \beta u \cosh \beta h}, \\
    h &= (K - 1) u + b, \quad \tanh \beta u = \tanh \beta \tanh^{K-1} \beta h, \quad
    m = \tanh \beta (K u + b).

Temperatures and energies are in units of the coupling.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.arguments import integer
from hardscape.errors import InputError

#: T_d of the 3-spin model on 3-regular graphs, below which ergodicity is broken
#: (Montanari, Ricci-Tersenghi, Phys. Rev. B 70, 134406, 2004; Krzakala, Zdeborová 2010).
DYNAMIC_TEMPERATURE = 0.51


@dataclass(frozen=True)
class Barrier:
    r"""The barrier between the paramagnet and the solution.

    Attributes
    ----------
    temperature : float
    k : int
    height : float
        :math:`\beta \max_m \Delta f` a variable: the predicted a of :math:`\tau \propto \exp(a N)`.
    magnetization : float
        m of its top.
    """

    temperature: float
    k: int
    height: float
    magnetization: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class FreeEnergy:
    r"""The free energy against the magnetisation, as a curve.

    Attributes
    ----------
    temperature : float
    k : int
    magnetization : float64, shape (points,)
        Ascending from 0 to nearly 1.
    excess : float64, shape (points,)
        :math:`\beta (f - f_{para})` a variable.
    """

    temperature: float
    k: int
    magnetization: NDArray[np.float64]
    excess: NDArray[np.float64]


def run_temperature(w1: float) -> float:
    r"""The pseudo-temperature :math:`T_{run} = -2/\ln w_1` of the quasi-greedy search.

    Examples
    --------
    >>> round(run_temperature(0.055), 6)
    0.689555
    """
    if not 0 < w1 < 1:
        raise InputError(f"w1={w1}; a probability above 0 and below 1 is accepted")
    return -2 / math.log(w1)


def spinodal_temperature(k: int = 3) -> float:
    r"""The highest temperature at which the solution is a local minimum of the free energy.

    .. math:: 1/T_{sp} = \min_x \operatorname{atanh}[\tanh x / \tanh^{K-1} (K-1) x]

    Examples
    --------
    >>> round(spinodal_temperature(), 6)
    0.980548
    """
    k = integer(k, "k", 3, 100)
    return 1 / _stationary_beta(_spinodal_field(k), k)


def free_energy_barrier(temperature: float, k: int = 3) -> Barrier:
    """The barrier between the paramagnet and the solution.

    Parameters
    ----------
    temperature : float
        Above 0 and below :func:`spinodal_temperature`, where there is a barrier.
    k : int
        Variables a clause and clauses a variable, 3 or more.

    Raises
    ------
    InputError

    Notes
    -----
    Where df/dm, the field b, vanishes: the equation for T_sp has a root below the minimising x then,
    found by bisection to full precision.

    Examples
    --------
    >>> barrier = free_energy_barrier(run_temperature(0.055))
    >>> round(barrier.height, 7), round(barrier.magnetization, 3)
    (0.0827249, 0.803)
    """
    k = integer(k, "k", 3, 100)
    highest = _spinodal_field(k)
    beta = _beta(temperature)
    if beta <= _stationary_beta(highest, k):
        raise InputError(
            f"temperature={temperature}; below the spinodal temperature "
            f"{spinodal_temperature(k):.6f} there is a barrier"
        )
    field = _bisect(lambda x: _stationary_beta(x, k) - beta, 1e-9, highest)
    m, excess = _curve(np.array([(k - 1) * field]), beta, k)
    return Barrier(float(temperature), k, float(excess[0]), float(m[0]))


def free_energy(temperature: float, k: int = 3, *, points: int = 400) -> FreeEnergy:
    """The free energy at fixed magnetisation, exact at every point of the curve.

    Parameters
    ----------
    temperature : float
        Above 0.
    k : int
        3 or more.
    points : int
        At least 2.

    Raises
    ------
    InputError
    """
    k = integer(k, "k", 3, 100)
    beta = _beta(temperature)
    points = integer(points, "points", 2, 10**7)
    # The curve is parametrised by beta h; close to m = tanh(beta (h + u)) = 1 it runs to infinity.
    fields = np.arctanh(np.linspace(0, 1 - 1e-9, points))
    m, excess = _curve(fields, beta, k)
    return FreeEnergy(float(temperature), k, m, excess)


def _curve(h: ArrayLike, beta: float, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Magnetisation and excess of the free energy where the cavity field is h (times beta)."""
    h = np.asarray(h, dtype=np.float64)
    u = np.arctanh(math.tanh(beta) * np.tanh(h) ** (k - 1))
    b = h - (k - 1) * u
    m = np.tanh(h + u)
    log_i = _log_2cosh(h + u) - k * _log_2cosh(u)
    log_a = np.log1p(math.tanh(beta) * np.tanh(h) ** k)  # without cosh(beta), which f_para has too
    log_ai = _log_2cosh(h + u) - _log_2cosh(u) - _log_2cosh(h)
    return m, math.log(2) - (log_i + log_a - k * log_ai - b * m)


def _log_2cosh(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.logaddexp(x, -x)


def _stationary_beta(x: float, k: int) -> float:
    """The beta at which b = 0 for beta u = x."""
    ratio = math.tanh(x) / math.tanh((k - 1) * x) ** (k - 1)
    return math.atanh(ratio) if ratio < 1 else math.inf


def _spinodal_field(k: int) -> float:
    """The x that minimises `_stationary_beta`, by golden section."""
    low, high = 1e-3, 10.0
    golden = (math.sqrt(5) - 1) / 2
    while high - low > 1e-9:
        left, right = high - golden * (high - low), low + golden * (high - low)
        if _stationary_beta(left, k) > _stationary_beta(right, k):
            low = left
        else:
            high = right
    return (low + high) / 2


def _bisect(falling: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(200):
        middle = (low + high) / 2
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta(temperature: float) -> float:
    if not 0 < temperature < math.inf:
        raise InputError(f"temperature={temperature}; a number above 0 is accepted")
    return 1 / temperature
