"""QUBO files of Hercules: the number of variables, then lines ``i value`` and ``i j value``."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.orlib import sniff as holds_problems
from hardscape.ising.formats.text import (
    Text,
    decimal,
    first_lines,
    named_coefficients,
    refuse_offset,
)
from hardscape.ising.model import Ising

NAME = "hercules"
SUFFIXES = (".hercules",)
READS = (".qubo",)
DESCRIPTION = "a QUBO of Hercules: 'n', then 'i value' and 'i j value'"
MEMORY = 45


def sniff(source: Source) -> bool:
    """Whether the first line is one number, and two or three follow in the next: not the OR-Library's."""
    (first, second) = first_lines(source, 2)
    numbers = len(first) == 1 and first[0].isdecimal() and len(second) in (2, 3)
    return numbers and not holds_problems(source)


def read(source: Source, *, base: Literal[0, 1] = 0) -> Ising:
    """Read E(x) = x^T Q x / 2 + c^T x: lines of two fields are of c, of three of Q; repeated ones add up."""
    text = Text.of(source)
    num_spins = text.header("n").num_spins(0, "number of variables n")
    linear: list[tuple[int, Fraction]] = []
    pairs: list[tuple[int, int, Fraction]] = []
    for row in text.rows[1:]:
        if len(row.fields) not in (2, 3):
            raise row.error(f"{len(row.fields)} fields where 'i value' or 'i j value' is needed")
        i = row.index(0, base, num_spins)
        if len(row.fields) == 2:
            linear.append((i, row.value(1)))
            continue
        j = row.index(1, base, num_spins)
        if i == j:
            linear.append((i, row.value(2) / 2))
        else:
            pairs.append((i, j, row.value(2) / 2))
    terms = ExactTerms.collect(num_spins, linear, pairs, Fraction(0))
    return Ising.from_exact(terms.from_binary())


def write(model: Ising, *, base: Literal[0] = 0) -> bytes:
    """Write the numbers that are not zero; there is no place for an offset."""
    linear, pairs, offset = named_coefficients(model.exact.to_binary(), "Q", "Q")
    refuse_offset(offset, NAME)
    lines = [f"{model.num_spins}"]
    lines += [f"{i} {decimal(x, name, NAME)}" for i, _, x, name in linear if x]
    lines += [f"{i} {j} {decimal(2 * x, name, NAME)}" for i, j, x, name in pairs]
    return ("\n".join(lines) + "\n").encode()
