"""Turns at cores and at better assignments."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from .board import Board
from .branching import Branching
from .cores import Cores, Simplified
from .costs import Costs
from .linear import Linear
from .oracle import Oracle
from .tries import begin, circuit
from .trim import trim

#: Processor time for each literal of a turn of cores before counters or sums are sought, less than that takes,
#: and more up to so many seconds, since branches open for longer; of up to so many turns as long as they bring
#: the bounds together fast.
_UNSOUGHT_EACH, _UNSOUGHT_SMALL, _UNSOUGHT, _UNSOUGHT_TURNS = 1e-6, 1e-5, 0.02, 4
#: Processor time of branches before almost all else where counters or sums prevail.
_OPENING = 3.0
#: Processor time of the first turn, of the last, and their ratio, in seconds.
_FIRST, _LONGEST, _GROWTH = 0.3, 20.0, 1.5
#: The same for cores and branches alone at first, of up to so many literals: short proofs need nothing else.
_ALONE, _SMALL = (0.1, 0.2, 0.5), 20_000
#: The same before the clauses are simplified, at least and, but for circuits of up to so many literals, for
#: each literal: twice what that takes.
_BEFORE, _CIRCUIT, _BEFORE_EACH = 0.1, 400_000, 3e-6
#: The same of each more such turn, as long as they bring the bounds together fast.
_MORE = 0.05
#: The same for wishes that always or never hold.
_TRIMMED = 0.2
#: The same for the question whether all clauses hold, where none is hard, and of a short proof.
_PLAIN, _PLAIN_SHORT = 5.0, 0.1
#: The same of a short proof for each literal, where violated clauses weigh no more than such a share of all:
#: about what it takes to tell a solver the clauses with a wish of each.
_PLAIN_EACH, _NEARLY_ALL = 4e-6, 0.02
#: Solvers of the provers by number.
_SOLVERS = ("g4", "g4", "m22", "mcm")
#: Where the cores raised the lower bound by at least such a share of what is left, they go on at once.
_PACE = 0.5
#: Share of a turn that a linear program may take; and the least of the search for better assignments, whose
#: share is halved where it finds nothing while the cores raise the bound, or little is left to find, and else
#: doubled; that is little which is no more than such a share of the cost.
_RELAXED, _LEAST, _NEAR = 0.2, 0.0625, 0.1


def prove(formula: dict[str, Any], board: Board, number: int = 0) -> None:
    """Prove and improve until `Settled`, in the way that a number stands for."""
    if number:
        import random

        names = ("clauses", "weights", "hard")
        rows = list(zip(*(formula[name] for name in names), strict=True))
        random.Random(number).shuffle(rows)
        formula = formula | dict(zip(names, zip(*rows, strict=True), strict=True))
    whole = not (number or board.check or any(formula["hard"]))
    short = board.patience < math.inf
    asks = whole and (not short or _ask_for_all(formula, board))
    costs = Costs.of(formula, board, _SOLVERS[number % len(_SOLVERS)])
    breaking, plain = formula.get("breaking", list), None
    if asks:
        least = min(formula["weights"], default=0)
        plain = Simplified(costs, formula["clauses"], least, () if short else breaking())
    improve(costs, alone=number % 2 == 1, breaking=breaking, plain=plain)


def _ask_for_all(formula: dict[str, Any], board: Board) -> bool:
    """Ask for a moment whether all clauses hold, where little is violated and none is hard; `Settled` if so.

    With a wish of each clause, all of them assumed or demanded, the same question takes many times longer.
    Returns whether it is all that is left, and has no answer.
    """
    clauses, weights = formula["clauses"], formula["weights"]
    board.look()
    if board.cost is None or board.cost > _NEARLY_ALL * sum(weights):
        return False
    least = min(weights)
    oracle = Oracle(clauses, board, "m22")
    oracle.until = time.thread_time() + _PLAIN_EACH * sum(map(len, clauses))
    answer = oracle.ask([])
    if answer:
        model = {abs(x): x for x in oracle.model()}
        board.offer(0, [model.get(v, -v) for v in range(1, formula["variables"] + 1)])
    if answer is False:
        board.raise_to(least)
    oracle.delete()
    board.look()
    return answer is None and board.gap <= least


def improve(
    costs: Costs,
    *,
    alone: bool = False,
    breaking: Callable[[], Iterable[list[int]]] = list,
    plain: Simplified | None = None,
) -> None:
    """Take turns until `Settled`, or look for cores alone.

    Clauses that break symmetries are asked for where it takes longer than a moment. Cores wait for the answer
    to a `plain` question, which their first one repeats with a wish of each clause assumed.
    """
    board, literals = costs.board, sum(map(len, costs.clauses))
    long = board.patience == math.inf and not costs.oracle.premise  # short ones ended before
    cores = Cores(costs, thorough=long and literals <= _SMALL, plain=plain)
    linear = Linear(costs, cores)
    turn, share = _FIRST, 1.0
    whole = not costs.oracle.premise
    simplifies = whole and not board.check

    @cache
    def branching() -> Branching | None:
        return Branching.of(costs, cores.against) if simplifies and not alone else None

    @cache  # once
    def simplify() -> None:
        costs.restrict(breaking())
        if simplifies:
            costs.simplify()

    def beside(seconds: float) -> None:
        counted = simplifies and not alone and bool(costs.counters or costs.sums)
        _branch(branching() if counted else None, board, seconds)

    if plain is not None:
        plain.turn(time.thread_time() + (_PLAIN if board.patience == math.inf else _PLAIN_SHORT))
    if simplifies and not alone and costs.counted and board.patience < math.inf:
        unsought = max(_UNSOUGHT_EACH * literals, min(_UNSOUGHT, _UNSOUGHT_SMALL * literals))
        for _ in range(_UNSOUGHT_TURNS):
            if not cores.turn(time.thread_time() + unsought, program=False):
                break
    begin(costs, partial(beside, _OPENING), beside, simplify if simplifies else None)
    if whole:
        soon = literals <= _CIRCUIT and circuit(costs)
        before = _BEFORE if soon else max(_BEFORE, _BEFORE_EACH * literals)
        end = time.thread_time() + before
        fast = cores.turn(min(end, time.thread_time() + _FIRST))
        while not alone and time.thread_time() < end:
            if not fast:
                linear.turn(min(end, time.thread_time() + _FIRST))
            fast = cores.turn(min(end, time.thread_time() + _FIRST))
        while fast:  # what follows begins anew, here or in another process
            board.extend(_MORE)
            fast = cores.turn(time.thread_time() + _MORE)
        simplify()
        linear = Linear(costs, cores)
        if long and not alone and costs.weight and board.lower < _PACE * board.gap:
            # Simpler clauses have better assignments at once, and those sooner than a proof.
            linear.turn(time.thread_time() + _FIRST)
    for part in _ALONE if literals <= _SMALL else ():
        cores.turn(time.thread_time() + part)
        _branch(branching(), board, part)
    while True:
        before, cost = board.lower, board.cost
        cores.relax(_RELAXED * turn)
        cores.turn(time.thread_time() + turn)
        _branch(branching(), board, turn)
        # Without a wish the cores ask all that is left to ask.
        if not alone and costs.weight and board.lower - before < _PACE * board.gap:
            linear.turn(time.thread_time() + share * turn)
            near = board.cost is not None and board.gap <= _NEAR * board.cost
            idle = board.cost == cost and (near or board.lower > before)
            share = max(_LEAST, share / 2) if idle else min(1.0, 2 * share)
        if simplifies and turn == _FIRST:  # short proofs are over by now
            trim(costs, cores, _TRIMMED)
        turn = min(_LONGEST, _GROWTH * turn)


def _branch(branching: Branching | None, board: Board, turn: float) -> None:
    """Give branches as much processor time as they are worth."""
    seconds = 0.0 if branching is None else branching.seconds(turn)
    if branching is not None and seconds > 0:
        board.extend(seconds)
        branching.turn(time.thread_time() + seconds)
