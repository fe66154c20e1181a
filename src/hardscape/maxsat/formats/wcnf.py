"""WCNF files: hard clauses and weights, as since 2022 or with the older header."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hardscape import native
from hardscape.files import Source, shown
from hardscape.interrupts import signals_wait

if TYPE_CHECKING:  # the command prints a first cost before NumPy is imported
    from hardscape.maxsat.formula import Formula

NAME = "wcnf"
SUFFIXES = (".wcnf", ".wcnf+")
READS = (".pwcnf",)
DESCRIPTION = "WCNF: lines 'h' or a weight, literals, 0, also under 'p wcnf n m top', and WCNFPlus 'h 1 2 <= 1'"
MEMORY = 4

#: Variables are 32-bit.
_MOST_VARIABLES = 2**31 - 1
#: What a line of WCNFPlus demands, and a coefficient and a literal of it.
_LIMIT = re.compile(
    r"(?:h|\d+)\s+(?:w(?P<weighted>(?:\s+[+-]?\d{1,4000}\*-?\d{1,10})+)|(?P<plain>-?\d{1,10}(?:\s+-?\d{1,10})*))"
    r"\s+(?P<relation>[<>]=)\s+(?P<bound>[+-]?\d{1,4000})"
)
_TERM = re.compile(r"(?:([+-]?\d+)\*)?(-?\d+)")


class FormatWarning(UserWarning):
    """A file's header disagrees with its clauses.

    Examples
    --------
    >>> import warnings
    >>> from hardscape.maxsat import FormatWarning, Formula
    >>> issubclass(FormatWarning, UserWarning)
    True
    """


def sniff(source: Source) -> bool:
    """Whether there is no header of a CNF file: clauses need none since 2022."""
    return not has_cnf_header(source)


def has_cnf_header(source: Source) -> bool:
    """Whether the first line that is no comment begins a CNF file."""
    return first_words(source)[:2] == [b"p", b"cnf"]


def first_words(source: Source) -> list[bytes]:
    """The first words after comments."""
    start = 0
    while source.data[start : start + 1] == b"c":
        start = source.data.find(b"\n", start) + 1 or len(source)
    return bytes(source.data[start : start + 20]).split()


def read(source: Source, *, seen: Callable[[Any], object] | None = None) -> Formula:
    """Read any CNF or WCNF file: its content tells which. `seen` hears of the text as soon as it is read."""
    text = native.core.maxsat.parse_wcnf(source.data)
    if isinstance(text, tuple):
        line, reason = text
        raise source.error(line or None, reason)
    source.believe(text.num_variables, "variables")
    for doubt in text.warnings:
        warnings.warn(f"{source.path}:{doubt}", FormatWarning, stacklevel=2)
    if seen is not None and not text.limits:
        seen(text)
    with signals_wait():
        from hardscape.maxsat.formula import Formula

    hard = text.hard.view(bool)
    formula = Formula(text.num_variables, text.literals, text.offsets, text.weights, hard)
    return _limited(source, formula, text.limits) if text.limits else formula


def _limited(source: Source, formula: Formula, limits: list[tuple[int, str]]) -> Formula:
    """The formula, and clauses that say what lines of WCNFPlus demand of sums of literals."""
    from hardscape.maxsat.modelling.constraints import Clauses  # takes longer than all here

    demands = [_demand(source, *limit) for limit in limits]
    largest = max((abs(x) for terms, _ in demands for _, x in terms), default=0)
    source.believe(largest, "variables")
    found = Clauses(max(formula.num_variables, largest))
    literals, bounds = formula.literals.tolist(), formula.offsets.tolist()
    for weight, begin, end in zip(formula.weights.tolist(), bounds, bounds[1:], strict=False):
        (found.soft if weight else found.hard).append(literals[begin:end])
    found.weights = [weight for weight in formula.weights.tolist() if weight]
    for terms, bound in demands:
        found.at_least(terms, bound)
    return type(formula).of(found)


def _demand(source: Source, line: int, text: str) -> tuple[list[tuple[int, int]], int]:
    """Coefficients and literals, and what they add up to at least."""
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        raise source.error(
            line, f"{shown(text)}; 'h 1 -2 3 <= 2' and 'h w 2*1 3*-2 >= 4' are accepted"
        )
    sign = -1 if found["relation"] == "<=" else 1
    terms = [
        (sign * int(weight or 1), int(literal))
        for weight, literal in _TERM.findall(found["plain"] or found["weighted"])
    ]
    if any(not 0 < abs(literal) <= _MOST_VARIABLES for _, literal in terms):
        raise source.error(line, f"{shown(text)}; variables 1 to {_MOST_VARIABLES} are accepted")
    return terms, sign * int(found["bound"])


def write(formula: Formula) -> bytes:
    """Write the format of 2022, the number of variables in a comment; without clauses, the older header."""
    if not formula.num_clauses:  # a file of comments alone is likelier one that was cut off
        return body(formula, f"p wcnf {formula.num_variables} 0 1", [])
    marks = [
        "h " if firm else f"{weight} "
        for firm, weight in zip(formula.hard.tolist(), formula.weights.tolist(), strict=True)
    ]
    return body(formula, f"c variables {formula.num_variables}", marks)


def body(formula: Formula, head: str, marks: list[str]) -> bytes:
    """A line for each clause, after its mark."""
    literals, offsets = formula.literals.tolist(), formula.offsets.tolist()
    lines = [f"{head}\n"]
    for mark, begin, end in zip(marks, offsets, offsets[1:], strict=False):
        lines.append(f"{mark}{' '.join(map(str, [*literals[begin:end], 0]))}\n")
    return "".join(lines).encode()
