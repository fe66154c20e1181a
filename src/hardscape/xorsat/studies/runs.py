"""Runs of searches as work for the engine: a shard is a run, and is timed on the device it runs on."""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Device, Partial, Shard, ShardResult, Work, split
from hardscape.xorsat.methods.quasi_greedy.rounds import GROUP, Rounds
from hardscape.xorsat.methods.quasi_greedy.work import SIDES
from hardscape.xorsat.result import QuasiGreedyResult
from hardscape.xorsat.system import XorSystem

__all__ = ["QuasiGreedyTrial", "Run", "Runner", "RunnerTrial", "Runs", "RunsWork", "Trial"]

#: Shards of a study: each of them costs a merge with all before it.
_MOST_SHARDS = 1024


class Runner(Protocol):
    """A search that is ready to run on one system many times.

    Attributes
    ----------
    clones : int
        Searches side by side; the first to solve ends a run.
    device : str
        Where it runs, for people.
    """

    @property
    def clones(self) -> int:
        """Number of searches side by side."""
        ...

    @property
    def device(self) -> str:
        """Where it runs."""
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
class Trial(ABC):
    """A search of one system that is run many times.

    Attributes
    ----------
    num_variables : int
    w1 : float
    """

    num_variables: int
    w1: float

    @property
    @abstractmethod
    def clones(self) -> int:
        """Clones of a run."""

    @property
    @abstractmethod
    def method(self) -> str:
        """What is run, for people."""

    @abstractmethod
    def device(self, devices: Sequence[Device]) -> str:
        """Where it runs, for people, if the engine has these devices."""

    @abstractmethod
    def identity(self) -> str:
        """Text that tells it from other trials."""

    @abstractmethod
    def brief(self, device: Device) -> bool:
        """Whether a run asks often enough whether it should stop."""

    @abstractmethod
    def run(self, seed: int, timeout: float, context: Context) -> Run | None:
        """Run once; None where it was told to stop before its timeout."""


@dataclass(frozen=True)
class QuasiGreedyTrial(Trial):
    """The quasi-greedy search on one device.

    Attributes
    ----------
    rounds : Rounds
        Without a seed.
    kind : type of Device
        Times on different ones do not mix.
    """

    rounds: Rounds
    kind: type[Device]

    @property
    def clones(self) -> int:
        """Clones of a round."""
        return self.rounds.groups * GROUP

    @property
    def method(self) -> str:
        """Its name."""
        return QuasiGreedyResult.method

    def device(self, devices: Sequence[Device]) -> str:
        """Each run on one of them."""
        return ", ".join(map(str, devices))

    def identity(self) -> str:
        """Dynamics, schedule and type of device."""
        rounds = self.rounds
        return f"{rounds.plan.digest} {rounds.groups} {rounds.restart} {self.kind.__name__}"

    def brief(self, device: Device) -> bool:
        """Whether its rounds are."""
        return SIDES[type(device)].brief(self.rounds)

    def run(self, seed: int, timeout: float, context: Context) -> Run | None:
        """Round after round until a solution, the timeout, or a stop."""
        _warm(self.rounds, context.device)
        rounds, side = self.rounds.seeded(seed), SIDES[type(context.device)]
        began = time.monotonic()
        until = min(context.until, began + timeout)
        own = Context(context.device, None, context.stop, until)
        sweeps = 0
        for number in count():
            found = side.run(rounds, number, own, None)
            spent = time.monotonic() - began
            if found.improvements and found.improvements[-1].violated == 0:
                return Run(True, rounds.sweeps_until(found.improvements[-1]), spent)
            sweeps += found.group_sweeps // rounds.groups
            if spent >= timeout:
                return Run(False, sweeps, spent)
            if context.stopped():
                return None
        raise AssertionError("rounds do not end")


@lru_cache(maxsize=64)
def _warm(rounds: Rounds, device: Device) -> None:
    """Compile and load what a run needs, which its time does not hold."""
    context = Context(device, None, np.zeros(1, dtype=np.uint8))
    SIDES[type(device)].run(replace(rounds, max_sweeps=1), 0, context, None)


@dataclass(frozen=True)
class RunnerTrial(Trial):
    """A search of somebody else's.

    Attributes
    ----------
    runner : Runner
    system : XorSystem
    """

    runner: Runner
    system: XorSystem

    @property
    def clones(self) -> int:
        """What the runner says."""
        return self.runner.clones

    @property
    def method(self) -> str:
        """Name of its type."""
        return type(self.runner).__name__

    def device(self, devices: Sequence[Device]) -> str:
        """What the runner says."""
        return self.runner.device

    def identity(self) -> str:
        """Its type, and what it says of itself."""
        kind, runner = type(self.runner), self.runner
        named = f"{kind.__module__}.{kind.__qualname__} {runner.clones} {runner.device}"
        return f"{named} {self.system.digest} {self.w1!r}"

    def brief(self, device: Device) -> bool:
        """Always: it may want to be in the main thread."""
        return True

    def run(self, seed: int, timeout: float, context: Context) -> Run | None:
        """Run it."""
        return Run(*self.runner(seed, timeout))


class Runs(NamedTuple):
    """The runs of one trial that ended: arrays of shape (runs,)."""

    solved: NDArray[np.bool_]
    sweeps: NDArray[np.int64]
    seconds: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunsWork(Work[tuple[Runs, ...]]):
    """Runs of one trial after another.

    A partial holds ``runs`` (float64, shape (runs, 4)): number of the run, whether it solved, sweeps
    (below 2^53), seconds.

    Attributes
    ----------
    trials : tuple of Trial
    seeds : uint64, shape (trials, runs)
    timeout : float
        Seconds of each run.
    """

    name = "xorsat.time_to_solution"
    revision = 1
    unit = "runs"

    trials: tuple[Trial, ...]
    seeds: NDArray[np.uint64]
    timeout: float

    def digest(self) -> str:
        """Hash of the trials, the seeds and the timeout."""
        text = repr((*(trial.identity() for trial in self.trials), self.timeout))
        return hashlib.sha256(text.encode() + self.seeds.tobytes()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One run each, or several where there are very many."""
        return split(self.seeds.size, min(self.seeds.size, _MOST_SHARDS))

    def brief(self, device: Device) -> bool:
        """Whether the trials are."""
        return all(trial.brief(device) for trial in self.trials)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Run one after the other; a run that was told to stop tells nothing."""
        ended: list[tuple[int, Run]] = []
        for number in range(shard.start, shard.stop):
            trial = self.trials[number // self.seeds.shape[1]]
            run = trial.run(int(self.seeds.flat[number]), self.timeout, context)
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
