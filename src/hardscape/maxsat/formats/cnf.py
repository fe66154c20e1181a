"""DIMACS CNF files: every clause is soft, with weight 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardscape.errors import InputError
from hardscape.maxsat.formats.wcnf import body
from hardscape.maxsat.formats.wcnf import has_cnf_header as sniff  # noqa: F401 - the module's own
from hardscape.maxsat.formats.wcnf import read as read

if TYPE_CHECKING:
    from hardscape.maxsat.formula import Formula

NAME = "cnf"
SUFFIXES = (".cnf",)
DESCRIPTION = "DIMACS CNF: 'p cnf n m', then literals, 0 after each clause (all soft, weight 1)"
MEMORY = 4


def write(formula: Formula) -> bytes:
    """Write soft clauses of weight 1; others are refused."""
    if formula.num_hard or (formula.weights != 1).any():
        raise InputError("a CNF file holds soft clauses of weight 1; write .wcnf (format 'wcnf')")
    head = f"p cnf {formula.num_variables} {formula.num_clauses}"
    return body(formula, head, [""] * formula.num_clauses)
