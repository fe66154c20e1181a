"""Lines ``row column value`` without a header, by say-so only: ``format="coo"`` or a name in ``.coo``.

A value is an integer, a decimal number, or two of them, real and imaginary part; without any it is 1. A
first line of three integers, the last of them the number of lines that follow, gives rows and columns; else
the largest index gives both. Indices count from `base`; by default from 0 if some index is 0, else from 1.
SUperman's example matrices are such files.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.files import Source
from hardscape.permanents.formats.text import INTEGER, integer, real
from hardscape.permanents.matrix import MAX_SIDE, Number

NAME = "coo"
SUFFIXES = (".coo",)
DESCRIPTION = "lines 'row column value' without a header, only where the name or format= says so"
MEMORY = 3
#: Fields of a line: two indices, and up to two parts of a value.
_FEWEST, _MOST = 2, 4


def read(source: Source, *, base: Literal[0, 1] | None = None) -> NDArray[Any]:
    """Read entries; an entry given twice is an error."""
    rows = [
        (line, text.replace(",", " ").split())
        for line, text in source.lines()
        if text and text[0] not in "#%"
    ]
    sizes = None
    if _announces(rows):
        line, fields = rows.pop(0)
        sizes = [integer(source, line, field, "size") for field in fields[:2]]
    for line, fields in rows:
        if not _FEWEST <= len(fields) <= _MOST or len(fields) != len(rows[0][1]):
            raise source.error(line, f"{len(fields)} fields; each entry has the same 2, 3 or 4")
    places = [
        [integer(source, line, field, "index") for field in fields[:2]] for line, fields in rows
    ]
    if not places and sizes is None:
        raise source.error(None, "holds no entries")
    if base is None:
        base = 0 if any(0 in place for place in places) else 1
    m, n = sizes or [max(max(place) for place in places) + 1 - base] * 2
    if not (0 <= m <= MAX_SIDE and 0 <= n <= MAX_SIDE):
        raise source.error(None, f"shape ({m}, {n}); at most {MAX_SIDE} a side")
    whole = all(INTEGER.fullmatch(field) for _, fields in rows for field in fields[2:])
    parts = len(rows[0][1]) - 2 if rows else 0
    kind = {2: np.complex128}.get(parts, object if whole else np.float64)
    found = np.zeros((m, n), dtype=kind)
    seen: set[tuple[int, int]] = set()
    for (line, fields), (i, j) in zip(rows, places, strict=True):
        place = i - base, j - base
        if not (0 <= place[0] < m and 0 <= place[1] < n):
            raise source.error(line, f"entry ({i}, {j}) is outside of shape ({m}, {n})")
        if place in seen:
            raise source.error(line, f"entry ({i}, {j}) was given already")
        seen.add(place)
        found[place] = _value(source, line, fields[2:], whole)
    return found


def _announces(rows: list[tuple[int, list[str]]]) -> bool:
    """Whether the first line gives the sizes, and how many lines follow."""
    fields = rows[0][1] if rows else []
    if len(fields) != 3 or not all(INTEGER.fullmatch(field) for field in fields):
        return False
    return int(fields[2]) == len(rows) - 1


def _value(source: Source, line: int, fields: list[str], whole: bool) -> Number:
    if not fields:
        return 1
    if len(fields) == 1 and whole:
        return int(fields[0])
    numbers = [real(source, line, field) for field in fields]
    return numbers[0] if len(numbers) == 1 else complex(*numbers)
