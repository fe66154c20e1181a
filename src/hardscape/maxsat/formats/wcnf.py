"""WCNF files: hard clauses and weights, as since 2022 or with the older header."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hardscape import native
from hardscape.files import Source
from hardscape.interrupts import signals_wait

if TYPE_CHECKING:  # the command prints a first cost before NumPy is imported
    from hardscape.maxsat.formula import Formula

NAME = "wcnf"
SUFFIXES = (".wcnf",)
DESCRIPTION = "WCNF: lines 'h' or a weight, literals, 0, also under a header 'p wcnf n m top'"
MEMORY = 4


class FormatWarning(UserWarning):
    """A file's header disagrees with its clauses."""


def sniff(source: Source) -> bool:
    """Whether there is no header of a CNF file: clauses need none since 2022."""
    return not has_cnf_header(source)


def has_cnf_header(source: Source) -> bool:
    """Whether the first line that is no comment begins a CNF file."""
    start = 0
    while source.data[start : start + 1] == b"c":
        start = source.data.find(b"\n", start) + 1 or len(source)
    return source.data[start : start + 20].split()[:2] == [b"p", b"cnf"]


def read(source: Source, *, seen: Callable[[Any], object] | None = None) -> Formula:
    """Read any CNF or WCNF file: its content tells which. `seen` hears of the text as soon as it is read."""
    text = native.core.maxsat.parse_wcnf(source.data)
    if isinstance(text, tuple):
        line, reason = text
        raise source.error(line or None, reason)
    source.believe(text.num_variables, "variables")
    for doubt in text.warnings:
        warnings.warn(f"{source.path}:{doubt}", FormatWarning, stacklevel=2)
    if seen is not None:
        seen(text)
    with signals_wait():
        from hardscape.maxsat.formula import Formula

    hard = text.hard.view(bool)
    return Formula(text.num_variables, text.literals, text.offsets, text.weights, hard)


def write(formula: Formula) -> bytes:
    """Write the format of 2022, the number of variables in a comment."""
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
