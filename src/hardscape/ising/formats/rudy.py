"""Max-cut graphs as the generator rudy and the G-set write them: ``n m``, then ``i j weight``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.text import Row, Text, counts, decimal, named_coefficients
from hardscape.ising.model import Ising

NAME = "rudy"
SUFFIXES = (".rud", ".rudy", ".mc", ".gset")
#: The G-set: G1, G2, ...
FILE_NAME = re.compile(r"g[0-9]+")
DESCRIPTION = "a max-cut graph (G-set): 'n m', then 'i j weight'"


def sniff(source: Source) -> bool:
    """Whether there is a header of two numbers."""
    return counts(source, 2)


def read(source: Source, *, base: Literal[0, 1] = 1) -> Ising:
    """Read a graph as the model whose energy is minus the weight of the cut."""
    text = Text.of(source)
    header = text.header("n m")
    num_spins = header.num_spins(0, "number of vertices n")
    rows = text.body(header.count(1, "number of edges m"), "edges")
    edges: dict[tuple[int, int], Fraction] = {}
    for row in rows:
        i, j, weight = _edge(row, base, num_spins)
        if i == j:
            raise row.error("the edge is a loop; it must join two different vertices")
        key = (min(i, j), max(i, j))
        if key in edges:
            raise row.error("the edge is given a second time; each one is listed once")
        edges[key] = weight
    pairs = [(i, j, weight / 2) for (i, j), weight in edges.items()]
    offset = -sum(edges.values(), Fraction(0)) / 2
    return Ising.from_exact(ExactTerms.collect(num_spins, [], pairs, offset))


def _edge(row: Row, base: int, num_spins: int) -> tuple[int, int, Fraction]:
    if len(row.fields) not in (2, 3):
        raise row.error(f"{len(row.fields)} fields where 'i j weight' or 'i j' is needed")
    weight = row.value(2) if len(row.fields) == 3 else Fraction(1)
    return row.index(0, base, num_spins), row.index(1, base, num_spins), weight


def write(model: Ising, *, base: Literal[1] = 1) -> bytes:
    """Write a model whose energy is minus the weight of a cut."""
    fields, couplings, offset = named_coefficients(model.exact)
    for _, x, name in fields:
        if x:
            raise InputError(f"{name} is {float(x)!r}; format 'rudy' holds models without fields")
    needed = -sum((x for _, _, x, _ in couplings), Fraction(0))
    if offset != needed:
        raise InputError(
            f"the offset is {float(offset)!r}; format 'rudy' holds energies that are minus a cut, "
            f"whose offset is minus the sum of the couplings, here {float(needed)!r}"
        )
    lines = [f"{model.num_spins} {len(couplings)}"]
    for i, j, x, name in couplings:
        lines.append(f"{i + base} {j + base} {decimal(2 * x, f'2 {name}', 'rudy')}")
    return ("\n".join(lines) + "\n").encode()
