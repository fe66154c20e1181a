"""Time to solution: many runs of a search with a timeout."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from hardscape.arguments import integer, seconds
from hardscape.engine import Cpu, Device, Progress, ProgressEvent, RunOptions, solve
from hardscape.errors import InputError, Interrupted
from hardscape.xorsat.methods.quasi_greedy.plan import default_w1
from hardscape.xorsat.methods.quasi_greedy.search import suits_gpu
from hardscape.xorsat.studies.runs import Runner, RunsWork, Trial, foreign_trial, quasi_greedy_trial
from hardscape.xorsat.studies.times import TimeToSolution
from hardscape.xorsat.system import XorSystem, checked_system

__all__ = ["measure", "study", "time_to_solution"]

T = TypeVar("T")
#: More runs than anyone waits for.
_MOST_RUNS = 10**9


def time_to_solution(
    system: XorSystem,
    runs: int = 100,
    timeout: float = 10.0,
    *,
    w: float | Sequence[float] | None = None,
    clones: int | None = None,
    restart: int | None = None,
    device: str | Device | Sequence[str | Device] = "auto",
    threads: int | None = None,
    seed: int | None = None,
    runner: Runner | None = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
) -> TimeToSolution:
    """Measure how long the quasi-greedy search takes to solve a system.

    Parameters
    ----------
    system : XorSystem
        A satisfiable one, else no run ends before its timeout.
    runs : int
        Runs, each from new random spins.
    timeout : float
        Seconds after which a run is stopped. It may be far below tau: stopped runs count, and a few
        solved ones tell tau as well as long runs would.
    w, clones, restart
        Of :func:`hardscape.xorsat.quasi_greedy`.
    device, threads
        Where runs are made: one at a time on each GPU or thread of the CPU. Threads share caches and
        clock rate, so for the seconds of one thread alone give ``threads=1``.
    seed : int, optional
        Seeds of the runs follow from it.
    runner : Runner, optional
        Another search to measure: it is called as ``runner(seed, timeout)``, one run after the other.
        The options of the search are its own then.
    time_limit : float, optional
        Seconds after which the study ends with the runs that have ended.
    checkpoint : path, optional
        Ledger of the runs that have ended, with their times; the same call, on the same machine if
        the seconds are to mean anything, makes those that are missing.
    executor : concurrent.futures.Executor, optional
        Spreads the runs: each of its workers makes one at a time, on a GPU or one thread of its own.
        Seconds are those of the worker, so its workers should be alike, and no more than cores.
    progress : bool, callable or Progress, optional
        See :func:`hardscape.engine.resolve_progress`.

    Returns
    -------
    TimeToSolution

    Raises
    ------
    InputError
    BudgetError
        If `time_limit` came before a run had ended.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` are the runs that had ended, or None.

    Notes
    -----
    Seconds are those of each run on its device, without the kernel's compilation, the way to a
    worker or the engine's bookkeeping. A run that is cut short by `time_limit` or a signal does not
    count. Sweeps of solved runs are the same on every device, for the same `clones`.

    Examples
    --------
    >>> from hardscape.xorsat import random_regular
    >>> found = time_to_solution(random_regular(24, seed=1), 5, device="cpu", threads=1, seed=0)
    >>> found.num_solved, found.tau > 0
    (5, True)
    """
    running: dict[str, Any] = {
        "seed": seed,
        "time_limit": time_limit,
        "checkpoint": checkpoint,
        "executor": executor,
        "progress": progress,
    }
    if runner is not None:
        own = {"w": w, "clones": clones, "restart": restart, "threads": threads}
        if device != "auto" or any(value is not None for value in own.values()):
            raise InputError(
                "w, clones, restart, device and threads are the runner's own; leave them out"
            )
        return measure(system, runner, runs, timeout, w1=default_w1(system), **running)
    gains = suits_gpu(checked_system(system))
    options = RunOptions.checked(device=device, threads=threads, big_enough=gains, **running)
    trial = quasi_greedy_trial(system, options.devices, w, clones, restart)
    return study([trial], [options.seed], runs, timeout, options, _only)


def measure(
    system: XorSystem,
    runner: Runner,
    runs: int,
    timeout: float,
    *,
    w1: float,
    seed: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
) -> TimeToSolution:
    """Run a search `runs` times, one after the other, with seeds that follow from `seed`.

    Parameters
    ----------
    system : XorSystem
    runner : Runner
        Called as ``runner(seed, timeout)``; for an `executor` it must pickle.
    w1 : float
        What the runner takes, for the result.
    runs, timeout, seed, time_limit, checkpoint, executor, progress
        As for :func:`time_to_solution`, which says what is returned and raised, too.
    """
    options = RunOptions.checked(
        device=Cpu(),
        seed=seed,
        time_limit=time_limit,
        checkpoint=checkpoint,
        executor=executor,
        progress=progress,
    )
    trial = foreign_trial(checked_system(system), runner, w1)
    return study([trial], [options.seed], runs, timeout, options, _only)


def study(
    trials: Sequence[Trial],
    seeds: Sequence[int],
    runs: int,
    timeout: float,
    options: RunOptions,
    read: Callable[[Sequence[TimeToSolution]], T],
) -> T:
    """Run each trial `runs` times, and `read` their times, also those that an interrupt leaves."""
    number = integer(runs, "runs", 1, _MOST_RUNS)
    each = [np.random.SeedSequence(seed).generate_state(number, np.uint64) for seed in seeds]
    drawn = np.array(each, dtype=np.uint64) >> np.uint64(1)
    work = RunsWork(tuple(trials), drawn, seconds(timeout, "timeout"))
    outcome = solve(work, options)
    found = [
        TimeToSolution(
            trial.num_variables,
            trial.clones,
            trial.w1,
            trial.device,
            work.timeout,
            *ended,
            method=trial.method,
            stopped="" if outcome.complete else outcome.stopped,
        )
        for trial, ended in zip(trials, outcome.answer or (), strict=False)
    ]
    some = any(x.runs for x in found)
    if outcome.signum:
        raise Interrupted(outcome.signum, read(found) if some else None)
    if not some:
        outcome.whole()
    return read(found)


def _only(results: Sequence[TimeToSolution]) -> TimeToSolution:
    return results[0]
