r"""Bounds of permanents that take no sums.

All are taken of a matrix P with row and column sums near 1, and scaled back: per(A) = per(P) times the factors.
That P is not quite doubly stochastic is part of the bounds: there is a doubly stochastic P' that differs
from P in the edges of a spanning forest of its nonzero entries only, each by at most R, the sum of
what the sums of P are off 1 (send the differences along the forest). Hence :math:`P \ge t P'` for
:math:`t = 1 / (1 + R / p)` with the least entry p of the forest, and a heaviest forest serves best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.interrupts import interruptible
from hardscape.permanents.approximation.balance import Balanced, balanced
from hardscape.plain import Plain, finite_or_none

_LOWER = ("van der Waerden", "Gurvits", "Schrijver")
#: The least entry of a balanced matrix that is left out of lower bounds, if it cannot be balanced.
_SMALLEST = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Plain):
    """Between what a permanent's magnitude lies.

    Attributes
    ----------
    lower, upper : float
        0 or infinite where they leave float64. For matrices with negative or complex entries the
        lower one is 0.
    log_lower, log_upper : float
        Their natural logarithms, whatever their size; minus infinity for 0.
    lower_by, upper_by : str
        Which of `logs` they are.
    logs : dict
        Logarithms of all bounds by their names.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import bounds
    >>> found = bounds(np.ones((6, 6)))
    >>> found.lower <= 720 <= found.upper
    True
    """

    lower: float
    upper: float
    log_lower: float
    log_upper: float
    lower_by: str
    upper_by: str
    logs: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; infinities, which JSON cannot hold, are None."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("lower", "upper", "log_lower", "log_upper"):
            plain[name] = finite_or_none(plain[name])
        plain["logs"] = {name: finite_or_none(x) for name, x in self.logs.items()}
        return plain


@interruptible
def bounds(a: Any) -> Bounds:
    r"""Bound the permanent of a square matrix from both sides, in time :math:`O(n^3)`.

    Parameters
    ----------
    a : array-like, shape (n, n)
        As for :func:`hardscape.permanent`.

    Returns
    -------
    Bounds
        Of the permanent of a nonnegative matrix; of the permanent's magnitude for others.

    Raises
    ------
    InputError
        If `a` is not one square matrix of numbers.

    Notes
    -----
    With factors of rows and columns that make the magnitudes P doubly stochastic, for nonnegative matrices

    * "van der Waerden": :math:`n! / n^n` (Egorychev; Falikman, 1981);
    * "Gurvits": :math:`\prod_i g(\min(i, d_i))`, :math:`g(k) = ((k-1)/k)^{k-1}`, for columns of
      :math:`d_1 \ge d_2 \ge \dots` nonzero entries (Electron. J. Combin. 15, R66, 2008), which is Schrijver's
      :math:`((d-1)^{d-1} / d^{d-2})^n` for a regular pattern, or better;
    * "Schrijver": :math:`\prod_{ij} (1 - p_{ij})^{1 - p_{ij}}`, the Bethe permanent at P (J. Combin. Theory
      B 72, 1, 1998; Gurvits, arXiv:1106.2844);

    and from above, for all,

    * "Bregman": :math:`\prod_i \sum_k (x_{ik} - x_{i,k+1}) (k!)^{1/k}` for rows in decreasing order
      (:math:`\prod_i (r_i!)^{1/r_i}` for entries 0 and 1), or the same with columns: each row is a sum of
      rows of 0 and 1, and permanents are linear in each row (Soules, Linear Algebra Appl. 394, 73, 2005);
    * "Carlen, Lieb and Loss": :math:`n!\, n^{-n/2} \prod_i \lVert a_i \rVert_2` (2006), or with columns;
    * "Gurvits and Glynn": :math:`\lVert A \rVert_2^n`.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import bounds
    >>> found = bounds(np.ones((10, 10)))  # of 10! = 3628800
    >>> round(found.lower), round(found.upper)
    (3628800, 3628800)
    """
    scaled = balanced(a)
    if scaled is None:
        return Bounds(0.0, 0.0, -math.inf, -math.inf, "structure", "structure", {})
    below = _lower(scaled) if scaled.nonnegative else {"magnitude": -math.inf}
    above = _upper(scaled)
    room = scaled.log_error
    below = {name: x + scaled.log_scale - room for name, x in below.items()}
    above = {name: x + scaled.log_scale + room for name, x in above.items()}
    lower_by = max(below, key=lambda name: below[name])
    upper_by = min(above, key=lambda name: above[name])
    low, high = below[lower_by], above[upper_by]
    return Bounds(exponential(low), exponential(high), low, high, lower_by, upper_by, below | above)


def exponential(log: float) -> float:
    """The number with this natural logarithm; infinite beyond float64."""
    return math.exp(log) if log < 709 else math.inf


def _lower(scaled: Balanced) -> dict[str, float]:
    p, n = scaled.magnitudes, scaled.side
    off = float(np.abs(p.sum(axis=0) - 1).sum() + np.abs(p.sum(axis=1) - 1).sum())
    off += 4e-16 * n * (n + 2)
    edges = _heaviest_forest(p)
    if n and off >= edges.min() / 2:
        return _lower_of_large(p)
    shrunk = -n * math.log1p(off / edges.min()) if n else 0.0
    degrees = np.sort((p > 0).sum(axis=0))[::-1]
    steps = np.minimum(np.arange(1, n + 1), degrees)
    flat = _entropy(p[p > 0])
    moved = _entropy_below(edges, off) - (edges + off) * (off / edges)
    bethe = float(flat.sum() - _entropy(edges).sum() + moved.sum())
    values = (
        math.lgamma(n + 1) - n * math.log(max(1, n)) + shrunk,
        _capacity(steps) + shrunk,
        bethe,
    )
    return dict(zip(_LOWER, values, strict=True))


def _lower_of_large(p: NDArray[np.float64]) -> dict[str, float]:
    """The same without small entries, which slow Sinkhorn's iteration down: no permanent grows by that."""
    cut = max(_SMALLEST, 1e3 * float(p[p > 0].min()))
    fewer = balanced(np.where(p < cut, 0.0, p)) if cut < 1 else None
    if fewer is None:
        return dict.fromkeys(_LOWER, -math.inf)
    room = fewer.log_scale - fewer.log_error
    return {name: x + room for name, x in _lower(fewer).items()}


def _capacity(steps: NDArray[np.int64]) -> float:
    """Logarithm of prod g(k), g(k) = ((k - 1) / k)^(k - 1)."""
    return float(sum((k - 1) * math.log((k - 1) / k) for k in steps.tolist() if k > 1))


def _entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1 - p) log(1 - p)."""
    rest = np.maximum(1 - p, 0.0)
    found: NDArray[np.float64] = rest * np.log(np.where(rest > 0, rest, 1.0))
    return found


def _entropy_below(p: NDArray[np.float64], off: float) -> NDArray[np.float64]:
    """Its least value within `off` of p."""
    ends = np.minimum(_entropy(p - off), _entropy(np.minimum(p + off, 1.0)))
    return np.where(np.abs(p - (1 - math.exp(-1))) <= off, -math.exp(-1), ends)


def _heaviest_forest(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges of a spanning forest of the nonzero entries, as heavy as there is (Prim)."""
    n = len(p)
    edges: list[float] = []
    best = np.zeros(2 * n)  # of each line, rows first: its heaviest edge to the tree
    left = np.ones(2 * n, dtype=bool)
    for _ in range(2 * n):
        line = int(np.argmax(np.where(left, best, -1.0)))
        if best[line] > 0:
            edges.append(float(best[line]))
        left[line] = False
        other = slice(n, 2 * n) if line < n else slice(0, n)
        best[other] = np.maximum(best[other], p[line] if line < n else p[:, line - n])
    return np.array(edges)


def _upper(scaled: Balanced) -> dict[str, float]:
    p, n = scaled.magnitudes, scaled.side
    if n == 0:
        return {"Bregman": 0.0}
    squares = min(np.log((p**2).sum(axis=k)).sum() for k in (0, 1)) / 2
    norm = float(np.linalg.norm(scaled.entries, 2)) * (1 + 1e-14 * n)
    return {
        "Bregman": min(_bregman(p), _bregman(p.T)),
        "Carlen, Lieb and Loss": float(math.lgamma(n + 1) - n / 2 * math.log(n) + squares),
        "Gurvits and Glynn": n * math.log(norm),
    }


def _bregman(p: NDArray[np.float64]) -> float:
    k = np.arange(1, len(p) + 1)
    roots = np.exp(np.cumsum(np.log(k)) / k)
    steps = np.sort(p, axis=1)[:, ::-1]
    steps = steps - np.hstack([steps[:, 1:], np.zeros((len(p), 1))])
    return float(np.log(steps @ roots).sum())
