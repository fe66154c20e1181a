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
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula

#: Literals up to which the program takes milliseconds, and pivots after which a solution of it is given up.
_LITERALS, _PIVOTS = 4000, 200
#: Most solutions, and most before the first whole vertex: where many variables are held in vain, more are left.
_SOLUTIONS, _FIRST = 40, 12
#: Largest cost of a variable that the solver is told, whose tolerances are absolute.
_LARGEST = 1000.0
#: How far from a whole number a value may lie.
_WHOLE = 1e-6


def vertex_pays(formula: Formula) -> bool:
    """Whether a formula is small, and a solver of linear programs installed."""
    small = 0 < len(formula.literals) <= _LITERALS
    return small and find_spec("highspy") is not None


def whole_vertices(
    formula: Formula, known: Callable[[], float]
) -> Iterator[NDArray[np.uint8] | None]:
    """Whole vertices that cost less than is `known`, as assignments; None after each solution that is none.

    A variable nearest to a half is held, first at the value that it is nearer to.
    """
    program = _Program(formula)
    held: list[tuple[int, float]] = []  # variables, and the other value where that was not tried
    most = _FIRST
    solution = 0
    while solution < most:
        values, cost = program.solved()
        if values is None and not solution:
            return
        solution += 1
        best = known()
        if values is not None and cost <= best - 1 + _WHOLE * max(1.0, abs(cost)):
            parts = abs(values - values.round())
            column = int(parts.argmax())
            if parts[column] > _WHOLE:
                value = float(values[column].round())
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
        self._scale = max(1.0, abs(costs).max() / _LARGEST)
        self._rows = len(sizes)
        self._highspy: Any = import_module("highspy")  # takes 12 ms
        self._highs = self._highspy._Highs()  # what Highs wraps; Highs itself prints
        self._tell(costs / self._scale, sizes + relaxed[~units], literals)

    def _tell(
        self, costs: NDArray[np.float64], sizes: NDArray[Any], literals: NDArray[Any]
    ) -> None:
        """Values from 0 to 1 of the least cost, where of each row literals of a sum of 1 hold."""
        options = {
            "output_flag": False,
            "threads": 1,
            "solver": "simplex",
            "presolve": "off",
            "simplex_iteration_limit": _PIVOTS,
        }
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        columns, starts = len(costs), np.cumsum(sizes) - sizes
        zeros, none = np.zeros(columns), np.empty(0, dtype=np.int32)
        first = np.zeros(columns, dtype=np.int32)
        self._highs.addCols(columns, costs, zeros, zeros + 1, 0, first, none, zeros[:0])
        if not len(sizes):
            return
        self._highs.addRows(
            len(sizes),
            1.0 - np.add.reduceat(literals < 0, starts),
            np.full(len(sizes), np.inf),
            len(literals),
            starts.astype(np.int32),
            (abs(literals) - 1).astype(np.int32),
            np.sign(literals).astype(float),
        )

    def hold(self, column: int, least: float, most: float) -> None:
        """Have a variable between other values."""
        self._highs.changeColBounds(column, least, most)

    def solved(self) -> tuple[NDArray[np.float64] | None, float]:
        """The least vertex and what it costs; None where there is none, or it is not found soon."""
        if not self._rows:
            return None, 0.0
        self._highs.run()
        if self._highs.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return None, 0.0
        values = np.array(self._highs.getSolution().col_value)
        cost = self._scale * self._highs.getInfo().objective_function_value + self._constant
        return values, cost
