"""DIMACS CNF files: every clause is soft, with weight 1."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.maxsat.formats.wcnf import body, first_words
from hardscape.maxsat.formats.wcnf import has_cnf_header as sniff  # noqa: F401 - the module's own
from hardscape.maxsat.formats.wcnf import read as read_either

if TYPE_CHECKING:
    from hardscape.maxsat.formula import Formula

NAME = "cnf"
SUFFIXES = (".cnf",)
DESCRIPTION = "DIMACS CNF: 'p cnf n m', then literals, 0 after each clause (all soft, weight 1)"
MEMORY = 4


def read(source: Source, *, seen: Callable[[Any], object] | None = None) -> Formula:
    """Read any CNF or WCNF file, as the format 'wcnf' does; one that might be either is refused."""
    first = first_words(source)
    if (
        first
        and re.fullmatch(rb"-?\d+", first[0])
        and not re.search(rb"(?m)^[ \t]*h\s", source.data)
    ):
        raise source.error(
            None,
            "has no header 'p cnf'; format='wcnf' (--format wcnf) takes the first number of each clause for a "
            "weight",
        )
    return read_either(source, seen=seen)


def write(formula: Formula) -> bytes:
    """Write soft clauses of weight 1; others are refused."""
    if formula.num_hard or (formula.weights != 1).any():
        raise InputError("a CNF file holds soft clauses of weight 1; write .wcnf (format 'wcnf')")
    head = f"p cnf {formula.num_variables} {formula.num_clauses}"
    return body(formula, head, [""] * formula.num_clauses)
