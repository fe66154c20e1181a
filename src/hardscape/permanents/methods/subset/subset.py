r"""Permanents by subsets: of columns of a nonnegative square matrix, of rows of a rectangle.

For a **nonnegative** matrix, f(S), the permanent of the first \|S\| rows in the columns S,

.. math::
    f(S) = \sum_{j \in S} a_{|S| j} f(S \setminus j),

never subtracts, so the relative error is at most :math:`\gamma_{n(n+3)/2}` whatever the matrix, where
Glynn's formula may lose many digits. It takes :math:`n 2^{n-1}` products as that does, but also
:math:`2^{n-1}` numbers of memory.

For a **rectangle** of few rows, columns are taken one by one, and each gives its entry to one row or to
none: :math:`f(S) \leftarrow f(S) + \sum_{i \in S} a_{ij} f(S \setminus i)`. That is
:math:`n m 2^{m-1}` products, with an error of at most :math:`\gamma_k` times the same sum of magnitudes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult
from hardscape.permanents.methods.method import Block, Choice, Method, Way, started
from hardscape.permanents.methods.sums import OneShard
from hardscape.permanents.numbers.bounded import TINY, UNIT, BoundedNumber, shifted
from hardscape.permanents.numbers.integers import Rows, bytes_of, integer_of

#: Largest square, rows of the smallest one, to which smaller ones are completed, and those of one
#: that takes milliseconds.
MAX_SUBSET_SIDE, _LEAST_SIDE, _BRIEF_SIDE = 30, 5, 18
#: Rows of integers whose subset sums fit in memory.
_MAX_ROWS = 22
#: Seconds for each n 2^(n-1): compiled, of integers in Python, of the elements of arrays in NumPy.
_SUBSET, _INTEGERS, _RECTANGLE = 4.5e-10, 1.5e-7, 2e-9
#: Seconds of a rectangle's sum that is not worth thinking about other methods.
_QUICK = 0.5
_TOO_MANY = f"up to {_MAX_ROWS} rows are summed this way"
_SLOW = "completed to a square it may take less"


def _roundings(n: int) -> float:
    """Those on the way of a product, and a little more."""
    return 1.01 * n * (n + 3) / 2


def subset_memory(n: int) -> int | None:
    """Bytes of the subset sums of n columns, or None if this machine has less than twice as many."""
    need = 8 << (n - 1)
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return need if n <= MAX_SUBSET_SIDE and 2 * need <= have else None


@dataclass(frozen=True, eq=False)
class SubsetWork(OneShard[BoundedNumber]):
    """Sum over subsets of the columns of a nonnegative matrix, in one shard."""

    matrix: NDArray[np.float64]  #: float64, shape (n, n); no entry below 0
    #: float64, shape (n, n), or None; bounds of the errors of the entries; 0 where an entry is.
    error: NDArray[np.float64] | None = None

    name: ClassVar[str] = "permanents.subset"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "sums"

    @cached_property
    def scaled(self) -> tuple[NDArray[np.float64], int]:
        """The matrix times powers of two such that no row adds up to more than 1, and the exponent."""
        n = len(self.matrix)
        side = max(n, _LEAST_SIDE)
        entries = np.eye(side)
        entries[:n, :n] = self.matrix
        exponent = 0
        for axis in (0, 1, 0):
            power = np.frexp(entries.max(axis=axis, keepdims=True))[1]
            exponent += int(power.sum())
            entries = np.ldexp(entries, -power)
        power = np.frexp(entries.sum(axis=1, keepdims=True))[1]
        return np.ldexp(entries, -power), exponent + int(power.sum())

    @property
    def steps(self) -> int:
        """Subsets."""
        return int(2 ** len(self.matrix))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return len(self.matrix) <= _BRIEF_SIDE

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Go through all subsets."""
        value, complete = native.vector.permanents.subset_sum(self.scaled[0], context.stop)
        return ShardResult({"value": value}, complete)

    def result(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound."""
        value = float(partial["value"][0])
        entries, exponent = self.scaled
        n = len(entries)
        relative = _roundings(n) * UNIT
        if self.error is not None:
            worst = np.divide(
                self.error, self.matrix, where=self.matrix > 0, out=np.zeros_like(self.error)
            )
            relative += 1.01 * float(np.expm1(n * np.log1p(worst.max())))
        # What underflows, entries included, grows no more: no row adds up to more than 1.
        bound = relative * value + 4.0 * n * 2.0**n * TINY
        return BoundedNumber(value, bound, exponent, True, 2 ** len(self.matrix), value)


@dataclass(frozen=True, eq=False)
class RectangleWork(OneShard[BoundedNumber]):
    """Sum over subsets of the rows of a rectangle of few of them, column by column."""

    matrix: NDArray[Any]  #: float64 or complex128, shape (m, n)

    name: ClassVar[str] = "permanents.rectangle"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "columns"

    @property
    def steps(self) -> int:
        """Columns."""
        return int(self.matrix.shape[1])

    def brief(self, device: Device) -> bool:
        """Each column asks whether to go on."""
        return True

    @property
    def _powers(self) -> NDArray[Any]:
        """Powers of two to take off the rows."""
        size = np.abs(self.matrix.real) + np.abs(self.matrix.imag)
        powers: NDArray[Any] = np.frexp(size.max(axis=1, keepdims=True))[1]
        return powers + self.steps.bit_length()

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all columns."""
        entries = shifted(self.matrix, -self._powers)
        sums = np.zeros(2 ** len(entries), dtype=entries.dtype)
        magnitudes = np.zeros(len(sums))
        sums[0] = magnitudes[0] = 1
        for column in entries.T:
            if context.stopped():
                return ShardResult({}, False)
            # All rows at once see the sums before this column.
            before, sizes = sums.copy(), magnitudes.copy()
            for i, x in enumerate(column):
                for new, old, factor in ((sums, before, x), (magnitudes, sizes, abs(x))):
                    view = new.reshape(-1, 2, 1 << i)
                    view[:, 1] += factor * old.reshape(-1, 2, 1 << i)[:, 0]
        return ShardResult({"sum": sums[-1:], "magnitude": magnitudes[-1:]})

    def result(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound."""
        m, n = self.matrix.shape
        magnitude = float(partial["magnitude"][0])
        steps = n * (m + 1) + 4 * m
        bound = 1.02 * steps * UNIT * magnitude + 8.0 * n * m * 2.0**m * TINY
        mantissa, exponent = partial["sum"][0].item(), int(self._powers.sum())
        return BoundedNumber(mantissa, bound, exponent, True, n * m * 2 ** max(0, m - 1), magnitude)


@dataclass(frozen=True)
class IntegerSubsetWork(OneShard[int]):
    """The same sum of m rows of Python's integers, none longer than another.

    Entry S is the permanent of the rows in S with the columns so far.
    """

    matrix: Rows

    name: ClassVar[str] = "permanents.subset.integers"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "columns"

    @property
    def steps(self) -> int:
        """Columns."""
        return len(self.matrix[0]) if self.matrix else 1

    def brief(self, device: Device) -> bool:
        """It holds Python's lock all the time, and asks at each column whether to go on."""
        return True

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all columns."""
        m = len(self.matrix)
        sums = [1] + [0] * (2**m - 1)
        for column in zip(*self.matrix, strict=True):
            if context.stopped():
                return ShardResult({}, False)
            entries = [(1 << i, x) for i, x in enumerate(column) if x]
            # From large to small subsets, so that those without row i do not have this column yet.
            for rows in range(2**m - 1, 0, -1):
                sums[rows] += sum(sums[rows ^ bit] * x for bit, x in entries if rows & bit)
        return ShardResult({"value": bytes_of(sums[-1])})

    def result(self, partial: Partial) -> int:
        """The permanent."""
        return integer_of(partial["value"])


class Subsets(Method):
    """Subsets of the columns of a nonnegative square matrix: no digits are lost."""

    name = "subset"
    arithmetic = "double"

    def least(self, block: Block, choice: Choice) -> float:
        """What it takes, on one core always."""
        n = min(block.side, MAX_SUBSET_SIDE)
        return started(_SUBSET * n * 2.0 ** (n - 1))

    def cancels(self, block: Block) -> bool:
        """Nothing is subtracted."""
        return False

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """One; negative and complex entries are refused, and what does not fit in memory."""
        if not block.is_nonnegative:
            return "there are negative or complex entries"
        n, memory = block.side, subset_memory(block.side)
        if memory is None:
            return f"2^{n - 1} sums do not fit in memory"
        work = SubsetWork(block.entries, block.error)
        promise = _roundings(n) * UNIT, 0.0
        seconds = self.least(block, choice)
        return [Way(self, work, 2**n, seconds, memory=memory, cancels=False, promise=promise)]


class Rectangles(Method):
    """Subsets of the rows of a rectangle of few of them."""

    name = "subset"
    arithmetic = "double"
    shape = "rectangles"

    def least(self, block: Block, choice: Choice) -> float:
        """What it takes."""
        m, n = block.entries.shape
        rate = _RECTANGLE * (2 if block.is_complex else 1)
        return float(1e-5 * n * m + rate * n * m * 2.0 ** (min(m, _MAX_ROWS) - 1))

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """One; many rows are refused."""
        m, n = block.entries.shape
        if m > _MAX_ROWS:
            return _TOO_MANY
        seconds = self.least(block, choice)
        if seconds > _QUICK:
            return _SLOW
        return [Way(self, RectangleWork(block.entries), n * m * 2 ** (m - 1), seconds)]


class IntegerSubsets(Method):
    """Subsets of the rows of a matrix of few of them, in Python's integers."""

    name = "subset"
    arithmetic = "exact"
    shape = "any"

    def least(self, block: Block, choice: Choice) -> float:
        """What it takes."""
        m, n = block.entries.shape
        return float(n * m * 2.0 ** (min(m, _MAX_ROWS) - 1) * _INTEGERS)

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """One; many rows are refused."""
        m, n = block.entries.shape
        if m > _MAX_ROWS:
            return _TOO_MANY
        seconds = self.least(block, choice)
        if m < n and seconds > _QUICK:
            return _SLOW
        integers, scale = block.integers
        terms = 2**n if m == n else n * m * 2 ** (m - 1)
        return [Way(self, IntegerSubsetWork(integers), terms, seconds, scale=scale)]
