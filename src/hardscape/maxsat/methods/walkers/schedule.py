"""Which search has the next flips of a walker, and how many."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.swaps import swapping_is_possible
from hardscape.maxsat.methods.installed import can_ask
from hardscape.maxsat.methods.walkers.beginning import Letting, Searches
from hardscape.maxsat.methods.walkers.growing_turns import MOST_VAIN, GrowingTurns
from hardscape.maxsat.methods.walkers.hitting_turns import HittingTurns
from hardscape.maxsat.methods.walkers.openings import (
    FEW,
    FIRST_ALONE,
    OPENING,
    TEMPERS,
    falling_turns,
)
from hardscape.maxsat.methods.walkers.random_turns import random_turns
from hardscape.maxsat.methods.walkers.rounds import rounds
from hardscape.maxsat.methods.walkers.standing import Standing
from hardscape.maxsat.methods.weighting.searches import (
    Hitting,
    Search,
    Weighing,
    asks_for_a_cover,
    looks_random,
    wishes_are_literals,
)

#: Literals from which on soft clauses are no longer exchanged.
_MOST_SWAPPED = 200_000
#: Literals above which clause weighting is alone: no solver is asked, nor are cores or circuits looked for.
_MOST_LITERALS = 3_000_000
#: Beside a search by cores turns begin so many times shorter.
_SHORT = 8


def is_small(formula: Formula) -> bool:
    """Whether few enough literals are in it for soft clauses to be exchanged."""
    return len(formula.literals) <= _MOST_SWAPPED


def asks_first(formula: Formula) -> bool:
    """Whether a solver is asked where clause weighting does not come to satisfy the hard clauses."""
    return len(formula.literals) <= _MOST_LITERALS and swapping_is_possible(formula)


def swapping_pays(formula: Formula) -> bool:
    """Whether soft clauses are exchanged by a solver, which satisfies hard ones, too."""
    return is_small(formula) and swapping_is_possible(formula)


class Schedule:
    """Turns of the random walk, of clause weighting, and of what else suits the formula, for one walker."""

    def __init__(self, walker: Letting, stream: int, initial: NDArray[np.uint8] | None) -> None:
        self._walker = walker
        self._stream, self._initial = stream, initial
        self._searches = Searches(walker, stream)
        self.standing = Standing(walker, walker.work.formula)
        self.asking = False  # a solver whether all clauses can hold, where none is hard
        self._hitting: HittingTurns | None = None

    @property
    def opens(self) -> bool:
        """Whether not all of the searches that come first have had their turns."""
        return self._hitting is not None and self._hitting.opens

    @property
    def solved(self) -> bool:
        """Whether a linear program was, and others would follow."""
        return self._hitting is not None and self._hitting.solved

    def __iter__(self) -> Iterator[tuple[Search, int]]:
        """Searches in turn, and how many flips each has."""
        work = self._walker.work
        if not (work.walk and looks_random(work.formula)):
            yield from self._weighted_turns()
            return
        first = self._stream, self._initial
        yield from random_turns(self._walker, work.formula, *first, self._searches)

    def _weighted_turns(self) -> Iterator[tuple[Search, int]]:
        work = self._walker.work
        formula = work.formula
        turn = FIRST_ALONE + formula.num_variables
        cover, size = asks_for_a_cover(formula), len(formula.literals)
        mixed = 0 < formula.num_hard < formula.num_clauses
        if mixed and not cover and size <= _MOST_LITERALS and not self._stream:
            diagnosing = self._searches.diagnosing()  # has tables that the next search shares
            while (
                not diagnosing.given_up or self._walker.interrupted()
            ):  # proven: no other one begins
                yield diagnosing, turn // _SHORT
            if diagnosing.cost()[0] == 0:
                self._initial = diagnosing.best()
            self.standing.leave(diagnosing)
        if size <= _MOST_SWAPPED and mixed and not cover:
            told = self._walker, self._searches, self.standing
            self._hitting = HittingTurns(*told, first=not self._stream)
            yield from self._hitting.turns(self._initial, turn // _SHORT)
            return
        if mixed and not cover and size <= _MOST_LITERALS and wishes_are_literals(formula):
            yield from self._opened_turns(turn)
            return
        weighing = self._searches.weighing(self._initial)
        if cover:
            yield weighing, turn
            yield from self._covering_turns(weighing, turn)
            return
        yield from falling_turns(self._walker, weighing, turn)
        yield from self._grown_turns(weighing, turn)

    def _grown_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting, and sets that a solver grows where it may be asked."""
        formula = self._walker.work.formula
        if len(formula.literals) <= _MOST_LITERALS and not looks_random(formula) and can_ask():
            growing = GrowingTurns(self._walker, self._searches, self.standing)
            for each in growing.turns(weighing, turn):
                self.asking = growing.asking
                yield each
        for _ in rounds(self._walker):
            yield weighing, turn
            turn *= 2

    def _opened_turns(self, turn: int) -> Iterator[tuple[Search, int]]:
        """The same beside a search by cores, which goes on as long as few wishes hit them all, or it is best.

        Clause weighting is first, and where it comes close to satisfying the hard clauses no core is sought: a
        descent of so large a formula takes as long as most of its turns. Nor is one before a solver that may be
        asked has satisfied them.
        """
        first = self._initial
        violated = 0 if first is None else self._walker.work.formula.hard_violations(first)
        weighing = self._searches.weighing(None if violated else first)
        yield weighing, turn
        if first is not None and 0 < violated < weighing.cost()[0]:
            weighing.adopt(first, self._walker.stop)
        if weighing.cost()[0]:
            yield from falling_turns(self._walker, weighing, turn, TEMPERS - 1)
        if weighing.cost()[0] <= FEW:
            yield from self._grown_turns(weighing, turn)
            return
        beside: Hitting | None = None
        asks, begun, vain = asks_first(self._walker.work.formula), False, 0
        for search, part in self._grown_turns(weighing, turn):
            least = weighing.cost()
            if search is weighing and not (begun or (asks and least[0])):
                begun = True
                beside = self._searches.hitting(first)
                yield from self._first_cores(beside, turn // _SHORT)
                self.standing.follow(weighing, beside, self._walker.stop)
            elif beside is None or beside.given_up or not (beside.few or beside.cost() <= least):
                beside = None  # its memory
            elif search is weighing:
                if least < beside.cost() and not least[0]:
                    beside.adopt(weighing.best(), self._walker.stop)
                known = beside.cost(), beside.lower
                yield beside, part >> vain
                found = known != (beside.cost(), beside.lower)
                vain = 0 if found else min(MOST_VAIN, vain + 1)
                self.standing.follow(weighing, beside, self._walker.stop)
            yield search, part

    def _first_cores(self, hitting: Hitting, turn: int) -> Iterator[tuple[Search, int]]:
        """A search by cores, on and on while few wishes hit them all."""
        yield hitting, turn
        until = self._walker.flips + OPENING
        while hitting.few and not hitting.given_up and self._walker.flips < until:
            yield hitting, turn

    def _covering_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting and the search for covers by turns: who is behind at first may be ahead later."""
        covering = self._searches.covering(weighing.best())
        yield covering, turn
        for _ in rounds(self._walker):
            turn *= 2
            yield weighing, turn
            yield covering, turn
