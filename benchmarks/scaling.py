"""How a pruned search scales: the engine's own schedule, in simulated time, over times of its shards.

``python -m benchmarks.scaling 60 --workers 10,100,1000`` searches the lowest states of a dense Gaussian model
on one thread, part by part, and then lets that many workers do it: each block takes as long as its shards took,
and the clock of the scheduler is that of the simulation. ``--threads 1,32`` runs it on so many threads, and
processes, for real.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import hardscape
from hardscape.engine import Context, Cpu, Partial, RunOptions, Shard, ShardResult, Work, split
from hardscape.engine import pool as pools
from hardscape.engine import run as runs
from hardscape.engine.fold import Block, Fold, Hint
from hardscape.engine.ledger import NoLedger
from hardscape.engine.pool import BlockResult, LocalPool, Pool, Report
from hardscape.engine.progress import NullProgress
from hardscape.engine.signals import StopSignals
from hardscape.ising import Ising
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.tree.tree import Tree

_STATES = 1000
#: Parts that are timed at first and those in a part, as powers of two; seconds from which on a part is cut.
_PARTS, _CUT, _LONG = 12, 3, 1e-3


def instance(n: int) -> Ising:
    """A glass without fields: the hardest kind."""
    return Ising(np.zeros(n), np.triu(np.random.default_rng(1).normal(size=(n, n)), 1))


def recorded(n: int) -> tuple[NDArray[np.float64], int]:
    """Seconds of the thread for each shard, without what a call takes at least; and how many are joined.

    Parts that take less than a fraction of a millisecond are not cut further: their shards share it.
    """
    terms = instance(n).exact
    options = RunOptions.checked(device="cpu", threads=1, seed=0)
    work = Tree().work(Wanted(terms, _STATES + 1, None), options)
    shards, stop = work.shards(), np.zeros(1, dtype=np.uint8)
    fold, seconds = Fold(work, len(shards)), np.zeros(len(shards))
    hint = Hint(work)

    def timed(block: Block) -> tuple[float, Partial]:
        context = Context(Cpu(), hint.look(fold), stop)
        began = time.thread_time()
        found = work.run(block.shard(shards), context).partial
        return time.thread_time() - began, found

    def spread(block: Block, taken: float) -> None:
        seconds[block.start : block.stop] = taken / len(block)
        if taken > _LONG and len(block) > 1:
            for part in block.cut(len(block) >> _CUT or 1):
                spread(part, max(0.0, timed(part)[0] - least))

    coarse = []
    for block in Block(0, len(shards)).cut(max(1, len(shards) >> _PARTS)):
        taken, partial = timed(block)
        fold.add(block, partial)
        coarse.append((block, taken))
    least = min(taken for _, taken in coarse)
    for block, taken in coarse:
        spread(block, taken - least)
    return seconds, work.joined()


@dataclass(frozen=True)
class Replayed(Work[Partial]):
    """Nothing but the number of shards."""

    name: ClassVar[str] = "benchmarks.replayed"
    revision: ClassVar[int] = 1

    count: int
    together: int

    def digest(self) -> str:
        return ""

    def shards(self) -> Sequence[Shard]:
        return split(self.count, self.count)

    def joined(self) -> int:
        return self.together

    def run(self, shard: Shard, context: Context) -> ShardResult:
        raise NotImplementedError

    def merge(self, left: Partial, right: Partial) -> Partial:
        return {}


class Simulation(Pool):
    """Workers that take the recorded times, and `call` seconds a block; its own clock and queue of reports."""

    pace = LocalPool.pace

    def __init__(self, work: Replayed, seconds: NDArray[np.float64], workers: int, call: float):
        super().__init__(work, np.zeros(workers, dtype=np.uint8), self)  # type: ignore[arg-type]
        self._sums = np.append(0.0, np.cumsum(seconds))
        self._call = call
        self._ends: list[tuple[float, int, Block, Future[BlockResult]]] = []
        self.now = self.busy_seconds = 0.0
        self.blocks = 0

    def monotonic(self) -> float:
        return self.now

    @property
    def workers(self) -> int:
        return len(self._stops)

    @property
    def glance(self) -> float:
        return self.pace[1] if self._free else float("inf")

    def _seconds(self, block: Block) -> float:
        return float(self._sums[block.stop] - self._sums[block.start]) + self._call

    def _start(self, slot: int, block: Block, incumbent: Partial | None) -> Future[BlockResult]:
        future: Future[BlockResult] = Future()
        self.blocks += 1
        heapq.heappush(self._ends, (self.now + self._seconds(block), slot, block, future))
        return future

    def _withdraw(self, future: Future[BlockResult]) -> None:
        for place, (end, slot, block, other) in enumerate(self._ends):
            if other is future:
                self._ends[place] = (min(end, self.now), slot, block, other)
                heapq.heapify(self._ends)
                return

    def put(self, report: Report) -> None:
        self._report = report

    def get(self, timeout: float | None) -> Report:
        """The next report, or Empty: time passes."""
        until = float("inf") if timeout is None else self.now + timeout
        if not self._ends or self._ends[0][0] > until:
            self.now = until
            raise Empty
        self.now, slot, block, future = heapq.heappop(self._ends)
        done = not self._stops[slot]
        nodes = ((block, {}),) if done else ()
        future.set_result(BlockResult(nodes, self._seconds(block)))
        return self._report

    def close(self) -> None:
        pass


def simulated(
    seconds: NDArray[np.float64], joined: int, workers: int, call: float
) -> tuple[float, int]:
    """Seconds until all is done, and the number of blocks."""
    work = Replayed(len(seconds), joined)
    pool = Simulation(work, seconds, workers, call)
    with ExitStack() as stack:
        for module in (pools, runs):
            stack.enter_context(patch.object(module, "time", pool))
        signals = StopSignals(lambda: None)
        quiet: Any = (NoLedger(), signals, NullProgress(), float("inf"), None, None)
        runs._Run(work, Cpu(), pool, pool, *quiet).outcome()  # type: ignore[arg-type]
    return pool.now, pool.blocks


def best_of(repeats: int, function: Callable[[], object]) -> float:
    """The least time of some."""
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        taken.append(time.perf_counter() - began)
    return min(taken)


def main() -> None:
    """Print a row for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spins", type=int)
    parser.add_argument("--workers", default="1,10,100,1000")
    parser.add_argument("--call", type=float, default=5e-5, help="seconds that a block costs")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="as if all shards took so much longer"
    )
    parser.add_argument("--threads", default="", help="run on so many threads, and processes")
    told = parser.parse_args()
    if told.threads:
        model = instance(told.spins)
        alone = 0.0
        for threads in map(int, told.threads.split(",")):
            for how in ("threads", "processes"):
                options: dict[str, Any] = {"threads": threads}
                if how == "processes":
                    options = {"executor": f"processes:{threads}", "threads": 1}
                hardscape.spectrum(instance(40), _STATES, device="cpu", **options)
                taken = best_of(
                    3,
                    lambda: hardscape.spectrum(model, _STATES, device="cpu", **options),  # noqa: B023
                )
                alone = alone or taken * threads
                print(
                    f"{threads:6} {how:9} {taken:9.3f} s  efficiency {alone / taken / threads:5.2f}"
                )
        return
    seconds, joined = recorded(told.spins)
    seconds *= told.scale
    whole = float(seconds.sum())
    print(f"{whole:.3f} s, longest shard {seconds.max():.4f} s")
    for workers in map(int, told.workers.split(",")):
        taken, blocks = simulated(seconds, joined, workers, told.call)
        print(
            f"{workers:6} {taken:9.4f} s  efficiency {whole / taken / workers:5.2f}  {blocks} blocks"
        )


if __name__ == "__main__":
    main()
