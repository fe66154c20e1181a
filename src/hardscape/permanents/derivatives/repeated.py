r"""Derivatives of permanents with repeated rows and columns.

With multiplicities :math:`r_i` of the rows, :math:`c_j` of the columns, and N rows in all,

.. math::
    \frac{\partial\,\mathrm{per}}{\partial a_{ij}} = 2^{-N} \sum_{v} \prod_k (-1)^{v_k} \binom{r_k}{v_k}
    (r_i - 2 v_i)\, c_j s_j^{c_j - 1} \prod_{l \ne j} s_l^{c_l}, \qquad s_j = \sum_i (r_i - 2 v_i) a_{ij},

over :math:`0 \le v_k \le r_k`. As for distinct lines, products over all columns but one come from prefixes and
suffixes. It equals :math:`r_i c_j` times the permanent with one row i and one column j less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Shard
from hardscape.permanents.derivatives.minors import MinorSums
from hardscape.permanents.methods.method import started
from hardscape.permanents.methods.sums import digest
from hardscape.permanents.numbers.bounded import shifted
from hardscape.permanents.structure.scaling import exponents_of, parts_of

#: Seconds for a term and a column, by the number of parts; terms of a step, at least.
_TERM, _STEP = {1: 1.2e-9, 2: 4e-9}, 32


@dataclass(frozen=True, eq=False)
class RepeatedMinorWork(MinorSums):
    """Derivatives by the entries of a matrix whose lines repeat; a unit is a step of some terms."""

    matrix: NDArray[Any]  #: float64 or complex128, shape (m, n)
    rows: NDArray[np.int32]  #: how often each row occurs, 1 or more
    cols: NDArray[np.int32]  #: the same for columns; equal sums

    name: ClassVar[str] = "permanents.minors.repeated"
    revision: ClassVar[int] = 1
    method: ClassVar[str] = "repeated"
    unit: ClassVar[str] = "steps"

    @property
    def terms(self) -> int:
        """Terms summed, at most."""
        return math.prod((self.rows + 1).tolist())

    @cached_property
    def scaled(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
        """Parts with powers of two taken off rows and columns, and these: no sum is above 1."""
        parts = parts_of(self.matrix)
        rows, columns = exponents_of(parts)
        sizes = np.abs(shifted(parts, -rows - columns)) * self.rows[:, None]
        columns = columns + np.frexp(sizes.sum(axis=1).max(axis=0))[1]
        return shifted(parts, -rows - columns), rows, columns

    @property
    def units(self) -> int:
        """Steps."""
        return int(native.vector.permanents.repeated_steps(self.rows))

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        terms = max(float(_STEP), math.prod(map(float, self.rows + 1)))
        rate = _TERM[1 + np.iscomplexobj(self.matrix)]
        return started(rate * terms * len(self.cols))

    def digest(self) -> str:
        """Digest of the matrix and the multiplicities, and how they are stepped through."""
        return digest(self.name, self.matrix, self.rows, self.cols, self.units)

    def sums(self, shard: Shard, context: Context) -> tuple[NDArray[np.float64], bool]:
        """Those of a range of steps."""
        found: tuple[NDArray[np.float64], bool] = native.vector.permanents.repeated_minors(
            self.scaled[0], self.rows, self.cols, shard.start, shard.stop, context.stop
        )
        return found

    @property
    def power(self) -> int:
        """That of two that the sums of all lines have together."""
        _, rows, columns = self.scaled
        return int((rows[:, 0] * self.rows).sum() + (columns[0] * self.cols).sum())
