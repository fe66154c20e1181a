"""A formula that grows, and is solved again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Self, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import integer
from hardscape.engine import RunArguments
from hardscape.errors import InputError, Interrupted, UnknownArgumentError
from hardscape.maxsat.formula import Formula, checked_formula
from hardscape.maxsat.intake import MAX_WEIGHT, checked_clause
from hardscape.maxsat.methods import MethodName
from hardscape.maxsat.methods.cellular.options import CellularOptions
from hardscape.maxsat.methods.exact.keeper import Call, GrownFormula, Keeper
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.modelling.constraints import Clauses
from hardscape.maxsat.result import Improvement, MaxsatResult
from hardscape.maxsat.solve import solve

#: Assignments that later calls may begin with.
_KEPT = 8
#: Arguments of `solve` that a solver gives itself.
_OF_THE_SOLVER = {"formula", "initial", "lower_bound"}


class SolveArguments(RunArguments, total=False):
    """The keyword arguments of `Solver.solve`, which are those of :func:`hardscape.maxsat.solve`.

    Examples
    --------
    >>> from hardscape.maxsat import Formula, SolveArguments, solve
    >>> how: SolveArguments = {"seed": 1, "time_limit": 5.0}
    >>> solve(Formula.from_clauses([[1], [-1]]), **how).cost
    1
    """

    method: MethodName
    max_flips: int | None
    target: int | None
    on_improvement: Callable[[Improvement], object] | None
    on_bound: Callable[[int], object] | None
    options: WeightingOptions | CellularOptions | None
    runs: int
    check: bool


class Solver:
    """A formula to which clauses are added between calls that solve it (the verbs of IPAMIR).

    Later calls begin with the best of the assignments that were found before, and with every lower bound
    that still holds: clauses that are added never lower the optimum, a soft clause that weighs less lowers
    it by the difference at most, and what holds under some assumptions holds under more.

    Parameters
    ----------
    formula : Formula, or the path of a file of one, optional
        To begin with.

    Notes
    -----
    A call that needs no search, because the last assignment is still as good as the lower bound, costs an
    evaluation. The prover's process, once there is one, lives on until `close`, which a ``with``
    statement calls too, or as long as this object: what its SAT solver learnt of the formula's clauses is
    kept. A copy, and a process that was forked, start one of their own. A call with ``check=True`` has a prover
    of its own, and relies on no bound of earlier calls.

    Examples
    --------
    >>> from hardscape.maxsat import Solver
    >>> solver = Solver()
    >>> for price, item in [(7, 1), (4, 2), (6, 3)]:
    ...     _ = solver.add_soft([-item], price)
    >>> solver.add_hard([1, 2])
    >>> solver.add_at_most([-1, -2, -3], 1)
    >>> solver.solve().model
    [-1, 2, 3]
    >>> solver.solve(assumptions=[1]).cost
    11
    """

    def __init__(self, formula: Formula | str | Path | None = None) -> None:
        self._formula = Formula.from_clauses([]) if formula is None else checked_formula(formula)
        self._new = Clauses(self._formula.num_variables)
        self._auxiliary: list[range] = []
        self._num_soft = self._formula.num_soft
        self._reweighted: dict[int, int] = {}
        self._current: Formula | None = self._formula
        self._assignments: list[NDArray[np.uint8]] = []
        # What holds under assumptions: a lower bound, or None where nothing satisfies all hard clauses.
        self._bounds: dict[frozenset[int], int | None] = {}
        self._keeper = Keeper()

    @property
    def formula(self) -> Formula:
        """All clauses, without the soft ones of weight 0."""
        if self._current is None:
            self._current = self._joined()
        return self._current

    def new_variable(self) -> int:
        """Return a variable that nothing names yet."""
        self._current = None
        return self._new.new()

    def add_hard(self, clause: Iterable[int]) -> None:
        """Demand a clause from now on; variables beyond those that are there come into being.

        Raises
        ------
        InputError
            For what is no literal, and for variables that constraints have made for themselves.
        """
        self._new.hard.append(self._checked(clause, "clause"))

    def add_soft(self, clause: Iterable[int], weight: int = 1) -> int:
        """Add a soft clause; return its number among the soft clauses, from 0.

        Raises
        ------
        InputError
            As for `add_hard`, and for weights that are not integers from 1 to 2**63 - 1.
        """
        weight = integer(weight, "weight", 1, MAX_WEIGHT)
        self._new.soft.append(self._checked(clause, "clause"))
        self._new.weights.append(weight)
        self._num_soft += 1
        return self._num_soft - 1

    def set_weight(self, soft: int, weight: int) -> None:
        """Let the soft clause of that number weigh something else; with 0, it does not count.

        Raises
        ------
        InputError
            For a number that no soft clause has, and weights that are not integers from 0 to 2**63 - 1.
        """
        soft = integer(soft, "soft", 0, self._num_soft - 1)
        weight = integer(weight, "weight", 0, MAX_WEIGHT)
        self._current = self._add()
        before = self._reweighted.get(soft)
        if before is None:
            before = int(self._formula.weights[np.flatnonzero(~self._formula.hard)[soft]])
        self._reweighted[soft] = weight
        self._current = None
        less = max(0, before - weight)
        self._bounds = {
            premises: bound if bound is None else max(0, bound - less)
            for premises, bound in self._bounds.items()
        }

    def add_at_most(
        self, literals: Iterable[int], bound: int, weights: Sequence[int] | None = None
    ) -> None:
        """Demand that no more than so many of the literals hold, or that those which do weigh no more.

        Weights may be negative: with all of them and the bound negated it is "at least". The clauses that this
        takes may have variables of their own; those that the caller names later must be other ones.

        Raises
        ------
        InputError
            As for `add_hard`, and for weights that are not one for each literal.
        MissingDependencyError
            Where it takes more than a few clauses, without rustsat.
        """
        given = checked_clause(literals, "literals")
        each = [1] * len(given) if weights is None else list(weights)
        if len(each) != len(given):
            raise InputError(f"weights has {len(each)} entries for {len(given)} literals")
        less = [-integer(w, "weights", -MAX_WEIGHT, MAX_WEIGHT) for w in each]
        least = -integer(bound, "bound", -(2**127), 2**127)
        terms = zip(less, self._checked(given, "literals"), strict=True)
        last = self._new.num_variables
        self._new.at_least(terms, least)
        if self._new.num_variables > last:
            self._auxiliary.append(range(last + 1, self._new.num_variables + 1))

    def solve(
        self, assumptions: Iterable[int] = (), **arguments: Unpack[SolveArguments]
    ) -> MaxsatResult:
        """Find a good assignment, as :func:`hardscape.maxsat.solve` does.

        Parameters
        ----------
        assumptions : iterable of int
            Literals that hold in this call alone.
        **arguments
            See :func:`hardscape.maxsat.solve`; the formula, the assignment to start from and the lower bound
            are the solver's.

        Returns
        -------
        MaxsatResult
            "UNSATISFIABLE": no assignment satisfies the hard clauses and the assumptions.

        Raises
        ------
        UnknownArgumentError
            For these three.
        Interrupted
            On Ctrl-C or SIGTERM; what its `result` holds is kept.
        """
        if foreign := arguments.keys() & _OF_THE_SOLVER:
            raise UnknownArgumentError(foreign, SolveArguments.__annotations__)
        assumed = self._checked(assumptions, "assumptions")
        premises = frozenset(assumed)
        units = [[literal] for literal in assumed]
        known = [bound for given, bound in self._bounds.items() if given <= premises]
        if arguments.get("check"):  # what one solver proved before is proven anew
            known = []
        if None in known:
            units.append([])
        formula = self._asked(joined(self.formula, Formula.from_clauses([], hard=units)), assumed)
        lower = max((bound for bound in known if bound is not None), default=0)
        try:
            result = solve(
                formula, initial=self._start(formula, assumed), lower_bound=lower, **arguments
            )
        except Interrupted as stop:
            if isinstance(stop.result, MaxsatResult):
                self._keep(premises, stop.result)
            raise
        self._keep(premises, result)
        return result

    def close(self) -> None:
        """End the process of the prover; a later call begins another one, which has learnt nothing yet."""
        self._keeper.close()

    def __repr__(self) -> str:
        return f"<Solver of {self.formula!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _asked(self, formula: Formula, assumed: list[int]) -> Formula:
        """The formula of a call, and for the prover that is kept what it is made of."""
        weights = self._formula.weights[~self._formula.hard].copy()
        weights[list(self._reweighted)] = list(self._reweighted.values())
        parts = {field.name: getattr(formula, field.name) for field in fields(formula)}
        return GrownFormula(**parts, call=Call(self._keeper, self._formula, weights, assumed))

    def _checked(self, clause: Iterable[int], name: str) -> list[int]:
        found = checked_clause(clause, name)
        for variable in map(abs, found):
            if any(variable in own for own in self._auxiliary):
                raise InputError(
                    f"{name} names variable {variable}, which a constraint made for itself; "
                    f"{self._new.num_variables + 1} is free"
                )
        self._new.num_variables = max(self._new.num_variables, *map(abs, found), 0)
        self._current = None
        return found

    def _add(self) -> Formula:
        """Take what is new into the formula."""
        new = self._new
        if not (new.hard or new.soft or new.num_variables > self._formula.num_variables):
            return self._formula
        self._formula = joined(self._formula, Formula.of(self._new))
        self._new = Clauses(self._new.num_variables)
        return self._formula

    def _joined(self) -> Formula:
        whole = self._add()
        if not self._reweighted:
            return whole
        weights = whole.weights.copy()
        places = np.flatnonzero(~whole.hard)[list(self._reweighted)]
        weights[places] = list(self._reweighted.values())
        kept = whole.hard | (weights > 0)
        sizes = np.diff(whole.offsets)
        return Formula(
            whole.num_variables,
            whole.literals[np.repeat(kept, sizes)],
            np.concatenate([[0], np.cumsum(sizes[kept])]),
            weights[kept],
            whole.hard[kept],
            whole.offset,
        )

    def _start(self, formula: Formula, assumed: list[int]) -> NDArray[np.uint8] | None:
        """The best of the assignments that are kept, with what is assumed."""
        found = []
        for kept in self._assignments:
            values = np.zeros(formula.num_variables, dtype=np.uint8)
            values[: len(kept)] = kept
            for literal in assumed:
                values[abs(literal) - 1] = literal > 0
            found.append(values)
        return min(found, key=formula.evaluate, default=None)

    def _keep(self, premises: frozenset[int], result: MaxsatResult) -> None:
        self._assignments = [result.assignment, *self._assignments][:_KEPT]
        contradiction = result.status == "UNSATISFIABLE"
        self._bounds[premises] = None if contradiction else result.lower_bound


def joined(first: Formula, second: Formula) -> Formula:
    """The clauses of both, in order."""
    return Formula(
        max(first.num_variables, second.num_variables),
        np.concatenate([first.literals, second.literals]),
        np.concatenate([first.offsets, second.offsets[1:] + np.int64(first.offsets[-1])]),
        np.concatenate([first.weights, second.weights]),
        np.concatenate([first.hard, second.hard]),
        first.offset + second.offset,
    )
