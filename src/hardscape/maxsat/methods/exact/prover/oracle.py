"""A SAT solver that minds the time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pysat.solvers import Solver

from .board import Board, ContradictionError

#: Conflicts between two looks at the clock, and those that a core is made smaller or stronger with.
CONFLICTS, FEW_CONFLICTS = 2000, 300
#: Where somebody waits for those looks: conflicts between the first two, the fewest between any, and
#: propagations, at least so many and so many for each variable.
_FIRST, _LEAST, _PROPAGATIONS, _FOR_EACH = 100, 10, 100_000, 4
#: How MiniSat has room for more learnt clauses in the course of a call, which begins with a third of those
#: given: so many times more after so many conflicts, then after so many times as many, each time. And given
#: clauses of which a third is enough.
_MORE_ROOM, _SOON, _LATER, _ENOUGH = 1.1, 100, 1.5, 30_000
#: Clauses that a solver is told between two looks.
BETWEEN_LOOKS = 2000


class Oracle:
    """A SAT solver whose calls end at a moment.

    With a `premise`, a literal that is assumed in every call, what is added holds under it alone: what the
    solver learns is true without, as far as that does not name the premise.
    """

    def __init__(
        self,
        clauses: list[list[int]],
        board: Board,
        solver: str = "g4",
        *,
        many: bool = False,
        most: int = CONFLICTS,
    ) -> None:
        if board.patience < math.inf and solver == "g4":
            solver = "m22"  # Glucose looks at what it may spend only where it restarts, which can be late
        # Glucose's incremental mode keeps what the assumptions imply when it restarts.
        self._mode: dict[str, Any] = {"name": solver} | (
            {"incr": True} if many and solver == "g4" else {}
        )
        self._given = list(clauses)  # as they are now
        self._second = Solver(name="cd15", bootstrap_with=clauses) if board.check else None
        self.until = 0.0
        waits = board.patience < math.inf
        self._most = most  # conflicts between two looks
        self._conflicts, self._least = (_FIRST, _LEAST) if waits else (most, FEW_CONFLICTS)
        self._patience = 1  # in times of so many propagations
        #: Two variables that nothing names, where looks shall not make the solver forget what it has learnt.
        self.spare: tuple[int, int] | None = None
        self._room: Room | None = None
        self._limited = False  # whether the solver minds its propagations
        self.guided = False  # towards an assignment near which better ones are likely
        self.begin(board, ())

    @cached_property
    def _solver(self) -> Any:
        """Is told the clauses when it is first needed: another one may answer before."""
        solver = Solver(**self._mode)
        for first in range(0, len(self._given), BETWEEN_LOOKS):
            self.board.look()
            solver.append_formula(self._given[first : first + BETWEEN_LOOKS])
        return solver

    def begin(
        self, board: Board, premise: Sequence[int], names: Sequence[int] | None = None
    ) -> None:
        """Work for a board, whose assignments are values of `names`, under a premise of one literal or none."""
        self.board = board
        self.premise = list(premise)
        self._lapse = [-literal for literal in premise]
        self._names = names
        self._like: Sequence[int] = ()

    def _inner(self, model: Sequence[int]) -> Sequence[int]:
        if self._names is None:
            return model
        return [v if x > 0 else -v for v, x in zip(self._names, model, strict=True)]

    def last(self, clause: list[int]) -> None:
        """Demand a clause whatever the premise."""
        self._solver.add_clause(clause)
        if self._second is not None:
            self._second.add_clause(clause)

    def restart(self, clauses: list[list[int]]) -> None:
        """Work on other clauses, whose solutions under any wishes are the same."""
        self._forget()
        self._given = list(clauses)
        self._like = ()

    def add(self, clause: list[int]) -> None:
        """Demand a clause from now on."""
        self.last(clause + self._lapse)

    def prefer(self, literals: Sequence[int]) -> None:
        """Try these literals first."""
        self._solver.set_phases(literals)

    def late(self) -> bool:
        """Whether the turn is over."""
        return time.thread_time() >= self.until

    def ask(
        self,
        wishes: Sequence[int],
        conflicts: int | None = None,
        propagations: float = math.inf,
    ) -> bool | None:
        """Whether the wishes can all hold; None where the turn is over, or what it may take."""
        done = self.work()
        began = done[0]
        end = math.inf if conflicts is None else began + conflicts
        last = done[1] + propagations
        while True:
            self.board.look()
            if self.guided and self.board.guide is not self._like:
                self._like = self.board.guide
                self.prefer(self._inner(self._like))
            answer = self._try(wishes, done, end, last)
            if answer is False:
                self.confirm(self.core())
            if answer is not None:
                return answer
            done = self.work()
            if self.late() if math.isinf(end) else done[0] >= end or done[1] >= last:
                return None
            if self.spare:
                self._room = self._room or Room(self._solver, self.spare)
                self._room.grow(done[0] - began)

    def _try(
        self, wishes: Sequence[int], done: tuple[int, int], end: float, last: float
    ) -> bool | None:
        """The same up to the next look, or so many conflicts or propagations of all, from those done."""
        began, (before, propagated) = time.monotonic(), done
        self._solver.conf_budget(int(min(self._conflicts, end - before)))
        waits = self.board.patience < math.inf
        least = max(_PROPAGATIONS, _FOR_EACH * self._solver.nof_vars())
        most = min(self._patience * least if waits else math.inf, last - propagated)
        if most < math.inf or self._limited:
            self._limited = most < math.inf
            self._solver.prop_budget(int(most) if self._limited else -1)
        # Interrupts are not used, but are how python-sat is told to let other threads go on meanwhile: one
        # of them says that this process may be stopped.
        answer: bool | None = self._solver.solve_limited(
            assumptions=[*self.premise, *(self.spare or ()), *wishes], expect_interrupt=True
        )
        if answer is None:
            if waits and self.work()[0] == before:
                self._patience *= 2  # to hold what is assumed takes more
            self._pace(time.monotonic() - began)
        return answer

    def work(self) -> tuple[int, int]:
        """Conflicts and propagations so far."""
        counted = self._solver.accum_stats()
        return int(counted["conflicts"]), int(counted["propagations"])

    def _pace(self, seconds: float) -> None:
        """Look at the clock so often that nobody waits long, by how long the last conflicts took."""
        factor = 0.5 if seconds > self.board.patience else 2.0
        self._conflicts = int(min(self._most, max(self._least, factor * self._conflicts)))

    def confirm(self, literals: Sequence[int]) -> None:
        """Have a second solver refute them too, if that is wanted."""
        if self._second is not None and self._second.solve(assumptions=[*self.premise, *literals]):
            raise ContradictionError(f"CaDiCaL satisfies what was refuted: {literals}")

    def core(self) -> list[int]:
        """The wishes that contradicted one another; none where the clauses alone do."""
        core: list[int] = self._solver.get_core() or []
        return [wish for wish in core if wish not in self.premise] if self.premise else core

    def model(self) -> list[int]:
        """The literals of the last solution."""
        return self._solver.get_model()  # type: ignore[no-any-return]

    def _forget(self) -> None:
        """Give the solver's memory back, if there is one."""
        self._room = None
        self._limited = False
        solver = self.__dict__.pop("_solver", None)
        if solver is not None:
            solver.delete()

    def delete(self) -> None:
        """Give the memory back."""
        self._forget()
        if self._second is not None:
            self._second.delete()


class Room:
    """What one call of so many conflicts would have, by copies of a clause that says nothing.

    Its variables, which nothing names, are to be `assumed`, so no propagation sees the copies. Else a long
    question never ends where few clauses are given: each call would begin with room for a third as many.
    """

    def __init__(self, solver: Any, spare: tuple[int, int]) -> None:
        self._solver, self._spare = solver, spare
        self._copies = 0

    @property
    def assumed(self) -> tuple[int, ...]:
        """The variables of the copies, if there are some."""
        return self._spare if self._copies else ()

    def grow(self, conflicts: int) -> None:
        """Have the room of so many conflicts."""
        steps = math.log(1 + conflicts * (_LATER - 1) / _SOON, _LATER)
        given = self._solver.nof_clauses() - self._copies
        more = int(min(given * _MORE_ROOM**steps, _ENOUGH)) - given - self._copies
        if more > 0:
            self._solver.append_formula([self._spare] * more)
            self._copies += more
