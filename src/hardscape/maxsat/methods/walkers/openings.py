"""First turns of a search, which end where it has shown what comes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hardscape.maxsat.methods.asking.swaps import Swapping
from hardscape.maxsat.methods.walkers.rounds import Flipping
from hardscape.maxsat.methods.walkers.standing import FALLING
from hardscape.maxsat.methods.weighting.searches import Search, Weighing

#: Flips of the clause-weighting search before another search has its first turn.
FIRST_ALONE = 8_000
#: Flips of a search by cores before any other where soft clauses are not exchanged, as long as few wishes hit
#: all cores; of clause weighting behind it, as long as that falls; and before sets are grown from its best.
OPENING = 200_000
#: Flips, about, of a solver that is asked for a first assignment, before others go on.
_ASKED = 600_000


def first_turns(walker: Flipping, swapping: Swapping) -> Iterator[tuple[Search, int]]:
    """A solver that is asked for a first assignment where none is known, alone up to a limit."""
    until = walker.flips + _ASKED
    while swapping.cost()[0] and not swapping.given_up and walker.flips < until:
        yield swapping, FIRST_ALONE


def falling_turns(walker: Flipping, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
    """Clause weighting as long as each turn leaves far fewer hard clauses violated, up to a limit.

    Most formulas that it satisfies without a solver it satisfies by then.
    """
    until, most = walker.flips + OPENING, math.inf
    while walker.flips < until:
        yield weighing, turn
        hard = weighing.cost()[0]
        if not 0 < hard <= most:
            return
        most = FALLING * hard
