"""The sweep of one instance as tables that a kernel reads: any number of clauses, and one kernel for a size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Kernel, kernel
from hardscape.xorsat.methods.quasi_greedy.plan import CERTAIN, Plan

#: Most clauses: their number has 16 bits in the best key.
MOST_CLAUSES = 1 << 16
#: Threads of a block, and blocks that a multiprocessor is given: 8 warps, all waiting for memory.
_THREADS, _BLOCKS = 128, 2
#: Most bytes of clause words and spins, so that one GPU holds them.
_MOST_BYTES = 8 << 30


@dataclass(frozen=True)
class Tabled:
    """Tables of the kernel for one plan."""

    plan: Plan
    count: bool = False  # violated clauses at every look; else only whether there are any

    threads = _THREADS
    shared_bytes = 0
    #: Blocks that a multiprocessor is given.
    resident = _BLOCKS
    #: Spin updates of a launch, so that a stop is noticed within a fraction of a second.
    launch_updates = 5e11

    @property
    def state_rows(self) -> int:
        """Clause words of 32 clones."""
        return self.plan.system.num_clauses

    @property
    def scratch_rows(self) -> int:
        """Spin words of 32 clones in device memory."""
        return self.plan.system.num_variables

    @property
    def most_words(self) -> int:
        """Most words of 32 clones of a round."""
        return _MOST_BYTES // (4 * max(1, self.state_rows + self.scratch_rows))

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel as data: sizes are constants, the instance is not."""
        plan = self.plan
        constants = {
            "kVariables": plan.system.num_variables,
            "kClauses": plan.system.num_clauses,
            "kUpdates": plan.updates,
            "kThreads": _THREADS,
            "kCoinWords": -(-plan.updates // 8),
            "kLevels": len(plan.thresholds) + 1,
            "kMajority": plan.majority and len(plan.thresholds) == 1,
            "kFineCoins": plan.fine,
            "kDegreeDigits": max(plan.tables, default=1).bit_length(),
            "kClauseDigits": max(plan.system.num_clauses, 1).bit_length(),
            "kCount": self.count,
        }
        path = "xorsat/methods/quasi_greedy/cuda/tables.cu"
        return kernel(path, "xorsat_tables", constants=constants)

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernel reads, in the order of its arguments."""
        plan, system = self.plan, self.plan.system
        levels = len(plan.thresholds) + 1
        degrees = sorted(plan.tables)
        starts, ranges = [0], []
        for degree in degrees:
            for level in range(levels):
                ranges += self._ranges(plan.tables[degree], level)
                starts.append(len(ranges))
        row = np.searchsorted(degrees, np.diff(plan.starts)) * levels
        return (
            plan.starts.astype(np.uint32),
            plan.touched.astype(np.uint32),
            row.astype(np.uint32),
            np.array(starts, dtype=np.uint32),
            np.array(ranges, dtype=np.uint32).reshape(-1, 2),
            np.array(plan.thresholds, dtype=np.uint64),
            system.offsets.astype(np.uint32),
            system.variables.astype(np.uint32),
            np.where(system.parity, np.uint32(0xFFFFFFFF), np.uint32(0)),
        )

    def _ranges(self, table: NDArray[np.uint64], level: int) -> list[tuple[int, int]]:
        """The numbers first <= k < last that flip with a coin that reaches `level` thresholds."""
        above = (*self.plan.thresholds, CERTAIN)[level:]
        flips = np.isin(table, np.array(above, dtype=np.uint64))
        edges = np.flatnonzero(np.diff(np.concatenate([[False], flips, [False]])))
        return [(first, last) for first, last in edges.reshape(-1, 2).tolist()]

    def arguments(self) -> tuple[Any, ...]:
        """The tables on the device of the moment."""
        import cupy

        # An empty array has no address.
        return tuple(cupy.asarray(x if x.size else np.zeros(2, x.dtype)) for x in self.arrays)
