"""Rounds of clones as work for the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hardscape.engine import Context, Cpu, Cuda, Device, Partial, Shard, ShardResult, Work, split
from hardscape.xorsat.methods.quasi_greedy.cpu import CpuSide
from hardscape.xorsat.methods.quasi_greedy.cuda import CudaSide
from hardscape.xorsat.methods.quasi_greedy.improvements import Watch
from hardscape.xorsat.methods.quasi_greedy.rounds import GROUP, Best, Rounds, Side, Tell
from hardscape.xorsat.result import QuasiGreedyResult

#: What runs rounds, by type of device.
SIDES: Mapping[type[Device], Side] = {Cpu: CpuSide(), Cuda: CudaSide()}


@dataclass(frozen=True)
class QuasiGreedyWork(Work[QuasiGreedyResult]):
    """Rounds of clones until one succeeds, a shard each.

    A partial holds ``improvements`` (int64, shape (n, 4): rows of `Best`, each with fewer violated
    clauses than the ones before, so that the last is the answer) and ``group_sweeps`` (uint64, shape
    (1,)). The watch is told of improvements at once, in this process.
    """

    name = "xorsat.quasi_greedy"
    revision = 1
    here = ("watch",)
    unit = "rounds"

    rounds: Rounds
    watch: Watch | None = field(default=None, repr=False, compare=False)

    def digest(self) -> str:
        """Hash of the dynamics, the seed and the schedule."""
        r = self.rounds
        schedule = (r.seed, r.groups, r.restart, r.target, r.max_sweeps, r.exact)
        return hashlib.sha256((r.plan.digest + repr(schedule)).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One round each."""
        rounds = -(-self.rounds.max_sweeps // self.rounds.restart)
        return split(rounds, max(rounds, 1))

    def brief(self, device: Device) -> bool:
        """Whether a round is."""
        return SIDES[type(device)].brief(self.rounds)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Run one round."""
        side = SIDES[type(context.device)]
        result = side.run(self.rounds, shard.start, context, self._tell(shard.start))
        rows = np.array(result.improvements, dtype=np.int64).reshape(-1, 4)
        counted = np.array([result.group_sweeps], dtype=np.uint64)
        return ShardResult({"improvements": rows, "group_sweeps": counted}, result.complete)

    def _tell(self, number: int) -> Tell:
        """What round `number` tells of; the improvement at the target ends the search, and is only
        counted exactly then.
        """
        if self.watch is None:
            return None
        watch, before, target = self.watch, number * self.rounds.restart, self.rounds.target

        def tell(violated: int, sweep: int) -> None:
            if violated > target:
                watch.offer(violated, before + sweep)

        return tell

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The improvements of `left`, then what is better still; ties go to the earlier round."""
        known, later = left["improvements"], right["improvements"]
        bound = known[-1, 0] if len(known) else np.iinfo(np.int64).max
        return {
            "improvements": np.concatenate([known, later[later[:, 0] < bound]]),
            "group_sweeps": left["group_sweeps"] + right["group_sweeps"],
        }

    def finished(self, partial: Partial) -> bool:
        """Whether the target is reached."""
        rows = partial["improvements"]
        return bool(len(rows)) and int(rows[-1, 0]) <= self.rounds.target

    def nothing(self) -> Partial:
        """The partial of no round."""
        return {"improvements": np.zeros((0, 4), np.int64), "group_sweeps": np.zeros(1, np.uint64)}

    def result(self, partial: Partial) -> QuasiGreedyResult:
        """The best clone, run again; where there was no look, the first one's initial spins."""
        rounds = self.rounds
        steps = [Best(*row) for row in partial["improvements"].tolist()]
        best = steps[-1] if steps else Best(-1, 0, 0, 0)
        assignment = rounds.assignment(best)
        violated = int(rounds.plan.system.violated(assignment))
        earlier = [(step.violated, rounds.sweeps_until(step)) for step in steps[:-1]]
        return QuasiGreedyResult(
            assignment=assignment,
            violated=violated,
            reached=violated <= rounds.target,
            sweeps=rounds.sweeps_until(best),
            clones=rounds.groups * GROUP,
            restart=rounds.restart,
            spin_updates=int(partial["group_sweeps"][0]) * GROUP * rounds.plan.updates,
            # The last may be better than the target that it is counted as.
            improvements=(*earlier, (violated, rounds.sweeps_until(best))) if steps else (),
            seed=rounds.seed,
        )
