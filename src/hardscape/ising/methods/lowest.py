"""What a method of `spectrum` is asked for, and what it answers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Partial
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs


@dataclass(frozen=True)
class Wanted:
    """The `count` lowest states of at most 64 spins, or those at most `window` exact units above the first."""

    terms: ExactTerms
    count: int
    window: int | None

    def word(self, value: int | None) -> NDArray[np.uint64] | None:
        """Two's complement words of one integer, or None."""
        return None if value is None else to_limbs([value], self.terms.limbs)[0]

    def limit(self, found: Partial | None, *known: int | None) -> int | None:
        """Tightest energy that no wanted state lies above: those known, and what `found` tells."""
        limits = [x for x in known if x is not None]
        if found is not None:
            energies = found["energies"]
            if len(energies) >= self.count:
                limits += from_limbs(energies[self.count - 1 : self.count])
            if self.window is not None and len(energies):
                limits.append(from_limbs(energies[:1])[0] + self.window)
        return min(limits, default=None)

    def cut(self, states: NDArray[np.uint64], energies: NDArray[np.uint64]) -> Partial:
        """What is wanted of states in spectral order."""
        count = min(len(states), self.count)
        if self.window is not None and count:
            top = from_limbs(energies[:1])[0] + self.window
            count = bisect_right(
                range(count), top, key=lambda i: from_limbs(energies[i : i + 1])[0]
            )
        return {"states": states[:count], "energies": energies[:count]}

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The lowest states of both; counters are added."""
        counters = left["counters"] + right["counters"]
        if not len(right["states"]):
            return {**left, "counters": counters}
        states, energies = native.vector.ising.merge_spectra(
            left["states"], left["energies"], right["states"], right["energies"], self.count
        )
        return {**self.cut(states, energies), "counters": counters}


@dataclass(frozen=True)
class Found:
    """The states that a method found, in spectral order."""

    states: NDArray[np.uint64]  #: bit i set: spin i is +1
    energies: NDArray[np.uint64]  #: exact, in two's complement words, shape (n, limbs)
    counters: Mapping[str, int]  #: what the method did, for people
