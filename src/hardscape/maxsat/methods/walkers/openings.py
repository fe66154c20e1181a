"""First turns of a search, which end where it has shown what comes of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.growing import Together
from hardscape.maxsat.methods.asking.swaps import Swapping
from hardscape.maxsat.methods.walkers.beginning import Letting
from hardscape.maxsat.methods.walkers.rounds import Flipping
from hardscape.maxsat.methods.walkers.standing import FALLING, Standing
from hardscape.maxsat.methods.weighting.searches import Search, Weighing

#: Flips of the clause-weighting search before another search has its first turn.
FIRST_ALONE = 8_000
#: Flips of a search by cores before any other where soft clauses are not exchanged, as long as few wishes hit
#: all cores; of clause weighting behind it, as long as that falls; and before sets are grown from its best.
OPENING = 200_000
#: Hard clauses that are few where clause weighting violates no more.
FEW = 10
#: Turns of clause weighting before another search of large formulas, unless it satisfies the hard clauses: the
#: first of its searches has tried all of its tempers by then.
TEMPERS = 8
#: Flips of clause weighting from a solver's first assignment, at least, and those of a turn: its searches have
#: turns, and those under pressure begin at no weight of soft clauses. And its flips until each of its searches
#: has had the turns that it begins with, in those of a turn on each variable, and this many, and most of them.
_LED, _PART, _BEGIN, _FLIPS, _BEGUN = 300_000, 100_000, 24, 4096, 3 * OPENING
#: Flips, about, of a solver that is asked for a first assignment, before others go on; and how many times
#: longer its turns are than a first one, as are those of clause weighting while it finds.
_ASKED, _LONG = 2_000_000, 4
#: Flips, about, of a solver that is asked whether all clauses hold where some are hard; and literals above
#: which to tell it these takes as long.
_PLAIN, _PLAINLY = 100_000, 500_000
#: Share of the weight of soft clauses above which what is violated leaves no hope for all.
_HOPELESS = 0.1


def first_turns(
    walker: Letting, swapping: Swapping, weighing: Weighing, standing: Standing
) -> Iterator[tuple[Search, int]]:
    """A solver that is asked for a first assignment where none is known, up to a limit.

    Alone, but for turns of clause weighting that violates few hard clauses: it may come to satisfy them. They
    take as long as the solver's while its last find lies in the later half of the flips so far, without the
    solver's, and until then neither ends; then they are short.
    """
    few = max(FEW, standing.close)
    turn = FIRST_ALONE + walker.work.formula.num_variables
    until = walker.flips + _ASKED
    done, found = walker.flips, walker.flips // 2  # clause weighting fell until lately
    finds = standing.seeks = True
    while swapping.cost()[0] and not swapping.given_up and (finds or walker.flips < until):
        yield swapping, _LONG * FIRST_ALONE
        hard = weighing.cost()[0]
        if swapping.cost()[0] and hard <= few:
            part = _LONG * turn if finds else FIRST_ALONE
            until += part
            done += part
            yield weighing, part
            if weighing.cost()[0] < hard:
                found = done
        if not weighing.cost()[0]:
            break
        finds = hard <= few and done <= 2 * found
    standing.seeks = False


def falling_turns(
    walker: Flipping, weighing: Weighing, turn: int, least: int = 1
) -> Iterator[tuple[Search, int]]:
    """Clause weighting as long as each turn leaves far fewer hard clauses violated, up to a limit.

    Most formulas that it satisfies without a solver it satisfies by then. It has the `least` turns
    whatever they bring.
    """
    until, most = walker.flips + OPENING, math.inf
    for count in itertools.count(1):
        yield weighing, turn
        hard = weighing.cost()[0]
        if not hard or not (count < least or (hard <= most and walker.flips < until)):
            return
        most = FALLING * hard


def finding_turns(weighing: Weighing, formula: Formula) -> Iterator[tuple[Search, int]]:
    """Clause weighting that satisfies the hard clauses, as long as finds come in the later half of its flips.

    It has enough for all of its searches to begin. Where no clause is hard it has one turn: a solver that is
    asked for all clauses is likelier to find more.
    """
    if not formula.num_hard:
        yield weighing, OPENING
        return
    least = min(_BEGUN, max(OPENING, _BEGIN * (_FLIPS + formula.num_variables)))
    yield from _while_finding(weighing, least, OPENING)


def led_turns(weighing: Weighing) -> Iterator[tuple[Search, int]]:
    """Clause weighting from a solver's first assignment, as long as finds come in the later half of its flips.

    Its weights begin anew there, and would once more with each little that others find meanwhile. It pays where
    clause weighting had come close to satisfying the hard clauses, since it comes back to where they hold.
    """
    if not weighing.cost()[0]:
        yield from _while_finding(weighing, _LED, _PART)


def _while_finding(weighing: Weighing, least: int, part: int) -> Iterator[tuple[Search, int]]:
    """Clause weighting as long as finds come in the later half of its flips, part by part."""
    done = found = 0
    while done < max(least, 2 * found):
        before = weighing.cost()
        yield weighing, part
        done += part
        if weighing.cost() < before:
            found = done


def plain_turns(walker: Letting, best: Search) -> Iterator[tuple[Search, int]]:
    """The question whether all clauses hold, soft ones beside hard ones, for a moment.

    Where they do, as of puzzles whose rules are soft, a solver often says so at once, and where they do not it
    nearly always refutes them sooner: it may use each clause as one, where a walk over soft clauses, or a
    search for cores, assumes all of the soft ones time after time.
    """
    work = walker.work
    hopes = best.cost()[1] <= _HOPELESS * work.formula.total_weight
    if hopes and len(work.formula.literals) <= _PLAINLY:
        yield Together(work.formula, work.target, best.best(), walker.stop), _PLAIN
