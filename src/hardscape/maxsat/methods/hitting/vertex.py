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
    """A variable, and its value."""

    column: int
    value: float

    @property
    def literal(self) -> int:
        """2 v, or 2 v + 1 where it is false."""
        return 2 * self.column + (self.value < 0.5)

    @property
    def other(self) -> _Held:
        """Its other value."""
        return _Held(self.column, 1 - self.value)


class _Node(NamedTuple):
    """What is held, and the least vertex under that, near which not all was tried."""

    held: tuple[_Held, ...]
    vertex: Vertex

    @property
    def literals(self) -> list[int]:
        """What is held, as literals."""
        return [each.literal for each in self.held]


def whole_vertices(
    formula: Formula, search: Search, known: Callable[[], float]
) -> Iterator[NDArray[np.uint8] | None]:
    """Whole vertices that cost less than is `known`, as assignments; None after each solution that is none.

    Between them are `RESTS`.

    The search looks around those that are not whole. Where that does not try all, a variable near to a half
    is held whose price is high, at either value: most often the one that costs more is then not to be tried
    any further, and else what lies near the cheaper vertex is tried first. Where all was tried at the end, the
    search is told.
    """
    tree = _Tree(_Program(formula, search.rows()), search, known, formula.num_variables)
    yield from tree.walk()


class _Tree:
    """Branch and bound."""

    def __init__(
        self, program: _Program, search: Search, known: Callable[[], float], variables: int
    ) -> None:
        self._program, self._search, self._known = program, search, known
        self._variables = variables
        self._solutions = self._rested = 0
        self._most, self._pivots = _FIRST, _ALL
        self._sure = True  # whether all else was tried in integers
        self._last: Vertex | None = None

    def walk(self) -> Iterator[NDArray[np.uint8] | None]:
        """See `whole_vertices`."""
        nodes: list[_Node] = []
        yield from self._solve((), nodes)
        while nodes:
            node = nodes.pop()
            if not self._program.may_be_less(node.vertex, self._known()):
                self._sure &= self._search.look(node.vertex, node.literals, self._program.weights)
                continue
            first = self._program.dearer(node.vertex.values)
            under: list[_Node] = []
            for each in (first, first.other):
                yield from self._solve((*node.held, each), under)
            nodes += sorted(under, key=lambda each: -each.vertex.cost)
        if self._sure:
            self._search.close()

    def _solve(
        self, held: tuple[_Held, ...], nodes: list[_Node]
    ) -> Iterator[NDArray[np.uint8] | None]:
        """Look around the vertex under what is held, which becomes a node where more is to be tried."""
        program = self._program
        if self._solutions >= self._rested + self._most or program.pivots >= self._pivots:
            yield RESTS
            self._rested, self._most, self._pivots = self._solutions, _FIRST, program.pivots + _ALL
        program.hold(held)
        vertex = program.solved()
        if not self._solutions and (
            vertex is None or vertex.cost < _NEAR * self._known() < math.inf
        ):
            self._sure = False
            return
        self._solutions += 1
        best = self._known()
        whole = vertex is not None and program.divided(vertex.values) < 0
        if vertex is not None and whole and program.may_be_less(vertex, best):
            self._most = _SOLUTIONS
            yield vertex.values[: self._variables].round().astype(np.uint8)
        # Where no values are left, those of before say what else is to be tried.
        self._last = last = vertex or self._last
        tried = last is not None and self._search.look(
            last, [each.literal for each in held], program.weights
        )
        if tried or self._known() < best:
            self._most = _SOLUTIONS
        yield None
        if vertex is None or whole or tried or not program.may_be_less(vertex, self._known()):
            self._sure &= tried
        else:
            nodes.append(_Node(held, vertex))


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
        self._held: tuple[_Held, ...] = ()
        self.pivots = 0  # so far
        if len(rows[1]):
            limit = max(_PIVOTS, len(formula.literals) // _EACH)
            self._program = Program(prices, *rows, simplex_iteration_limit=limit, **_FAST)

    def hold(self, held: tuple[_Held, ...]) -> None:
        """Hold these variables at their values, and let all others have either one."""
        if self._program is None:
            return
        for each in set(self._held).difference(held):
            self._program.hold(each.column, 0, 1)
        for each in set(held).difference(self._held):
            self._program.hold(each.column, each.value, each.value)
        self._held = held

    def may_be_less(self, vertex: Vertex, known: float) -> bool:
        """Whether an assignment that is better than the one known may cost no less than a vertex."""
        return vertex.cost <= known - self._step + _WHOLE * max(1.0, abs(vertex.cost))

    def divided(self, values: NDArray[np.float64]) -> int:
        """The variable to be held next; -1 where all values are whole."""
        parts = abs(values - values.round())
        if (parts <= _WHOLE).all():
            return -1
        return int((parts * self.weights).argmax())

    def dearer(self, values: NDArray[np.float64]) -> _Held:
        """That variable, at the value that costs more, or the nearer one where both cost as much."""
        column = self.divided(values)
        price = self._prices[column]
        return _Held(column, float(price > 0) if price else float(values[column].round()))

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
