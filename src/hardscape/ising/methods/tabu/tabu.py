"""Tabu search with path relinking.

A run keeps the best states of its searches, an elite, and searches again from the middle of a path between
two of them (Wang, Lü, Glover, Hao, Eur. J. Oper. Res. 223 (2012) 595).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.ising.exact import ExactTerms
from hardscape.ising.methods.runs import RunsWork
from hardscape.ising.methods.tabu.teams import TabuTeams
from hardscape.ising.methods.walkers.model import FlipModel

#: States of an elite.
_ELITES = 10
#: Moves for which a flip is not undone: so many, and up to so many more.
_TENURE, _SPREAD = 8, 10
_SPINS_A_MOVE = 100  #: one more for so many spins
#: Moves of a search without a better state after which it ends, for each spin, and at least.
_PATIENCE, _LEAST_PATIENCE = 20, 500


@dataclass(frozen=True)
class TabuWork(RunsWork):
    """Runs of tabu search; a move is a flip."""

    moves_a_spin: ClassVar[int] = 500

    def made(
        self, given: NDArray[np.int8], run: int, moves: int, stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint64], bool, int]:
        """Make a run."""
        n, model = self.terms.num_spins, self.model
        return native.vector.ising.tabu_search(
            model.fields,
            model.starts,
            model.columns,
            model.values,
            model.integers,
            given,
            self.count,
            (_ELITES, self._tenure, _SPREAD),
            max(_LEAST_PATIENCE, _PATIENCE * n),
            moves,
            self.level,
            self.seed,
            run,
            stop,
        )

    @property
    def _tenure(self) -> int:
        n = self.terms.num_spins
        return min(_TENURE + n // _SPINS_A_MOVE, n // 4)

    def teams(self) -> TabuTeams:
        """See `RunsWork.teams`."""
        return TabuTeams(self.model)

    def numbers(self) -> dict[str, float]:
        """See `RunsWork.numbers`."""
        patience = max(_LEAST_PATIENCE, _PATIENCE * self.terms.num_spins)
        return {"tenure": self._tenure, "spread": _SPREAD, "patience": patience}

    @staticmethod
    def unfit(terms: ExactTerms) -> str:
        """See `RunsWork.unfit`."""
        most = TabuTeams.most_spins(not FlipModel.short(terms))
        if terms.num_spins <= most:
            return ""
        return f"it takes up to {most:,} spins of such couplings"
