"""Runs of searches as work for the engine: a shard is a run, and is timed on the device it runs on."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Device, Kernel, Partial, Shard, ShardResult, Work, split
from hardscape.engine.device import device_names
from hardscape.xorsat.methods.quasi_greedy.plan import Dynamics, default_w1
from hardscape.xorsat.methods.quasi_greedy.rounds import GROUP, Rounds, Schedule
from hardscape.xorsat.methods.quasi_greedy.work import SIDES
from hardscape.xorsat.system import XorSystem

#: Shards of a study: each of them costs a merge with all before it.
_MOST_SHARDS = 1024


class Runner(Protocol):
    """A search that is ready to run on one system many times.

    Examples
    --------
    >>> from hardscape import xorsat
    >>> system = xorsat.random_regular(24, seed=1)
    >>> runner: xorsat.Runner = xorsat.QuasiGreedyRunner(system, w1=0.06, device="cpu")
    >>> solved, sweeps, seconds = runner(1, 5.0)
    >>> solved
    True
    """

    @property
    def clones(self) -> int:
        """Number of searches side by side; the first to solve ends a run."""
        ...

    @property
    def device(self) -> str:
        """Where it runs, for people."""
        ...

    def __call__(self, seed: int, timeout: float) -> tuple[bool, int, float]:
        """Search once: whether it solved, sweeps of each clone, wall-clock seconds."""
        ...


class Run(NamedTuple):
    """Whether a run solved, sweeps of each clone, and wall-clock seconds."""

    solved: bool
    sweeps: int
    seconds: float


@dataclass(frozen=True)
class Trial:
    """A search of one system that is run many times; pickles."""

    #: Runs once with a seed and a timeout; None where it was told to stop before its timeout.
    search: Callable[[int, float, Context], Run | None]
    identity: str  # what tells it from other trials
    brief: bool  # asks within milliseconds if it should stop, or wants to be in the main thread
    num_variables: int
    clones: int
    w1: float
    device: str
    method: str
    #: What a GPU needs compiled before, as data.
    kernel: Callable[[], Kernel] | None = None


def _on_one_device(rounds: Rounds, seed: int, timeout: float, context: Context) -> Run | None:
    """Round after round of the quasi-greedy search until a solution, the timeout, or a stop."""
    _warm(rounds, context.device)
    rounds, side = rounds.seeded(seed), SIDES[type(context.device)]
    began = time.monotonic()
    until = min(context.until, began + timeout)
    own = Context(context.device, None, context.stop, until)
    sweeps = 0
    for number in count():
        if sweeps >= rounds.max_sweeps:
            return Run(False, sweeps, time.monotonic() - began)
        found = side.run(rounds, number, own, None)
        spent = time.monotonic() - began
        if found.improvements and found.improvements[-1].violated == 0:
            return Run(True, rounds.sweeps_until(found.improvements[-1]), spent)
        sweeps += found.group_sweeps // rounds.groups
        if spent >= timeout:
            return Run(False, sweeps, spent)
        if context.stopped():
            break
    return None


@lru_cache(maxsize=64)
def _warm(rounds: Rounds, device: Device) -> None:
    """Compile and load what a run needs, which its time does not hold."""
    context = Context(device, None, np.zeros(1, dtype=np.uint8))
    SIDES[type(device)].run(replace(rounds, max_sweeps=1), 0, context, None)


def _foreign(runner: Runner, seed: int, timeout: float, context: Context) -> Run:
    return Run(*runner(seed, timeout))


def quasi_greedy_trial(
    system: XorSystem,
    devices: Sequence[Device],
    w1: float | Sequence[float] | None,
    clones: int | None,
    restart: int | None,
    dynamics: Dynamics = "quasi-greedy",
    max_sweeps: int | None = None,
) -> Trial:
    """The quasi-greedy search, each run on one of `devices`."""
    schedule = Schedule(
        w1, clones, restart, anytime=False, max_sweeps=max_sweeps, dynamics=dynamics
    )
    kind = type(devices[0])
    rounds = schedule.rounds(system, 0, SIDES[kind], devices[0])
    given = default_w1(system) if w1 is None else w1
    limit = "" if max_sweeps is None else f" {max_sweeps}"
    table = np.atleast_1d(np.asarray(given, np.float64)).tolist()
    return Trial(
        partial(_on_one_device, rounds),
        # Times on different types of device do not mix.
        f"{rounds.plan.digest} {rounds.groups} {rounds.restart} {kind.__name__}{limit}",
        SIDES[kind].brief(rounds),
        system.num_variables,
        rounds.groups * GROUP,
        table[min(len(table) - 1, 1)],
        device_names(devices),
        dynamics,
        SIDES[kind].kernel(rounds),
    )


def foreign_trial(system: XorSystem, runner: Runner, w1: float) -> Trial:
    """A search of somebody else's."""
    kind = type(runner)
    named = f"{kind.__module__}.{kind.__qualname__} {runner.clones} {runner.device}"
    return Trial(
        partial(_foreign, runner),
        f"{named} {system.digest} {w1!r}",
        True,
        system.num_variables,
        runner.clones,
        w1,
        runner.device,
        kind.__name__,
    )


class Runs(NamedTuple):
    """The runs of one trial that ended: arrays of shape (runs,)."""

    solved: NDArray[np.bool_]
    sweeps: NDArray[np.int64]
    seconds: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunsWork(Work[tuple[Runs, ...]]):
    """Runs of one trial after another, with seeds of shape (trials, runs).

    A partial holds ``runs`` (float64, shape (runs, 4)): number of the run, whether it solved, sweeps
    (below 2^53), seconds.
    """

    name = "xorsat.time_to_solution"
    revision = 1
    unit = "runs"

    trials: tuple[Trial, ...]
    seeds: NDArray[np.uint64]
    timeout: float

    def digest(self) -> str:
        """Hash of the trials, the seeds and the timeout."""
        text = repr((*(trial.identity for trial in self.trials), self.timeout))
        return hashlib.sha256(text.encode() + self.seeds.tobytes()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One run each, or several where there are very many."""
        return split(self.seeds.size, min(self.seeds.size, _MOST_SHARDS))

    def brief(self, device: Device) -> bool:
        """Whether the trials are."""
        return all(trial.brief for trial in self.trials)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Run one after the other; a run that was told to stop tells nothing."""
        ended: list[tuple[int, Run]] = []
        for number in range(shard.start, shard.stop):
            trial = self.trials[number // self.seeds.shape[1]]
            run = trial.search(int(self.seeds.flat[number]), self.timeout, context)
            if run is None:
                break
            ended.append((number, run))
        rows = np.array([(number, *run) for number, run in ended], dtype=np.float64)
        return ShardResult({"runs": rows.reshape(-1, 4)}, len(ended) == len(shard))

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The runs of both."""
        return {"runs": np.concatenate([left["runs"], right["runs"]])}

    def result(self, partial: Partial) -> tuple[Runs, ...]:
        """The runs of each trial, in order."""
        rows = partial["runs"][np.argsort(partial["runs"][:, 0])]
        trial = rows[:, 0] // self.seeds.shape[1]
        return tuple(
            Runs(mine[:, 1] == 1, mine[:, 2].astype(np.int64), mine[:, 3].copy())
            for mine in (rows[trial == i] for i in range(len(self.trials)))
        )
