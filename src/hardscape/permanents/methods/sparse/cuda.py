"""Sparse matrices on GPUs, by kernels generated for the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Kernel, Shard, ShardResult, kernel
from hardscape.permanents.methods.launch import sum_ranges
from hardscape.permanents.methods.sparse.work import SparseWork
from hardscape.permanents.structure.elimination import Elimination, Operand


@dataclass(frozen=True, eq=False)
class CudaSparseWork(SparseWork):
    """The sum on GPUs: steps of a block of threads."""

    name: ClassVar[str] = "permanents.sparse"
    revision: ClassVar[int] = 1
    most_thread_bits: ClassVar[int] = 8
    #: Also those of a launch: a third of a second.
    shard_operations: ClassVar[float] = 3e12

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
        every = max(1, int(self.steps * self.shard_operations / self.operations))
        steps = range(shard.start, shard.stop, every)
        shared = 8 * threads * max(parts * len(self.matrix), 2 * parts + 1)
        return self.summed(
            *sum_ranges(context, self.kernel, self.first, steps, parts, threads, shared)
        )


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
