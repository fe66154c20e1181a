"""Large neighbourhood search: soft clauses are exchanged in a part of the formula at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.asking import Moving
from hardscape.maxsat.methods.asking.swaps import Swapping, swapping_is_possible

#: Variables of a part, about, where they are no more than half of all: smaller ones other searches exchange.
_SIZES = 1024, 4096, 16384
#: What a part has, in flips, beside as many for each of its variables: some dozens of questions.
_PART, _PART_VARIABLE = 500, 8
#: Flips of a move.
_STEP = 2000
#: Literals looked at in the time of a flip, and flips in that of making a solver, and for each literal of it.
_LOOKS, _MAKING, _MAKING_LITERAL = 32, 1000, 1
#: What a kind of part found and took counts so much less each time; and of all work this part is shared by the
#: kinds alike.
_FADING, _ALIKE = 0.8, 0.5


def neighbouring_pays(formula: Formula) -> bool:
    """Whether parts are much smaller than the formula, and soft clauses can be exchanged there."""
    return formula.num_variables >= 2 * _SIZES[0] and swapping_is_possible(formula)


@dataclass(eq=False)
class _Kind:
    """Parts of one size and one way to gather them, and what came of them."""

    size: int
    bind: bool
    worked: int = 0  # in all
    found: float = 0.0  # how much less the assignment costs, of late
    of_late: float = 1.0  # work

    def note(self, work: int, found: int) -> None:
        """Take what a part took, and what it found."""
        self.worked += work
        self.found = _FADING * self.found + found
        self.of_late = _FADING * self.of_late + work


class Neighbouring(Moving):
    """Frees variables around a violated soft clause, all others fixed, and exchanges soft clauses there.

    Questions of a `Swapping` on the part take as long as the part is large, whatever the formula's size.
    How large it is, and over which clauses its variables are gathered, is what found most for its work of
    late, and by turns what had least. From `initial`, which satisfies the hard clauses, else ``given_up``.
    """

    def __init__(
        self,
        formula: Formula,
        seed: int,
        stream: int,
        target: int,
        initial: NDArray[np.uint8],
        stop: NDArray[np.uint8],
    ) -> None:
        super().__init__(target)
        self._formula, self._seed, self._stream = formula, seed, stream
        sizes = [size for size in _SIZES if 2 * size <= formula.num_variables]
        self._kinds = [_Kind(size, bind) for size in sizes for bind in (False, True)]
        self.parts = 0  # searched so far
        self._began = self._before = 0  # work and cost where the current one began
        self._kind = self._kinds[0]  # of the current one
        self._current: Swapping | None = None
        self._left = 0  # flips of the current part
        self._cost = formula.evaluate(initial)[:2]
        self._best = initial
        self._around: Any = None
        if self._cost[0] == 0:
            parts = native.core.maxsat.Neighbourhoods(formula, seed, stream, initial, stop)
            self._around = parts if parts.complete else None
        self.given_up = self._around is None
        self._done = -self._looked()  # flips beside looks: those of the beginning are nobody's

    @property
    def kinds(self) -> int:
        """How many kinds of parts there are."""
        return len(self._kinds)

    def _looked(self) -> int:
        return 0 if self._around is None else self._around.looked // _LOOKS

    def best(self) -> NDArray[np.uint8]:
        """The best assignment."""
        return self._best if self._around is None else self._around.values()

    def adopt(self, assignment: NDArray[np.uint8], stop: NDArray[np.uint8]) -> None:
        """Go on from an assignment that is better than the best one, if it satisfies the hard clauses."""
        hard, cost = self._formula.evaluate(assignment)[:2]
        if self._around is None or hard or stop[0]:
            return
        if self._current is not None:
            self._end(0)
        self._around.adopt(assignment)
        self._cost, self.given_up = (0, cost), False

    def _worked(self) -> int:
        return self._done + self._looked()

    def _move(self, stop: NDArray[np.uint8]) -> None:
        if not self._around.lost and self._current is None:
            self.given_up = True
        elif self._current is None:
            self._begin(stop)
        else:
            self._go_on(self._current, stop)

    def _begin(self, stop: NDArray[np.uint8]) -> None:
        """Make a part, and who exchanges its soft clauses."""
        self._kind, self._began = self._next(), self._worked()
        free, literals, offsets, clauses = self._around.part(self._kind.size, self._kind.bind)
        formula = self._formula
        part = Formula(
            len(free), literals, offsets, formula.weights[clauses], formula.hard[clauses]
        )
        values = self._around.values()[free]
        self._before = part.cost(values)
        if not self._before:
            self._end(0)
            return
        self.parts += 1
        self._done += _MAKING + _MAKING_LITERAL * len(literals)
        numbers = self._seed, self._stream + (self.parts << 64)
        self._current = Swapping(part, *numbers, 0, values, stop)
        self._left = _PART + _PART_VARIABLE * len(free)

    def _go_on(self, swapping: Swapping, stop: NDArray[np.uint8]) -> None:
        """Let it go for a while, and take what it has where it has ended."""
        done = swapping.run(min(self._left, _STEP), stop)
        self._done += done
        self._left -= done
        if self._left > 0 and not swapping.given_up and not swapping.cost() <= (0, 0):
            return
        hard, cost = swapping.cost()  # of nothing, where it was stopped at once
        self._end(0 if hard else self._before - cost, swapping.best())

    def _end(self, found: int, values: NDArray[np.uint8] | None = None) -> None:
        """Fix what is free, at better values if some were found."""
        self._current = None
        self._around.fix(values if found > 0 else None)
        self._cost = 0, self._cost[1] - found
        self._kind.note(self._worked() - self._began, found)

    def _next(self) -> _Kind:
        """What kind of part is made next."""
        least = min(self._kinds, key=lambda kind: kind.worked)
        if least.worked * len(self._kinds) < _ALIKE * sum(kind.worked for kind in self._kinds):
            return least
        return max(self._kinds, key=lambda kind: (kind.found / kind.of_late, -kind.worked))
