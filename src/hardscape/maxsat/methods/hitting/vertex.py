"""The least vertex of a formula's linear program, where it is an assignment.

Variables lie between 0 and 1, each hard clause asks for a sum of at least 1 of its literals, and a soft clause
costs its weight times what it lacks of that. No assignment costs less than the least vertex, so one
that is whole is optimal, but for rounding: whoever takes it evaluates it. Dependencies of packages and
timetables often have such vertices.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula

#: Literals up to which the program takes milliseconds, and pivots after which it is given up.
_LITERALS, _PIVOTS = 4000, 200
#: Largest cost of a variable that the solver is told, whose tolerances are absolute.
_LARGEST = 1000.0
#: How far from a whole number a value may lie.
_WHOLE = 1e-6


def vertex_pays(formula: Formula) -> bool:
    """Whether a formula is small, and a solver of linear programs installed."""
    small = 0 < len(formula.literals) <= _LITERALS
    return small and find_spec("highspy") is not None


def whole_vertex(formula: Formula) -> NDArray[np.uint8] | None:
    """The vertex as an assignment; None where it is none, or not found soon."""
    n, lengths = formula.num_variables, np.diff(formula.offsets)
    units = ~formula.hard & (lengths == 1)
    relaxed = ~formula.hard & (lengths > 1)
    costs = np.zeros(n + int(relaxed.sum()))
    wishes = formula.literals[formula.offsets[:-1][units]]
    np.add.at(costs, np.abs(wishes) - 1, -np.sign(wishes) * formula.weights[units].astype(float))
    costs[n:] = formula.weights[relaxed]
    sizes, literals = lengths[~units], formula.literals[np.repeat(~units, lengths)]
    ends = np.cumsum(sizes)[relaxed[~units]]
    literals = np.insert(literals, ends, np.arange(n, len(costs)) + 1)
    values = _least(costs, sizes + relaxed[~units], literals)
    if values is None or (abs(values - values.round()) > _WHOLE).any():
        return None
    return values[:n].round().astype(np.uint8)


def _least(
    costs: NDArray[np.float64], sizes: NDArray[Any], literals: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Values from 0 to 1 of the least cost, where of each row literals of a sum of 1 hold."""
    if not len(sizes):
        return None
    highspy: Any = import_module("highspy")  # takes 12 ms
    columns, starts = len(costs), np.concatenate([[0], np.cumsum(sizes)[:-1]])
    least = 1.0 - np.add.reduceat(literals < 0, starts)
    none = np.empty(0, dtype=np.int32)
    highs = highspy._Highs()  # what Highs wraps; Highs itself prints
    options = {
        "output_flag": False,
        "threads": 1,
        "solver": "simplex",
        "presolve": "off",
        "simplex_iteration_limit": _PIVOTS,
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    zeros, ones, scale = np.zeros(columns), np.ones(columns), max(1.0, abs(costs).max() / _LARGEST)
    highs.addCols(
        columns, costs / scale, zeros, ones, 0, np.zeros(columns, dtype=np.int32), none, zeros[:0]
    )
    highs.addRows(
        len(sizes),
        least,
        np.full(len(sizes), np.inf),
        len(literals),
        starts.astype(np.int32),
        (abs(literals) - 1).astype(np.int32),
        np.sign(literals).astype(float),
    )
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(highs.getSolution().col_value)
