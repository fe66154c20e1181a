"""What a permanent would cost: structure first, then the cheapest way for each block."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

from hardscape.engine import Device, RunArguments, RunOptions
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, InputError
from hardscape.memory import require
from hardscape.permanents.batch import Lines, Quick, at_once
from hardscape.permanents.matrix import Matrix, intake
from hardscape.permanents.methods.pace import core_seconds_here, cores_here, seconds_here
from hardscape.permanents.parts import Program
from hardscape.permanents.program import prepare, proving
from hardscape.permanents.result import devices_of
from hardscape.permanents.settings import MethodName, Precision, Settings, run_options
from hardscape.permanents.structure.multiplicity import expanded
from hardscape.permanents.structure.reduce import Reductions
from hardscape.plain import Plain

#: Seconds from which a run must be asked for: a day.
LONG_RUN = 86400.0
#: Share of these up to which no machine that is slower than said takes them.
SURELY = 0.1


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

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import plan
    >>> block = plan(np.random.default_rng(1).normal(size=(30, 30))).blocks[0]
    >>> block.side, block.method, block.terms
    (30, 'glynn', 536870912)
    """

    side: int
    method: str
    terms: int
    seconds: float
    memory_bytes: int


@dataclass(frozen=True, eq=False)
class Plan(Plain):
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
    planning_seconds : float
        What it took to find this, which a call takes before its sums, and which its time limit counts.
    seconds_elsewhere : dict
        Estimated time on "1 core", "1 H200" and "192 H200s" (NVIDIA H200, which only "glynn",
        "sparse" and "frontier" use; the rest counts as on one core).

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import plan
    >>> planned = plan(np.random.default_rng(1).normal(size=(40, 40)))
    >>> planned.method, planned.terms, planned.blocks[0].side
    ('glynn', 549755813888, 40)
    """

    shape: tuple[int, int]
    precision: str
    method: str
    terms: int
    reductions: Reductions
    blocks: tuple[PlannedBlock, ...]
    seconds: float
    device: str
    planning_seconds: float
    seconds_elsewhere: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return (
            f"<Plan: {rows} x {columns}, {self.terms} terms by {self.method} ({self.precision}), "
            f"about {self.seconds:.3g} s on {self.device}>"
        )


def plan(
    a: Any,
    *,
    rows: Sequence[int] | None = None,
    cols: Sequence[int] | None = None,
    precision: Precision = "auto",
    method: MethodName = "auto",
    rtol: float = 1e-10,
    full_output: bool = False,
    memory: float | None = None,
    **run: Unpack[RunArguments],
) -> Plan:
    """Say how :func:`hardscape.permanent` would go about a matrix, and what it would cost.

    Takes the arguments of :func:`hardscape.permanent` for one matrix, and only as much time as the
    matrix's zeros and repeated lines take to find. Estimates go by the pace of this machine, which is
    measured once and kept: see ``engine/estimates/pace.py``. Ways are chosen without it.

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
    began = time.perf_counter()
    settings = Settings(precision, method, rtol, full_output, memory)
    matrix = intake(a, exactly=precision == "exact")
    if matrix.is_batch:
        raise InputError("a is a batch; plan takes one matrix")
    lines = None
    if rows is not None or cols is not None:
        lines = Lines(matrix, rows, cols)
        matrix = expanded(matrix, rows, cols)
    options = run_options(matrix, **run)
    devices = options.devices
    quick = _seconds_at_once(matrix, settings, options, lines)
    program = prepare(matrix, settings.choice(matrix.kind, devices, options.deadline))
    program = proving(program) if full_output else program
    planning = time.perf_counter() - began
    planned = replace(_described(program, matrix.given_shape, devices), planning_seconds=planning)
    if quick is None:
        return planned
    found, seconds = quick
    return replace(
        planned,
        method=found.method,
        terms=found.terms or planned.terms,
        reductions=Reductions(),
        seconds=seconds,
        planning_seconds=0.0,
    )


def _seconds_at_once(
    matrix: Matrix, settings: Settings, options: RunOptions, lines: Lines | None
) -> tuple[Quick, float] | None:
    """What is found without a look at the matrix, which takes no longer than one, and how long it takes."""
    taken, found = [], None
    for _ in range(2):
        began = time.thread_time()  # as paces are: what others do meanwhile does not count
        found = at_once(matrix, settings, options, lines)
        taken.append(time.thread_time() - began)
        if found is None or settings.full_output or options.checkpoint is not None:
            return None  # a sum that proves it follows
    # The first one may have had to wait for memory, which a call after it may find, or not.
    assert found is not None
    return found, math.sqrt(math.prod(taken))


def _described(program: Program, shape: tuple[int, int], devices: tuple[Device, ...]) -> Plan:
    """A program in numbers."""
    ways = program.ways
    blocks = tuple(
        PlannedBlock(
            block.side, way.method, way.terms, seconds_here(way.leaves, devices), way.memory
        )
        for block, way in zip(program.blocks, ways, strict=True)
    )
    elsewhere = {
        "1 core": core_seconds_here(program.leaves),
        "1 H200": sum(min(way.gpu_seconds, way.core_seconds) for way in ways),
        "192 H200s": sum(min(way.gpu_seconds / 192, way.core_seconds) for way in ways),
    }
    return Plan(
        shape,
        program.precision,
        program.method,
        program.terms,
        program.reductions,
        blocks,
        seconds_here(program.every, devices),
        devices_of(program.leaves, devices),
        0.0,
        elsewhere,
    )


def unasked(core_seconds: float, lanes: int, options: RunOptions) -> float | None:
    """Seconds here of what takes a day or more and nobody asked for; None where it may run."""
    if options.asked_for or core_seconds <= SURELY * LONG_RUN * lanes:
        return None
    seconds = cores_here(core_seconds, lanes)
    return seconds if seconds > LONG_RUN else None


def check_budget(program: Program, options: RunOptions) -> None:
    """Refuse what memory does not hold, and a day's work or more that nobody asked for, with the estimate."""
    most = max((way.memory for way in program.leaves), default=0)
    require(most, f"a permanent by {program.method}")
    if options.asked_for or program.seconds(options.devices) <= SURELY * LONG_RUN:
        return
    seconds = seconds_here(program.every, options.devices)
    if seconds <= LONG_RUN:
        return
    found = _described(program, (0, 0), options.devices)
    elsewhere = ", ".join(f"{duration(s)} on {d}" for d, s in found.seconds_elsewhere.items())
    sides = ", ".join(str(block.side) for block in program.blocks)
    raise BudgetError(
        f"a permanent with blocks of side {sides} takes about {duration(seconds)} on "
        f"{found.device} ({elsewhere}); pass checkpoint=, time_limit= or executor= to run it anyway"
    )
