"""What a shard costs beside its work.

``python -m hardscape.benchmarks.overhead [--save FOLDER]``.

Processor time of the client, a scheduler of its own in it, and of two workers beyond the work, of hardscape and
of a bare map of the same executor by turns: waiting for others who use the machine does not lengthen it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import cyclopts
import distributed
import numpy as np

from hardscape.benchmarks.tables import Table
from hardscape.engine import Context, Partial, RunOptions, Shard, ShardResult, Work, solve, split

app = cyclopts.App(help=__doc__, result_action="return_value")
#: Shards, the processor's seconds that each takes, and turns.
SHARDS, SECONDS, TURNS = 600, 0.005, 3


def burn(_: int) -> None:
    """Take the processor's time."""
    began = time.thread_time()
    while time.thread_time() - began < SECONDS:
        pass


@dataclass(frozen=True)
class Burning(Work[Partial]):
    """Shards of one unit each that only take time."""

    count: int

    name: ClassVar[str] = "hardscape.benchmarks.overhead"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "shards"

    def digest(self) -> str:
        """Of how many there are."""
        return str(self.count)

    def shards(self) -> Sequence[Shard]:
        """A unit each."""
        return split(self.count, self.count)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take the time of a shard."""
        for i in range(shard.start, shard.stop):
            burn(i)
        return ShardResult({"done": np.array([shard.stop - shard.start])})

    def merge(self, left: Partial, right: Partial) -> Partial:
        """How many are done."""
        return {"done": left["done"] + right["done"]}


def spent(pids: Iterable[int]) -> float:
    """The processor's seconds of processes so far."""
    fields = [Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split() for p in pids]
    return sum(int(f[11]) + int(f[12]) for f in fields) / os.sysconf("SC_CLK_TCK")


def compare(found: Table, name: str, executor: Any, pids: list[int], bare: Any) -> None:
    """Rows of an executor."""

    def ours(count: int = SHARDS) -> None:
        solve(Burning(count), RunOptions.checked(device="cpu", seed=1, executor=executor))

    ways: dict[str, Callable[[], object]] = {"bare map": bare, "hardscape": ours}
    ours(8)
    bare()
    beyond: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(TURNS):
        for way, call in ways.items():
            began, here = spent(pids), time.process_time()
            call()
            client = time.process_time() - here
            workers = spent(pids) - began - SHARDS * SECONDS
            beyond[way].append((client / SHARDS * 1e3, workers / SHARDS * 1e3))
    for way, times in beyond.items():
        client, worker = (sorted(column)[TURNS // 2] for column in zip(*times, strict=True))
        found.add(f"{name}, {way}", *(round(x, 3) for x in (client, worker, client + worker)))


@app.default
def main(*, save: Path | None = None) -> None:
    """A pool of processes, and Dask.

    Parameters
    ----------
    save
        A folder that gets the table as JSON.
    """
    columns = ["600 shards of 5 ms, 2 workers", "client, ms", "workers, ms", "a shard, ms"]
    found = Table.begun("overhead", columns, "hardscape", "distributed")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(burn, range(50)))
        pids = list(pool._processes)
        compare(found, "process pool", pool, pids, lambda: list(pool.map(burn, range(SHARDS))))
    with (
        distributed.LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as all_,
        distributed.Client(all_) as client,  # type: ignore[no-untyped-call]
    ):
        compare(
            found,
            "Dask",
            client,
            list(client.run(os.getpid).values()),
            lambda: client.gather(client.map(burn, range(SHARDS), pure=False)),
        )
    if save:
        found.save(save)


if __name__ == "__main__":
    app()
