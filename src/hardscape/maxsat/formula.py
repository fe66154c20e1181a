"""Weighted partial MAX-SAT formulas: hard clauses that must hold, soft clauses that cost their weight."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape import native
from hardscape.arguments import integer
from hardscape.errors import InputError
from hardscape.formats import Formats
from hardscape.maxsat.intake import (
    MAX_VARIABLES,
    MAX_WEIGHT,
    check_literals,
    check_offsets,
    check_weights,
    checked_clause,
    frozen_array,
    soft_weights,
    truth_values,
)
from hardscape.maxsat.modelling.constraints import Clauses
from hardscape.maxsat.modelling.cpsat import clauses_of_cpsat, cpsat_of
from hardscape.maxsat.modelling.pysat import clauses_of_pysat, pysat_of
from hardscape.maxsat.truth.evaluation import Evaluation, Truths

#: Literals from which on an evaluation takes long enough that time is kept back for the last one.
LARGE = 300_000

#: Largest offset, of either sign.
MOST_OFFSET = 2**127
#: Known by name: the formats stand on this module.
_FORMATS: Formats[Formula] = Formats("hardscape.maxsat.formats")


@dataclass(frozen=True, eq=False)
class Formula:
    """A weighted partial MAX-SAT formula, clause by clause as it was given.

    Clause c holds the literals ``literals[offsets[c]:offsets[c + 1]]``. Tautologies, repeated
    literals, repeated and empty clauses are kept: an empty soft clause is a constant cost, an empty
    hard clause makes the formula unsatisfiable.

    Attributes
    ----------
    num_variables : int
        Variables are numbered from 1 to this.
    literals : int32, shape (nnz,)
        Variable v as v where it stands plain and as -v where it is negated.
    offsets : int32, shape (m + 1,)
        Of at most 2**31 - 1 literals in all.
    weights : int64, shape (m,)
        1 to 2**63 - 1 for soft clauses, 0 for hard ones.
    hard : bool, shape (m,)
    offset : int
        Of a formula that stands for a linear objective: what that is above the cost. Costs do not hold it.

    Raises
    ------
    InputError
        If the arrays do not describe a formula.

    Examples
    --------
    >>> from hardscape.maxsat import Formula
    >>> formula = Formula.from_clauses([[1], [2]], [3, 1], hard=[[-1, -2]])
    >>> formula.num_variables, formula.num_hard, formula.num_soft
    (2, 1, 2)
    >>> formula.cost([True, False])
    1
    """

    num_variables: int
    literals: NDArray[np.int32]
    offsets: NDArray[np.int32]
    weights: NDArray[np.int64]
    hard: NDArray[np.bool_]
    offset: int = 0

    def __post_init__(self) -> None:
        count = integer(self.num_variables, "num_variables", 0, MAX_VARIABLES)
        object.__setattr__(self, "num_variables", count)
        offset = integer(self.offset, "offset", -MOST_OFFSET, MOST_OFFSET)
        object.__setattr__(self, "offset", offset)
        for name, dtype in (
            ("literals", np.int32),
            ("offsets", np.int32),
            ("weights", np.int64),
            ("hard", np.bool_),
        ):
            object.__setattr__(self, name, frozen_array(getattr(self, name), name, dtype))
        check_offsets(self.offsets, len(self.literals), weights=self.weights, hard=self.hard)
        check_literals(self.literals, self.offsets, count)
        check_weights(self.weights, self.hard)

    @classmethod
    def from_clauses(
        cls,
        clauses: Iterable[Iterable[int]],
        weights: Sequence[int] | NDArray[Any] | None = None,
        *,
        hard: Iterable[Iterable[int]] = (),
        num_variables: int | None = None,
    ) -> Self:
        """Make a formula of lists of literals.

        Parameters
        ----------
        clauses : iterable of iterables of int
            Soft clauses: +v or -v for variable v, which counts from 1.
        weights : sequence of int, optional
            Weight of each soft clause, 1 to 2**63 - 1; by default 1.
        hard : iterable of iterables of int
            Hard clauses; they come first in the formula.
        num_variables : int, optional
            By default the largest variable that occurs.

        Raises
        ------
        InputError
            For literals that are 0, not integers, or beyond `num_variables`, and for weights out of
            range or not one for each soft clause.

        Examples
        --------
        >>> from hardscape.maxsat import Formula
        >>> formula = Formula.from_clauses([[1], [-2]], [3, 5], hard=[[-1, 2]])
        >>> formula.cost([1, 1]), formula.cost([0, 0])
        (5, 3)
        """
        firm = [checked_clause(clause, "hard", i) for i, clause in enumerate(hard)]
        soft = [checked_clause(clause, "clauses", i) for i, clause in enumerate(clauses)]
        every = firm + soft
        sizes = np.fromiter(map(len, every), dtype=np.int64, count=len(every))
        literals = np.fromiter(chain.from_iterable(every), dtype=np.int32, count=int(sizes.sum()))
        if num_variables is None:
            num_variables = int(np.abs(literals).max(initial=0))
        return cls(
            num_variables,
            literals,
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([np.zeros(len(firm), np.int64), soft_weights(weights, len(soft))]),
            np.arange(len(every)) < len(firm),
        )

    @classmethod
    def from_file(cls, path: str | Path, *, format: str | None = None) -> Self:
        """Read a DIMACS CNF or WCNF file, also compressed; see :mod:`hardscape.maxsat.formats`.

        Every clause of a CNF file is soft with weight 1.

        Raises
        ------
        FormatError
            If the file is missing, unreadable or malformed; with path and line.
        """
        found = _FORMATS.read(path, format=format)
        arrays = (found.literals, found.offsets, found.weights, found.hard)
        return cls(found.num_variables, *arrays, found.offset)

    @classmethod
    def from_pysat(cls, formula: Any) -> Self:
        """Take over a formula of python-sat.

        Parameters
        ----------
        formula : pysat.formula.WCNF, WCNFPlus or CNF
            The clauses of a CNF become soft with weight 1, as ``CNF.weighted`` makes them. Of constraints
            that at most k literals hold, or that those which do weigh at most k, clauses are made whose new
            variables follow those of the formula; `rustsat` does that.

        Raises
        ------
        InputError
            For other objects, a CNF with cardinality constraints, and weights that are not integers from 1
            to 2**63 - 1.
        MissingDependencyError
            For cardinality constraints without rustsat.
        """
        return cls.of(clauses_of_pysat(formula))

    @classmethod
    def from_cpsat(cls, cp_model: Any) -> Self:
        """Take over a CP-SAT model of OR-tools whose variables are all Boolean.

        Parameters
        ----------
        cp_model : ortools.sat.python.cp_model.CpModel
            Of the constraints, BoolOr, BoolAnd, AtMostOne, ExactlyOne, BoolXor and linear ones, also those
            that are enforced by literals, become hard clauses. Variable v of the formula is the one of
            index v - 1; new ones follow. ``cost + offset`` is the objective if that is minimized, and minus
            the objective if it is maximized.

        Raises
        ------
        InputError
            For variables that are no Booleans, for constraints of other kinds, and coefficients of the
            objective that are no integers; it names them.
        MissingDependencyError
            For linear constraints without rustsat.
        """
        return cls.of(clauses_of_cpsat(cp_model))

    @classmethod
    def of(cls, made: Clauses) -> Self:
        """The formula of clauses that were made of something else."""
        found = cls.from_clauses(
            made.soft, made.weights, hard=made.hard, num_variables=made.num_variables
        )
        return replace(found, offset=made.offset)

    def to_pysat(self) -> Any:
        """Return a ``pysat.formula.WCNF`` with the same clauses, hard and soft ones each in their order.

        Raises
        ------
        MissingDependencyError
            If python-sat is not installed.
        """
        return pysat_of(self.num_variables, self.weighted())

    def to_cpsat(self) -> Any:
        """Return a ``CpModel`` of OR-tools whose objective, to be minimized, is ``cost + offset``.

        Variable v is the model's Boolean of index v - 1; a soft clause of several literals has one more, which
        says that it may be violated.

        Raises
        ------
        InputError
            Where the weights and the offset sum up to more than 2**62.
        MissingDependencyError
            If OR-tools is not installed.
        """
        return cpsat_of(self.num_variables, self.weighted(), self.offset)

    def weighted(self) -> Iterator[tuple[list[int], int]]:
        """Yield each clause as a list of literals, and its weight, 0 for a hard one, in their order."""
        literals, bounds = self.literals.tolist(), self.offsets.tolist()
        clauses = (literals[begin:end] for begin, end in pairwise(bounds))
        return zip(clauses, self.weights.tolist(), strict=True)

    def to_file(self, path: str | Path, *, format: str | None = None) -> None:
        """Write the formula so that it reads back with the same clauses in the same order.

        Parameters
        ----------
        path : str or Path
            Ends in .cnf, for soft clauses of weight 1 alone, or in .wcnf, which is written in the
            format of 2022 with a comment ``c variables n`` that is read back, or in .opb, which holds the
            same costs with other clauses; then perhaps in .gz, .xz or .bz2. Files .wcnf and .cnf do not
            hold `offset`.
        format : str, optional
            Its name, where the suffix does not tell.

        Raises
        ------
        InputError
            If the format cannot hold the formula, the suffix is unknown, or the file cannot be
            written. A file that was there before is then still there.
        """
        _FORMATS.write(self, path, format=format)

    @property
    def num_clauses(self) -> int:
        """Hard and soft clauses."""
        return len(self.weights)

    @property
    def num_hard(self) -> int:
        """Hard clauses."""
        return int(np.count_nonzero(self.hard))

    @property
    def num_soft(self) -> int:
        """Soft clauses."""
        return self.num_clauses - self.num_hard

    @cached_property
    def uniform(self) -> bool:
        """Whether it is about the number of clauses: all hard, or all soft with one weight."""
        return bool((self.weights == self.weights[:1]).all())

    @cached_property
    def total_weight(self) -> int:
        """Sum of the weights of the soft clauses, exact."""
        if int(self.weights.max(initial=0)) * self.num_clauses <= MAX_WEIGHT:
            return int(self.weights.sum())
        # Halves of 32 bits: their sums fit 64 bits for any number of clauses that fits memory.
        low = int((self.weights & 0xFFFFFFFF).sum(dtype=np.uint64))
        return low + (int((self.weights >> 32).sum(dtype=np.uint64)) << 32)

    @cached_property
    def digest(self) -> str:
        """Hex digest of the clauses in their order."""
        found = hashlib.sha256(str(self.num_variables).encode())
        for array in (self.literals, self.offsets, self.weights, self.hard):
            found.update(np.ascontiguousarray(array).data)
        if self.offset:
            found.update(str(self.offset).encode())
        return found.hexdigest()

    def satisfied(self, assignment: ArrayLike) -> NDArray[np.bool_]:
        """Tell for each assignment and clause whether the clause holds.

        Parameters
        ----------
        assignment : array-like of 0 and 1, shape (..., num_variables)

        Returns
        -------
        bool, shape (..., m)
        """
        return self._truths.satisfied(truth_values(assignment, self.num_variables))

    def cost(self, assignment: ArrayLike) -> Any:
        """Sum of the weights of the soft clauses that do not hold, exact.

        Parameters
        ----------
        assignment : array-like of 0 and 1, shape (..., num_variables)

        Returns
        -------
        int, or array of shape (...)
            A Python int for one assignment; for more an int64 array, or one of Python ints where the
            total weight is beyond int64.

        Raises
        ------
        InputError
            If the last axis does not have `num_variables` entries, or one is neither 0 nor 1.

        Notes
        -----
        Hard clauses do not count; see `hard_violations`. Cost O(nnz) an assignment.
        """
        values = truth_values(assignment, self.num_variables)
        if values.ndim == 1:
            return self.evaluate(values).cost
        return self._truths.costs(values, self.weights, wide=self.total_weight > MAX_WEIGHT)

    def hard_violations(self, assignment: ArrayLike) -> Any:
        """Number of hard clauses that do not hold, as `cost` counts: int for one assignment, else int64."""
        values = truth_values(assignment, self.num_variables)
        if values.ndim == 1:
            return self.evaluate(values).hard_violations
        return self._truths.violations(values, self.hard)

    def evaluate(self, assignment: ArrayLike) -> Evaluation:
        """Violated hard clauses, cost and satisfied clauses of one assignment, in one pass over the literals.

        Parameters
        ----------
        assignment : array-like of 0 and 1, shape (n,)

        Raises
        ------
        InputError
            For other shapes and values.
        """
        values = truth_values(assignment, self.num_variables)
        if values.ndim != 1:
            raise InputError(
                f"assignment has shape {values.shape}; ({self.num_variables},) is accepted"
            )
        hard, high, low, satisfied = native.core.maxsat.evaluate(
            self, np.ascontiguousarray(values).view(np.uint8)
        )
        return Evaluation(hard, (high << 64) + low, satisfied)

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Formula) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return (
            f"<Formula: {self.num_variables} variables, {self.num_hard} hard clauses, {self.num_soft} soft "
            f"clauses of total weight {self.total_weight}>"
        )

    @cached_property
    def _truths(self) -> Truths:
        return Truths(self.literals, self.offsets)


def checked_formula(value: Formula | str | Path) -> Formula:
    """The argument of a function that takes a formula, or a file of one; an `InputError` for anything else."""
    if isinstance(value, str | Path):
        return Formula.from_file(value)
    if not isinstance(value, Formula):
        makers = {"pysat": "from_pysat", "ortools": "from_cpsat"}
        maker = makers.get(type(value).__module__.split(".")[0], "from_clauses")
        raise InputError(
            f"formula is a {type(value).__name__}; Formula.{maker} makes one, and the path of a file is "
            "accepted"
        )
    return value
