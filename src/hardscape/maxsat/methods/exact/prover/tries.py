"""Tries at a first assignment."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator

from .board import Settled
from .costs import Costs
from .oracle import FEW_CONFLICTS, Oracle

#: Tries of few conflicts, at least and at most, and the processor time after which there is none more: so much
#: and, for each literal, what it takes to tell a solver the clauses.
_LEAST_TRIES, _FEW_TRIES, _TRIED, _TRIED_EACH = 3, 10, 0.2, 5e-7
#: Propagations of such a try at most, and at most for each variable: it ends as soon where conflicts take many.
_PROPAGATIONS, _FOR_EACH = 200_000, 4
#: Processor time of each longer try, and of the first ones after that, which double.
_LONG, _LONGER = 0.3, 0.5
#: Clauses are simplified before these where a variable occurs no more often than that in the mean: most are
#: outputs of gates, which elimination removes.
_OCCURS = 16
#: Conflicts between two looks at the clock, and what a clock may not tell from nothing.
_MOST, _MOMENT = 8000, 0.001


def begin(
    costs: Costs,
    opening: Callable[[], object] = float,
    beside: Callable[[float], object] = float,
    simplify: Callable[[], object] | None = None,
) -> None:
    """Have an assignment, or the proof that there is none, by whichever of three solvers has it first.

    Short tries come before somebody else's `opening`, long ones after that; after each of these somebody else
    has as many seconds. Where short tries and one of Glucose are in vain clauses that look like a circuit's are
    simplified, if they may be.
    """
    board = costs.board
    board.look()
    wishful, plain = (Oracle(costs.clauses, board, "m22", most=_MOST) for _ in range(2))
    if board.patience < math.inf:
        wishful = costs.oracle  # is like it, and needs the clauses for cores anyway
    pace = 0.0
    if board.cost is None:
        wishful.prefer(list(costs.weight))
        pace = _shortly(costs, wishful)
    opening()
    if board.cost is None:
        for oracle, conflicts in _longer(costs, wishful, plain, pace, simplify):
            began = time.thread_time()
            _try(costs, oracle, conflicts)
            if board.cost is not None:
                break
            beside(time.thread_time() - began)
    if wishful is not costs.oracle:
        wishful.delete()
    plain.delete()


def circuit(costs: Costs) -> bool:
    """Whether variables occur as seldom as those of circuits, whose clauses get fewer when simplified."""
    return sum(map(len, costs.clauses)) <= _OCCURS * costs.top


def _try(costs: Costs, oracle: Oracle, conflicts: int, propagations: float = math.inf) -> None:
    """Offer an assignment that so many conflicts and propagations find."""
    answer = oracle.ask([], conflicts, propagations)
    if answer is False:
        raise Settled
    if answer:
        costs.offer(oracle.model())


def _shortly(costs: Costs, wishful: Oracle) -> float:
    """Try a few times with few conflicts; returns how many take a second."""
    began, passed = time.thread_time(), 0.0
    most = _TRIED + _TRIED_EACH * sum(map(len, costs.clauses))
    propagations = max(_PROPAGATIONS, _FOR_EACH * costs.top)
    for tried in range(1, _FEW_TRIES + 1):
        _try(costs, wishful, FEW_CONFLICTS, propagations)
        passed = time.thread_time() - began
        if costs.board.cost is not None or (passed > most and tried >= _LEAST_TRIES):
            break
    return wishful.work()[0] / max(passed, _MOMENT)


def _longer(
    costs: Costs,
    wishful: Oracle,
    plain: Oracle,
    pace: float,
    simplify: Callable[[], object] | None,
) -> Iterator[tuple[Oracle, int]]:
    """Who tries next, and with how many conflicts; what takes one of them seconds, another one has at once.

    Conflicts stand for time, by how many take a second.
    """
    once = 1 + FEW_CONFLICTS + int(_LONG * pace)
    if simplify is not None and circuit(costs):
        yield costs.oracle, once  # some take longer to simplify
        simplify()
        plain.restart(costs.clauses)
        wishful.restart(costs.clauses)
        wishful.prefer(list(costs.weight))
    else:
        for oracle in (plain, costs.oracle):
            yield oracle, once
    for doubled in itertools.count():
        longer = 1 + FEW_CONFLICTS + int(2**doubled * _LONGER * pace)
        yield costs.oracle, 2 * longer
        yield plain, longer
        yield wishful, longer
