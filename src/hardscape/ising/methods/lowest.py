"""What a method of `spectrum` is asked for, what it answers, and what it must provide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Device, Partial, RunOptions, Work
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs

__all__ = ["Found", "LowestMethod", "LowestWork", "Wanted"]


@dataclass(frozen=True)
class Wanted:
    """The `count` lowest states of a model of at most 64 spins, or those of them within a window.

    Attributes
    ----------
    terms : ExactTerms
    count : int
    window : int or None
        Exact units above the ground state.
    """

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
            count = min(count, _count_up_to(energies, top))
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


def _count_up_to(energies: NDArray[np.uint64], top: int) -> int:
    """Number of sorted exact energies at or below `top`."""
    low, high = 0, len(energies)
    while low < high:
        middle = (low + high) // 2
        if from_limbs(energies[middle : middle + 1])[0] <= top:
            low = middle + 1
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Found:
    """The states that a method found, in spectral order.

    Attributes
    ----------
    states : uint64, shape (n,)
        Bit i set: spin i is +1.
    energies : uint64, shape (n, limbs)
        Exact energies in two's complement words.
    counters : mapping
        What the method did, for people.
    """

    states: NDArray[np.uint64]
    energies: NDArray[np.uint64]
    counters: Mapping[str, int]


class LowestWork(Work[Found]):
    """The work of a method; a partial holds ``states`` and ``energies``, as `Found`, and ``counters``."""

    unit: ClassVar[str] = "states"
    wants_incumbent: ClassVar[bool] = True

    @property
    @abstractmethod
    def wanted(self) -> Wanted:
        """What is asked for."""

    @abstractmethod
    def nothing(self) -> Partial:
        """The partial of no states."""

    @abstractmethod
    def states_searched(self, units: int) -> int:
        """States that so many work units account for."""

    @abstractmethod
    def estimate_seconds(self, device: Device, seconds: float) -> float:
        """Time of one lane for everything, from a sample that takes about `seconds`."""

    @abstractmethod
    def memory_bytes(self, lanes: int) -> int:
        """Peak memory for the lists of states, all lanes together."""

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The lowest states of both."""
        return self.wanted.merge(left, right)


class LowestMethod(ABC):
    """A row of the table of `spectrum`.

    Attributes
    ----------
    name : str
    """

    name: ClassVar[str]

    @abstractmethod
    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """Why this method is not the one to answer; empty if it is."""

    @abstractmethod
    def work(self, wanted: Wanted, options: RunOptions) -> LowestWork:
        """The work that answers, with all hints that its shards profit from.

        Raises
        ------
        Interrupted
            On Ctrl-C or SIGTERM meanwhile.
        """
