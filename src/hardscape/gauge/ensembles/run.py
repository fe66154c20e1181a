"""How an ensemble is run, whatever is done with its configurations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Cpu, Outcome, Partial, RunArguments, RunOptions, solve
from hardscape.engine.device import device_names
from hardscape.errors import (
    BudgetError,
    ChecksumError,
    DeviceError,
    FormatError,
    InputError,
    Interrupted,
)
from hardscape.gauge.ensembles.averages import ErrorMethod, checked_errors
from hardscape.gauge.ensembles.files import Configurations, Reader, gathered
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.gauge.ensembles.work import LEFT_OUT, NUMBER, EnsembleWork, Task
from hardscape.gauge.field import GaugeField

R = TypeVar("R")


class ReadArguments(TypedDict, total=False):
    """How files are read: the keyword arguments of `GaugeField.from_file`."""

    format: str | None
    ignore_checksum: bool
    shape: Sequence[int] | None
    layout: str | None
    precision: Any
    byteorder: Any
    skip: int | None
    angles: Sequence[float] | None


@dataclass(frozen=True)
class Plan:
    """What `run_task` needs beside the task.

    Attributes
    ----------
    method : str
        What the result calls it.
    files : tuple of str
    reader : Reader
    error_method, bin_size
        How errors of averages are estimated.
    outputs : tuple of str
        Of the files, where each has one.
    """

    method: str
    files: tuple[str, ...]
    reader: Reader
    error_method: ErrorMethod
    bin_size: int
    outputs: tuple[str, ...] = ()

    @classmethod
    def checked(
        cls,
        method: str,
        files: Configurations,
        read: Mapping[str, Any] | None,
        error_method: ErrorMethod,
        bin_size: int,
    ) -> Plan:
        """A plan of files that are named, or matched by patterns, and of fields."""
        checked_errors(error_method, bin_size)
        given = dict(read or {})
        unknown = sorted(given.keys() - ReadArguments.__annotations__.keys())
        if unknown:
            names = ", ".join(ReadArguments.__annotations__)
            raise InputError(f"read has {unknown[0]!r}; {names} are accepted")
        for name in ("shape", "angles"):
            given[name] = None if given.get(name) is None else tuple(given[name])
        found, held = gathered(files)
        return cls(method, found, Reader(**given, held=held), error_method, bin_size)

    def first(self) -> GaugeField:
        """The first configuration that can be read; if there is none, the first one's error."""
        refused: list[InputError] = []
        for path in self.files:
            try:
                return self.reader.read(path)[0]
            except InputError as error:
                refused.append(error)
        raise refused[0]


def run_made(
    plan: Plan,
    task: Task,
    made: Callable[[Ensemble], R],
    *,
    on_gpu: bool = False,
    **run: Unpack[RunArguments],
) -> R:
    """What is made of a task's rows; an error that has the rows there are has that in their place."""
    try:
        return made(run_task(plan, task, on_gpu=on_gpu, **run))
    except (InputError, Interrupted) as stop:
        if isinstance(stop.result, Ensemble):
            stop.result = made(stop.result)
        raise


def run_task(
    plan: Plan, task: Task, *, on_gpu: bool = False, **run: Unpack[RunArguments]
) -> Ensemble:
    """Do a task with every file; an `Interrupted` has the rows so far.

    Files that a task leaves out are told of when all others are done, by the error of the first of them, whose
    ``result`` is the table of the others.

    Parameters
    ----------
    plan : Plan
    task : Task
    on_gpu : bool
        Whether the task runs on GPUs, too.
    **run
        See :class:`hardscape.engine.RunArguments`.
    """
    began = time.perf_counter()
    options = RunOptions.checked(**run)
    device = options.devices[0]
    if not on_gpu and not isinstance(device, Cpu):
        raise DeviceError(f"{plan.method} does not run on {device}; use device='cpu'")
    lanes = 1 if options.executor is not None else len(options.devices)
    work = EnsembleWork.of(plan.files, plan.reader, task, options.seed, lanes)
    outcome: Outcome[Partial] = solve(work, options)
    rows = dict(outcome.answer or {})
    numbers: NDArray[np.int64] = rows.pop(NUMBER, np.empty(0, dtype=np.int64))
    left, kinds, reasons = (rows.pop(name, np.empty(0)).tolist() for name in LEFT_OUT)
    if not len(numbers):
        if left and not outcome.signum:
            raise _refusal(plan.files[left[0]], kinds[0], reasons[0])
        if outcome.signum:
            raise Interrupted(outcome.signum)
        raise BudgetError("the time limit came before the first configuration; allow more")
    found = Ensemble(
        method=plan.method,
        files=tuple(plan.files[i] for i in numbers),
        outputs=tuple(plan.outputs[i] for i in numbers) if plan.outputs else (),
        values=rows,
        files_total=len(plan.files),
        left_out={plan.files[i]: reason for i, reason in zip(left, reasons, strict=True)},
        error_method=plan.error_method,
        bin_size=plan.bin_size,
        seed=options.seed,
        device=device_names(options.devices),
        stopped=outcome.cut,
        seconds=time.perf_counter() - began,
    )
    if outcome.signum:
        raise Interrupted(outcome.signum, found)
    if left:
        refused = _refusal(
            plan.files[left[0]], kinds[0], f"{reasons[0]}; {_others(len(left), len(found))}"
        )
        refused.result = found
        raise refused
    return found


def _refusal(path: str, kind: str, reason: str) -> InputError:
    """The error of a file that was left out."""
    known = {"FormatError": FormatError, "ChecksumError": ChecksumError}
    return known[kind](path, None, reason) if kind in known else InputError(f"{path}: {reason}")


def _others(left: int, done: int) -> str:
    more = f"with {left - 1} more it is left out" if left > 1 else "it is left out"
    return f"{more}, {done} are done"
