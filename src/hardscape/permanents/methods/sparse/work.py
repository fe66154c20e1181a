"""Sums over the outer signs of a sparse matrix, the inner variables eliminated.

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

from hardscape.engine import Partial, Shard, split
from hardscape.permanents.methods.sums import SignSum
from hardscape.permanents.numbers.bounded import UNIT, BoundedNumber
from hardscape.permanents.structure.elimination import Elimination, eliminate
from hardscape.permanents.structure.scaling import GRID_BITS, equilibrated, parts_of, whole_of

#: Fast signs, for real and complex matrices.
_FAST = {1: 5, 2: 4}
_MOST_SHARDS = 2**20
#: Terms whose errors are about the same; complex ones are expected to lose more than they do.
_SHARED = {1: 8, 2: 1}


@dataclass(frozen=True, eq=False)
class SparseWork(SignSum):
    """Sum Glynn's formula over outer signs. A unit is a step of all threads, or lanes."""

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n); finite, n from 6 to 70

    unit: ClassVar[str] = "steps"
    most_thread_bits: ClassVar[int]  #: signs that number the threads of a block, or the lanes
    shard_operations: ClassVar[float]  #: at most

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
        """Signs that number the threads, or lanes."""
        return min(self.most_thread_bits, len(self.plan.slow) - 1)

    @property
    def steps(self) -> int:
        """Positions of the Gray code."""
        return 1 << (len(self.plan.slow) - 1 - self.thread_bits)

    @cached_property
    def outer(self) -> tuple[NDArray[Any], NDArray[Any], int]:
        """Rows of the fast and of the slow signs, scaled, on the grid; and the power of two taken off."""
        matrix, _, plan = self.chosen
        rows = matrix[[*plan.fast, *plan.slow]] / np.array(plan.scales)
        parts = parts_of(rows, self.parts)
        exponents = np.frexp(np.abs(parts).sum(axis=1).max(axis=0))[1]
        grid = np.ldexp(np.rint(np.ldexp(parts, GRID_BITS - exponents)), exponents - GRID_BITS)
        # Factors without an inner variable can be scaled further, to keep products in range.
        plain = ~np.asarray(matrix[list(plan.inner)] != 0).any(axis=0)
        grid[:, :, plain] = np.ldexp(grid[:, :, plain], -exponents[plain])
        whole = whole_of(grid)
        count = len(plan.fast)
        return whole[:count], whole[count:], int(exponents[plain].sum())

    @property
    def first(self) -> NDArray[Any]:
        """Rows of the slow signs, those of the fast ones added to the first: exact on the grid."""
        fast, slow, _ = self.outer
        rows = slow.copy()
        rows[0] += fast.sum(axis=0)
        return rows

    @property
    def terms(self) -> int:
        """Terms that are summed."""
        return self.steps << (self.thread_bits + len(self.plan.fast))

    def shards(self) -> Sequence[Shard]:
        """Shards of about the same time; eight at least where there is something to share."""
        count = max(self.operations / self.shard_operations, 8 if self.operations > 1e11 else 1)
        return split(self.steps, min(self.steps, _MOST_SHARDS, math.ceil(count)))

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
        # Neighbouring terms share products, and what those lost.
        different = max(1, self.terms // _SHARED[self.parts])
        return BoundedNumber(
            value, bound, exponent, False, self.terms, magnitude, different=different
        )
