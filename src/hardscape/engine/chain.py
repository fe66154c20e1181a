"""Markov chains, generations, sweeps: states that follow one another, and the way to run them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

import numpy as np

from hardscape.engine.device import Cpu
from hardscape.engine.fold import Block
from hardscape.engine.lanes import Team, team
from hardscape.engine.ledger import Ledger, NoLedger, open_ledger
from hardscape.engine.options import RunOptions
from hardscape.engine.outcome import Outcome, Stopped
from hardscape.engine.progress import Meter
from hardscape.engine.run import solve
from hardscape.engine.signals import StopSignals
from hardscape.engine.work import (
    Answer,
    Context,
    Identity,
    Partial,
    Shard,
    ShardResult,
    Work,
    split,
)

#: Seconds of steps that are done without a look at the clock: what a signal may have to wait.
_ROUND = 0.1
#: Seconds between two states in a checkpoint, and how many times longer than writing one at least.
_BETWEEN, _BETWEEN_WRITES = 2.0, 20.0
#: Share of what is not over, at most.
_NEARLY = 0.999999


class Chain(ABC, Generic[Answer]):
    """A computation whose steps follow one another. Holds its state; pickles, to go to an executor.

    Any cut of the steps into calls of `advance`, and any size of the team, must give the same bytes.

    Attributes
    ----------
    name, revision, unit
        As of a `Work`; a unit is a step.
    total : int
        Steps that are wanted, those of earlier runs included. Not part of the digest: a longer run
        goes on where a shorter one ended.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.engine import Chain, RunOptions, steps
    >>> class Doubling(Chain):
    ...     name, revision, unit, total = "doubling", 1, "steps", 10
    ...     value = 1
    ...     def digest(self):
    ...         return "1"
    ...     def advance(self, count, team):
    ...         self.value *= 2**count
    ...         return count
    ...     def state(self):
    ...         return {"value": np.array(self.value)}
    ...     def restore(self, state):
    ...         self.value = int(state["value"])
    ...     def result(self):
    ...         return self.value
    >>> steps(Doubling(), RunOptions.checked(device="cpu")).whole()
    1024
    """

    name: ClassVar[str]
    revision: ClassVar[int]
    unit: ClassVar[str] = "steps"
    total: int

    @abstractmethod
    def digest(self) -> str:
        """Hex digest of the problem, the start and everything that shapes the steps."""

    @abstractmethod
    def advance(self, count: int, team: Team) -> int:
        """Do `count` steps with the lanes of `team`, fewer if `Team.stop` is set; return how many."""

    @abstractmethod
    def state(self) -> Partial:
        """All that the next step depends on, and what was recorded on the way."""

    @abstractmethod
    def restore(self, state: Partial) -> None:
        """Go on from what `state` returned, in this process or another."""

    @abstractmethod
    def result(self) -> Answer:
        """The answer as it is now."""

    def finished(self) -> bool:
        """Whether no further step is needed."""
        return False

    def lanes(self, most: int) -> int:
        """How many of `most` lanes pay for a step."""
        return most

    def identity(self) -> Identity:
        """What a ledger knows this chain by."""
        return Identity.of(self.name, self.revision, self.digest(), 0)


def steps(chain: Chain[Answer], options: RunOptions) -> Outcome[Answer]:
    """Run a chain to its end, or as far as time limit and signals let it.

    Parameters
    ----------
    chain : Chain
        Is in the state that it came to afterwards.
    options : RunOptions
        With a checkpoint, the chain goes on from the state in it. With an executor, one of its
        workers does the steps, on one thread.

    Returns
    -------
    Outcome
        ``units_done`` steps of ``units_total``; its `partial` is empty, as the chain has the state.

    Raises
    ------
    CheckpointError, DeviceError, KeyboardInterrupt
        As :func:`hardscape.engine.solve`.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.engine import Chain, RunOptions, steps
    >>> class Halving(Chain):
    ...     name, revision, unit, total = "halving", 1, "steps", 3
    ...     value = 8.0
    ...     def digest(self):
    ...         return "8"
    ...     def advance(self, count, team):
    ...         self.value /= 2**count
    ...         return count
    ...     def state(self):
    ...         return {"value": np.array(self.value)}
    ...     def restore(self, state):
    ...         self.value = float(state["value"])
    ...     def result(self):
    ...         return self.value
    >>> outcome = steps(Halving(), RunOptions.checked(device="cpu"))
    >>> outcome.complete, outcome.whole()
    (True, 1.0)
    """
    began = time.monotonic()
    options.undivided("a chain of steps")
    ledger = open_ledger(options.checkpoint, chain, options.seed)
    with ledger:
        done = resumed = _resume(chain, ledger)
        _foresee(chain, ledger, done)
        if options.executor is None:
            done, stopped = _advance(chain, options, ledger, done)
        else:
            done, stopped = _send(chain, options, done)
        complete = done >= chain.total or chain.finished()
        _foresee(chain, ledger, done)
        if done > resumed:
            ledger.replace([(Block(0, done), chain.state())])
    if complete:
        stopped = "finished" if done < chain.total else ""
    return Outcome(
        partial={},
        complete=complete,
        stopped=stopped,
        shards_done=int(complete),
        shards_total=1,
        units_done=done,
        units_total=chain.total,
        resumed_shards=int(resumed > 0),
        resumed_units=resumed,
        seconds=time.monotonic() - began,
        read=lambda partial: chain.result(),
        checkpoint=options.checkpoint,
    )


def _resume(chain: Chain[Any], ledger: Ledger | NoLedger) -> int:
    """Put the chain in the state of the ledger; returns the number of steps that it is from the start."""
    kept = list(ledger.load())
    if not kept:
        return 0
    ((steps, state),) = kept
    chain.restore(state)
    return steps.stop


def _foresee(chain: Chain[Any], ledger: Ledger | NoLedger, done: int) -> None:
    """Let the ledger tell how far a chain is, as far as anybody knows."""
    certain = type(chain).finished is Chain.finished
    ledger.steps = chain.total if certain else 0
    over = done >= chain.total or chain.finished()
    ledger.share = 1.0 if over else min(done / chain.total, _NEARLY) if certain else 0.0


def _advance(
    chain: Chain[Any], options: RunOptions, ledger: Ledger | NoLedger, done: int
) -> tuple[int, Stopped]:
    stop = np.zeros(1, dtype=np.uint8)
    lanes = chain.lanes(options.threads) if isinstance(options.devices[0], Cpu) else 1
    deadline = options.deadline
    with (
        StopSignals(lambda: stop.fill(1)) as signals,
        options.progress as shown,
        deadline.watched(stop),
        team(lanes, stop) as lent,
    ):
        meter = Meter(shown, chain.total, chain.unit, deadline.left)
        meter.begin(done)
        pace = _Pace()
        while done < chain.total and not (chain.finished() or deadline.up or signals.caught):
            done += pace.timed(lambda count: chain.advance(count, lent), chain.total - done)
            meter.update(done)
            if pace.should_write:
                _foresee(chain, ledger, done)
                state = Block(0, done), chain.state()
                pace.write(lambda: ledger.replace([state]))  # noqa: B023
        meter.end(done)
        return done, signals.caught or "time_limit"


class _Pace:
    """How many steps to do at once, and when to write the state down."""

    def __init__(self) -> None:
        self._count = 1
        self._next = time.monotonic() + _BETWEEN

    def timed(self, advance: Any, most: int) -> int:
        """Advance by as many steps as take about `_ROUND` seconds."""
        began = time.monotonic()
        done = int(advance(min(self._count, most)))
        spent = time.monotonic() - began
        if spent < _ROUND / 2:
            self._count *= 2
        elif spent > 2 * _ROUND:
            self._count = max(1, self._count // 2)
        return done

    @property
    def should_write(self) -> bool:
        """Whether it is time for a checkpoint."""
        return time.monotonic() >= self._next

    def write(self, write: Any) -> None:
        """Write a checkpoint, and set the time of the next by what this one took."""
        began = time.monotonic()
        write()
        spent = time.monotonic() - began
        self._next = time.monotonic() + max(_BETWEEN, _BETWEEN_WRITES * spent)


# -- elsewhere -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Elsewhere(Work[Partial]):
    """The steps that are left, as one shard for a worker of an executor."""

    name: ClassVar[str] = "engine.chain"
    revision: ClassVar[int] = 1

    chain: Chain[Any]
    done: int

    def digest(self) -> str:
        return self.chain.identity().digest

    def shards(self) -> Sequence[Shard]:
        return split(1, 1)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        chain, done, pace = self.chain, self.done, _Pace()
        with team(1, context.stop) as alone:
            while done < chain.total and not chain.finished() and not context.stopped():
                done += pace.timed(lambda count: chain.advance(count, alone), chain.total - done)
        complete = done >= chain.total or chain.finished()
        return ShardResult({**chain.state(), "engine.done": np.array(done)}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        return right


def _send(chain: Chain[Any], options: RunOptions, done: int) -> tuple[int, Stopped]:
    if done >= chain.total or chain.finished():
        return done, ""
    here = options.with_checkpoint(None)
    outcome = solve(_Elsewhere(chain, done), here)
    if outcome.partial is not None:
        state = dict(outcome.partial)
        done = int(state.pop("engine.done"))
        chain.restore(state)
    return done, outcome.stopped
