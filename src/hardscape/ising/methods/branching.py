"""What searches have in common that fix one spin after another and cut by bounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Device, Partial, Shard, split
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.lowest import LowestWork

#: Most spins whose values number the parts of an estimate.
_PART_BITS = 16


@dataclass(frozen=True)
class BranchingWork(LowestWork):
    """The values of the first spins, in the order in which spins are fixed, are the shards."""

    unit: ClassVar[str] = "states"
    #: Spins whose values number the shards, at most.
    most_places: ClassVar[int]
    #: Share of a search below a node that lies below its first child, which is nearer to a low state.
    first_share: ClassVar[float] = 0.7

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

    @property
    @abstractmethod
    def widths(self) -> tuple[int, int]:
        """Words of an energy and of a state in the compiled search."""

    def shared(self) -> NDArray[np.uint64] | None:
        """The lowest states that are known."""
        known, (limbs, words) = self.known or self.nothing(), self.widths
        energies, states = known["energies"], known["states"]
        sign = np.where(energies[:, -1:].view(np.int64) < 0, ~np.uint64(0), np.uint64(0))
        energies = np.hstack([energies, np.repeat(sign, limbs - energies.shape[1], axis=1)])
        states = np.pad(states, ((0, 0), (0, words - states.shape[1])))
        return self.asked.board({"energies": energies, "states": states})

    def shards(self) -> Sequence[Shard]:
        """One for each value of the first spins."""
        return split(1 << self.free, 1 << self.places)

    def expected(self, device: Device, incumbent: Partial | None) -> NDArray[np.float64] | None:
        """Each part as often as a random path comes there that goes on with first children as `probe` does.

        What is done weighs as much as the paths that it holds (P. Kilby, J. Slaney, S. Thiebaux, T. Walsh,
        AAAI 2006, 1014).
        """
        parts: NDArray[np.float64] = np.ones(1)
        for _ in range(min(self.places, _PART_BITS)):
            parts = np.concatenate([self.first_share * parts, (1 - self.first_share) * parts])
        return parts

    def joined(self) -> int:
        """All: most are never met."""
        return 1 << self.places

    def brief(self, device: Device) -> bool:
        """It takes longer than a moment."""
        return False
