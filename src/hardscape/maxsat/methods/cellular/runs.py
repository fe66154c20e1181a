"""Independent runs of the algorithm as work for the engine: a run a CPU thread, many a GPU."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hardscape import native
from hardscape.engine import Context, Partial, Shard, ShardResult, Work, split
from hardscape.maxsat.methods.cellular.generation import CellularKernel, Generation, breed
from hardscape.maxsat.methods.cellular.run import CellularRun, Offer, best_individual

if TYPE_CHECKING:
    from hardscape.maxsat.methods.cellular.cuda import CudaRuns

__all__ = ["CellularRuns"]


@dataclass(frozen=True, eq=False)
class CellularRuns(Work[Partial]):
    """Runs of one formula that differ in nothing but their seeds.

    A partial holds, run by run, the best individual's ``bits`` (uint64, shape (runs, words)) and
    ``costs`` (int64, shape (runs, 2): violated hard clauses, weight of violated soft clauses), its
    ``generations`` (int64), and all histories one after the other: ``history`` (int64, shape
    (sum of generations + 1, 3): cost and passes).

    Attributes
    ----------
    kernel : CellularKernel
    seed : int
        From which each run's seed is derived.
    count : int
        Runs.
    target : tuple of int
        Cost that ends a run.
    stop_at_target : bool
        Whether the first run that reaches the target is the last one.
    together : int
        Runs of a shard.
    offer : callable or None
        Told of what runs find meanwhile, in this process.
    """

    name = "maxsat.cellular"
    unit = "runs"

    kernel: CellularKernel
    seed: int
    count: int
    target: tuple[int, int]
    stop_at_target: bool
    together: int
    offer: Offer | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process."""
        state = {key: value for key, value in self.__dict__.items() if key != "cuda"}
        return {**state, "offer": None}

    def digest(self) -> str:
        """Hash of the formula, the options, the seed and the target."""
        told = (self.kernel.options, self.seed, self.count, self.target, self.together)
        return hashlib.sha256((self.kernel.formula.digest() + repr(told)).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """Ranges of runs."""
        return split(self.count, -(-self.count // self.together))

    def run_seed(self, run: int) -> int:
        """Seed of one run."""
        return int(native.vector.maxsat.cellular_seed(self.seed, run))

    @cached_property
    def cuda(self) -> CudaRuns:
        """The same on a GPU."""
        from hardscape.maxsat.methods.cellular.cuda import CudaRuns

        return CudaRuns(self)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Do the runs of a shard."""
        if context.device.kind == "cuda":
            return self.cuda.run(shard, context)
        found: Partial | None = None
        for number in range(shard.start, shard.stop):
            one = self._run_on_cpu(self.run_seed(number), context)
            found = one if found is None else self.merge(found, one)
            if context.stop[0]:
                return ShardResult(found, complete=False)
        assert found is not None  # no shard is empty
        return ShardResult(found)

    def _run_on_cpu(self, seed: int, context: Context) -> Partial:
        kernel = self.kernel
        everyone = (0, kernel.options.islands)
        first = Generation(kernel, seed, 0, 0, None, kernel.room(), 1)
        if breed(first, everyone, context.stop) is None:
            return self.no_runs()
        run = CellularRun(seed, kernel.options.rules(self.target), first.children)
        run.report(self.offer)
        while not run.done:
            number, parents = run.generations + 1, run.population
            step = Generation(kernel, seed, number, run.passes, parents, run.room, 1)
            unfinished = breed(step, everyone, context.stop)
            if unfinished is None:
                run.keep_best(step.children)
                break
            run.take(step.children, unfinished)
            run.report(self.offer)
        return run.partial()

    def no_runs(self) -> Partial:
        """A partial of no runs at all, where there was no time for a first population."""
        words = -(-self.kernel.formula.num_variables // 64)
        return {
            "bits": np.empty((0, words), dtype=np.uint64),
            "costs": np.empty((0, 2), dtype=np.int64),
            "generations": np.empty(0, dtype=np.int64),
            "history": np.empty((0, 3), dtype=np.int64),
        }

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Runs of both, in order."""
        return {key: np.concatenate([left[key], right[key]]) for key in left}

    def finished(self, partial: Partial) -> bool:
        """Whether a run reached the target, if that is enough."""
        if not self.stop_at_target:
            return False
        best = partial["costs"][best_individual(partial["costs"])]
        return tuple(best.tolist()) <= self.target
