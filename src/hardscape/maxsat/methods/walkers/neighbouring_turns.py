"""Turns of exchanges in parts of a formula, from the best assignment that others have."""

from __future__ import annotations

from collections.abc import Iterator

from hardscape.maxsat.methods.neighbourhoods.neighbouring import Neighbouring, neighbouring_pays
from hardscape.maxsat.methods.walkers.beginning import Letting, Searches
from hardscape.maxsat.methods.weighting.searches import Search

#: How often turns are halved at most.
_MOST_HALVED = 3


class NeighbouringTurns:
    """Turns of one `Neighbouring`.

    As many parts as there are kinds, in one turn or several, that find nothing, or less for their flips than
    the others did since the last turn, leave the next one half as long, down to an eighth; one that finds more
    has it twice as long again.
    """

    def __init__(self, walker: Letting, searches: Searches) -> None:
        self._walker, self._searches = walker, searches
        self._near: Neighbouring | None = None
        self._halved = 0  # how often
        self._judged = 0  # parts when that was decided
        self._flips = 0  # at the end of the last turn
        self.pays = neighbouring_pays(walker.work.formula)

    def turns(self, best: Search, turn: int) -> Iterator[tuple[Search, int]]:
        """A turn from the best assignment, if that satisfies the hard clauses."""
        walker, (hard, cost) = self._walker, best.cost()
        if not self.pays or hard:
            return
        near = self._near
        if near is None:
            near = self._near = self._searches.neighbouring(best)
        others = max(0, near.cost()[1] - cost), walker.flips - self._flips
        if others[0]:
            near.adopt(best.best(), walker.stop)
        if near.given_up:
            return
        before, began = near.cost()[1], walker.flips
        yield near, turn >> self._halved
        self._judge(others, (before - near.cost()[1], walker.flips - began), near)
        self._flips = walker.flips

    def _judge(self, others: tuple[int, int], own: tuple[int, int], near: Neighbouring) -> None:
        """Have more turns, or less, by what was found in how many flips."""
        ahead = own[0] > 0 and own[0] * others[1] >= others[0] * own[1]
        if ahead or near.parts >= self._judged + near.kinds:
            self._halved = (
                max(0, self._halved - 1) if ahead else min(_MOST_HALVED, self._halved + 1)
            )
            self._judged = near.parts

    @property
    def found(self) -> Neighbouring | None:
        """Who has had turns."""
        return self._near
