r"""Permanents by Glynn's formula in double-double arithmetic, for sums that cancel too much for float64.

Entries are scaled as in :mod:`hardscape.permanents.glynn` and split: a multiple of :math:`2^{-52}` and one
of :math:`2^{-98}`, so that the sums of both over signs are exact and 98 bits of each column are kept.
Most matrices of floats lose nothing; for the others the bound is an estimate.

**Error**, with :math:`u = 2^{-53}`, N = 2^(n-1) terms and the sum S of their magnitudes. A factor is the
exact sum of its two parts, a double-double number. A product of two of them is wrong by less than
:math:`8 u^2` of its size, a complex one by less than :math:`24 u^2`; a term by n times that. Highs are
added by two-sums, lows and the errors plainly: after L additions the lows are at most :math:`L u S`, and
wrong by :math:`L^2 u^2 S`. The result is rounded to float64 at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Partial, Shard, ShardResult, Work
from hardscape.engine.cuda.jit import Kernel
from hardscape.permanents.cuda import header, sum_ranges
from hardscape.permanents.glynn import equilibrated
from hardscape.permanents.number import TINY, UNIT, BoundedNumber, merge_sums
from hardscape.permanents.shards import ShardSizes, digest

__all__ = ["ExtendedWork"]

#: Signs of a block of the CPU's kernel, and those in registers and of a thread on GPUs.
_INNER = 5
_CUDA_INNER, _CUDA_THREAD_BITS = {1: 4, 2: 3}, {1: 7, 2: 6}
_LEAST_SIDE = _INNER + 1
_SHARDS = {"cpu": ShardSizes(64, 2**9, 2**15), "cuda": ShardSizes(8, 2**14, 2**28)}
#: Blocks of 32 terms of one launch.
_LAUNCH_BLOCKS = 2**26
_HIGH_BITS, _LOW_BITS = 52, 98


@dataclass(frozen=True, eq=False)
class ExtendedWork(Work[Partial]):
    """Sum Glynn's formula with double-double products. A unit is a block of 32 terms.

    Partials are those of :class:`hardscape.permanents.glynn.GlynnWork`.

    Attributes
    ----------
    matrix : float64 or complex128, shape (n, n)
        Finite, n from 1 to 63.
    kind : {"cpu", "cuda"}
        The kernel: all shards run on devices of this kind.
    """

    matrix: NDArray[Any]
    kind: Literal["cpu", "cuda"] = "cpu"

    name: ClassVar[str] = "permanents.extended"
    unit: ClassVar[str] = "blocks"

    def __reduce__(self) -> tuple[Any, ...]:
        return ExtendedWork, (self.matrix, self.kind)

    @cached_property
    def scaled(self) -> tuple[NDArray[np.float64], int, bool]:
        """High and low parts; the power of two taken off; whether all bits are there.

        The parts have shape (2 * parts, m, m), where an identity pads n < 6 rows to m = 6.
        """
        matrix, exponent = equilibrated(self.matrix)
        n, m = len(matrix), max(_LEAST_SIDE, len(matrix))
        parts = np.zeros((2 if np.iscomplexobj(matrix) else 1, m, m))
        parts[0, range(n, m), range(n, m)] = 1
        parts[0, :n, :n] = matrix.real
        if len(parts) == 2:
            parts[1, :n, :n] = matrix.imag
        columns = np.frexp(np.abs(parts).sum(axis=1).max(axis=0) * (1 + 2.0**-40))[1]
        with np.errstate(under="ignore"):
            entries = np.ldexp(parts, -columns)
            high = np.ldexp(np.rint(np.ldexp(entries, _HIGH_BITS)), -_HIGH_BITS)
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
    def blocks(self) -> int:
        """Number of blocks."""
        return 1 << (int(self.scaled[0].shape[1]) - 1 - _INNER)

    def digest(self) -> str:
        """Digest of the matrix and of the kernel."""
        return digest(self.name, self.matrix, self.kind)

    def shards(self) -> Sequence[Shard]:
        """Shards of a power of two of blocks."""
        return _SHARDS[self.kind].of(self.blocks, self.kind)

    @property
    def thread_bits(self) -> int:
        """Signs that number the threads of a block on a GPU."""
        side = int(self.scaled[0].shape[1])
        return min(_CUDA_THREAD_BITS[self.parts], side - 1 - _CUDA_INNER[self.parts])

    @cached_property
    def kernel(self) -> Kernel:
        """The CUDA kernel for matrices of this side, as data."""
        folder = files("hardscape.permanents")
        source, sums, extended = (
            folder.joinpath(name).read_text(encoding="utf-8")
            for name in ("extended.cu", "sums.cuh", "extended.hpp")
        )
        sizes = {
            "kFactors": self.scaled[0].shape[1],
            "kParts": self.parts,
            "kInner": _CUDA_INNER[self.parts],
            "kThreadBits": self.thread_bits,
        }
        headers = (header(sizes), ("sums.cuh", sums), ("extended.hpp", extended))
        return Kernel("extended_sum", source, headers, ("-fmad=false",))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of blocks."""
        entries, parts = self.scaled[0], self.parts
        if self.kind == "cpu":
            sums, complete = native.vector.permanents.glynn_extended(
                entries, shard.start, shard.stop, context.stop
            )
        else:
            threads, inner = 1 << self.thread_bits, _CUDA_INNER[parts]
            bits = inner + self.thread_bits - _INNER  # of the blocks that all threads sum at a step
            steps = range(shard.start >> bits, shard.stop >> bits, max(1, _LAUNCH_BLOCKS >> bits))
            sums, complete = sum_ranges(
                context.device.ordinal,
                self.kernel,
                entries,
                steps,
                context.stop,
                parts=parts,
                threads=threads,
                shared=8 * 2 * parts * entries.shape[1] * (threads + (1 << inner - 1)),
            )
        high, low, magnitude = np.split(sums, [parts, 2 * parts])
        partial = {"high": high, "low": low, "magnitude": magnitude, "excess": np.zeros(1)}
        return ShardResult(partial, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add sums; what a high loses goes to the low."""
        return merge_sums(left, right)

    def total(self, partial: Partial) -> BoundedNumber:
        """The permanent, rounded to float64, and its error bound from the merge of all shards."""
        entries, exponent, whole = self.scaled
        parts, m = self.parts, entries.shape[1]
        sums = [math.fsum(pair) for pair in zip(partial["high"], partial["low"], strict=True)]
        magnitude = float(partial["magnitude"][0])
        chain = self.shards()
        # Up to 16 additions for a block of the CPU or a step of a GPU's thread.
        additions = 16.0 * min(len(chain[0]), _SHARDS["cpu"].most) + 2.0**10
        steps = additions**2 + (4.0 * len(chain)) ** 2
        relative = (m * (8 if parts == 1 else 24) + 16 + 2 * steps) * UNIT**2
        underflow = 2.0**m * m * 2.0 ** (m / 2) * 64 * TINY
        # The last bit that was kept, in each of the entries that are summed.
        cut = 0.0 if whole else m**2 * 2.0**-_LOW_BITS
        bound = 1.01 * ((relative + cut) * magnitude + UNIT * sum(map(abs, sums))) + underflow
        mantissa = sums[0] if parts == 1 else complex(*sums)
        terms = 32 * self.blocks
        return BoundedNumber(mantissa, bound, exponent + 1 - m, whole, terms, magnitude)
