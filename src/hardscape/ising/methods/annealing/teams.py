"""Annealing on a GPU: lists of neighbours, and spins in the shared memory of a warp."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.ising.methods.walkers.batch import Teams
from hardscape.ising.methods.walkers.model import FlipModel

#: Bytes of shared memory of a block at most, and up to which there are four or two runs in it.
_SHARED, _SHARED_BY_MANY = 220 * 1024, 110 * 1024
#: Spins of a warp's word.
_WORD = 1024


class AnnealingTeams(Teams):
    """Teams of one warp."""

    source: ClassVar[str] = "ising/methods/annealing/annealing.cu"
    name: ClassVar[str] = "annealing"
    purpose: ClassVar[int] = 5
    warps = 1

    def __init__(self, model: FlipModel) -> None:
        super().__init__(model)
        self.words = -(-self.spins // _WORD)
        self.slots = max(2, -(-self.spins // 32))
        row = np.repeat(np.arange(self.spins), np.diff(model.starts))
        most = np.abs(model.fields) + np.bincount(row, np.abs(model.values), minlength=self.spins)
        self.bytes = 8 if self.real else 2 if most.max() < 2**15 else 4

    @staticmethod
    def most_spins(real: bool) -> int:
        """Spins that shared memory holds, however large the gains."""
        return _SHARED // (9 if real else 5) // _WORD * _WORD

    @property
    def _own(self) -> int:
        return -(-self.spins // 32) * 32 * self.bytes + 256 * self.words

    @property
    def together(self) -> int:
        """See `Teams.together`."""
        return max(1, min(4, _SHARED_BY_MANY // self._own))

    @property
    def shared(self) -> int:
        """See `Teams.shared`."""
        return self.together * self._own

    @property
    def couplings_bytes(self) -> int:
        """See `Teams.couplings_bytes`."""
        return 16 * len(self.model.values) + 8 * self.spins

    def couplings(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.uint64]]:
        """See `Teams.couplings`: neighbours, one behind the other."""
        model = self.model
        near, twice = np.append(model.columns, 0), np.append(2 * model.values, 0)
        ends = np.stack([model.starts[:-1], model.starts[1:]], axis=1).astype("<u4")
        if self.packed:
            near = near | twice.astype(np.int64) << 16
        return near.astype("<i4"), twice.astype(self.number), ends.view("<u8").ravel()

    @property
    def packed(self) -> bool:
        """Whether a neighbour and twice the coupling to it are one word."""
        short = np.abs(self.model.values).max(initial=0) < 2**14
        return not self.real and self.spins <= 2**16 and bool(short)

    def bits(self, states: NDArray[np.int8]) -> NDArray[np.uint32]:
        """See `Teams.bits`."""
        octets = np.zeros((len(states), 4 * self.words * self.threads), dtype=np.uint8)
        up = np.packbits(states > 0, axis=1, bitorder="little")
        octets[:, : up.shape[1]] = up
        return octets.view("<u4").astype(np.uint32).reshape(-1, self.words, self.threads)

    def states(self, bits: NDArray[np.uint32]) -> NDArray[np.int8]:
        """See `Teams.states`."""
        octets = np.ascontiguousarray(bits, dtype="<u4").reshape(-1, self.words * self.threads)
        up = np.unpackbits(octets.view(np.uint8), axis=1, count=self.spins, bitorder="little")
        return up.astype(np.int8) * np.int8(2) - np.int8(1)

    def constants(self) -> dict[str, bool | int | float]:
        """See `Teams.constants`."""
        return {**super().constants(), "kWords": self.words, "kPacked": self.packed}
