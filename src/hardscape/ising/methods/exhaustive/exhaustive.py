"""Plain exhaustive search: every block is filtered, on CPU threads or GPUs.

Cost: 2**N states at some 1e10 a second and core, 1e13 a second and GPU; 2**(N-1) without fields.
"""

from __future__ import annotations

from typing import ClassVar

from hardscape.ising.methods.exhaustive.blocks import Walk
from hardscape.ising.methods.exhaustive.work import LowestMethod


class Exhaustive(LowestMethod):
    """Every state is visited."""

    name: ClassVar[str] = "exhaustive"
    walk: ClassVar[Walk] = Walk(prune=False, mid=10, most_chunks=None)

    def refusal(self, prune: bool) -> str:
        """It is never refused."""
        return ""
