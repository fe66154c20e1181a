"""Rows of numbers: integers, fractions ``p/q``, decimal and complex ``1-2j``, between commas or blanks.

That is CSV, and what ``numpy.savetxt`` writes: complex numbers may stand in parentheses, as ``(1+-2j)`` too.
Those of MATLAB and R, ``1-2i``, are read as well, and semicolons for commas, as many spreadsheets write them.
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
    matrix = intake(rows)
    return np.array(matrix.entries.T if matrix.transposed else matrix.entries)


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
