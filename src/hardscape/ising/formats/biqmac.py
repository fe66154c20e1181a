"""QUBO files of the Biq Mac library: ``n m``, then ``i j q`` of a symmetric matrix."""

from __future__ import annotations

from fractions import Fraction

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.options import Options
from hardscape.ising.formats.text import Text, decimal, named_coefficients
from hardscape.ising.model import Ising

__all__ = ["parse", "render"]


def parse(source: Source, options: Options) -> Ising:
    """Read E(q) = q^T Q q, where one line ``i j x`` stands for both Q[i, j] and Q[j, i].

    Raises
    ------
    FormatError
        For entries given twice, even mirrored, and counts that the header does not announce.
    """
    text = Text.of(source)
    header = text.header("n m")
    num_spins = header.num_spins(0, "number of variables n")
    base = 1 if options.base is None else options.base
    entries: dict[tuple[int, int], Fraction] = {}
    for row in text.body(header.count(1, "number of entries m"), "entries"):
        if len(row.fields) != 3:
            raise row.error(f"{len(row.fields)} fields where 'i j q' is needed")
        i, j = row.index(0, base, num_spins), row.index(1, base, num_spins)
        key = (min(i, j), max(i, j))
        if key in entries:
            raise row.error("the entry is given a second time; one line stands for both halves")
        entries[key] = row.value(2)
    linear = [(i, x) for (i, j), x in entries.items() if i == j]
    pairs = [(i, j, 2 * x) for (i, j), x in entries.items() if i != j]
    terms = ExactTerms.collect(num_spins, linear, pairs, Fraction(0))
    return Ising.from_exact(terms.from_binary())


def render(model: Ising, options: Options) -> bytes:
    """Write the entries of Q that are not zero.

    Raises
    ------
    InputError
        If the QUBO has an offset, for which the format has no place, or an entry is not a float64.
    """
    linear, pairs, offset = named_coefficients(model.exact.to_binary(), "Q", "Q")
    if offset:
        raise InputError(
            f"the model's QUBO has the offset {float(offset)!r}; format 'biqmac' has no place for "
            "one (it must be 0), formats 'qubo', 'coo' and 'npz' have"
        )
    entries = [(i, i, x, name) for i, x, name in linear if x]
    entries += [(i, j, x / 2, name) for i, j, x, name in pairs]
    lines = [f"{model.num_spins} {len(entries)}"]
    for i, j, x, name in sorted(entries):
        lines.append(f"{i + 1} {j + 1} {decimal(x, name, 'biqmac')}")
    return ("\n".join(lines) + "\n").encode()
