r"""The 2-body form of XOR systems, and back: one ancilla spin for each clause of three variables.

With spins s = 1 - 2x, the clause :math:`s_1 s_2 s_3 = J` becomes

.. math:: E = s_1 s_2 + s_1 s_3 + s_2 s_3 - J (s_1 + s_2 + s_3) + (2 (s_1 + s_2 + s_3) - 2 J) t,

with its ancilla t. Minimised over t it is -4 where the clause holds and -2 where it does not (Hen,
Phys. Rev. Applied 12, 011003, 2019, whose challenge instances have this form with ancillas of either
sign). Clauses of one or two variables are fields and couplings already. A longer one is cut into a
chain of clauses of three, with the partial sums as further variables.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.arrays import as_spins
from hardscape.errors import InputError
from hardscape.plain import Plain
from hardscape.xorsat.intake import frozen
from hardscape.xorsat.system import XorSystem, checked_system


@dataclass(frozen=True, eq=False)
class QuadraticModel(Plain):
    r"""An Ising model :math:`E = \sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i + c` of a XOR system.

    Its minimum over the spins from `num_variables` on is the energy H = 2V - M of the system.

    Attributes
    ----------
    num_variables : int
        The first spins are the system's variables, s = 1 - 2x; then come partial sums of clauses of
        four variables or more, then the ancillas, one a clause of three, in the order of clauses.
    h : int64, shape (num_spins,)
    row, col : int64, shape (couplings,)
        Pairs, ``row < col``, in ascending order.
    value : int64, shape (couplings,)
    offset : int

    Examples
    --------
    >>> from hardscape.xorsat import XorSystem, quadratize
    >>> model = quadratize(XorSystem.from_clauses([[0, 1, 2]], [1]))
    >>> model.num_variables, model.num_spins
    (3, 4)
    """

    num_variables: int
    h: NDArray[np.int64]
    row: NDArray[np.int64]
    col: NDArray[np.int64]
    value: NDArray[np.int64]
    offset: int

    @property
    def num_spins(self) -> int:
        """Number of spins, ancillas included."""
        return len(self.h)

    def __repr__(self) -> str:
        return (
            f"<QuadraticModel: {self.num_spins} spins for {self.num_variables} variables, "
            f"{len(self.value)} couplings>"
        )

    def terms(self) -> dict[tuple[int, int], int]:
        """Fields at (i, i) and couplings at (i, j): what `hardscape.ising.Ising.from_dict` takes."""
        fields = {(i, i): h for i, h in enumerate(self.h.tolist())}
        pairs = zip(self.row.tolist(), self.col.tolist(), strict=True)
        return fields | dict(zip(pairs, self.value.tolist(), strict=True))

    def energy(self, spins: ArrayLike) -> Any:
        """Energies of states of shape (..., num_spins) and entries -1 and +1."""
        s = as_spins(spins, self.num_spins).astype(np.int64)
        energy = s @ self.h + (s[..., self.row] * s[..., self.col]) @ self.value + self.offset
        return int(energy) if np.ndim(energy) == 0 else energy

    def assignment(self, spins: ArrayLike) -> NDArray[np.uint8]:
        """The variables x = (1 - s)/2 of states of shape (..., num_spins)."""
        s = as_spins(spins, self.num_spins)[..., : self.num_variables]
        return (s < 0).astype(np.uint8)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        arrays = {name: getattr(self, name).tolist() for name in ("h", "row", "col", "value")}
        return {"num_variables": self.num_variables, **arrays, "offset": self.offset}

    def to_system(self) -> XorSystem:
        """Minimise over the ancillas: the system that :func:`quadratize` started from.

        Raises
        ------
        InputError
            If this is no model of clauses of three variables alone, or its coefficients are not
            what the clauses of its ancillas ask for.
        """
        n, links = self.num_variables, self.col >= self.num_variables
        ancillas = self.num_spins - n
        if (self.row[links] >= n).any() or not (
            np.bincount(self.col[links] - n, minlength=ancillas) == 3
        ).all():
            raise InputError(
                f"each of the {ancillas} spins from {n} on must be coupled to three of the first "
                f"{n} and to no other (systems of clauses of three variables have this form)"
            )
        order = np.argsort(self.col[links], kind="stable")
        clauses = self.row[links][order].reshape(-1, 3)
        signs = self.value[links][order].reshape(-1, 3)
        # Its ancilla's own sign is free: h_a and J_a may both be turned.
        parity = (self.h[n:] * signs[:, 0] > 0).astype(np.uint8)
        system = XorSystem.from_clauses(clauses, parity, num_variables=n)
        wanted = quadratize(system)
        gauge = np.append(np.ones(n, dtype=np.int64), np.sign(signs[:, 0]))
        same = (
            (wanted.h * gauge == self.h).all()
            and np.array_equal(wanted.row, self.row)
            and np.array_equal(wanted.col, self.col)
            and (wanted.value * gauge[wanted.col] == self.value).all()
        )
        if not same:
            raise InputError("the coefficients are not those of the clauses that the ancillas tie")
        return system


def quadratize(system: XorSystem | str | Path) -> QuadraticModel:
    """Write a system as an Ising model; :meth:`QuadraticModel.to_system` undoes it exactly.

    Parameters
    ----------
    system : XorSystem, or the path of a file of one

    Returns
    -------
    QuadraticModel
        Of N + A spins, A one for each clause of three variables, and 2k - 5 for one of k > 3. Its coefficients
        are integers; the cost is O(size of the system).

    Raises
    ------
    InputError, FormatError
        For what is no system, or a file that cannot be read.

    Notes
    -----
    The energy of a clause with its ancilla is that at the head of this module (I. Hen, Phys. Rev. Applied
    12, 011003, 2019).

    Examples
    --------
    >>> model = quadratize(XorSystem.from_clauses([[0, 1, 2]], [1]))
    >>> model.num_spins, model.h.tolist(), model.offset
    (4, [1, 1, 1, 2], 3)
    """
    system = checked_system(system)
    terms: Counter[tuple[int, ...]] = Counter()  # by spins, ascending; () is the constant
    triples: list[tuple[int, ...]] = []
    signs: list[int] = []
    count = system.num_variables
    for clause, side in zip(system.clauses(), system.parity.tolist(), strict=True):
        sign, rest = 1 - 2 * side, clause
        while len(rest) > 3:
            triples.append((*rest[:2], count))
            signs.append(1)
            rest = (*rest[2:], count)
            terms[()] += 1
            count += 1
        if len(rest) == 3:
            triples.append(rest)
            signs.append(sign)
        else:
            terms[rest] -= sign
    for t, (triple, sign) in enumerate(zip(triples, signs, strict=True), start=count):
        terms[()] += 3
        terms[t,] = -2 * sign
        for spin in triple:
            terms[spin,] -= sign
            terms[spin, t] = 2
        for pair in combinations(triple, 2):
            terms[pair] += 1
    kept = sorted(spins for spins, value in terms.items() if value and len(spins) == 2)
    pairs = np.array(kept, dtype=np.int64).reshape(-1, 2)
    return QuadraticModel(
        system.num_variables,
        frozen(np.array([terms[i,] for i in range(count + len(triples))], dtype=np.int64)),
        frozen(pairs[:, 0]),
        frozen(pairs[:, 1]),
        frozen(np.array([terms[pair] for pair in kept], dtype=np.int64)),
        terms[()],
    )
