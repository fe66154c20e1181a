"""CSV files: integers, fractions ``p/q``, decimal and complex numbers ``1-2j``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import FormatError
from hardscape.files import Source, shown
from hardscape.permanents.formats.text import DECIMAL, INTEGER, WHOLE, real, text_lines
from hardscape.permanents.matrix import Number, intake

NAME = "csv"
SUFFIXES = (".csv",)
DESCRIPTION = "CSV: integers, fractions 'p/q', decimal and complex numbers '1-2j'"
_FRACTION = re.compile(rf"{WHOLE}/[0-9]{{1,4000}}")
_COMPLEX = re.compile(rf"(?:{DECIMAL}(?=[+-]))?{DECIMAL}j")


def sniff(source: Source) -> bool:
    """Whether the first line with content is numbers between commas."""
    for line, text in text_lines(source):
        if text and not text.startswith("#"):
            try:
                return all(
                    _number(source, line, x.strip(" \t")) is not None for x in text.split(",")
                )
            except FormatError:
                return False
    return False


def read(source: Source) -> NDArray[Any]:
    """Read rows of numbers separated by commas; blank lines and lines that start with # are skipped."""
    rows: list[list[Number]] = []
    for line, text in text_lines(source):
        if not text or text.startswith("#"):
            continue
        row = [_number(source, line, field.strip(" \t")) for field in text.split(",")]
        if rows and len(row) != len(rows[0]):
            raise source.error(line, f"{len(row)} entries; the rows before have {len(rows[0])}")
        rows.append(row)
    if not rows:
        raise source.error(None, "holds no entries")
    matrix = intake(rows)
    return np.array(matrix.entries.T if matrix.transposed else matrix.entries)


def _number(source: Source, line: int, field: str) -> Number:
    if INTEGER.fullmatch(field):
        return int(field)
    if _FRACTION.fullmatch(field):
        numerator, denominator = field.split("/")
        if int(denominator) == 0:
            raise source.error(line, f"{shown(field)} divides by 0")
        return Fraction(int(numerator), int(denominator))
    if _COMPLEX.fullmatch(field) and np.isfinite(complex(field)):
        return complex(field)
    return real(source, line, field)
