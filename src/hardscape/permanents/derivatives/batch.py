r"""All first minors of batches of small matrices.

Sums over sets of columns, forwards and backwards, have matrices as the lanes of vectors. With the permanents
:math:`f(S)` of the first :math:`|S|` rows in the columns S, and :math:`g(S)` of the rows from :math:`|S|` on in
the other columns,

.. math::
    \mathrm{per}(A_{\hat\imath \hat\jmath}) = \sum_{|S| = i,\, S \not\ni j} f(S)\, g(S + j).

f, g and all minors take :math:`3 n 2^{n-1}` products, where a permanent takes a third. Nothing is
subtracted but what signs say, so that errors are below some :math:`n^2 2^{-53}` times the same sum of
magnitudes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Partial, Shard, ShardResult, split
from hardscape.permanents.derivatives.minors import BRIEF, SHARDS, Minors, MinorWork
from hardscape.permanents.methods.sums import InOrder

#: Seconds for n 2^n of a group of matrices that fill the lanes, real and complex, and those to begin.
_GROUP, _BEGUN = {1: 1.1e-9, 2: 2.7e-9}, 1e-5


@dataclass(frozen=True, eq=False)
class MinorBatchWork(Minors, InOrder[NDArray[Any]]):
    """All first minors of a batch, whose matrices are the units; a partial holds ``minors``."""

    matrices: NDArray[Any]  #: float64 or complex128, shape (batch, n, n) or (n, n); finite

    unit: ClassVar[str] = "matrices"

    @property
    def _batch(self) -> NDArray[Any]:
        return self.matrices.reshape(-1, *self.matrices.shape[-2:])

    @property
    def units(self) -> int:
        """Matrices."""
        return len(self._batch)

    def shards(self) -> Sequence[Shard]:
        """Ranges of matrices, of some milliseconds."""
        return split(self.units, max(1, min(SHARDS, self.units, int(self.core_seconds / BRIEF))))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Find those of a range."""
        found = self.minors(self._batch[shard.start : shard.stop], context)
        return ShardResult({} if found is None else {"minors": found}, found is not None)

    @abstractmethod
    def minors(self, matrices: NDArray[Any], context: Context) -> NDArray[Any] | None:
        """The minors of some matrices, or None if it was stopped."""

    def result(self, partial: Partial) -> NDArray[Any]:
        """The minors, in the shape of the matrices."""
        return partial["minors"].reshape(self.matrices.shape)


class SubsetMinorWork(MinorBatchWork):
    """By sums over sets of columns, of up to `most` rows."""

    name: ClassVar[str] = "permanents.minors.subset"
    revision: ClassVar[int] = 1
    method: ClassVar[str] = "subset"
    most: ClassVar[int] = 16

    @property
    def terms(self) -> int:
        """Sets of all matrices."""
        return self.units << int(self.matrices.shape[-1])

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        n, rate = int(self.matrices.shape[-1]), _GROUP[1 + np.iscomplexobj(self.matrices)]
        groups = -(-self.units // native.vector.permanents.subset_lanes())
        return _BEGUN + rate * groups * n * 2.0**n

    def minors(self, matrices: NDArray[Any], context: Context) -> NDArray[Any] | None:
        """By the compiled kernel."""
        given = np.ascontiguousarray(matrices)
        parts = given.view(np.float64).reshape(*given.shape, -1)
        found, complete = native.vector.permanents.subset_minors(parts, context.stop)
        return found.view(given.dtype)[..., 0] if complete else None


class GlynnMinorBatchWork(MinorBatchWork):
    """By Glynn's formula, one matrix after the other."""

    name: ClassVar[str] = "permanents.minors.batch"
    revision: ClassVar[int] = 1

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        return self.units * MinorWork(self._batch[0]).core_seconds

    def minors(self, matrices: NDArray[Any], context: Context) -> NDArray[Any] | None:
        """Of each as of a single one."""
        found = np.empty_like(matrices)
        for k, matrix in enumerate(matrices):
            work = MinorWork(matrix)
            part = work.run(Shard(0, 0, work.units), context)
            if not part.complete:
                return None
            found[k] = work.result(part.partial)
        return found
