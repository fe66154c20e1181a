"""What runs rounds of one plan on CUDA: its sweep as code, or, where that does not fit, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from hardscape.engine import Kernel, cuda_device
from hardscape.errors import InputError
from hardscape.xorsat.methods.quasi_greedy.cuda.tabled import MOST_CLAUSES, Tabled
from hardscape.xorsat.methods.quasi_greedy.cuda.unrolled import Unrolled
from hardscape.xorsat.methods.quasi_greedy.plan import Plan

Code: TypeAlias = Unrolled | Tabled


@dataclass(frozen=True, eq=False)
class CudaClones:
    """The kernel of one plan."""

    code: Code

    @staticmethod
    @lru_cache(maxsize=16)  # many runs of one plan differ in the seed alone
    def build(plan: Plan, *, exact: bool) -> CudaClones:
        """Choose the kernel, or recall it; `exact` looks for solutions only."""
        unrolled = Unrolled(plan, count=not exact)
        if unrolled.fits:
            return CudaClones(unrolled)
        if plan.system.num_clauses > MOST_CLAUSES:
            raise InputError(
                f"{plan.system.num_clauses} clauses; a GPU takes {MOST_CLAUSES} at most, and "
                "device='cpu' any number"
            )
        return CudaClones(Tabled(plan, count=not exact))

    @property
    def kernel(self) -> Kernel:
        """The kernel as data."""
        return self.code.kernel

    def groups_at_once(self, ordinal: int) -> int:
        """Groups of 1024 clones that a GPU holds."""
        with cuda_device(ordinal) as device:
            words = device.multiprocessors * self.code.resident * self.code.threads
        return max(1, min(words, self.code.most_words) // 32)
