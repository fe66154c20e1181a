r"""All first minors of a permanent, which are its derivatives.

.. math::
    \frac{\partial\,\mathrm{per}(A)}{\partial a_{ij}} = \mathrm{per}(A_{\hat\imath \hat\jmath}) =
    2^{1-n} \sum_{\delta_1 = 1} \delta_i \prod_k \delta_k \prod_{l \ne j} s_l

with the sums :math:`s_l` of Glynn's formula. Prefix and suffix products give all j of a term at
once, and the sum with :math:`\delta_i` is taken over the runs of a Gray code in which it does not
change: about :math:`13 n 2^{n-1}` operations for all :math:`n^2` minors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult, split
from hardscape.permanents.derivatives.integers import integer_rows, lifted
from hardscape.permanents.matrix import Matrix
from hardscape.permanents.methods.method import COMPLEX, started
from hardscape.permanents.methods.sums import Modular, Stated, added, digest
from hardscape.permanents.numbers.bounded import shifted
from hardscape.permanents.numbers.integers import Rows, residues_of
from hardscape.permanents.structure.scaling import (
    GRID_BITS,
    exponents_of,
    padded,
    whole_of,
)

#: Shards, at most, seconds of brief works, and positions of a shard, at least.
SHARDS, BRIEF, _FEWEST = 256, 5e-3, 2**12
#: Seconds for each n 2^(n-1) of all minors, real, and of them modulo one prime; those to scale a matrix.
_MINORS, _MINORS_PRIME, _SCALED = 5.5e-10, 1.7e-8, 1.5e-4


class Minors(Stated[NDArray[Any]]):
    """What is common to the ways of finding derivatives."""

    method: ClassVar[str] = "glynn"  #: as `hardscape.permanents.PermanentResult` calls it
    memory = 0  #: bytes beyond those of the answer

    @property
    def terms(self) -> int:
        """Terms or products summed."""
        return self.units

    @property
    @abstractmethod
    def units(self) -> int:
        """Positions or terms."""

    @property
    @abstractmethod
    def core_seconds(self) -> float:
        """Estimated time on one core."""

    def shards(self) -> Sequence[Shard]:
        """Ranges of units."""
        return split(self.units, max(1, min(SHARDS, self.units // _FEWEST)))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return self.core_seconds <= BRIEF


class MinorSums(Minors):
    """Sums over signs in double precision; a partial holds ``high`` and ``low``, parts first."""

    @property
    @abstractmethod
    def scaled(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
        """Parts of the matrix without powers of two on its lines, and these: of rows and of columns."""

    @abstractmethod
    def sums(self, shard: Shard, context: Context) -> tuple[NDArray[np.float64], bool]:
        """High and low sums of a range of units, and whether it is complete."""

    @property
    @abstractmethod
    def power(self) -> int:
        """That of two that the sums of all lines have together."""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of units."""
        (high, low), complete = self.sums(shard, context)
        return ShardResult({"high": high, "low": low}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add; what a high loses goes to the low."""
        return added(left, right)

    def result(self, partial: Partial) -> NDArray[Any]:
        """The minors, which have the powers of two of all rows and columns but their own."""
        _, rows, columns = self.scaled
        return shifted(whole_of(partial["high"] + partial["low"]), self.power - rows - columns)


@dataclass(frozen=True, eq=False)
class MinorWork(MinorSums):
    """All first minors; a unit is a position of the Gray code of the outer rows."""

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n); finite, n from 1 to 63

    name: ClassVar[str] = "permanents.minors"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "positions"

    @cached_property
    def scaled(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
        """The same on a grid, completed by an identity."""
        parts = padded(self.matrix, native.vector.permanents.minor_rows())
        rows, columns = exponents_of(parts)
        longest = np.abs(shifted(parts, -rows - columns)).sum(axis=1).max(axis=0)
        columns = columns + np.frexp(longest)[1]
        entries = np.rint(shifted(parts, GRID_BITS - rows - columns))
        return np.ldexp(entries, -GRID_BITS), rows, columns

    @property
    def _side(self) -> int:
        """Rows, those that complete the matrix included."""
        return max(len(self.matrix), native.vector.permanents.minor_rows())

    @property
    def terms(self) -> int:
        """Terms summed."""
        return int(2 ** (self._side - 1))

    @property
    def units(self) -> int:
        """Positions of the Gray code."""
        return int(2 ** (self._side - native.vector.permanents.minor_rows()))

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        n = self._side
        times = COMPLEX if np.iscomplexobj(self.matrix) else 1
        return _SCALED + _MINORS * times * n * 2.0 ** (n - 1)

    def digest(self) -> str:
        """Digest of the matrix."""
        return digest(self.name, self.matrix, native.vector.permanents.minor_rows())

    def sums(self, shard: Shard, context: Context) -> tuple[NDArray[np.float64], bool]:
        """Those of a range of positions."""
        found: tuple[NDArray[np.float64], bool] = native.vector.permanents.glynn_minors(
            self.scaled[0], shard.start, shard.stop, context.stop
        )
        return found

    @property
    def power(self) -> int:
        """That of two that the sums of all lines have together."""
        _, rows, columns = self.scaled
        return int(rows.sum() + columns.sum()) + 1 - len(rows)

    def result(self, partial: Partial) -> NDArray[Any]:
        """The minors of the rows that do not complete the matrix."""
        n = len(self.matrix)
        return super().result(partial)[:n, :n]


@dataclass(frozen=True)
class MinorResidueWork(Minors, Modular[NDArray[Any]]):
    """All first minors of integers modulo primes; a unit is a term."""

    matrix: Rows
    scale: tuple[Fraction, ...]  #: what the minors of each row are to be multiplied with
    primes: tuple[int, ...]
    integral: bool  #: whether the minors are integers by type

    name: ClassVar[str] = "permanents.minors.residues"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "terms"

    @classmethod
    def of(cls, matrix: Matrix) -> MinorResidueWork:
        """Work of as many primes as the minors need."""
        return cls(*integer_rows(matrix))

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        n = len(self.matrix)
        return started(_MINORS_PRIME * len(self.primes) * n * 2.0 ** (n - 1))

    @property
    def units(self) -> int:
        """Terms."""
        return int(2 ** (len(self.matrix) - 1))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of terms, one prime after the other."""
        entries = residues_of([x for row in self.matrix for x in row], self.primes)
        residues, complete = native.vector.permanents.exact_minors(
            entries.reshape(-1, len(self.matrix)),
            np.array(self.primes, dtype=np.uint64),
            shard.start,
            shard.stop,
            context.stop,
        )
        return ShardResult({"residues": residues}, complete)

    def result(self, partial: Partial) -> NDArray[Any]:
        """The minors."""
        power = -(64 + len(self.matrix) - 1)
        return lifted(partial["residues"], self.primes, power, self.scale, self.integral)
