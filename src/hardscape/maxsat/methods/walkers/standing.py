"""Which of a walker's searches are behind others, and how much less of the turns these have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.asking import Asking
from hardscape.maxsat.methods.asking.swaps import Swapping
from hardscape.maxsat.methods.walkers.rounds import Flipping
from hardscape.maxsat.methods.weighting.searches import (
    NEVER,
    Hitting,
    Search,
    Surveying,
    Walking,
    Weighing,
)

#: A search comes close where its best violates at most this share of the clauses, or this many; one falls that
#: violates less than this share of what it did a turn before: then it is likely to satisfy them all.
_CLOSE_SHARE, _CLOSE, FALLING = 0.001, 2, 0.9
#: Turns of a search by cores are twice as long as others', and in the first flips those of clause weighting,
#: where it is behind, are so many times halved. Who is behind has half of its turn, time after time, until it
#: is so many times halved; the search by cores, if it satisfied the hard clauses, but once in the first flips,
#: and twice as often in the end if it never did; exchanges, of which a flip takes ten times as long, more often
#: where no solver is needed for the hard clauses.
_TWICE, _FEW, _MOST_LATE, _LATE, _EARLY, _BARREN, _COSTLY = 2, 2, 3, 1, 100_000, 6, 5


def close_to_all(formula: Formula) -> int:
    """How many violated clauses are few."""
    return max(_CLOSE, int(_CLOSE_SHARE * formula.num_clauses))


class Standing:
    """What each search has found by itself, beside what others have."""

    def __init__(self, walker: Flipping, formula: Formula) -> None:
        self._walker, self.close = walker, close_to_all(formula)
        self.seeks = False  # whether a solver is asked for a first assignment
        self._own: dict[Search, tuple[int, int]] = {}  # what each has found, and not adopted
        self._led: set[Search] = set()  # by others to where the hard clauses hold
        self.first: Search | None = None  # that satisfied them
        self.apart: Search | None = None  # which goes on from nobody else's assignment
        self._violated: dict[Search, int] = {}  # hard clauses before each one's last turn

    def note(self, search: Search) -> None:
        """Take what a search has as its own."""
        if isinstance(search, Walking | Surveying):
            return
        self._own[search] = search.cost()
        if self.first is None and self.satisfies(search):
            self.first = search

    def lead(self, search: Search) -> None:
        """Hear that a search goes on from another one's assignment that satisfies the hard clauses."""
        if isinstance(search, Weighing) and not self.satisfies(search):
            self._led.add(search)

    def follow(self, weighing: Weighing, other: Search, stop: NDArray[np.uint8]) -> None:
        """Have clause weighting go on from what another search has, if that is better."""
        if other.cost() < weighing.cost():
            self.lead(weighing)
            weighing.adopt(other.best(), stop)

    def leave(self, search: Search) -> None:
        """Forget one that has ended: nobody stays behind it."""
        self._own.pop(search, None)

    @property
    def able(self) -> bool:
        """Whether clause weighting, or what was first to, satisfies the hard clauses without a solver."""
        if self.first is not None and not isinstance(self.first, Asking):
            return True
        return any(isinstance(each, Weighing) and self.satisfies(each) for each in self._own)

    def satisfies(self, search: Search) -> bool:
        """Whether a search has found assignments by itself under which the hard clauses hold."""
        return search not in self._led and self._own.get(search, (NEVER, 0))[0] == 0

    def whole(self, search: Search, turn: int) -> int:
        """The turn of a search that is not behind."""
        if isinstance(search, Hitting):
            return _TWICE * turn
        few = isinstance(search, Weighing) and self._walker.flips < _EARLY and self._behind(search)
        return turn >> _FEW if few else turn

    def less(self, search: Search, turn: int, late: dict[Search, int]) -> int:
        """A turn of a search, halved once more where it is behind again."""
        most = _MOST_LATE
        if isinstance(search, Hitting):
            if not self.satisfies(search):
                most = _BARREN
            elif self._walker.flips < _EARLY:
                most = _LATE
        elif isinstance(search, Swapping) and self.able:
            most = _COSTLY
        behind = not self._falls(search) and self._behind(search)
        late[search] = behind * min(most, late.get(search, 0) + 1)
        return turn >> late[search]

    def _behind(self, search: Search) -> bool:
        """Whether a search has less of the turns than others.

        Clause weighting that comes close has not in the first flips: of its own it takes a tenth of the time
        of others'.
        """
        if isinstance(search, Hitting) and search.few:
            return False
        best = min(self._own.values(), default=(NEVER, 0))
        own = self._own.get(search, (NEVER, 0))
        close = own[0] <= self.close
        if best[0] == 0:
            young = isinstance(search, Weighing) and self._walker.flips < _EARLY
            return best < own and not (close and young)
        return not (isinstance(search, Swapping) or close)

    def _falls(self, search: Search) -> bool:
        """Whether a search violates far fewer hard clauses than a turn before: soon it may violate none."""
        hard = search.cost()[0]
        before, self._violated[search] = self._violated.get(search, 0), hard
        return 0 < hard <= FALLING * before
