"""Whole vertices of a formula's linear program, by branch and bound.

Variables lie between 0 and 1, each hard clause asks for a sum of at least 1 of its literals, and a soft clause
costs its weight times what it lacks of that. No assignment costs less than the least vertex, so one
that is whole is optimal, but for rounding: whoever takes it evaluates it. Dependencies of packages and
timetables often have such vertices, or do where a few variables are held. HiGHS's own branch and bound takes
ten times as long to begin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.exact.prover.program import Program, installed

#: Literals up to which the program takes milliseconds, pivots after which a solution of it is given up, at
#: least and in literals, and those of all solutions.
_LITERALS, _PIVOTS, _EACH, _ALL = 12_000, 200, 16, 2000
#: Most solutions, and most before the first whole vertex: where many variables are held in vain, more are left.
_SOLUTIONS, _FIRST = 40, 12
#: The same is to be feared where the least vertex costs less than such a part of what is known.
_NEAR = 0.5
#: How far from a whole number a value may lie.
_WHOLE = 1e-6


def vertex_pays(formula: Formula) -> bool:
    """Whether a formula is small, and a solver of linear programs installed."""
    small = 0 < len(formula.literals) <= _LITERALS
    return small and installed()


def whole_vertices(
    formula: Formula, known: Callable[[], float]
) -> Iterator[NDArray[np.uint8] | None]:
    """Whole vertices that cost less than is `known`, as assignments; None after each solution that is none.

    A variable near to a half is held whose price is high, first at the value that costs more: most often the
    other one is then not to be tried.
    """
    program = _Program(formula)
    held: list[tuple[int, float]] = []  # variables, and the other value where that was not tried
    most = _FIRST
    solution = 0
    while solution < most and program.pivots < _ALL:
        values, cost = program.solved()
        if not solution and (values is None or cost < _NEAR * known() < math.inf):
            return
        solution += 1
        best = known()
        if values is not None and cost <= best - 1 + _WHOLE * max(1.0, abs(cost)):
            column = program.divided(values)
            if column >= 0:
                value = program.dearer(column, values)
                held.append((column, 1 - value))
                program.hold(column, value, value)
                yield None
                continue
            most = _SOLUTIONS
            yield values[: formula.num_variables].round().astype(np.uint8)
        else:
            yield None
        while held and math.isnan(held[-1][1]):
            program.hold(held.pop()[0], 0, 1)
        if not held:
            return
        column, value = held.pop()
        held.append((column, math.nan))
        program.hold(column, value, value)


class _Program:
    """The linear program, of which some variables may be held."""

    def __init__(self, formula: Formula) -> None:
        n, lengths = formula.num_variables, np.diff(formula.offsets)
        units = ~formula.hard & (lengths == 1)
        relaxed = ~formula.hard & (lengths > 1)
        costs = np.zeros(n + int(relaxed.sum()))
        wishes = formula.literals[formula.offsets[:-1][units]]
        weights = formula.weights[units].astype(float)
        np.add.at(costs, np.abs(wishes) - 1, -np.sign(wishes) * weights)
        costs[n:] = formula.weights[relaxed]
        sizes, literals = lengths[~units], formula.literals[np.repeat(~units, lengths)]
        ends = np.cumsum(sizes)[relaxed[~units]]
        literals = np.insert(literals, ends, np.arange(n, len(costs)) + 1)
        self._constant = float(weights[wishes > 0].sum())
        self._prices, ones = costs, np.ones(len(sizes), dtype=np.int64)
        self._weights = abs(costs) + abs(costs).mean()
        told = (literals, sizes + relaxed[~units], ones)
        self._program: Program | None = None
        self.pivots = 0  # so far
        if len(sizes):
            limit = max(_PIVOTS, len(formula.literals) // _EACH)
            self._program = Program(costs, *told, simplex_iteration_limit=limit)

    def hold(self, column: int, least: float, most: float) -> None:
        """Have a variable between other values."""
        if self._program is not None:
            self._program.hold(column, least, most)

    def divided(self, values: NDArray[np.float64]) -> int:
        """The variable to be held next; -1 where all values are whole."""
        parts = abs(values - values.round())
        if (parts <= _WHOLE).all():
            return -1
        return int((parts * self._weights).argmax())

    def dearer(self, column: int, values: NDArray[np.float64]) -> float:
        """The value that costs more, or the nearer one where both cost as much."""
        price = self._prices[column]
        return float(price > 0) if price else float(values[column].round())

    def solved(self) -> tuple[NDArray[np.float64] | None, float]:
        """The least vertex and what it costs; None where there is none, or it is not found soon."""
        if self._program is None:
            return None, 0.0
        optimal = self._program.run()
        self.pivots += self._program.pivots
        if not optimal:
            return None, 0.0
        values: NDArray[np.float64] = self._program.values
        return values, float(self._prices @ values) + self._constant
