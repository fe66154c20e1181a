"""Turns of clause weighting, and of who asks a solver beside it, where clauses are too many for cores."""

from __future__ import annotations

from collections.abc import Iterator

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.asking import Asking
from hardscape.maxsat.methods.asking.growing import Growing, Together
from hardscape.maxsat.methods.asking.swaps import Swapping, swapping_is_possible
from hardscape.maxsat.methods.walkers.beginning import Letting, Searches
from hardscape.maxsat.methods.walkers.neighbouring_turns import NeighbouringTurns
from hardscape.maxsat.methods.walkers.openings import (
    finding_turns,
    first_turns,
    led_turns,
    plain_turns,
)
from hardscape.maxsat.methods.walkers.rounds import rounds
from hardscape.maxsat.methods.walkers.standing import Standing
from hardscape.maxsat.methods.weighting.searches import Search, Weighing, wishes_are_literals

#: Share of the weight that violated clauses may have where a solver is asked for all.
_LITTLE = 0.02
#: Flips of clause weighting before that: a solver tries the values of its best.
_BEFORE_ALL = 100_000
#: Share of the weight above which violated clauses leave it open whether all can hold: clause weighting has
#: whole turns then, and who asks for all no more than a quarter, which takes as long.
_CLOSE = 0.001
#: How often turns of who was in vain are halved at most, where a solver grows sets; those of clause weighting
#: beside the question for all, once less.
MOST_VAIN, _QUARTER = 3, 2


def nearly_all(cost: tuple[int, int], formula: Formula) -> bool:
    """Whether no clause is hard, and at such a cost so little is violated that all may hold together."""
    little = cost[0] == 0 and cost[1] <= _LITTLE * formula.total_weight
    return not formula.num_hard and little


class GrowingTurns:
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

    def __init__(self, walker: Letting, searches: Searches, standing: Standing) -> None:
        self._walker, self._searches, self._standing = walker, searches, standing
        formula = walker.work.formula
        self._can_swap = swapping_is_possible(formula)
        self._wishes = self._can_swap and wishes_are_literals(formula)
        self._parts = NeighbouringTurns(walker, searches)
        self._growing: Growing | None = None
        self._together: Together | None = None
        self._swapping: Swapping | None = None
        self._vain: dict[type[Search], int] = {Growing: MOST_VAIN}
        self._late: dict[Search, int] = {}
        self.asking = False  # a solver whether all clauses can hold, where none is hard

    def turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Searches in turn, beside clause weighting that had its first turns, and how many flips each has."""
        if weighing.cost()[0] and self._can_swap:
            yield from self._first_turns(weighing)
        self.asking = nearly_all(weighing.cost(), self._walker.work.formula)
        if self.asking:
            yield weighing, _BEFORE_ALL
        elif self._swapping is None and not weighing.cost()[0]:
            yield from finding_turns(weighing, self._walker.work.formula)
        if self._can_swap and not weighing.cost()[0]:
            yield from plain_turns(self._walker, weighing)
        least: tuple[int, int] | None = None  # of clause weighting, a turn ago
        for _ in rounds(self._walker):
            if self._swapping is not None or least == weighing.cost():
                yield from self._parts.turns(weighing, turn)
                if self._parts.found is not None:
                    self._standing.follow(weighing, self._parts.found, self._walker.stop)
            cost = weighing.cost()
            self._grow(weighing, begins=least in (None, cost))
            stands = self._swapping is not None or least == cost
            exchanges = self._wishes or (self._swapping is not None and cost[0] > 0)
            led = exchanges and (stands or not self._standing.satisfies(weighing))
            if led and (self._growing is None or self._growing.given_up):
                yield from self._exchanging_turns(weighing, turn)
            else:
                yield from self._asking_turns(weighing, turn, led)
            turn, least = 2 * turn, cost

    def _first_turns(self, weighing: Weighing) -> Iterator[tuple[Search, int]]:
        """A solver that is asked for a first assignment, and clause weighting that goes on from there."""
        close = weighing.cost()[0] <= self._standing.close
        swapping = self._searches.swapping(weighing)
        yield from first_turns(self._walker, swapping, weighing, self._standing)
        if self._standing.satisfies(weighing):
            return
        self._swapping = swapping
        self._standing.follow(weighing, swapping, self._walker.stop)
        if close:
            yield from led_turns(weighing)

    def _grow(self, weighing: Weighing, *, begins: bool) -> None:
        """Have sets grow from the best assignment of clause weighting, anew where that is better."""
        work, cost = self._walker.work, weighing.cost()
        if self._growing is not None and cost < self._growing.cost():
            self._growing = None
        if self._growing is None and begins and not self._parts.pays and not cost[0]:
            self._growing = Growing(work.formula, work.target, weighing.best(), self._walker.stop)

    def _exchanging_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Exchanges from the best assignment and clause weighting, the less for who stays behind."""
        swapping = self._swapping = self._swapping or self._searches.swapping(weighing)
        if weighing.cost() < swapping.cost():
            swapping.adopt(weighing.best(), self._walker.stop)
        for each in (weighing,) if swapping.given_up else (swapping, weighing):
            # Its flips take a part of the time that others' do: as many cost little.
            cheap = each is weighing and self._standing.satisfies(weighing)
            yield each, turn if cheap else self._standing.less(each, turn, self._late)
        self._standing.follow(weighing, swapping, self._walker.stop)

    def _asking_turns(
        self, weighing: Weighing, turn: int, led: bool
    ) -> Iterator[tuple[Search, int]]:
        """Who asks for all clauses, what grows, and clause weighting, the less for who was in vain."""
        asks = [each for each in self._askers(weighing) if not each.given_up]
        searches: list[Search] = [*asks, weighing]
        total, together = self._walker.work.formula.total_weight, self._together
        far = together is not None and together.tried and weighing.cost()[1] > _CLOSE * total
        for search in searches:
            before, kind = search.cost(), type(search)
            halved = self._vain.get(kind, 0)
            if led:
                less = self._standing.less(search, turn, self._late)
                yield search, less if search is weighing else turn
            elif far:
                yield search, turn if search is weighing else turn >> max(_QUARTER, halved)
            else:
                yield search, turn >> halved
            found = not asks or search is together or search.cost() < before
            most = _QUARTER if search is weighing and together else MOST_VAIN
            self._vain[kind] = 0 if found else min(most, halved + 1)
        if self._growing is not None and self._growing.given_up:
            self._standing.follow(weighing, self._growing, self._walker.stop)

    def _askers(self, weighing: Weighing) -> Iterator[Asking]:
        """Who asks a solver beside clause weighting: for all clauses, and for more and more of them."""
        work = self._walker.work
        if nearly_all(weighing.cost(), work.formula):
            best = weighing.best()
            self._together = self._together or Together(
                work.formula, work.target, best, self._walker.stop
            )
            self.asking = not self._together.tried
            yield self._together
        growing = self._growing
        if growing is not None and not (self._together and self._together.is_last(growing.cost())):
            yield growing
