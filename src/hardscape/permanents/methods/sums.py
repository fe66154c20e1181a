"""What works of this family have in common: digests, shards of blocks of terms, sums over signs."""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Partial, Shard, ShardResult, Work, split
from hardscape.permanents.numbers.bounded import BoundedNumber

__all__ = ["OneShard", "ShardSizes", "SignSum", "added", "digest"]

Value = TypeVar("Value")


@dataclass(frozen=True)
class ShardSizes:
    """How to cut 2^k blocks of terms into shards of equal powers of two."""

    shards: int  #: as many as this, if each has `fewest` blocks or more
    #: Blocks of a shard.
    fewest: int
    most: int
    #: Shards, at most: those of the largest matrices have more blocks then.
    in_all: int | None = None

    def of(self, blocks: int) -> Sequence[Shard]:
        """Shards of `blocks`, a power of two."""
        most = self.most if self.in_all is None else max(self.most, blocks // self.in_all)
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


def added(left: Partial, right: Partial) -> dict[str, NDArray[Any]]:
    """Add ``high`` and ``low``, whose sum is that of terms; what a high loses goes to the low."""
    high = left["high"] + right["high"]
    part = high - left["high"]
    lost = (left["high"] - (high - part)) + (right["high"] - part)
    return {"high": high, "low": left["low"] + right["low"] + lost}


class SignSum(Work[BoundedNumber]):
    """A sum over signs in floating point.

    A partial holds ``high`` and ``low`` (float64, shape (parts,): the sum is high + low),
    ``magnitude`` (shape (1,), the sum of the terms' magnitudes) and ``excess`` (shape (1,), what the
    entries rounded off may change; 0 where that is not bounded).
    """

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add sums; what a high loses goes to the low."""
        return added(left, right) | {
            name: left[name] + right[name] for name in ("magnitude", "excess")
        }

    @staticmethod
    def summed(sums: NDArray[np.float64], complete: bool) -> ShardResult:
        """What a kernel wrote: high parts, low parts, magnitude and, from some, excess."""
        parts = (len(sums) - 1) // 2
        high, low, magnitude, excess = np.split(sums, [parts, 2 * parts, 2 * parts + 1])
        if not len(excess):
            excess = np.zeros(1)
        return ShardResult(
            {"high": high, "low": low, "magnitude": magnitude, "excess": excess}, complete
        )

    @staticmethod
    def read(partial: Partial) -> tuple[list[float], float | complex, float]:
        """Parts of the sum, the sum, and the magnitude of its terms."""
        sums = [math.fsum(pair) for pair in zip(partial["high"], partial["low"], strict=True)]
        value = sums[0] if len(sums) == 1 else complex(*sums)
        return sums, value, float(partial["magnitude"][0])


class OneShard(Work[Value]):
    """Work of which each step needs all before it."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Number of steps, which are its units."""

    def shards(self) -> Sequence[Shard]:
        """One shard."""
        return split(self.steps, 1)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Take the part that has gone further: there is one shard."""
        return right
