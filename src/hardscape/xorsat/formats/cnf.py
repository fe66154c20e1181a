"""DIMACS CNF for any SAT solver: each XOR as a group of ordinary clauses."""

from __future__ import annotations

import numpy as np

from hardscape.errors import InputError
from hardscape.xorsat.formats.xcnf import read as read
from hardscape.xorsat.system import XorSystem

NAME = "cnf"
SUFFIXES: tuple[str, ...] = ()
DESCRIPTION = "the same, written as groups of ordinary clauses, for any SAT solver"
MEMORY = 40
#: Longest XOR that is written as ordinary clauses, 2^(k-1) of them.
_LONGEST = 12


def write(system: XorSystem) -> bytes:
    """Write each XOR as the 2^(k-1) ordinary clauses that exclude its wrong assignments."""
    longest = int(system.lengths.max(initial=0))
    if longest > _LONGEST:
        raise InputError(
            f"a clause of {longest} variables would take 2^{longest - 1} ordinary clauses; up to "
            f"{_LONGEST} variables are accepted, or format 'xcnf'"
        )
    if (system.lengths == 0).any():
        raise InputError(
            f"clause {int(np.argmin(system.lengths))} is a constant, which ordinary clauses cannot "
            "say; formats 'xcnf' and 'npz' can"
        )
    lines = []
    for clause, side in zip(system.clauses(), system.parity.tolist(), strict=True):
        for pattern in range(1 << len(clause)):
            if pattern.bit_count() % 2 != side:
                signs = (-i - 1 if pattern >> k & 1 else i + 1 for k, i in enumerate(clause))
                lines.append(f"{' '.join(map(str, signs))} 0")
    head = f"p cnf {system.num_variables} {len(lines)}"
    return ("\n".join([head, *lines]) + "\n").encode("ascii")
