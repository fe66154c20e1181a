r"""Permanents in double precision by Glynn's formula, with a bound of the error.

.. math::
    \mathrm{per}(A) = 2^{1-n} \sum_{\delta_1 = 1} \prod_k \delta_k \prod_j s_j, \qquad
    s_j = \sum_i \delta_i a_{ij}

**Scaling.** Rows and columns are multiplied by powers of two so that each column's magnitudes add up
to less than 1, parts of complex numbers counted apart. Then they are rounded to multiples of
:math:`2^{-52}`, which makes every :math:`s_j`, and every step of the Gray code that walks the signs,
exact. What was rounded off column j adds up to :math:`\epsilon_j`; it is 0 for integers of 20 bits,
for instance. The answer is a number and a power of two, so no product overflows.

**Error.** Let :math:`u = 2^{-53}`, let p be the computed products, N = 2^(n-1) their number and S the
sum of :math:`|p|` (for complex numbers of |Re| + |Im|). All is in the units of the scaled sum.

1. A product of n exact factors has n - 1 rounded multiplications. A real one has a relative error of
   u, a complex one of less than 3u (:math:`\sqrt 5 u`; 2u with fused operations). Together at most
   1.01 c n u S, with c = 1 or 3. Underflow adds less than :math:`8 n 2^{n/2} 2^{-1074}` a term,
   because no later factor exceeds 1 (:math:`\sqrt 2`).
2. The 32 terms of a block are added in at most 10 steps: 10 u S.
3. Blocks are added with two-sums: the sum of highs and errors is exact, and only the sum of errors
   rounds. Over L summands the errors add up to at most L u S and their sum is wrong by
   :math:`\gamma_L L u S`; the same holds for the merge of M shards, whose lows are added too:
   in total :math:`2 (L^2 + (4 M)^2) u^2 S`, and u |sum| for the last rounding.
4. Factors :math:`s'_j` of the matrix before rounding differ from :math:`s_j` by at most
   :math:`\epsilon_j`, so :math:`|\prod s'_j - \prod s_j| \le
   \prod (|s_j| + \epsilon_j) - \prod |s_j|`. The kernel sums an upper bound of this by the recursion
   D <- D (|s| + eps) + eps P, P <- P |s|, in which nothing cancels. This guard makes the kernel about
   2.7 times slower and runs only where some :math:`\epsilon_j > 0`.

Without the guard the last item is estimated: S times the sum of :math:`\epsilon_j` over the root mean
square of :math:`s_j`, and what random minors make of roundings. That is not rigorous, and the result says so.

**On CUDA** factors are multiplied in pairs, (u + a)(v + b) = (uv + ab) + (av + bu) with the inner parts
a and b of the sums. This rounds like the largest of the four products. For independent signs the mean of
(\|u\| + \|a\|)(\|v\| + \|b\|) is at most twice the product of the root mean squares of the sums, which is
:math:`\pi / 2` times the mean of \|(u + a)(v + b)\| if they are normal; with three roundings, 10 u for
a pair of factors or 5 u for one, in place of u. The bound of a CUDA sum is such an estimate, always.

D. G. Glynn, European Journal of Combinatorics 31, 1887 (2010). T. Ogita, S. M. Rump, S. Oishi, SIAM
Journal on Scientific Computing 26, 1955 (2005).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Partial, Shard, ShardResult, Work
from hardscape.permanents.cuda import LEAST_SIDE, CudaGlynn
from hardscape.permanents.number import TINY, UNIT, BoundedNumber, merge_sums
from hardscape.permanents.shards import ShardSizes, digest

__all__ = [
    "MAX_GLYNN_SIZE",
    "GlynnWork",
    "ScaledMatrix",
    "column_exponents",
    "equilibrated",
    "row_exponents",
    "typical_excess",
]

#: Largest matrix: blocks are counted in 64 bits.
MAX_GLYNN_SIZE = 63
#: Signs of a block of the kernel; smaller matrices are padded with an identity.
_INNER = 5
#: Shards of 2**30 (2**36) terms at most.
_SHARDS = {"cpu": ShardSizes(64, 2**14, 2**25), "cuda": ShardSizes(8, 2**14, 2**31)}
#: Errors of a factor and its multiplication, in units of 2**-53: proven, and estimated for pairs.
_FACTOR = {"cpu": 1, "cuda": 5}
_GRID_BITS = 52
#: Sweeps that balance rows and columns, at most; random matrices take one or two.
_SWEEPS = 8


@dataclass(frozen=True, eq=False)
class ScaledMatrix:
    """A matrix whose column sums are exact: ``per(A)`` is about ``per(entries) * 2**exponent``.

    Attributes
    ----------
    entries : float64, shape (parts, m, m)
        Multiples of 2**-52, real and imaginary part apart; each column's magnitudes add up to less
        than 1 + m 2**-53. m is n, or the side that `of` completes smaller matrices to.
    slack : float64, shape (m,)
        Upper bound of what rounding to the grid took off each column.
    exponent : int
    """

    entries: NDArray[np.float64]
    slack: NDArray[np.float64]
    exponent: int

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return not self.slack.any()

    @property
    def different_terms(self) -> int:
        """Terms of different absolute value, at most: rows that are equal but for signs give equal ones."""
        counts: dict[bytes, int] = {}
        for i in range(len(self.slack)):
            row = self.entries[:, i].ravel()
            nonzero = row[row != 0]
            sign = -1.0 if nonzero.size and nonzero[0] < 0 else 1.0
            key = (sign * row + 0.0).tobytes()  # no negative zeros
            counts[key] = counts.get(key, 0) + 1
        return math.prod(count + 1 for count in counts.values())

    @classmethod
    def of(
        cls,
        matrix: NDArray[Any],
        least: int = _INNER + 1,
        error: NDArray[np.float64] | None = None,
    ) -> ScaledMatrix:
        """Scale a square float64 or complex128 matrix, completed to `least` rows with an identity.

        Bounds of the errors of the entries, if there are any, count with what rounding takes off.
        """
        n = len(matrix)
        m = max(n, least)
        parts = np.zeros((2 if np.iscomplexobj(matrix) else 1, m, m))
        parts[0, range(n, m), range(n, m)] = 1
        parts[0, :n, :n] = matrix.real
        if len(parts) == 2:
            parts[1, :n, :n] = matrix.imag
        off = np.zeros((m, m))
        if error is not None:
            off[:n, :n] = error
        plain = cls._scaled(parts, off, np.zeros(m, dtype=np.int64))
        return plain if plain.exact else cls._scaled(parts, off, row_exponents(parts))

    @classmethod
    def _scaled(
        cls, parts: NDArray[np.float64], error: NDArray[np.float64], rows: NDArray[np.int64]
    ) -> ScaledMatrix:
        columns = column_exponents(parts, rows)
        entries = _shift(parts, -(rows[:, None] + columns))
        # Entries are below 1 now; a second shift brings the sum of a column below 1.
        more = [
            max(math.frexp(math.fsum(np.abs(part[:, j]).tolist()))[1] for part in entries)
            for j in range(len(rows))
        ]
        columns += np.maximum(more, 0)
        shift = -(rows[:, None] + columns)
        entries = _shift(parts, shift)
        lost = _shift(entries, -shift) != parts
        grid = np.ldexp(np.rint(np.ldexp(entries, _GRID_BITS)), -_GRID_BITS)
        off = np.abs(entries - grid) + np.where(lost, TINY, 0.0)
        off[0] += np.where(error > 0, _shift(error, shift) + TINY, 0.0)
        slack = [
            math.fsum(off[:, :, j].ravel().tolist()) * (1 + 2.0**-50) for j in range(len(rows))
        ]
        return cls(grid, np.array(slack), int(rows.sum() + columns.sum()))


_NO_EXPONENT = -(10**6)


def _exponents(parts: NDArray[np.float64], shift: NDArray[np.int64]) -> NDArray[np.int64]:
    """Binary exponents of the entries' larger parts, less `shift`; zeros have `_NO_EXPONENT`."""
    size = np.abs(parts).max(axis=0)
    exponents = np.frexp(size)[1].astype(np.int64) - shift
    return np.where(size > 0, exponents, _NO_EXPONENT)


def column_exponents(parts: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Exponents to take off the columns, after those of the rows, so that all parts are below 1."""
    columns: NDArray[np.int64] = _exponents(parts, rows[:, None]).max(axis=0)
    columns[columns == _NO_EXPONENT] = 0
    return columns


def row_exponents(parts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exponents to take off the rows, so that rows and columns can have sums of about the same size.

    The largest entry alone does not tell: a column that is small in one large row only would be taken
    for a small one, and all other rows for small in all other columns.
    """
    columns = column_exponents(parts, np.zeros(len(parts[0]), dtype=np.int64))
    rows: NDArray[np.int64] = _exponents(parts, columns).max(axis=1)
    rows[rows == _NO_EXPONENT] = 0
    size = np.abs(parts).max(axis=0)
    for _ in range(_SWEEPS):
        more = np.frexp(_shift(size, -(rows[:, None] + columns)).sum(axis=1))[1]
        rows = rows + more
        columns = columns + np.frexp(_shift(size, -(rows[:, None] + columns)).sum(axis=0))[1]
        if not more.any():
            break
    return rows


def _shift(values: NDArray[np.float64], exponents: NDArray[np.int64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore"):
        shifted: NDArray[np.float64] = np.ldexp(values, exponents.astype(np.int32))
    return shifted


@dataclass(frozen=True, eq=False)
class GlynnWork(Work[Partial]):
    """Sum Glynn's formula. A unit is a block of 32 terms.

    A partial holds ``high`` and ``low`` (float64, shape (parts,): the sum is high + low),
    ``magnitude`` (shape (1,), the sum of the terms' magnitudes) and ``excess`` (shape (1,), what the
    entries rounded off may change; 0 without the guard).

    Attributes
    ----------
    matrix : float64 or complex128, shape (n, n)
        Finite, n from 1 to 63.
    guard : bool
        Whether all that rounds is bounded rather than estimated; "cuda" only estimates.
    kind : {"cpu", "cuda"}
        The kernel: all shards run on devices of this kind.
    error : float64, shape (n, n), or None
        Bounds of the errors of the entries.
    """

    matrix: NDArray[Any]
    guard: bool = True
    kind: Literal["cpu", "cuda"] = "cpu"
    error: NDArray[np.float64] | None = None

    name: ClassVar[str] = "permanents.glynn"
    unit: ClassVar[str] = "blocks"

    @cached_property
    def scaled(self) -> ScaledMatrix:
        """The matrix that is summed."""
        least = LEAST_SIDE if self.kind == "cuda" else _INNER + 1
        return ScaledMatrix.of(self.matrix, least, self.error)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the scaled matrix, which costs nothing to find again.
        return GlynnWork, (self.matrix, self.guard, self.kind, self.error)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return 1 << (len(self.scaled.slack) - 1 - _INNER)

    def digest(self) -> str:
        """Digest of the matrix, of the guard and of the kernel."""
        return digest(self.name, self.matrix, self.guard, self.kind, self.error)

    def shards(self) -> Sequence[Shard]:
        """Shards of a power of two of blocks; on GPUs a million of them at most."""
        return _SHARDS[self.kind].of(self.blocks, self.kind)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of blocks."""
        scaled = self.scaled
        if self.kind == "cuda":
            return self._run_cuda(shard, context)
        slack = scaled.slack if self.guard and not scaled.exact else None
        sums, complete = native.vector.permanents.glynn_sum(
            scaled.entries, slack, shard.start, shard.stop, context.stop
        )
        parts = len(scaled.entries)
        high, low, magnitude, excess = np.split(sums, [parts, 2 * parts, 2 * parts + 1])
        partial = {"high": high, "low": low, "magnitude": magnitude, "excess": excess}
        return ShardResult(partial, complete)

    def _run_cuda(self, shard: Shard, context: Context) -> ShardResult:
        parts, m = self.scaled.entries.shape[:2]
        sums, complete = CudaGlynn(m, parts).sum(
            context.device.ordinal, self.scaled.entries[None], shard.start, shard.stop, context.stop
        )
        high, low, magnitude = np.split(sums[0], [parts, 2 * parts])
        partial = {"high": high, "low": low, "magnitude": magnitude, "excess": np.zeros(1)}
        return ShardResult(partial, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add sums; what a high loses goes to the low."""
        return merge_sums(left, right)

    def total(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound from the merge of all shards."""
        scaled = self.scaled
        parts, m = scaled.entries.shape[:2]
        sums = [math.fsum(pair) for pair in zip(partial["high"], partial["low"], strict=True)]
        magnitude = float(partial["magnitude"][0])
        chain = self.shards()
        # No thread of a GPU adds more in a row than a shard of the CPU.
        steps = float(min(len(chain[0]), _SHARDS["cpu"].most)) ** 2 + (4.0 * len(chain)) ** 2
        factor = _FACTOR[self.kind] * (1 if parts == 1 else 3)
        relative = (m * factor + 10) * UNIT + 2 * steps * UNIT**2
        offset = 2.0 ** (m - 1) * rounding_effect(scaled, len(self.matrix))
        excess = float(partial["excess"][0])
        if not self.guard:
            excess = typical_excess(scaled) * magnitude + 4 * offset
        underflow = 2.0**m * m * 2.0 ** (m / 2) * 8 * TINY
        bound = 1.01 * (relative * magnitude + excess + UNIT * sum(map(abs, sums))) + underflow
        if not scaled.entries.any(axis=(0, 1)).all() and scaled.exact:
            bound = 0.0  # a column of zeros
        mantissa = sums[0] if parts == 1 else complex(*sums)
        rigorous = self.kind == "cpu" and (self.guard or scaled.exact)
        return BoundedNumber(
            mantissa,
            bound,
            scaled.exponent + 1 - m,
            rigorous,
            32 * self.blocks,
            magnitude,
            min(32 * self.blocks, scaled.different_terms),
            offset,
        )


def equilibrated(matrix: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """A matrix whose entries are at most 1 in each part, by powers of two, and what these add up to."""
    parts = np.stack([matrix.real, matrix.imag])
    rows = row_exponents(parts)
    columns = column_exponents(parts, rows)
    scaled = _shift(parts, -(rows[:, None] + columns))
    whole = scaled[0] + 1j * scaled[1] if np.iscomplexobj(matrix) else scaled[0]
    return whole, int(rows.sum() + columns.sum())


def rounding_effect(scaled: ScaledMatrix, n: int) -> float:
    r"""What rounding the entries of the first n lines to the grid probably changes of their permanent.

    Root mean square of :math:`\sum_{ij} \delta_{ij} M_{ij}` for random entries of the given size in each
    column, with minors M. It matters where factors cancel to nothing, so that all terms are small.
    """
    if scaled.exact:
        return 0.0
    parts = len(scaled.entries)
    squares = ((scaled.entries[:, :n, :n] ** 2).sum(axis=(0, 1)) / n).tolist()
    minors = sum(math.prod(squares[:j] + squares[j + 1 :]) for j in range(n))
    return UNIT * math.sqrt(parts / 3 * math.factorial(n) * minors)


def typical_excess(scaled: ScaledMatrix) -> float:
    """Estimate of the relative effect that rounding entries to the grid has on the permanent."""
    spread = np.sqrt((scaled.entries**2).sum(axis=(0, 1)))
    return float((scaled.slack / np.where(spread > 0, spread, 1.0)).sum())
