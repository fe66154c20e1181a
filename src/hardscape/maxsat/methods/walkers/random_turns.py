"""Turns of searches on formulas that look random and whose clauses count alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.walkers.beginning import Searches
from hardscape.maxsat.methods.walkers.rounds import Flipping, rounds
from hardscape.maxsat.methods.walkers.standing import FALLING, close_to_all
from hardscape.maxsat.methods.weighting.searches import (
    Search,
    Walking,
    Weighing,
    looks_drawn,
    surveys_say,
)

#: Flips of the first turn of the random walk and, on each variable, more; turns double.
_FIRST_TURN, TURN_PER_VARIABLE = 200_000, 50
#: In how many clauses a variable may be, in the mean, without its flips taking longer: then they are fewer.
_DEGREE = 30
#: What the better one of two searches has, in turns of the other.
_LESS = 4
#: Flips of a turn, for each literal, from which on surveys are made; and the powers of what cools from them,
#: which begins where a walk comes late.
_SURVEYED, _COLDER = 4, (1.3, 1.4, 1.5, 1.6, 1.7)
#: Where a random walk does not fall another one has a turn from its best assignment, in equal parts by such
#: powers of its probabilities: the greedier it is, the deeper it gets. Streams lie so far apart.
_GREEDIER, _GREEDY = (1.1, 1.2, 1.3, 1.4, 1.5), 1 << 32


def random_turns(
    walker: Flipping,
    formula: Formula,
    stream: int,
    initial: NDArray[np.uint8] | None,
    searches: Searches,
) -> Iterator[tuple[Search, int]]:
    """The random walk, and where it does not fall one that cools and clause weighting.

    Where surveys say something others cool from what these make of the formula, as long as one of them is the
    best. The first surveys have the walk beside them: on large formulas they take long.
    """
    walking = best = searches.walking(stream, initial)
    weighing: Weighing | None = None
    turn = _FIRST_TURN + TURN_PER_VARIABLE * formula.num_variables
    turn = int(turn * min(1, _DEGREE * formula.num_variables / len(formula.literals)))
    streams = itertools.count(stream + _GREEDY, _GREEDY)
    surveys = surveys_say(formula)
    drawn, close = True, close_to_all(formula)  # then no weights are learnt
    led, stands, size = False, False, len(formula.literals)
    for count, _ in enumerate(rounds(walker)):
        before = walking.quality[0]
        behind = weighing is not None and weighing.cost() < best.cost()
        less = led or (behind and (drawn or stands))
        yield walking, turn // _LESS if less else turn
        best = min(best, walking, key=lambda each: each.quality)
        if not count and not looks_drawn(formula):
            drawn, close = False, 0
        if surveys and turn >= _SURVEYED * size:
            until, first, led = walker.flips + turn, not led, False
            while walker.flips < until:
                own, spent = next(streams), 0
                surveying = searches.surveying(own)
                while not surveying.over:
                    yield surveying, size
                    spent += size
                    if first:
                        yield walking, size
                cooling = searches.walking(own, surveying.best())
                yield from _cooled(cooling, _COLDER, spent)
                led, first = led or cooling.quality <= best.quality, False
                best = min(best, walking, cooling, key=lambda each: each.quality)
            surveys = led
        stands = walking.quality[0] > FALLING * before
        if stands and not (behind or led):
            cooling = searches.walking(next(streams), walking.best())
            yield from _cooled(cooling, _GREEDIER, turn)
            best = min(best, cooling, key=lambda each: each.quality)
        if (stands or behind or not drawn) and best.quality[0] > close:
            weighing = weighing or searches.weighing(best.best())
            yield weighing, turn // _LESS if led else turn
        turn *= 2


def _cooled(walking: Walking, powers: Sequence[float], flips: int) -> Iterator[tuple[Search, int]]:
    """A walk in equal parts by such powers of its probabilities."""
    for power in powers:
        walking.cool(power)
        yield walking, flips // len(powers)
