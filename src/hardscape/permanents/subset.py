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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Partial, Shard, ShardResult, Work, split
from hardscape.permanents.number import TINY, UNIT, BoundedNumber, shifted
from hardscape.permanents.shards import digest

__all__ = ["MAX_SUBSET_SIDE", "SubsetWork", "rectangle_sum", "subset_memory"]

#: Largest square, and rows of the smallest one, to which smaller ones are completed.
MAX_SUBSET_SIDE, _LEAST_SIDE = 30, 5


def subset_memory(n: int) -> int | None:
    """Bytes of the subset sums of n columns, or None if this machine has less than twice as many."""
    need = 8 << (n - 1)
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return need if n <= MAX_SUBSET_SIDE and 2 * need <= have else None


@dataclass(frozen=True, eq=False)
class SubsetWork(Work[Partial]):
    """Sum over subsets of the columns of a nonnegative matrix, in one shard.

    Attributes
    ----------
    matrix : float64, shape (n, n)
        No entry below 0.
    error : float64, shape (n, n), or None
        Bounds of the errors of the entries; 0 where an entry is.
    """

    matrix: NDArray[np.float64]
    error: NDArray[np.float64] | None = None

    name: ClassVar[str] = "permanents.subset"
    unit: ClassVar[str] = "sums"

    def __reduce__(self) -> tuple[Any, ...]:
        return SubsetWork, (self.matrix, self.error)

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

    def digest(self) -> str:
        """Digest of the matrix and its errors."""
        return digest(self.name, self.matrix, self.error)

    def shards(self) -> Sequence[Shard]:
        """One shard: a subset needs the smaller ones."""
        return split(2 ** len(self.matrix), 1)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Go through all subsets."""
        value, complete = native.vector.permanents.subset_sum(self.scaled[0], context.stop)
        return ShardResult({"value": value}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Take the part that has gone further: there is one shard."""
        return right

    def total(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound."""
        value = float(partial["value"][0])
        entries, exponent = self.scaled
        n = len(entries)
        relative = 1.01 * n * (n + 3) / 2 * UNIT
        if self.error is not None:
            worst = np.divide(
                self.error, self.matrix, where=self.matrix > 0, out=np.zeros_like(self.error)
            )
            relative += 1.01 * float(np.expm1(n * np.log1p(worst.max())))
        # What underflows, entries included, grows no more: no row adds up to more than 1.
        bound = relative * value + 4.0 * n * 2.0**n * TINY
        return BoundedNumber(value, bound, exponent, True, 2 ** len(self.matrix), value)


def rectangle_sum(matrix: NDArray[Any]) -> BoundedNumber:
    """Permanent of a float64 or complex128 matrix of few rows and any number of columns."""
    m, n = matrix.shape
    size = np.abs(matrix.real) + np.abs(matrix.imag)
    power = np.frexp(size.max(axis=1, keepdims=True))[1] + n.bit_length()
    entries = shifted(matrix, -power)
    sums = np.zeros(2**m, dtype=matrix.dtype)
    magnitudes = np.zeros(2**m)
    sums[0] = magnitudes[0] = 1
    for column in entries.T:
        # All rows at once see the sums before this column.
        before, sizes = sums.copy(), magnitudes.copy()
        for i, x in enumerate(column):
            for new, old, factor_ in ((sums, before, x), (magnitudes, sizes, abs(x))):
                view = new.reshape(-1, 2, 1 << i)
                view[:, 1] += factor_ * old.reshape(-1, 2, 1 << i)[:, 0]
    steps = n * (m + 1) + 4 * m
    bound = 1.02 * steps * UNIT * float(magnitudes[-1]) + 8.0 * n * m * 2.0**m * TINY
    mantissa = sums[-1].item()
    terms = n * m * 2 ** max(0, m - 1)
    return BoundedNumber(mantissa, bound, int(power.sum()), True, terms, float(magnitudes[-1]))
