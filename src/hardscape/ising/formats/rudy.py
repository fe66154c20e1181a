"""Max-cut graphs as the generator rudy and the G-set write them: ``n m``, then ``i j weight``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.text import Text, counts, loops, named_coefficients, rendered
from hardscape.ising.model import Ising

NAME = "rudy"
SUFFIXES = (".rud", ".rudy", ".mc", ".gset")
#: The G-set: G1, G2, ...
FILE_NAME = re.compile(r"g[0-9]+")
DESCRIPTION = "a max-cut graph (G-set): 'n m', then 'i j weight'"
MEMORY = 45


def sniff(source: Source) -> bool:
    """Whether there is a header of two numbers, and no edge joins a vertex to itself."""
    return counts(source, 2) and not loops(source)


def read(source: Source, *, base: Literal[0, 1] = 1) -> Ising:
    """Read a graph as the model whose energy is minus the weight of the cut."""
    text = Text.of(source)
    header = text.header("n m")
    num_spins = header.num_spins(0, "number of vertices n")
    count = header.count(1, "number of edges m")
    pairs = []
    for row, i, j, weight in text.entries(count, "edges", base, num_spins, least=2):
        if i == j:
            raise row.error("the edge is a loop; it must join two different vertices")
        pairs.append((i, j, weight / 2))
    offset = -sum((x for _, _, x in pairs), Fraction(0))
    return Ising.from_exact(ExactTerms.collect(num_spins, [], pairs, offset))


def write(model: Ising, *, base: Literal[1] = 1) -> bytes:
    """Write a model whose energy is minus the weight of a cut."""
    fields, couplings, offset = named_coefficients(model.exact)
    for _, _, x, name in fields:
        if x:
            raise InputError(f"{name} is {float(x)!r}; format 'rudy' holds models without fields")
    needed = -sum((x for _, _, x, _ in couplings), Fraction(0))
    if offset != needed:
        raise InputError(
            f"the offset is {float(offset)!r}; format 'rudy' holds energies that are minus a cut, "
            f"whose offset is minus the sum of the couplings, here {float(needed)!r}"
        )
    edges = [(i, j, 2 * x, f"2 {name}") for i, j, x, name in couplings]
    return rendered([f"{model.num_spins} {len(edges)}"], edges, base, NAME)
