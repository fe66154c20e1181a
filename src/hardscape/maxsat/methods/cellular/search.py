"""The cellular genetic algorithm as one call."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import engine
from hardscape.engine import Device, Partial, Progress, ProgressEvent
from hardscape.errors import InputError, Interrupted
from hardscape.maxsat.deadline import LARGE, Deadline
from hardscape.maxsat.formula import MAX_WEIGHT, Evaluation, Formula
from hardscape.maxsat.methods.cellular.generation import CellularKernel, Generation
from hardscape.maxsat.methods.cellular.options import CellularOptions
from hardscape.maxsat.methods.cellular.result import CellularResult
from hardscape.maxsat.methods.cellular.run import CellularRun, best_individual, unpack_individual
from hardscape.maxsat.methods.cellular.runs import CellularRuns
from hardscape.maxsat.methods.islands.tables import fits

__all__ = ["cellular_search"]

#: Runs that share the launches of a GPU.
_TOGETHER = {"cpu": 1, "cuda": 64}
#: Violated clauses, 8 bytes each, that the lists of walks on a GPU may hold together.
_LISTED = 2**29
#: From this many literals in all clauses, times runs, on, "auto" takes a GPU.
_GPU_LITERALS = 2000
_MOST_RUNS = 2**40
#: Evaluations of an individual for which time is kept back.
_RESERVED = 3.0
#: Individuals that climb together where all clauses weigh the same.
_VECTOR = 512
#: Literals times individuals from which on threads share a generation; about 3 ms.
_SHARED_WORK = 3 * 10**7


def cellular_search(
    formula: Formula,
    *,
    options: CellularOptions | None = None,
    runs: int = 1,
    seed: int | None = None,
    target: int | None = None,
    device: str | Device = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    on_improvement: Callable[[NDArray[np.bool_], float], object] | None = None,
    checkpoint: str | Path | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
) -> CellularResult:
    r"""Search for a good assignment with the cellular genetic algorithm and its hill climbing.

    Parameters
    ----------
    formula : Formula
        Fewer violated hard clauses are always better; then less weight of violated soft ones.
    options : CellularOptions, optional
        By default the paper's parameters: 30 sub-populations of 10 x 10.
    runs : int
        Independent runs; the best one's assignment is returned.
    seed : int, optional
        0 to 2**64 - 1; the same seed gives the same runs, whatever the device and the number of
        threads. By default a random one, told in the result.
    target : int, optional
        Cost, without violated hard clauses, at which the search ends. By default all runs are done,
        each up to its own end.
    device : str
        "cpu", "cuda", "cuda:0", or "auto".
    threads : int, optional
        CPU threads, by default all: they share the sub-populations of a single run, or the runs.
    time_limit : float, optional
        Wall-clock seconds.
    on_improvement : callable, optional
        Called with each new best assignment and the seconds since the start, one at a time, from the
        thread that found it: after a generation, on a GPU after every few. What another process finds
        comes at the end.
    checkpoint : path, optional
        File that records finished runs; the same call with the same file resumes.
    executor : concurrent.futures.Executor, optional
        Does the runs elsewhere; see :func:`hardscape.engine.run`.
    progress : bool, callable or Progress, optional
        True draws a progress bar.

    Returns
    -------
    CellularResult

    Raises
    ------
    InputError
        For arguments out of range, and soft weights whose sum is beyond 2**63 - 1.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far.

    Notes
    -----
    A pass of hill climbing costs :math:`O(\mathrm{nnz})` operations on vectors of up to 512 individuals
    where all clauses weigh the same; otherwise :math:`O(n)` an individual, and an update of the gains of
    all neighbours for each flip. After Munawar, Wahib, Munetomo, Akama, Genetic Programming and
    Evolvable Machines 10, 391 (2009).

    Examples
    --------
    >>> from hardscape.maxsat import Formula, cellular_search
    >>> formula = Formula.from_clauses([[1, 2], [-1, 2], [1, -2], [-1, -2]])
    >>> cellular_search(formula, seed=1).cost
    1
    """
    began = time.monotonic()
    options = options or CellularOptions()
    seed = _checked(formula, runs, seed, target, time_limit)
    nnz = len(formula.literals) * runs
    big = nnz >= _GPU_LITERALS and (not options.walk_flips or _walks_fit(formula))
    devices = engine.resolve(device, threads=threads, big_enough=big)
    if options.walk_flips and any(d.kind == "cuda" for d in devices) and not _walks_fit(formula):
        raise InputError(
            f"walk_flips={options.walk_flips} on device={device!r}; GPUs walk where all clauses weigh the "
            "same, and have 1 to 3 literals of up to 16,383 variables; device='cpu' takes all"
        )
    deadline = Deadline(began, time_limit)
    guess: tuple[Partial, Evaluation] | None = None
    if time_limit is not None and len(formula.literals) > LARGE:
        before = time.monotonic()
        guess = _first_guess(formula, seed)
        deadline.reserve(_RESERVED * (time.monotonic() - before))
    report = _Report(formula, on_improvement, began)
    work = CellularRuns(
        CellularKernel(formula, options),
        seed,
        runs,
        _goal(formula, target),
        target is not None,
        _together(formula, options, devices[0].kind),
        None if on_improvement is None else report.offer,
    )
    alone = runs == 1 and executor is None and checkpoint is None and devices[0].kind == "cpu"
    lanes = _lanes(formula, options, len(devices))
    if alone and lanes > 1:
        search = _SingleRun(work, devices[:lanes], deadline)
        partial, stopped, signum = search.partial()
    else:
        outcome = engine.run(
            work,
            devices=devices,
            executor=executor,
            checkpoint=checkpoint,
            time_limit=deadline.left,
            progress=progress,
        )
        partial, stopped, signum = outcome.partial, not outcome.complete, outcome.signum
    known: Evaluation | None = None
    if partial is None or len(partial["costs"]) == 0:
        partial, known = guess or _first_guess(formula, seed)
    if on_improvement is not None:
        best = best_individual(partial["costs"])
        report.offer(tuple(partial["costs"][best].tolist()), partial["bits"][best])
    result = CellularResult.of(
        formula,
        partial,
        known,
        seed=seed,
        complete=not stopped,
        seconds=time.monotonic() - began,
        device=" ".join(sorted({str(d) if d.kind == "cuda" else "cpu" for d in devices})),
    )
    if signum:
        raise Interrupted(signum, result)
    return result


def _checked(
    formula: Formula, runs: int, seed: int | None, target: int | None, time_limit: float | None
) -> int:
    """Refuse what cannot be run; returns the seed."""
    if formula.total_weight > MAX_WEIGHT:
        raise InputError(
            f"the soft weights add up to {formula.total_weight}; the cellular algorithm accepts "
            f"{MAX_WEIGHT}"
        )
    if isinstance(runs, bool) or not isinstance(runs, int | np.integer) or runs < 1:
        raise InputError(f"runs={runs!r}; an integer of at least 1 is accepted")
    if runs > _MOST_RUNS:
        raise InputError(f"runs={runs}; at most {_MOST_RUNS} are accepted")
    if target is not None and (
        isinstance(target, bool) or not isinstance(target, int | np.integer) or target < 0
    ):
        raise InputError(f"target={target!r}; a cost of 0 or more is accepted")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit={time_limit}; seconds above 0 are accepted")
    if seed is None:
        return secrets.randbits(64)
    if (
        isinstance(seed, bool)
        or not isinstance(seed, int | np.integer)
        or not 0 <= int(seed) < 2**64
    ):
        raise InputError(f"seed={seed!r}; an integer from 0 to 2**64 - 1 is accepted")
    return int(seed)


def _even(formula: Formula) -> bool:
    """Whether all clauses are hard, or all soft with the same weight."""
    return bool((formula.weights == formula.weights[:1]).all())


def _together(formula: Formula, options: CellularOptions, kind: str) -> int:
    """Runs of a shard; the walks of a memetic search need lists that may hold every clause."""
    most = _TOGETHER[kind]
    if kind == "cuda" and options.walk_flips:
        most = min(most, _LISTED // max(1, options.individuals * formula.num_clauses))
    return max(1, most)


def _walks_fit(formula: Formula) -> bool:
    """Whether the walks of a memetic search can go on a GPU."""
    return _even(formula) and fits(formula)


def _lanes(formula: Formula, options: CellularOptions, most: int) -> int:
    """Threads that pay for sharing a generation: each needs a vector of individuals, and some time."""
    sliced = _even(formula) and not options.walk_flips
    together, cost = (_VECTOR, 1) if sliced else (1, _VECTOR)
    work = len(formula.literals) * options.individuals * cost
    if work < _SHARED_WORK:
        return 1
    return min(most, options.islands, max(1, options.individuals // together))


def _goal(formula: Formula, target: int | None) -> tuple[int, int]:
    """Cost that ends a run: the target, or what empty clauses leave in any case."""
    empty = formula.offsets[1:] == formula.offsets[:-1]
    floor = int(np.count_nonzero(empty & formula.hard)), int(formula.weights[empty].sum())
    return floor if target is None else max(floor, (0, min(int(target), MAX_WEIGHT)))


def _first_guess(formula: Formula, seed: int) -> tuple[Partial, Evaluation]:
    """A run of one random individual: what there is where the time is up before a first population."""
    shape = 1, -(-formula.num_variables // 64)
    bits = np.random.default_rng(seed).integers(0, 2**64, shape, dtype=np.uint64)
    found = formula.evaluate(unpack_individual(bits[0], formula.num_variables))
    history = np.array([[found.hard_violations, found.cost, 0]])
    partial = {
        "bits": bits,
        "costs": history[:, :2],
        "generations": np.zeros(1, dtype=np.int64),
        "history": history,
    }
    return partial, found


class _Report:
    """Tells of each new best assignment, whichever thread finds it."""

    def __init__(
        self,
        formula: Formula,
        tell: Callable[[NDArray[np.bool_], float], object] | None,
        began: float,
    ) -> None:
        self._formula = formula
        self._tell = tell
        self._began = began
        self._best: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def offer(self, cost: tuple[int, int], words: NDArray[np.uint64]) -> None:
        """Take an individual of some cost."""
        with self._lock:
            if self._tell is None or (self._best is not None and self._best <= cost):
                return
            self._best = cost
            assignment = unpack_individual(words, self._formula.num_variables)
            self._tell(assignment, time.monotonic() - self._began)


class _SingleRun:
    """One run whose generations are cut into sub-populations, one engine run each."""

    def __init__(
        self,
        work: CellularRuns,
        devices: Sequence[Device],
        deadline: Deadline,
    ) -> None:
        self._work = work
        self._devices = devices
        self._deadline = deadline
        self._seed = work.run_seed(0)

    def partial(self) -> tuple[Partial | None, bool, int]:
        """What was found, whether the run was cut short, and by which signal."""
        run: CellularRun | None = None
        while run is None or not run.done:
            step = self._step(run)
            outcome = engine.run(step, devices=self._devices, time_limit=self._deadline.left)
            if not outcome.complete or outcome.partial is None:
                if run is not None:
                    run.keep_best(step.children)
                return (run.partial() if run else None), True, outcome.signum
            if run is None:
                rules = self._work.kernel.options.rules(self._work.target)
                run = CellularRun(self._seed, rules, step.children)
            else:
                run.take(step.children, int(outcome.partial["unfinished"]))
            run.report(self._work.offer)
        return run.partial(), False, 0

    def _step(self, run: CellularRun | None) -> Generation:
        return Generation(
            self._work.kernel,
            self._seed,
            run.generations + 1 if run else 0,
            run.passes if run else 0,
            run.population if run else None,
            run.room if run else self._work.kernel.room(),
            len(self._devices),
        )
