"""Lines and numbers of the text formats."""

from __future__ import annotations

import math
import re

from hardscape.files import Source, shown

WHOLE = r"[+-]?[0-9]{1,4000}"
DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
INTEGER = re.compile(WHOLE)
_REAL = re.compile(DECIMAL)


def real(source: Source, line: int, field: str) -> float:
    """A finite decimal number."""
    value = float(field) if _REAL.fullmatch(field) else math.nan
    if not math.isfinite(value):
        raise source.error(line, f"{shown(field)} is not a finite decimal number")
    return value


def integer(source: Source, line: int, field: str, what: str = "entry") -> int:
    """An integer of any size that Python reads."""
    if not INTEGER.fullmatch(field):
        raise source.error(line, f"{what} {shown(field)} is not an integer of at most 4000 digits")
    return int(field)
