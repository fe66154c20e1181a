"""A process that names assignments from the cheapest on.

Standard input is a line of the variables that tell assignments apart, one of the number of variables, and the
formula in the Evaluation's format. Standard output gets a line ``v0110...`` for each assignment, and ``end``
when there is none left. It is RC2 (Ignatiev, Morgado, Marques-Silva, JSAT 11, 53, 2019), which goes on when
what it found is forbidden. Hardening stays off: it would forbid what costs more than the best.

It lives apart because a call of a SAT solver cannot be interrupted at once.
"""

from __future__ import annotations

import ctypes
import signal
import sys

from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF

#: PR_SET_PDEATHSIG of Linux.
DEATH_SIGNAL = 1


def read(variables: int) -> WCNF:
    """The formula, in which every variable occurs."""
    formula = WCNF()
    for line in sys.stdin:
        mark, *words = line.split()
        clause = [int(x) for x in words[:-1]]
        if mark == "h":
            formula.append(clause)
        elif clause:  # an empty one costs the same in any case
            formula.append(clause, weight=int(mark))
    for v in range(1, variables + 1):
        formula.append([v, -v])
    formula.append([variables + 1], weight=1)  # it needs one
    return formula


def main() -> None:
    """Name assignments until there are no more, or nobody listens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
    chosen = [int(x) for x in sys.stdin.readline().split()]
    variables = int(sys.stdin.readline())
    formula = read(variables)
    found = None
    with RC2Stratified(formula, solver="g4", exhaust=True, minz=True, nohard=True) as solver:
        while chosen or found is None:
            found = solver.compute()
            if found is None:
                break
            true = {x for x in found if x > 0}
            print("v", *("01"[v in true] for v in range(1, variables + 1)), sep="", flush=True)
            solver.add_clause([-v if v in true else v for v in chosen])
    print("end", flush=True)


if __name__ == "__main__":
    main()
