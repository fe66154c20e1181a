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

**The probable error** is twice the root of the sum of two squares. Roundings of about :math:`\sqrt n u / 4` in
a real term, twice that in a complex one, make :math:`\sqrt n u R N / (4 \sqrt{N'})` for N' different terms of
root mean square R; what the roundings of entries make is :func:`rounding_effect`. How far factors vary
together tells R: let f be the mean of \|p\| by that of independent normal factors, of root mean square P.
For logarithms of magnitudes that are normal :math:`R = f^2 P`, and minors are smaller by nearly as much. R
is between the mean and :math:`3 (8/9)^n \sqrt N` times that, where few signs make most of the sum, as for
entries of one sign: terms :math:`(1 - 2 k / n)^n` of k signs have
:math:`(\sum p)^2 / \sum p^2 \approx ((1 + e^{-2})^2 / (1 + e^{-4}))^n`.

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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Cpu, Cuda, Partial, Shard, ShardResult
from hardscape.permanents.methods.glynn.cuda import LEAST_SIDE, glynn_kernels
from hardscape.permanents.methods.launch import sum_ranges
from hardscape.permanents.methods.method import (
    COMPLEX,
    MAX_SIGNS,
    Block,
    Choice,
    Method,
    Way,
    core_seconds,
    gpu_seconds,
    started,
)
from hardscape.permanents.methods.sums import BlockSum, ShardSizes
from hardscape.permanents.numbers.bounded import TINY, UNIT, BoundedNumber
from hardscape.permanents.structure.scaling import ScaledMatrix, rounding_effect, typical_excess

#: Smallest side of the CPU's kernel; smaller matrices are padded with an identity.
_LEAST_SIDE = 6
#: Blocks of a CPU's shard: at most, and up to which it takes milliseconds.
_MOST, _BRIEF = 2**25, 2**14
#: Terms, by those of independent factors, that are nothing but roundings.
_NOTHING = 2.0**-14


@dataclass(frozen=True, eq=False)
class GlynnWork(BlockSum):
    """Sum Glynn's formula. A unit is a block of 32 terms."""

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n); finite, n from 1 to 70
    #: float64, shape (n, n), or None; bounds of the errors of the entries.
    error: NDArray[np.float64] | None = None
    guard: bool = False  #: whether all that rounds is bounded rather than estimated

    #: Smallest side of the kernel, errors of a factor and its multiplication in units of 2**-53.
    least: ClassVar[int]
    factor: ClassVar[int]

    @cached_property
    def scaled(self) -> ScaledMatrix:
        """The matrix that is summed."""
        return ScaledMatrix.of(self.matrix, self.least, self.error)

    @property
    def promise(self) -> tuple[float, float]:
        """What its bound is made of at least."""
        times = 1 if len(self.scaled.entries) == 1 else 3
        return UNIT, (self.side * self.factor * times + 10) * UNIT

    @property
    def side(self) -> int:
        """Rows of the matrix that is summed."""
        return len(self.scaled.slack)

    def result(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound from the merge of all shards."""
        scaled = self.scaled
        m = self.side
        different = min(32 * self.blocks, scaled.different_terms)
        sums, mantissa, magnitude = self.read(partial)
        chain = self.shards()
        # No thread of a GPU adds more in a row than a shard of the CPU.
        steps = float(min(len(chain[0]), _MOST)) ** 2 + (4.0 * len(chain)) ** 2
        relative = self.promise[1] + 2 * steps * UNIT**2
        offset = 2.0 ** (m - 1) * rounding_effect(scaled, len(self.matrix))
        typical = 1.01 * (typical_excess(scaled) * magnitude + 4 * offset)
        proven = 1.01 * float(partial["excess"][0])
        underflow = 2.0**m * m * 2.0 ** (m / 2) * 8 * TINY
        rounding = 1.01 * (relative * magnitude + UNIT * sum(map(abs, sums))) + underflow
        bound, estimate = rounding + (proven if self.guard else typical), rounding + typical
        if not scaled.entries.any(axis=(0, 1)).all() and scaled.exact:
            bound = estimate = 0.0  # a column of zeros
        return BoundedNumber(
            mantissa,
            bound,
            scaled.exponent + 1 - m,
            self.factor == 1 and (self.guard or scaled.exact),
            32 * self.blocks,
            magnitude,
            different,
            likely=self._likely(magnitude, offset, abs(mantissa), different),
            estimate=estimate,
        )

    def _likely(self, magnitude: float, offset: float, size: float, different: int) -> float:
        """What the error of the sum probably stays below."""
        scaled, m, terms = self.scaled, self.side, 32.0 * self.blocks
        real = len(scaled.entries) == 1
        mean = magnitude / terms * (1 if real else math.pi / 4)
        normal = math.prod(np.sqrt((scaled.entries**2).sum(axis=(0, 1))).tolist())
        usual = normal * (math.sqrt(2 / math.pi) if real else math.sqrt(math.pi) / 2) ** m
        together = mean / usual if usual else 0.0
        most = 3 * (8 / 9) ** m * math.sqrt(terms) * mean
        rms = max(mean, min(normal * together**2, most))
        step = self.factor * math.sqrt(m) * UNIT * (0.25 if real else 0.5)
        products = step * rms * terms / math.sqrt(different)
        # Where factors cancel to nothing, minors need not.
        share = min(1.0, max(together**1.75, min(together, 1 / 16)))
        grid = offset * (share if together > _NOTHING else 1.0)
        return 2 * math.hypot(products, grid, UNIT * size)


@dataclass(frozen=True, eq=False)
class CpuGlynnWork(GlynnWork):
    """The sum on a CPU."""

    guard: bool = True

    name: ClassVar[str] = "permanents.glynn"
    revision: ClassVar[int] = 1
    least: ClassVar[int] = _LEAST_SIDE
    factor: ClassVar[int] = 1
    sizes: ClassVar[ShardSizes] = ShardSizes(64, _BRIEF, _MOST)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of blocks."""
        scaled = self.scaled
        slack = scaled.slack if self.guard and not scaled.exact else None
        return self.summed(
            *native.vector.permanents.glynn_sum(
                scaled.entries, slack, shard.start, shard.stop % 2**64, context.stop
            )
        )


@dataclass(frozen=True, eq=False)
class CudaGlynnWork(GlynnWork):
    """The sum on GPUs, whose bound is always an estimate."""

    name: ClassVar[str] = "permanents.glynn.cuda"
    revision: ClassVar[int] = 1
    least: ClassVar[int] = LEAST_SIDE
    factor: ClassVar[int] = 5
    #: Shards of 2**36 terms at most, but a million of them in all.
    sizes: ClassVar[ShardSizes] = ShardSizes(8, 2**14, 2**31, in_all=2**20)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of blocks."""
        entries = self.scaled.entries
        kernels = glynn_kernels(entries.shape[1], len(entries))
        steps = kernels.steps(shard.start, shard.stop)
        sizes = len(entries), 1 << kernels.thread_bits, kernels.shared
        return self.summed(*sum_ranges(context, kernels.kernel, entries, steps, *sizes))


class Glynn(Method):
    """Signs of rows, for any matrix of up to 70 of them."""

    name = "glynn"
    arithmetic = "double"

    def least(self, block: Block, choice: Choice) -> float:
        """What it takes."""
        n, times = min(block.side, MAX_SIGNS), COMPLEX if block.is_complex else 1.0
        return choice.shared(started(core_seconds(n, times)), gpu_seconds(n, times))

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """On GPUs and on CPUs; sides above 70 are refused."""
        if block.side > MAX_SIGNS:
            return f"sides up to {MAX_SIGNS} are counted in 64 bits"
        ways = []
        n, times = block.side, COMPLEX if block.is_complex else 1.0
        core, gpu = started(core_seconds(n, times)), gpu_seconds(n, times)
        if choice.count(Cuda):
            cuda = CudaGlynnWork(block.entries, block.error)
            ways.append(Way(self, cuda, 32 * cuda.blocks, core, gpu, Cuda, promise=cuda.promise))
        if choice.count(Cpu):
            work = CpuGlynnWork(block.entries, block.error, guard=False)
            guarded = None if work.scaled.exact else replace(work, guard=True)
            promise = work.promise
            ways.append(
                Way(self, work, 32 * work.blocks, core, gpu, guarded=guarded, promise=promise)
            )
        return ways
