"""Independent runs of the algorithm as work for the engine: a run a CPU thread, many a GPU."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hardscape import native
from hardscape.engine import (
    Context,
    Cpu,
    Cuda,
    Device,
    Partial,
    Shard,
    ShardResult,
    Work,
    split,
    team,
)
from hardscape.maxsat.methods.cellular.cuda import CudaRuns
from hardscape.maxsat.methods.cellular.generation import CellularKernel
from hardscape.maxsat.methods.cellular.run import CellularRun, Offer, best_individual, no_runs

#: Literals visited by a shard that is over in milliseconds, and generations of a run for each of patience.
_BRIEF, _PATIENT = 2 * 10**7, 10


@dataclass(frozen=True, eq=False)
class CellularRuns(Work[Partial]):
    """Runs of one formula that differ in nothing but their seeds.

    A partial holds, run by run, the best individual's ``bits`` (uint64, shape (runs, words)) and
    ``costs`` (int64, shape (runs, 2): violated hard clauses, weight of violated soft clauses), its
    ``generations`` (int64), and all histories one after the other: ``history`` (int64, shape
    (sum of generations + 1, 3): cost and passes).
    """

    name = "maxsat.cellular"
    revision = 1
    here = ("cuda", "offer")
    unit = "runs"

    kernel: CellularKernel
    seed: int  # from which each run's seed is derived
    count: int  # runs
    target: tuple[int, int]  # cost that ends a run
    stop_at_target: bool  # whether the first run that reaches the target is the last one
    together: int  # runs of a shard
    #: Told of what runs find meanwhile, in this process.
    offer: Offer | None = field(default=None, repr=False)

    def digest(self) -> str:
        """Hash of the formula, the options, the seed and the target."""
        told = (self.kernel.options, self.seed, self.count, self.target)
        return hashlib.sha256((self.kernel.formula.digest + repr(told)).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """Ranges of runs."""
        return split(self.count, -(-self.count // self.together))

    def run_seed(self, run: int) -> int:
        """Seed of one run."""
        return native.vector.maxsat.cellular_seed(self.seed, run)

    def alone(self) -> CellularRun:
        """The first run as a chain, whose generations threads may share."""
        return CellularRun(self.kernel, self.run_seed(0), self.target, self.offer)

    @cached_property
    def cuda(self) -> CudaRuns:
        """The same on GPUs."""
        return CudaRuns(self.kernel, self.target, self.offer)

    def brief(self, device: Device) -> bool:
        """Whether the runs of a shard on a CPU thread are over at once."""
        options = self.kernel.options
        generations = options.max_generations or _PATIENT * options.patience
        visits = generations * options.individuals * self.together * max(1, options.passes)
        nnz = len(self.kernel.formula.literals)
        return isinstance(device, Cpu) and not options.walk_flips and visits * nnz <= _BRIEF

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Do the runs of a shard."""
        seeds = [self.run_seed(number) for number in range(shard.start, shard.stop)]
        if isinstance(context.device, Cuda):
            return self.cuda.run(seeds, context)
        found = no_runs(self.kernel)
        with team(1, context.stop) as alone:
            for seed in seeds:
                one = CellularRun(self.kernel, seed, self.target, self.offer)
                one.advance(one.total, alone)
                found = self.merge(found, one.result())
                if context.stopped():
                    return ShardResult(found, complete=False)
        return ShardResult(found)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Runs of both, in order."""
        return {key: np.concatenate([left[key], right[key]]) for key in left}

    def finished(self, partial: Partial) -> bool:
        """Whether a run reached the target, if that is enough."""
        if not self.stop_at_target:
            return False
        best = partial["costs"][best_individual(partial["costs"])]
        return tuple(best.tolist()) <= self.target
