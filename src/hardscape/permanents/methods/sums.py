"""What works of this family have in common: digests, sums over signs, sums modulo primes."""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Cpu, Device, Partial, Shard, ShardResult, Work, split
from hardscape.permanents.numbers.bounded import BoundedNumber

Value = TypeVar("Value")


class ShardSizes(NamedTuple):
    """How to cut 2^k blocks of terms into shards of equal powers of two."""

    shards: int  #: as many as this, if each has `fewest` blocks or more
    #: Blocks of a shard; those of a CPU's smallest one take milliseconds.
    fewest: int
    most: int
    #: Shards, at most: those of the largest matrices have more blocks then.
    in_all: int | None = None


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


@dataclass(frozen=True, eq=False)
class Stated(Work[Value]):
    """A work that the fields of a dataclass state in full; what is derived from them is found again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._stated

    def digest(self) -> str:
        """Digest of the fields."""
        return digest(self.name, *self._stated)

    @property
    def _stated(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))


def added(left: Partial, right: Partial) -> dict[str, NDArray[Any]]:
    """Add ``high`` and ``low``, whose sum is that of terms; what a high loses goes to the low."""
    high = left["high"] + right["high"]
    part = high - left["high"]
    lost = (left["high"] - (high - part)) + (right["high"] - part)
    return {"high": high, "low": left["low"] + right["low"] + lost}


class SignSum(Stated[BoundedNumber]):
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
        return sums, _number(sums), float(partial["magnitude"][0])

    @staticmethod
    def rest(partial: Partial, sums: Sequence[float]) -> float | complex:
        """What rounding took off the sum."""
        triples = zip(partial["high"], partial["low"], sums, strict=True)
        return _number([math.fsum((high, low, -total)) for high, low, total in triples])


def _number(parts: Sequence[float]) -> float | complex:
    return parts[0] if len(parts) == 1 else complex(*parts)


class BlockSum(SignSum):
    """A sum over blocks of 32 terms, which are its units."""

    unit: ClassVar[str] = "blocks"
    sizes: ClassVar[ShardSizes]

    @property
    @abstractmethod
    def side(self) -> int:
        """Rows of the matrix that is summed: an identity completes the smallest."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return 1 << (self.side - 6)

    def shards(self) -> Sequence[Shard]:
        """Shards of a power of two of blocks."""
        sizes, blocks = self.sizes, self.blocks
        most = sizes.most if sizes.in_all is None else max(sizes.most, blocks // sizes.in_all)
        size = min(most, max(sizes.fewest, blocks // sizes.shards))
        return split(blocks, max(1, blocks // size))

    def brief(self, device: Device) -> bool:
        """Whether a shard is over in milliseconds."""
        return isinstance(device, Cpu) and len(self.shards()[0]) <= self.sizes.fewest


class Rearranged(Stated[BoundedNumber]):
    """A sum that can be taken in another order, in which it rounds otherwise."""

    @abstractmethod
    def again(self) -> Rearranged | None:
        """The same sum in another order, if that takes no longer."""


class Modular(Stated[Value]):
    """A sum modulo each of some primes below 2^62; a partial holds ``residues``, (primes, ...)."""

    primes: tuple[int, ...]

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add modulo each prime: two residues are below 2^63 together."""
        total = left["residues"] + right["residues"]
        moduli = np.array(self.primes, dtype=np.uint64).reshape(-1, *[1] * (total.ndim - 1))
        return {"residues": total % moduli}


class InOrder(Stated[Value]):
    """Work whose units have answers of their own, which partials hold one behind the other."""

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Those of both."""
        return {name: np.concatenate([left[name], right[name]]) for name in left}


class OneShard(Stated[Value]):
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
