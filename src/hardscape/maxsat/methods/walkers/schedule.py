"""Which search has the next flips of a walker, and how many."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.growing import Growing, Together
from hardscape.maxsat.methods.asking.swaps import Swapping, swapping_is_possible
from hardscape.maxsat.methods.hitting.vertex import RESTS, vertex_pays, whole_vertices
from hardscape.maxsat.methods.installed import can_ask
from hardscape.maxsat.methods.walkers.rounds import rounds
from hardscape.maxsat.methods.walkers.standing import FALLING, Standing, close_to_all
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.methods.weighting.searches import (
    Covering,
    Diagnosing,
    Hitting,
    Search,
    Walking,
    Weighing,
    asks_for_a_cover,
    looks_random,
    wishes_are_literals,
)
from hardscape.maxsat.task import SMALL

#: Flips of the first turn of the random walk and, on each variable, more; turns double.
_FIRST_TURN, TURN_PER_VARIABLE = 200_000, 50
#: Flips of the clause-weighting search before another search has its first turn; literals from which on
#: soft clauses are no longer exchanged, and those from which on no SAT solver is asked.
_FIRST_ALONE, _MOST_SWAPPED, _MOST_GROWN = 8_000, 200_000, 3_000_000
#: Literals above which no search by cores begins; and its flips before any other where soft clauses are no
#: longer exchanged, as long as few wishes hit all cores, and those of clause weighting behind it, as long as
#: that falls.
_MOST_HIT, _OPENING = 3_000_000, 200_000
#: Literals above which no circuit is looked for.
_MOST_DIAGNOSED = 3_000_000
#: Rounds of two searches before a third one exchanges soft clauses; where none satisfies the hard ones it
#: begins once both had so many flips on each variable, if clause weighting does not fall.
_BEFORE_SWAPS, _YOUNG = 5, 8
#: Flips, about, of a solver that is asked for a first assignment, before others go on.
_ASKED = 600_000
#: Share of the weight that violated clauses may have where a solver is asked for all.
_LITTLE = 0.02
#: What the better one of two searches has, in turns of the other.
_LESS = 4
#: Beside a search by cores turns begin so many times shorter, and its own first one is so many of them.
_SHORT, _AHEAD = 8, 4
#: Where a random walk does not fall another one has a turn from its best assignment, in equal parts by such
#: powers of its probabilities: the greedier it is, the deeper it gets. Streams lie so far apart.
_GREEDIER, _GREEDY = (1.1, 1.2, 1.3, 1.4, 1.5), 1 << 32
#: How often turns of who asks a solver are halved at first and half of the most, beside clause weighting that
#: gets on; and where no clause is hard those of who was in vain at most.
_VAIN, _MOST_VAIN = 3, 2
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
    return len(formula.literals) <= _MOST_GROWN and swapping_is_possible(formula)


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
        random = work.walk and looks_random(work.formula)
        yield from self._random_turns() if random else self._weighted_turns()

    def _random_turns(self) -> Iterator[tuple[Search, int]]:
        """The random walk, and where it does not fall one that cools and clause weighting."""
        formula, seed = self._walker.work.formula, self._walker.work.seed
        walking = Walking(formula, seed, self._stream, self._initial, self._walker.stop)
        best, weighing = walking, None
        turn = _FIRST_TURN + TURN_PER_VARIABLE * formula.num_variables
        close = close_to_all(formula)  # then no weights are learnt
        streams = itertools.count(self._stream + _GREEDY, _GREEDY)
        for _ in rounds(self._walker):
            before = walking.quality[0]
            behind = weighing is not None and weighing.cost() < best.cost()
            yield walking, turn // _LESS if behind else turn
            best = min(best, walking, key=lambda each: each.quality)
            if walking.quality[0] > FALLING * before:
                if not behind:
                    how = seed, next(streams), walking.best()
                    cooling = Walking(formula, *how, self._walker.stop)
                    for power in _GREEDIER:
                        cooling.cool(power)
                        yield cooling, turn // len(_GREEDIER)
                    best = min(best, cooling, key=lambda each: each.quality)
                if best.quality[0] > close:
                    weighing = weighing or self._weighing(best.best())
                    yield weighing, turn
            turn *= 2

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
        if mixed and not cover and size <= _MOST_DIAGNOSED and not self._stream:
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
        if mixed and not cover and size <= _MOST_HIT and wishes_are_literals(formula):
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
        if len(formula.literals) <= _MOST_GROWN and not looks_random(formula) and can_ask():
            if formula.num_hard:
                yield from self._growing_turns(weighing, turn)
            else:
                yield from self._soft_turns(weighing, turn)
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

    def _soft_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting, and where little is violated all clauses together and what grows; none is hard.

        Who is in vain has half of its turn, then a quarter, but for who asks for all, which is in vain until it
        has the answer. What grows begins again where clause weighting has found something better.
        """
        work, stop = self._walker.work, self._walker.stop
        growing: Growing | None = None
        together: Together | None = None
        late: dict[type[Search], int] = {}
        self.asking = _nearly_all(weighing.cost(), work.formula)
        yield weighing, _OPENING
        for _ in rounds(self._walker):
            searches: list[Search] = [weighing]
            if _nearly_all(weighing.cost(), work.formula):
                known = work.formula, work.target, weighing.best(), stop
                if growing is None or weighing.cost() < growing.cost():
                    growing = Growing(*known)
                together = together or Together(*known)
                asks = [together] if together.is_last(growing.cost()) else [together, growing]
                searches = [*(each for each in asks if not each.given_up), weighing]
                self.asking = not together.given_up
            for search in searches:
                before, kind = search.cost(), type(search)
                yield search, turn >> late.get(kind, 0)
                vain = len(searches) > 1 and search is not together and search.cost() >= before
                late[kind] = vain * min(_MOST_VAIN, late.get(kind, 0) + 1)
            turn *= 2
            if growing is not None and growing.given_up:
                self._lead(weighing, growing)

    def _asked(
        self,
        search: Growing | Together | None,
        turn: int,
        weighing: Weighing,
        vain: dict[type[Search], int],
    ) -> Iterator[tuple[Search, int]]:
        """The turn of who asks a solver, if it has one.

        Where clause weighting satisfies hard clauses by itself it is halved some times, since what counts as a
        flip takes a solver longer: once more for each of its kind that was in vain, once less for others.
        """
        if search is None or search.given_up:
            return
        before, kind = search.cost(), type(search)
        count = vain.get(kind, _VAIN)
        yield search, turn >> count if self.standing.satisfies(weighing) else turn
        vain[kind] = max(0, count - 1) if search.cost() < before else min(2 * _VAIN, count + 1)

    def _growing_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """What grows begins again where clause weighting has found something better, then nothing in a turn.

        Where little is violated a solver is asked for all clauses, too, in half of a turn; in a whole one, and
        others have less or nothing, where nothing else is better.
        Where clause weighting violates the hard ones a solver is asked for a first assignment from which both
        begin. Where it has never satisfied them itself, wishes that are literals are exchanged when no more can
        join, and who stays behind has ever less of the turns.
        """
        work = self._walker.work
        together: Together | None = None
        swapping: Swapping | None = None
        if weighing.cost()[0] and asks_first(work.formula):
            swapping = self._swapping(weighing)
            yield from self._first_turns(swapping)
            self._lead(weighing, swapping)
        swaps = wishes_are_literals(work.formula) and swapping_is_possible(work.formula)
        searches: list[Weighing | Swapping] = [weighing]
        late: dict[Search, int] = {}
        vain: dict[type[Search], int] = {}
        for _ in rounds(self._walker):
            growing = Growing(work.formula, work.target, weighing.best(), self._walker.stop)
            if together is None and _nearly_all(growing.cost(), work.formula):
                together = Together(work.formula, work.target, weighing.best(), self._walker.stop)
            better = False
            while not (better or growing.given_up):
                last = together is not None and together.is_last(growing.cost())
                if not last:
                    yield from self._asked(growing, turn, weighing, vain)
                turn *= 2
                yield from self._asked(together, turn if last else turn // 2, weighing, vain)
                whole = turn // _LESS if last else turn
                yield (
                    weighing,
                    whole
                    if self.standing.satisfies(weighing)
                    else self.standing.less(weighing, whole, late),
                )
                better = weighing.cost() < growing.cost()
            self._lead(weighing, growing)
            known = before = weighing.cost()
            for _ in rounds(self._walker):
                if before == weighing.cost() < known:
                    break
                led = swaps and not self.standing.satisfies(weighing)
                if len(searches) == 1 and (swapping if known[0] else led):
                    swapping = swapping or self._swapping(weighing)
                    if weighing.cost() < swapping.cost():
                        swapping.adopt(weighing.best(), self._walker.stop)
                    self.standing.note(swapping)
                    searches.append(swapping)
                before = weighing.cost()
                turn *= 2
                yield from self._asked(together, turn // 2, weighing, vain)
                for search in searches[::-1]:
                    if isinstance(search, Weighing) or not search.given_up:
                        less = len(searches) > 1
                        yield search, self.standing.less(search, turn, late) if less else turn
                if weighing.cost()[0]:
                    self._lead(weighing, searches[-1])

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
