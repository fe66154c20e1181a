"""Permanents of sparse matrices on GPUs, by kernels generated for the matrix.

See `hardscape.permanents.structure.elimination` for the formula. The outer entries of each factor lie
on a grid on which their sums are exact, as in `hardscape.permanents.methods.glynn.glynn`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Cuda, Kernel, Partial, Shard, ShardResult, kernel, split
from hardscape.permanents.methods.launch import sum_ranges
from hardscape.permanents.methods.method import (
    COMPLEX,
    MAX_SIGNS,
    Block,
    Choice,
    Method,
    Way,
    core_seconds,
    gpu_seconds,
    started,
)
from hardscape.permanents.methods.sums import SignSum
from hardscape.permanents.numbers.bounded import UNIT, BoundedNumber
from hardscape.permanents.structure.elimination import Elimination, Operand, eliminate
from hardscape.permanents.structure.scaling import GRID_BITS, equilibrated

#: Fast signs, for real and complex matrices, and signs of a thread.
_FAST = {1: 5, 2: 4}
_THREAD_BITS = 8
#: Smallest side: there must be a sign for each of these, and a fixed one.
_LEAST_SIDE = 6
#: Operations of a shard and of a launch, at most: a third of a second.
_SHARD_OPERATIONS = 3e12
_MOST_SHARDS = 2**20
#: Operations a second of an H200, and seconds to choose and compile a kernel.
_H200, _START = 1e13, 2.0


@dataclass(frozen=True, eq=False)
class SparseWork(SignSum):
    """Sum Glynn's formula over outer signs. A unit is a step of all threads."""

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n); finite, n from 6 to 63

    name: ClassVar[str] = "permanents.sparse"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "steps"

    @property
    def parts(self) -> int:
        """1 for real matrices, 2 for complex ones."""
        return 2 if np.iscomplexobj(self.matrix) else 1

    @property
    def plan(self) -> Elimination:
        """What is eliminated, and how."""
        return self.chosen[2]

    @cached_property
    def chosen(self) -> tuple[NDArray[Any], int, Elimination]:
        """The matrix, or its transpose, with entries of at most 1; the power of two taken off; plan."""
        matrix, exponent = equilibrated(self.matrix)
        ways = [
            (one, eliminate(one, _FAST[self.parts]))
            for one in (matrix, np.ascontiguousarray(matrix.T))
        ]
        best, plan = min(ways, key=lambda way: way[1].cost)
        return best, exponent, plan

    @property
    def operations(self) -> float:
        """Estimate of all floating-point operations."""
        complex_factor = 1 if self.parts == 1 else 4
        return complex_factor * self.plan.cost * 2.0 ** (len(self.matrix) - 1)

    @property
    def thread_bits(self) -> int:
        """Signs that number the threads of a block."""
        return min(_THREAD_BITS, len(self.plan.slow) - 1)

    @property
    def steps(self) -> int:
        """Positions of the Gray code."""
        return 1 << (len(self.plan.slow) - 1 - self.thread_bits)

    @cached_property
    def outer(self) -> tuple[NDArray[Any], NDArray[Any], int]:
        """Rows of the fast and of the slow signs, scaled, on the grid; and the power of two taken off."""
        matrix, _, plan = self.chosen
        rows = matrix[[*plan.fast, *plan.slow]] / np.array(plan.scales)
        parts = np.stack([rows.real, rows.imag] if self.parts == 2 else [rows])
        exponents = np.frexp(np.abs(parts).sum(axis=1).max(axis=0))[1]
        grid = np.ldexp(np.rint(np.ldexp(parts, GRID_BITS - exponents)), exponents - GRID_BITS)
        # Factors without an inner variable can be scaled further, to keep products in range.
        plain = ~np.asarray(matrix[list(plan.inner)] != 0).any(axis=0)
        grid[:, :, plain] = np.ldexp(grid[:, :, plain], -exponents[plain])
        whole = grid[0] + 1j * grid[1] if self.parts == 2 else grid[0]
        count = len(plan.fast)
        return whole[:count], whole[count:], int(exponents[plain].sum())

    def shards(self) -> Sequence[Shard]:
        """Shards of about the same time; eight at least where there is something to share."""
        count = max(self.operations / _SHARD_OPERATIONS, 8 if self.operations > 1e11 else 1)
        return split(self.steps, min(self.steps, _MOST_SHARDS, math.ceil(count)))

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel for this matrix, as data."""
        sizes = {
            "kFactors": len(self.matrix),
            "kParts": self.parts,
            "kThreadBits": self.thread_bits,
            "kWalked": len(self.plan.slow) - 1 - self.thread_bits,
        }
        source, program = "permanents/methods/sparse/sparse.cu", {"program.cuh": self._program()}
        return kernel(source, "sparse_sum", constants=sizes, generated=program)

    def _program(self) -> str:
        """The elimination and the walked rows as CUDA source."""
        walked = self.outer[1][1 + self.thread_bits :]
        columns = [np.flatnonzero(row).tolist() for row in walked]
        starts = np.cumsum([0, *map(len, columns)]).tolist()
        factors = [j for row in columns for j in row] or [0]
        return "\n".join(
            [
                "#pragma once",
                '#include "permanents/methods/sums.cuh"',
                "namespace {",
                f"__constant__ const int kRowStart[] = {{{', '.join(map(str, starts))}}};",
                f"__constant__ const int kRowFactor[] = {{{', '.join(map(str, factors))}}};",
                *_block(self.plan, self.outer[0]),
                "}  // namespace",
                "",
            ]
        )

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of steps."""
        parts, threads = self.parts, 1 << self.thread_bits
        fast, slow, _ = self.outer
        rows = slow.copy()
        rows[0] += fast.sum(axis=0)  # exact on the grid
        every = max(1, int(self.steps * _SHARD_OPERATIONS / self.operations))
        steps = range(shard.start, shard.stop, every)
        shared = 8 * threads * max(parts * len(self.matrix), 2 * parts + 1)
        return self.summed(*sum_ranges(context, self.kernel, rows, steps, parts, threads, shared))

    def result(self, partial: Partial) -> BoundedNumber:
        """The permanent, and an estimate of its error, from the merge of all shards."""
        n, plan = len(self.matrix), self.plan
        _, value, magnitude = self.read(partial)
        exponent = self.chosen[1] + self.outer[2] + 1 - len(plan.fast) - len(plan.slow)
        # Roundings of entries, of each product and of the sums inside it, all as large as a term.
        factor = 10 if self.parts == 1 else 20
        bound = 1.01 * n * factor * UNIT * magnitude
        for scale in plan.scales:
            shift = math.frexp(max(abs(value.real), abs(value.imag)))[1]
            value, exponent = value * 2.0**-shift * scale, exponent + shift
            bound, magnitude = (math.ldexp(x, -shift) * abs(scale) for x in (bound, magnitude))
        terms = self.steps << (self.thread_bits + len(plan.fast))
        return BoundedNumber(value, bound, exponent, False, terms, magnitude)


def _block(plan: Elimination, fast: NDArray[Any]) -> list[str]:
    """The function that sums the elimination over all fast signs, unrolled along their Gray code."""
    n = len(plan.leaves)

    def text(operand: Operand) -> str:
        return f"v{operand}" if isinstance(operand, int) else _literal(operand)

    def assigned(number: int) -> str:
        operation = plan.operations[number - n]
        left, right, more = operation.left, operation.right, operation.more
        if right is None:
            assert more is not None
            return f"{text(left)} + {text(more)}"
        if more is None:
            return f"{text(left)} * {text(right)}"
        return f"multiply_add({text(left)}, {text(right)}, {text(more)})"

    numbers = range(n, n + len(plan.operations))
    result = text(plan.result)
    lines = [
        "__device__ __forceinline__ Value sum_block(",
        "    const Value (*sum)[1 << kThreadBits], double& magnitude) {",
    ]
    lines += [f"  Value v{j} = sum[{j}][threadIdx.x];" for j in range(n)]
    lines += [f"  Value v{number} = {assigned(number)};" for number in numbers]
    lines += [f"  Value term = {result};", f"  magnitude += one_norm({result});"]
    for step in range(1, 1 << len(plan.fast)):
        bit = (step & -step).bit_length() - 1
        sign = "-" if (step ^ step >> 1) >> bit & 1 else "+"
        row = fast[bit]
        lines += [
            f"  v{j} = v{j} {sign} {_literal(2 * row[j].item())};" for j in np.flatnonzero(row)
        ]
        lines += [
            f"  v{number} = {assigned(number)};"
            for number in numbers
            if plan.operations[number - n].changes >> bit & 1
        ]
        lines += [
            f"  term = term {'-' if step & 1 else '+'} {result};",
            f"  magnitude += one_norm({result});",
        ]
    return [*lines, "  return term;", "}"]


def _literal(number: float | complex) -> str:
    if isinstance(number, complex):
        return f"Value{{{number.real.hex()}, {number.imag.hex()}}}"
    return f"Value{{{number.hex()}}}"


class Sparse(Method):
    """Kernels generated for a sparse matrix, on GPUs."""

    name = "sparse"
    arithmetic = "double"

    def ways(self, block: Block, choice: Choice, least: float) -> list[Way] | str:
        """One; blocks that are dense, or summed in no time, are refused."""
        if not choice.has(Cuda):
            return "its kernels are for GPUs"
        if not _LEAST_SIDE <= block.side <= MAX_SIGNS:
            return f"sides from {_LEAST_SIDE} to {MAX_SIGNS} are summed"
        if block.density == 1:
            return "no entry is 0"
        times = COMPLEX if block.is_complex else 1.0
        # Looking for what to eliminate takes the CPU a second.
        if gpu_seconds(block.side, times) <= _START:
            return "the dense kernel takes no longer than a search"
        work = SparseWork(block.entries)
        terms = work.steps << (work.thread_bits + len(work.plan.fast))
        core = started(core_seconds(block.side, times))
        promise = UNIT, 10 * block.side * UNIT
        gpu = _START + work.operations / _H200
        return [Way(self, work, terms, core, gpu, Cuda, promise=promise)]
