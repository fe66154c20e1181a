"""Times to solution: what many runs of a search say about its mean tau."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import MAX_SEED, integer, seconds
from hardscape.errors import InputError
from hardscape.plain import Plain, finite_or_none
from hardscape.xorsat.studies.plots import draw_survival
from hardscape.xorsat.studies.posterior import TauPosterior

#: What time is counted in: sweeps are those of each clone of a run.
Unit = Literal["seconds", "sweeps"]
#: Simulated samples behind the p-value of the exponential law.
_REPLICAS = 1000


@dataclass(frozen=True, eq=False)
class TimeToSolution(Plain):
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
    max_sweeps : int or None
        Sweeps of each clone after which a run was stopped, if there were any.
    solved : bool, shape (runs,)
    sweeps : int64, shape (runs,)
        Sweeps of each clone until the solution, or until the stop.
    seconds : float64, shape (runs,)
        Wall-clock time of each run.
    method : str
        What was run: "quasi-greedy", or the type of a runner.
    seed : int or None
        With which the same runs come again, if a search was run with one.
    stopped : str
        "" if all runs ended, else what cut the study short: "time_limit", "SIGINT" or "SIGTERM".

    Examples
    --------
    >>> from hardscape import xorsat
    >>> system = xorsat.random_regular(32, seed=1)
    >>> found = xorsat.time_to_solution(system, runs=20, timeout=5.0, seed=1, device="cpu")
    >>> found.runs, found.num_solved
    (20, 20)
    """

    COLUMNS: ClassVar[str] = "solved sweeps seconds"

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
    seed: int | None = None
    max_sweeps: int | None = None

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

    def tts(self, percent: float = 99, unit: Unit = "seconds") -> float:
        r"""TTS_p :math:`= -\ln(1 - p/100) \tau`: within it the search solves p% of the time."""
        return _log_share(percent) * (self.tau if unit == "seconds" else self.tau_sweeps)

    @property
    def spin_updates_per_second(self) -> float:
        """Rate over all runs."""
        updates = float(self.sweeps.sum()) * self.num_variables * self.clones
        total = float(self.seconds.sum())
        return updates / total if total else math.nan

    # -- the distribution ----------------------------------------------------------------------

    def curve(self, unit: Unit = "seconds") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Empirical P[TTS > t]: times at which runs solved, ascending, and the share left after each.

        Kaplan and Meier's estimate, which counts stopped runs for as long as they ran.
        """
        times = self.seconds if unit == "seconds" else self.sweeps.astype(np.float64)
        return _survival(times, self.solved)

    def empirical_tts(self, percent: float = 99, unit: Unit = "seconds") -> float:
        """TTS_p read off the curve; infinite where too few runs solved."""
        times, left = self.curve(unit)
        reached = np.flatnonzero(left <= 1 - percent / 100 + 1e-12)
        return float(times[reached[0]]) if len(reached) else math.inf

    def stopped_at(self, timeout: float, unit: Unit = "seconds") -> TimeToSolution:
        """What the same runs would have told with a shorter timeout, in seconds or in sweeps of each clone."""
        if unit == "sweeps":
            return self._stopped_after(integer(timeout, "timeout", 1, MAX_SEED))
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

    def _stopped_after(self, sweeps: int) -> TimeToSolution:
        late = self.sweeps > sweeps
        share = np.where(late, sweeps / np.maximum(self.sweeps, sweeps), 1)
        return dataclasses.replace(
            self,
            max_sweeps=min(sweeps, self.max_sweeps or sweeps),
            solved=self.solved & ~late,
            sweeps=np.minimum(self.sweeps, sweeps),
            seconds=self.seconds * share,
        )

    def exponential_test(self) -> float:
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
        random = np.random.default_rng(0)
        farther = 0
        for _ in range(_REPLICAS):
            times = random.exponential(self.tau_sweeps, self.runs)
            solved = times <= stop
            farther += bool(_distance(np.minimum(times, stop), solved) >= distance)
        return (farther + 1) / (_REPLICAS + 1)

    # -- for people and programs ---------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data; times in seconds, None where no run solved."""
        return self.listed("num_variables clones w1 method device seed stopped") | {
            "timeout": finite_or_none(self.timeout),
            "max_sweeps": self.max_sweeps,
            "runs": self.runs,
            "num_solved": self.num_solved,
            "tau": finite_or_none(self.tau),
            "tau_low": finite_or_none(self.posterior.low),
            "tau_high": finite_or_none(self.posterior.high),
            "tts99": finite_or_none(self.tts(99)),
            "tts99_sweeps": finite_or_none(self.tts(99, "sweeps")),
            "tau_sweeps": finite_or_none(self.tau_sweeps),
            "tau_updates": finite_or_none(self.tau_updates),
            "spin_updates_per_second": finite_or_none(self.spin_updates_per_second),
        }

    def __repr__(self) -> str:
        p = self.posterior
        return (
            f"<TimeToSolution: tau={self.tau:.4g} s [{p.low:.4g}, {p.high:.4g}], "
            f"{self.num_solved} of {self.runs} runs solved, {self.tau_sweeps:.4g} sweeps of "
            f"{self.clones} clones>"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw P[TTS > t] and the exponential law; see `hardscape.xorsat.studies.plots.draw_survival`."""
        return draw_survival([self], ax)


def median_tts(
    results: Sequence[TimeToSolution], percent: float = 99, unit: Unit = "seconds"
) -> tuple[float, float, float]:
    """TTS_p of the median instance, with its error bars.

    Parameters
    ----------
    results : sequence of TimeToSolution
        One an instance.
    percent : float
    unit : {"seconds", "sweeps"}
        Sweeps of each clone compare across machines, not across numbers of clones.

    Returns
    -------
    tuple of float
        The median of the estimates, and the 16% and 84% quantiles of the median,
        over 10,000 draws from the posteriors.

    Examples
    --------
    >>> from hardscape import xorsat
    >>> how = {"runs": 20, "timeout": 5.0, "seed": 1, "device": "cpu"}
    >>> systems = [xorsat.random_regular(24, seed=seed) for seed in range(3)]
    >>> middle, low, high = xorsat.median_tts([xorsat.time_to_solution(x, **how) for x in systems])
    >>> low <= middle <= high
    True
    """
    results = [x for x in results if x.runs]
    if not results:
        raise InputError("results are of no runs; one result an instance is accepted")
    factor = _log_share(percent)
    known = [x.posterior if unit == "seconds" else x.posterior_sweeps for x in results]
    value = float(np.median([x.mode for x in known]))
    random = np.random.default_rng(0)
    draws = np.full((10_000, len(results)), np.inf)
    for i, x in enumerate(known):
        if x.solved:
            draws[:, i] = x.total / random.gamma(x.solved, size=len(draws))
    low, high = np.quantile(np.median(draws, axis=1), [0.16, 0.84], method="nearest")
    return factor * value, factor * float(low), factor * float(high)


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
