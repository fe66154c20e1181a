"""Rows of numbers: integers, fractions ``p/q``, decimal and complex ``1-2j``, between commas or blanks.

That is CSV, and what ``numpy.savetxt`` writes: complex numbers may stand in parentheses, as ``(1+-2j)`` too.
Those of MATLAB and R, ``1-2i``, are read as well, and semicolons for commas, as many spreadsheets write them.

Names of columns and rows have no place. Those that pandas makes up are numbers, 0, 1, 2 and so on, and would be
taken for a row or a column of the matrix: a file that is square without that row or column is refused. No
square matrix is, be its first row what it may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import FormatError
from hardscape.files import Source, shown
from hardscape.permanents.formats.text import DECIMAL, INTEGER, WHOLE, real
from hardscape.permanents.matrix import Number, intake

NAME = "csv"
SUFFIXES = (".csv", ".tsv", ".txt", ".dat")
DESCRIPTION = "CSV, semicolons or blanks between integers, fractions 'p/q', decimal and complex numbers '1-2j'"
MEMORY = 15
#: Names that count: 0 and 1 alone are likelier to be a row of zeros and ones.
_FEWEST_NAMES = 3
_FRACTION = re.compile(rf"{WHOLE}/[0-9]{{1,4000}}")
_COMPLEX = re.compile(rf"(?:{DECIMAL}(?=[+-]))?{DECIMAL}[ij]")
_IN_PARENTHESES = re.compile(rf"\(({DECIMAL})\+?({DECIMAL}j)\)")


def sniff(source: Source) -> bool:
    """Whether the first line with content is numbers."""
    try:
        return next(_rows(source), None) is not None
    except FormatError:
        return False


def read(source: Source) -> NDArray[Any]:
    """Read rows of numbers; blank lines and lines that start with # are skipped."""
    rows: list[list[Number]] = []
    for line, row in _rows(source):
        if rows and len(row) != len(rows[0]):
            raise source.error(line, f"{len(row)} entries; the rows before have {len(rows[0])}")
        rows.append(row)
    if not rows:
        raise source.error(None, "holds no entries")
    _refuse_names(source, rows)
    matrix = intake(rows)
    return np.array(matrix.entries.T if matrix.transposed else matrix.entries)


def _refuse_names(source: Source, rows: list[list[Number]]) -> None:
    """Refuse a matrix that is square but for a first line or column which counts from 0."""
    m, n = len(rows), len(rows[0])
    for what, more, names in (
        ("the first row", m - n, rows[0]),
        ("the first column", n - m, [row[0] for row in rows]),
    ):
        if more == 1 and len(names) >= _FEWEST_NAMES and names == list(range(len(names))):
            raise source.error(
                None,
                f"{what} counts from 0, as the names do that pandas writes; write the matrix without them "
                f"(index=False, header=False), or as .npy or .mtx if {what} is part of it",
            )


def _rows(source: Source) -> Iterator[tuple[int, list[Number]]]:
    """The numbers of each line that holds some, and its 1-based number."""
    for line, text in source.lines():
        if text and not text.startswith("#"):
            fields = text.split(next((mark for mark in ";," if mark in text), None))
            yield line, [_number(source, line, field.strip()) for field in fields]


def _number(source: Source, line: int, field: str) -> Number:
    if INTEGER.fullmatch(field):
        return int(field)
    if _FRACTION.fullmatch(field):
        numerator, denominator = field.split("/")
        if int(denominator) == 0:
            raise source.error(line, f"{shown(field)} divides by 0")
        return Fraction(int(numerator), int(denominator))
    if found := _IN_PARENTHESES.fullmatch(field):
        field = found[1] + (found[2] if found[2][0] in "+-" else f"+{found[2]}")
    if _COMPLEX.fullmatch(field) and np.isfinite(number := complex(field.replace("i", "j"))):
        return number
    return real(source, line, field)
