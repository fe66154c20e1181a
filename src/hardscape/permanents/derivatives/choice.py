"""The cheapest way to the derivatives of one permanent by all entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.errors import InputError
from hardscape.permanents.derivatives.batch import (
    GlynnMinorBatchWork,
    MinorBatchWork,
    SubsetMinorWork,
)
from hardscape.permanents.derivatives.frontier import (
    FrontierMinorResidueWork,
    FrontierMinorWork,
    narrow_order,
)
from hardscape.permanents.derivatives.minors import MinorResidueWork, Minors, MinorWork
from hardscape.permanents.derivatives.repeated import RepeatedMinorWork
from hardscape.permanents.matrix import MAX_SIDE, Kind, Matrix

#: Largest dense matrix: positions are counted in 64 bits.
_MAX_DENSE = 63
#: Seconds of a matrix's minors up to which those of a batch are found by one work.
_SHORT = 0.05
#: Seconds from which it is worth looking for a narrow frontier, and density of the entries up to which.
_WORTH_FROM, _WORTH_DENSITY = 1e-2, 0.5


@dataclass(frozen=True, eq=False)
class Counted:
    """A matrix whose lines count some number of times, those that count 0 left out."""

    kind: Kind
    entries: NDArray[Any]  #: shape (m, n)
    rows: NDArray[np.int32]  #: how often each row counts, 1 or more
    cols: NDArray[np.int32]  #: the same for columns; equal sums

    @property
    def exact(self) -> bool:
        """Whether entries are integers or fractions."""
        return self.kind in ("integer", "rational")

    @property
    def side(self) -> int:
        """Rows, repeated ones included."""
        return int(self.rows.sum())

    @property
    def repeats(self) -> bool:
        """Whether a line counts more than once."""
        return bool(max(self.rows.max(initial=0), self.cols.max(initial=0)) > 1)

    def transposed(self) -> Counted:
        """The same with rows and columns exchanged."""
        return Counted(self.kind, np.ascontiguousarray(self.entries.T), self.cols, self.rows)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """A work, and what is made of its answer."""

    work: Minors
    of: Counted
    whole: bool = False  #: whether the work is for the matrix with all lines repeated
    turned: bool = False  #: whether it is for the transpose

    def placed(self, found: NDArray[Any]) -> NDArray[Any]:
        """Derivatives by the entries of the matrix."""
        if self.turned:
            return np.ascontiguousarray(found.T)
        if not self.whole:
            return found
        first = [np.cumsum(counts) - counts for counts in (self.of.rows, self.of.cols)]
        times = np.multiply.outer(self.of.rows, self.of.cols)
        placed: NDArray[Any] = found[np.ix_(*first)] * times
        return placed


def derivatives(of: Counted) -> Derivatives:
    """The cheapest way; InputError where there is none. Rationals must not repeat."""
    ways: list[Derivatives] = []
    if of.repeats:
        turned = of.transposed()
        ways.append(Derivatives(RepeatedMinorWork(of.entries, of.rows, of.cols), of))
        ways.append(
            Derivatives(
                RepeatedMinorWork(turned.entries, turned.rows, turned.cols), of, turned=True
            )
        )
    ways += [Derivatives(work, of, whole=of.repeats) for work in _of_whole(of)]
    if not ways:
        raise InputError(
            f"a has side {of.side} and no narrow frontier; side {_MAX_DENSE} at most is accepted then"
        )
    return min(ways, key=lambda way: way.work.core_seconds)


def of_batch(matrices: NDArray[Any]) -> MinorBatchWork | None:
    """The cheapest work for a batch of floating matrices of one side, None for none or large ones."""
    n = matrices.shape[-1]
    if matrices.dtype == object or not matrices.size or n > _MAX_DENSE:
        return None
    works: list[MinorBatchWork] = []
    if n <= SubsetMinorWork.most:
        works.append(SubsetMinorWork(matrices))
    if MinorWork(matrices[0]).core_seconds <= _SHORT:
        works.append(GlynnMinorBatchWork(matrices))
    return min(works, key=lambda work: work.core_seconds, default=None)


def _of_whole(of: Counted) -> list[Minors]:
    """Works for the matrix with all lines repeated."""
    if of.side > MAX_SIDE:
        return []
    matrix = Matrix(of.kind, np.repeat(np.repeat(of.entries, of.rows, 0), of.cols, 1))
    works: list[Minors] = []
    if of.side <= _MAX_DENSE:
        works.append(MinorResidueWork.of(matrix) if of.exact else MinorWork(matrix.entries))
    if not of.exact and of.side <= SubsetMinorWork.most:
        works.append(SubsetMinorWork(matrix.entries))
    quick = any(work.core_seconds <= _WORTH_FROM for work in works)
    if not quick and np.count_nonzero(matrix.entries) <= _WORTH_DENSITY * matrix.entries.size:
        found = narrow_order(matrix.entries)
        if found is not None:
            work: Minors = (
                FrontierMinorResidueWork.of(matrix, *found)
                if of.exact
                else FrontierMinorWork(matrix.entries, *found)
            )
            if not works or work.memory <= memory.available():
                works.append(work)
    return works
