"""Simulated annealing with elite states that are joined.

A run anneals from random states until it has an elite. Then it takes two of them, of each connected component
of the spins in which they differ the better half, anneals that from a lower temperature, and joins what comes
out with both again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.ising.exact import ExactTerms
from hardscape.ising.methods.annealing.teams import AnnealingTeams
from hardscape.ising.methods.runs import RunsWork
from hardscape.ising.methods.walkers.model import FlipModel

#: States of an elite.
_ELITES = 10
#: Temperatures in units of the root mean square of local fields: for random states, for elites (at most), last.
_HOT, _WARM, _COLD = 1.0, 0.5, 0.1
#: Models of so few spins are dense to tabu search, and those with more couplings than one of so many.
_MOST_DENSE, _DENSITY = 64, 8
#: Sweeps of one annealing in a run of length 1.
_SWEEPS = 1000


@dataclass(frozen=True)
class AnnealingWork(RunsWork):
    """Runs of simulated annealing; a move is a flip, or a look at the spins of a vector."""

    looks: ClassVar[int] = 16
    moves_a_spin: ClassVar[int] = 10_000

    @staticmethod
    def pays(terms: ExactTerms) -> bool:
        """Whether neighbours are few enough: a flip costs as many sums, a move of tabu search all spins."""
        n, pairs = terms.num_spins, len(terms.couplings)
        return n > _MOST_DENSE and 2 * _DENSITY * pairs <= n * n

    def made(
        self, given: NDArray[np.int8], run: int, moves: int, stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint64], bool, int]:
        """Make a run."""
        model = self.model
        numbers = self.numbers()
        return native.vector.ising.anneal(
            model.fields,
            model.starts,
            model.columns,
            model.values,
            model.integers,
            given,
            self.count,
            _ELITES,
            (numbers["hot"], numbers["warm"], numbers["cold"]),
            self.sweeps(run),
            moves,
            self.level,
            self.seed,
            run,
            stop,
        )

    def sweeps(self, run: int) -> int:
        """See `RunsWork.sweeps`."""
        return _SWEEPS * self.length(run // self.equal)

    def teams(self) -> AnnealingTeams:
        """See `RunsWork.teams`."""
        return AnnealingTeams(self.model)

    def numbers(self) -> dict[str, float]:
        """See `RunsWork.numbers`: temperatures."""
        model = self.model
        size = np.sqrt(((model.fields**2).sum() + (model.values**2).sum()) / len(model.fields))
        return {"hot": float(_HOT * size), "warm": float(_WARM * size), "cold": float(_COLD * size)}

    @staticmethod
    def unfit(terms: ExactTerms) -> str:
        """See `RunsWork.unfit`."""
        most = AnnealingTeams.most_spins(not FlipModel.short(terms))
        if terms.num_spins <= most:
            return ""
        return f"it takes up to {most:,} spins of such couplings"
