"""One generation as work for the engine: ranges of sub-populations, bred on CPU threads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Partial, Shard, ShardResult, Work, split
from hardscape.maxsat.cellular.options import CellularOptions
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.walk import break_weights

__all__ = ["CellularKernel", "Generation"]


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

    @cached_property
    def native(self) -> Any:
        """The compiled search over the formula's clauses."""
        f = self.formula
        return native.core().CellularSearch(
            f.num_variables,
            f.literals,
            f.offsets,
            f.weights,
            f.hard.view(np.uint8),
            self.options.torus,
            self.options.chances,
            self.options.walk_flips,
            break_weights(self.typical_length),
        )

    @property
    def typical_length(self) -> float:
        """Literals of a clause, on average."""
        return len(self.formula.literals) / max(1, self.formula.num_clauses)

    def __reduce__(self) -> tuple[Any, ...]:
        # The native object stays here.
        return CellularKernel, (self.formula, self.options)


@dataclass(frozen=True, eq=False)
class Generation(Work):
    """One generation of a population, or the initial one, cut into ranges of sub-populations.

    A partial holds ``bits`` (uint64, shape (individuals, words)), ``costs`` (int64, shape
    (individuals, 2): violated hard clauses, weight of violated soft clauses) and ``unfinished`` (how
    many individuals still improved in their last pass).

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
    lanes : int
        Ranges to cut into.
    """

    name = "maxsat.cellular.generation"
    unit = "sub-populations"

    kernel: CellularKernel
    seed: int
    number: int
    passes: int
    parents: Partial | None
    lanes: int

    def digest(self) -> str:
        """Hash of the formula, the options and the seed."""
        text = repr((self.kernel.options, self.seed, self.number))
        return hashlib.sha256((self.kernel.formula.digest() + text).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """Ranges of sub-populations."""
        return split(self.kernel.options.islands, self.lanes)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Breed the children of a range of sub-populations, and replace the parents they beat."""
        born = breed(self.kernel.native, self, (shard.start, shard.stop), context.stop)
        return ShardResult(born, complete=not context.stop[0])

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Put neighbouring ranges together."""
        return {
            "bits": np.concatenate([left["bits"], right["bits"]]),
            "costs": np.concatenate([left["costs"], right["costs"]]),
            "unfinished": left["unfinished"] + right["unfinished"],
        }


def breed(
    search: Any, step: Generation, islands: tuple[int, int], stop: NDArray[np.uint8]
) -> Partial:
    """One generation of the sub-populations ``islands[0]`` to ``islands[1] - 1`` on this thread."""
    if step.parents is None:
        bits, costs, unfinished = search.initial(step.seed, *islands, stop)
    else:
        bits, costs, unfinished = search.generation(
            step.parents["bits"],
            step.parents["costs"],
            step.seed,
            step.number,
            step.passes,
            *islands,
            stop,
        )
    return {"bits": bits, "costs": costs, "unfinished": np.array(unfinished, dtype=np.int64)}
