"""Permanents of many small matrices of one size, by sums over subsets of columns on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult, split
from hardscape.permanents.methods.sums import InOrder

#: Products of a shard, and of a batch that takes milliseconds, as powers of two.
_SHARD_BITS, _MOMENT_BITS = 23, 21


class Batch(NamedTuple):
    """Permanents of a batch: arrays of shape (batch,)."""

    values: NDArray[Any]  #: float64 or complex128; beyond float64 they are infinite
    likely_errors: NDArray[
        np.float64
    ]  #: what errors probably stay below; infinite if nothing is known
    finite: NDArray[np.bool_]  #: whether all entries are


@dataclass(frozen=True, eq=False)
class SubsetBatchWork(InOrder[Batch]):
    r"""The permanent of each matrix of a batch, :math:`n 2^{n-1}` products each. A unit is a matrix.

    The numbers are those of single matrices, bit for bit: matrices are lanes of vectors. A partial
    holds ``found``, shape (k, parts + 1): values and likely errors.
    """

    matrices: NDArray[Any]  #: float64 or complex128, shape (batch, n, n), n from 1 to `most`

    name: ClassVar[str] = "permanents.batch.subset"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "matrices"
    #: Largest side that is faster so than by Glynn's formula.
    most: ClassVar[int] = 10

    @property
    def _products(self) -> int:
        side = int(self.matrices.shape[1])
        return len(self.matrices) * (side << side) * (4 if np.iscomplexobj(self.matrices) else 1)

    def shards(self) -> Sequence[Shard]:
        """Shards of about equal numbers of matrices."""
        shards = max(1, self._products >> _SHARD_BITS)
        return split(len(self.matrices), min(max(1, len(self.matrices)), shards))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return not self._products >> _MOMENT_BITS

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take the permanents of a range of matrices."""
        given = np.ascontiguousarray(self.matrices[shard.start : shard.stop])
        parts = given.view(np.float64).reshape(*given.shape, -1)
        found, complete = native.vector.permanents.subset_batch(parts, context.stop)
        return ShardResult({"found": found}, complete)

    def result(self, partial: Partial) -> Batch:
        """Permanents and what their errors probably stay below."""
        found = partial["found"]
        values = np.ascontiguousarray(found[:, :-1]).view(self.matrices.dtype)[:, 0]
        return Batch(values, found[:, -1], ~np.isnan(found[:, -1]))
