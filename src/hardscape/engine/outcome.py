"""What a run came to."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Generic, Literal

from hardscape.engine.fold import Block, Fold
from hardscape.engine.signals import SignalName
from hardscape.engine.work import Answer, Partial, Shard, Work
from hardscape.errors import BudgetError, Interrupted

Stopped = Literal["", "finished", "time_limit"] | SignalName
"""Why a run ended before its last shard; empty when it did not.

Examples
--------
>>> import numpy as np
>>> from hardscape.engine import RunOptions, Stopped, solve
>>> from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork
>>> why: Stopped = solve(CpuGlynnWork(np.ones((8, 8))), RunOptions.checked(device="cpu")).stopped
>>> why
''
"""


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """What a run came to.

    Attributes
    ----------
    partial : Partial or None
        The answer's partial if `complete`; else the best so far: the merge of all complete shards, then
        of those that were stopped on the way. None when nothing was done.
    complete : bool
        Whether `partial` is the final answer.
    stopped : str
        "" if all shards ran; "finished" if `Work.finished` settled the answer before the last shard
        (and the answer is complete); "time_limit" or a signal's name if the run was cut short.
    shards_done, shards_total : int
        Complete shards, those resumed included, and all shards.
    units_done, units_total : int
        The same in work units.
    done : tuple of (start, stop)
        Ranges of the units of complete shards, in order; empty for a chain.
    bounds : tuple of (seconds, best, bound)
        What `Work.bounds` told, and when in this run.
    resumed_shards, resumed_units : int
        Complete ones read from the checkpoint.
    seconds : float
        Wall-clock time of this run, in seconds.
    read : callable
        `Work.result` of the work that ran.
    checkpoint : Path or None
        The ledger that keeps what is done.
    needed : float or None
        Seconds that what is left takes with the same lanes, by how much of the expected time was done in this
        run; 0 if `complete`, None where nothing tells.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.engine import RunOptions, solve
    >>> from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork
    >>> outcome = solve(CpuGlynnWork(np.ones((8, 8))), RunOptions.checked(device="cpu"))
    >>> outcome.complete, outcome.shards_done == outcome.shards_total, outcome.whole().value
    (True, True, 40320.0)
    """

    partial: Partial | None
    complete: bool
    stopped: Stopped
    shards_done: int
    shards_total: int
    units_done: int
    units_total: int
    resumed_shards: int
    resumed_units: int
    seconds: float
    read: Callable[[Partial], Answer] = field(repr=False)
    checkpoint: Path | None = None
    done: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    bounds: tuple[tuple[float, float, float], ...] = field(default=(), repr=False)
    needed: float | None = None

    @property
    def signum(self) -> int:
        """Number of the signal that stopped the run, for `errors.Interrupted`; 0 if none did."""
        return int(signal.Signals[self.stopped]) if self.stopped.startswith("SIG") else 0

    @property
    def cut(self) -> Stopped:
        """What cut the run short, for results: "" where the answer is complete."""
        return "" if self.complete else self.stopped

    @cached_property
    def answer(self) -> Answer | None:
        """What `Work.result` makes of `partial`; None when nothing was done."""
        return None if self.partial is None else self.read(self.partial)

    def whole(self) -> Answer:
        """Return the final answer, for computations of which a part tells nothing.

        Raises
        ------
        Interrupted
            If a signal stopped the run.
        BudgetError
            If the time limit did.
        """
        if self.complete and self.partial is not None:
            return self.read(self.partial)
        if self.signum:
            raise Interrupted(self.signum)
        kept = (
            "pass checkpoint= to keep what is done"
            if self.checkpoint is None
            else f"run again with checkpoint={str(self.checkpoint)!r} to go on"
        )
        raise BudgetError(
            f"the time limit came after {self.shards_done} of {self.shards_total} shards; {kept}"
        )


def outcome_of(
    work: Work[Answer],
    fold: Fold,
    shards: Sequence[Shard],
    stopped: Stopped,
    seconds: float,
    resumed: Sequence[Block] = (),
    checkpoint: Path | None = None,
    bounds: Sequence[tuple[float, float, float]] = (),
    needed: float | None = None,
) -> Outcome[Answer]:
    """What a run came to whose partials are in `fold`."""
    if fold.complete:
        stopped = "finished" if fold.limit < len(shards) else ""
    done = tuple((x.start, x.stop) for x in (block.shard(shards) for block, _ in fold.nodes()))
    return Outcome(
        partial=fold.best_so_far(),
        complete=fold.complete,
        # A worker that goes by its own clock may stop a moment before this process would.
        stopped=stopped if fold.complete or stopped else "time_limit",
        shards_done=fold.shards,
        shards_total=len(shards),
        units_done=sum(stop - start for start, stop in done),
        units_total=units_of(shards, Block(0, len(shards))),
        resumed_shards=sum(map(len, resumed)),
        resumed_units=sum(units_of(shards, block) for block in resumed),
        seconds=seconds,
        read=work.result,
        checkpoint=checkpoint,
        done=done,
        bounds=tuple(bounds),
        needed=0.0 if fold.complete else needed,
    )


def units_of(shards: Sequence[Shard], block: Block) -> int:
    """How many units the shards of a block hold."""
    return shards[block.stop - 1].stop - shards[block.start].start if len(block) else 0
