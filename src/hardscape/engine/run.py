"""Running a `Work`: scheduling, checkpoint, time limit, signals, progress."""

from __future__ import annotations

import logging
import math
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Generic

import numpy as np

from hardscape.engine.cluster.parts import Part
from hardscape.engine.deadline import Deadline
from hardscape.engine.device import Device
from hardscape.engine.fold import Block, Fold, Hint, Waiting
from hardscape.engine.ledger import Ledger, NoLedger, open_ledger
from hardscape.engine.options import RunOptions
from hardscape.engine.outcome import Outcome, Stopped, outcome_of, units_of
from hardscape.engine.pool import LocalPool, Pace, Pool, Report
from hardscape.engine.progress import Measure, Meter, Progress, is_silent
from hardscape.engine.signals import StopSignals, name_of
from hardscape.engine.work import Answer, Context, Shard, Work
from hardscape.errors import PartDone, WorkerError
from hardscape.interrupts import hear, heard

log = logging.getLogger("hardscape.engine")

#: Errors that are a worker's, not a shard's: it runs again, so many times in all.
_OF_WORKERS = (MemoryError, OSError, EOFError, BrokenExecutor, CancelledError)
_OF_DASK = ("KilledWorker", "CommClosedError", "FutureCancelledError")
_ATTEMPTS = 3

#: Seconds of a run after which it is worth asking which parts take how long; each time as late again.
_MEASURED_AT = 0.3
#: Seconds after which it is worth asking what is known of the answer, how much later each time, and how many
#: times what that took of a processor.
_BOUNDED_AT, _BOUNDED_AGAIN, _BOUNDED_REST = 0.3, 1.25, 10.0


def solve(work: Work[Answer], options: RunOptions) -> Outcome[Answer]:
    """Run the shards of `work` and fold their partials along a fixed tree.

    The answer does not depend on the devices' number, the executor or the order in which shards
    finish: bit for bit the same. One brief shard, or brief shards on one lane, run in the calling
    thread (see `Work.brief`).

    Parameters
    ----------
    work : Work
    options : RunOptions

    Raises
    ------
    CheckpointError
        If the ledger cannot be used, belongs to other work, or is in use.
    DeviceError
        If the system gives no thread for a lane.
    Exception
        Whatever a shard raised; the other shards are stopped first, and the ledger keeps what was
        complete.
    KeyboardInterrupt
        On a second signal that stops. The first one stops the run, which then returns normally.

    Notes
    -----
    Signals are only looked after when this is called from the main thread.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.engine import RunOptions, solve
    >>> from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork
    >>> solve(CpuGlynnWork(np.ones((8, 8))), RunOptions.checked(device="cpu")).whole().value
    40320.0
    """
    shards = work.shards()
    device = options.devices[0]
    alone = len(shards) == 1 or len(options.devices) == 1
    recorded = options.executor is not None or options.checkpoint is not None
    if alone and not recorded and is_silent(options.progress) and work.brief(device):
        return _solve_here(work, shards, device, options.deadline)
    left = options.deadline.left
    limit = math.inf if left is None else left
    reports: SimpleQueue[Report | None] = SimpleQueue()
    with ExitStack() as stack:
        ledger = open_ledger(options.checkpoint, work, options.seed)
        stack.enter_context(ledger)
        signals = stack.enter_context(StopSignals(lambda: reports.put(None)))
        shown = stack.enter_context(options.progress)
        pool: Pool
        if options.executor is None:
            pool = LocalPool(work, options.devices, reports)
        else:
            from hardscape.engine.cluster.executors import ExecutorPool

            pool = ExecutorPool(
                work, options.devices, reports, options.executor, options.workers, left
            )
        stack.callback(pool.close)
        part = None if options.checkpoint is None else options.part
        running = _Run(
            work, device, pool, reports, ledger, signals, shown, limit, options.checkpoint, part
        )
        return running.outcome()


#: Seconds for which nobody looks after signals in the calling thread: to begin takes some microseconds.
_UNWATCHED = 2e-3


@dataclass(frozen=True)
class _Here(Context):
    """What brief shards are run with in the calling thread."""

    look: Callable[[], None] = field(kw_only=True)

    def stopped(self) -> bool:
        self.look()
        return super().stopped()


def _solve_here(
    work: Work[Answer], shards: Sequence[Shard], device: Device, deadline: Deadline
) -> Outcome[Answer]:
    """Run brief shards one after the other: nothing is started, which takes longer than they do."""
    began = time.monotonic()
    left = deadline.left
    until = math.inf if left is None else began + left
    stop = np.zeros(1, dtype=np.uint8)
    step = work.joined()
    fold, hint, shared = Fold(work, len(shards)), Hint(work), work.shared()
    signals = StopSignals(lambda: stop.fill(1))
    watched = False
    done = 0
    stopped: Stopped = name_of(heard()) if heard() else ""
    with ExitStack() as stack:

        def look() -> None:
            nonlocal watched
            if not watched and time.monotonic() >= began + _UNWATCHED:
                watched = True
                stack.enter_context(signals)

        while not stopped and done < fold.limit:
            look()
            several = Block(done, min(done + step, len(shards)))
            known = hint.look(fold)
            context = _Here(device, known, stop, until, shared=shared, look=look)
            try:
                result = work.run(several.shard(shards), context)
            except KeyboardInterrupt as signalled:  # by code of others that heard it first
                hear(getattr(signalled, "signum", signal.SIGINT))
                stopped = name_of(getattr(signalled, "signum", signal.SIGINT))
                break
            if result.complete:
                fold.add(several, result.partial)
                done = several.stop
            else:
                fold.add_incomplete(several, result.partial)
            if not result.complete or (time.monotonic() >= until and done < fold.limit):
                stopped = "time_limit"
            stopped = signals.caught or stopped
    seconds = time.monotonic() - began
    return outcome_of(work, fold, shards, stopped, seconds)


class _Run(Generic[Answer]):
    """One run: its state, and the loop that schedules. Lives in the thread that called `solve`."""

    def __init__(
        self,
        work: Work[Answer],
        device: Device,
        pool: Pool,
        reports: SimpleQueue[Report | None],
        ledger: Ledger | NoLedger,
        signals: StopSignals,
        progress: Progress,
        time_limit: float,
        checkpoint: Path | None,
        part: Part | None,
    ) -> None:
        self._began = time.monotonic()
        self._work = work
        self._device = device
        self._pool = pool
        self._reports = reports
        self._ledger = ledger
        self._signals = signals
        self._time_limit = time_limit
        self._shards = work.shards()
        every = Block(0, len(self._shards))
        if part is not None:
            mine = part.of(len(self._shards))
            every = Block(mine.start, mine.stop)
        self._mine = every
        self._joined = work.joined()
        self._fold = Fold(work, len(self._shards))
        self._pace = Pace(*pool.pace)
        self._hint = Hint(work)
        self._stopped: Stopped = signals.caught
        self._error: BaseException | None = None
        self._ended = math.inf  # when blocks in flight were first told to stop
        self._again: list[Block] = []
        self._twice: set[Block] = set()
        self._ended_early: list[Block] = []
        self._failures: Counter[int] = Counter()
        self._checkpoint = checkpoint
        self._meter = Meter(progress, units_of(self._shards, self._mine), work.unit, time_limit)
        self._measured_at = _MEASURED_AT if checkpoint or not is_silent(progress) else math.inf
        self._measure: Measure | None = None
        self._bounded_at = _BOUNDED_AT
        self._bounds: list[tuple[float, float, float]] = []
        self._resumed: list[Block] = []

    def outcome(self) -> Outcome[Answer]:
        for block, partial in self._ledger.load():
            self._fold.add(block, partial)
        self._resumed = [block for block, _ in self._fold.nodes()]
        self._waiting = self._missing()
        self._meter.begin(self._units_done)
        try:
            self._loop()
        except KeyboardInterrupt:
            self._pool.stop()
            raise
        except BaseException:
            self._drain()
            raise
        if self._error is not None:
            raise self._error
        self._meter.end(self._units_done)
        if len(self._mine) < len(self._shards) and not (self._stopped or self._fold.complete):
            assert self._checkpoint is not None
            raise PartDone(self._checkpoint, len(self._mine), len(self._shards))
        seconds = time.monotonic() - self._began
        return outcome_of(
            self._work,
            self._fold,
            self._shards,
            self._stopped,
            seconds,
            self._resumed,
            self._checkpoint,
            self._bounds,
            self._needed(seconds) if self._stopped else None,
        )

    def _loop(self) -> None:
        while True:
            while not self._stopping and self._pool.has_room:
                block = self._next()
                if block is None:
                    break
                self._submit(block)
            if not self._pool.busy:
                return
            self._wait()

    def _next(self) -> Block | None:
        """A block that nobody has, or one that somebody has for long."""
        if not self._waiting.left and not self._pool.busy:
            self._waiting = self._missing()
        while block := self._again.pop() if self._again else self._take():
            if not self._fold.covers(block):
                return block
        if self._fold.complete:
            return None
        self._again = self._pool.again(self._twice)[::-1]
        if not self._again:
            self._pool.ask()
            return None
        log.debug("shards from %d on are tried by others, too", self._again[-1].start)
        self._twice.add(Block(self._again[-1].start, self._again[0].stop))
        return self._again.pop()

    def _take(self) -> Block | None:
        most = self._pace.shards(self._waiting.left, self._pool.workers, self._joined)
        if self._joined > 1:
            return self._waiting.share(most, self._pool.idle)
        return self._waiting.take(most)

    def _missing(self) -> Waiting:
        done = [block for block, _ in self._fold.nodes()]
        done += [block for block in self._ended_early if not self._fold.covers(block)]
        done += [Block(0, self._mine.start), Block(self._mine.stop, len(self._shards))]
        return Waiting(self._fold.limit, sorted(done))

    @property
    def _units_done(self) -> int:
        return sum(units_of(self._shards, block) for block, _ in self._fold.nodes())

    def _submit(self, block: Block) -> None:
        try:
            self._pool.submit(block, self._hint.look(self._fold))
        except BrokenExecutor as error:
            self._failed(block, error, final=True)

    def _wait(self) -> None:
        """Sleep until a block is reported, a signal comes, the time is up, or patience is."""
        now = time.monotonic()
        left = self._time_limit - (now - self._began)
        if left <= 0:
            self._stop("time_limit")
        if self._stopping or self._fold.complete:
            self._ended = min(self._ended, now)
            patience = self._pool.patience
            # Whoever still works for an answer that is there is waited for only where it cannot be left alone.
            left = (
                self._ended + patience - now
                if not self._fold.complete or math.isinf(patience)
                else 0.0
            )
            if left <= 0:
                self._pool.abandon()
                return
        left = min(left, self._pool.glance)
        try:
            report = self._reports.get(timeout=None if math.isinf(left) else left)
        except Empty:
            if self._stopping:
                self._pool.stop()  # again: a worker that has just begun may not have listened before
            return
        if self._signals.caught:
            self._stop(self._signals.caught)
        if report is not None:
            asked = self._pool.release(report)
            self._absorb(report, asked)
            if self._meter.due:  # what is done is many blocks, at times
                self._bound()
                self._meter.update(self._units_done, self._shares)
        elif self._pool.told and self._meter.due:
            self._bound()
            self._meter.update(self._units_done, self._shares)

    def _bound(self) -> None:
        """Ask from time to time what is known of the answer; bounds only ever close."""
        seconds = time.monotonic() - self._began
        if seconds < self._bounded_at or self._stopping:
            return
        nodes = list(self._fold.nodes())
        ranges = [(x.start, x.stop) for x in (block.shard(self._shards) for block, _ in nodes)]
        parts = [*(partial for _, partial in nodes), *self._pool.told]
        began = time.thread_time()
        told = self._work.bounds(parts, ranges)
        took = time.thread_time() - began
        self._bounded_at = max(seconds * _BOUNDED_AGAIN, seconds + _BOUNDED_REST * took)
        if told is not None:
            best, bound = told
            if self._bounds:
                best, bound = min(best, self._bounds[-1][1]), max(bound, self._bounds[-1][2])
            self._bounds.append((seconds, best, bound))
            self._meter.bounded((best, bound))

    def _shares(self, seconds: float) -> tuple[float, float] | None:
        """What was resumed and what is done, by the time that parts are expected to take."""
        if seconds >= self._measured_at:
            self._measured_at = 2 * seconds  # what was found since tells more
            parts = self._work.expected(self._device, self._hint.known)
            if parts is not None:
                total = units_of(self._shards, Block(0, len(self._shards)))
                self._measure = Measure(parts, self._shards[0].start, total)
        if self._measure is None:
            return None
        mine, resumed, done = (
            self._measure.share((x.start, x.stop) for x in (b.shard(self._shards) for b in blocks))
            for blocks in ([self._mine], self._resumed, [block for block, _ in self._fold.nodes()])
        )
        self._ledger.share = done
        return resumed / mine, done / mine

    def _needed(self, seconds: float) -> float | None:
        """Seconds that what is left takes, by what was done in this run; None if that is nothing."""
        self._measured_at = 0.0
        units = units_of(self._shards, self._mine) or 1
        known = sum(units_of(self._shards, block) for block in self._resumed)
        resumed, done = self._shares(seconds) or (known / units, self._units_done / units)
        return seconds * (1 - done) / (done - resumed) if done > resumed else None

    @property
    def _stopping(self) -> bool:
        return bool(self._stopped) or self._error is not None

    def _stop(self, reason: Stopped) -> None:
        if not self._stopped:
            self._stopped = reason
            self._pool.stop()

    def _absorb(self, report: Report, asked: bool) -> None:
        """Take in a block that was `asked` to stop, or not."""
        block = report.block
        try:
            result = report.future.result()
        except KeyboardInterrupt:
            # Ctrl-C reached a worker process before it reached this one.
            self._stop("SIGINT")
            return
        except BaseException as error:
            self._failed(block, error)
            return
        limit = self._fold.limit
        self._pace.took(sum(len(node) for node, _ in result.nodes), result.seconds)
        for node, partial in result.nodes:
            if self._fold.add(node, partial):
                self._ledger.commit(node, partial)
        if self._ledger.swollen:
            self._ledger.replace(self._fold.nodes())
        begin = max([block.start, *(node.stop for node, _ in result.nodes)])
        if result.incomplete is not None:
            self._fold.add_incomplete(*result.incomplete)
            if not asked:  # it knows why
                self._ended_early.append(result.incomplete[0])
                begin = result.incomplete[0].stop
        if block not in self._twice:  # else others have what is left
            self._waiting.give_back(begin, block.stop)
        if self._fold.limit < limit:
            self._waiting.limit = self._fold.limit
            self._pool.stop(self._fold.limit)
        if self._twice:
            self._pool.call_off(self._fold)

    def _failed(self, block: Block, error: BaseException, final: bool = False) -> None:
        """Have a block run again where the worker may be at fault, and give up where it is not or too often."""
        if self._stopping or self._fold.covers(block):
            return  # cancelled, or workers died of the signal that stops this run: nothing else is lost
        if not (isinstance(error, _OF_WORKERS) or type(error).__name__ in _OF_DASK):
            self._fail(error)
            return
        self._failures[block.start] += 1
        if self._failures[block.start] < _ATTEMPTS and not final:
            log.debug("shards from %d on run again: %r", block.start, error)
            self._waiting.give_back(block.start, block.stop)
            return
        kept = "" if self._checkpoint is None else f"; what is done is in {self._checkpoint}"
        self._fail(
            WorkerError(
                f"shard {block.start} of {len(self._shards)} was lost {self._failures[block.start]} "
                f"time(s), last by {type(error).__name__}: {error or 'no reason was given'}{kept}"
            ),
            error,
        )

    def _fail(self, error: BaseException, cause: BaseException | None = None) -> None:
        if self._error is None:
            error.__cause__ = cause or error.__cause__
            self._error = error
            self._pool.stop()

    def _drain(self) -> None:
        """Wait for the shards in flight and drop what they bring: the loop itself broke."""
        self._pool.stop()
        until = time.monotonic() + self._pool.patience
        while self._pool.busy:
            left = until - time.monotonic()
            try:
                report = self._reports.get(timeout=None if math.isinf(left) else max(0.0, left))
            except Empty:
                self._pool.abandon()
                return
            if report is not None:
                self._pool.release(report)
