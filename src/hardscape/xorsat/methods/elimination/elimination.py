"""Linear algebra over GF(2): rank, solutions, and the contradiction of a system that has none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.errors import BudgetError
from hardscape.interrupts import interruptible
from hardscape.plain import Plain
from hardscape.xorsat.system import XorSystem, checked_system, room

#: Largest basis that is made, one byte an entry.
MAX_BASIS_BYTES = 2**31
#: Clause entries that the search for a small contradiction goes through, and its most attempts.
_EVIDENCE_WORK, _EVIDENCE_TRIES = 2_000_000, 32


@dataclass(frozen=True, eq=False)
class Elimination(Plain):
    """What elimination finds out about a system.

    Attributes
    ----------
    rank : int
        Rank of the left-hand sides.
    consistent : bool
        Whether there is an assignment that violates no clause. Proven either way.
    assignment : uint8, shape (N,)
        With 0 for the free variables. It satisfies `rank` clauses that span the others: all of
        them where the system is consistent.
    free_variables : int32, shape (N - rank,)
        Variables that may take any values; the others follow from them.
    seconds : float
        Wall-clock time.

    Examples
    --------
    >>> from hardscape.xorsat import XorSystem, eliminate
    >>> found = eliminate(XorSystem.from_clauses([[0, 1, 2], [1, 2, 3]], [1, 0]))
    >>> found.rank, found.consistent, found.num_solutions
    (2, True, 4)
    """

    rank: int
    consistent: bool
    assignment: NDArray[np.uint8]
    free_variables: NDArray[np.int32]
    seconds: float
    _system: XorSystem

    @property
    def solution(self) -> NDArray[np.uint8] | None:
        """The assignment where it is a solution, else None."""
        return self.assignment if self.consistent else None

    @property
    def num_solutions(self) -> int:
        """Number of solutions, 0 or a power of two."""
        return 2 ** len(self.free_variables) if self.consistent else 0

    def __repr__(self) -> str:
        return (
            f"<Elimination: rank {self.rank} of {len(self.assignment)} variables, "
            f"consistent={self.consistent}>"
        )

    def basis(self) -> NDArray[np.uint8]:
        """Basis of the solution space: XOR any of the rows onto a solution for another solution.

        Returns
        -------
        uint8, shape (N - rank, N)
            Row f has 1 for ``free_variables[f]`` and 0 for the other free variables. It solves the
            system with right-hand sides 0, so it exists for inconsistent systems too.

        Raises
        ------
        BudgetError
            If it would take more than `MAX_BASIS_BYTES`.
        """
        frees, count = len(self.free_variables), self._system.num_variables
        if frees * count > MAX_BASIS_BYTES:
            raise BudgetError(
                f"a basis of {frees} vectors of {count} variables takes {frees * count / 2**30:.1f} "
                f"GiB; at most {MAX_BASIS_BYTES / 2**30:.0f} GiB is made"
            )
        packed = _native(self._system, frees)[4]
        bits = np.unpackbits(packed.view(np.uint8), axis=1, bitorder="little")
        return np.ascontiguousarray(bits[:, :frees].T)

    def contradiction(self) -> tuple[int, ...] | None:
        """Clauses whose sum reads 0 = 1, or None for a consistent system.

        The set is minimal, every clause of it is needed: without any one of them the others have a
        solution. It is made small by search over several such sets; that there is no smaller one is
        not proven (finding the smallest is the minimum-distance problem, NP-hard). Deterministic.
        """
        if self.consistent:
            return None
        system, best = self._system, np.zeros(0, dtype=np.int64)
        entries = len(system.variables) + system.num_clauses + 1
        random = np.random.default_rng(0)
        for attempt in range(min(max(_EVIDENCE_WORK // entries, 1), _EVIDENCE_TRIES)):
            order = np.arange(system.num_clauses)
            if attempt:
                random.shuffle(order)
            found = np.sort(order[_irreducible(_restricted(system, order))])
            if not attempt or len(found) < len(best):
                best = found
        return tuple(best.tolist())

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rank": self.rank,
            "consistent": self.consistent,
            "solution": None if self.solution is None else self.solution.tolist(),
            "free_variables": self.free_variables.tolist(),
            "seconds": self.seconds,
        }


@interruptible
def eliminate(system: XorSystem | str | Path) -> Elimination:
    """Solve a system over GF(2), exactly.

    Parameters
    ----------
    system : XorSystem, or the path of a file of one

    Returns
    -------
    Elimination

    Raises
    ------
    BudgetError
        If memory does not hold the dense part.

    Notes
    -----
    Clauses with a variable of their own are set aside; then clauses with one active variable define
    it, and a variable is made inactive where there is none (Shokrollahi, Lassen and Karp, US patent
    6856263, 2005; RFC 6330, 5.4). Only the d inactive variables meet dense elimination, by the
    method of four Russians: O(nnz d/64 + d^3/512) word operations, (N + M) d / 8 bytes. Random
    3-regular systems of 3-clauses have d near 0.2 N. Ctrl-C is answered.

    Examples
    --------
    >>> found = eliminate(XorSystem.from_clauses([[0, 1, 2], [1, 2]], [1, 0]))
    >>> found.rank, found.num_solutions, found.solution.tolist(), found.basis().tolist()
    (2, 2, [1, 0, 0], [[0, 1, 1]])
    """
    began = perf_counter()
    system = checked_system(system)
    rank, consistent, assignment, free, _ = _native(system, -1)
    free.setflags(write=False)
    assignment.setflags(write=False)
    return Elimination(rank, consistent, assignment, free, perf_counter() - began, system)


def _native(
    system: XorSystem, max_free: int
) -> tuple[int, bool, NDArray[np.uint8], NDArray[np.int32], NDArray[np.uint64]]:
    return native.vector.xorsat.eliminate(
        system.num_variables, system.offsets, system.variables, system.parity, max_free, room
    )


def _restricted(system: XorSystem, clauses: NDArray[np.int64]) -> XorSystem:
    """The system of those clauses only, in that order."""
    lengths = system.lengths[clauses]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.repeat(system.offsets[clauses] - starts[:-1], lengths) + np.arange(starts[-1])
    return XorSystem(
        system.num_variables, starts, system.variables[entries], system.parity[clauses]
    )


def _irreducible(system: XorSystem) -> NDArray[np.int64]:
    """Clauses of a minimal contradiction: shrink until there is one combination only."""
    chosen = np.arange(system.num_clauses)
    while True:
        sums = _combinations(_restricted(system, chosen))
        # All of `chosen` together is such a combination once it has shrunk; any other is smaller.
        sizes = sums.sum(axis=1)
        if len(sums) == 1 and sizes[0] == len(chosen):
            return chosen
        chosen = chosen[np.flatnonzero(sums[np.argmin(sizes)])]


def _combinations(system: XorSystem) -> NDArray[np.uint8]:
    """Sets of clauses that sum to 0 = 1: one for each free variable of the transposed system.

    With y_a = 1 for the clauses summed: every variable occurs an even number of times, and an odd
    number of right-hand sides is 1.
    """
    order = np.argsort(system.variables, kind="stable")
    odd = np.flatnonzero(system.parity)
    transposed = XorSystem(
        system.num_clauses,
        np.concatenate([[0], np.cumsum(np.append(system.degrees, len(odd)))]),
        np.concatenate([system.clause_of[order], odd]),
        np.append(np.zeros(system.num_variables, dtype=np.uint8), 1),
    )
    found = eliminate(transposed)
    assert found.solution is not None
    solution: NDArray[np.uint8] = found.solution[None, :]
    if not len(found.free_variables):
        return solution
    if len(found.free_variables) * system.num_clauses > MAX_BASIS_BYTES >> 4:
        return solution
    return np.concatenate([solution, solution ^ found.basis()])
