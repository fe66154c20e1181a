"""What assignments do to clauses: the figures of one, and the truth of every clause under many at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Literal occurrences looked at in one go.
_BLOCK = 2**24


class Evaluation(NamedTuple):
    """What an assignment does to a formula; the order of tuples is from better to worse.

    Attributes
    ----------
    hard_violations : int
        Hard clauses that do not hold.
    cost : int
        Weight of the soft clauses that do not hold.
    num_satisfied : int
        Clauses that hold, of both kinds.
    """

    hard_violations: int
    cost: int
    num_satisfied: int


class Truths:
    """Truth of clauses under many assignments, of shape (..., n), block by block so that memory stays small."""

    def __init__(self, literals: NDArray[np.int32], offsets: NDArray[np.int32]) -> None:
        self._literals = literals
        self._variables = np.abs(literals.astype(np.int64)) - 1
        self._filled = np.diff(offsets) > 0
        self._starts = offsets[:-1][self._filled]

    def satisfied(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each clause holds, shape (..., m)."""
        return self._over(values, np.empty(len(self._filled), dtype=np.bool_), lambda holds: holds)

    def violations(self, values: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of the chosen clauses do not hold, shape (...)."""
        return self._over(values, np.int64(), lambda holds: np.sum(~holds[:, chosen], axis=1))

    def costs(
        self, values: NDArray[np.bool_], weights: NDArray[np.int64], *, wide: bool
    ) -> NDArray[Any]:
        """Weight of the clauses that do not hold, shape (...); as Python ints where sums are wide."""
        if not wide:
            return self._over(values, np.int64(), lambda holds: ~holds @ weights)

        def exact(holds: NDArray[np.bool_]) -> NDArray[Any]:
            low, high = ~holds @ (weights & 0xFFFFFFFF), ~holds @ (weights >> 32)
            whole: NDArray[Any] = low.astype(object) + (high.astype(object) << 32)
            return whole

        return self._over(values, np.array(0, dtype=object), exact)

    def _over(
        self,
        values: NDArray[np.bool_],
        one: Any,
        of: Callable[[NDArray[np.bool_]], NDArray[Any]],
    ) -> NDArray[Any]:
        """What `of` makes of the truth of the clauses, block by block; `one` is like a result."""
        flat = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
        found = np.empty((len(flat), *np.shape(one)), dtype=one.dtype)
        step = max(1, _BLOCK // max(1, len(self._literals)))
        for i in range(0, len(flat), step):
            found[i : i + step] = of(self._holding(flat[i : i + step]))
        return found.reshape(*values.shape[:-1], *np.shape(one))

    def _holding(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Truth of the clauses, shape (batch, m), of assignments of shape (batch, n)."""
        result = np.zeros((len(values), len(self._filled)), dtype=np.bool_)
        if len(self._literals):
            true = values[:, self._variables] ^ (self._literals < 0)
            result[:, self._filled] = np.logical_or.reduceat(true, self._starts, axis=1)
        return result
