"""The prover in this process, for a moment: a short proof is over before another process has begun."""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hardscape.engine import Context
from hardscape.errors import HardscapeError
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.exact.pace import SHORT, programs_first
from hardscape.maxsat.methods.exact.sharing import Turns
from hardscape.maxsat.methods.symmetry.breaking import breaking
from hardscape.maxsat.result import Improvement
from hardscape.maxsat.task import SMALL

if TYPE_CHECKING:
    from hardscape.maxsat.methods.exact.prover.board import Board
    from hardscape.maxsat.methods.exact.prover.cores import Cores

#: Processor time of the attempt in seconds, twice what a process takes to begin, and most literals: to tell
#: those to the solver takes as long.
_MOMENT, _BRIEF = 0.1, 100_000
#: The same of a proof that a process of its own goes on with, then by a solver that is better at long ones: of
#: a small formula, and of others, which is the prover's first turn.
_HERE, _FIRST_TURN = 2.0, 0.3
#: Seconds in this process between two looks at limits, about, with the interpreter held.
_PATIENCE = 0.02
#: Seconds between two looks at others from this process at least.
_GLANCE = 0.0003
#: Turns of the attempt, of which each must close such a share of the gap, until so little of it is left.
_TURNS, _CLOSED, _NEAR = 5, 0.4, 0.02


def has_a_moment(formula: Formula, left: float) -> bool:
    """Whether the time is long beside an attempt in vain, which has to be prepared as a proof has."""
    return left > SHORT and not programs_first(formula)  # which are worth more


def begins_here(formula: Formula, left: float) -> bool:
    """Whether a proof that has the only thread, in turns with a walker, begins in this process."""
    literals = len(formula.literals)
    return literals <= SMALL or (literals <= _BRIEF and has_a_moment(formula, left))


def lists_of(formula: Formula) -> dict[str, Any]:
    """A formula as the prover takes it."""
    literals, offsets = formula.literals.tolist(), formula.offsets.tolist()
    return {
        "variables": formula.num_variables,
        "clauses": [literals[a:b] for a, b in itertools.pairwise(offsets)],
        "weights": formula.weights.tolist(),
        "hard": formula.hard.tolist(),
        "counted": programs_first(formula),
        "breaking": partial(breaking, formula),
    }


def proven_at_once(formula: Formula, constant: int, incumbent: Incumbent, context: Context) -> bool:
    """Look for cores of a small presolved formula, for a moment; whether the best assignment is proven by them.

    That must satisfy the hard clauses. `constant` is what any assignment costs more in the original formula.
    """
    best = incumbent.best
    if len(formula.literals) > _BRIEF or best is None or best.hard_violations:
        return False
    from hardscape.maxsat.methods.exact.prover.board import Settled, Stopped
    from hardscape.maxsat.methods.exact.prover.cores import Cores
    from hardscape.maxsat.methods.exact.prover.costs import Costs

    board = _board(constant, incumbent, context)
    try:
        board.look()
        with _uncollected():
            _hasten(Cores(Costs.of(lists_of(formula), board)), board)
    except Settled:
        return True
    except Stopped:
        pass
    return False


def settled_here(
    formula: Formula,
    constant: int,
    incumbent: Incumbent,
    context: Context,
    turns: Turns,
    moment: float = math.inf,
) -> bool | None:
    """Prove and improve in this process for a while, in turns with a walker where the formula is small.

    That is no longer than a `moment`, but for more that is worth it.

    False if stopped before the end, None if that is not to be had soon.
    """
    from hardscape.maxsat.methods.exact.prover.board import Settled, Stopped
    from hardscape.maxsat.methods.exact.prover.turns import prove

    small = len(formula.literals) <= SMALL
    until = time.thread_time() + min(moment, _HERE if small else _FIRST_TURN)
    board = _board(constant, incumbent, context, turns if small else None, until)
    try:
        board.look()
        with _uncollected():
            prove(lists_of(formula), board)
    except Settled:
        return True
    except Stopped:
        pass
    turns.lower = board.lower
    return False if board.stopped else None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's collector, which looks through tens of thousands of clauses again and again, in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _board(
    constant: int,
    incumbent: Incumbent,
    context: Context,
    turns: Turns | None = None,
    until: float = math.inf,
) -> Board:
    """A board that tells the incumbent, and whose look is a walker's turn where one is due.

    Nobody waits for more than so much of the thread's processor time.
    """
    from hardscape.maxsat.methods.exact.prover.board import Board, Settled, Stopped

    class Here(Board):
        """Knows what others found."""

        patience = _PATIENCE
        next = 0.0  # when to look at others, which takes as long as a short question

        def look(self) -> None:
            now = time.monotonic()
            if now >= self.next:
                self.next = now + _GLANCE
                self._look_around()
            super().look()

        def _look_around(self) -> None:
            """Let the walker have its turn, take what others found, and mind the time."""
            if turns is not None and turns.due:
                turns.walk(self.lower)
            if incumbent.proven:
                raise Settled
            self.stopped = self.over()
            found = incumbent.best
            if found is not None and not found.hard_violations:
                self._take(found)
            super().look()
            if time.thread_time() >= until:
                raise Stopped

        def extend(self, seconds: float) -> None:
            nonlocal until
            until += seconds

        def over(self) -> bool:
            return self.stopped or context.stopped() or bool(incumbent.halt[0])

        def _take(self, found: Improvement) -> None:
            if self.cost is None or found.cost - constant < self.cost:
                self.cost = found.cost - constant
                values = enumerate(incumbent.restrict(found).tolist(), 1)
                self.model = [v if x else -v for v, x in values]

        def tell(self, **message: Any) -> None:
            """Take a bound, or an assignment."""
            if "lower" in message:
                incumbent.bound(message["lower"] + constant)
                return
            incumbent.suggest(np.frombuffer(message["model"].encode(), dtype=np.uint8) - ord("0"))
            found = incumbent.best
            assert found is not None
            if (found.hard_violations, found.cost - constant) > (0, message["cost"]):
                raise HardscapeError("the prover's assignment does not cost what it says")

    return Here()


def _hasten(cores: Cores, board: Board) -> None:
    """Look for cores as long as the bounds come together fast, or are near one another."""
    first = board.gap
    for _ in range(_TURNS):
        before = board.gap
        cores.turn(time.thread_time() + _MOMENT / _TURNS)
        if board.gap > max((1 - _CLOSED) * before, _NEAR * first):
            return
