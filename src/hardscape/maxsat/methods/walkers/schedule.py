"""Which search has the next flips of a walker, and how many."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.asking import Asking
from hardscape.maxsat.methods.asking.growing import Growing, Together
from hardscape.maxsat.methods.asking.swaps import Swapping, swapping_is_possible
from hardscape.maxsat.methods.installed import can_ask
from hardscape.maxsat.methods.walkers.beginning import Letting, Searches
from hardscape.maxsat.methods.walkers.hitting_turns import HittingTurns
from hardscape.maxsat.methods.walkers.neighbouring_turns import NeighbouringTurns
from hardscape.maxsat.methods.walkers.openings import (
    FEW,
    FIRST_ALONE,
    OPENING,
    TEMPERS,
    falling_turns,
    first_turns,
    led_turns,
)
from hardscape.maxsat.methods.walkers.random_turns import random_turns
from hardscape.maxsat.methods.walkers.rounds import rounds
from hardscape.maxsat.methods.walkers.standing import Standing, close_to_all
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
#: Share of the weight that violated clauses may have where a solver is asked for all.
_LITTLE = 0.02
#: Beside a search by cores turns begin so many times shorter.
_SHORT = 8
#: Share of the weight above which violated clauses leave it open whether all can hold: clause weighting has
#: whole turns then, and who asks for all no more than a quarter, which takes as long.
_CLOSE = 0.001
#: How often turns of who was in vain are halved at most, where a solver grows sets; those of clause weighting
#: beside the question for all, once less.
_MOST_VAIN, _QUARTER = 3, 2


def _nearly_all(cost: tuple[int, int], formula: Formula) -> bool:
    """Whether so little is violated that all clauses may hold together."""
    return cost[0] == 0 and cost[1] <= _LITTLE * formula.total_weight


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
        self.opens = False  # whether not all of the searches that come first have had their turns

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
            turns = HittingTurns(*told, first=not self._stream)
            for each in turns.turns(self._initial, turn // _SHORT):
                self.opens = turns.opens
                yield each
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
            yield from self._growing_turns(weighing, turn)
        for _ in rounds(self._walker):
            yield weighing, turn
            turn *= 2

    def _opened_turns(self, turn: int) -> Iterator[tuple[Search, int]]:
        """The same beside a search by cores, which goes on as long as few wishes hit them all, or it is best.

        Clause weighting is first, and where it comes close to satisfying the hard clauses no core is sought: a
        descent of so large a formula takes as long as most of its turns.
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
        hitting = self._searches.hitting(first)
        yield hitting, turn // _SHORT
        until = self._walker.flips + OPENING
        while hitting.few and not hitting.given_up and self._walker.flips < until:
            yield hitting, turn // _SHORT
        self._lead(weighing, hitting)
        beside: Hitting | None = hitting
        del hitting  # its memory, where it has ended
        vain = 0
        for search, part in self._grown_turns(weighing, turn):
            least = weighing.cost()
            if beside is None or beside.given_up or not (beside.few or beside.cost() <= least):
                beside = None  # its memory
            elif search is weighing:
                if least < beside.cost() and not least[0]:
                    beside.adopt(weighing.best(), self._walker.stop)
                known = beside.cost(), beside.lower
                yield beside, part >> vain
                found = known != (beside.cost(), beside.lower)
                vain = 0 if found else min(_MOST_VAIN, vain + 1)
                self._lead(weighing, beside)
            yield search, part

    def _growing_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting, what grows from its best, and all clauses together where little is violated.

        Who is in vain has half of its turn, and half again, but for who asks for all, where no clause is hard:
        that is in vain until it has the answer, and has less only where much is violated. What grows begins
        again where clause weighting has found something better, then nothing in a turn, and has nothing where
        only all clauses are better.
        Of formulas that have parts, these are searched in place of sets that grow, once clause weighting found
        nothing in a turn.
        Where it violates hard clauses a solver is asked for a first assignment from which it goes on; where it
        has never satisfied them itself, or once found nothing in a turn, wishes that are literals are exchanged
        when no other clause can join, and who of the two stays behind has ever less of the turns.
        """
        work, stop = self._walker.work, self._walker.stop
        formula = work.formula
        growing: Growing | None = None
        together: Together | None = None
        swapping: Swapping | None = None
        if weighing.cost()[0] and asks_first(formula):
            close = weighing.cost()[0] <= close_to_all(formula)
            swapping = self._searches.swapping(weighing)
            yield from first_turns(self._walker, swapping, weighing, formula)
            if self.standing.satisfies(weighing):
                swapping = None
            else:
                self._lead(weighing, swapping)
                if close:
                    yield from led_turns(weighing)
        swaps = wishes_are_literals(formula) and swapping_is_possible(formula)
        vain: dict[type[Search], int] = {Growing: _MOST_VAIN}
        late: dict[Search, int] = {}
        self.asking = not formula.num_hard and _nearly_all(weighing.cost(), formula)
        if swapping is None and not weighing.cost()[0]:
            yield weighing, OPENING
        least: tuple[int, int] | None = None  # of clause weighting, a turn ago
        parts = NeighbouringTurns(self._walker, self._searches)
        for _ in rounds(self._walker):
            if swapping is not None or least == weighing.cost():
                yield from parts.turns(weighing, turn)
                if parts.found is not None:
                    self._lead(weighing, parts.found)
            cost, best = weighing.cost(), weighing.best()
            asks: list[Asking] = []
            if growing is not None and cost < growing.cost():
                growing = None
            if growing is None and not parts.pays and not cost[0] and least in (None, cost):
                growing = Growing(formula, work.target, best, stop)
            exchanged = swaps or (swapping is not None and cost[0] > 0)
            in_vain = swapping is not None or least == cost
            led = exchanged and (in_vain or not self.standing.satisfies(weighing))
            if led and (growing is None or growing.given_up):
                swapping = swapping or self._searches.swapping(weighing)
                if cost < swapping.cost():
                    swapping.adopt(best, stop)
                for each in (weighing,) if swapping.given_up else (swapping, weighing):
                    yield each, self.standing.less(each, turn, late)
                self._lead(weighing, swapping)
                turn, least = 2 * turn, cost
                continue
            if not formula.num_hard and _nearly_all(cost, formula):
                together = together or Together(formula, work.target, best, stop)
                self.asking = not together.given_up
                asks.append(together)
            if growing is not None and not (together and together.is_last(growing.cost())):
                asks.append(growing)
            searches: list[Search] = [*(each for each in asks if not each.given_up), weighing]
            far = together is not None and cost[1] > _CLOSE * formula.total_weight
            for search in searches:
                before, kind = search.cost(), type(search)
                halved = vain.get(kind, 0)
                if led:
                    less = self.standing.less(search, turn, late)
                    yield search, less if search is weighing else turn
                elif far:
                    yield search, turn if search is weighing else turn >> max(_QUARTER, halved)
                else:
                    yield search, turn >> halved
                found = len(searches) == 1 or search is together or search.cost() < before
                most = _QUARTER if search is weighing and together else _MOST_VAIN
                vain[kind] = 0 if found else min(most, halved + 1)
            turn, least = 2 * turn, cost
            if growing is not None and growing.given_up:
                self._lead(weighing, growing)

    def _lead(self, weighing: Weighing, search: Search) -> None:
        """Have clause weighting go on from what another search has, if that is better."""
        if search.cost() < weighing.cost():
            self.standing.lead(weighing)
            weighing.adopt(search.best(), self._walker.stop)

    def _covering_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting and the search for covers by turns: who is behind at first may be ahead later."""
        covering = self._searches.covering(weighing.best())
        yield covering, turn
        for _ in rounds(self._walker):
            turn *= 2
            yield weighing, turn
            yield covering, turn
