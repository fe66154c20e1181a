"""What begins each of a walker's searches."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.swaps import Swapping
from hardscape.maxsat.methods.neighbourhoods.neighbouring import Neighbouring
from hardscape.maxsat.methods.walkers.standing import close_to_all
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.methods.weighting.searches import (
    Covering,
    Diagnosing,
    Hitting,
    Search,
    Surveying,
    Walking,
    Weighing,
)


class Aim(Protocol):
    """What searches begin with."""

    @property
    def formula(self) -> Formula:
        """What is searched."""

    @property
    def walk(self) -> bool:
        """Whether all clauses count alike."""

    @property
    def seed(self) -> int:
        """Of the random numbers."""

    @property
    def target(self) -> int:
        """The cost at which a search ends."""

    @property
    def options(self) -> WeightingOptions:
        """Of clause weighting."""


class Letting(Protocol):
    """Who lets them go."""

    flips: int
    stop: NDArray[np.uint8]

    @property
    def work(self) -> Aim:
        """What they begin with."""

    def interrupted(self) -> bool:
        """Whether somebody says stop."""

    def take(self, search: Search) -> None:
        """Know of what a search has."""


class Searches:
    """New searches of a walker, whose stream of random numbers is its own."""

    def __init__(self, walker: Letting, stream: int) -> None:
        self._walker, self._stream = walker, stream

    def walking(self, stream: int, initial: NDArray[np.uint8] | None) -> Walking:
        """A random walk, with another stream."""
        work = self._walker.work
        return Walking(work.formula, work.seed, stream, initial, self._walker.stop)

    def surveying(self, stream: int) -> Surveying:
        """Surveys, with another stream."""
        work, stop = self._walker.work, self._walker.stop
        return Surveying(work.formula, work.target, work.seed, stream, stop)

    def weighing(self, initial: NDArray[np.uint8] | None) -> Weighing:
        """Clause weighting."""
        work = self._walker.work
        how = work.options, work.target, work.seed
        return Weighing(work.formula, *how, self._stream, initial, self._walker.stop)

    def hitting(self, initial: NDArray[np.uint8] | None) -> Hitting:
        """The search by cores."""
        work = self._walker.work
        how = work.target, work.seed, self._stream
        return Hitting(work.formula, *how, initial, self._walker.stop)

    def diagnosing(self) -> Diagnosing:
        """The search for faults, which is over where the formula is no circuit."""
        work = self._walker.work
        how = work.target, work.seed, self._stream
        return Diagnosing(work.formula, *how, None, self._walker.stop)

    def covering(self, initial: NDArray[np.uint8]) -> Covering:
        """The search for covers."""
        work = self._walker.work
        how = work.target, work.seed, self._stream
        return Covering(work.formula, *how, initial, self._walker.stop)

    def swapping(self, best: Search) -> Swapping:
        """Exchanges of soft clauses, from the best assignment or, where that is none, from one near it."""
        work = self._walker.work
        how = work.seed, self._stream, work.target, best.best()
        far = best.cost()[0] > close_to_all(work.formula)
        return Swapping(work.formula, *how, self._walker.stop, far=far)

    def neighbouring(self, best: Search) -> Neighbouring:
        """Exchanges of soft clauses in parts of the formula, from the best assignment."""
        work = self._walker.work
        how = work.seed, self._stream, work.target, best.best()
        return Neighbouring(work.formula, *how, self._walker.stop)
