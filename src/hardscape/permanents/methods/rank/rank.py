r"""Permanents of matrices of low rank, and of those plus a diagonal, in integers.

For A = U V with r columns in U the permanent is found from two products of n linear forms in r variables
(A. Barvinok, Math. Oper. Res. 21, 65 (1996), section 3):

.. math::
    \mathrm{per}(A) = \sum_{|m| = n} m_1! \cdots m_r!\; p_m q_m, \qquad
    \prod_i \sum_k u_{ik} x_k = \sum_m p_m x^m, \quad \prod_j \sum_k v_{kj} y_k = \sum_m q_m y^m,

since a permutation gives each of the n columns a variable, and those with the same one can be exchanged. With a
diagonal D a row takes its diagonal entry, and its column goes, or a product of two forms:

.. math::
    \mathrm{per}(A + D) = \sum_m m_1! \cdots m_r!\; [x^m y^m]
    \prod_i \bigl(d_i + (u_i \cdot x)(v_i \cdot y)\bigr).

The products take about :math:`n^r` and :math:`n^{2r}` operations. All is done in integers, so nothing
rounds; the factors are proven to be those of the matrix (:mod:`hardscape.permanents.structure.rank`). Complex
numbers are Gaussian integers, whose parts are the first axis of all coefficients.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Device, Partial, Shard, ShardResult
from hardscape.permanents.methods.method import Arithmetic, Block, Choice, Method, Way, started
from hardscape.permanents.methods.sums import OneShard
from hardscape.permanents.numbers.bounded import rounded
from hardscape.permanents.numbers.gaussian import ExactComplex, gaussian_integers_of
from hardscape.permanents.numbers.integers import bytes_of, integer_of
from hardscape.permanents.structure.rank import LowRank, low_rank, pivots, residues

#: Ranks that are looked for, and sides from which it is worth a look.
_MOST, _LEAST_SIDE = 8, 8
#: Seconds of a product of integers, for each word of those, and how much longer one of Gaussian ones takes.
_EACH, _GAUSSIAN = 1.5e-7, 5.0

#: Linear forms: the parts of their coefficients.
_Form = Sequence[tuple[int, ...]]
_Forms = Sequence[_Form]


def products(n: int, rank: int, mixed: bool) -> float:
    """Products of integers for a side, a rank, and whether there is a diagonal."""
    if mixed:
        return rank**2 * float(n) ** (2 * rank) / (2 * rank) + n
    return 2 * float(n) ** max(1, rank) + n


@dataclass(frozen=True)
class LowRankWork(OneShard[Any]):
    """The products of forms, in one shard."""

    factors: LowRank
    rounds: bool = False  #: whether the permanent, found exactly, is rounded to a `BoundedNumber`

    name: ClassVar[str] = "permanents.rank"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "rows"

    @property
    def steps(self) -> int:
        """Rows."""
        return len(self.factors.u)

    def brief(self, device: Device) -> bool:
        """It holds Python's lock all the time, and asks at each row whether to go on."""
        return True

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows."""
        given, parts = self.factors, 2 if self.factors.is_complex else 1
        u = [[_parts(x, parts) for x in row] for row in given.u]
        v = [[_parts(x, parts) for x in column] for column in zip(*given.v, strict=True)]
        diagonal = None if given.diagonal is None else [_parts(x, parts) for x in given.diagonal]
        if not given.v:
            value: Any = math.prod(given.diagonal or (0,))
        elif diagonal is None:
            value = _plain(u, v, context)
        else:
            value = _mixed(u, v, diagonal, context)
        if value is None:
            return ShardResult({}, False)
        names = zip(("value", "imag"), _parts(value, parts), strict=False)
        return ShardResult({name: bytes_of(part) for name, part in names})

    def result(self, partial: Partial) -> Any:
        """The permanent."""
        found = [integer_of(partial[name]) for name in ("value", "imag") if name in partial]
        scale: Any = math.prod([self.factors.times] * self.steps)
        whole = ExactComplex(*found) / scale if len(found) > 1 else Fraction(found[0], scale)
        return rounded(whole, complex if len(found) == 2 else float) if self.rounds else whole


def _parts(number: Any, count: int) -> tuple[int, ...]:
    """Real part, or real and imaginary part, of a (Gaussian) integer."""
    return (number.real, number.imag)[:count]


def _number(parts: Any) -> Any:
    return int(parts[0]) if len(parts) == 1 else ExactComplex(*map(int, parts))


def _add_product(sums: NDArray[Any], coefficients: NDArray[Any], x: tuple[int, ...]) -> None:
    """Add coefficients times a number, parts first."""
    real, *imag = coefficients
    sums[0] += x[0] * real
    if imag:
        sums[0] -= x[1] * imag[0]
        sums[1] += x[0] * imag[0]
        sums[1] += x[1] * real


def _plain(u: _Forms, v: _Forms, context: Context) -> Any:
    p, q = _form_product(u, context), _form_product(v, context)
    if p is None or q is None:
        return None
    places: list[Any] = [(..., *m) for m in np.argwhere(p.any(axis=0)).tolist()]
    return sum(_factorials(m[1:], len(u)) * _number(p[m]) * _number(q[m]) for m in places)


def _one(parts: int, variables: int) -> NDArray[Any]:
    """The polynomial 1."""
    one = np.full((parts, *(1,) * variables), 0, dtype=object)
    one[0] = 1
    return one


def _form_product(forms: _Forms, context: Context) -> NDArray[Any] | None:
    """Coefficients of a product of linear forms, by the exponents of all variables but the last one."""
    last = len(forms[0]) - 1
    coefficients = _one(len(forms[0][0]), last)
    for form in forms:
        if context.stopped():
            return None
        grown = _grown(coefficients)
        for k, x in enumerate(form):
            if any(x):
                place = _moved(coefficients, [k] if k < last else [])
                _add_product(grown[place], coefficients, x)
        coefficients = grown
    return coefficients


def _mixed(u: _Forms, v: _Forms, diagonal: _Form, context: Context) -> Any:
    last = len(u[0]) - 1
    # By the degree in x, and in y, and the exponents of all variables but the last ones.
    coefficients = _one(len(diagonal[0]), 2 * last + 1)
    for left, right, d in zip(u, v, diagonal, strict=True):
        if context.stopped():
            return None
        grown = _grown(coefficients)
        if any(d):
            _add_product(grown[_moved(coefficients, [])], coefficients, d)
        for (k, x), (m, y) in itertools.product(enumerate(left), enumerate(right)):
            if any(x) and any(y):
                places = [0, *([1 + k] if k < last else []), *([1 + last + m] if m < last else [])]
                both = _parts(_number(x) * _number(y), len(x))
                _add_product(grown[_moved(coefficients, places)], coefficients, both)
        coefficients = grown
    total: Any = 0
    for degree, *exponents in zip(*np.nonzero(coefficients.any(axis=0)), strict=True):
        if exponents[:last] == exponents[last:]:
            factor = _factorials(exponents[:last], int(degree))
            total += factor * _number(coefficients[:, degree, *exponents])
    return total


def _grown(coefficients: NDArray[Any]) -> NDArray[Any]:
    """Zeros for one degree more in each variable."""
    parts, *degrees = coefficients.shape
    return np.zeros([parts, *(x + 1 for x in degrees)], dtype=object)


def _moved(coefficients: NDArray[Any], axes: Sequence[int]) -> tuple[Any, ...]:
    """Where coefficients go that are multiplied with the variables of some axes."""
    places = enumerate(coefficients.shape[1:])
    return (..., *(slice(axis in axes, size + (axis in axes)) for axis, size in places))


def _factorials(exponents: Sequence[Any], degree: int) -> int:
    """Of all exponents, the last one of which is left out."""
    found = [int(x) for x in exponents]
    return math.prod(map(math.factorial, [*found, degree - sum(found)]))


class RankExactly(Method):
    """Low rank in integers, Gaussian ones too."""

    name = "rank"
    arithmetic: ClassVar[Arithmetic] = "exact"
    look = 1e-3
    gaussian = True

    def least(self, block: Block, choice: Choice) -> float:
        """To set it up."""
        return started(0.0)

    def cancels(self, block: Block) -> bool:
        """Everything is exact."""
        return False

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """One, for matrices that are found to be of low rank, or that and a diagonal."""
        n, is_complex = block.side, block.is_complex or block.is_gaussian
        if block.error is not None or n < _LEAST_SIDE:
            return f"exact entries and sides from {_LEAST_SIDE} are looked at"
        if block.primes:
            return "integers that stand for complex numbers are too long"
        ranks, each = range(1, _MOST + 1), _EACH * (_GAUSSIAN if is_complex else 1)
        most = max((r for r in ranks if each * products(n, r, False) <= limit), default=0)
        mixed = max((r for r in ranks if each * products(n, r, True) <= limit), default=0)
        # A few rows are enough to see that a rank is high.
        few = residues(block.entries[::2][: 2 * max(most, mixed) + 2])
        if pivots(few, most) is None and pivots(few[:, 1::2], mixed) is None:
            return f"its rank is above {most}, and above {mixed} off the diagonal"
        integers, scale = gaussian_integers_of(block.entries) if is_complex else block.integers
        factors = low_rank(integers, residues(np.array(integers, dtype=object)), most, mixed)
        if factors is None:
            return "its rank is low in places only"
        work = LowRankWork(factors, rounds=not choice.exact)
        count = products(n, len(factors.v), factors.diagonal is not None)
        largest = max(abs(part) for row in integers for x in row for part in _parts(x, 2))
        longest = max(map(abs, _parts(factors.times, 2)))
        words = 1 + n * (largest.bit_length() + longest.bit_length()) / 512
        seconds = started(each * count * words)
        return [Way(self, work, int(count), seconds, cancels=False, scale=scale)]


class Rank(RankExactly):
    """Low rank in floating point: floats are the rationals that they are."""

    arithmetic = "double"
