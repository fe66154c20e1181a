"""Sets of clauses that hold together: grown by a SAT solver until no other can join, or all of them at once."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.asking import CONFLICTS, Asking
from hardscape.maxsat.methods.symmetry.breaking import breaking

#: Most conflicts of a question for all clauses; the first ones have fewer, and each twice as many as before.
_MOST = 10 * CONFLICTS
#: Flips' worth of questions in which a solver says of most formulas that it satisfies that it does.
_TRIAL = 2_000_000


def _literals(assignment: NDArray[np.uint8]) -> list[int]:
    """What is true under an assignment."""
    numbers = np.arange(1, len(assignment) + 1)
    literals: list[int] = np.where(assignment, numbers, -numbers).tolist()
    return literals


class Growing(Asking):
    """What holds under `initial` is to hold on, and the solver is asked for what does not, clause by clause.

    The heaviest first. Since nothing is given up, clauses that hold are clauses of the solver and not
    assumptions, which it could not carry in tens of thousands. A question that takes too many conflicts is
    asked again after the others. It is over where all that is left has been refused, and at once where
    `initial` violates hard clauses.
    """

    def __init__(
        self, formula: Formula, target: int, initial: NDArray[np.uint8], stop: NDArray[np.uint8]
    ) -> None:
        super().__init__(target)
        self._formula = formula
        self.given_up = bool(stop[0]) or formula.hard_violations(initial) > 0
        if self.given_up:
            return
        self._begin(initial, stop)

    def _begin(self, initial: NDArray[np.uint8], stop: NDArray[np.uint8]) -> None:
        formula = self._formula
        n = formula.num_variables
        holds = self._holding(initial)
        literals, offsets = formula.literals.tolist(), formula.offsets.tolist()
        wanted = np.flatnonzero(~holds)
        order = np.argsort(-formula.weights[wanted], kind="stable")
        self._wanted = deque(int(c) for c in wanted[order])
        self._switch = {int(c): n + 1 + i for i, c in enumerate(wanted)}
        for c in range(formula.num_clauses):
            if stop[0]:
                self.given_up = True
                return
            clause = literals[offsets[c] : offsets[c + 1]]
            self._solver.add_clause(clause if holds[c] else [*clause, -self._switch[c]])
        self._solver.add_clause([n, -n])  # so that models have a value of every variable
        self._lost = int(sum(int(w) for w in formula.weights[wanted]))
        self._keep(initial)

    def _holding(self, assignment: NDArray[np.uint8]) -> NDArray[np.bool_]:
        formula = self._formula
        true = assignment[np.abs(formula.literals) - 1] == (formula.literals > 0)
        return np.asarray(np.logical_or.reduceat(true, formula.offsets[:-1]))

    def _keep(self, assignment: NDArray[np.uint8]) -> None:
        phases = _literals(assignment)
        self._solver.set_phases(phases)
        self._found(self._lost, phases)

    def _move(self, stop: NDArray[np.uint8]) -> None:
        if not self._wanted:
            self.given_up = True
            return
        c = self._wanted.popleft()
        answer = self._ask([self._switch[c]])
        if answer is None:
            self._wanted.append(c)
        if not answer:
            return
        n = self._formula.num_variables
        assignment = (np.array(self._solver.get_model()[:n]) > 0).astype(np.uint8)
        holds = self._holding(assignment)
        for joins in [c, *(other for other in self._wanted if holds[other])]:
            self._solver.add_clause([self._switch[joins]])
            self._lost -= int(self._formula.weights[joins])
        self._wanted = deque(other for other in self._wanted if not holds[other])
        self._keep(assignment)


class Together(Asking):
    """The solver is asked for an assignment under which all clauses hold, the soft ones, too, until it answers.

    They are clauses of the solver, and not assumptions, tens of thousands of which each restart would repeat,
    and so are those that break symmetries, where no clause is hard. The values of `initial` are tried first.
    ``lower`` is what everything costs at least.

    A prover asks CaDiCaL the same (``prover.cores.Simplified``), which no search can interrupt: that one
    refutes more and satisfies others than this one, which goes on from what clause weighting has.
    """

    def __init__(
        self, formula: Formula, target: int, initial: NDArray[np.uint8], stop: NDArray[np.uint8]
    ) -> None:
        from hardscape.maxsat.methods.exact.prover.oracle import Room  # needs python-sat

        super().__init__(target, long=True)
        self.lower, self._least = 0, min(formula.weights[~formula.hard].tolist(), default=0)
        self._variables, self._conflicts = formula.num_variables, CONFLICTS
        literals, offsets = formula.literals.tolist(), formula.offsets.tolist()
        clauses = (literals[first:last] for first, last in itertools.pairwise(offsets))
        # Beside hard clauses it is a question of a moment, which symmetries would take longer than.
        more = () if formula.num_hard else breaking(formula)
        for clause in itertools.chain(clauses, more):
            if stop[0]:
                self.given_up = True
                return
            self._solver.add_clause(clause)
        self._solver.add_clause([self._variables, -self._variables])
        top = max(self._variables, self._solver.nof_vars())
        self._room = Room(self._solver, (top + 1, top + 2))
        self._solver.set_phases(_literals(initial))

    @property
    def tried(self) -> bool:
        """Whether it has an answer, or had as long as most take that come at all."""
        return self.given_up or self._worked() >= _TRIAL

    def is_last(self, cost: tuple[int, int]) -> bool:
        """Whether only all clauses together would be better than such a cost, and that is not refuted yet."""
        return not self.given_up and cost <= (0, self._least)

    def _move(self, stop: NDArray[np.uint8]) -> None:
        answer = self._ask(self._room.assumed, self._conflicts)
        self._room.grow(self._solver.accum_stats()["conflicts"])
        self._conflicts = min(2 * self._conflicts, _MOST)
        if answer:
            self._found(0, self._solver.get_model()[: self._variables])
        if answer is False:
            self.given_up, self.lower = True, self._least
