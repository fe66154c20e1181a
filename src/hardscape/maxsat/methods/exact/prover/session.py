"""A formula that grows, proven again and again by one SAT solver.

What a call takes for granted, its assumptions, its counts, and what it hardens, holds under a premise of its
own, a new variable. When the call is over the premise is denied. So what the solver has learnt then are
consequences of the formula's clauses, and it keeps them.
"""

from __future__ import annotations

from typing import Any

from .board import Board, Settled, Stopped, say
from .costs import Costs, Relaxed
from .oracle import Oracle
from .turns import improve


class Session:
    """The clauses of all calls, and the solver that has learnt of them."""

    def __init__(self, variables: int) -> None:
        self._relaxed = Relaxed(variables)
        self._oracle = Oracle([], Board())
        self._given = 0

    def call(self, told: dict[str, Any], board: Board) -> None:
        """Prove and improve until that is settled or stopped.

        `told` holds ``variables``; ``clauses`` that are new and whether they are ``hard``; the ``weights`` of
        all soft clauses; and ``assumed`` literals.
        """
        relaxed, oracle = self._relaxed, self._oracle
        inner = relaxed.inner
        names = [inner(v) for v in range(1, told["variables"] + 1)]
        new = [[inner(x) for x in clause] for clause in told["clauses"]]
        relaxed.take(new, told["hard"])
        for clause in relaxed.clauses[self._given :]:
            oracle.last(clause)
        self._given = len(relaxed.clauses)
        relaxed.top += 1
        premise = relaxed.top
        oracle.begin(board, [premise], names)
        costs = Costs(relaxed, told["weights"], oracle, names)
        try:
            for literal in told["assumed"]:
                costs.add([inner(literal)])
            improve(costs)
        except Settled:
            say(settled=True)
        except Stopped:
            pass
        finally:
            relaxed.top = costs.top
            oracle.last([-premise])
