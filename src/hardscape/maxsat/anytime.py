"""What one call of `solve` does: first assignment, presolve, and the method that takes what is left."""

from __future__ import annotations

import logging
import time
import warnings
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.typing import NDArray

from hardscape import memory, native
from hardscape.engine import Cuda, resolve
from hardscape.errors import InputError
from hardscape.maxsat.formula import LARGE
from hardscape.maxsat.methods.cellular.method import Cellular
from hardscape.maxsat.methods.enumeration import Enumeration
from hardscape.maxsat.methods.exact.exact import Exact
from hardscape.maxsat.methods.islands.rows import IslandWalks, IslandWeighing
from hardscape.maxsat.methods.walkers.local import LocalWalks
from hardscape.maxsat.presolve import presolve
from hardscape.maxsat.result import MaxsatResult, Status, told
from hardscape.maxsat.task import SMALL, Method, Task

_logger = logging.getLogger("hardscape.maxsat")

#: Evaluations of an assignment for which time is kept back: the last one found, and memory given back.
_RESERVED = 3.0
#: Seconds that an evaluation takes for each literal, about, as long as none has been measured.
_EVALUATION = 3e-9

_ISLANDS, _WEIGHING, _LOCAL = IslandWalks(), IslandWeighing(), LocalWalks()
#: The table of methods: the first that takes a task does it.
METHODS: tuple[Method, ...] = (
    Cellular(),
    Enumeration(),
    Exact((_ISLANDS, _WEIGHING, _LOCAL), _LOCAL),
    _ISLANDS,
    _WEIGHING,
    _LOCAL,
)


def search(task: Task) -> None:
    """Search, and prove where that may be done."""
    _offer_first(task)
    if task.anywhere:  # as good as wanted: presolve would take as long again
        task.incumbent.aim(task.presolved, task.target)
        if task.over:
            return
    with _watched(task) as stop:
        found = presolve(task.formula, stop=stop)
    if len(task.formula.literals) > LARGE:
        memory.give_back()  # walkers have threads of their own
    if found is not None:
        task.presolved = found
        task.incumbent.aim(found, task.target)
    method = choose(task)
    if found is None:
        task.stopped = "time_limit"
    elif found.unsatisfiable:
        task.incumbent.refute()
        task.incumbent.offer(found.lift(np.zeros(0, dtype=np.uint8)))
    elif found.formula.num_clauses == 0:
        task.incumbent.offer_reduced(np.zeros(found.formula.num_variables, dtype=np.uint8))
    if task.over:
        return
    if task.options.deadline.up and task.incumbent.best is not None:
        task.stopped = "time_limit"
        return
    _bound_at_once(task)
    if not task.over:
        method.search(task)


def choose(task: Task) -> Method:
    """The first method that takes a task, whose options then say where; InputError if none does."""
    if task.anywhere and any(method.pays(task) for method in METHODS):
        devices = resolve("auto", threads=task.options.threads, big_enough=True)
        task.options = task.options.on(devices)
    elif (reason := _too_much_for_gpu(task)) != "":
        warnings.warn(
            f"{told(task.options)} is left alone, and the CPU searches: {reason}",
            RuntimeWarning,
            stacklevel=2,
        )
        task.options = task.options.on_cpu()
    for method in METHODS:
        refusal = method.refusal(task)
        if not refusal:
            _logger.debug("%s takes %r", method.name, task.formula)
            return method
        _logger.debug("%s is passed over: %s", method.name, refusal)
    raise InputError(
        f"device {told(task.options)} with method={task.method!r}; device='cpu' takes all"
    )


def _too_much_for_gpu(task: Task) -> str:
    """Why the GPUs named cannot walk on the formula; empty where they can, or nobody walks there."""
    named = all(isinstance(device, Cuda) for device in task.options.devices)
    if not named or task.method not in _WEIGHING.asked or not _ISLANDS.unfit(task):
        return ""
    return _WEIGHING.unfit(task)


def _offer_first(task: Task) -> None:
    """Offer what is there at once: presolve and search need a while on a large formula."""
    f, deadline = task.formula, task.options.deadline
    large = len(f.literals) > LARGE
    if large:
        deadline.reserve(_RESERVED * _EVALUATION * len(f.literals))
    began = time.monotonic()
    if task.initial is not None:
        task.incumbent.offer(task.initial)
    elif task.incumbent.best is None:
        with _watched(task) as stop:
            found = native.core.maxsat.first(f, stop)
        began = time.monotonic()
        task.incumbent.offer(found)
    if large:
        deadline.reserve(_RESERVED * (time.monotonic() - began))


def _bound_at_once(task: Task) -> None:
    """Tell what everything costs at least, as far as the clauses tell without a search."""
    if task.check:  # no solver has refuted anything
        return
    with _watched(task) as stop:
        high, low = native.core.maxsat.least(task.presolved.formula, stop)
    task.incumbent.bound_reduced((high << 64) + low, plain=True)


def _watched(task: Task) -> AbstractContextManager[NDArray[np.uint8] | None]:
    """A flag that is set when the time is up; none for small formulas: a timer takes longer than they do."""
    small = max(len(task.formula.literals), task.formula.num_variables) <= SMALL
    return nullcontext() if small else task.options.deadline.watched()


def _gave_up(task: Task, status: Status) -> str:
    """What ended a search that nobody stopped, and that settled nothing."""
    settled = status in ("OPTIMUM FOUND", "UNSATISFIABLE") or task.incumbent.reached
    if settled or task.endless:
        return ""
    return "stagnation" if task.max_flips is None else "max_flips"


def conclude(task: Task) -> MaxsatResult:
    """What is known now."""
    formula, incumbent = task.formula, task.incumbent
    best = incumbent.best
    if best is None:  # interrupted before anything was evaluated
        incumbent.offer(np.zeros(formula.num_variables, dtype=np.uint8))
        best = incumbent.improvements[-1]
    feasible = best.hard_violations == 0
    status: Status = "SATISFIABLE" if feasible else "UNKNOWN"
    if incumbent.proven:
        status = "OPTIMUM FOUND"
    elif incumbent.refuted:
        status = "UNSATISFIABLE"
    seconds = time.monotonic() - task.options.deadline.began
    lower = best.cost if status == "OPTIMUM FOUND" else incumbent.lower
    bounds = tuple(incumbent.bounds)
    if lower > (bounds[-1][1] if bounds else 0):
        bounds = (*bounds, (seconds, lower))
    return MaxsatResult(
        status=status,
        cost=best.cost if feasible else None,
        assignment=best.assignment,
        num_satisfied=best.num_satisfied,
        num_clauses=formula.num_clauses,
        hard_violations=best.hard_violations,
        lower_bound=lower,
        improvements=tuple(incumbent.improvements),
        bounds=bounds,
        method=task.method,
        ran=tuple(task.ran),
        flips=task.flips,
        generations=task.generations,
        seconds=seconds,
        device=task.device or "cpu",
        seed=task.options.seed,
        stopped=task.stopped or _gave_up(task, status),
    )
