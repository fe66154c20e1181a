"""Lines and numbers of the text formats."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator

from hardscape.files import Source, shown

WHOLE = r"[+-]?[0-9]{1,4000}"
DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
INTEGER = re.compile(WHOLE)
_REAL = re.compile(DECIMAL)


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Lines with their 1-based numbers; latin-1 so that no comment is undecodable."""
    for number, line in enumerate(io.BytesIO(source.data), start=1):
        yield number, line.decode("latin-1").strip(" \t\r\n")


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
