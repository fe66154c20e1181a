"""Ranges of sub-populations, bred on CPU threads by the compiled search."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Partial, Shard
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.cellular.options import CellularOptions
from hardscape.maxsat.methods.weighting.walk import break_weights

#: Both parts of the cost of an individual that is not finished.
UNKNOWN = 2**63 - 1


@dataclass(frozen=True)
class CellularKernel:
    """A formula and options, and the compiled search over them.

    A population is ``bits`` (uint64, shape (individuals, words)) and ``costs`` (int64, shape
    (individuals, 2): violated hard clauses, weight of violated soft clauses).
    """

    formula: Formula
    options: CellularOptions
    _made: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)
    _making: threading.Lock = field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )

    def native(self, stop: NDArray[np.uint8] | None = None) -> Any | None:
        """The compiled search over the formula's clauses; None where `stop` came before it was made."""
        with self._making:
            if not self._made:
                made = native.vector.maxsat.CellularSearch(
                    self.formula,
                    self.options.torus,
                    self.options.chances,
                    self.options.operators,
                    self.options.walk_flips,
                    break_weights(self.typical_length),
                    stop,
                )
                if not made.complete:
                    return None
                self._made.append(made)
            return self._made[0]

    def room(self) -> Partial:
        """Room for the ``bits`` and ``costs`` of a population, all of it unknown."""
        individuals, words = self.options.individuals, -(-self.formula.num_variables // 64)
        return {
            "bits": np.empty((individuals, words), dtype=np.uint64),
            "costs": np.full((individuals, 2), UNKNOWN, dtype=np.int64),
        }

    def breed(
        self,
        seed: int,
        number: int,
        passes: int,
        parents: Partial | None,
        islands: Shard,
        children: Partial,
        stop: NDArray[np.uint8],
    ) -> int | None:
        """Fill a range of sub-populations of the next generation on this thread.

        `number` counts generations from 1; without `parents` it is the initial population. Returns how
        many individuals still improved in the last pass, or None where `stop` came first: those that
        were not finished then have `UNKNOWN` costs.
        """
        search = self.native(stop)
        if search is None:
            return None
        into = islands.start, islands.stop, children["bits"], children["costs"], stop
        if parents is None:
            found = search.initial(seed, *into)
        else:
            found = search.generation(
                parents["bits"], parents["costs"], seed, number, passes, *into
            )
        return found  # type: ignore[no-any-return]

    def migrate(self, seed: int, number: int, population: Partial) -> None:
        """Move the sorted best of a whole generation on, where the options ask for that."""
        if self.options.migration == "sorted" and (search := self.native()) is not None:
            search.migrate(seed, number, population["bits"], population["costs"])

    @property
    def typical_length(self) -> float:
        """Literals of a clause, on average."""
        return len(self.formula.literals) / max(1, self.formula.num_clauses)

    def __reduce__(self) -> tuple[Any, ...]:
        # The native object stays here.
        return CellularKernel, (self.formula, self.options)
