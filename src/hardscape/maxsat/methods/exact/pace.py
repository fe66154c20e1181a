"""How fast a walker still gets on, and whether a prover should begin."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np

from hardscape import native
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.exact.prover.rows import MOST_LITERALS
from hardscape.maxsat.methods.exact.prover.rows.gates import adders_may_prevail
from hardscape.maxsat.methods.walkers.schedule import asks_first
from hardscape.maxsat.methods.walkers.standing import FALLING
from hardscape.maxsat.result import Improvement
from hardscape.maxsat.task import Task

#: A walker of a circuit is silent where it found nothing in such a part of its time, and for so many seconds:
#: its finds come in bursts.
_QUIET, _SILENCE = 0.5, 0.5
#: Share of its time after which a walker that falls has far less: falls come in bursts, too.
_EARLY = 0.25
#: Longest limit in seconds of which a search may have all before a proof begins. Of longer ones it has the less
#: the longer they are: see `alone`.
SHORT = 2.0
#: A search has such a share of the time before a proof begins, and more where fewer hard clauses stay violated.
#: None begins in the last part of the time, or in so many last seconds where that is less; nor in so many for
#: each literal, which it takes to begin, fewer where there is nothing to lose.
_FIRST_PART, _UNBEGUN, _LAST, _SECONDS = 0.1, 0.6, 0.5, 0.4
_EACH, _LEAST_EACH = 1.5e-6, 6e-7
#: Seconds that must be left where a proof begins with linear programs whose assignments are not likely to be
#: good, though a search gets on.
_TOLD = 1.0
#: Seconds at least, and for each literal, after which most walks that ask a solver have its first assignment: a
#: proof begins where one is stuck, which violates as many hard clauses as `_QUIET` of its time ago.
_ASKED, _ASKED_EACH = 0.6, 8e-6
#: Seconds, and share of a limit, that a proof waits at most for a walk that asks a solver for its first
#: assignment.
_WAITS, _WAITS_SHARE = 3.0, 0.6
#: A proof promises little where the search's own bound is less than such a share of the cost.
_BOUND = 0.125
#: A proof begins, up to a short limit, where such a part of the search's time found nothing.
_STILL = 0.75
#: Most literals for each wish where linear programs have good assignments; and seconds, at least and for each
#: literal, after which assignments that cost little more than the program are there. A proof begins at once up
#: to any limit of no less than that, if the search's bound promises something.
_PRICED, _FIRST, _FIRST_EACH = 65, 0.6, 2.2e-5
#: Seconds at least, and for each literal, that a proof takes to find what its linear programs lead to; and how
#: much less it takes with luck.
_OPENS, _OPENS_EACH, _LUCK = 0.6, 2e-5, 0.5
#: What the simpler clauses of a circuit lead to, whose variables occur no more often than that in the mean,
#: takes seconds, of which so many must be left, after those that a process takes to begin.
_OCCURS, _FIRST_GATES, _MOMENT = 16, 0.6, 0.1
#: What is known of formulas whose proof begins with linear programs.
_PROGRAMS = WeakKeyDictionary[Formula, bool]()


def alone(limit: float) -> float:
    """Seconds that a search which finds something may have before a proof begins.

    A proof takes seconds to come to something. Up to a short limit these are not left to it, and the search
    has all; of a longer one it has less, by the same factor as that is longer.
    """
    return limit if limit <= SHORT else SHORT**2 / limit


class Pace:
    """When a walker found something, in seconds of its own time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._found = 0.0  # when it last did
        self._fell = 0.0  # when fewer hard clauses were violated than before
        self._last: Improvement | None = None
        # What the best cost under which the hard clauses hold, since others found it, and when.
        self._costs: list[tuple[float, int]] = []

    def walked(self, seconds: float, before: Improvement | None, after: Improvement | None) -> None:
        """Take what was the best before and after so many more seconds."""
        if before is not None and not (before.hard_violations or before is self._last):
            self._costs = [(self.seconds, before.cost)]
        self.seconds += seconds
        self._last = after
        violated = math.inf if before is None else before.hard_violations
        if after is not None and after.hard_violations < violated:
            self._fell = self.seconds
        if after is not None and not after.hard_violations:
            self._costs.append((self.seconds, after.cost))
            if after is not before:
                self._found = self.seconds

    @property
    def falls(self) -> bool:
        """Whether what costs far less than early on was found, since the hard clauses hold and of late."""
        if not self._costs or self.idle >= _QUIET * self.seconds:
            return False
        early = _EARLY * self.seconds
        then = next((x for at, x in reversed(self._costs) if at <= early), self._costs[0][1])
        return self._costs[-1][1] <= FALLING * then

    @property
    def idle(self) -> float:
        """Seconds since the last find."""
        return self.seconds - self._found

    @property
    def silent(self) -> bool:
        """Whether nothing was found for so long where finds come in bursts."""
        return self.idle >= max(_SILENCE, _QUIET * self.seconds)

    @property
    def stuck(self) -> bool:
        """Whether as many hard clauses were violated for such a part of its time."""
        return self.seconds - self._fell >= _QUIET * self.seconds

    def still(self, part: float, since: float = 0.0) -> bool:
        """Whether nothing was found for longer since so many seconds, or such a part of that."""
        return self.idle >= part * _STILL * (self.seconds - since)


def asks_in_vain(task: Task) -> bool:
    """Whether a walk asks a solver, and none of the assignments so far satisfies the hard clauses."""
    best = task.incumbent.best
    return (best is None or best.hard_violations > 0) and asks_first(task.presolved.formula)


def only_all_are_better(task: Task) -> bool:
    """Whether no clause is hard, and the best assignment violates no more than the lightest."""
    formula, best = task.presolved.formula, task.incumbent.best
    if formula.num_hard or best is None:
        return False
    return best.cost - task.presolved.constant <= min(formula.weights.tolist(), default=0)


def programs_first(formula: Formula) -> bool:
    """Whether counters of at most one, or sums, may be what most hard clauses say.

    A walker sets the variables of these one by one, and a prover of linear programs does without them.
    """
    if formula not in _PROGRAMS:
        counted: bool = native.core.maxsat.counters_prevail(formula)
        _PROGRAMS[formula] = counted or _sums_may_prevail(formula)
    return _PROGRAMS[formula]


def _sums_may_prevail(formula: Formula) -> bool:
    """Whether sums may be what hard clauses say."""
    if not formula.num_hard or len(formula.literals) > MOST_LITERALS:
        return False
    lengths = np.diff(formula.offsets)
    of_hard = np.repeat(formula.hard, lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths[formula.hard])]).astype(np.int32)
    named = np.zeros(formula.num_variables + 1, dtype=bool)
    named[abs(formula.literals[~of_hard])] = True
    clauses = formula.literals[of_hard], offsets
    found: bool = native.core.maxsat.sums_may_prevail(
        *clauses, np.flatnonzero(named).astype(np.int32)
    )
    return found or adders_may_prevail(*clauses)


def first_ones(formula: Formula) -> float:
    """Seconds after which assignments near a linear program are there; none where programs take long."""
    wishes = formula.num_clauses - formula.num_hard
    if not formula.num_hard or len(formula.literals) > _PRICED * wishes:
        return 0.0
    return max(_FIRST, _FIRST_EACH * len(formula.literals))


def leads(formula: Formula) -> bool:
    """Whether a proof begins with linear programs whose assignments are likely to be good."""
    return first_ones(formula) > 0 and programs_first(formula)


def opening(formula: Formula, left: float = math.inf) -> float:
    """Seconds after which a proof that is likely to find more than a walker has begun to; or none.

    That is one that begins with linear programs, if these may come to something in time, and one of a circuit
    that no walker is able to satisfy.
    """
    if programs_first(formula):
        opens = max(_OPENS, _OPENS_EACH * len(formula.literals))
        return opens if _LUCK * opens <= left else 0.0
    return alone(left) if _circuit_opens(formula, left) else 0.0


def _circuit_opens(formula: Formula, left: float) -> bool:
    """Whether clauses of a circuit get fewer when simplified, and in time."""
    seldom = len(formula.literals) <= _OCCURS * formula.num_variables
    return seldom and left >= _FIRST_GATES and formula.num_hard > 0 and not programs_first(formula)


def _lost(formula: Formula, part: float, *, promises: bool) -> float:
    """Seconds that a proof loses which comes to nothing; a search that waits as long has lost as much.

    It takes them to begin or, where it promises little, to find something, of which a part counts.
    """
    begins = _EACH * len(formula.literals)
    return begins if promises else max(begins, part * _OPENS_EACH * len(formula.literals))


def proof_pays(
    task: Task,
    pace: Pace,
    limit: float,
    *,
    able: bool,
    asking: bool = False,
    seeks: bool = False,
) -> bool:
    """Whether a proof may be tried within a limit, of which the search, able or not, had some time.

    Where no clause is hard and the search is asking whether all can hold, a proof would ask the same. Where
    nothing else is better it begins in time, since a second solver refutes others than the first. Where the
    search seeks a first assignment by a solver a proof would do the same, and tell others all clauses before.
    """
    formula, left = task.presolved.formula, task.options.deadline.left
    best = task.incumbent.best
    violated = best is None or best.hard_violations > 0
    begins = (_LEAST_EACH if violated else _EACH) * len(formula.literals)
    if left is None or left < max(begins, min(_SECONDS, _LAST * limit)):
        return False
    most = alone(limit)
    over = most <= pace.seconds < limit and not (asking and not only_all_are_better(task))
    if violated and asks_in_vain(task):
        enough = max(_ASKED, _ASKED_EACH * len(formula.literals))
        stuck = pace.stuck and pace.seconds >= enough
        waits = seeks and pace.seconds < min(_WAITS, _WAITS_SHARE * limit)
        over = (over or stuck) and not waits if limit > SHORT else over or stuck
        return over or (leads(formula) and opening(formula, left) > 0)
    if violated:
        return pace.seconds >= _UNBEGUN * most
    if not able and pace.silent and _circuit_opens(formula, left - _MOMENT):
        return True
    if over or pace.falls:
        return over
    assert best is not None
    bounded = formula.num_hard > 0 and task.incumbent.earned > _BOUND * best.cost
    if bounded and 0 < first_ones(formula) <= left:
        return True
    soon = left > _TOLD or first_ones(formula) > 0
    programs = soon and programs_first(formula) and opening(formula, left) > 0
    part, promises = most / limit, bounded or not formula.num_hard
    waited = pace.idle >= _lost(formula, part, promises=promises)
    still = pace.still(part) and waited and not asking
    return pace.seconds >= _FIRST_PART * most and (programs or still)
