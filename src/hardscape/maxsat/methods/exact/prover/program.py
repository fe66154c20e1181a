"""A linear program over values from 0 to 1, by HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

#: Largest price that the solver is told, whose tolerances are absolute.
_LARGEST = 1000.0


def installed() -> bool:
    """Whether there is a solver of linear programs."""
    return find_spec("highspy") is not None


class Program:
    """The least sum of prices of values, where of the literals of each row at least so many hold.

    `literals` are those of all rows, `sizes` how many each row has, `least` how many hold, or how much those
    that hold weigh by `weights`.
    """

    def __init__(
        self,
        prices: Any,
        literals: Any,
        sizes: Any,
        least: Any,
        weights: Any = None,
        **options: Any,
    ) -> None:
        import numpy as np

        self._highspy: Any = import_module("highspy")  # takes 12 ms
        columns = len(prices)
        self._unit = abs(prices).max(initial=0.0) / _LARGEST or 1.0
        self._columns = np.arange(columns, dtype=np.int32)
        self._solver = highs = self._highspy._Highs()  # what Highs wraps; Highs itself prints
        told = {"output_flag": False, "threads": 1, "solver": "simplex", "presolve": "off"}
        for name, value in (told | options).items():
            highs.setOptionValue(name, value)
        zeros, ones, none = np.zeros(columns), np.ones(columns), self._columns[:0]
        empty = np.zeros(columns, dtype=np.int32)
        highs.addCols(columns, prices / self._unit, zeros, ones, 0, empty, none, zeros[:0])
        self.add(literals, sizes, least, weights)

    def add(self, literals: Any, sizes: Any, least: Any, weights: Any = None) -> None:
        """Have more rows."""
        import numpy as np

        weights = np.ones(len(literals), dtype=np.int64) if weights is None else weights
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._solver.addRows(
            len(sizes),
            (least - np.add.reduceat(np.where(literals < 0, weights, 0), starts)).astype(float),
            np.full(len(sizes), np.inf),
            len(literals),
            starts.astype(np.int32),
            (abs(literals) - 1).astype(np.int32),
            (np.sign(literals) * weights).astype(float),
        )

    def ask(self, ended: Callable[[], bool]) -> None:
        """Have the solver ask now and then whether its time is over."""

        def asked(kind: Any, message: str, told: Any, answer: Any, data: Any) -> None:
            answer.user_interrupt = ended()

        kinds = self._highspy.cb.HighsCallbackType
        self._solver.setCallback(asked, None)
        self._solver.startCallback(kinds.kCallbackSimplexInterrupt)
        self._solver.startCallback(kinds.kCallbackIpmInterrupt)

    def whole(
        self, least: Any, most: Any, ended: Callable[[], bool], found: Callable[[Any], object]
    ) -> None:
        """Look for whole values between bounds, each better than those before, until that has ended."""
        import numpy as np

        kinds, solver = self._highspy.cb.HighsCallbackType, self._solver
        self.bound(least, most)
        solver.changeColsIntegrality(
            len(self._columns),
            self._columns,
            np.full(len(self._columns), self._highspy.HighsVarType.kInteger),
        )

        def asked(kind: Any, message: str, told: Any, answer: Any, data: Any) -> None:
            if kind == kinds.kCallbackMipImprovingSolution:
                found(np.array(told.mip_solution))
            else:
                answer.user_interrupt = ended()

        solver.setCallback(asked, None)
        solver.startCallback(kinds.kCallbackMipImprovingSolution)
        solver.startCallback(kinds.kCallbackMipInterrupt)
        solver.run()

    def bound(self, lower: Any, upper: Any) -> None:
        """Have values lie between others."""
        columns = self._columns
        self._solver.changeColsBounds(len(columns), columns, lower, upper)

    def hold(self, column: int, least: float, most: float) -> None:
        """Have one value between others."""
        self._solver.changeColBounds(column, least, most)

    def run(self) -> bool | None:
        """Whether there are such values; None where that was not found out."""
        self._solver.run()
        status, kinds = self._solver.getModelStatus(), self._highspy.HighsModelStatus
        if status == kinds.kOptimal:
            return True
        return False if status == kinds.kInfeasible else None

    @property
    def pivots(self) -> int:
        """Of the last run."""
        return int(self._solver.getInfo().simplex_iteration_count)

    @property
    def values(self) -> Any:
        """The last ones found."""
        import numpy as np

        return np.array(self._solver.getSolution().col_value)

    @property
    def duals(self) -> Any:
        """What the last solution gives each row."""
        import numpy as np

        return self._unit * np.array(self._solver.getSolution().row_dual)

    @property
    def ray(self) -> Any:
        """What each row is given to refute all of them; None where the solver has nothing."""
        _, has, values = self._solver.getDualRay()
        return values if has else None
