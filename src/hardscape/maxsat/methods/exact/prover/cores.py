"""The lower side: cores of wishes that cannot all hold."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

from .board import Settled
from .costs import Costs, Count
from .exclusions import Exclusions
from .oracle import CONFLICTS, FEW_CONFLICTS
from .relaxation import Row, clique_of, first_seconds, relaxed

#: Longest core that is made smaller wish by wish, and conflicts and propagations that this takes at most.
_LONG, _SMALLER = 300, (1000, 100_000)
#: How linear programs are solved, one after another as long as each takes too long: an interior point, and a
#: vertex from there, is at times a tenth of the work, and at times ten times as much.
_SOLVERS = ("simplex", "simplex", "ipm")
#: Turns are fast that leave less than such a share of what lay between the bounds, and linear programs of more
#: than so many literals wait as long as they are.
_FAST, _LARGE = 0.65, 20_000
#: Conflicts for each count of a core that thorough ones are shown by.
_EXHAUSTED = 30_000
#: Conflicts of the first question for all clauses; each next one has twice as many where nobody waits.
_FIRST = 2000


class Simplified:
    """Asks whether all clauses hold, where none is hard: CaDiCaL, which simplifies them as no other one here.

    A search asks MiniSat the same, which goes on from an assignment and ends when told to
    (``asking.growing.Together``). Neither stands for the other: each has answers in seconds for which the other
    one takes much longer.
    """

    def __init__(
        self,
        costs: Costs,
        clauses: Sequence[Sequence[int]],
        least: int,
        breaking: Iterable[Sequence[int]] = (),
    ) -> None:
        self._costs, self._least = costs, least
        self._clauses = [*clauses, *breaking]
        self._solver: Any = None
        self._conflicts = _FIRST
        self._answered = False

    @property
    def over(self) -> bool:
        """Whether there is nothing left to ask: it is answered, or a bound says that they cannot hold."""
        return self._answered or self._costs.board.lower >= self._least

    def turn(self, until: float) -> None:
        """Go on until a moment, about; `Settled` if they hold, and a bound, of the lightest, if they cannot."""
        from pysat.solvers import Solver

        board = self._costs.board
        while not self.over and time.thread_time() < until:
            board.look()
            if self._solver is None:
                self._solver = Solver(name="cadical195", bootstrap_with=self._clauses)
            self._solver.conf_budget(self._conflicts)
            answer = self._solver.solve_limited()
            if board.patience == math.inf:
                self._conflicts *= 2
            self._answered = answer is not None
            if answer:
                costs = self._costs  # whose later variables say which clauses are violated
                model = self._solver.get_model()[: costs.variables]
                costs.offer_whole([*model, *range(-len(model) - 1, -costs.first - 1, -1)])
                board.look()
            if answer is False:
                board.raise_to(self._least)
        if self.over and self._solver is not None:
            self._solver.delete()
            self._solver = None


class Cores:
    """Raises the lower bound by cores, heavy wishes first.

    Where proofs take long, `thorough` ones need fewer: each core is counted at once, as far as can be shown.
    None is looked for before a `plain` question is over.
    """

    def __init__(
        self, costs: Costs, *, thorough: bool = False, plain: Simplified | None = None
    ) -> None:
        self._costs, self._oracle, self._thorough = costs, costs.oracle, thorough
        self._plain = plain
        self.counts: list[Count] = []
        self._place: dict[int, tuple[Count, int]] = {}  # of wishes that are counts
        self._waiting: list[tuple[list[int], int]] = []  # cores that are not counted yet
        self._level = -1  # before the beginning
        self._exclusions: Exclusions | None = None
        self._relaxed = False  # whether a linear program was solved
        self._tried = 0.0  # seconds that the last one had
        self._solvers = itertools.cycle(_SOLVERS)
        self._seconds, self._large = 0.0, False  # of the first one, as long as that waits
        self._given: list[list[int]] | None = None  # of which it may be all that is left

    def turn(self, until: float, *, program: bool = True) -> bool:
        """Go on until a moment; `Settled` if that proves the best assignment.

        Returns whether that brings the bounds together fast. After the first turn that may have a `program` a
        linear one is solved, a large one after the first that does not: many proofs need none, and where
        weights are few and alike its fractions of them tell cores less than these have told by then.
        """
        self._oracle.until = until
        if self._level < 0:
            self._begin()
        board, before = self._costs.board, self._costs.board.gap
        self._go()
        fast = board.gap < _FAST * before
        # Without a wish one question is left.
        waits = self._large and (fast or not self._costs.weight)
        if not program:
            return fast
        clauses, self._given = self._given, None
        if self._seconds and not waits:
            seconds, self._seconds = self._seconds, 0.0
            self.relax(seconds, clauses)
        return fast

    @property
    def against(self) -> dict[int, set[int]]:
        """Which wishes each one excludes, as far as that is known."""
        return {} if self._exclusions is None else self._exclusions.against

    def _begin(self) -> None:
        """Have the first wishes."""
        costs, began = self._costs, time.thread_time()
        self._exclusions = Exclusions(costs)
        literals = sum(map(len, costs.clauses))
        self._seconds, self._large = first_seconds(costs, literals), literals > _LARGE
        self._relaxed = self._seconds == math.inf
        # What is learned under a premise is not forgotten with it.
        self._given = None if self._relaxed or self._oracle.premise else list(costs.clauses)
        self._wish_anew()
        self._oracle.until += time.thread_time() - began  # which is not the cores' time

    def _go(self) -> None:
        """Look for cores, level by level, as long as the turn lasts."""
        costs, board = self._costs, self._costs.board
        if self._plain is not None:
            self._plain.turn(self._oracle.until)
        costs.harden()  # others may have found an assignment
        while not self._oracle.late():
            answer = self._oracle.ask(self._asked())
            if answer is None:
                break
            if answer:
                costs.offer(self._solution())
                waited = self.count_waiting()
                if not waited and self._level == 0:
                    raise Settled  # all that is left holds: the solution costs the lower bound
                if not waited:
                    self._level = self._next(self._level)
            else:
                core = self._oracle.core()
                if not core:
                    raise Settled
                self.pay(self._smaller(core))
            costs.harden()
            board.look()

    def _wish_anew(self) -> None:
        """Pay for cliques of the wishes as they are, and begin with the heaviest of what is left."""
        if self._exclusions is not None:
            self._exclusions.pay(self._costs)
        self._level = self._next(math.inf)

    def relax(self, seconds: float, clauses: list[list[int]] | None = None) -> None:
        """Begin anew with what a linear program proposes, where it does so in time and that raises the bound.

        It is the program of those clauses, which are all that is left then, or else of all, and the cores that
        were counted are clauses of it. Nothing is done where one was solved, or had more than half of that time
        before.
        """
        if self._relaxed or seconds <= 2 * self._tried:
            return
        self._tried = seconds
        solver = next(self._solvers)
        found = relaxed(self._costs, self.against, seconds, solver, clauses)
        self._relaxed = found is not None
        if found:
            if clauses is not None:
                self._costs.forget(clauses)
            self.counts, self._place, self._waiting = [], {}, []
            self._take(found)
            self._wish_anew()

    def _take(self, rows: list[tuple[Row, int]]) -> None:
        """Count the slack of rows that were paid for."""
        for row, q in rows:
            if clique_of(self._costs, row, q) or len(row.literals) == 1:
                continue
            count = Count(self._costs, row.literals, q)
            self.counts.append(count)
            self._show(count, 1, q)

    def _asked(self) -> list[int]:
        """The wishes of this level, heavy ones first and counts last: cores are of what is assumed first."""
        weight, place = self._costs.weight, self._place
        wishes = [wish for wish, w in weight.items() if w >= self._level]
        wishes.sort(key=weight.__getitem__, reverse=True)
        counts = [wish for wish in wishes if wish in place] if place else []
        return [wish for wish in wishes if wish not in place] + counts if counts else wishes

    def _next(self, level: float) -> int:
        """The next level: as many wishes again, or twice as many of one weight; 0 for all."""
        below = sorted((w for w in self._costs.weight.values() if w < level), reverse=True)
        if not below:
            return 0
        wanted = max(1, (len(self._costs.weight) - len(below)) // 2)
        found = below[min(wanted, len(below)) - 1]
        return found if found > below[-1] else 0

    def pay(self, core: list[int]) -> None:
        """Take from each wish of a core what the least of them weighs.

        A core of which nothing is left is counted later: cores that share nothing raise the bound sooner.
        """
        costs = self._costs
        paid = min(costs.weight[wish] for wish in core)
        for wish in core:
            costs.gain(wish, -paid)
            if wish in self._place:
                count, i = self._place[wish]
                hidden = count.hidden(i + 1)  # all of it where the wish hides it no longer
                self._show(count, i + 1, min(paid, hidden) if wish in costs.weight else hidden)
        costs.raised(paid)
        if len(core) == 1:
            costs.add([-core[0]])
            return
        costs.add([-wish for wish in core])
        if self._thorough or any(wish in costs.weight for wish in core):
            self._count(core, paid)
        else:
            self._waiting.append((core, paid))

    def _show(self, count: Count, i: int, weight: int) -> None:
        """Wish that no more than i are violated."""
        if i < count.size and weight > 0:
            wish = count.wish(i)
            if wish not in self._place:
                self._costs.solutions.count(wish, [-x for x in count.violated], i)
            count.shown[i] = count.shown.get(i, 0) + weight
            self._place[wish] = count, i
            self._costs.gain(wish, weight)

    def count_waiting(self) -> bool:
        """Count the violated wishes of the cores that wait; whether there were some."""
        waited, self._waiting = self._waiting, []
        for core, paid in waited:
            self._count(core, paid)
        return bool(waited)

    def _solution(self) -> list[int]:
        """The solver's last solution, which is remembered."""
        model = self._oracle.model()
        self._costs.solutions.take(model)
        return model

    def _count(self, core: list[int], paid: int) -> None:
        """Count the violated wishes of a core, and show how many of them can hold, if that is soon known."""
        count = Count(self._costs, [-wish for wish in core], paid)
        self.counts.append(count)
        most = _EXHAUSTED if self._thorough else FEW_CONFLICTS
        end = self._costs.solutions.fewest(core) if len(core) <= _LONG else 0
        i = 1
        while i < min(end, count.size) and not self._oracle.late():
            wish = count.wish(i)
            answer = self._oracle.ask([wish], most)
            if answer:
                self._costs.offer(self._solution())
            if answer is not False:
                break
            count.shown[i] = paid
            self._costs.add([-wish])
            self._costs.raised(paid)
            i += 1
        self._show(count, i, paid)

    def _smaller(self, core: list[int]) -> list[int]:
        """A part of a core that is one, too; as small as a few conflicts and propagations make it."""
        oracle, needing = self._oracle, self._costs.solutions.needed
        needed = set(needing(core))
        for _ in range(3):
            if (
                len(needed) == len(core)
                or len(core) == 1
                or oracle.ask(core, CONFLICTS) is not False
            ):
                break
            found = oracle.core()
            if not found or len(found) >= len(core):
                break
            core, needed = found, set(needing(found))
        core = sorted(core, key=self._costs.weight.__getitem__)
        ends = [a + b for a, b in zip(oracle.work(), _SMALLER, strict=True)]
        while max(1, len(needed)) < len(core) <= _LONG:
            left, propagations = (end - now for end, now in zip(ends, oracle.work(), strict=True))
            if left <= 0 or propagations <= 0:
                break
            tried = next(wish for wish in core if wish not in needed)
            rest = [wish for wish in core if wish != tried]
            answer = oracle.ask(rest, left)
            if answer is False:
                left_over = set(oracle.core() or rest)
                core = [wish for wish in rest if wish in left_over]
                needed = (needed & left_over).union(needing(core))
                continue
            needed.add(tried)
            if answer:
                model = self._solution()
                if self._costs.board.cost is None:  # with few wishes, they are seldom good
                    self._costs.offer(model)
        return core
