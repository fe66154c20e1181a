"""What is known of a formula while it is searched, shared by all threads of one search."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Partial
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.presolve import NOTHING_LEFT, Presolved
from hardscape.maxsat.result import Improvement

#: Seconds between two records, and how many times longer than making one at least.
_BETWEEN, _BETWEEN_RECORDS = 2.0, 20.0
#: Bytes of assignments that are kept.
_MOST_BYTES = 2**23
#: Share of the time within which of several lower bounds the last one is kept: some rise thousands of times.
_APART = 0.01


class Incumbent:
    """Keeps the best assignment of a formula; every one offered is evaluated on the formula itself.

    `on_improvement` is called with each `Improvement`, in the thread that found it, and `on_bound` with each
    higher lower bound, one at a time.
    ``record`` is given the state when it is better, unless the last time was just before. ``halt`` (uint8,
    shape (1,)) becomes 1 when the target is reached, or the lower bound: searches poll it. No assignment costs
    less than ``lower``, which ``bounds`` has as it rose, with the seconds until then; ``earned`` is the same
    without what is plain to see. ``suggested`` is what
    walkers may go on from. ``refuted`` says that the hard clauses contradict one another.
    """

    def __init__(
        self,
        formula: Formula,
        on_improvement: Callable[[Improvement], object] | None,
        began: float,
        on_bound: Callable[[int], object] | None = None,
    ) -> None:
        self._formula = formula
        self._presolved = NOTHING_LEFT
        self._target = -1
        self._tell = on_improvement
        self._tell_bound = on_bound
        self._began = began
        self._lock = threading.Lock()
        self._record_at = 0.0
        self.record: Callable[[Partial], object] | None = None
        self.improvements: list[Improvement] = []
        self.halt = np.zeros(1, dtype=np.uint8)
        self.lower = 0
        self.earned = 0
        self.bounds: list[tuple[float, int]] = []
        self._recorded = 0  # a bound that a record keeps, though nobody relies on it here
        self.suggested: Improvement | None = None
        self.refuted = False

    def aim(self, presolved: Presolved, target: int | None) -> None:
        """Say what the searches work on, and the cost at which to stop if the least one is not known."""
        with self._lock:
            self._presolved = presolved
            self._target = max(self.lower, -1 if target is None else target)
            self.halt[0] = self.reached
        self.bound(presolved.constant)

    @property
    def best(self) -> Improvement | None:
        """The last improvement."""
        return self.improvements[-1] if self.improvements else None

    @property
    def feasible(self) -> bool:
        """Whether the best one satisfies the hard clauses."""
        return self.best is not None and self.best.hard_violations == 0

    @property
    def reached(self) -> bool:
        """Whether the best one is at the target."""
        best = self.best
        return best is not None and best.hard_violations == 0 and best.cost <= self._target

    @property
    def proven(self) -> bool:
        """Whether the best one is at the lower bound."""
        best = self.best
        return best is not None and best.hard_violations == 0 and best.cost <= self.lower

    def refute(self) -> None:
        """Take it that no assignment satisfies the hard clauses."""
        self.refuted = True
        self.halt[0] = 1

    def bound(self, lower: int, *, plain: bool = False) -> None:
        """Take a lower bound on the cost of the whole formula, if it is higher.

        One that is plain to see says nothing of what a search or proof comes to.
        """
        with self._lock:
            if not plain:
                self.earned = max(self.earned, lower)
            if lower > self.lower:
                self.lower = lower
                self._mark(time.monotonic() - self._began, lower)
                self._target = max(self._target, lower)
                if self.reached:
                    self.halt[0] = 1
                if self._tell_bound is not None:
                    self._tell_bound(lower)
                self._note()

    def _mark(self, seconds: float, lower: int) -> None:
        if len(self.bounds) > 1 and seconds - self.bounds[-2][0] < _APART * seconds:
            self.bounds.pop()
        self.bounds.append((seconds, lower))

    def bound_reduced(self, lower: int, *, plain: bool = False) -> None:
        """The same, of the presolved formula."""
        self.bound(lower + self._presolved.constant, plain=plain)

    def offer_reduced(self, assignment: NDArray[Any]) -> None:
        """Take an assignment of the presolved formula if it is better."""
        self.offer(self._presolved.lift(assignment))

    def suggest(self, assignment: NDArray[Any]) -> None:
        """The same, of an assignment that walkers which know no better one should go on from."""
        self.offer_reduced(assignment)
        self.suggested = self.best

    def restrict(self, found: Improvement) -> NDArray[np.uint8]:
        """The assignment of the presolved formula that was lifted."""
        return self.restricted(found.assignment)

    def restricted(self, assignment: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The part of an assignment that the presolved formula has."""
        return self._presolved.restrict(assignment)

    def reduced_cost(self, found: Improvement) -> tuple[int, int]:
        """Hard clauses violated and cost of an assignment in the presolved formula."""
        return found.hard_violations, found.cost - self._presolved.constant

    def offer(self, assignment: NDArray[np.uint8]) -> None:
        """Take an assignment of the whole formula if it is better than the best one."""
        hard, cost, satisfied = self._formula.evaluate(assignment)
        with self._lock:
            best = self.best
            if best is not None and (best.hard_violations, best.cost) <= (hard, cost):
                return
            seconds = time.monotonic() - self._began
            found = Improvement(seconds, cost, hard, satisfied, assignment)
            self.improvements.append(found)
            self._forget()
            if self.reached:
                self.halt[0] = 1
            if self._tell is not None:
                self._tell(found)
            self._note()

    def _forget(self) -> None:
        """Let go of the assignment that is one too many, if it is."""
        old = len(self.improvements) - 1 - max(1, _MOST_BYTES // (self._formula.num_variables + 1))
        if old >= 0:
            self.improvements[old] = replace(
                self.improvements[old], assignment=np.zeros(0, dtype=np.uint8)
            )

    def _note(self) -> None:
        """Record what is known, unless that was done just before."""
        if self.record is None or time.monotonic() < self._record_at:
            return
        began = time.monotonic()
        self.record(self.state())
        ended = time.monotonic()
        self._record_at = ended + max(_BETWEEN, _BETWEEN_RECORDS * (ended - began))

    def settle(self, assignment: NDArray[Any]) -> None:
        """Let an assignment of the presolved formula stand for the best one where it is as good.

        Of equally good ones, the first to be offered is a matter of time; this one is not.
        """
        whole = self._presolved.lift(assignment)
        hard, cost, satisfied = self._formula.evaluate(whole)
        with self._lock:
            best = self.best
            if best is None or (best.hard_violations, best.cost) != (hard, cost):
                return
            if (best.assignment != whole).any():
                self.improvements[-1] = replace(best, num_satisfied=satisfied, assignment=whole)

    def state(self) -> Partial:
        """The best assignment and the lower bound, for a ledger."""
        best = self.best
        n = self._formula.num_variables
        return {
            "assignment": np.zeros(n, dtype=np.uint8) if best is None else best.assignment,
            "lower": np.array(divmod(max(self.lower, self._recorded), 2**64), dtype=np.uint64),
        }

    def restore(self, state: Partial, *, relies: bool = True) -> None:
        """Go on from what `state` gave; from its bound only if that is relied on."""
        self.offer(state["assignment"])
        high, low = state["lower"].tolist()
        self._recorded = (high << 64) + low
        if relies:
            self.bound(self._recorded)
