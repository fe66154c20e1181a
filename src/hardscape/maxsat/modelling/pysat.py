"""Formulas of python-sat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hardscape.errors import InputError, needed
from hardscape.maxsat.intake import largest_variable
from hardscape.maxsat.modelling.constraints import Clauses


def clauses_of_pysat(formula: Any) -> Clauses:
    """Clauses of a WCNF, a WCNFPlus or a CNF."""
    limits = getattr(formula, "atms", None) or []
    if all(hasattr(formula, name) for name in ("hard", "soft", "wght")):
        soft, weights, hard = formula.soft, formula.wght, formula.hard
    elif hasattr(formula, "clauses") and not limits:
        soft, weights, hard = formula.clauses, [1] * len(formula.clauses), []
    else:
        raise InputError(
            f"formula is a {type(formula).__name__}; WCNF, WCNFPlus and CNF of python-sat are accepted"
        )
    largest = map(largest_variable, (soft, hard, (limit[0] for limit in limits)))
    found = Clauses(max(int(getattr(formula, "nv", 0)), *largest), list(hard), soft, weights)
    for literals, bound, *given in limits:
        each = given[0] if given else [1] * len(literals)
        found.at_least(zip((-weight for weight in each), literals, strict=True), -bound)
    return found


def pysat_of(num_variables: int, clauses: Iterable[tuple[list[int], int]]) -> Any:
    """A WCNF of clauses and their weights, 0 for hard ones."""
    found = needed("pysat.formula", "python-sat", "sat", "Formula.to_pysat").WCNF()
    for clause, weight in clauses:
        found.append(clause, weight=weight or None)
    found.nv = num_variables
    return found
