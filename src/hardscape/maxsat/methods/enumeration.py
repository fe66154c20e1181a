"""Looking at every assignment of a tiny formula: sooner than a search, and a proof."""

from __future__ import annotations

import numpy as np

from hardscape.engine import Cpu
from hardscape.maxsat.task import Method, Task

#: Most variables and literals, for some 20 ms.
_VARIABLES, _LITERALS = 12, 1000


class Enumeration(Method):
    """Every assignment, for formulas of a few variables."""

    name = "enumeration"
    asked = ("auto",)
    devices = (Cpu,)

    def unfit(self, task: Task) -> str:
        """See `Method.unfit`."""
        formula = task.presolved.formula
        if formula.num_variables <= _VARIABLES and len(formula.literals) <= _LITERALS:
            return ""
        return f"more than {_VARIABLES} variables or {_LITERALS} literals are left"

    def search(self, task: Task) -> None:
        """See `Method.search`."""
        task.note(self.name, "cpu")
        formula = task.presolved.formula
        count = formula.num_variables
        every = (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.uint8)
        feasible = every[formula.hard_violations(every) == 0] if formula.num_hard else every
        if len(feasible) == 0:
            task.incumbent.refute()
            task.incumbent.offer_reduced(every[0])
            return
        task.incumbent.offer_reduced(feasible[int(np.argmin(formula.cost(feasible)))])
        best = task.incumbent.best
        assert best is not None
        task.incumbent.bound(best.cost)
