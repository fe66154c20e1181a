"""Turns of searches on formulas that look random and whose clauses count alike."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.walkers.rounds import Flipping, rounds
from hardscape.maxsat.methods.walkers.standing import FALLING, close_to_all
from hardscape.maxsat.methods.weighting.searches import Search, Walking, Weighing

#: Flips of the first turn of the random walk and, on each variable, more; turns double.
_FIRST_TURN, TURN_PER_VARIABLE = 200_000, 50
#: What the better one of two searches has, in turns of the other.
_LESS = 4
#: Where a random walk does not fall another one has a turn from its best assignment, in equal parts by such
#: powers of its probabilities: the greedier it is, the deeper it gets. Streams lie so far apart.
_GREEDIER, _GREEDY = (1.1, 1.2, 1.3, 1.4, 1.5), 1 << 32


def random_turns(
    walker: Flipping,
    formula: Formula,
    stream: int,
    initial: NDArray[np.uint8] | None,
    walking_from: Callable[[int, NDArray[np.uint8] | None], Walking],
    weighing_from: Callable[[NDArray[np.uint8] | None], Weighing],
) -> Iterator[tuple[Search, int]]:
    """The random walk, and where it does not fall one that cools and clause weighting."""
    walking = best = walking_from(stream, initial)
    weighing: Weighing | None = None
    turn = _FIRST_TURN + TURN_PER_VARIABLE * formula.num_variables
    close = close_to_all(formula)  # then no weights are learnt
    streams = itertools.count(stream + _GREEDY, _GREEDY)
    for _ in rounds(walker):
        before = walking.quality[0]
        behind = weighing is not None and weighing.cost() < best.cost()
        yield walking, turn // _LESS if behind else turn
        best = min(best, walking, key=lambda each: each.quality)
        if walking.quality[0] > FALLING * before:
            if not behind:
                cooling = walking_from(next(streams), walking.best())
                for power in _GREEDIER:
                    cooling.cool(power)
                    yield cooling, turn // len(_GREEDIER)
                best = min(best, cooling, key=lambda each: each.quality)
            if best.quality[0] > close:
                weighing = weighing or weighing_from(best.best())
                yield weighing, turn
        turn *= 2
