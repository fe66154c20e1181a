"""MatrixMarket files, read to the letter (R. F. Boisvert, R. Pozo and K. A. Remington, NISTIR 5935, 1996).

Layouts are coordinate and array, fields real, integer, complex and pattern, symmetries general, symmetric,
skew-symmetric and hermitian. Indices count from 1, entries of symmetric matrices are given for the lower
triangle only, one entry a line. An entry given twice is an error. Integers are exact at any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.files import Source, shown
from hardscape.permanents.formats.text import integer, real
from hardscape.permanents.matrix import MAX_SIDE, Number

NAME = "mtx"
SUFFIXES = (".mtx",)
DESCRIPTION = "MatrixMarket: coordinates or array, of any field and symmetry"
MEMORY = 3
_HEADER = "%%matrixmarket"
#: Values on a line of each field.
_WIDTH = {"real": 1, "integer": 1, "complex": 2, "pattern": 0}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def sniff(source: Source) -> bool:
    """Whether it begins with the header, in upper or lower case."""
    return source.raw[: len(_HEADER)].lower() == _HEADER.encode()


@dataclass(frozen=True)
class _Market:
    """The words of a MatrixMarket header."""

    layout: str
    field: str
    symmetry: str

    def value(self, source: Source, line: int, fields: list[str]) -> Number:
        """The number that the fields of one entry stand for."""
        if self.field == "pattern":
            return 1
        if self.field == "integer":
            return integer(source, line, fields[0])
        parts = [real(source, line, field) for field in fields]
        return parts[0] if self.field == "real" else complex(*parts)

    def mirrored(self, value: Any) -> Any:
        """The entry (j, i) that the entry (i, j) of value `value` implies."""
        if self.symmetry == "skew-symmetric":
            return -value
        return value.conjugate() if self.symmetry == "hermitian" else value

    def empty(self, m: int, n: int) -> NDArray[Any]:
        dtype = {"real": np.float64, "complex": np.complex128}.get(self.field, object)
        return np.zeros((m, n), dtype=dtype)


def read(source: Source) -> NDArray[Any]:
    """Read a matrix of any layout, field and symmetry."""
    lines = source.lines()
    market = _market_header(source, next(lines)[1])
    rows = ((k, text.split()) for k, text in lines if text and not text.startswith("%"))
    line, sizes = next(rows, (None, []))
    wanted = 3 if market.layout == "coordinate" else 2
    if len(sizes) != wanted or line is None:
        raise source.error(
            line, f"a size line of {wanted} integers is needed, and has {len(sizes)}"
        )
    m, n, *count = (integer(source, line, size, "size") for size in sizes)
    if not (0 <= m <= MAX_SIDE and 0 <= n <= MAX_SIDE):
        raise source.error(
            line, f"shape ({sizes[0]:.20}, {sizes[1]:.20}); at most {MAX_SIDE} a side"
        )
    if market.symmetry != "general" and m != n:
        raise source.error(line, f"shape ({m}, {n}); a {market.symmetry} matrix is square")
    if count:
        _fill_coordinates(source, market, rows, result := market.empty(m, n), count[0])
    else:
        _fill_array(source, market, rows, result := market.empty(m, n))
    return result


def _market_header(source: Source, text: str) -> _Market:
    words = text.lower().split()
    if len(words) != 5 or words[:2] != [_HEADER, "matrix"]:
        raise source.error(1, "the header '%%MatrixMarket matrix LAYOUT FIELD SYMMETRY' is needed")
    layout, field, symmetry = words[2:]
    for word, accepted in (
        (layout, ("coordinate", "array")),
        (field, tuple(_WIDTH)),
        (symmetry, _SYMMETRIES),
    ):
        if word not in accepted:
            raise source.error(1, f"header word {shown(word)}; accepted: {', '.join(accepted)}")
    if field == "pattern" and (layout == "array" or symmetry == "skew-symmetric"):
        raise source.error(1, f"a pattern matrix cannot be {layout} and {symmetry}")
    if symmetry == "hermitian" and field != "complex":
        raise source.error(1, f"a hermitian matrix is complex, not {field}")
    return _Market(layout, field, symmetry)


def _place(
    source: Source, market: _Market, line: int, at: tuple[int, int], value: Any, out: NDArray[Any]
) -> None:
    """Set an entry and the one that the symmetry implies; indices count from 0."""
    i, j = at
    if i == j and market.symmetry == "hermitian" and value.imag != 0:
        raise source.error(line, f"diagonal entry {value} of a hermitian matrix is not real")
    out[i, j] = value
    if market.symmetry != "general" and i != j:
        out[j, i] = market.mirrored(value)


def _fill_coordinates(
    source: Source,
    market: _Market,
    rows: Iterator[tuple[int, list[str]]],
    out: NDArray[Any],
    count: int,
) -> None:
    given: dict[tuple[int, int], int] = {}
    width = 2 + _WIDTH[market.field]
    for line, fields in rows:
        if len(fields) != width:
            raise source.error(line, f"{len(fields)} fields; an entry has {width}")
        i, j = (integer(source, line, field, "index") for field in fields[:2])
        if not (1 <= i <= out.shape[0] and 1 <= j <= out.shape[1]):
            raise source.error(
                line, f"entry ({fields[0]:.20}, {fields[1]:.20}) is outside of shape {out.shape}"
            )
        first = 1 if market.symmetry == "skew-symmetric" else 0
        if market.symmetry != "general" and i < j + first:
            raise source.error(
                line, f"entry ({i}, {j}) is not in the triangle that {market.symmetry} files give"
            )
        if (i, j) in given:
            raise source.error(line, f"entry ({i}, {j}) was given in line {given[i, j]} already")
        given[i, j] = line
        value = market.value(source, line, fields[2:])
        _place(source, market, line, (i - 1, j - 1), value, out)
    if len(given) != count:
        raise source.error(None, f"holds {len(given)} entries, and its size line announces others")


def _fill_array(
    source: Source, market: _Market, rows: Iterator[tuple[int, list[str]]], out: NDArray[Any]
) -> None:
    m, n = out.shape
    diagonal, below = market.symmetry != "general", market.symmetry == "skew-symmetric"
    for j in range(n):
        for i in range(j * diagonal + below, m):
            line, fields = next(rows, (None, []))
            if line is None:
                raise source.error(None, f"ends before entry ({i + 1}, {j + 1})")
            if len(fields) != _WIDTH[market.field]:
                raise source.error(
                    line, f"{len(fields)} fields; an entry has {_WIDTH[market.field]}"
                )
            _place(source, market, line, (i, j), market.value(source, line, fields), out)
    for line, _ in rows:
        raise source.error(line, "more entries than the size line announces")
