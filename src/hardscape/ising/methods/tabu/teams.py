"""Tabu search on a GPU: rows of a matrix, and spins in the registers of a team."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.ising.methods.walkers.batch import Teams
from hardscape.ising.methods.walkers.model import FlipModel

#: Quads of spins that a thread holds, at most, as integers and as doubles; warps of a team, at most.
_QUADS, _REAL_QUADS, _WARPS = 8, 4, 16
#: Spins of a quad a thread in a warp.
_QUAD = 4 * 32


class TabuTeams(Teams):
    """Teams of as few warps as hold the spins."""

    source: ClassVar[str] = "ising/methods/tabu/tabu.cu"
    name: ClassVar[str] = "tabu"
    purpose: ClassVar[int] = 2
    words = 1

    def __init__(self, model: FlipModel) -> None:
        super().__init__(model)
        most = _REAL_QUADS if self.real else _QUADS
        self.warps = 1
        while self.spins > _QUAD * most * self.warps:
            self.warps *= 2
        self.quads = -(-self.spins // (_QUAD * self.warps))
        self.slots = 4 * self.quads
        largest = np.abs(model.values).max(initial=0)
        self.bytes = 8 if self.real else 1 if largest < 128 else 2 if largest < 2**15 else 4

    @staticmethod
    def most_spins(real: bool) -> int:
        """Spins that a team can hold."""
        return _QUAD * _WARPS * (_REAL_QUADS if real else _QUADS)

    @property
    def places(self) -> int:
        """Spins and places that are left over."""
        return self.threads * self.slots

    @property
    def couplings_bytes(self) -> int:
        """See `Teams.couplings_bytes`."""
        return self.spins * self.places * self.bytes

    def couplings(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.uint64]]:
        """See `Teams.couplings`: a matrix, whose rows are filled up; and what hashes are made of."""
        model, n = self.model, self.spins
        kind = "<f8" if self.real else f"<i{self.bytes}"
        matrix = np.zeros((n, self.places), dtype=kind)
        matrix[np.repeat(np.arange(n), np.diff(model.starts)), model.columns] = model.values
        return matrix, np.zeros(1, dtype=self.number), mix64(np.arange(1, n + 1, dtype=np.uint64))

    def bits(self, states: NDArray[np.int8]) -> NDArray[np.uint32]:
        """See `Teams.bits`."""
        up = np.zeros((len(states), self.places), dtype=np.uint32)
        up[:, : self.spins] = states > 0
        slots = up.reshape(-1, self.quads, self.threads, 4).transpose(0, 2, 1, 3)
        shifts = np.arange(self.slots, dtype=np.uint32)
        found: NDArray[np.uint32] = np.bitwise_or.reduce(
            slots.reshape(-1, self.threads, self.slots) << shifts, axis=2
        )
        return found.reshape(-1, 1, self.threads)

    def states(self, bits: NDArray[np.uint32]) -> NDArray[np.int8]:
        """See `Teams.states`."""
        shifts = np.arange(self.slots, dtype=np.uint32)
        slots = bits.reshape(-1, self.threads, 1) >> shifts & np.uint32(1)
        up = slots.reshape(-1, self.threads, self.quads, 4).transpose(0, 2, 1, 3)
        return (up.reshape(-1, self.places)[:, : self.spins] * 2).astype(np.int8) - np.int8(1)

    def constants(self) -> dict[str, bool | int | float]:
        """See `Teams.constants`."""
        return {**super().constants(), "kQuads": self.quads}


def mix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The function of native/random.hpp."""
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)
