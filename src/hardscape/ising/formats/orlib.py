"""QUBO files of Beasley's OR-Library: how many there are, then of each ``n m`` and ``i j q``; maximised."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hardscape.arguments import integer
from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.text import Row, Text, first_lines, is_integer
from hardscape.ising.model import Ising

NAME = "orlib"
SUFFIXES = ()
DESCRIPTION = "QUBOs of the OR-Library: their number, then for each 'n m' and 'i j q', maximised"
MEMORY = 45


def sniff(source: Source) -> bool:
    """Whether the first line is a number, and as many problems follow as it says."""
    first, second, third = first_lines(source, 3)
    whole = all(map(is_integer, (*first, *second, *third[:2])))
    if (len(first), len(second), len(third)) != (1, 2, 3) or not whole:
        return False
    rows = Text.of(source).rows
    at, problems = 1, 0
    while at < len(rows):
        head = rows[at].fields
        if len(head) != 2 or not all(map(is_integer, head)) or int(head[0]) < 1:
            return False
        at, problems = at + 1 + max(0, int(head[1])), problems + 1
    return at == len(rows) and problems == int(first[0])


def read(source: Source, *, problem: int | None = None) -> Ising:
    """Read E(q) = -q^T Q q of one problem, where a line ``i j x`` stands for both Q[i, j] and Q[j, i]."""
    text = Text.of(source)
    count = text.header("problems").count(0, "number of problems")
    if problem is None and count != 1:
        raise source.error(1, f"there are {count} problems; problem= says which, 1 to {count}")
    wanted = 1 if problem is None else integer(problem, "problem", 1, count)
    at = 1
    for _ in range(wanted - 1):
        at += 1 + _sizes(text, at)[1]
    num_spins, entries = _sizes(text, at)
    rows = text.rows[at + 1 : at + 1 + entries]
    if len(rows) < entries:
        raise source.error(None, f"problem {wanted} has {len(rows)} of {entries} entries")
    return Ising.from_exact(_collected(rows, num_spins).from_binary())


def _sizes(text: Text, at: int) -> tuple[int, int]:
    """Variables and entries of the problem that begins at a row."""
    if at >= len(text.rows):
        raise text.source.error(None, "a problem's 'n m' is missing; the file is cut off")
    row = text.rows[at]
    if len(row.fields) != 2:
        raise row.error(f"{len(row.fields)} fields where 'n m' is needed")
    return row.num_spins(0, "number of variables n"), row.count(1, "number of entries m")


def _collected(rows: Sequence[Row], num_spins: int) -> ExactTerms:
    linear: list[tuple[int, Fraction]] = []
    pairs: list[tuple[int, int, Fraction]] = []
    for row in rows:
        if len(row.fields) != 3:
            raise row.error(f"{len(row.fields)} fields where 'i j value' is needed")
        i, j, value = row.index(0, 1, num_spins), row.index(1, 1, num_spins), -row.value(2)
        if i == j:
            linear.append((i, value))
        else:
            pairs.append((i, j, 2 * value))
    return ExactTerms.collect(num_spins, linear, pairs, Fraction(0))
