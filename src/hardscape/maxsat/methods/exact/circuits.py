"""Which hard clauses say what gates do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula


def share_of_gates(formula: Formula) -> float:
    """Share of the hard clauses that are those of an AND or an XOR of two literals.

    An output of AND implies both inputs and is implied by them: two clauses of two literals and one of three.
    That of XOR has four clauses of the same three variables.
    """
    if not formula.num_hard:
        return 0.0
    lengths = np.diff(formula.offsets)
    starts = formula.offsets[:-1]

    def hard(length: int) -> NDArray[np.int64]:
        first = starts[formula.hard & (lengths == length)]
        found: NDArray[np.int64] = formula.literals[first[:, None] + np.arange(length)].astype(
            np.int64
        )
        return found

    pairs, triples = hard(2), hard(3)
    span = 2 * formula.num_variables + 1

    def keys(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(a, b) * span + np.maximum(a, b)

    known = keys(*pairs.T)
    ands = np.zeros(len(triples), dtype=bool)
    for z, x, y in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        out, a, b = triples[:, z], triples[:, x], triples[:, y]
        ands |= np.isin(keys(-out, -a), known) & np.isin(keys(-out, -b), known)
    _, counts = np.unique(np.sort(abs(triples)), axis=0, return_counts=True)
    clauses = 3 * int(ands.sum()) + 4 * int((counts == 4).sum())
    return clauses / formula.num_hard
