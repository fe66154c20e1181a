"""QUBO files of the Biq Mac library: ``n m``, then ``i j q`` of a symmetric matrix."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.text import (
    Text,
    counts,
    loops,
    named_coefficients,
    refuse_offset,
    rendered,
)
from hardscape.ising.model import Ising

NAME = "biqmac"
SUFFIXES = (".sparse",)
DESCRIPTION = "a QUBO of the Biq Mac library: 'n m', then 'i j q' of a symmetric matrix"
MEMORY = 45


def sniff(source: Source) -> bool:
    """Whether there is a header of two numbers, and the matrix has a diagonal, which a graph has not."""
    return counts(source, 2) and loops(source)


def read(source: Source, *, base: Literal[0, 1] = 1) -> Ising:
    """Read E(q) = q^T Q q, where one line ``i j x`` stands for both Q[i, j] and Q[j, i]."""
    return form(source, base, 1)


def form(source: Source, base: int, sign: int) -> Ising:
    """The same, times a sign."""
    text = Text.of(source)
    header = text.header("n m")
    num_spins = header.num_spins(0, "number of variables n")
    count = header.count(1, "number of entries m")
    entries = list(text.entries(count, "entries", base, num_spins))
    linear = [(i, sign * x) for _, i, j, x in entries if i == j]
    pairs = [(i, j, 2 * sign * x) for _, i, j, x in entries if i != j]
    terms = ExactTerms.collect(num_spins, linear, pairs, Fraction(0))
    return Ising.from_exact(terms.from_binary())


def write(model: Ising, *, base: Literal[1] = 1) -> bytes:
    """Write the entries of Q that are not zero; there is no place for an offset."""
    linear, pairs, offset = named_coefficients(model.exact.to_binary(), "Q", "Q")
    refuse_offset(offset, NAME)
    entries = [entry for entry in linear if entry[2]]
    entries += [(i, j, x / 2, name) for i, j, x, name in pairs]
    return rendered([f"{model.num_spins} {len(entries)}"], sorted(entries), base, NAME)
