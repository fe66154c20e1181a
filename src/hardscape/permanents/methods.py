"""The ways to find the permanent of one block, each with its cost before it is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Device, Partial, Work
from hardscape.permanents import cost
from hardscape.permanents.exact import MAX_SUBSET_ROWS, SUBSET_SECONDS, integers_of, subset_sum
from hardscape.permanents.extended import ExtendedWork
from hardscape.permanents.frontier import (
    FrontierOrder,
    FrontierSumWork,
    FrontierWork,
    best_order,
)
from hardscape.permanents.glynn import MAX_GLYNN_SIZE, GlynnWork
from hardscape.permanents.integers import (
    MAX_SIDE,
    MIN_SIDE,
    Rows,
    glynn_of_integers,
    permanent_bound,
    primes_above,
)
from hardscape.permanents.multiplicity import Repeated, repeated_lines
from hardscape.permanents.number import BoundedNumber, product
from hardscape.permanents.repeated import RepeatedResidueWork, RepeatedWork
from hardscape.permanents.sparse import LEAST_SPARSE, SparseWork
from hardscape.permanents.subset import SubsetWork, subset_memory

__all__ = [
    "METHODS",
    "Candidate",
    "double_candidates",
    "exact_candidates",
    "extended_candidates",
    "frontier_exactly",
    "frontier_in_double",
]

#: Names of the methods.
METHODS = ("glynn", "repeated", "sparse", "frontier", "subset")
#: Bytes of the states of a frontier, at most.
_MAX_FRONTIER_BYTES = 2**32
#: Terms that are counted in 64 bits.
_MAX_TERMS = 2**62

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Candidate(Generic[Value]):
    """One way to find a permanent.

    Attributes
    ----------
    method : str
        One of `METHODS`.
    terms : int
        Terms or states summed.
    core_seconds : float
        Estimated time on one core of this machine.
    gpu_seconds : float
        The same on an NVIDIA H200; infinite if the method is for CPUs.
    kind : {"cpu", "cuda"}
        Devices that `work` runs on.
    work : Work or None
        What the engine runs; None for what takes no time.
    value : callable
        The permanent from the whole partial of `work`, or from an empty one.
    memory : int
        Bytes beyond those of the matrix.
    cancels : bool
        Whether terms of a nonnegative matrix cancel, so that digits are lost.
    parts : tuple of Program
        Permanents that add up to this one, instead of `work`; `value` is not called then.
    lines : int
        Lines of three or four entries that were expanded for them.
    """

    method: str
    terms: int
    core_seconds: float
    value: Callable[[Partial], Value]
    work: Work[Any] | None = None
    gpu_seconds: float = math.inf
    kind: Literal["cpu", "cuda"] = "cpu"
    memory: int = 0
    cancels: bool = True
    parts: tuple[Any, ...] = ()
    lines: int = 0

    @property
    def kinds(self) -> set[str]:
        """Devices that the work, or that of the parts, runs on."""
        below = [block.kinds for part in self.parts for block in part.blocks]
        return set().union(*below) if self.parts else {self.kind}

    def seconds(self, devices: Sequence[Device]) -> float:
        """Estimated time on those of `devices` that the method runs on."""
        if self.parts:
            return float(sum(part.seconds(devices) for part in self.parts))
        usable = max(1, sum(device.kind == self.kind for device in devices))
        lanes = min(usable, len(self.work.shards())) if self.work is not None else 1
        if self.kind == "cuda":
            return cost.GPU_START + self.gpu_seconds / lanes
        return self.core_seconds / lanes


def double_candidates(
    block: NDArray[Any],
    guard: bool,
    devices: Sequence[Device],
    error: NDArray[np.float64] | None = None,
) -> Iterator[Candidate[BoundedNumber]]:
    """Ways to find the permanent of a square float64 or complex128 matrix in double precision.

    The errors of the entries are at most `error`.
    """
    n, complex_ = len(block), np.iscomplexobj(block)
    kinds = {device.kind for device in devices}
    if n <= MAX_GLYNN_SIZE and "cuda" in kinds:
        yield from _double_on_cuda(block, error)
    if n <= MAX_GLYNN_SIZE and "cpu" in kinds:
        glynn = GlynnWork(block, guard, error=error)
        rounds = guard and not glynn.scaled.exact
        yield Candidate(
            "glynn",
            32 * glynn.blocks,
            cost.glynn_seconds(n, complex_=complex_, guard=rounds),
            glynn.total,
            glynn,
            cost.gpu_seconds(n, complex_=complex_),
        )
    memory = subset_memory(n)
    if not complex_ and memory is not None and _is_nonnegative(block, error):
        subset = SubsetWork(block, error)
        yield Candidate(
            "subset",
            2**n,
            cost.subset_seconds(n),
            subset.total,
            subset,
            memory=memory,
            cancels=False,
        )
    # Lines that were rounded are hardly ever equal, and their errors differ.
    lines = repeated_lines(block) if error is None else None
    if lines is not None and lines.entries.size < block.size:
        yield from _repeated_in_double(lines, guard)


def extended_candidates(
    block: NDArray[Any], devices: Sequence[Device]
) -> Iterator[Candidate[BoundedNumber]]:
    """Ways to find the permanent of a square float64 or complex128 matrix in double-double numbers."""
    n, complex_ = len(block), np.iscomplexobj(block)
    if n > MAX_GLYNN_SIZE:
        return
    for kind in sorted({device.kind for device in devices}):
        work = ExtendedWork(block, kind)
        yield Candidate(
            "glynn",
            32 * work.blocks,
            cost.extended_seconds(n, complex_=complex_),
            work.total,
            work,
            cost.extended_gpu_seconds(n, complex_=complex_),
            kind,
        )


def _is_nonnegative(block: NDArray[Any], error: NDArray[np.float64] | None) -> bool:
    """Whether no entry is below 0, whatever its error."""
    if error is not None and (error > block).any():
        return False
    return bool((block >= 0).all())


def frontier_in_double(
    block: NDArray[Any], error: NDArray[np.float64] | None = None
) -> Iterator[Candidate[BoundedNumber]]:
    """The frontier program for a square float64 or complex128 matrix, if its frontier is narrow."""
    pattern = block if error is None else (block != 0) | (error > 0)
    ordered = _narrow(pattern, 24 + 8 * (2 if np.iscomplexobj(block) else 1))
    if ordered is None:
        return
    order, turned, memory = ordered
    if turned:
        block, error = block.T, None if error is None else np.ascontiguousarray(error.T)
    work = FrontierSumWork(np.ascontiguousarray(block), error, order)
    yield Candidate(
        "frontier",
        order.transitions,
        cost.frontier_seconds(order.transitions, order.peak),
        work.total,
        work,
        memory=memory,
        cancels=bool(np.iscomplexobj(block) or (block < 0).any()),
    )


def frontier_exactly(block: NDArray[Any]) -> Iterator[Candidate[Fraction]]:
    """The same for a square matrix of ints and Fractions."""
    integers, scale = integers_of(block)
    bits = permanent_bound(integers).bit_length() + 1
    words = next((w for w in (1, 2, 4, 8) if bits <= 64 * w), 0)
    if max(abs(x) for row in integers for x in row) >= 2**63:
        words = 0
    ordered = _narrow(block, 16 + 8 * max(1, words))
    if ordered is None:
        return
    order, turned, memory = ordered
    rows: Rows = tuple(zip(*integers, strict=True)) if turned else integers
    primes = () if words else primes_above(2**bits)
    work = FrontierWork(rows, order, words, primes)
    yield Candidate(
        "frontier",
        order.transitions,
        cost.frontier_seconds(order.transitions, order.peak) * max(1, words / 2, 2 * len(primes)),
        lambda partial: work.permanent(partial) * scale,
        work,
        memory=memory,
    )


def _narrow(block: NDArray[Any], state_bytes: int) -> tuple[FrontierOrder, bool, int] | None:
    """An order with few enough states for the memory, whether it is of columns, and the memory."""
    found = best_order(block)
    if found is None:
        return None
    # Two sets of states, each with an index of up to four places a state.
    memory = 2 * found[0].peak * (state_bytes + 16)
    return (*found, memory) if memory <= _MAX_FRONTIER_BYTES else None


def _double_on_cuda(
    block: NDArray[Any], error: NDArray[np.float64] | None
) -> Iterator[Candidate[BoundedNumber]]:
    n, complex_ = len(block), np.iscomplexobj(block)
    core = cost.glynn_seconds(n, complex_=complex_, guard=False)
    dense = GlynnWork(block, guard=False, kind="cuda", error=error)
    seconds = cost.gpu_seconds(n, complex_=complex_)
    yield Candidate("glynn", 32 * dense.blocks, core, dense.total, dense, seconds, "cuda")
    # Looking for what to eliminate takes the CPU a second.
    if n >= LEAST_SPARSE and seconds > cost.SPARSE_START and not block.all():
        sparse = SparseWork(block)
        seconds = cost.SPARSE_START + cost.sparse_gpu_seconds(sparse.operations)
        terms = sparse.steps << (sparse.thread_bits + len(sparse.plan.fast))
        yield Candidate("sparse", terms, core, sparse.total, sparse, seconds, "cuda")


def _repeated_in_double(lines: Repeated, guard: bool) -> Iterator[Candidate[BoundedNumber]]:
    kind = complex if np.iscomplexobj(lines.entries) else float
    for way in (lines, lines.transposed()):
        terms, columns = way.steps[0], len(way.cols)
        if terms > _MAX_TERMS:
            continue
        work = RepeatedWork(way.entries, way.rows, way.cols, guard)
        seconds = cost.repeated_seconds(terms, columns, complex_=kind is complex, guard=guard)

        def value(partial: Partial, work: RepeatedWork = work) -> BoundedNumber:
            return product([work.total(partial)], lines.scale, kind)

        yield Candidate("repeated", terms, seconds, value, work)


def exact_candidates(block: NDArray[Any]) -> Iterator[Candidate[Fraction]]:
    """Ways to find the permanent of a square matrix of ints and Fractions exactly."""
    integers, scale = integers_of(block)
    n = len(integers)
    if n <= MAX_SUBSET_ROWS:
        yield Candidate(
            "subset",
            2**n,
            n * n * 2.0 ** (n - 1) * SUBSET_SECONDS,
            lambda partial: subset_sum(integers) * scale,
        )
    if MIN_SIDE <= n <= MAX_SIDE:
        work = glynn_of_integers(integers)
        yield Candidate(
            "glynn",
            2 ** (n - 1),
            work.core_seconds + cost.START,
            lambda partial: work.permanent(partial) * scale,
            work,
        )
    lines = repeated_lines(block)
    if lines.entries.size < block.size:
        yield from _repeated_exactly(lines)


def _repeated_exactly(lines: Repeated) -> Iterator[Candidate[Fraction]]:
    integers, scale = integers_of(lines.square())
    first = np.cumsum([0, *lines.rows[:-1]]), np.cumsum([0, *lines.cols[:-1]])
    distinct = tuple(tuple(integers[i][j] for j in first[1]) for i in first[0])
    bound = permanent_bound(integers)
    ways = (
        (distinct, lines.rows, lines.cols, lines.steps[0]),
        (tuple(zip(*distinct, strict=True)), lines.cols, lines.rows, lines.steps[1]),
    )
    for matrix, rows, cols, terms in ways:
        if terms > _MAX_TERMS:
            continue
        work = RepeatedResidueWork.of(matrix, rows, cols, bound)
        seconds = cost.repeated_residue_seconds(terms, len(cols), len(work.primes))

        def value(partial: Partial, work: RepeatedResidueWork = work) -> Fraction:
            return work.permanent(partial) * scale * lines.scale

        yield Candidate("repeated", terms, seconds, value, work)
