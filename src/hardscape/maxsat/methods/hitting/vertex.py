"""Whole vertices of a formula's linear program, and what lies near others, by branch and bound.

Variables lie between 0 and 1, each hard clause asks for a sum of at least 1 of its literals, and a soft clause
costs its weight times what it lacks of that. No assignment costs less than the least vertex, so one
that is whole is optimal, but for rounding: whoever takes it evaluates it. Dependencies of packages and
timetables often have such vertices, or do where a few variables are held. What a search looks through by a
vertex it looks through in integers, so that where all was tried nothing better exists. HiGHS's own branch and
bound takes ten times as long to begin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.exact.prover.program import Program, installed

#: Stands for an assignment where other searches should have their turns before another solution.
RESTS = np.zeros(0, dtype=np.uint8)

#: Literals up to which the program takes milliseconds, pivots after which a solution of it is given up, at
#: least and in literals, and those of all solutions before a rest.
_LITERALS, _PIVOTS, _EACH, _ALL = 12_000, 200, 16, 2000
#: Most solutions before a rest, and most before a whole vertex or a better assignment near one: where many
#: variables are held in vain, more are left, until something better is known.
_SOLUTIONS, _FIRST = 40, 12
#: The same is to be feared where the least vertex costs less than such a part of what is known.
_NEAR = 0.5
#: Options of the solver: devex pricing of the dual simplex method (steepest edges take a third more time), and
#: no scaling, as all coefficients are 1.
_FAST = {"simplex_dual_edge_weight_strategy": 1, "simplex_scale_strategy": 0}
#: How far from a whole number a value may lie.
_WHOLE = 1e-6


def vertex_pays(formula: Formula) -> bool:
    """Whether a formula is small, and a solver of linear programs installed."""
    small = 0 < len(formula.literals) <= _LITERALS
    return small and installed()


class Vertex(NamedTuple):
    """What the program says of the variables and rows, and what assignments cost at least."""

    values: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    cost: float


class Search(Protocol):
    """What has the rows of the program, and looks for assignments by its vertices."""

    def rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """The literals of all rows, and of each how many it has and how many of them hold."""

    def look(self, vertex: Vertex, held: Sequence[int], weights: NDArray[np.float64]) -> bool:
        """Whether all was tried that costs less than the best, under literals held, 2 v or 2 v + 1."""

    def close(self) -> None:
        """Take it that all was tried."""


class _Held(NamedTuple):
    """A variable, its value, and whether the other one is left to be tried."""

    column: int
    value: float
    open: bool

    @property
    def literal(self) -> int:
        """2 v, or 2 v + 1 where it is false."""
        return 2 * self.column + (self.value < 0.5)

    @property
    def other(self) -> _Held:
        """Its other value."""
        return _Held(self.column, 1 - self.value, open=False)


def whole_vertices(
    formula: Formula, search: Search, known: Callable[[], float]
) -> Iterator[NDArray[np.uint8] | None]:
    """Whole vertices that cost less than is `known`, as assignments; None after each solution that is none.

    Between them are `RESTS`.

    The search looks around those that are not whole. Where that does not try all, a variable near to a half
    is held whose price is high, first at the value that costs more: most often the other one is then not to
    be tried. Where all was tried at the end, the search is told.
    """
    program = _Program(formula, search.rows())
    held: list[_Held] = []
    most, pivots = _FIRST, _ALL
    solution = rested = 0
    sure, last = True, None
    while True:
        if solution >= rested + most or program.pivots >= pivots:
            yield RESTS
            rested, most, pivots = solution, _FIRST, program.pivots + _ALL
        vertex = program.solved()
        if not solution and (vertex is None or vertex.cost < _NEAR * known() < math.inf):
            return
        solution += 1
        best = known()
        column = -1 if vertex is None else program.divided(vertex.values)
        if vertex is not None and column < 0 and program.may_be_less(vertex, best):
            most = _SOLUTIONS
            yield vertex.values[: formula.num_variables].round().astype(np.uint8)
        # Where no values are left, those of before say what else is to be tried.
        last = vertex or last
        tried = last is not None and search.look(last, [x.literal for x in held], program.weights)
        if tried or known() < best:
            most = _SOLUTIONS
        yield None
        if (
            vertex is not None
            and column >= 0
            and not tried
            and program.may_be_less(vertex, known())
        ):
            held.append(_Held(column, program.dearer(column, vertex.values), open=True))
            program.hold(held[-1])
            continue
        sure = sure and tried
        while held and not held[-1].open:
            program.release(held.pop())
        if not held:
            break
        held.append(held.pop().other)
        program.hold(held[-1])
    if sure:
        search.close()


class _Program:
    """The linear program, of which some variables may be held."""

    def __init__(self, formula: Formula, rows: tuple[NDArray[np.int32], ...]) -> None:
        n, lengths = formula.num_variables, np.diff(formula.offsets)
        units = ~formula.hard & (lengths == 1)
        relaxed = ~formula.hard & (lengths > 1)
        prices = np.zeros(n + int(relaxed.sum()))
        wishes = formula.literals[formula.offsets[:-1][units]]
        weights = formula.weights[units].astype(float)
        np.add.at(prices, np.abs(wishes) - 1, -np.sign(wishes) * weights)
        prices[n:] = formula.weights[relaxed]
        self._constant = float(weights[wishes > 0].sum())
        self._prices = prices
        self._step = float(np.gcd.reduce(formula.weights[~formula.hard]))
        self.weights = abs(prices) + abs(prices).mean()
        self._program: Program | None = None
        self.pivots = 0  # so far
        if len(rows[1]):
            limit = max(_PIVOTS, len(formula.literals) // _EACH)
            self._program = Program(prices, *rows, simplex_iteration_limit=limit, **_FAST)

    def hold(self, held: _Held) -> None:
        """Hold a variable at its value."""
        if self._program is not None:
            self._program.hold(held.column, held.value, held.value)

    def release(self, held: _Held) -> None:
        """Let a variable have either value."""
        if self._program is not None:
            self._program.hold(held.column, 0, 1)

    def may_be_less(self, vertex: Vertex, known: float) -> bool:
        """Whether an assignment that is better than the one known may cost no less than a vertex."""
        return vertex.cost <= known - self._step + _WHOLE * max(1.0, abs(vertex.cost))

    def divided(self, values: NDArray[np.float64]) -> int:
        """The variable to be held next; -1 where all values are whole."""
        parts = abs(values - values.round())
        if (parts <= _WHOLE).all():
            return -1
        return int((parts * self.weights).argmax())

    def dearer(self, column: int, values: NDArray[np.float64]) -> float:
        """The value that costs more, or the nearer one where both cost as much."""
        price = self._prices[column]
        return float(price > 0) if price else float(values[column].round())

    def solved(self) -> Vertex | None:
        """The least vertex; None where there is none, or it is not found soon."""
        if self._program is None:
            return None
        optimal = self._program.run()
        self.pivots += self._program.pivots
        if not optimal:
            return None
        values = self._program.values
        cost = float(self._prices @ values) + self._constant
        return Vertex(values, self._program.duals, cost)
