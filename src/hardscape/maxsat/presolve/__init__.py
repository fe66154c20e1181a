"""Presolve: a smaller formula with the same optimum, and the way back to the whole one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.maxsat.formula import Formula


@dataclass(frozen=True, eq=False)
class Presolved:
    """What is left of a formula.

    Attributes
    ----------
    formula : Formula
        Without tautologies, hard units, repeated literals, and, unless it is the whole formula, pure literals,
        repeated clauses, and clauses that a hard one implies.
    constant : int
        What any assignment of `formula` under which the hard clauses hold costs more in the original
        formula.
    fixed : int8, shape (n,)
        Value of each variable of the original formula, -1 for those that are left or do not matter.
    original : int32, shape (formula.num_variables,)
        Number, from 1, that each variable that is left has in the original formula.
    unsatisfiable : bool
        Whether the hard clauses were found to contradict one another; `formula` is then empty.
    links : tuple of three int32 arrays, or None
        Literals of variables that went because they follow from others (see `presolve`), in order; where the
        literals that each follows from begin; and these, all by their numbers in the original formula. Such a
        literal is true where one of its literals is false.
    moves : int32, shape (2k,)
        Pairs of literals of the original formula. Where the second one holds, as it does in nothing that is
        left, the first one may instead, pair by pair: no assignment costs more for that.
    """

    formula: Formula
    constant: int
    fixed: NDArray[np.int8]
    original: NDArray[np.int32]
    unsatisfiable: bool
    links: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]] | None = None
    moves: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def lift(self, assignment: NDArray[Any]) -> NDArray[np.uint8]:
        """Assignment of the original formula, from one of what is left, shape (..., variables)."""
        shape = (*assignment.shape[:-1], len(self.fixed))
        if len(self.original) == len(self.fixed):
            return assignment.astype(np.uint8)
        whole = np.empty(shape, dtype=np.uint8)
        whole[...] = self.fixed > 0
        whole[..., self.original - 1] = assignment
        if self.links is not None:
            native.core.maxsat.complete(whole.reshape(-1, shape[-1]), *self.links)
        return whole

    def restrict(self, assignment: NDArray[Any]) -> NDArray[np.uint8]:
        """An assignment of what is left from one of the original formula, shape (..., variables), as uint8.

        Where the hard clauses hold in the one they hold in the other, and it costs no more.
        """
        if len(self.original) == len(self.fixed):
            return np.ascontiguousarray(assignment, dtype=np.uint8)
        if len(self.moves):
            assignment = assignment.astype(np.uint8)  # a copy
            native.core.maxsat.follow(assignment.reshape(-1, len(self.fixed)), self.moves)
        return np.ascontiguousarray(assignment[..., self.original - 1], dtype=np.uint8)


#: Stands for what is left before anything is known.
NOTHING_LEFT = Presolved(
    Formula.from_clauses([]), 0, np.empty(0, dtype=np.int8), np.empty(0, dtype=np.int32), False
)


@overload
def presolve(formula: Formula) -> Presolved: ...
@overload
def presolve(formula: Formula, *, stop: NDArray[np.uint8] | None) -> Presolved | None: ...
def presolve(formula: Formula, *, stop: NDArray[np.uint8] | None = None) -> Presolved | None:
    """Simplify a formula without changing its least cost.

    Hard clauses of one literal fix it, and what follows is propagated; a literal whose negation occurs
    nowhere is made true; clauses with the same literals become one, with the sum of the weights; clauses
    that have all literals of a hard one are left out, up to two million literals; of soft units x and not x
    the lighter one is a constant cost.

    Variables that only hard clauses of two literals have, as those of ladders, chains of orders and counters of
    at most one, give way to their resolvents, at most 100 of each (bounded variable elimination: N. Een and
    A. Biere, SAT 2005): all of them, or none where they are less than one in 16 variables, where more than two
    million literals were left and a quarter more, or where nine in ten hard clauses have one, which a prover
    knows better.

    Of literals that hard clauses make equal, by rings of implications (hyper binary resolution: F. Bacchus,
    AAAI 2002), one stands for all, and one that implies its negation is false; up to two million literals.

    Soft units of which hard clauses forbid pairs are vertices of a weighted independent set. A vertex is taken
    whose neighbours weigh no more together, a neighbour of it left out that weighs no more and excludes all
    that it excludes; one whose neighbours exclude one another goes, and its weight is taken from theirs; of one
    with two other neighbours, of which neither weighs more, these become one (S. Lamm, C. Schulz, D. Strash,
    R. Williger and H. Zhang, ALENEX 2019). Nothing of this where it takes less than one in 100 variables, or
    more than two million literals are left.

    Within the same limits, as a dominated set of a cover, a literal is false whose negation is in a soft unit
    alone, where each of its clauses has one of a group of such literals that weigh no more together (subsumed
    labels, and those subsumed by groups: T. Korhonen, J. Berg, P. Saikko and M. Jarvisalo, SAT 2017).

    A formula of more than two million literals stays as it is, the same object, where all this would take less
    than one in 32 of them, no clause would become shorter, and no cost constant: a copy would take as much
    memory again.

    Parameters
    ----------
    formula : Formula
    stop : uint8 array, shape (1,), optional
        Polled: where it becomes 1 the answer is None.

    Returns
    -------
    Presolved
        ``formula.cost(p.lift(x)) == p.formula.cost(x) + p.constant`` for every x that satisfies the hard
        clauses, and they hold in the one if and only if they hold in the other.

    Notes
    -----
    Cost O(nnz log nnz), and up to 2e7 looks at clauses that may be implied by a hard one.
    """
    found = native.core.maxsat.presolve(formula, stop)
    if found is None:
        return None
    for array in found[4:]:
        array.flags.writeable = False
    spared, unsatisfiable, high, low, fixed, original, literals, offsets, weights, hard = found[:10]
    if spared:
        every = np.arange(1, formula.num_variables + 1, dtype=np.int32)
        return Presolved(
            formula, 0, np.full(formula.num_variables, -1, dtype=np.int8), every, False
        )
    if unsatisfiable:
        return Presolved(Formula.from_clauses([]), 0, fixed, original[:0], True)
    left = Formula(len(original), literals, offsets, weights, hard.view(np.bool_))
    links = found[10:13] if len(found[10]) else None
    return Presolved(left, (high << 64) + low, fixed, original, False, links, found[13])
