"""Turns of cores, clause weighting and exchanges on formulas whose soft clauses are few enough for these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.methods.asking.swaps import Swapping, swapping_is_possible
from hardscape.maxsat.methods.hitting.vertex import RESTS, vertex_pays, whole_vertices
from hardscape.maxsat.methods.walkers.beginning import Letting, Searches
from hardscape.maxsat.methods.walkers.openings import falling_turns, first_turns, plain_turns
from hardscape.maxsat.methods.walkers.rounds import rounds
from hardscape.maxsat.methods.walkers.standing import FALLING, Standing
from hardscape.maxsat.methods.weighting.searches import (
    Hitting,
    Search,
    Weighing,
    looks_random,
    wishes_are_literals,
)
from hardscape.maxsat.task import SMALL

#: Rounds of two searches before a third one exchanges soft clauses; where none satisfies the hard ones it
#: begins once both had so many flips on each variable, if clause weighting does not fall.
_BEFORE_SWAPS, _YOUNG = 5, 8
#: The first turn of the search by cores in turns.
_AHEAD = 4
#: Flips of a search by cores before any other, as long as few wishes hit them all; and at least in the first
#: turn of clause weighting behind it.
_START = 50_000
#: Literals up to which linear programs are solved at once, and what part of its first turn the search by cores
#: has before; of other formulas flips a literal before that, which take as long as the first ones. After a rest
#: they go on when so many times as many flips are done.
_SOON, _BEFORE_SOON, _LATER, _RESTED = 4000, 4, 4, 4


class HittingTurns:
    """Cores of propagation, clause weighting, before or behind, and later exchanges by a solver.

    Who stays behind has ever less of the turns: who found nothing as good as another, also where that was
    adopted. As long as none has satisfied the hard clauses, all are behind the solver but clause weighting
    that comes close. Clause weighting goes its own way; the others go on from the best. Vertices of linear
    programs are only for the `first` of several walkers.
    """

    def __init__(
        self, walker: Letting, searches: Searches, standing: Standing, *, first: bool
    ) -> None:
        self._walker, self._searches, self._standing = walker, searches, standing
        self._first = first
        formula = walker.work.formula
        # Whether clause weighting comes before cores.
        self._weighs = looks_random(formula) or not wishes_are_literals(formula)
        self._vertices: Iterator[tuple[Search, int] | None] = iter(())
        self._go_on = _LATER * len(formula.literals)  # with these, after so many flips
        self._late: dict[Search, int] = {}
        self.opens = True  # whether not both of the first searches have had their turns
        self.solved = False  # whether a linear program was, and others would follow

    def turns(self, initial: NDArray[np.uint8] | None, turn: int) -> Iterator[tuple[Search, int]]:
        """Searches in turn, from a first assignment or none, and how many flips each has."""
        formula, weighing = self._walker.work.formula, None
        if self._weighs:
            weighing = self._begin_weighing(initial)
            yield weighing, turn
            initial = weighing.best()
        hitting = self._searches.hitting(initial)
        programs = self._first and not self._weighs and vertex_pays(formula)
        soon = programs and len(formula.literals) <= _SOON
        yield hitting, turn // _BEFORE_SOON if soon else turn
        if soon and hitting.cost()[0] > 0:  # a vertex is seldom near to what it cannot satisfy
            weighing = self._begin_weighing(initial)
            yield weighing, turn
        if programs:
            self._vertices = self._vertex_turns(hitting, turn)
        if soon:
            yield from self._until_a_rest()
        if not self._weighs:
            yield from self._more_cores(hitting, turn)
        if weighing is None:
            weighing = self._begin_weighing(initial)
            yield from self._first_weighing(weighing, turn)
        self.opens = False
        yield from self._rounds(hitting, weighing, turn)

    def _begin_weighing(self, initial: NDArray[np.uint8] | None) -> Weighing:
        """Clause weighting, which goes its own way from a first assignment or none."""
        self._standing.apart = weighing = self._searches.weighing(initial)
        return weighing

    def _more_cores(self, hitting: Hitting, turn: int) -> Iterator[tuple[Search, int]]:
        """The search by cores before clause weighting, on and on while few wishes hit them all."""
        yield hitting, (_AHEAD - 1) * turn
        while hitting.few and not hitting.given_up and self._walker.flips < _START:
            yield hitting, turn

    def _first_weighing(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting behind cores, as long as it falls where the formula is not small."""
        if len(self._walker.work.formula.literals) <= SMALL:
            yield weighing, turn
        else:
            yield from falling_turns(self._walker, weighing, max(_START, self._walker.flips))

    def _rounds(
        self, hitting: Hitting, weighing: Weighing, turn: int
    ) -> Iterator[tuple[Search, int]]:
        """Turns of all, ever longer, and of a solver from when it is likely to find more than they do."""
        formula = self._walker.work.formula
        searches: list[Hitting | Weighing | Swapping] = [hitting, weighing]
        hard = weighing.cost()[0]
        for count in rounds(self._walker):
            if self._walker.flips >= self._go_on:
                self._tell_best(hitting, searches)
                yield from self._until_a_rest()
            best = min(searches, key=lambda each: each.cost())
            hard, before = weighing.cost()[0], hard
            young = self._walker.flips < _YOUNG * formula.num_variables
            falls = young or hard <= FALLING * before
            ready = count > _BEFORE_SWAPS or (best.cost()[0] > 0 and not falls)
            if ready and len(searches) == 2 and swapping_is_possible(formula):
                if best.cost()[0] == 0 and hitting.lower == 0:
                    yield from plain_turns(self._walker, best)
                swapping = self._searches.swapping(best)
                yield from first_turns(self._walker, swapping, weighing, self._standing)
                searches.append(swapping)
            yield from self._round(searches, turn)
            turn *= 2

    def _round(
        self, searches: Sequence[Hitting | Weighing | Swapping], turn: int
    ) -> Iterator[tuple[Search, int]]:
        """A turn of each: of a solver, if there is one, of clause weighting, and of the search by cores."""
        hitting, weighing, *swapping = searches
        # Its flips take a part of the time that others' do: as many cost little.
        cheap = self._standing.satisfies(weighing)
        order = [weighing, *swapping] if cheap else [*swapping, weighing]
        for search in [*order, hitting]:
            if isinstance(search, Hitting):
                self._tell_best(search, searches)
            if isinstance(search, Weighing) or not search.given_up:
                in_full = self._weighs and search is weighing
                whole = turn if in_full else self._standing.whole(search, turn)
                less = not (cheap and search is weighing)
                yield search, self._standing.less(search, whole, self._late) if less else whole

    def _until_a_rest(self) -> Iterator[tuple[Search, int]]:
        """Linear programs, and cores from their vertices, until others should have their turns."""
        yield from iter(lambda: next(self._vertices, None), None)
        self._go_on = _RESTED * self._walker.flips

    def _tell_best(
        self, hitting: Hitting, searches: Sequence[Hitting | Weighing | Swapping]
    ) -> None:
        """Have the search by cores go on from another one's assignment that is better."""
        best = min(searches, key=lambda each: each.cost())
        if best.cost()[0] == 0 and best.cost() < hitting.cost():
            hitting.adopt(best.best(), self._walker.stop)

    def _vertex_turns(self, hitting: Hitting, turn: int) -> Iterator[tuple[Search, int] | None]:
        """Have the search by cores go on from whole vertices of the linear program, with turns in between.

        None where others should have theirs.
        """
        if hitting.given_up:
            return

        def known() -> float:
            hard, cost = hitting.cost()
            return math.inf if hard else float(cost)

        for found in whole_vertices(self._walker.work.formula, hitting, known):
            if found is RESTS:
                yield None
                continue
            self.solved = True
            if found is not None:
                hitting.adopt(found, self._walker.stop)
            if hitting.cost()[0] == 0:  # else it may have nothing yet
                self._standing.note(hitting)
                self._walker.take(hitting)
            yield hitting, turn // 2
        if hitting.given_up:  # has its bound told
            yield hitting, turn
