"""Wishes that every solution grants, and wishes that none does.

TrimMaxSAT: T. Paxian, P. Raiola and B. Becker, VMCAI 2021.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from .cores import Cores
from .costs import Costs
from .oracle import Oracle


def trim(costs: Costs, cores: Cores, seconds: float) -> None:
    """Pay for wishes that no solution grants, and demand those that all do, in so much processor time."""
    oracle = Oracle(costs.clauses, costs.board, solver="m22")
    oracle.until = time.thread_time() + seconds
    selectors = itertools.count(costs.top + 1)
    wishes = list(costs.weight)
    never = _never(oracle, costs, wishes, selectors)
    denied = _never(oracle, costs, [-wish for wish in wishes], selectors)
    oracle.delete()
    for wish in never:
        cores.pay([wish])
    for literal in denied:
        if -literal in costs.weight:
            costs.add([-literal])
            del costs.weight[-literal]


def _never(
    oracle: Oracle, costs: Costs, literals: list[int], selectors: Iterator[int]
) -> list[int]:
    """Those that are true in no solution; none where that is not known before the time is up.

    Under a selector, of which each is used once, one of those must be true that were in no solution yet.
    """
    oracle.prefer(literals)
    while literals and not oracle.late():
        selector = next(selectors)
        oracle.last([-selector, *literals])
        answer = oracle.ask([selector])
        oracle.last([-selector])
        if answer is False:
            return literals
        if answer is None:
            break
        true = set(costs.offer(oracle.model()[: costs.top]))
        literals = [x for x in literals if x not in true]
    return []
