"""MAX-SAT by the definition: clauses as lists of literals, assignments as lists of 0 and 1."""

from __future__ import annotations

from itertools import product


def holds(clause, assignment) -> bool:
    return any(assignment[abs(x) - 1] == (x > 0) for x in clause)


def cost(clauses, weights, assignment) -> int:
    return sum(w for c, w in zip(clauses, weights, strict=True) if not holds(c, assignment))


def violations(clauses, assignment) -> int:
    return sum(not holds(clause, assignment) for clause in clauses)


def optimum(num_variables, clauses, weights, hard=()) -> int | None:
    """Least cost over all assignments under which every hard clause holds; None if there is none."""
    return min(
        (
            cost(clauses, weights, x)
            for x in product((0, 1), repeat=num_variables)
            if not violations(hard, x)
        ),
        default=None,
    )
