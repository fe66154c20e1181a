"""Weights of a linear constraint, learned from what clauses allow and refute.

What a tree of modules allows is a set of choices of its leaves, and what it refutes another one. Weights w >= 0
and a bound k are sought with ``w x <= k`` for all of the former and ``w x >= k + 1`` for the latter. A linear
program proposes them for the choices that were seen, dynamic programming answers with choices that weigh most
and least by them, and these join (cutting planes: J. Kelley, J. SIAM 8, 703, 1960). The end is whole numbers
that dynamic programming finds right, so no tolerance of the program's enters; or too many choices.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from ..program import installed

#: Choices that join at once, parts of a unit that choices are looked for in, and those that weights may have.
_JOIN, _PARTS, _DIVISORS = 12, 1 << 20, (1, 2, 3, 4, 6, 8, 12, 24, 60, 1 << 10)
#: By how much of a unit a choice must be wrong to join.
_WRONG = 1e-6


def settle(sums: Any, until: float) -> None:
    """Find weights for trees that have none, up to a moment of the thread's processor time."""
    if not (sums.open and installed()):
        return
    sizes = [len(sums.leaves(tree)) for tree in range(sums.open)]
    for tree in sorted(range(sums.open), key=sizes.__getitem__):
        if not _settled(sums, tree, sizes[tree], until) and time.thread_time() >= until:
            return


def _settled(sums: Any, tree: int, leaves: int, until: float) -> bool:
    """Whether weights were found for a tree."""
    import numpy as np

    program = _Program(leaves)
    seen: set[bytes] = set()
    while time.thread_time() < until:
        weights, bound = program.solved()
        if weights is None:
            return False
        allowed, refuted = sums.extremes(tree, np.rint(_PARTS * weights).astype(np.int64), _JOIN)
        wrong = [(x, False) for x in allowed if x @ weights > bound + _WRONG]
        wrong += [(x, True) for x in refuted if x @ weights < bound + 1 - _WRONG]
        if not wrong:
            return any(
                sums.settle(tree, np.rint(parts * weights).astype(np.int64)) for parts in _DIVISORS
            )
        fresh = {bytes([above, *choice]): (choice, above) for choice, above in wrong}
        if fresh.keys() <= seen:
            return False  # by less than the program tells
        seen.update(fresh)
        for choice, above in fresh.values():
            program.add(choice, above)
    return False


class _Program:
    """The least weights, and a bound, that separate choices of so many leaves."""

    def __init__(self, leaves: int) -> None:
        import numpy as np

        highspy: Any = import_module("highspy")
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._solver = solver = highspy._Highs()
        for name, value in {"output_flag": False, "threads": 1, "presolve": "off"}.items():
            solver.setOptionValue(name, value)
        zeros, none = np.zeros(leaves + 1), np.zeros(0)
        prices = np.append(np.ones(leaves), 0.0)
        empty = np.zeros(leaves + 1, dtype=np.int32)
        solver.addCols(leaves + 1, prices, zeros, zeros + 1e9, 0, empty, empty[:0], none)
        self._bound = leaves

    def add(self, choice: Any, above: bool) -> None:
        """Have a choice lie above the bound, or not."""
        import numpy as np

        held = np.append(np.flatnonzero(choice), self._bound).astype(np.int32)
        values = np.ones(len(held))
        values[-1] = -1
        least, most = (1.0, np.inf) if above else (-np.inf, 0.0)
        self._solver.addRow(least, most, len(held), held, values)

    def solved(self) -> tuple[Any, float]:
        """The weights and the bound; None for the former where nothing separates the choices."""
        import numpy as np

        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            return None, 0.0
        values = np.maximum(0.0, np.array(self._solver.getSolution().col_value))
        return values[:-1], float(values[-1])
