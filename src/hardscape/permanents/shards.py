"""What the works of this family have in common: digests of matrices, and shards of blocks of terms."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Shard, split

__all__ = ["ShardSizes", "digest"]

#: Shards of a GPU's work that a ledger holds with ease; those of the largest matrices are longer.
_CUDA_SHARDS = 2**20


@dataclass(frozen=True)
class ShardSizes:
    """How to cut 2^k blocks of terms into shards of equal powers of two.

    Attributes
    ----------
    shards : int
        As many as this, if each has `fewest` blocks or more.
    fewest, most : int
        Blocks of a shard; on GPUs the largest matrices have more.
    """

    shards: int
    fewest: int
    most: int

    def of(self, blocks: int, kind: str) -> Sequence[Shard]:
        """Shards of `blocks`, a power of two."""
        most = max(self.most, blocks // _CUDA_SHARDS) if kind == "cuda" else self.most
        size = min(most, max(self.fewest, blocks // self.shards))
        return split(blocks, max(1, blocks // size))


def digest(name: str, *parts: NDArray[Any] | str | bool | int | None) -> str:
    """Digest of arrays, their shapes and dtypes, and of the options beside them."""
    found = hashlib.sha256(name.encode())
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(repr((part.shape, part.dtype.str)).encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(repr(part).encode())
    return found.hexdigest()
