"""Formulas of small width, solved by tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.maxsat.formula import Formula

#: Operations at most without those that add clauses, a tenth of a second or two, and seconds of each; costs are
#: sums below 2^62.
_MOST, _EACH = 1e8, 1.7e-9
_MOST_COST = 2**62
#: Variables and literals above which to look for an order takes long.
_VARIABLES, _LITERALS = 2_000, 20_000


@dataclass(frozen=True, eq=False)
class Tables:
    """An elimination of a presolved formula that is over soon."""

    formula: Formula
    order: NDArray[np.uint32]
    seconds: float  # that it takes, about

    @classmethod
    def of(cls, formula: Formula) -> Tables | None:
        """That of a formula, None where it takes long."""
        if formula.num_variables > _VARIABLES or len(formula.literals) > _LITERALS:
            return None
        if formula.total_weight >= _MOST_COST:
            return None
        operations, order = native.core.maxsat.elimination_plan(formula, _MOST)
        return None if math.isinf(operations) else cls(formula, order, _EACH * operations)

    def solve(self, stop: NDArray[np.uint8]) -> tuple[int, NDArray[np.uint8] | None] | None:
        """Least cost and an assignment, or None for that where the hard clauses contradict one another.

        None where stopped.
        """
        return native.core.maxsat.eliminate(self.formula, self.order, stop)
