"""Binary programs of QPLIB without constraints: problem types QBN, QBB and the like."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hardscape.files import Source, shown
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.text import MAX_SPINS, Row
from hardscape.ising.model import Ising

NAME = "qplib"
SUFFIXES = ()
READS = (".qplib",)
DESCRIPTION = "an unconstrained binary program of QPLIB"
MEMORY = 45


def read(source: Source) -> Ising:
    """Read x^T Q x / 2 + b^T x + c, Q by its lower half; minus it where that is to be maximised."""
    rows = _rows(source)
    name = _next(source, rows, "name")
    kind = _next(source, rows, "problem type")
    code = kind.fields[0].upper()
    if len(code) != 3 or code[0] not in "LQCD" or code[1] != "B" or code[2] not in "NB":
        raise kind.error(
            f"the problem type of {name.fields[0]} is {shown(kind.fields[0])}; QUBOs are of types "
            "QBN and QBB: binary variables and no constraints"
        )
    sense = _next(source, rows, "sense")
    if sense.fields[0].lower() not in ("minimize", "maximize"):
        raise sense.error(f"{shown(sense.fields[0])}; minimize and maximize are accepted")
    sign = 1 if sense.fields[0].lower() == "minimize" else -1
    head = _next(source, rows, "number of variables")
    num_spins = head.num_spins(0, "number of variables")
    pairs, fields = [], []
    for row in () if code[0] == "L" else _entries(source, rows, "quadratic terms", 3):
        i, j = row.index(0, 1, num_spins), row.index(1, 1, num_spins)
        if i == j:
            fields.append((i, sign * row.value(2) / 2))
        else:  # its mirror image counts, too
            pairs.append((i, j, sign * row.value(2)))
    default = _next(source, rows, "default linear coefficient").value(0)
    linear = dict.fromkeys(range(min(num_spins, MAX_SPINS)), default)
    for row in _entries(source, rows, "linear coefficients", 2):
        linear[row.index(0, 1, num_spins)] = row.value(1)
    fields += [(i, sign * x) for i, x in linear.items() if x]
    offset = sign * _next(source, rows, "objective constant").value(0)
    terms = ExactTerms.collect(num_spins, fields, pairs, Fraction(offset))
    return Ising.from_exact(terms.from_binary())


def _rows(source: Source) -> Iterator[Row]:
    """Lines without their comments, blank ones left out."""
    for number, line in source.lines():
        fields = line.partition("#")[0].split()
        if fields:
            yield Row(source, number, fields)


def _next(source: Source, rows: Iterator[Row], what: str) -> Row:
    row = next(rows, None)
    if row is None:
        raise source.error(None, f"the {what} is missing; the file is cut off")
    return row


def _entries(source: Source, rows: Iterator[Row], what: str, width: int) -> Iterator[Row]:
    """A line with a count, and so many lines."""
    count = _next(source, rows, f"number of {what}").count(0, f"number of {what}")
    for _ in range(count):
        row = _next(source, rows, f"list of {what}")
        if len(row.fields) < width:
            raise row.error(f"{len(row.fields)} fields where {width} are needed in the {what}")
        yield row
