r"""Means of random numbers that are permanents, and proven intervals around them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Cpu, Device, Partial, Shard, ShardResult, split
from hardscape.permanents.methods.sums import Stated
from hardscape.permanents.structure.scaling import parts_of

#: Samples, at most: those of a trial are numbered from here on.
MAX_SAMPLES = 2**48
#: Samples that a trial begins with, and its standard error over its value with which it ends.
_TRIAL, _TRIED = 1024, 0.05
#: Shards, at most, and seconds of one, at least, that are worth more than one thread.
_SHARDS, _BRIEF = 256, 2e-3
#: Seconds of a sample for each entry, by its parts; of one of Huber and Law's.
_SIGNS, _ACCEPTED = {1: 1.5e-10, 2: 3e-10}, 6e-9


@dataclass(frozen=True)
class Estimate:
    """A number, and how far from it the one that is sought may be."""

    value: float | complex
    error_bound: float  #: proven, but for the probability that was asked for
    standard_error: float
    num_samples: int


class Samples(Stated[Estimate]):
    """Independent random numbers, each a function of the seed and its number, which is its unit."""

    name: ClassVar[str]
    unit: ClassVar[str] = "samples"
    count: int

    @property
    @abstractmethod
    def sample_seconds(self) -> float:
        """Estimated time of a sample on one core."""

    @property
    def core_seconds(self) -> float:
        """Estimated time of all."""
        return self.sample_seconds * self.count

    @abstractmethod
    def narrowing(self, partial: Partial) -> tuple[float, float]:
        r"""Of the half-width of an interval of N such samples, :math:`\alpha/\sqrt{N} + \beta/N`, both."""

    def needed(self, relative_error: float, seconds: float) -> int:
        """How many samples an interval takes whose half-width is this over the value, as a trial tells.

        The trial's samples are none of those that will be drawn, so that their number says nothing of these.
        It ends once its value is known to a twentieth, or after so many seconds as they are estimated; the
        value counts less twice its standard error.
        """
        context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
        count, estimate = 0, Estimate(0.0, 1.0, 1.0, 0)
        partial: Partial = {}
        while estimate.standard_error >= _TRIED * abs(estimate.value):
            more = max(_TRIAL, count)
            if count and (count + more) * self.sample_seconds > seconds:
                break
            begin = MAX_SAMPLES + count
            drawn = self.run(Shard(0, begin, begin + more), context).partial
            partial = self.merge(partial, drawn) if partial else drawn
            count += more
            estimate = self.result(partial)
        size = relative_error * (abs(estimate.value) - 2 * estimate.standard_error)
        if size <= 0:
            return MAX_SAMPLES
        alpha, beta = self.narrowing(partial)
        root = (alpha + math.sqrt(alpha**2 + 4 * beta * size)) / (2 * size)
        return math.ceil(min(MAX_SAMPLES, max(2, root**2)))

    def shards(self) -> Sequence[Shard]:
        """Ranges of samples."""
        return split(self.count, max(1, min(_SHARDS, self.count, int(self.core_seconds / _BRIEF))))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return self.core_seconds <= _BRIEF

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add."""
        return {name: left[name] + right[name] for name in left}


@dataclass(frozen=True, eq=False)
class SignSamples(Samples):
    r"""Gurvits' estimator: Glynn's formula for random signs x.

    .. math:: X = \prod_i x_i \prod_j \sum_i x_i a_{ij}, \qquad \mathrm{E} X = \mathrm{per}(A),
        \qquad |X| \le \lVert A \rVert_2^n

    (D. Glynn, 2010; L. Gurvits, MFCS 2005; S. Aaronson and T. Hance, arXiv:1212.0025). For each part, with
    variance V of N samples in an interval of length w, the mean is off by more than
    :math:`\sqrt{2 V \ln(4/\delta) / N} + 7 w \ln(4/\delta) / 3(N - 1)` with a probability of
    :math:`\delta` at most (A. Maurer and M. Pontil, COLT 2009, Theorem 4).
    """

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n)
    count: int
    seed: int
    confidence: float

    name: ClassVar[str] = "permanents.approximate.signs"
    revision: ClassVar[int] = 1

    @cached_property
    def _parts(self) -> NDArray[np.float64]:
        """Entries over the norm, parts first: no value is above 1."""
        return parts_of(self.matrix) / self._norm

    @cached_property
    def _norm(self) -> float:
        """Upper bound of the spectral norm."""
        return float(np.linalg.norm(self.matrix, 2)) * (1 + 1e-14 * len(self.matrix))

    @property
    def log_scale(self) -> float:
        """What a logarithm of the answer lacks."""
        return len(self.matrix) * math.log(self._norm)

    @property
    def sample_seconds(self) -> float:
        """Estimated time of a sample on one core."""
        return 1e-7 + _SIGNS[1 + np.iscomplexobj(self.matrix)] * self.matrix.size

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Draw a range."""
        sums, done = native.vector.permanents.glynn_samples(
            self._parts, self.seed, shard.start, shard.stop, context.stop
        )
        return ShardResult({"sums": sums, "count": np.array([done])}, done == len(shard))

    def result(self, partial: Partial) -> Estimate:
        """Mean and interval."""
        count = int(partial["count"][0])
        if count < 2:
            return Estimate(0.0, 1.0, 1.0, count)
        mean, _ = partial["sums"] / count
        variance, width = self._spread(partial)
        off = np.sqrt(2 * variance * width / count) + 7 * 2 * width / (3 * (count - 1))
        value = float(mean[0]) if len(mean) == 1 else complex(*mean.tolist())
        bound = min(1.0 + abs(value), float(np.hypot.reduce(off)))
        return Estimate(value, bound, math.sqrt(float(variance.sum()) / count), count)

    def narrowing(self, partial: Partial) -> tuple[float, float]:
        """Of Maurer and Pontil's bound."""
        variance, width = self._spread(partial)
        parts = len(variance)
        return math.sqrt(2 * float(variance.sum()) * width), 14 * width * math.sqrt(parts) / 3

    def _spread(self, partial: Partial) -> tuple[NDArray[np.float64], float]:
        """Variances of the parts, and the logarithm of four over the chance that one of them is off."""
        count = int(partial["count"][0])
        mean, square = partial["sums"] / count
        variance = np.maximum(square - mean**2, 0) * count / (count - 1)
        return variance, math.log(4 * len(mean) / (1 - self.confidence))


@dataclass(frozen=True, eq=False)
class AcceptedSamples(Samples):
    r"""Huber and Law's algorithm for nonnegative matrices.

    For entries of 1 at most and row sums :math:`r_i` it accepts a sample with the probability
    :math:`\mathrm{per}(A) / \prod_i h(r_i) e^{-1}`, with :math:`h(r) = r + \tfrac12 \ln r + e - 1` for
    :math:`r \ge 1`, else :math:`1 + (e - 1) r` (M. Huber and J. Law, SODA 2008). The number accepted is
    binomial, and its interval Clopper and Pearson's: its coverage is at least the confidence, whatever
    the matrix.
    """

    matrix: NDArray[np.float64]  #: shape (n, n), entries from 0 to 1
    count: int
    seed: int
    confidence: float

    name: ClassVar[str] = "permanents.approximate.accepted"
    revision: ClassVar[int] = 1

    @property
    def log_scale(self) -> float:
        """Logarithm of the bound that the acceptance is a part of."""
        sums = self.matrix.sum(axis=1)
        inside = np.maximum(sums, 1.0)
        above = np.where(
            sums >= 1, inside + np.log(inside) / 2 + math.e - 1, 1 + (math.e - 1) * sums
        )
        return float(np.log(above).sum()) - len(sums)

    @property
    def sample_seconds(self) -> float:
        """Estimated time of a sample on one core."""
        return 1e-7 + _ACCEPTED * self.matrix.size

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Draw a range."""
        accepted, done = native.vector.permanents.huber_law(
            np.ascontiguousarray(self.matrix.T), self.seed, shard.start, shard.stop, context.stop
        )
        return ShardResult(
            {"accepted": np.array([accepted]), "count": np.array([done])}, done == len(shard)
        )

    def result(self, partial: Partial) -> Estimate:
        """Share and interval."""
        accepted, count = int(partial["accepted"][0]), int(partial["count"][0])
        if not count:
            return Estimate(0.0, 1.0, 1.0, 0)
        share = accepted / count
        low, high = binomial_interval(accepted, count, self.confidence)
        spread = math.sqrt(share * (1 - share) / count)
        return Estimate(share, max(share - low, high - share), spread, count)

    def narrowing(self, partial: Partial) -> tuple[float, float]:
        """Of a normal distribution's interval, and more than it is wider by."""
        share = int(partial["accepted"][0]) / int(partial["count"][0])
        z = NormalDist().inv_cdf((1 + self.confidence) / 2)
        return z * math.sqrt(share * (1 - share)), z * z + 1


def binomial_interval(accepted: int, count: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a probability, of which so many of `count` trials speak."""
    tail = (1 - confidence) / 2
    low = _root(lambda p: upper_tail(accepted, count, p) - tail) if accepted else 0.0
    high = _root(lambda p: tail - (1 - upper_tail(accepted + 1, count, p)))
    return low, high if accepted < count else 1.0


def _root(rising: Any) -> float:
    """Where a rising function of a probability is 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def upper_tail(least: int, count: int, p: float) -> float:
    """Probability of `least` or more successes of `count`: the incomplete beta function.

    :math:`I_p(k, n - k + 1)` by Lentz's continued fraction, on the side where it converges quickly.
    """
    if least <= 0 or p >= 1:
        return 1.0
    if least > count or p <= 0:
        return 0.0
    a, b = float(least), float(count - least + 1)
    if p > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - p)
    return _beta(a, b, p)


def _beta(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    log = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    d = 1 / max(1 - (a + b) * x / (a + 1), tiny)
    c, fraction = 1.0, d
    for m in range(1, 100_000):
        for above in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + above * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + above / c
            c = c if abs(c) > tiny else tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(log) * fraction / a
