"""What a permanent would cost: structure first, then the cheapest method for each block."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, cast, get_args

import numpy as np

from hardscape.engine import Device, resolve
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, InputError
from hardscape.permanents import cost
from hardscape.permanents.exact import (
    MAX_SUBSET_ROWS,
    SUBSET_SECONDS,
    integers_of,
    subset_sum,
)
from hardscape.permanents.matrix import Kind, Matrix, Number, intake
from hardscape.permanents.methods import Candidate
from hardscape.permanents.multiplicity import expanded
from hardscape.permanents.number import BoundedNumber
from hardscape.permanents.program import Choice, Method, Precision, Program, programmed
from hardscape.permanents.reduce import Reductions, reduce
from hardscape.permanents.subset import rectangle_sum

__all__ = ["Method", "Plan", "PlannedBlock", "Precision", "Program", "plan", "prepare"]

#: Seconds of a sum over subsets of the rows of a rectangle that is not worth thinking about others.
_QUICK = 0.5
#: Factors of all terms above which a GPU is worth starting.
_GPU_TERMS = 2.0**33


def prepare(
    matrix: Matrix, *, precision: Precision, method: Method, guard: bool, devices: Sequence[Device]
) -> Program:
    """Take a permanent apart and choose methods; runs nothing.

    Parameters
    ----------
    matrix : Matrix
        No batch.
    precision, method
        As in :func:`hardscape.permanent`.
    guard : bool
        Whether error bounds are to be proven.
    devices : sequence of Device
        Where the blocks will be run.

    Raises
    ------
    InputError
        If precision or method do not fit the matrix.
    BudgetError
        If a block is too large for every method.
    """
    for name, value, accepted in (
        ("precision", precision, get_args(Precision)),
        ("method", method, get_args(Method)),
    ):
        if value not in accepted:
            raise InputError(f"{name}={value!r}; {', '.join(map(repr, accepted))} are accepted")
    kind = matrix.kind
    exact = precision == "exact" or (precision == "auto" and kind in ("integer", "rational"))
    matrix = _rational(matrix) if exact else _floating(matrix)
    extended = precision == "extended"
    if method in ("auto", "subset") and not extended:
        quick = _rectangle(matrix, kind, exact)
        if quick is not None:
            return quick
    square, scale = _squared(matrix)
    # Double-double numbers are for those whose entries are not to be rounded before.
    reduced = reduce(square, merge=not extended)
    choice = Choice(kind, exact, extended, guard, method, tuple(devices))
    return programmed(reduced, scale, choice)


def _rectangle(matrix: Matrix, kind: Kind, exact: bool) -> Program | None:
    """A rectangle of few rows, whose subsets are few: no method beats their sum."""
    m, n = matrix.shape
    if m == n or not 0 < m <= MAX_SUBSET_ROWS:
        return None
    complex_ = matrix.kind == "complex"
    if exact:
        seconds = n * m * 2.0 ** (m - 1) * SUBSET_SECONDS
    else:
        seconds = cost.rectangle_seconds(m, n, complex_=complex_)
    if seconds > _QUICK:
        return None
    entries = matrix.entries

    def value(partial: object) -> Fraction | BoundedNumber:
        if not exact:
            return rectangle_sum(entries)
        integers, scale = integers_of(entries)
        return subset_sum(integers) * scale

    terms = n * m * 2 ** (m - 1)
    candidate: Candidate[Any] = Candidate("subset", terms, seconds, value)
    return Program(
        kind, exact, Fraction(1), (), (candidate,), (m,), (entries,), (), (None,), Reductions()
    )


def _squared(matrix: Matrix) -> tuple[Matrix, Fraction]:
    """A square matrix, and what its permanent is to be multiplied with."""
    m, n = matrix.shape
    # Rows of ones take the columns left over, in any of (n - m)! orders.
    ones = np.full((n - m, n), 1, dtype=matrix.entries.dtype)
    square = Matrix(matrix.kind, np.vstack([matrix.entries, ones]), matrix.transposed)
    return square, Fraction(1, math.factorial(n - m))


def _rational(matrix: Matrix) -> Matrix:
    """The same matrix in rational numbers, where it is real."""
    if matrix.kind == "complex":
        raise InputError(
            "precision='exact' takes integers, rationals and real floats, not complex ones"
        )
    if matrix.kind != "real":
        return matrix
    entries = np.empty(matrix.entries.shape, dtype=object)
    for position, x in np.ndenumerate(matrix.entries):
        entries[position] = Fraction(x)
    return Matrix("rational", entries, matrix.transposed)


def _floating(matrix: Matrix) -> Matrix:
    """The same matrix in float64 or complex128; integers must fit."""
    if matrix.kind in ("real", "complex"):
        return matrix
    try:
        entries = np.array(matrix.entries, dtype=np.float64).reshape(matrix.entries.shape)
        pairs = zip(entries.ravel().tolist(), matrix.entries.flat, strict=True)
        exact = all(x == y for x, y in pairs)
    except OverflowError:
        exact = False
    if not exact:
        raise InputError(
            "precision='double': an entry is not a float64; precision='exact' takes such matrices"
        )
    return Matrix("real", entries, matrix.transposed)


@dataclass(frozen=True)
class PlannedBlock:
    """What is planned for one block.

    Attributes
    ----------
    side : int
        Rows, repeated ones included.
    method : str
    terms : int
        Terms or states to sum.
    seconds : float
        Estimated time on the devices of the plan.
    memory_bytes : int
    """

    side: int
    method: str
    terms: int
    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Plan:
    """What a permanent would take.

    Attributes
    ----------
    shape : tuple of int
        Of the matrix, with multiplicities.
    precision : str
        "double", "extended" or "exact".
    method : str
        As in `PermanentResult`.
    terms : int
        Terms or states to sum, over all blocks.
    reductions : Reductions
        What zeros allow before that.
    blocks : tuple of PlannedBlock
    seconds : float
        Estimated time on `device`.
    device : str
    seconds_elsewhere : dict
        Estimated time on "1 core", "1 H200" and "192 H200s" (NVIDIA H200, which only "glynn" and
        "sparse" in floating point use; the rest counts as on one core).
    """

    shape: tuple[int, int]
    precision: str
    method: str
    terms: int
    reductions: Reductions
    blocks: tuple[PlannedBlock, ...]
    seconds: float
    device: str
    seconds_elsewhere: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict())


def plan(
    a: Any,
    *,
    rows: Sequence[int] | None = None,
    cols: Sequence[int] | None = None,
    precision: Precision = "auto",
    method: Method = "auto",
    device: str | Device = "auto",
    threads: int | None = None,
    full_output: bool = False,
) -> Plan:
    """Say how :func:`hardscape.permanent` would go about a matrix, and what it would cost.

    Takes the arguments of :func:`hardscape.permanent` for one matrix, and only as much time as the
    matrix's zeros and repeated lines take to find. Estimates go by rates of an AVX-512 server; other
    machines differ by a factor of 2 or so.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        As :func:`hardscape.permanent` does.
    BudgetError
        If a block is too large for every method.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import plan
    >>> record = plan(np.random.default_rng(1).normal(size=(62, 62)), device="cpu")
    >>> record.method, record.terms == 2**61
    ('glynn', True)
    >>> round(record.seconds_elsewhere["192 H200s"] / 86400)  # days
    1
    """
    matrix = intake(a, exactly=precision == "exact")
    if matrix.is_batch:
        raise InputError("a is a batch; plan takes one matrix")
    if rows is not None or cols is not None:
        matrix = expanded(matrix, rows, cols)
    devices = available(matrix, device, threads)
    program = prepare(
        matrix, precision=precision, method=method, guard=full_output, devices=devices
    )
    return described(program, matrix.shape, devices)


def available(matrix: Matrix, device: str | Device, threads: int | None) -> tuple[Device, ...]:
    """Where a permanent may run: what was asked for, and by "auto" GPUs beside the CPU for large ones."""
    *batch, rows, columns = matrix.entries.shape
    terms = math.prod(batch) * columns * 2.0 ** (min(rows, 100) - 1)
    if device == "auto" and matrix.gpu is not None:
        found = resolve(f"cuda:{matrix.gpu}", threads=threads)  # what is on a GPU stays there
    else:
        found = resolve(device, threads=threads, big_enough=terms > _GPU_TERMS)
    if device == "auto" and found[0].kind == "cuda":
        return (*found, *resolve("cpu", threads=threads))
    return found


def described(program: Program, shape: tuple[int, int], devices: Sequence[Device]) -> Plan:
    """A program in numbers."""
    blocks = tuple(
        PlannedBlock(side, c.method, c.terms, c.seconds(devices), c.memory)
        for side, c in zip(program.sides, program.blocks, strict=True)
    )
    one = sum(min(c.gpu_seconds, c.core_seconds) for c in program.blocks)
    many = sum(min(c.gpu_seconds / 192, c.core_seconds) for c in program.blocks)
    return Plan(
        shape,
        program.precision,
        program.method,
        sum(block.terms for block in blocks),
        program.reductions,
        blocks,
        program.seconds(devices),
        program.used(devices),
        {"1 core": sum(c.core_seconds for c in program.blocks), "1 H200": one, "192 H200s": many},
    )


def check_budget(program: Program, devices: Sequence[Device], asked_for: bool) -> None:
    """Refuse a day's work or more that nobody asked for.

    Raises
    ------
    BudgetError
        With the estimate, and what runs it anyway.
    """
    seconds = program.seconds(devices)
    if seconds > cost.LONG_RUN and not asked_for:
        found = described(program, (0, 0), devices)
        elsewhere = ", ".join(f"{duration(s)} on {d}" for d, s in found.seconds_elsewhere.items())
        raise BudgetError(
            f"a permanent with blocks of side {', '.join(map(str, program.sides))} takes about "
            f"{duration(seconds)} on {found.device} ({elsewhere}); pass checkpoint=, time_limit= or "
            "executor= to run it anyway"
        )


def as_number(program: Program, values: Sequence[Any]) -> Number:
    """The exact permanent from the candidates' values."""
    value = program.scale
    for factor in (*program.factors, *values):
        value *= cast("Fraction", factor)
    return int(value) if program.kind == "integer" else value
