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
rounds; the factors are proven to be those of the matrix (:mod:`hardscape.permanents.structure.rank`).
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
from hardscape.permanents.structure.rank import LowRank, low_rank, pivots, residues

#: Ranks that are looked for, and sides from which it is worth a look.
_MOST, _LEAST_SIDE = 8, 8
#: Seconds of a product of integers, for each word of those.
_EACH = 1.5e-7


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
        u, v, diagonal = (
            self.factors.u,
            tuple(zip(*self.factors.v, strict=True)),
            self.factors.diagonal,
        )
        if not self.factors.v:
            value: int | None = math.prod(diagonal or (0,))
        elif diagonal is None:
            value = _plain(u, v, context)
        else:
            value = _mixed(u, v, diagonal, context)
        if value is None:
            return ShardResult({}, False)
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        return ShardResult({"value": np.frombuffer(data, dtype=np.uint8)})

    def result(self, partial: Partial) -> Any:
        """The permanent."""
        value = int.from_bytes(partial["value"].tobytes(), "little", signed=True)
        whole = Fraction(value, self.factors.times**self.steps)
        return rounded(whole) if self.rounds else whole


def _plain(u: Sequence[Sequence[int]], v: Sequence[Sequence[int]], context: Context) -> int | None:
    p, q = _form_product(u, context), _form_product(v, context)
    if p is None or q is None:
        return None
    places = (m for m in np.ndindex(p.shape) if p[m])
    return sum(_factorials(m, len(u)) * int(p[m]) * int(q[m]) for m in places)


def _form_product(forms: Sequence[Sequence[int]], context: Context) -> NDArray[Any] | None:
    """Coefficients of a product of linear forms, by the exponents of all variables but the last one."""
    last = len(forms[0]) - 1
    coefficients = np.full((1,) * last, 1, dtype=object)
    for form in forms:
        if context.stopped():
            return None
        grown = np.zeros([x + 1 for x in coefficients.shape], dtype=object)
        for k, x in enumerate(form):
            if x:
                grown[_moved(coefficients, [k] if k < last else [])] += x * coefficients
        coefficients = grown
    return coefficients


def _mixed(
    u: Sequence[Sequence[int]],
    v: Sequence[Sequence[int]],
    diagonal: Sequence[int],
    context: Context,
) -> int | None:
    last = len(u[0]) - 1
    # By the degree in x, and in y, and the exponents of all variables but the last ones.
    coefficients = np.full((1,) * (2 * last + 1), 1, dtype=object)
    for left, right, d in zip(u, v, diagonal, strict=True):
        if context.stopped():
            return None
        grown = np.zeros([x + 1 for x in coefficients.shape], dtype=object)
        if d:
            grown[_moved(coefficients, [])] += d * coefficients
        for (k, x), (m, y) in itertools.product(enumerate(left), enumerate(right)):
            if x and y:
                places = [0, *([1 + k] if k < last else []), *([1 + last + m] if m < last else [])]
                grown[_moved(coefficients, places)] += x * y * coefficients
        coefficients = grown
    total = 0
    for degree, *exponents in zip(*np.nonzero(coefficients), strict=True):
        if exponents[:last] == exponents[last:]:
            factor = _factorials(exponents[:last], int(degree))
            total += factor * coefficients[degree, *exponents]
    return int(total)


def _moved(coefficients: NDArray[Any], axes: Sequence[int]) -> tuple[slice, ...]:
    """Where coefficients go that are multiplied with the variables of some axes."""
    return tuple(
        slice(axis in axes, size + (axis in axes)) for axis, size in enumerate(coefficients.shape)
    )


def _factorials(exponents: Sequence[Any], degree: int) -> int:
    """Of all exponents, the last one of which is left out."""
    found = [int(x) for x in exponents]
    return math.prod(map(math.factorial, [*found, degree - sum(found)]))


class RankExactly(Method):
    """Low rank in integers."""

    name = "rank"
    arithmetic: ClassVar[Arithmetic] = "exact"
    look = 1e-3

    def least(self, block: Block, choice: Choice) -> float:
        """To set it up."""
        return started(0.0)

    def cancels(self, block: Block) -> bool:
        """Everything is exact."""
        return False

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """One, for real matrices that are found to be of low rank, or that and a diagonal."""
        n = block.side
        if block.is_complex or block.error is not None or n < _LEAST_SIDE:
            return f"exact real entries and sides from {_LEAST_SIDE} are looked at"
        if block.primes:
            return "integers that stand for complex numbers are too long"
        ranks = range(1, _MOST + 1)
        most = max((r for r in ranks if _EACH * products(n, r, False) <= limit), default=0)
        mixed = max((r for r in ranks if _EACH * products(n, r, True) <= limit), default=0)
        # A few rows are enough to see that a rank is high.
        few = residues(block.entries[::2][: 2 * max(most, mixed) + 2])
        if pivots(few, most) is None and pivots(few[:, 1::2], mixed) is None:
            return f"its rank is above {most}, and above {mixed} off the diagonal"
        integers, scale = block.integers
        factors = low_rank(integers, residues(np.array(integers, dtype=object)), most, mixed)
        if factors is None:
            return "its rank is low in places only"
        work = LowRankWork(factors, rounds=not choice.exact)
        count = products(n, len(factors.v), factors.diagonal is not None)
        largest = max(abs(x) for row in integers for x in row)
        words = 1 + n * (largest.bit_length() + factors.times.bit_length()) / 512
        seconds = started(_EACH * count * words)
        return [Way(self, work, int(count), seconds, cancels=False, scale=scale)]


class Rank(RankExactly):
    """Low rank in floating point: floats are the rationals that they are."""

    arithmetic = "double"
