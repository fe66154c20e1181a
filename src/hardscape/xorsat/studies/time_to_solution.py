"""Time to solution: many runs of a search with a timeout, and what they say about its mean tau."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import MAX_SEED, integer, seconds
from hardscape.engine import Cpu, Device, Progress, ProgressEvent, RunOptions, solve
from hardscape.errors import InputError, Interrupted
from hardscape.xorsat.methods.quasi_greedy.plan import default_w1
from hardscape.xorsat.methods.quasi_greedy.rounds import Schedule
from hardscape.xorsat.methods.quasi_greedy.search import suits_gpu
from hardscape.xorsat.methods.quasi_greedy.work import SIDES
from hardscape.xorsat.studies.posterior import TauPosterior, plain
from hardscape.xorsat.studies.runs import QuasiGreedyTrial, Runner, RunnerTrial, RunsWork, Trial
from hardscape.xorsat.system import XorSystem, checked_system

__all__ = ["TimeToSolution", "measure", "median_tts", "study", "time_to_solution"]

T = TypeVar("T")
#: More runs than anyone waits for.
_MOST_RUNS = 10**9
#: Simulated samples behind the p-value of the exponential law.
_REPLICAS = 1000


@dataclass(frozen=True, eq=False)
class TimeToSolution:
    """Runs of one search on one system, and the mean time to solution that follows.

    Attributes
    ----------
    num_variables : int
        N.
    clones : int
        Clones of each run.
    w1 : float
        Probability of flipping a variable of one violated clause.
    device : str
    timeout : float
        Seconds after which a run was stopped.
    solved : bool, shape (runs,)
    sweeps : int64, shape (runs,)
        Sweeps of each clone until the solution, or until the stop.
    seconds : float64, shape (runs,)
        Wall-clock time of each run.
    method : str
        What was run: "quasi-greedy", or the type of a runner.
    stopped : str
        "" if all runs ended, else what cut the study short: "time_limit", "SIGINT" or "SIGTERM".
    """

    num_variables: int
    clones: int
    w1: float
    device: str
    timeout: float
    solved: NDArray[np.bool_]
    sweeps: NDArray[np.int64]
    seconds: NDArray[np.float64]
    method: str = "quasi-greedy"
    stopped: str = ""

    def __post_init__(self) -> None:
        if not len(self.solved) == len(self.sweeps) == len(self.seconds):
            raise InputError(
                f"{len(self.solved)} outcomes, {len(self.sweeps)} numbers of sweeps and "
                f"{len(self.seconds)} times are no runs; one of each a run is accepted"
            )

    # -- tau -----------------------------------------------------------------------------------

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.solved)

    @property
    def num_solved(self) -> int:
        """Number of runs that solved."""
        return int(self.solved.sum())

    @cached_property
    def posterior(self) -> TauPosterior:
        """What is known about tau in seconds."""
        return TauPosterior(self.num_solved, float(self.seconds.sum()))

    @cached_property
    def posterior_sweeps(self) -> TauPosterior:
        """What is known about tau in sweeps, which compare across machines."""
        return TauPosterior(self.num_solved, float(self.sweeps.sum()))

    @property
    def tau(self) -> float:
        """Mean time to solution in seconds; infinite where no run solved."""
        return self.posterior.mode

    @property
    def tau_sweeps(self) -> float:
        """Mean sweeps to solution."""
        return self.posterior_sweeps.mode

    @property
    def tau_updates(self) -> float:
        """Mean spin updates to solution, those of all clones."""
        return self.tau_sweeps * self.num_variables * self.clones

    def tts(self, percent: float = 99) -> float:
        r"""TTS_p :math:`= -\ln(1 - p/100) \tau`: within it the search solves p% of the time, in s."""
        return _log_share(percent) * self.tau

    @property
    def spin_updates_per_second(self) -> float:
        """Rate over all runs."""
        updates = float(self.sweeps.sum()) * self.num_variables * self.clones
        total = float(self.seconds.sum())
        return updates / total if total else math.nan

    # -- the distribution ----------------------------------------------------------------------

    def curve(
        self, unit: Literal["seconds", "sweeps"] = "seconds"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Empirical P[TTS > t]: times at which runs solved, ascending, and the share left after each.

        Kaplan and Meier's estimate, which counts stopped runs for as long as they ran.
        """
        times = self.seconds if unit == "seconds" else self.sweeps.astype(np.float64)
        return _survival(times, self.solved)

    def empirical_tts(self, percent: float) -> float:
        """TTS_p read off the curve; infinite where too few runs solved."""
        times, left = self.curve()
        reached = np.flatnonzero(left <= 1 - percent / 100 + 1e-12)
        return float(times[reached[0]]) if len(reached) else math.inf

    def stopped_at(self, timeout: float) -> TimeToSolution:
        """What the same runs would have told with a shorter timeout, in seconds."""
        timeout = seconds(timeout, "timeout")
        late = self.seconds > timeout
        # A run's sweeps go at a steady rate; those of a stopped one are cut in proportion.
        share = np.where(late, timeout / np.maximum(self.seconds, timeout), 1)
        return dataclasses.replace(
            self,
            timeout=min(timeout, self.timeout),
            solved=self.solved & ~late,
            sweeps=np.round(self.sweeps * share).astype(np.int64),
            seconds=np.minimum(self.seconds, timeout),
        )

    def exponential_test(self, seed: int = 0) -> float:
        """Test whether the time to solution, in sweeps, is exponentially distributed.

        Returns
        -------
        float
            The p-value: how often times that are exponential, stopped as these runs were, lie as
            far from their own fit as these do. Below 0.01, say, they are not exponential.

        Notes
        -----
        Largest distance between the empirical curve and the fitted one (Kolmogorov and Smirnov; as
        tau is fitted, its distribution comes from 1000 simulated sets of runs, Lilliefors 1969).

        Raises
        ------
        InputError
            If fewer than two runs solved.
        """
        if self.num_solved < 2:
            raise InputError(f"{self.num_solved} runs solved; a test needs two or more")
        stop = float(self.sweeps[~self.solved].mean()) if not self.solved.all() else math.inf
        distance = _distance(self.sweeps.astype(np.float64), self.solved)
        random = np.random.default_rng(integer(seed, "seed", 0, MAX_SEED))
        farther = 0
        for _ in range(_REPLICAS):
            times = random.exponential(self.tau_sweeps, self.runs)
            solved = times <= stop
            farther += bool(_distance(np.minimum(times, stop), solved) >= distance)
        return (farther + 1) / (_REPLICAS + 1)

    # -- for people and programs ---------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data; times in seconds, None where no run solved."""
        return {
            "num_variables": self.num_variables,
            "clones": self.clones,
            "w1": self.w1,
            "method": self.method,
            "device": self.device,
            "stopped": self.stopped,
            "timeout": plain(self.timeout),
            "runs": self.runs,
            "solved": self.num_solved,
            "tau": plain(self.tau),
            "tau_low": plain(self.posterior.low),
            "tau_high": plain(self.posterior.high),
            "tts99": plain(self.tts(99)),
            "sweeps_tau": plain(self.tau_sweeps),
            "updates_tau": plain(self.tau_updates),
            "spin_updates_per_second": plain(self.spin_updates_per_second),
        }

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        p = self.posterior
        return (
            f"TimeToSolution(tau={self.tau:.4g} s [{p.low:.4g}, {p.high:.4g}], "
            f"{self.num_solved} of {self.runs} runs solved, {self.tau_sweeps:.4g} sweeps of "
            f"{self.clones} clones)"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw P[TTS > t] and the exponential law; see `hardscape.xorsat.studies.plots.draw_survival`."""
        from hardscape.xorsat.studies.plots import draw_survival

        return draw_survival([self], ax)


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
    trial = quasi_greedy_trial(system, options, w, clones, restart)
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
    trial = RunnerTrial(checked_system(system).num_variables, w1, runner, system)
    return study([trial], [options.seed], runs, timeout, options, _only)


def quasi_greedy_trial(
    system: XorSystem,
    options: RunOptions,
    w: float | Sequence[float] | None,
    clones: int | None,
    restart: int | None,
) -> QuasiGreedyTrial:
    """The search that :func:`time_to_solution` measures."""
    schedule, first = (
        Schedule(w=w, clones=clones, restart=restart, anytime=False),
        options.devices[0],
    )
    rounds = schedule.rounds(system, 0, SIDES[type(first)], first)
    return QuasiGreedyTrial(system.num_variables, _w1(system, w), rounds, type(first))


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
            trial.device(options.devices),
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


def median_tts(
    results: Sequence[TimeToSolution], percent: float = 99, *, seed: int = 0
) -> tuple[float, float, float]:
    """TTS_p of the median instance, in seconds, with its error bars.

    Parameters
    ----------
    results : sequence of TimeToSolution
        One an instance.
    percent : float
    seed : int
        Of the 10,000 draws from the posteriors that the error bars come from.

    Returns
    -------
    tuple of float
        The median of the estimates, and the 16% and 84% quantiles of the median.
    """
    if not results:
        raise InputError("results is empty; one result an instance is accepted")
    factor = _log_share(percent)
    value = float(np.median([x.tau for x in results]))
    random = np.random.default_rng(integer(seed, "seed", 0, MAX_SEED))
    draws = np.full((10_000, len(results)), np.inf)
    for i, x in enumerate(results):
        if x.num_solved:
            draws[:, i] = x.posterior.total / random.gamma(x.num_solved, size=len(draws))
    low, high = np.quantile(np.median(draws, axis=1), [0.16, 0.84], method="nearest")
    return factor * value, factor * float(low), factor * float(high)


def _only(results: Sequence[TimeToSolution]) -> TimeToSolution:
    return results[0]


def _log_share(percent: float) -> float:
    if not 0 < percent < 100:
        raise InputError(f"percent={percent}; a percentage above 0 and below 100 is accepted")
    return -math.log1p(-percent / 100)


def _survival(
    times: NDArray[np.float64], solved: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    at, counts = np.unique(times[solved], return_counts=True)
    exposed = len(times) - np.searchsorted(np.sort(times), at, side="left")
    left: NDArray[np.float64] = np.cumprod(1 - counts / exposed, dtype=np.float64)
    return at, left


def _distance(times: NDArray[np.float64], solved: NDArray[np.bool_]) -> float:
    """Largest distance between the curve of these runs and the exponential law fitted to them."""
    if not solved.any():
        return 0.0
    at, after = _survival(times, solved)
    law = np.exp(-at * solved.sum() / times.sum())
    before = np.concatenate([[1.0], after[:-1]])
    return float(max(np.abs(law - after).max(), np.abs(law - before).max()))


def _w1(system: XorSystem, w: float | Sequence[float] | None) -> float:
    if w is None:
        return default_w1(system)
    table = np.atleast_1d(np.asarray(w, dtype=np.float64))
    return float(table[min(len(table) - 1, 1)])
