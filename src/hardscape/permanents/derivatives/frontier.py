r"""All first minors of sparse matrices by the frontier dynamic program, forwards and backwards.

With the sums :math:`f_k(S)` of :mod:`hardscape.permanents.methods.frontier.frontier` over the rows behind,
and :math:`r_k(S)` of the same program on the rows ahead in reverse order, the minor without row k and
column j is

.. math::
    \mathrm{per}(A_{\hat k \hat\jmath}) = \sum_{S \not\ni j} f_k(S)\, r_{k+1}(O_{k+1} \setminus S \setminus j)

with the columns :math:`O_{k+1}` open behind row k, if j is open at row k; else j is left unused at the
row that closes it, and a program of its own carries that on to row k. About n + 2 times the products of one
permanent give all :math:`n^2` minors, those of entries that are 0 included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Partial, Shard, ShardResult, split
from hardscape.permanents.derivatives.integers import integer_rows, lifted
from hardscape.permanents.derivatives.minors import Minors
from hardscape.permanents.matrix import Matrix
from hardscape.permanents.methods.frontier.order import FrontierOrder, best_order
from hardscape.permanents.methods.method import started
from hardscape.permanents.methods.sums import digest
from hardscape.permanents.numbers.bounded import shifted
from hardscape.permanents.numbers.integers import Rows, residues_of
from hardscape.permanents.structure.reduce import matching
from hardscape.permanents.structure.scaling import exponents_of, parts_of, whole_of

#: Seconds for a product of real numbers; how much longer a residue's takes.
_PRODUCT, _PRIME = 4e-9, 1.5
#: Columns of a shard: each repeats the two programs that all columns share.
_COLUMNS = 32
#: Bytes of a state with its place, forwards and backwards.
_STATE = 80


def narrow_order(entries: NDArray[Any]) -> tuple[FrontierOrder, bool] | None:
    """An order of the rows, or of the columns, with a narrow frontier; None if there is none."""
    pattern = np.asarray(entries != 0, dtype=bool)
    # Where there is no perfect matching, zeros complete a largest one: minors need not be 0.
    columns = matching([sum(1 << int(j) for j in np.flatnonzero(line)) for line in pattern])
    left = sorted({*range(len(pattern))} - {*columns})
    unmatched = [i for i, j in enumerate(columns) if j < 0]
    pattern[unmatched, left] = True
    return best_order(pattern)


class _FrontierMinors(Minors):
    """What floats and integers have in common; a unit is a column of the order's orientation."""

    order: FrontierOrder
    turned: bool

    method: ClassVar[str] = "frontier"
    unit: ClassVar[str] = "columns"

    @property
    def terms(self) -> int:
        """Products of all programs."""
        return int((self.units + 2 * len(self.shards())) * self.order.transitions)

    @property
    def units(self) -> int:
        """Columns."""
        return len(self.order.rows)

    def shards(self) -> Sequence[Shard]:
        """Ranges of columns."""
        return split(self.units, math.ceil(self.units / _COLUMNS))

    @property
    def times(self) -> float:
        """How much longer a product takes than one of real numbers."""
        return 1.0

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        return started(_PRODUCT * self.times * float(self.terms))

    @property
    def memory(self) -> int:  # type: ignore[override]
        """Bytes of the states of all rows."""
        return int(_STATE * self.order.transitions)

    @property
    def _columns(self) -> NDArray[np.int32]:
        """Column of each entry, as the kernel takes them."""
        return np.array([j for _, j in self.order.entries()], dtype=np.int32)

    def _placed(self, minors: NDArray[Any]) -> NDArray[Any]:
        """Minors of the matrix from those of its rows in the order."""
        found = np.empty_like(minors)
        found[list(self.order.rows)] = minors
        return np.ascontiguousarray(found.T) if self.turned else found


@dataclass(frozen=True, eq=False)
class FrontierMinorWork(_FrontierMinors):
    """All first minors in double precision.

    A partial holds ``minors`` (parts, n, n), rows as in the order, and ``powers`` of two that each row of
    them was multiplied with.
    """

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n)
    order: FrontierOrder
    turned: bool  #: whether the order is one of the columns

    name: ClassVar[str] = "permanents.minors.frontier"
    revision: ClassVar[int] = 1

    @property
    def times(self) -> float:
        """How much longer a product takes than one of real numbers."""
        return 1.3 if np.iscomplexobj(self.matrix) else 1.0

    def digest(self) -> str:
        """Digest of the matrix and the order."""
        return digest(self.name, self.matrix, repr(self.order), self.turned)

    @cached_property
    def _scaled(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
        """Parts of the matrix of the order with powers of two taken off rows and columns, and these."""
        matrix = self.matrix.T if self.turned else self.matrix
        parts = parts_of(matrix)
        rows, columns = exponents_of(parts)
        return shifted(parts, -rows - columns), rows, columns

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Find the minors without some of the columns."""
        rows, columns = map(list, zip(*self.order.entries(), strict=True))
        entries = np.ascontiguousarray(self._scaled[0][:, rows, columns])
        minors, powers, complete = native.vector.permanents.frontier_minors(
            *self.order.program(), self._columns, entries, shard.start, shard.stop, context.stop
        )
        return ShardResult({"minors": minors, "powers": powers}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Each has columns that are 0 in the other."""
        return {"minors": left["minors"] + right["minors"], "powers": right["powers"]}

    def result(self, partial: Partial) -> NDArray[Any]:
        """The minors."""
        found = whole_of(partial["minors"])
        _, rows, columns = self._scaled
        off = rows[list(self.order.rows)] + columns
        whole = int(rows.sum() + columns.sum())
        return self._placed(
            shifted(found, whole - off - partial["powers"][:, None].astype(np.int32))
        )


@dataclass(frozen=True, eq=False)
class FrontierMinorResidueWork(_FrontierMinors):
    """All first minors of integers modulo primes; a partial holds ``residues`` (primes, n, n)."""

    matrix: Rows
    scale: tuple[Fraction, ...]  #: what the minors of each row are to be multiplied with
    primes: tuple[int, ...]
    integral: bool  #: whether the minors are integers by type
    order: FrontierOrder
    turned: bool

    name: ClassVar[str] = "permanents.minors.frontier.residues"
    revision: ClassVar[int] = 1

    @classmethod
    def of(cls, matrix: Matrix, order: FrontierOrder, turned: bool) -> FrontierMinorResidueWork:
        """Work of as many primes as the minors need."""
        return cls(*integer_rows(matrix), order, turned)

    @property
    def times(self) -> float:
        """How much longer a product takes than one of real numbers."""
        return _PRIME * len(self.primes)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Find the minors without some of the columns."""
        pairs = self.order.entries()
        entries = [self.matrix[j][i] if self.turned else self.matrix[i][j] for i, j in pairs]
        residues, complete = native.vector.permanents.frontier_residue_minors(
            *self.order.program(),
            self._columns,
            residues_of(entries, self.primes),
            np.array(self.primes, dtype=np.uint64),
            shard.start,
            shard.stop,
            context.stop,
        )
        return ShardResult({"residues": residues}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Each has columns that are 0 in the other."""
        return {"residues": left["residues"] + right["residues"]}

    def result(self, partial: Partial) -> NDArray[Any]:
        """The minors."""
        placed = np.stack([self._placed(found) for found in partial["residues"]])
        return lifted(placed, self.primes, 64, self.scale, self.integral)
