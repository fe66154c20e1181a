"""A process that names the assignments of the least cost, once `solve` has proven that.

Standard input and output are those of `lister`, and a line ``whole`` says that no other assignment costs as
little. It is for formulas of which cores alone do not tell the least cost soon: `solve` knows more ways. That
cost is a constraint then, and a SAT solver names what satisfies it.
"""

from __future__ import annotations

import ctypes
import signal
import sys

from pysat.solvers import Glucose4

from hardscape.errors import InputError
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.listing.lister import DEATH_SIGNAL, read
from hardscape.maxsat.modelling.constraints import Clauses
from hardscape.maxsat.solve import solve


def costing(formula: Formula, cost: int) -> list[list[int]]:
    """Clauses that hold where the hard ones do and no more than `cost` is violated.

    Raises
    ------
    InputError
        Where the weights sum up to more than is counted.
    """
    made = Clauses(formula.num_variables)
    prices = []
    for clause, weight in formula.weighted():
        if weight and len(clause) == 1:
            prices.append((-weight, -clause[0]))
            continue
        if weight:
            prices.append((-weight, made.new()))
            clause.append(made.num_variables)
        made.hard.append(clause)
    made.at_least(prices, -cost)
    return made.hard


def main() -> None:
    """Name assignments until there are no more, or nobody listens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
    chosen = [int(x) for x in sys.stdin.readline().split()]
    variables = int(sys.stdin.readline())
    formula = Formula.from_pysat(read(variables))
    proven = solve(formula, method="exact", device="cpu", threads=1, seed=0)
    if proven.cost is None:
        print("end", flush=True)
        return
    name(proven.model[:variables])
    try:
        clauses = costing(formula, proven.cost)
    except InputError:
        return
    model = proven.model
    with Glucose4(clauses) as solver:
        solver.add_clause([-model[v - 1] for v in chosen])
        while solver.solve():
            model = solver.get_model()
            name(model[:variables])
            solver.add_clause([-model[v - 1] for v in chosen])
    print("whole", flush=True)


def name(model: list[int]) -> None:
    """Name an assignment."""
    print("v", *(int(literal > 0) for literal in model), sep="", flush=True)


if __name__ == "__main__":
    main()
