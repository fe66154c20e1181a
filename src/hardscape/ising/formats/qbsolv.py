"""QUBO files of qbsolv: ``p qubo topology maxNodes nNodes nCouplers``, then ``i j value``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.text import (
    Row,
    Text,
    decimal,
    first_fields,
    named_coefficients,
    rendered,
)
from hardscape.ising.model import Ising

NAME = "qubo"
SUFFIXES = (".qubo",)
DESCRIPTION = "a QUBO of qbsolv: 'p qubo ...', then 'i j value'"
MEMORY = 45

_PROBLEM = "p qubo topology maxNodes nNodes nCouplers"
_OFFSET = re.compile(r"c\s+hardscape\s+offset=(\S*)")
#: As bqpjson and QUBOTools write them: the energy is scale (sum + offset).
_BQP_OFFSET, _BQP_SCALE = (re.compile(rf"c\s+{x}\s*:\s*(\S+)") for x in ("offset", "scale"))


def sniff(source: Source) -> bool:
    """Whether there is a problem line."""
    return first_fields(source)[:2] == ["p", "qubo"]


def read(source: Source, *, base: Literal[0, 1] = 0) -> Ising:
    """Read E(q) = sum_i Q[i, i] q_i + sum_{i<j} Q[i, j] q_i q_j, with the offset and scale of comments."""
    text = Text.of(source)
    header = text.header(_PROBLEM)
    if header.fields[:2] != ["p", "qubo"]:
        raise header.error(f"the header '{_PROBLEM}' is needed first")
    num_spins = header.num_spins(3, "maxNodes")
    nodes, couplers = header.count(4, "nNodes"), header.count(5, "nCouplers")
    entries = list(text.entries(nodes + couplers, "nodes and couplers", base, num_spins))
    for row, i, j, _ in entries:
        if i > j:
            raise row.error("the first index is above the second; couplers have i < j")
    scale = _told(text, _BQP_SCALE, Fraction(1))
    offset = _told(text, _OFFSET, Fraction(0)) + scale * _told(text, _BQP_OFFSET, Fraction(0))
    linear = [(i, scale * x) for _, i, j, x in entries if i == j]
    if len(linear) != nodes:
        raise header.error(f"nNodes is {nodes}, and the file has {len(linear)} nodes 'i i value'")
    pairs = [(i, j, scale * x) for _, i, j, x in entries if i != j]
    terms = ExactTerms.collect(num_spins, linear, pairs, offset)
    return Ising.from_exact(terms.from_binary())


def _told(text: Text, pattern: re.Pattern[str], default: Fraction) -> Fraction:
    """The number of the one comment that fits."""
    found = [
        Row(text.source, number, [match[1]])
        for number, comment in text.comments
        if (match := pattern.fullmatch(comment))
    ]
    if len(found) > 1:
        raise found[1].error("a second comment with the same number")
    return found[0].value(0) if found else default


def write(model: Ising, *, base: Literal[0] = 0) -> bytes:
    """Write a line for every node and every coupler that is not zero.

    The format has no offset; one that is not zero goes into a comment, which `read` takes and
    other programs skip: their energies lack it.
    """
    nodes, couplers, offset = named_coefficients(model.exact.to_binary(), "Q", "Q")
    lines = [f"c hardscape offset={decimal(offset, 'offset', 'qubo')}"] if offset else []
    lines.append(f"p qubo 0 {model.num_spins} {len(nodes)} {len(couplers)}")
    return rendered(lines, nodes + couplers, base, NAME)
