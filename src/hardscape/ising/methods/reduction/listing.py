"""Lists of low states of parts, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.exhaustive.blocks import Found
from hardscape.ising.methods.reduction.steps import Place
from hardscape.ising.result import code_words, pack, unpack

#: Bits of energies that are held in one word.
_WORD_BITS = 60


def integers(bound: int) -> np.dtype[Any]:
    """What holds integers of this size."""
    return np.dtype(np.int64 if bound.bit_length() <= _WORD_BITS else object)


@dataclass(frozen=True)
class Listing:
    """Low states of some spins, in order of energy and code."""

    least: int  #: energy of the first
    excess: NDArray[Any]  #: how far the others are above it, int64 or object
    codes: NDArray[np.uint64]  #: by position, bits of other spins 0; shape (m, words)

    @classmethod
    def of(
        cls,
        found: Found,
        part: Sequence[Place],
        num_spins: int,
        shift: int,
        kind: np.dtype[Any],
    ) -> Self:
        """What was found of a part whose energies are shorter by so many bits."""
        bits = unpack(found.states, len(part))
        spins = np.full((len(bits), num_spins), -1, dtype=np.int8)
        spins[:, [place.position for place in part]] = bits
        energies = [x << shift for x in from_limbs(found.energies)]
        least = energies[0] if energies else 0
        excess = np.array([x - least for x in energies], dtype=kind)
        return cls(least, excess, pack(spins))

    @classmethod
    def empty(cls, num_spins: int, kind: np.dtype[Any]) -> Self:
        """The one state of no spins."""
        return cls(
            0, np.zeros(1, dtype=kind), np.zeros((1, code_words(num_spins)), dtype=np.uint64)
        )

    def __len__(self) -> int:
        return len(self.excess)

    def with_(self, other: Listing, count: int, limit: int | None) -> Listing:
        """The `count` lowest states of both together, none further above the lowest than `limit`."""
        # Where i states of one and j of the other are not behind, as many pairs as i * j are not.
        most = count // (1 + np.arange(len(self)))
        if limit is not None:
            within = np.searchsorted(other.excess, limit - self.excess, side="right")
            most = np.minimum(most, within)
        most = np.minimum(most, len(other))
        first = np.repeat(np.arange(len(self)), most)
        second = np.arange(len(first)) - np.repeat(np.cumsum(most) - most, most)
        excess = self.excess[first] + other.excess[second]
        if len(excess) > count:
            kept = (excess <= np.sort(excess)[count - 1]).astype(bool)
            first, second, excess = first[kept], second[kept], excess[kept]
        codes = self.codes[first] | other.codes[second]
        ranks = np.unique(excess, return_inverse=True)[1]
        order = np.lexsort((*codes.T, ranks))[:count]
        return Listing(self.least + other.least, excess[order], codes[order])

    def states(self, places: Sequence[Place], num_spins: int) -> NDArray[np.int8]:
        """Spins -1 and +1 of all, int8 of shape (m, num_spins); of those without a place -1."""
        bits = unpack(self.codes, num_spins)
        spins = np.full(bits.shape, -1, dtype=np.int8)
        for place in places:
            spins[:, place.spin] = place.up * bits[:, place.position]
        return spins
