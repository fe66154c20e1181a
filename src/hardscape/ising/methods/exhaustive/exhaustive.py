"""Plain exhaustive search: every block is filtered, on CPU threads or GPUs.

Cost: 2**N states at some 1e10 a second and core, 1e13 a second and GPU; 2**(N-1) without fields.
"""

from __future__ import annotations

from typing import ClassVar

from hardscape.engine import RunOptions
from hardscape.ising.methods.exhaustive.blocks import Walk
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.ising.methods.lowest import LowestMethod, LowestWork, Wanted

__all__ = ["WALK", "Exhaustive"]

WALK = Walk(prune=False, mid=10, most_chunks=None)


class Exhaustive(LowestMethod):
    """Every state is visited."""

    name: ClassVar[str] = "exhaustive"

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It is never refused."""
        return ""

    def work(self, wanted: Wanted, options: RunOptions) -> LowestWork:
        """Chunks of states."""
        work = BlockWork.around_low_state(wanted, WALK, options)
        return work if work.search.tiny else work.with_hints()
