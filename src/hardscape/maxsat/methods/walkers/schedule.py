"""Which search has the next flips of a walker, and how many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.asking import Asking
from hardscape.maxsat.methods.asking.growing import Growing, Together
from hardscape.maxsat.methods.asking.swaps import Swapping, swapping_is_possible
from hardscape.maxsat.methods.hitting.vertex import RESTS, vertex_pays, whole_vertices
from hardscape.maxsat.methods.installed import can_ask
from hardscape.maxsat.methods.walkers.random_turns import Searches, random_turns
from hardscape.maxsat.methods.walkers.rounds import rounds
from hardscape.maxsat.methods.walkers.standing import FALLING, Standing, close_to_all
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.methods.weighting.searches import (
    Covering,
    Diagnosing,
    Hitting,
    Search,
    Surveying,
    Walking,
    Weighing,
    asks_for_a_cover,
    looks_random,
    wishes_are_literals,
)
from hardscape.maxsat.task import SMALL

#: Flips of the clause-weighting search before another search has its first turn, and literals from which on
#: soft clauses are no longer exchanged.
_FIRST_ALONE, _MOST_SWAPPED = 8_000, 200_000
#: Literals above which clause weighting is alone: no solver is asked, nor are cores or circuits looked for.
_MOST_LITERALS = 3_000_000
#: Flips of a search by cores before any other where soft clauses are no longer exchanged, as long as few wishes
#: hit all cores; of clause weighting behind it, as long as that falls; and before sets are grown from its best.
_OPENING = 200_000
#: Rounds of two searches before a third one exchanges soft clauses; where none satisfies the hard ones it
#: begins once both had so many flips on each variable, if clause weighting does not fall.
_BEFORE_SWAPS, _YOUNG = 5, 8
#: Flips, about, of a solver that is asked for a first assignment, before others go on.
_ASKED = 600_000
#: Share of the weight that violated clauses may have where a solver is asked for all.
_LITTLE = 0.02
#: Beside a search by cores turns begin so many times shorter, and its own first one is so many of them.
_SHORT, _AHEAD = 8, 4
#: Share of the weight above which violated clauses leave it open whether all can hold: clause weighting has
#: whole turns then, and who asks for all no more than a quarter, which takes as long.
_CLOSE = 0.001
#: How often turns of who was in vain are halved at most, where a solver grows sets; those of clause weighting
#: beside the question for all, once less.
_MOST_VAIN, _QUARTER = 3, 2
#: Flips of a search by cores before any other, as long as few wishes hit them all; and at least in the first
#: turn of clause weighting behind it.
_START = 50_000
#: Literals up to which linear programs are solved at once, and what part of its first turn the search by cores
#: has before; of other formulas flips a literal before that, which take as long as the first ones. After a rest
#: they go on when so many times as many flips are done.
_SOON, _BEFORE_SOON, _LATER, _RESTED = 4000, 4, 4, 4


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


class _Aim(Protocol):
    """What searches begin with."""

    @property
    def formula(self) -> Formula: ...
    @property
    def walk(self) -> bool: ...
    @property
    def seed(self) -> int: ...
    @property
    def target(self) -> int: ...
    @property
    def options(self) -> WeightingOptions: ...


class _Walker(Protocol):
    """Who lets them go."""

    flips: int
    stop: NDArray[np.uint8]

    @property
    def work(self) -> _Aim: ...
    def interrupted(self) -> bool: ...
    def take(self, search: Search) -> None: ...


class Schedule:
    """Turns of the random walk, of clause weighting, and of what else suits the formula, for one walker."""

    def __init__(self, walker: _Walker, stream: int, initial: NDArray[np.uint8] | None) -> None:
        self._walker = walker
        self._stream, self._initial = stream, initial
        self.standing = Standing(walker, walker.work.formula)
        self.asking = False  # a solver whether all clauses can hold, where none is hard

    def __iter__(self) -> Iterator[tuple[Search, int]]:
        """Searches in turn, and how many flips each has."""
        work = self._walker.work
        if not (work.walk and looks_random(work.formula)):
            yield from self._weighted_turns()
            return
        first = self._stream, self._initial
        searches = Searches(self._walking, self._weighing, self._surveying)
        yield from random_turns(self._walker, work.formula, *first, searches)

    def _walking(self, stream: int, initial: NDArray[np.uint8] | None) -> Walking:
        work = self._walker.work
        return Walking(work.formula, work.seed, stream, initial, self._walker.stop)

    def _surveying(self, stream: int) -> Surveying:
        work, stop = self._walker.work, self._walker.stop
        return Surveying(work.formula, work.target, work.seed, stream, stop)

    def _weighing(self, initial: NDArray[np.uint8] | None) -> Weighing:
        work = self._walker.work
        how = work.options, work.target, work.seed
        return Weighing(work.formula, *how, self._stream, initial, self._walker.stop)

    def _weighted_turns(self) -> Iterator[tuple[Search, int]]:
        work = self._walker.work
        formula = work.formula
        turn = _FIRST_ALONE + formula.num_variables
        cover, size = asks_for_a_cover(formula), len(formula.literals)
        mixed = 0 < formula.num_hard < formula.num_clauses
        if mixed and not cover and size <= _MOST_LITERALS and not self._stream:
            diagnosing = self._diagnosing()  # has tables that the next search shares
            while (
                not diagnosing.given_up or self._walker.interrupted()
            ):  # proven: no other one begins
                yield diagnosing, turn // _SHORT
            if diagnosing.cost()[0] == 0:
                self._initial = diagnosing.best()
            self.standing.leave(diagnosing)
        if size <= _MOST_SWAPPED and mixed and not cover:
            yield from self._hitting_turns(turn // _SHORT)
            return
        if mixed and not cover and size <= _MOST_LITERALS and wishes_are_literals(formula):
            yield from self._opened_turns(turn)
            return
        weighing = self._weighing(self._initial)
        if cover:
            yield weighing, turn
            yield from self._covering_turns(weighing, turn)
            return
        yield from self._falling_turns(weighing, turn)
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
        """The same after a search by cores, which goes on as long as few wishes hit them all, or it is best."""
        work = self._walker.work
        hitting = Hitting(
            work.formula, work.target, work.seed, self._stream, self._initial, self._walker.stop
        )
        yield hitting, turn // _SHORT
        until = self._walker.flips + _OPENING
        while hitting.few and not hitting.given_up and self._walker.flips < until:
            yield hitting, turn // _SHORT
        feasible = hitting.cost()[0] == 0
        beside = hitting if feasible or hitting.few else None
        weighing = self._weighing(hitting.best() if feasible else self._initial)
        del hitting  # its memory, where it has ended
        yield from self._falling_turns(weighing, turn)
        for search, part in self._grown_turns(weighing, turn):
            if beside is not None:
                better = weighing.cost() < beside.cost()
                if beside.given_up or (better and not beside.few):
                    beside = None
                else:
                    if better and not weighing.cost()[0]:
                        beside.adopt(weighing.best(), self._walker.stop)
                    yield beside, part
                    if beside.cost() < weighing.cost():
                        weighing.adopt(beside.best(), self._walker.stop)
            yield search, part

    def _diagnosing(self) -> Diagnosing:
        """The search for faults, which is over where the formula is no circuit."""
        work = self._walker.work
        return Diagnosing(
            work.formula, work.target, work.seed, self._stream, None, self._walker.stop
        )

    def _hitting_turns(self, turn: int) -> Iterator[tuple[Search, int]]:
        """Cores of propagation, clause weighting, before or behind, and later exchanges by a solver.

        Who stays behind has ever less of the turns: who found nothing as good as another, also where that was
        adopted. As long as none has satisfied the hard clauses, all are behind the solver but clause weighting
        that comes close.
        """
        work = self._walker.work
        how = work.seed, self._stream
        weighs = looks_random(work.formula) or not wishes_are_literals(work.formula)
        initial = self._initial
        if weighs:
            weighing = self._weighing(initial)
            yield weighing, turn
            initial = weighing.best()
        hitting = Hitting(work.formula, work.target, *how, initial, self._walker.stop)
        short, size = turn, len(work.formula.literals)
        programs = not (weighs or self._stream) and vertex_pays(work.formula)
        soon = programs and size <= _SOON
        yield hitting, turn // _BEFORE_SOON if soon else turn
        vertices = self._vertex_turns(hitting, short) if programs else iter(())
        go_on = _LATER * size
        if soon:
            yield from iter(lambda: next(vertices, None), None)  # until a rest
            go_on = _RESTED * self._walker.flips
        if not weighs:
            yield hitting, (_AHEAD - 1) * turn
            while hitting.few and not hitting.given_up and self._walker.flips < _START:
                yield hitting, turn
            weighing = self._weighing(initial)
            if size <= SMALL:
                yield weighing, turn
            else:
                yield from self._falling_turns(weighing, max(_START, self._walker.flips))
        searches: list[Hitting | Weighing | Swapping] = [hitting, weighing]
        late: dict[Search, int] = {}
        hard = weighing.cost()[0]
        for count in rounds(self._walker):
            if self._walker.flips >= go_on:
                self._tell_best(hitting, searches)
                yield from iter(lambda: next(vertices, None), None)  # until a rest
                go_on = _RESTED * self._walker.flips
            best = min(searches, key=lambda each: each.cost())
            hard, before = weighing.cost()[0], hard
            young = self._walker.flips < _YOUNG * work.formula.num_variables
            falls = young or hard <= FALLING * before
            ready = count > _BEFORE_SWAPS or (best.cost()[0] > 0 and not falls)
            if ready and len(searches) == 2 and swapping_is_possible(work.formula):
                swapping = self._swapping(best)
                yield from self._first_turns(swapping)
                searches.append(swapping)
                self.standing.note(swapping)
            # Its flips take a part of the time that others' do: as many cost little.
            cheap = self.standing.satisfies(weighing)
            swappings = searches[:1:-1]
            order = [weighing, *swappings] if cheap else [*swappings, weighing]
            for search in [*order, hitting]:
                if isinstance(search, Hitting):
                    self._tell_best(search, searches)
                if isinstance(search, Weighing) or not search.given_up:
                    whole = (
                        turn if weighs and search is weighing else self.standing.whole(search, turn)
                    )
                    in_full = cheap and search is weighing
                    yield search, whole if in_full else self.standing.less(search, whole, late)
            turn *= 2

    def _swapping(self, best: Search) -> Swapping:
        """Exchanges of soft clauses, from the best assignment or, where that is none, from one near it."""
        work = self._walker.work
        how = work.seed, self._stream, work.target, best.best()
        far = best.cost()[0] > close_to_all(work.formula)
        return Swapping(work.formula, *how, self._walker.stop, far=far)

    def _first_turns(self, swapping: Swapping) -> Iterator[tuple[Search, int]]:
        """A solver that is asked for a first assignment where none is known, alone up to a limit."""
        until = self._walker.flips + _ASKED
        while swapping.cost()[0] and not swapping.given_up and self._walker.flips < until:
            yield swapping, _FIRST_ALONE

    def _falling_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting as long as each turn leaves far fewer hard clauses violated, up to a limit.

        Most formulas that it satisfies without a solver it satisfies by then.
        """
        until, most = self._walker.flips + _OPENING, math.inf
        while self._walker.flips < until:
            yield weighing, turn
            hard = weighing.cost()[0]
            if not 0 < hard <= most:
                return
            most = FALLING * hard

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
            if found is not None:
                hitting.adopt(found, self._walker.stop)
            if hitting.cost()[0] == 0:  # else it may have nothing yet
                self.standing.note(hitting)
                self._walker.take(hitting)
            yield hitting, turn // 2
        if hitting.given_up:  # has its bound told
            yield hitting, turn

    def _growing_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting, what grows from its best, and all clauses together where little is violated.

        Who is in vain has half of its turn, and half again, but for who asks for all, where no clause is hard:
        that is in vain until it has the answer, and has less only where much is violated. What grows begins
        again where clause weighting has found something better, then nothing in a turn, and has nothing where
        only all clauses are better.
        Where clause weighting violates hard clauses a solver is asked for a first assignment from which it goes
        on; where it has never satisfied them itself, or once found nothing in a turn, wishes that are literals
        are exchanged when no other clause can join, and who of the two stays behind has ever less of the turns.
        """
        work, stop = self._walker.work, self._walker.stop
        formula = work.formula
        growing: Growing | None = None
        together: Together | None = None
        swapping: Swapping | None = None
        if weighing.cost()[0] and asks_first(formula):
            swapping = self._swapping(weighing)
            yield from self._first_turns(swapping)
            self._lead(weighing, swapping)
        swaps = wishes_are_literals(formula) and swapping_is_possible(formula)
        vain: dict[type[Search], int] = {Growing: _MOST_VAIN}
        late: dict[Search, int] = {}
        self.asking = not formula.num_hard and _nearly_all(weighing.cost(), formula)
        if swapping is None and not weighing.cost()[0]:
            yield weighing, _OPENING
        least: tuple[int, int] | None = None  # of clause weighting, a turn ago
        for _ in rounds(self._walker):
            cost, best = weighing.cost(), weighing.best()
            asks: list[Asking] = []
            if growing is not None and cost < growing.cost():
                growing = None
            if growing is None and not cost[0] and least in (None, cost):
                growing = Growing(formula, work.target, best, stop)
            exchanged = swaps or (swapping is not None and cost[0] > 0)
            in_vain = swapping is not None or least == cost
            led = exchanged and (in_vain or not self.standing.satisfies(weighing))
            if led and (growing is None or growing.given_up):
                swapping = swapping or self._swapping(weighing)
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
                    yield search, self.standing.less(search, turn, late)
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
        work = self._walker.work
        how = work.target, work.seed, self._stream, weighing.best()
        covering = Covering(work.formula, *how, self._walker.stop)
        yield covering, turn
        for _ in rounds(self._walker):
            turn *= 2
            yield weighing, turn
            yield covering, turn
