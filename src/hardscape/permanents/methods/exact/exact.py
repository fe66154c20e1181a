"""Glynn's sum of integers, modulo a power of two or modulo primes, as work for the engine."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Cuda, Device, Partial, Shard, ShardResult, split
from hardscape.permanents.methods.exact.cuda import STEP_BITS, sum_residues
from hardscape.permanents.methods.method import Block, Choice, Method, Way, started
from hardscape.permanents.methods.sums import Modular, Stated
from hardscape.permanents.numbers.integers import (
    Rows,
    column_sums,
    joined,
    permanent_bound,
    primes_above,
)

#: Rows whose signs a block runs through, besides the first row's, which is fixed (see exact.cpp).
_INNER = 5
#: Sides that the kernels take: at least one block, and block numbers of 57 bits.
_MIN_SIDE, _MAX_SIDE = _INNER + 1, 63
#: Words of 64 bits that the kernels are compiled for.
_MAX_WORDS = 8
#: Column sums that twice an entry may be added to, in 32 and in 64 bits.
_SHORT, _LONG = 2**30, 2**62
#: Rough seconds of a factor of a term, for each word (of long and of short columns) and each prime.
_WORD_SECONDS, _PRIME_SECONDS = (1.6e-10, 5e-11), 1.2e-9
#: The same for each prime on an NVIDIA H200.
_GPU_SECONDS = 2e-12
#: Blocks of a shard, at least, and shards, at most; seconds of a brief one.
_SHARD_BLOCKS, _MAX_SHARDS, _BRIEF = 2**14, 2**14, 5e-3
#: Shards of a GPU where there are blocks for them, and products of one up to `_MAX_SHARDS`: some seconds.
_GPU_SHARDS, _GPU_SHARD = 8, 2**42


@dataclass(frozen=True)
class IntegerGlynnWork(Stated[int]):
    r"""Glynn's sum of a square matrix of integers. A unit is a block of 32 terms.

    :math:`2^{n-1} \mathrm{per}(a) = \sum_\delta \prod_i \delta_i \prod_j \sum_i \delta_i a_{ij}`
    over signs with :math:`\delta_1 = 1`; D. Glynn, Eur. J. Comb. 31, 1887 (2010).
    """

    matrix: Rows

    unit: ClassVar[str] = "blocks"

    @property
    def side(self) -> int:
        """Rows and columns n."""
        return len(self.matrix)

    @property
    def factors(self) -> float:
        """Factors of all terms, n 2^(n-1)."""
        return self.side * 2.0 ** (self.side - 1)

    def shards(self) -> Sequence[Shard]:
        """Ranges of blocks."""
        blocks = 2 ** (self.side - 1 - _INNER)
        return split(blocks, -(-blocks // max(_SHARD_BLOCKS, blocks // _MAX_SHARDS)))

    @property
    @abstractmethod
    def core_seconds(self) -> float:
        """Guess of the time on one core."""

    @property
    @abstractmethod
    def gpu_seconds(self) -> float:
        """The same on an NVIDIA H200, which sums modulo primes."""

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return self.core_seconds <= _BRIEF


@dataclass(frozen=True)
class WordWork(IntegerGlynnWork):
    """Glynn's sum modulo ``2**bits``, two's complement; a partial holds its words of 64 bits.

    Where each column's sum of magnitudes is below 2^30, numbers are limbs of 31 bits in vector lanes,
    else words of 64 bits.
    """

    bits: int

    name: ClassVar[str] = "permanents.exact.words"
    revision: ClassVar[int] = 1

    @classmethod
    def of(cls, matrix: Rows) -> WordWork | None:
        """Work of enough bits; None if that is too many, or if a column's sum needs too many."""
        if max(column_sums(matrix)) >= _LONG:
            return None
        # The sign takes one bit, the factor 2^(n-1) as many as it says.
        bits = permanent_bound(matrix).bit_length() + len(matrix)
        return cls(matrix, bits) if bits <= 64 * _MAX_WORDS else None

    @property
    def words(self) -> int:
        """Words of the sum."""
        return -(-self.bits // 64)

    @property
    def limbs(self) -> int:
        """Limbs of the sum, an even number."""
        return 2 * -(-self.bits // 62)

    @property
    def is_short(self) -> bool:
        """Whether column sums fit 31 bits with their signs."""
        return max(column_sums(self.matrix)) < _SHORT

    @property
    def core_seconds(self) -> float:
        """Guess of the time on one core."""
        return self.factors * _WORD_SECONDS[self.is_short] * self.words

    @property
    def gpu_seconds(self) -> float:
        """The same on an NVIDIA H200, which sums modulo primes."""
        return self.factors * _GPU_SECONDS * math.ceil((self.bits - self.side + 1) / 62)

    def products(self, limit: int) -> list[int]:
        """The last columns of products of column sums below `limit`."""
        sums = column_sums(self.matrix)
        ends, product = [], 1
        for j, size in enumerate(sums):
            product *= max(size, 1)
            if j + 1 == len(sums) or product * sums[j + 1] >= limit:
                ends.append(j)
                product = 1
        return ends

    @cached_property
    def ends(self) -> NDArray[np.uint8]:
        """What follows each column: 0 the same product, else the kernel's code of what to do with it.

        That is 1 for words; for limbs, 1 if the product of all columns so far fits the limbs that hold
        it, 2 if it takes one more, and 3 if there is none.
        """
        sums = column_sums(self.matrix)
        ends = np.zeros(len(sums), dtype=np.uint8)
        if not self.is_short:
            ends[self.products(2**63)] = 1
            return ends
        used = 1
        for j in self.products(2**31):
            needed = -(-math.prod(sums[: j + 1]).bit_length() // 31)
            ends[j] = 3 if needed > self.limbs else 2 if needed > used else 1
            used = min(max(used, needed), self.limbs)
        return ends

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum the terms of a range of blocks."""
        core = native.vector.permanents
        kernel = core.exact_glynn_limbs if self.is_short else core.exact_glynn_words
        words, complete = kernel(
            np.array(self.matrix, dtype=np.int32 if self.is_short else np.int64),
            self.ends,
            self.limbs if self.is_short else self.words,
            shard.start,
            shard.stop,
            context.stop,
        )
        return ShardResult(self._partial(_from_words(words)), complete)

    def _partial(self, total: int) -> Partial:
        data = (total % 2**self.bits).to_bytes(8 * self.words, "little")
        return {"words": np.frombuffer(data, dtype="<u8")}

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add modulo ``2**bits``."""
        return self._partial(_from_words(left["words"]) + _from_words(right["words"]))

    def result(self, partial: Partial) -> int:
        """Read the sum as two's complement and divide it by ``2**(n-1)``."""
        total = _from_words(partial["words"])
        if total >> (self.bits - 1):
            total -= 1 << self.bits
        return total >> (self.side - 1)


def _from_words(words: NDArray[np.uint64]) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


@dataclass(frozen=True)
class ResidueWork(IntegerGlynnWork, Modular[int]):
    """Glynn's sum modulo primes below 2^62, for integers of any size; a partial holds residues."""

    primes: tuple[int, ...]

    name: ClassVar[str] = "permanents.exact.residues"
    revision: ClassVar[int] = 1

    @classmethod
    def of(cls, matrix: Rows, primes: tuple[int, ...] = ()) -> Self:
        """Work of these primes, or as many as the permanent and its sign need."""
        return cls(matrix, primes or primes_above(2 * permanent_bound(matrix) + 1))

    @property
    def core_seconds(self) -> float:
        """Guess of the time on one core."""
        return self.factors * _PRIME_SECONDS * len(self.primes)

    @property
    def gpu_seconds(self) -> float:
        """The same on an NVIDIA H200."""
        return self.factors * _GPU_SECONDS * len(self.primes)

    @property
    def reduced(self) -> NDArray[np.uint64]:
        """The matrix modulo each prime, shape (primes, n, n)."""
        whole = np.array(self.matrix, dtype=object)
        return np.array([whole % p for p in self.primes], dtype=np.uint64)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum the terms of a range of blocks, one prime after the other."""
        residues, complete = native.vector.permanents.exact_glynn_residues(
            self.reduced.reshape(-1, self.side),
            np.array(self.primes, dtype=np.uint64),
            shard.start,
            shard.stop,
            context.stop,
        )
        return ShardResult({"residues": residues}, complete)

    def result(self, partial: Partial) -> int:
        """Undo the kernel's powers of two and put the residues together (Garner's way)."""
        # The kernel's sum is 2^(n-1) per(a), divided by 2^64 for each of n - 1 products.
        power = 63 * (self.side - 1)
        return joined(partial["residues"].tolist(), self.primes, power)


@dataclass(frozen=True)
class CudaResidueWork(ResidueWork):
    """The same on GPUs, for more than `STEP_BITS` rows."""

    name: ClassVar[str] = "permanents.exact.residues.cuda"
    revision: ClassVar[int] = 1

    def shards(self) -> Sequence[Shard]:
        """Ranges of blocks that are whole steps of a block of threads."""
        steps = 2 ** (self.side - 1 - STEP_BITS)
        products = self.factors * len(self.primes)
        count = max(_GPU_SHARDS, 2 ** math.ceil(math.log2(max(1, products / _GPU_SHARD))))
        return split(steps << (STEP_BITS - _INNER), min(count, steps, _MAX_SHARDS))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum the terms of a range of blocks."""
        bits = STEP_BITS - _INNER
        steps = range(shard.start >> bits, shard.stop >> bits)
        residues, complete = sum_residues(self.reduced, self.primes, steps, context)
        return ShardResult({"residues": residues}, complete)


class IntegerGlynn(Method):
    """Signs of rows, for integers of any size."""

    name = "glynn"
    arithmetic = "exact"

    def least(self, block: Block, choice: Choice) -> float:
        """What it takes with numbers of one word, or modulo one prime."""
        n = min(block.side, _MAX_SIDE)
        factors = n * 2.0 ** (n - 1)
        return choice.shared(started(_WORD_SECONDS[True] * factors), _GPU_SECONDS * factors)

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """Of the matrix or its transpose, whichever has the smaller column sums' product.

        Modulo a power of two where 512 bits are enough, else modulo primes, as on GPUs.
        """
        if not _MIN_SIDE <= block.side <= _MAX_SIDE:
            return f"sides from {_MIN_SIDE} to {_MAX_SIDE} are summed"
        integers, scale = block.integers
        turned: Rows = tuple(zip(*integers, strict=True))
        square = min(integers, turned, key=lambda a: math.prod(column_sums(a)))
        words = None if block.primes else WordWork.of(square)
        work = words or ResidueWork.of(square, block.primes)
        terms, core, gpu = 2 ** (work.side - 1), started(work.core_seconds), work.gpu_seconds
        ways = [Way(self, work, terms, core, gpu, scale=scale)]
        if choice.count(Cuda) and work.side > STEP_BITS:
            on_gpu = CudaResidueWork.of(square, block.primes)
            ways.append(Way(self, on_gpu, terms, core, gpu, Cuda, scale=scale))
        return ways
