"""A linear program over values from 0 to 1, by HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

#: Largest price that the solver is told, whose tolerances are absolute.
_LARGEST = 1000.0
#: Rows that the simplex method is told at once, at least and for each variable; of more, those that lack most
#: join round by round, at least so many and half as many as there are variables. Less than the last is nothing.
_AT_ONCE, _EACH, _JOIN, _LACK = 2000, 10, 400, 1e-6
#: How often a run asks in vain whether its time is over: about once a pivot.
_STEPS = 10


@cache
def installed() -> bool:
    """Whether there is a solver of linear programs; looked for once, which takes long for a small formula."""
    return find_spec("highspy") is not None


class Program:
    """The least sum of prices of values, where of the literals of each row at least so many hold.

    `literals` are those of all rows, `sizes` how many each row has, `least` how many hold, or how much those
    that hold weigh by `weights`. Of very many rows few bind, as of the triangles of a clustering: they join
    when values violate them.
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
        options = told | options
        for name, value in options.items():
            highs.setOptionValue(name, value)
        zeros, ones, none = np.zeros(columns), np.ones(columns), self._columns[:0]
        empty = np.zeros(columns, dtype=np.int32)
        highs.addCols(columns, prices / self._unit, zeros, ones, 0, empty, none, zeros[:0])
        weights = np.ones(len(literals), dtype=np.int64) if weights is None else weights
        self.rows = Rows(columns, literals, np.asarray(sizes), np.asarray(least), weights)
        self._asked = 0  # whether its time is over, in this run
        self.pivots, self.value = 0, -np.inf  # of the last run, and of the rows that were told
        self._told = self._columns[:0]  # numbers of the rows that the solver knows, in its order
        self._others = np.arange(0)
        if len(sizes) > max(_AT_ONCE, _EACH * columns) and options["solver"] == "simplex":
            self._others = np.random.default_rng(0).permutation(len(sizes))
        else:
            self._tell(np.arange(len(sizes)))

    def add(self, literals: Any, sizes: Any, least: Any, weights: Any) -> None:
        """Have more rows."""
        import numpy as np

        first = len(self.rows.bounds)
        self.rows = self.rows.extended(literals, sizes, least, weights)
        self._tell(first + np.arange(len(sizes)))

    def _tell(self, new: Any) -> None:
        """Have the solver know rows, by their numbers."""
        import numpy as np

        self._told = np.concatenate([self._told, new])
        starts, columns, factors = self.rows.parts(new)
        self._solver.addRows(
            len(new),
            self.rows.bounds[new].astype(float),
            np.full(len(new), np.inf),
            len(columns),
            starts.astype(np.int32),
            columns.astype(np.int32),
            factors.astype(float),
        )

    def _join(self) -> bool:
        """Have the solver know more of the rows that its values violate; whether there are some."""
        import numpy as np

        lacks = (self.rows.bounds - self.rows.sums(self.values))[self._others]
        order = np.argsort(-lacks, kind="stable")[: max(_JOIN, len(self._columns) // 2)]
        order = order[lacks[order] > _LACK]
        self._tell(self._others[order])
        self._others = np.delete(self._others, order)
        return len(order) > 0

    def ask(self, ended: Callable[[], bool]) -> None:
        """Have the solver ask now and then whether its time is over.

        Each run has a few steps first, or runs whose time is over when they have begun would come to nothing
        again and again.
        """

        def asked(kind: Any, message: str, told: Any, answer: Any, data: Any) -> None:
            self._asked += 1
            answer.user_interrupt = self._asked > _STEPS and ended()

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
        self._tell(self._others)
        self._others = self._others[:0]
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
        kinds, self.pivots = self._highspy.HighsModelStatus, 0
        while True:
            self._asked = 0
            self._solver.run()
            self.pivots += int(self._solver.getInfo().simplex_iteration_count)
            status = self._solver.getModelStatus()
            if status != kinds.kOptimal:
                return False if status == kinds.kInfeasible else None
            self.value = self._unit * self._solver.getInfo().objective_function_value
            if not (len(self._others) and self._join()):
                return True

    @property
    def values(self) -> Any:
        """The last ones found."""
        import numpy as np

        return np.array(self._solver.getSolution().col_value)

    @property
    def duals(self) -> Any:
        """What the last solution gives each row."""
        import numpy as np

        return self._each(self._unit * np.array(self._solver.getSolution().row_dual))

    @property
    def ray(self) -> Any:
        """What each row is given to refute all of them; None where the solver has nothing."""
        _, has, values = self._solver.getDualRay()
        return self._each(values) if has else None

    def _each(self, told: Any) -> Any:
        """Of each row, nothing where the solver does not know it."""
        import numpy as np

        found = np.zeros(len(self.rows.bounds))
        found[self._told] = told
        return found


class Rows:
    """Rows of whole numbers: of the literals of each at least so many hold, or so much by weights."""

    def __init__(self, columns: int, literals: Any, sizes: Any, least: Any, weights: Any) -> None:
        import numpy as np

        self.arrays = literals, sizes, least, weights
        self._starts = np.cumsum(sizes) - sizes
        self.norms = np.add.reduceat(weights, self._starts)
        self.bounds = least - np.add.reduceat(np.where(literals < 0, weights, 0), self._starts)
        self._of = abs(literals) - 1
        self._factors = np.sign(literals) * weights
        self._columns = columns

    @cached_property
    def _by_column(self) -> tuple[Any, ...]:
        """The row of each part, parts by columns, the columns, and where the parts of each begin."""
        import numpy as np

        order = np.argsort(self._of, kind="stable")
        row = np.repeat(np.arange(len(self.bounds)), self.arrays[1])
        return row, order, *np.unique(self._of[order], return_index=True)

    def parts(self, chosen: Any) -> tuple[Any, Any, Any]:
        """Where the parts of some rows begin, one after another, and their columns and factors."""
        import numpy as np

        sizes = self.arrays[1][chosen]
        starts = np.cumsum(sizes) - sizes
        places = np.repeat(self._starts[chosen] - starts, sizes) + np.arange(sizes.sum())
        return starts, self._of[places], self._factors[places]

    def extended(self, *more: Any) -> Rows:
        """With further ones."""
        import numpy as np

        whole = [np.concatenate(both) for both in zip(self.arrays, more, strict=True)]
        return Rows(self._columns, *whole)

    def sums(self, values: Any) -> Any:
        """What the literals of each row weigh, less those that are negated."""
        import numpy as np

        return np.add.reduceat(self._factors * values[self._of], self._starts)

    def columns(self, multipliers: Any) -> Any:
        """What multipliers of the rows give each variable."""
        import numpy as np

        row, order, used, first = self._by_column
        found = np.zeros(self._columns, dtype=np.int64)
        found[used] = np.add.reduceat((multipliers[row] * self._factors)[order], first)
        return found
