"""Time to solution: many runs of a search with a timeout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar, Unpack

import numpy as np

from hardscape.arguments import integer, seconds
from hardscape.engine import Cpu, Kernel, RunArguments, RunOptions, compiled_ahead, solve
from hardscape.errors import InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.xorsat.methods.quasi_greedy.plan import Dynamics, default_w1
from hardscape.xorsat.methods.quasi_greedy.search import suits_gpu
from hardscape.xorsat.studies.runs import Runner, RunsWork, Trial, foreign_trial, quasi_greedy_trial
from hardscape.xorsat.studies.times import TimeToSolution
from hardscape.xorsat.system import XorSystem, checked_system

T = TypeVar("T")
#: More runs than anyone waits for.
_MOST_RUNS = 10**9


@interruptible
def time_to_solution(
    system: XorSystem | str | Path,
    runs: int = 100,
    timeout: float = 10.0,
    *,
    w1: float | Sequence[float] | None = None,
    dynamics: Dynamics = "quasi-greedy",
    clones: int | None = None,
    restart: int | None = None,
    max_sweeps: int | None = None,
    runner: Runner | None = None,
    **run: Unpack[RunArguments],
) -> TimeToSolution:
    """Measure how long the quasi-greedy search takes to solve a system.

    Parameters
    ----------
    system : XorSystem, or the path of a file of one
        A satisfiable one, else no run ends before its timeout.
    runs : int
        Runs, each from new random spins.
    timeout : float
        Seconds after which a run is stopped. It may be far below tau: stopped runs count, and a few
        solved ones tell tau as well as long runs would.
    max_sweeps : int, optional
        Sweeps of each clone after which a run is stopped, if `timeout` does not come before: the same runs are
        then stopped on every machine.
    w1, dynamics, clones, restart
        Of :func:`hardscape.xorsat.quasi_greedy`.
    runner : Runner, optional
        Another search to measure: it is called as ``runner(seed, timeout)``, one run after the other.
        The options of the search, device and threads are its own then.
    **run
        Device, threads, seed, limits and records: see :class:`hardscape.engine.RunArguments`. Seeds of
        the runs follow from `seed`; the study ends at `time_limit` with the runs that have ended;
        `checkpoint` keeps each of them with its time.

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
    Each GPU, thread of the CPU, or worker of an `executor` makes one run at a time, on itself alone, and
    its seconds are those of the run there, without the kernel's compilation, the way to a worker or
    the engine's bookkeeping. Threads share caches and clock rate: for the seconds of one thread alone
    give ``threads=1``. Workers should be alike, and no more than cores. Seconds of a checkpoint only
    mean something beside others of the same machine. A run that is cut short by `time_limit` or a
    signal does not count. Sweeps of solved runs are the same on every device, for the same `clones`.

    Examples
    --------
    >>> from hardscape.xorsat import random_regular
    >>> found = time_to_solution(random_regular(24, seed=1), 5, device="cpu", threads=1, seed=0)
    >>> found.num_solved, found.tau > 0
    (5, True)
    """
    system = checked_system(system)
    if runner is not None:
        if any(value is not None for value in (w1, clones, restart, max_sweeps)):
            raise InputError(
                "w1, clones, restart and max_sweeps are the runner's own; leave them out"
            )
        return measure(system, runner, runs, timeout, w1=default_w1(system), **run)
    options = RunOptions.checked(big_enough=suits_gpu(system), **run)
    trial = quasi_greedy_trial(system, options.devices, w1, clones, restart, dynamics, max_sweeps)
    return study([trial], [options.seed], runs, timeout, options, _only, max_sweeps)


@interruptible
def times_to_solution(
    systems: Iterable[XorSystem | str | Path],
    runs: int = 100,
    timeout: float = 10.0,
    *,
    w1: float | Sequence[float] | None = None,
    dynamics: Dynamics = "quasi-greedy",
    clones: int | None = None,
    restart: int | None = None,
    max_sweeps: int | None = None,
    **run: Unpack[RunArguments],
) -> tuple[TimeToSolution, ...]:
    """Measure how long the quasi-greedy search takes to solve each of many systems, as one study.

    Parameters
    ----------
    systems : iterable of XorSystem, or of paths of files of one
    runs, timeout, w1, dynamics, clones, restart, max_sweeps, **run
        Of each system, as for :func:`time_to_solution`, whose sweeps these are for the same seed; limits,
        checkpoint and progress are the study's.

    Returns
    -------
    tuple of TimeToSolution
        One a system, in their order; where none of its runs had ended at `time_limit`, one of no runs.

    Raises
    ------
    InputError
    BudgetError
        If `time_limit` came before a run had ended.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` are the times of the runs that had ended, or None.

    Notes
    -----
    On CUDA each system has a kernel of its own, which takes seconds to compile: the CPU's cores do so ahead,
    while GPUs search.

    Examples
    --------
    >>> from hardscape.xorsat import random_regular
    >>> systems = [random_regular(24, seed=seed) for seed in (1, 2)]
    >>> found = times_to_solution(systems, 5, device="cpu", threads=1, seed=0)
    >>> [one.num_solved for one in found]
    [5, 5]
    """
    given = [checked_system(system) for system in systems]
    if not given:
        raise InputError("systems is empty; one system or more is accepted")
    options = RunOptions.checked(big_enough=any(map(suits_gpu, given)), **run)
    trials = [
        quasi_greedy_trial(system, options.devices, w1, clones, restart, dynamics, max_sweeps)
        for system in given
    ]
    return study(trials, [options.seed] * len(given), runs, timeout, options, tuple, max_sweeps)


@interruptible
def measure(
    system: XorSystem | str | Path,
    runner: Runner,
    runs: int = 100,
    timeout: float = 10.0,
    *,
    w1: float,
    **run: Unpack[RunArguments],
) -> TimeToSolution:
    """Run a search `runs` times, one after the other, with seeds that follow from `seed`.

    Parameters
    ----------
    system : XorSystem, or the path of a file of one
    runner : Runner
        Called as ``runner(seed, timeout)``; for an `executor` it must pickle.
    w1 : float
        What the runner takes, for the result.
    runs, timeout, **run
        As for :func:`time_to_solution`, which says what is returned and raised, too. Device and
        threads are the runner's own.

    Examples
    --------
    >>> from hardscape import xorsat
    >>> system = xorsat.random_regular(24, seed=1)
    >>> runner = xorsat.QuasiGreedyRunner(system, w1=0.06, device="cpu")
    >>> xorsat.measure(system, runner, 20, 5.0, w1=0.06, seed=1).num_solved
    20
    """
    if run.get("device", "auto") != "auto" or run.get("threads") is not None:
        raise InputError("device and threads are the runner's own; leave them out")
    options = RunOptions.checked(**run).on((Cpu(),))
    trial = foreign_trial(checked_system(system), runner, w1)
    return study([trial], [options.seed], runs, timeout, options, _only)


def study(
    trials: Sequence[Trial],
    seeds: Sequence[int],
    runs: int,
    timeout: float,
    options: RunOptions,
    read: Callable[[Sequence[TimeToSolution]], T],
    max_sweeps: int | None = None,
) -> T:
    """Run each trial `runs` times, and `read` their times, also those that an interrupt leaves."""
    number = integer(runs, "runs", 1, _MOST_RUNS)
    each = [np.random.SeedSequence(seed).generate_state(number, np.uint64) for seed in seeds]
    drawn = np.array(each, dtype=np.uint64) >> np.uint64(1)
    work = RunsWork(tuple(trials), drawn, seconds(timeout, "timeout"))
    with compiled_ahead(_kernels(trials, options), options.devices):
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
            stopped=outcome.cut,
            seed=seed,
            max_sweeps=max_sweeps,
        )
        for trial, seed, ended in zip(trials, seeds, outcome.answer or (), strict=False)
    ]
    some = any(x.runs for x in found)
    if outcome.signum:
        raise Interrupted(outcome.signum, read(found) if some else None)
    if not some:
        outcome.whole()
    return read(found)


def _kernels(trials: Sequence[Trial], options: RunOptions) -> list[Callable[[], Kernel]]:
    """What the trials will have compiled here; workers of an executor compile for themselves."""
    if options.executor is not None:
        return []
    return [trial.kernel for trial in trials if trial.kernel is not None]


def _only(results: Sequence[TimeToSolution]) -> TimeToSolution:
    return results[0]
