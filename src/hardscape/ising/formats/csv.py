"""A square matrix as text, one row a line: CSV, and what ``numpy.savetxt`` writes; fields on the diagonal."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hardscape.errors import FormatError
from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.text import Row, counts, data_lines
from hardscape.ising.intake import Convention, sign_of
from hardscape.ising.model import Ising

NAME = "csv"
SUFFIXES = ()
READS = (".csv", ".tsv")
DESCRIPTION = (
    "the rows of a matrix, which `Ising.from_matrix` takes, between commas, semicolons or blanks"
)
MEMORY = 15


def sniff(source: Source) -> bool:
    """Whether there are as many lines as numbers on the first, which begins no list of entries or edges."""
    rows = _rows(source)
    first = next(rows, None)
    if first is None or (size := len(first.fields)) < 2 or (size < 4 and counts(source, size)):
        return False
    try:
        return len(_numbers(first)) == 1 + sum(1 for _ in rows)
    except FormatError:
        return False


def read(source: Source, *, convention: Convention = "dimod") -> Ising:
    """Read a matrix of that convention."""
    rows = list(_rows(source))
    if not rows:
        raise source.error(None, "holds no entries")
    fields: list[tuple[int, Fraction]] = []
    pairs: list[tuple[int, int, Fraction]] = []
    sign = sign_of(convention)
    for i, row in enumerate(rows):
        if len(row.fields) != len(rows):
            raise row.error(f"{len(row.fields)} numbers in a matrix of {len(rows)} rows")
        for j, value in enumerate(_numbers(row)):
            if i == j:
                fields.append((i, sign * value))
            elif value:
                pairs.append((i, j, sign * value))
    return Ising.from_exact(ExactTerms.collect(len(rows), fields, pairs, Fraction(0)))


def _rows(source: Source) -> Iterator[Row]:
    for number, line in data_lines(source):
        mark = next((mark for mark in ";," if mark in line), None)
        yield Row(source, number, [field.strip() for field in line.split(mark)])


def _numbers(row: Row) -> list[Fraction]:
    return [row.value(k) for k in range(len(row.fields))]
