"""Permanents of sparse matrices: Glynn's formula, of which some variables are eliminated.

See `hardscape.permanents.structure.elimination` for the formula. The outer entries of each factor lie
on a grid on which their sums are exact, as in `hardscape.permanents.methods.glynn.glynn`. GPUs have kernels
generated for the matrix, CPUs interpret the elimination, each of its operations for 32 signs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hardscape import native
from hardscape.engine import Context, Cpu, Cuda, Shard, ShardResult
from hardscape.permanents.methods.method import (
    COMPLEX,
    MAX_SIGNS,
    Block,
    Choice,
    Method,
    Way,
    core_seconds,
    started,
)
from hardscape.permanents.methods.sparse.cuda import CudaSparseWork
from hardscape.permanents.methods.sparse.work import SparseWork
from hardscape.permanents.numbers.bounded import UNIT
from hardscape.permanents.structure.elimination import LEAST_COST, Operand
from hardscape.permanents.structure.scaling import parts_of

#: Smallest sides: there must be a sign for each thread of a block or lane, and a fixed one.
_LEAST_SIDE, _LEAST_CPU_SIDE = 6, 20
#: Operations a second of an H200, and seconds to compile a kernel.
_H200, _START = 1e13, 2.0
#: Operations a second of a core.
_CORE = 8e9


@dataclass(frozen=True, eq=False)
class CpuSparseWork(SparseWork):
    """The sum on a CPU: steps of 32 lanes."""

    name: ClassVar[str] = "permanents.sparse.cpu"
    revision: ClassVar[int] = 1
    most_thread_bits: ClassVar[int] = 5
    shard_operations: ClassVar[float] = 1e10

    @cached_property
    def program(self) -> tuple[Any, ...]:
        """Constants, operations, fast signs that each depends on, and the value that is summed."""
        plan, n = self.plan, len(self.matrix)
        constants: dict[complex, int] = {}
        first = n + len(plan.operations)

        def place(operand: Operand | None) -> int:
            if operand is None:
                return -1
            if isinstance(operand, int):
                return operand
            return first + constants.setdefault(complex(operand), len(constants))

        operations = [(place(o.left), place(o.right), place(o.more)) for o in plan.operations]
        result = place(plan.result)
        numbers = np.array(list(constants), dtype=np.complex128)
        return (
            parts_of(numbers, self.parts),
            np.array(operations, dtype=np.int32).reshape(-1, 3),
            np.array([o.changes for o in plan.operations], dtype=np.int64),
            result,
        )

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of steps."""
        constants, operations, changes, result = self.program
        return self.summed(
            *native.vector.permanents.sparse_sum(
                parts_of(self.first, self.parts),
                parts_of(self.outer[0], self.parts),
                constants,
                operations,
                changes,
                result,
                shard.start,
                shard.stop,
                context.stop,
            )
        )


class Sparse(Method):
    """Signs of some rows of a sparse matrix, the others eliminated."""

    name = "sparse"
    arithmetic = "double"
    look = 0.01

    def least(self, block: Block, choice: Choice) -> float:
        """What as few operations as there can be for each term take; infinite for dense blocks."""
        if block.density == 1:
            return math.inf
        operations = LEAST_COST * 2.0 ** (min(block.side, MAX_SIGNS) - 1)
        return choice.shared(operations / _CORE, _START + operations / _H200)

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """On GPUs and on CPUs; blocks that are dense, or summed in no time, are refused."""
        if not _LEAST_SIDE <= block.side <= MAX_SIGNS:
            return f"sides from {_LEAST_SIDE} to {MAX_SIGNS} are summed"
        if block.density == 1:
            return "no entry is 0"
        asked = choice.method == self.name
        times = COMPLEX if block.is_complex else 1.0
        core = core_seconds(block.side, times)
        promise = UNIT, 10 * block.side * UNIT
        ways = []
        if choice.count(Cuda) and (asked or limit > _START):
            work: SparseWork = CudaSparseWork(block.entries)
            gpu = _START + work.operations / _H200
            ways.append(Way(self, work, work.terms, started(core), gpu, Cuda, promise=promise))
        if choice.count(Cpu) and block.side >= _LEAST_CPU_SIDE:
            work = CpuSparseWork(block.entries)
            seconds = started(work.operations / _CORE)
            ways.append(Way(self, work, work.terms, seconds, promise=promise))
        return ways or "the dense sum takes no longer than to compile a kernel"
