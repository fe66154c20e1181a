r"""Permanents by Glynn's formula in double-double arithmetic, for sums that cancel too much for float64.

Entries are scaled as in :mod:`hardscape.permanents.methods.glynn.glynn` and split: a multiple of
:math:`2^{-52}` and one of :math:`2^{-98}`, so that the sums of both over signs are exact and
98 bits of each column are kept. Most matrices of floats lose nothing; for the others the bound is an estimate.

**Error**, with :math:`u = 2^{-53}`, N = 2^(n-1) terms and the sum S of their magnitudes. A factor is the
exact sum of its two parts, a double-double number. A product of two of them is wrong by less than
:math:`8 u^2` of its size, a complex one by less than :math:`24 u^2`; a term by n times that. Highs are
added by two-sums, lows and the errors plainly: after L additions the lows are at most :math:`L u S`, and
wrong by :math:`L^2 u^2 S`. The result is rounded to float64 at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Cpu, Cuda, Device, Kernel, Partial, Shard, ShardResult, kernel
from hardscape.permanents.methods.launch import sum_ranges
from hardscape.permanents.methods.method import (
    MAX_SIGNS,
    Block,
    Choice,
    Method,
    Way,
    core_seconds,
    gpu_seconds,
    started,
)
from hardscape.permanents.methods.sums import BlockSum, ShardSizes
from hardscape.permanents.numbers.bounded import TINY, UNIT, BoundedNumber
from hardscape.permanents.structure.scaling import GRID_BITS, equilibrated, padded

#: Signs of a block of the CPU's kernel, and those in registers and of a thread on GPUs.
_INNER = 5
_CUDA_INNER, _CUDA_THREAD_BITS = {1: 4, 2: 3}, {1: 7, 2: 6}
_LEAST_SIDE = _INNER + 1
#: Blocks of a CPU's shard: at most, and up to which it takes milliseconds.
_MOST, _BRIEF = 2**15, 2**9
#: Blocks of 32 terms of one launch.
_LAUNCH_BLOCKS = 2**26
_LOW_BITS = 98
#: How much more double-double numbers cost, real and complex, on CPUs and on an H200.
_TIMES, _TIMES_H200 = (10.0, 36.0), (10.0, 59.0)


@dataclass(frozen=True, eq=False)
class ExtendedWork(BlockSum):
    """Sum Glynn's formula with double-double products. A unit is a block of 32 terms."""

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n); finite, n from 1 to 70

    @cached_property
    def scaled(self) -> tuple[NDArray[np.float64], int, bool]:
        """High and low parts; the power of two taken off; whether all bits are there.

        The parts have shape (2 * parts, m, m), where an identity pads n < 6 rows to m = 6.
        """
        matrix, exponent = equilibrated(self.matrix)
        parts = padded(matrix, _LEAST_SIDE)
        columns = np.frexp(np.abs(parts).sum(axis=1).max(axis=0) * (1 + 2.0**-40))[1]
        with np.errstate(under="ignore"):
            entries = np.ldexp(parts, -columns)
            high = np.ldexp(np.rint(np.ldexp(entries, GRID_BITS)), -GRID_BITS)
            low = np.ldexp(np.rint(np.ldexp(entries - high, _LOW_BITS)), -_LOW_BITS)
        kept = np.ldexp(entries, columns) == parts
        whole = bool(kept.all() and (high + low == entries).all())
        # The shifts before this one lose entries to underflow, or nothing.
        whole = whole and float(np.abs(matrix[self.matrix != 0]).min(initial=1.0)) > 2.0**-900
        return np.concatenate([high, low]), exponent + int(columns.sum()), whole

    @property
    def parts(self) -> int:
        """1 for real matrices, 2 for complex ones."""
        return len(self.scaled[0]) // 2

    @property
    def side(self) -> int:
        """Rows of the matrix that is summed."""
        return int(self.scaled[0].shape[1])

    @property
    def relative(self) -> float:
        """The error of the sum before its last rounding, by the magnitude of the terms."""
        m, chain = self.side, self.shards()
        # Up to 16 additions for a block of the CPU or a step of a GPU's thread.
        additions = 16.0 * min(len(chain[0]), _MOST) + 2.0**10
        steps = additions**2 + (4.0 * len(chain)) ** 2
        relative = (m * (8 if self.parts == 1 else 24) + 16 + 2 * steps) * UNIT**2
        # The last bit that was kept, in each of the entries that are summed.
        cut = 0.0 if self.scaled[2] else m**2 * 2.0**-_LOW_BITS
        return relative + cut

    def result(self, partial: Partial) -> BoundedNumber:
        """The permanent, rounded to float64, and its error bound from the merge of all shards."""
        (_, exponent, whole), m = self.scaled, self.side
        sums, mantissa, magnitude = self.read(partial)
        underflow = 2.0**m * m * 2.0 ** (m / 2) * 64 * TINY
        rest = self.rest(partial, sums)
        bound = 1.01 * self.relative * magnitude + abs(rest) * (1 + 4 * UNIT) + underflow
        terms, power = 32 * self.blocks, exponent + 1 - m
        return BoundedNumber(mantissa, bound, power, whole, terms, magnitude, rest=rest)


@dataclass(frozen=True, eq=False)
class CpuExtendedWork(ExtendedWork):
    """The sum on a CPU."""

    name: ClassVar[str] = "permanents.extended"
    revision: ClassVar[int] = 1
    sizes: ClassVar[ShardSizes] = ShardSizes(64, _BRIEF, _MOST)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of blocks."""
        return self.summed(
            *native.vector.permanents.glynn_extended(
                self.scaled[0], shard.start, shard.stop % 2**64, context.stop
            )
        )


@dataclass(frozen=True, eq=False)
class CudaExtendedWork(ExtendedWork):
    """The sum on GPUs."""

    name: ClassVar[str] = "permanents.extended.cuda"
    revision: ClassVar[int] = 1
    sizes: ClassVar[ShardSizes] = ShardSizes(8, 2**14, 2**28, in_all=2**20)

    @property
    def thread_bits(self) -> int:
        """Signs that number the threads of a block."""
        return min(_CUDA_THREAD_BITS[self.parts], self.side - 1 - _CUDA_INNER[self.parts])

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel for matrices of this side, as data."""
        sizes = {
            "kFactors": self.side,
            "kParts": self.parts,
            "kInner": _CUDA_INNER[self.parts],
            "kThreadBits": self.thread_bits,
        }
        source = "permanents/methods/extended/extended.cu"
        return kernel(source, "extended_sum", constants=sizes, options=("-fmad=false",))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of blocks."""
        entries, parts = self.scaled[0], self.parts
        threads, inner = 1 << self.thread_bits, _CUDA_INNER[parts]
        bits = inner + self.thread_bits - _INNER  # of the blocks that all threads sum at a step
        steps = range(shard.start >> bits, shard.stop >> bits, max(1, _LAUNCH_BLOCKS >> bits))
        shared = 8 * 2 * parts * entries.shape[1] * (threads + (1 << inner - 1))
        return self.summed(
            *sum_ranges(context, self.kernel, entries, steps, parts, threads, shared)
        )


class Extended(Method):
    """The sum in double-double numbers, for any matrix of up to 70 rows."""

    name = "glynn"
    arithmetic = "extended"

    def least(self, block: Block, choice: Choice) -> float:
        """What it takes."""
        return choice.shared(*_seconds(min(block.side, MAX_SIGNS), block.is_complex))

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """On CPUs and on GPUs; sides above 70 are refused."""
        if block.side > MAX_SIGNS:
            return f"sides up to {MAX_SIGNS} are counted in 64 bits"
        core, gpu = _seconds(block.side, block.is_complex)
        sides: dict[type[Device], type[ExtendedWork]] = {
            Cpu: CpuExtendedWork,
            Cuda: CudaExtendedWork,
        }
        works = {
            device: side(block.entries) for device, side in sides.items() if choice.count(device)
        }
        return [
            Way(
                self,
                work,
                32 * work.blocks,
                core,
                gpu,
                on,
                sharp=work.scaled[2],
                promise=(UNIT, work.relative),
            )
            for on, work in works.items()
        ]


def _seconds(n: int, is_complex: bool) -> tuple[float, float]:
    """Those on one core and on one GPU."""
    return started(core_seconds(n, _TIMES[is_complex])), gpu_seconds(n, _TIMES_H200[is_complex])
