"""How a pruned search scales: the engine's own schedule, in simulated time, over times of its shards.

``python -m hardscape.benchmarks.ising.scaling 60 --workers 10,100,1000`` searches the lowest states of a dense
Gaussian model on one thread, slice by slice, and then lets that many workers do it: each block takes as long
as its shards took, and the clock of the scheduler, whose own work takes ``--scheduler`` seconds a block there,
is that of the simulation. Floors, which the threads of a process raise together, are taken as shared evenly.
``python -m hardscape.benchmarks.ising.scaling 56 60 64 --threads 1,2,4,8,16`` runs it on so many threads, and
processes, for real: how long the floors, the search and all the rest of a call take, the processor time and
the blocks that were walked, which do not depend on who else is at work. Beside it are as many processes that
each search everything: what the machine itself does for so many at once, which share caches and clocks.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from queue import Empty
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import hardscape
from hardscape.benchmarks.tables import Table
from hardscape.engine import Context, Cpu, Partial, RunOptions, Shard, ShardResult, Work, split
from hardscape.engine import pool as pools
from hardscape.engine import run as runs
from hardscape.engine.cluster.executors import ExecutorPool
from hardscape.engine.fold import Block, Fold, Hint
from hardscape.engine.ledger import NoLedger
from hardscape.engine.pool import BlockResult, LocalPool, Pool, Report
from hardscape.engine.progress import NullProgress
from hardscape.engine.signals import StopSignals
from hardscape.ising import Ising
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.ising.methods.reduction import searched as reduction
from hardscape.ising.methods.tree import tree

_STATES = 1000
#: Seconds of a slice that is timed, and times that the quickest is.
_SLICE, _TIMES = 1e-4, 20
#: Seconds after which nothing is run again for a better time.
_ENOUGH = 3.0


def instance(n: int) -> Ising:
    """A glass without fields: the hardest kind."""
    return Ising(np.zeros(n), np.triu(np.random.default_rng(1).normal(size=(n, n)), 1))


@dataclass(frozen=True)
class Recording:
    """How long the shards of a search take one after the other on one thread."""

    shards: NDArray[np.float64]  #: how many were done at some times, from 0 on
    seconds: NDArray[np.float64]  #: of the thread, until then

    @classmethod
    def of(cls, work: BlockWork) -> Recording:
        """Search in slices of time, without what a call takes at least."""
        shards, stop = work.shards(), np.zeros(1, dtype=np.uint8)
        fold, hint = Fold(work, len(shards)), Hint(work)

        def timed(start: int, seconds: float) -> tuple[float, int, Partial]:
            context = Context(Cpu(), hint.look(fold), stop, seconds=seconds)
            began = time.thread_time()
            result = work.run(Block(start, len(shards)).shard(shards), context)
            taken = time.thread_time() - began
            return taken, len(shards) if result.left is None else result.left, result.partial

        done, spent = [0], [0.0]
        least = min(timed(len(shards) - 1, 1.0)[0] for _ in range(_TIMES))
        while done[-1] < len(shards):
            taken, reached, partial = timed(done[-1], _SLICE)
            fold.add(Block(done[-1], reached), partial)
            done.append(reached)
            spent.append(spent[-1] + max(0.0, taken - least))
        return cls(np.array(done, dtype=np.float64), np.array(spent))

    @property
    def count(self) -> int:
        """All shards."""
        return int(self.shards[-1])

    @property
    def whole(self) -> float:
        """Seconds of all of them."""
        return float(self.seconds[-1])

    def until(self, shard: int) -> float:
        """Seconds of those before one."""
        return float(np.interp(shard, self.shards, self.seconds))

    def after(self, seconds: float) -> int:
        """The first that is not begun by then."""
        return int(np.ceil(np.interp(seconds, self.seconds, self.shards)))

    def scaled(self, factor: float) -> Recording:
        """As if all took so much longer."""
        return Recording(self.shards, self.seconds * factor)


def recorded(n: int) -> tuple[float, float, list[Recording]]:
    """Seconds of what one thread does, those of the floors, and the searches that are shared."""
    searched(40, "tree")  # what only a first call takes
    options = RunOptions.checked(device="cpu", threads=2, seed=0)
    shared: list[Recording] = []
    floors, others = 0.0, 0.0
    began = time.process_time()

    def noted(work: Work[Any], options: RunOptions) -> Any:
        nonlocal floors, others
        begun = time.process_time()
        if isinstance(work, BlockWork):
            shared.append(Recording.of(work))
        outcome = runs.solve(work, options)
        taken = time.process_time() - begun
        if isinstance(work, BlockWork):
            others += taken
        else:
            floors += taken
        return outcome

    with patch.object(tree, "solve", noted):
        work = tree.Tree().work(Wanted(instance(n).exact, _STATES + 1, None), options)
    alone = time.process_time() - began - floors - others
    return alone, floors, [*shared, Recording.of(work)]


@dataclass(frozen=True)
class Replayed(Work[Partial]):
    """Nothing but the number of shards."""

    name: ClassVar[str] = "hardscape.benchmarks.replayed"
    revision: ClassVar[int] = 1

    count: int

    def digest(self) -> str:
        return ""

    def shards(self) -> Sequence[Shard]:
        return split(self.count, self.count)

    def joined(self) -> int:
        return self.count

    def run(self, shard: Shard, context: Context) -> ShardResult:
        raise NotImplementedError

    def merge(self, left: Partial, right: Partial) -> Partial:
        return {}


@dataclass
class Running:
    """A block that a worker has, and where and when it will end."""

    began: float
    block: Block
    future: Future[BlockResult]
    stop: int
    ends: float = 0.0


class Simulation(Pool):
    """Workers that take the recorded times, and `call` seconds a block; its own clock and queue of reports.

    The scheduler takes `scheduler` seconds a block, one block after the other.
    """

    def __init__(
        self, recording: Recording, workers: int, call: float, scheduler: float, kind: type[Pool]
    ):
        self.pace, self.asked = kind.pace, kind.asked  # type: ignore[misc]
        self._turn = kind.pace[0]
        if issubclass(kind, ExecutorPool):
            self._turn = kind.turn(workers)
        work = Replayed(recording.count)
        super().__init__(work, np.zeros(workers, dtype=np.uint8), self)  # type: ignore[arg-type]
        self.work = work
        self._recording = recording
        self._call = call
        self._scheduler = scheduler
        self._simulated: dict[int, Running] = {}
        self._ends: list[tuple[float, int]] = []
        self.now = 0.0
        self.blocks = 0

    def monotonic(self) -> float:
        return self.now

    @property
    def workers(self) -> int:
        return len(self._stops)

    @property
    def glance(self) -> float:
        return self.asked_after if self._free else float("inf")

    def _start(self, slot: int, block: Block, incumbent: Partial | None) -> Future[BlockResult]:
        future: Future[BlockResult] = Future()
        self.blocks += 1
        self.now += self._scheduler
        self._simulated[slot] = Running(self.now, block, future, block.stop)
        self._leave(slot, self._turn)
        return future

    def _leave(self, slot: int, seconds: float) -> None:
        """Have a block end with the shard that it works at after so many seconds."""
        one, at = self._simulated[slot], self._recording
        begin = at.until(one.block.start)
        one.stop = min(one.stop, max(one.block.start + 1, at.after(begin + max(0.0, seconds))))
        one.ends = max(self.now, one.began + self._call + at.until(one.stop) - begin)
        heapq.heappush(self._ends, (one.ends, slot))

    def ask(self) -> None:
        before = self._stops.copy()
        super().ask()
        for slot in np.flatnonzero(self._stops != before).tolist():
            self._leave(slot, self.now - self._simulated[slot].began - self._call)

    def _withdraw(self, future: Future[BlockResult]) -> None:
        raise NotImplementedError

    def put(self, report: Report) -> None:
        self._report = report

    def get(self, timeout: float | None) -> Report:
        """The next report, or Empty: time passes."""
        until = float("inf") if timeout is None else self.now + timeout
        while self._ends and self._ends[0][0] <= until:
            ended, slot = heapq.heappop(self._ends)
            self.now = max(self.now, ended)
            one = self._simulated.get(slot)
            if one is not None and one.ends == ended:  # else it ended earlier
                del self._simulated[slot]
                done = Block(one.block.start, one.stop)
                one.future.set_result(BlockResult(((done, {}),), ended - one.began))
                return self._report
        self.now = until
        raise Empty

    def close(self) -> None:
        pass


def simulated(
    recording: Recording, workers: int, call: float, scheduler: float, kind: type[Pool]
) -> tuple[float, int]:
    """Seconds until all is done, and the number of blocks."""
    pool = Simulation(recording, workers, call, scheduler, kind)
    with ExitStack() as stack:
        for module in (pools, runs):
            stack.enter_context(patch.object(module, "time", pool))
        signals = StopSignals(lambda: None)
        quiet: Any = (NoLedger(), signals, NullProgress(), float("inf"), None, None)
        runs._Run(pool.work, Cpu(), pool, pool, *quiet).outcome()  # type: ignore[arg-type]
    return pool.now, pool.blocks


@dataclass(frozen=True, order=True)
class Call:
    """Where the wall clock of a call goes, in seconds, and what it does."""

    seconds: float
    floors: float
    search: float
    processor: float  #: seconds of all threads of this process
    walked: int  #: blocks that no bound excluded

    @classmethod
    def of(cls, model: Ising, **options: Any) -> Call:
        """Make it."""
        spent = {"FloorsWork": 0.0, "BlockWork": 0.0}

        def timed(work: Work[Any], options: RunOptions) -> Any:
            began = time.perf_counter()
            outcome = runs.solve(work, options)
            name = type(work).__name__
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - began
            return outcome

        with ExitStack() as stack:
            for module in (tree, reduction):
                stack.enter_context(patch.object(module, "solve", timed))
            began, processor = time.perf_counter(), time.process_time()
            info = hardscape.spectrum(model, _STATES, **options).info
            taken, used = time.perf_counter() - began, time.process_time() - processor
        walked = int(info.get("blocks", 0) - info.get("pruned", 0))
        return cls(taken, spent["FloorsWork"], spent["BlockWork"], used, walked)

    @classmethod
    def best(cls, model: Ising, **options: Any) -> Call:
        """The quickest of three, or of as many as are begun within some seconds."""
        made: list[Call] = []
        while len(made) < 3 and sum(one.seconds for one in made) < _ENOUGH:
            made.append(cls.of(model, **options))
        return min(made)


def searched(spins: int, method: str) -> float:
    """Seconds of a search on one thread."""
    began = time.perf_counter()
    hardscape.spectrum(instance(spins), _STATES, device="cpu", threads=1, method=method, seed=1)
    return time.perf_counter() - began


def apart(spins: int, method: str, processes: int) -> float:
    """Searches in a second of so many processes, each of which searches everything."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        list(pool.map(searched, [40] * processes, [method] * processes))
        taken = list(pool.map(searched, [spins] * processes, [method] * processes))
    return sum(1 / seconds for seconds in taken)


def measured(spins: list[int], method: str, threads: list[int], save: Path | None) -> None:
    """Print a row for each number of threads, and of processes."""
    columns = ["N", "workers", "", "s", "floors", "search", "rest", "CPU s", "walked"]
    columns += ["efficiency beside one alone", "beside as many apart"]
    table = Table.begun("scaling", columns)
    for n in spins:
        model, alone = instance(n), 0.0
        for count in threads:
            rate = apart(n, method, count)
            table.add(n, count, "apart, a search", 1 / rate)
            for how in ("threads", "processes"):
                options: dict[str, Any] = {"device": "cpu", "method": method, "seed": 1}
                options["threads"] = count
                if how == "processes":
                    options["executor"] = f"processes:{count}"
                Call.of(instance(40), **options)
                made = Call.best(model, **options)
                alone = alone or made.seconds * count
                rest = made.seconds - made.floors - made.search
                spent = (made.seconds, made.floors, made.search, rest, made.processor, made.walked)
                efficiency = alone / made.seconds / count
                # The first number of workers stands for one alone.
                table.add(n, count, how, *spent, efficiency, 1 / made.seconds / rate)
                if save is not None:
                    table.save(save)


def main() -> None:
    """Print a row for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spins", type=int, nargs="+")
    parser.add_argument("--workers", default="1,10,100,1000")
    parser.add_argument("--call", type=float, default=5e-5, help="seconds that a block costs")
    parser.add_argument(
        "--scheduler", type=float, default=0.0, help="seconds of the scheduler a block"
    )
    parser.add_argument(
        "--executor", action="store_true", help="workers have the patience of those of an executor"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="as if all shards took so much longer"
    )
    parser.add_argument("--method", default="tree", help="of runs on threads")
    parser.add_argument("--threads", default="", help="run on so many threads, and processes")
    parser.add_argument("--save", type=Path, help="folder of the table of these")
    told = parser.parse_args()
    if told.threads:
        threads = [int(x) for x in told.threads.split(",")]
        measured(told.spins, told.method, threads, told.save)
        return
    for spins in told.spins:
        simulate(spins, told)


def simulate(spins: int, told: argparse.Namespace) -> None:
    """Print a row for each number of workers of the simulation."""
    kind = ExecutorPool if told.executor else LocalPool
    alone, floors, shared = recorded(spins)
    floors *= told.scale
    shared = [one.scaled(told.scale) for one in shared]
    whole = alone + floors + sum(one.whole for one in shared)
    print(
        f"N = {spins}: {whole:.3f} s, {alone:.3f} on one thread, {floors:.3f} floors, "
        f"{shared[-1].whole:.3f} the search"
    )
    for workers in map(int, told.workers.split(",")):
        parts = [simulated(one, workers, told.call, told.scheduler, kind) for one in shared]
        taken = alone + floors / workers + sum(seconds for seconds, _ in parts)
        last = shared[-1].whole / parts[-1][0] / workers
        print(
            f"{workers:6} {taken:9.4f} s  efficiency {whole / taken / workers:5.2f}, of the search alone "
            f"{last:5.2f}  {sum(blocks for _, blocks in parts)} blocks",
            flush=True,
        )


if __name__ == "__main__":
    main()
