"""One generation: ranges of sub-populations, bred on CPU threads."""

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

__all__ = ["UNKNOWN", "CellularKernel", "Generation"]

#: Both parts of the cost of an individual that is not finished.
UNKNOWN = 2**63 - 1


@dataclass(frozen=True)
class CellularKernel:
    """A formula and options, and the compiled search over them.

    Attributes
    ----------
    formula : Formula
    options : CellularOptions
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
                made = self._make(stop)
                if not made.complete:
                    return None
                self._made.append(made)
            return self._made[0]

    def _make(self, stop: NDArray[np.uint8] | None) -> Any:
        f = self.formula
        return native.vector.maxsat.CellularSearch(
            f.num_variables,
            f.literals,
            f.offsets,
            f.weights,
            f.hard.view(np.uint8),
            self.options.torus,
            self.options.chances,
            self.options.walk_flips,
            break_weights(self.typical_length),
            stop,
        )

    def room(self) -> Partial:
        """Room for the ``bits`` and ``costs`` of a population, all of it unknown."""
        individuals, words = self.options.individuals, -(-self.formula.num_variables // 64)
        return {
            "bits": np.empty((individuals, words), dtype=np.uint64),
            "costs": np.full((individuals, 2), UNKNOWN, dtype=np.int64),
        }

    @property
    def typical_length(self) -> float:
        """Literals of a clause, on average."""
        return len(self.formula.literals) / max(1, self.formula.num_clauses)

    def __reduce__(self) -> tuple[Any, ...]:
        # The native object stays here.
        return CellularKernel, (self.formula, self.options)


@dataclass(frozen=True, eq=False)
class Generation:
    """One generation of a population, or the initial one, while it is bred.

    A population is ``bits`` (uint64, shape (individuals, words)) and ``costs`` (int64, shape
    (individuals, 2): violated hard clauses, weight of violated soft clauses).

    Attributes
    ----------
    kernel : CellularKernel
    seed : int
        Seed of the run.
    number : int
        Which generation, counted from 1; 0 is the initial population.
    passes : int
        Passes of hill climbing.
    parents : Partial or None
        The population before.
    children : Partial
        Where the population goes. Of ranges that were cut short, individuals that were not finished have
        `UNKNOWN` costs.
    """

    kernel: CellularKernel
    seed: int
    number: int
    passes: int
    parents: Partial | None
    children: Partial

    def breed(self, islands: Shard, stop: NDArray[np.uint8]) -> int | None:
        """Fill a range of sub-populations on this thread.

        Returns how many individuals still improved in the last pass, or None where `stop` came first.
        """
        search = self.kernel.native(stop)
        if search is None:
            return None
        bits, costs = self.children["bits"], self.children["costs"]
        into = islands.start, islands.stop, bits, costs, stop
        if self.parents is None:
            found = search.initial(self.seed, *into)
        else:
            parents = self.parents["bits"], self.parents["costs"]
            found = search.generation(*parents, self.seed, self.number, self.passes, *into)
        return found  # type: ignore[no-any-return]
