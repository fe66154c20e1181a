"""In which order the quasi-greedy dynamics visits the variables, and how likely each one flips."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape import memory, native
from hardscape.errors import InputError
from hardscape.xorsat.system import XorSystem

#: Best flip probability of a variable in one violated clause of three for 256 variables
#: (arXiv:2102.09510, Fig. 1).
RUN_W1 = 0.055
#: 3-regular systems of 3-clauses: numbers of variables, and the w1 of fewest updates in 256ths, measured
#: (docs/theory/xorsat.md) but for the last, which is that of the paper.
_BEST_W1 = ((64, 30), (96, 25), (128, 20), (160, 18), (256, 14.08))
#: Most clauses of one variable.
MAX_DEGREE = 255
#: Bytes for each variable and for each variable of a clause while updates are ordered, about.
_BYTES = 100
#: Probabilities are multiples of 2^-40: a coin is a byte, and 32 more bits where that does not tell.
CERTAIN = 1 << 40
#: A 256th: multiples of it are told by a coin's first byte.
COARSE = 1 << 32

#: What a number as w1 stands for.
Dynamics = Literal["quasi-greedy", "metropolis"]
DYNAMICS: tuple[Dynamics, ...] = ("quasi-greedy", "metropolis")


def metropolis_table(degree: int, w1: float) -> NDArray[np.uint64]:
    r"""Flip probabilities of the Metropolis rule for a variable of `degree` clauses, in units of 2^-40.

    At the temperature :math:`T = -2 / \ln w_1`: a flip that raises the number of violated clauses by
    :math:`d - 2k` is accepted with probability :math:`w_1^{d - 2k}`; what is below 2^-41 is 0.
    """
    rises = [degree - 2 * k for k in range(degree + 1)]
    return np.array([round(CERTAIN * w1 ** max(rise, 0)) for rise in rises], dtype=np.uint64)


def quasi_greedy_table(degree: int, w1: float) -> NDArray[np.uint64]:
    """The same, but w_0 = 0, so that a solution stays, and no other below 1/256, so that nothing else does."""
    table = np.maximum(metropolis_table(degree, w1), np.uint64(COARSE))
    table[0] = 0
    if degree == 3:  # what the paper calls w1 may be anything
        table[1] = round(CERTAIN * w1)
    return table


def default_w1(system: XorSystem) -> float:
    """The w1 that is used where none is given; a multiple of 1/256, whose coins are quickest."""
    lengths = np.diff(system.offsets)
    if not ((lengths == 3).all() and (system.degrees == 3).all()):
        return round(RUN_W1 * 256) / 256
    sizes, best = zip(*_BEST_W1, strict=True)
    return round(float(np.interp(system.num_variables, sizes, best))) / 256


def flip_table(
    w: ArrayLike, degree: int, dynamics: Dynamics = "quasi-greedy"
) -> NDArray[np.uint64]:
    """Turn what a user gives as `w` into probabilities for variables of `degree` clauses.

    A number is w1, the probability at one violated clause of three, and the others are those of
    `dynamics`. A sequence is w_0, w_1, ..., its last entry again for all larger k.
    """
    values = np.asarray(w, dtype=np.float64)
    if values.ndim > 1 or not values.size:
        raise InputError(
            f"w1 has shape {values.shape}; a number or a sequence w_0, w_1, ... is accepted"
        )
    for value in values.flat:
        if not (value in (0, 1) or 1 / CERTAIN <= value <= 1 - 1 / CERTAIN):
            raise InputError(
                f"w1 holds {value}; 0, 1 and probabilities from 2^-40 to 1 - 2^-40 are accepted"
            )
    if not values.ndim:
        return _TABLES[dynamics](degree, float(values))
    if dynamics != "quasi-greedy":
        raise InputError(f"dynamics={dynamics!r} goes by one number w1; {values.size} were given")
    chosen = values[np.minimum(np.arange(degree + 1), len(values) - 1)]
    return np.rint(chosen * CERTAIN).astype(np.uint64)


_TABLES: dict[Dynamics, Callable[[int, float], NDArray[np.uint64]]] = {
    "quasi-greedy": quasi_greedy_table,
    "metropolis": metropolis_table,
}


@dataclass(frozen=True, eq=False)
class Plan:
    """The sweep over one system: a pure function of system and flip probabilities; equal by content.

    Update u reads and flips the clauses ``touched[starts[u]:starts[u + 1]]``. Where it shares a
    clause with the one before, that comes first in u and last in u - 1: its word need not leave its
    register. Update u of such a pair is `chained`.
    """

    system: XorSystem
    order: NDArray[np.int32]  # variables in the order of their updates, without those in no clause
    starts: NDArray[np.int32]
    touched: NDArray[np.int32]
    chained: NDArray[np.bool_]
    #: Flip probabilities in units of 2^-40 by number of violated clauses, for each degree that occurs.
    tables: dict[int, NDArray[np.uint64]]

    @classmethod
    def build(
        cls, system: XorSystem, w: ArrayLike | None = None, dynamics: Dynamics = "quasi-greedy"
    ) -> Plan:
        """Order the updates and look up their probabilities."""
        entries = system.num_variables + len(system.variables)
        memory.require(_BYTES * entries, f"a search of {system.num_variables} variables")
        occurring = system.degrees
        if occurring.max(initial=0) > MAX_DEGREE:
            variable = int(occurring.argmax())
            raise InputError(
                f"variable {variable} is in {occurring[variable]} clauses; {MAX_DEGREE} at most are accepted"
            )
        degrees = [int(degree) for degree in np.unique(occurring) if degree]
        chosen = default_w1(system) if w is None else w
        tables = {degree: flip_table(chosen, degree, dynamics) for degree in degrees or [3]}
        order, starts, touched, chained = native.core.xorsat.sweep_order(
            system.num_variables, system.offsets, system.variables
        )
        return cls(
            system,
            order,
            starts,
            touched,
            chained.astype(np.bool_),
            {degree: tables[degree] for degree in degrees},
        )

    def flipping(self, w: ArrayLike, dynamics: Dynamics = "quasi-greedy") -> Plan:
        """The same sweep with other probabilities."""
        tables = {degree: flip_table(w, degree, dynamics) for degree in self.tables}
        return Plan(self.system, self.order, self.starts, self.touched, self.chained, tables)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return (
            self.system.num_variables == other.system.num_variables and self.digest == other.digest
        )

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        values = (self.order, self.starts, self.touched, self.chained, self.tables)
        return Plan, (self.system, *values)

    @cached_property
    def kernel(self) -> native.vector.xorsat.QuasiGreedy:
        """The compiled dynamics on the CPU."""
        system = self.system
        degrees = sorted(self.tables)
        tables = [self.tables[degree] for degree in degrees]
        return native.vector.xorsat.QuasiGreedy(
            system.num_variables,
            system.offsets,
            system.variables,
            system.parity,
            self.order,
            self.starts,
            self.touched,
            self.chained.astype(np.uint8),
            np.array(degrees, dtype=np.int32),
            np.concatenate(tables) if tables else np.zeros(0, dtype=np.uint64),
            self.majority,
        )

    @property
    def updates(self) -> int:
        """Updates of a sweep."""
        return len(self.order)

    def clauses(self, update: int) -> list[int]:
        """Clauses of one update."""
        return [int(a) for a in self.touched[self.starts[update] : self.starts[update + 1]]]

    def table(self, update: int) -> NDArray[np.uint64]:
        """Flip probabilities of one update, in units of 2^-40."""
        return self.tables[int(self.starts[update + 1] - self.starts[update])]

    @property
    def thresholds(self) -> tuple[int, ...]:
        """All probabilities strictly between 0 and 1 that occur, in units of 2^-40, ascending."""
        found = {int(x) for table in self.tables.values() for x in table}
        return tuple(sorted(found - {0, CERTAIN}))

    @property
    def fine(self) -> bool:
        """Whether a coin's first byte does not always tell."""
        return any(x % COARSE for x in self.thresholds)

    @cached_property
    def absorbing(self) -> bool:
        """Whether a solution is never left: w_0 = 0."""
        return all(table[0] == 0 for table in self.tables.values())

    @cached_property
    def majority(self) -> bool:
        """Whether each update has three clauses, w_0 = 0, w_1 < w_2 = w_3 = 1: what fast paths do."""
        if list(self.tables) != [3]:
            return False
        w0, w1, w2, w3 = self.tables[3].tolist()
        return bool(w0 == 0 and w1 < CERTAIN and w2 == w3 == CERTAIN)

    @cached_property
    def digest(self) -> str:
        """Hex digest of all that shapes the dynamics."""
        digest = hashlib.sha256()
        system = self.system
        arrays: list[NDArray[Any]] = [system.offsets, system.variables, system.parity]
        arrays += [self.order, self.touched, *(self.tables[d] for d in sorted(self.tables))]
        for array in arrays:
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
