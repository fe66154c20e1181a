"""A first assignment and nothing else, with as little as that needs."""

from __future__ import annotations

from typing import Any

from .board import Board, Settled
from .costs import Relaxed
from .oracle import FEW_CONFLICTS, Oracle


def first(formula: dict[str, Any], board: Board) -> None:
    """Tell an assignment under which the hard clauses hold; `Settled` where there is none.

    By tries as short as those that `begin` begins with. Nobody has asked what it costs.
    """
    relaxed = Relaxed(int(formula["variables"]))
    relaxed.take(formula["clauses"], formula["hard"])
    oracle = Oracle(relaxed.clauses, board, solver="m22")
    oracle.prefer(relaxed.wishes)
    answer = None
    while answer is None:
        answer = oracle.ask([], FEW_CONFLICTS)
    if not answer:
        raise Settled
    true = set(oracle.model())
    board.tell(model="".join("01"[v in true] for v in range(1, relaxed.variables + 1)))
