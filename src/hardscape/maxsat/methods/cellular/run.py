"""One run of the algorithm, from generation to generation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Chain, Partial, Shard, Team, split
from hardscape.maxsat.methods.cellular.generation import UNKNOWN, CellularKernel

#: Told the cost and the words of an individual.
Offer = Callable[[tuple[int, int], NDArray[np.uint64]], object]

#: Fields of the control that the kernels share: passes, generations, stagnant, done, best cost.
CONTROL_FIELDS = 6
_PASSES, _GENERATIONS, _DONE = 0, 1, 3
#: Individuals that climb together where all clauses weigh the same.
_VECTOR = 512
#: Literals times individuals from which on threads share a generation; about 3 ms.
_SHARED_WORK = 3 * 10**7


class CellularRun(Chain[Partial]):
    """One run as a chain of generations, of which the first is the initial population.

    The lanes of a team share the sub-populations. It ends at a cost of `target`; `offer` is told of each
    new best individual, in this process. ``history`` has for the initial population and each generation:
    violated hard clauses and weight of the violated soft ones of its best individual, and the passes it
    climbed.
    """

    name = "maxsat.cellular.run"
    revision = 1
    unit = "generations"

    def __init__(
        self, kernel: CellularKernel, seed: int, target: tuple[int, int], offer: Offer | None = None
    ) -> None:
        most = kernel.options.max_generations
        self.total = 2**62 if most is None else most + 1
        self.population: Partial | None = None
        self.history: list[tuple[int, int, int]] = []
        self._kernel = kernel
        self._seed = seed
        self._target = target
        self._offer = offer
        self._before: Partial | None = None
        self._better: Partial | None = None  # one individual, of a generation that was cut short
        self._rules = kernel.options.rules(target)
        self._control = np.zeros(CONTROL_FIELDS, dtype=np.int64)

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process."""
        return {**self.__dict__, "_offer": None}

    def digest(self) -> str:
        """Hash of the formula, the options, the seed and the target."""
        told = (self._kernel.options, self._seed, self._target)
        return hashlib.sha256((self._kernel.formula.digest + repr(told)).encode()).hexdigest()

    @property
    def generations(self) -> int:
        """Generations bred."""
        return int(self._control[_GENERATIONS])

    def finished(self) -> bool:
        """Whether the target is reached, or nothing improved for long enough."""
        return bool(self._control[_DONE])

    def lanes(self, most: int) -> int:
        """Threads that pay for sharing a generation: each needs a vector of individuals, and some time."""
        formula, options = self._kernel.formula, self._kernel.options
        sliced = formula.uniform and not options.walk_flips
        together, cost = (_VECTOR, 1) if sliced else (1, _VECTOR)
        if len(formula.literals) * options.individuals * cost < _SHARED_WORK:
            return 1
        return min(most, options.islands, max(1, options.individuals // together))

    def advance(self, count: int, team: Team) -> int:
        """Breed so many generations, fewer where the run ends."""
        pieces = split(self._kernel.options.islands, team.size)
        for done in range(count):
            if self.finished() or not self._breed(pieces, team):
                return done
        return count

    def _breed(self, pieces: Sequence[Shard], team: Team) -> bool:
        """Breed the next generation; False where it was cut short."""
        number = 0 if self.population is None else self.generations + 1
        passes = int(self._control[_PASSES])
        before, born = self.population, self._room()

        def breed(piece: Shard) -> int | None:
            return self._kernel.breed(self._seed, number, passes, before, piece, born, team.stop)

        unfinished = team.map(breed, pieces)
        if None in unfinished:
            self._keep_best(born)
            return False
        if before is not None:
            self._kernel.migrate(self._seed, number, born)
        self._take(born, passes, sum(count or 0 for count in unfinished))
        return True

    def _room(self) -> Partial:
        """Arrays for the next generation: those of the last one but one, where there are."""
        if self._before is None:
            return self._kernel.room()
        self._before["costs"].fill(UNKNOWN)
        return self._before

    def _take(self, born: Partial, passes: int, unfinished: int) -> None:
        """Go on with the next generation, of which some individuals still improved in the last pass."""
        best = best_individual(born["costs"])
        hard, soft = born["costs"][best].tolist()
        if self.population is None:
            native.vector.maxsat.cellular_begin(self._control, self._rules, hard, soft)
        else:
            native.vector.maxsat.cellular_end(self._control, self._rules, unfinished, hard, soft)
        better = not self.history or (hard, soft) < self.history[-1][:2]
        self._before, self.population = self.population, born
        self.history.append((hard, soft, passes))
        if better and self._offer is not None:
            self._offer((hard, soft), born["bits"][best])

    def _keep_best(self, born: Partial) -> None:
        """Take over the best individual of a generation that was cut short, if it is better."""
        best = best_individual(born["costs"])
        if self.history and tuple(born["costs"][best].tolist()) < self.history[-1][:2]:
            self._better = _alone(born, best)

    def state(self) -> Partial:
        """The population, the control and the history."""
        history = np.array(self.history, dtype=np.int64)
        return {**(self.population or {}), "control": self._control, "history": history}

    def restore(self, state: Partial) -> None:
        """Go on from what `state` returned."""
        self._control = state["control"].copy()
        self.history = [(hard, soft, passes) for hard, soft, passes in state["history"].tolist()]
        if "bits" in state:
            self.population = {name: state[name].copy() for name in ("bits", "costs")}

    def result(self) -> Partial:
        """Best individual, its cost, and the history, as one run of `CellularRuns`; or no run at all."""
        if self.population is None:
            return no_runs(self._kernel)
        best = best_individual(self.population["costs"])
        return {
            **(self._better or _alone(self.population, best)),
            "generations": np.array([self.generations]),
            "history": np.array(self.history, dtype=np.int64),
        }


def no_runs(kernel: CellularKernel) -> Partial:
    """What there is where there was no time for a first population."""
    words = -(-kernel.formula.num_variables // 64)
    return {
        "bits": np.empty((0, words), dtype=np.uint64),
        "costs": np.empty((0, 2), dtype=np.int64),
        "generations": np.empty(0, dtype=np.int64),
        "history": np.empty((0, 3), dtype=np.int64),
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
