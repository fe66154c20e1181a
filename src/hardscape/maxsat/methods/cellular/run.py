"""What one run of the algorithm carries from generation to generation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Partial

__all__ = ["UNKNOWN", "CellularRun", "Offer", "best_individual", "unpack_individual"]

#: Told the cost and the words of an individual.
Offer = Callable[[tuple[int, int], NDArray[np.uint64]], object]

#: Both parts of the cost of an individual that is not finished.
UNKNOWN = 2**63 - 1
#: Fields of the control that the kernels share: passes, generations, stagnant, done, best cost.
CONTROL_FIELDS = 6
_PASSES, _GENERATIONS, _DONE = 0, 1, 3


class CellularRun:
    """Population, control and history of one run.

    Attributes
    ----------
    seed : int
        Seed of this run.
    population : Partial
        ``bits`` and ``costs`` of all individuals.
    history : list of (int, int, int)
        For the initial population and each generation: violated hard clauses and weight of the
        violated soft ones of its best individual, and the passes it climbed.
    """

    def __init__(self, seed: int, rules: NDArray[np.int64], initial: Partial) -> None:
        self.seed = seed
        self.population = initial
        self._before: Partial | None = None
        self._better: Partial | None = None  # one individual, of a generation that was cut short
        self._rules = rules
        self._control = np.zeros(CONTROL_FIELDS, dtype=np.int64)
        native.vector.maxsat.cellular_begin(self._control, rules, *self.best)
        self.history = [(*self.best, 0)]

    @property
    def best(self) -> tuple[int, int]:
        """Violated hard clauses and weight of the violated soft ones, of the best individual."""
        costs = self.population["costs"]
        hard, soft = costs[best_individual(costs)].tolist()
        return hard, soft

    @property
    def passes(self) -> int:
        """Passes of hill climbing of the next generation."""
        return int(self._control[_PASSES])

    @property
    def generations(self) -> int:
        """Generations bred."""
        return int(self._control[_GENERATIONS])

    @property
    def done(self) -> bool:
        """Whether the target is reached, or nothing improved for long enough."""
        return bool(self._control[_DONE])

    @property
    def room(self) -> Partial:
        """Arrays for the next generation, those of the last one but one, as `CellularKernel.room` gives."""
        if self._before is None:
            self._before = {name: np.empty_like(array) for name, array in self.population.items()}
        self._before["costs"].fill(UNKNOWN)
        return self._before

    def take(self, born: Partial, unfinished: int) -> None:
        """Go on with the next generation, of which some individuals still improved in the last pass."""
        passes = self.passes
        self._before, self.population = self.population, born
        native.vector.maxsat.cellular_end(self._control, self._rules, unfinished, *self.best)
        self.history.append((*self.best, passes))

    def keep_best(self, born: Partial) -> None:
        """Take over the best individual of a generation that was cut short, if it is better."""
        best = best_individual(born["costs"])
        if tuple(born["costs"][best].tolist()) < self.best:
            self._better = _alone(born, best)

    def report(self, offer: Offer | None) -> None:
        """Tell of the best individual where the last generation improved it."""
        history = self.history
        if offer is not None and (len(history) == 1 or history[-1][:2] < history[-2][:2]):
            offer(self.best, self.population["bits"][best_individual(self.population["costs"])])

    def partial(self) -> Partial:
        """Best individual, its cost, and the history, as one run of `CellularRuns`."""
        found = self._better
        if found is None:
            found = _alone(self.population, best_individual(self.population["costs"]))
        return {
            **found,
            "generations": np.array([self.generations]),
            "history": np.array(self.history, dtype=np.int64),
        }


def _alone(population: Partial, individual: int) -> Partial:
    """One individual, in arrays that do not keep the whole population."""
    return {name: array[individual : individual + 1].copy() for name, array in population.items()}


def best_individual(costs: NDArray[Any]) -> int:
    """First of the individuals of least cost; costs are (hard, soft) rows."""
    hard, soft = costs[:, 0], costs[:, 1]
    fewest = hard == hard.min()
    return int(np.flatnonzero(fewest & (soft == soft[fewest].min()))[0])


def unpack_individual(words: NDArray[np.uint64], variables: int) -> NDArray[np.bool_]:
    """Assignment of an individual, bool of shape (variables,), that cannot be written to."""
    octets = np.ascontiguousarray(words).astype("<u8").view(np.uint8)
    assignment = np.unpackbits(octets, count=variables, bitorder="little").astype(np.bool_)
    assignment.setflags(write=False)
    return assignment
