"""What searches have in common that fix one spin after another and cut by bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hardscape.engine import Device, Shard, split
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.lowest import LowestWork


@dataclass(frozen=True)
class BranchingWork(LowestWork):
    """The values of the first spins, in the order in which spins are fixed, are the shards."""

    unit: ClassVar[str] = "states"
    #: Spins whose values number the shards, at most.
    most_places: ClassVar[int]

    asked: Wanted
    gauge: int = 0  #: a low state, which is searched first

    @property
    def wanted(self) -> Wanted:
        """What is asked for."""
        return self.asked

    @property
    def free(self) -> int:
        """Number of spins that are searched."""
        return self.asked.terms.num_spins - self.asked.terms.symmetric

    @property
    def places(self) -> int:
        """Spins whose values number the shards."""
        return min(self.most_places, self.free)

    def shards(self) -> Sequence[Shard]:
        """One for each value of the first spins."""
        return split(1 << self.free, 1 << self.places)

    def joined(self) -> int:
        """All: most are never met."""
        return 1 << self.places

    def brief(self, device: Device) -> bool:
        """It takes longer than a moment."""
        return False
