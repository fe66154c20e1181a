"""Systems of XOR clauses: equations over GF(2), and diluted p-spin models, which are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape import memory, native
from hardscape.arguments import integer
from hardscape.arrays import to_numpy
from hardscape.errors import InputError
from hardscape.formats import Formats
from hardscape.xorsat.intake import (
    MAX_VARIABLES,
    check_range,
    clause_lists,
    frozen,
    integers,
    normal_form,
    parities,
)

#: Known by name: the formats stand on this module.
_FORMATS: Formats[XorSystem] = Formats("hardscape.xorsat.formats")


class XorSystem:
    r"""Clauses :math:`\bigoplus_{i \in a} x_i = b_a` over variables x = 0 or 1.

    With spins :math:`s = 1 - 2x` clause a says :math:`\prod_{i \in a} s_i = J_a = 1 - 2 b_a`, and
    the p-spin energy is :math:`H = -\sum_a J_a \prod_{i \in a} s_i = 2 V - M`, where V of the M
    clauses are violated. A system is immutable and hashable by content.

    Parameters
    ----------
    num_variables : int
        N.
    offsets : array-like of int, shape (M + 1,)
        Clause a holds ``variables[offsets[a]:offsets[a + 1]]``. A clause without variables is the
        constant :math:`0 = b_a`.
    variables : array-like of int, shape (offsets[-1],)
        Variables of all clauses, counted from 0, in any order within a clause.
    parity : array-like of int, shape (M,)
        Right-hand sides, 0 or 1.

    Attributes
    ----------
    num_variables : int
    offsets : int64, shape (M + 1,), read-only
    variables : int32, shape (nnz,), read-only
        Ascending within a clause, without repetitions.
    parity : uint8, shape (M,), read-only
    cancelled_pairs : int
        A variable given twice in a clause cancels, x + x = 0: how many such pairs were taken out.
    seed : int or None
        With which the system was drawn; None for others. No part of what is compared or written.

    Raises
    ------
    InputError
        For shapes that do not fit, variables out of range, parities other than 0 and 1.

    Examples
    --------
    >>> from hardscape.xorsat import XorSystem
    >>> system = XorSystem.from_clauses([[0, 1, 2], [0, 3, 4]], [1, 0])
    >>> system.num_variables, system.num_clauses
    (5, 2)
    >>> system.violated([1, 0, 0, 1, 0])
    0
    """

    num_variables: int
    offsets: NDArray[np.int64]
    variables: NDArray[np.int32]
    parity: NDArray[np.uint8]
    cancelled_pairs: int
    seed: int | None

    def __init__(
        self, num_variables: int, offsets: ArrayLike, variables: ArrayLike, parity: ArrayLike
    ) -> None:
        count = integer(num_variables, "num_variables", 0, MAX_VARIABLES)
        starts = integers(offsets, "offsets")
        members = integers(variables, "variables")
        if not len(starts) or starts[0] != 0 or starts[-1] != len(members):
            raise InputError(
                f"offsets run from {starts[:1]} to {starts[-1:]}; 0 to the {len(members)} entries "
                "of variables is accepted"
            )
        if (np.diff(starts) < 0).any():
            clause = int(np.flatnonzero(np.diff(starts) < 0)[0])
            raise InputError(f"offsets[{clause + 1}] is below offsets[{clause}]; they must ascend")
        check_range(starts, members, count)
        sides = parities(parity, len(starts) - 1)
        starts, members, cancelled = normal_form(starts, members, count)
        values = (count, frozen(starts), frozen(members.astype(np.int32)), frozen(sides))
        names = ("num_variables", "offsets", "variables", "parity")
        for name, value in (*zip(names, values, strict=True), ("cancelled_pairs", cancelled)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "seed", None)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a XorSystem is immutable; {name} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self.offsets, self.variables, self.parity)
        return type(self), (self.num_variables, *arrays), {"seed": self.seed}

    # -- constructors ------------------------------------------------------------------------

    @classmethod
    def from_clauses(
        cls,
        clauses: Any,
        parity: ArrayLike | None = None,
        *,
        num_variables: int | None = None,
    ) -> Self:
        """Build from one list of variables a clause.

        Parameters
        ----------
        clauses : array-like of int, shape (M, k), or sequence of M sequences
            Variables counted from 0.
        parity : array-like of int, shape (M,), optional
            Right-hand sides, 0 or 1; by default all 0.
        num_variables : int, optional
            By default one more than the largest variable.

        Raises
        ------
        InputError
            Also for an empty clause, which says 0 = b and is a mistake more often than a wish;
            the constructor takes it.
        """
        starts, members = clause_lists(clauses)
        empty = np.flatnonzero(np.diff(starts) == 0)
        if len(empty):
            raise InputError(
                f"clause {int(empty[0])} is empty; one variable or more is accepted (the "
                "constructor XorSystem takes empty clauses as constants)"
            )
        if num_variables is None:
            num_variables = int(members.max()) + 1 if len(members) else 0
        sides = np.zeros(len(starts) - 1, dtype=np.uint8) if parity is None else parity
        return cls(num_variables, starts, members, sides)

    @classmethod
    def from_ising3(
        cls, couplings: Any, values: ArrayLike | None = None, *, num_spins: int | None = None
    ) -> Self:
        r"""Build from the 3-spin (or p-spin) model :math:`H = -\sum J_{ijk} s_i s_j s_k`, J = 1 or -1.

        Parameters
        ----------
        couplings : mapping ``{(i, j, k): J}``, or array-like of int, shape (M, p)
            The spins of each coupling, counted from 0.
        values : array-like, shape (M,), optional
            With arrays: J, each 1 or -1; by default 1.
        num_spins : int, optional
            By default one more than the largest spin.

        Raises
        ------
        InputError
            Also for other couplings: XORSAT has no weights. Those of one size are to be divided by it.

        Examples
        --------
        >>> XorSystem.from_ising3({(0, 1, 2): -1, (1, 2, 3): 1}).parity
        array([1, 0], dtype=uint8)
        """
        if isinstance(couplings, Mapping):
            if values is not None:
                raise InputError("values were given twice: leave them out beside a mapping")
            values = list(couplings.values())
            couplings = [key if isinstance(key, tuple) else (key,) for key in couplings]
        system = cls.from_clauses(couplings, num_variables=num_spins)
        if values is None:
            return system
        sizes = to_numpy(values, "values").astype(np.float64)
        if sizes.shape != (system.num_clauses,):
            raise InputError(
                f"values have shape {sizes.shape}; ({system.num_clauses},) is accepted"
            )
        other = np.flatnonzero(abs(sizes) != 1)
        if len(other):
            raise InputError(
                f"values[{int(other[0])}] is {sizes[other[0]]}; couplings 1 and -1 are accepted, as a XOR "
                "clause has no weight: divide couplings of one size by it, and multiply energies"
            )
        return cls(
            system.num_variables, system.offsets, system.variables, (sizes < 0).astype(np.uint8)
        )

    @staticmethod
    def from_file(path: str | Path, *, format: str | None = None) -> XorSystem:
        """Read a file; see :mod:`hardscape.xorsat.formats`.

        Parameters
        ----------
        path : str or Path
        format : str, optional
            Its name; by default what name and content tell.

        Raises
        ------
        FormatError
            If the file is missing, unreadable or not what it claims to be; with path and line.
        InputError
            If the format is not known.
        """
        return _FORMATS.read(path, format=format)

    # -- what it is --------------------------------------------------------------------------

    @property
    def num_clauses(self) -> int:
        """M."""
        return len(self.parity)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of variables of each clause, shape (M,)."""
        return frozen(np.diff(self.offsets))

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of clauses of each variable, shape (N,)."""
        return frozen(np.bincount(self.variables, minlength=self.num_variables).astype(np.int64))

    @cached_property
    def clause_of(self) -> NDArray[np.int64]:
        """Clause of each entry of `variables`, shape (nnz,)."""
        return frozen(np.repeat(np.arange(self.num_clauses), self.lengths))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, in hex."""
        content = hashlib.sha256(f"xorsat {self.num_variables} {self.num_clauses}".encode())
        for array in (self.offsets, self.variables, self.parity):
            content.update(array.tobytes())
        return content.hexdigest()

    def clauses(self) -> list[tuple[int, ...]]:
        """Variables of each clause."""
        members = self.variables.tolist()
        bounds = self.offsets.tolist()
        return [tuple(members[i:j]) for i, j in pairwise(bounds)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, XorSystem):
            return NotImplemented
        return self.num_variables == other.num_variables and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        lengths, degrees = (
            "no"
            if not len(x)
            else f"{x.min()}"
            if x.min() == x.max()
            else f"{x.min()} to {x.max()}"
            for x in (self.lengths, self.degrees)
        )
        return (
            f"<XorSystem: {self.num_variables} variables, {self.num_clauses} clauses, "
            f"clause length {lengths}, degree {degrees}>"
        )

    # -- what it says about assignments ------------------------------------------------------

    def violations(self, assignment: ArrayLike) -> NDArray[np.bool_]:
        """Tell which clauses assignments violate.

        Parameters
        ----------
        assignment : array-like of 0 and 1, shape (..., N)

        Returns
        -------
        bool, shape (..., M)

        Raises
        ------
        InputError
            If the last axis is not N long, or an entry is neither 0 nor 1.
        """
        bits = self._bits(assignment)
        sums = np.zeros((*bits.shape[:-1], self.num_clauses), dtype=np.uint8)
        filled = np.flatnonzero(self.lengths)
        if len(filled):
            # Between the starts of clauses that hold something lie exactly their entries.
            gathered = bits[..., self.variables]
            sums[..., filled] = np.bitwise_xor.reduceat(gathered, self.offsets[filled], axis=-1)
        wrong: NDArray[np.bool_] = sums != self.parity
        return wrong

    def violated(self, assignment: ArrayLike) -> Any:
        """Count the clauses that assignments violate: int, or int64 of shape (...,)."""
        count = self.violations(assignment).sum(axis=-1, dtype=np.int64)
        return int(count) if np.ndim(count) == 0 else count

    def energy(self, assignment: ArrayLike) -> Any:
        r"""Energy :math:`H = -\sum_a J_a \prod s = 2 V - M` of the p-spin model, s = 1 - 2x."""
        return 2 * self.violated(assignment) - self.num_clauses

    def _bits(self, assignment: ArrayLike) -> NDArray[np.uint8]:
        given = to_numpy(assignment, "assignment")
        if given.ndim == 0 or given.shape[-1] != self.num_variables:
            raise InputError(
                f"assignment has shape {given.shape}; the last axis must hold the "
                f"{self.num_variables} variables"
            )
        wrong = (given != 0) & (given != 1)
        if wrong.any():
            raise InputError(
                f"assignment holds {given[wrong][0]}; 0 and 1 are accepted (spins s are x = (1-s)/2)"
            )
        return given.astype(np.uint8)

    # -- other systems -----------------------------------------------------------------------

    def gauge_transformed(self, shift: ArrayLike) -> XorSystem:
        """The system whose solutions are those of this one XOR `shift`, shape (N,).

        The p-spin energy of ``x ^ shift`` in it is that of x here: the landscape is the same.
        """
        bits = self._bits(shift)
        if bits.ndim != 1:
            raise InputError(f"shift has shape {bits.shape}; ({self.num_variables},) is accepted")
        # A violated clause of the homogeneous system is one whose right-hand side turns.
        turned = self.violations(bits) ^ self.parity.astype(bool)
        return XorSystem(self.num_variables, self.offsets, self.variables, self.parity ^ turned)

    def rank(self) -> int:
        """Rank over GF(2) of the left-hand sides; see :func:`hardscape.xorsat.eliminate`."""
        arrays = (self.offsets, self.variables, self.parity)
        return native.vector.xorsat.eliminate(self.num_variables, *arrays, -1, room)[0]

    def to_file(self, path: str | Path, *, format: str | None = None) -> None:
        """Write the system so that an equal one is read back; see :mod:`hardscape.xorsat.formats`.

        The file appears whole or not at all; one that was there before is replaced.

        Parameters
        ----------
        path : str or Path
        format : str, optional
            Its name; by default what the suffix says.

        Raises
        ------
        InputError
            If the format cannot hold the system or is not known, or the file cannot be written.
        """
        _FORMATS.write(self, path, format=format)


def room(needed: int) -> None:
    """Refuse an elimination that takes more bytes than there are."""
    memory.require(needed, "elimination")


def checked_system(value: XorSystem | str | Path) -> XorSystem:
    """The argument of a function that takes a system, or a file of one; an `InputError` for anything else."""
    if isinstance(value, str | Path):
        return XorSystem.from_file(value)
    if not isinstance(value, XorSystem):
        raise InputError(
            f"system is a {type(value).__name__}; XorSystem.from_clauses makes one, and the path of a "
            "file is accepted"
        )
    return value
