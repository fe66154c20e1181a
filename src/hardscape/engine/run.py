"""Running a `Work`: scheduling, checkpoint, time limit, signals, progress."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal

from hardscape.engine.device import Device
from hardscape.engine.executors import ExecutorPool, LocalPool, Pool, Report
from hardscape.engine.fold import Fold
from hardscape.engine.ledger import Ledger, NoLedger, open_ledger
from hardscape.engine.progress import Meter, Progress, ProgressEvent, resolve_progress
from hardscape.engine.signals import StopSignals
from hardscape.engine.work import Partial, Shard, ShardResult, Work
from hardscape.errors import BudgetError, InputError, Interrupted

__all__ = ["Outcome", "Stopped", "run"]

#: Why a run ended before its last shard; empty when it did not.
Stopped = Literal["", "finished", "time_limit", "SIGINT", "SIGTERM"]


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes
    ----------
    partial : Partial or None
        The answer if `complete`; else the best so far: the merge of all complete shards in order,
        then of those that were stopped on the way. None when nothing was done.
    complete : bool
        Whether `partial` is the final answer.
    stopped : str
        "" if all shards ran; "finished" if `Work.finished` settled the answer before the last shard
        (and the answer is complete); "time_limit", "SIGINT" or "SIGTERM" if the run was cut short.
    shards_done, shards_total : int
        Complete shards, those resumed included, and all shards.
    units_done, units_total : int
        The same in work units.
    resumed_shards : int
        Complete shards read from the checkpoint.
    seconds : float
        Wall-clock time of this run, in seconds.
    """

    partial: Partial | None
    complete: bool
    stopped: Stopped
    shards_done: int
    shards_total: int
    units_done: int
    units_total: int
    resumed_shards: int
    seconds: float

    @property
    def signum(self) -> int:
        """Number of the signal that stopped the run, for `errors.Interrupted`; 0 if none did."""
        return int(signal.Signals[self.stopped]) if self.stopped.startswith("SIG") else 0

    def whole(self, checkpoint: str | Path | None) -> Partial:
        """Return the final answer, for computations of which a part tells nothing.

        Parameters
        ----------
        checkpoint : str, Path or None
            What `run` was given; the error says how to go on.

        Raises
        ------
        Interrupted
            If a signal stopped the run.
        BudgetError
            If the time limit did.
        """
        if self.complete and self.partial is not None:
            return self.partial
        if self.signum:
            raise Interrupted(self.signum)
        kept = (
            "pass checkpoint= to keep what is done"
            if checkpoint is None
            else f"run again with checkpoint={str(checkpoint)!r} to go on"
        )
        raise BudgetError(
            f"the time limit came after {self.shards_done} of {self.shards_total} shards; {kept}"
        )


def run(
    work: Work,
    *,
    devices: Sequence[Device],
    executor: Any = None,
    workers: int | None = None,
    checkpoint: str | Path | None = None,
    time_limit: float | None = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
) -> Outcome:
    """Run the shards of `work` and fold their partials in order.

    The answer does not depend on the devices' number, the executor or the order in which shards
    finish: bit for bit the same.

    Parameters
    ----------
    work : Work
    devices : sequence of Device
        What :func:`hardscape.engine.resolve` gives: one lane a device. With an `executor`: the
        devices of its workers; each takes the GPU of its rank on its host, or the CPU, one thread.
    executor : concurrent.futures.Executor, distributed.Client or mpi4py MPIPoolExecutor, optional
        Runs the shards instead of this process, and stays open. Twice as many shards as it has
        workers are in flight. For GPUs in a process pool use ``mp_context=get_context("spawn")``: a
        forked process cannot use CUDA once its parent has. With dask-cuda, which shows each worker
        its own GPU first, name "cuda:0".
    workers : int, optional
        Number of workers of `executor`, where it does not tell.
    checkpoint : str or Path, optional
        Ledger file: created if missing, else its shards are not run again (see
        :mod:`hardscape.engine.ledger`).
    time_limit : float, optional
        Wall-clock seconds after which shards are asked to stop.
    progress : bool, callable, Progress or None
        See :func:`hardscape.engine.resolve_progress`.

    Raises
    ------
    InputError
        If `devices` is empty, or `time_limit` or `workers` is not positive.
    CheckpointError
        If the ledger cannot be used, belongs to other work, or is in use.
    Exception
        Whatever a shard raised; the other shards are stopped first, and the ledger keeps what was
        complete.
    KeyboardInterrupt
        On a second SIGINT or SIGTERM. The first one stops the run, which then returns normally.

    Notes
    -----
    Signals are only looked after when this is called from the main thread.
    """
    if not devices:
        raise InputError("devices is empty; at least one device is accepted")
    if workers is not None and workers < 1:
        raise InputError(f"workers={workers}; at least 1 is accepted")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit={time_limit}; seconds above 0 are accepted")
    limit = math.inf
    if time_limit is not None and time_limit < threading.TIMEOUT_MAX:
        limit = float(time_limit)
    meter = resolve_progress(progress)
    reports: SimpleQueue[Report | None] = SimpleQueue()
    with ExitStack() as stack:
        ledger = open_ledger(checkpoint, work)
        stack.enter_context(ledger)
        signals = stack.enter_context(StopSignals(lambda: reports.put(None)))
        shown = stack.enter_context(meter)
        pool: Pool
        if executor is None:
            pool = LocalPool(work, devices, reports)
        else:
            until = None if math.isinf(limit) else time.time() + limit
            pool = ExecutorPool(work, devices, reports, executor, workers, until)
        stack.callback(pool.close)
        return _Run(work, pool, reports, ledger, signals, shown, limit).outcome()


class _Run:
    """One run: its state, and the loop that schedules. Lives in the thread that called `run`."""

    def __init__(
        self,
        work: Work,
        pool: Pool,
        reports: SimpleQueue[Report | None],
        ledger: Ledger | NoLedger,
        signals: StopSignals,
        progress: Progress,
        time_limit: float,
    ) -> None:
        self._began = time.monotonic()
        self._work = work
        self._pool = pool
        self._reports = reports
        self._ledger = ledger
        self._signals = signals
        self._time_limit = time_limit
        self._shards = work.shards()
        self._units_total = self._shards[-1].stop - self._shards[0].start if self._shards else 0
        self._fold = Fold(work, len(self._shards))
        self._hint: Partial | None = None
        self._done: set[int] = set()
        self._units_done = 0
        self._stopped: Stopped = ""
        self._error: BaseException | None = None
        self._meter = Meter(progress, self._units_total, work.unit)

    def outcome(self) -> Outcome:
        for index, partial in self._ledger.load():
            self._take(self._shards[index], ShardResult(partial))
        resumed = len(self._done)
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
        return Outcome(
            partial=self._fold.best_so_far(),
            complete=self._fold.complete,
            stopped=self._reason(),
            shards_done=len(self._done),
            shards_total=len(self._shards),
            units_done=self._units_done,
            units_total=self._units_total,
            resumed_shards=resumed,
            seconds=time.monotonic() - self._began,
        )

    def _reason(self) -> Stopped:
        if self._fold.complete:
            return "finished" if self._fold.limit < len(self._shards) else ""
        # A worker that goes by its own clock may stop a moment before this process would.
        return self._stopped or "time_limit"

    def _loop(self) -> None:
        waiting = self._not_done()
        while True:
            while not self._stopping and self._pool.has_room:
                shard = next(waiting, None)
                if shard is None:
                    break
                self._pool.submit(shard, self._hint)
            if not self._pool.busy:
                return
            self._wait()

    def _not_done(self) -> Iterator[Shard]:
        index = 0
        while index < self._fold.limit:
            if index not in self._done:
                yield self._shards[index]
            index += 1

    def _wait(self) -> None:
        """Sleep until a shard is reported, a signal comes, or the time is up."""
        left = self._time_limit - (time.monotonic() - self._began)
        if left <= 0:
            self._stop("time_limit")
        forever = self._stopping or math.isinf(left)
        try:
            report = self._reports.get(timeout=None if forever else left)
        except Empty:
            return
        if self._signals.caught:
            self._stop(self._signals.caught)
        if report is not None:
            self._pool.release(report)
            self._absorb(report)
            self._meter.update(self._units_done)

    @property
    def _stopping(self) -> bool:
        return bool(self._stopped) or self._error is not None

    def _stop(self, reason: Stopped) -> None:
        if not self._stopped:
            self._stopped = reason
            self._pool.stop()

    def _absorb(self, report: Report) -> None:
        try:
            result = report.future.result()
        except CancelledError:
            return
        except KeyboardInterrupt:
            # Ctrl-C reached a worker process before it reached this one.
            self._stop("SIGINT")
            return
        except BrokenExecutor as error:
            # Workers die of the signal that stops this run; then nothing else is lost.
            if not self._stopping:
                self._fail(error)
            return
        except BaseException as error:
            self._fail(error)
            return
        if result.complete:
            self._ledger.commit(report.shard.index, result.partial)
        limit = self._fold.limit
        self._take(report.shard, result)
        if self._fold.limit < limit:
            self._pool.stop(self._fold.limit)

    def _take(self, shard: Shard, result: ShardResult) -> None:
        self._fold.add(shard.index, result)
        if not result.complete:
            return
        self._done.add(shard.index)
        self._units_done += shard.stop - shard.start
        if self._work.wants_incumbent:
            hint, partial = self._hint, result.partial
            if self._fold.without_gaps is not None:
                self._hint = self._fold.without_gaps
            else:
                self._hint = partial if hint is None else self._work.merge(hint, partial)

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
            self._pool.stop()

    def _drain(self) -> None:
        """Wait for the shards in flight and drop what they bring: the loop itself broke."""
        self._pool.stop()
        while self._pool.busy:
            report = self._reports.get()
            if report is not None:
                self._pool.release(report)
