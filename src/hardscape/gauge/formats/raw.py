"""Links without a header: whatever is not said is found by trying.

Said, or left out, are the order of axes, the precision, the byte order, and the bytes before the links; the
extents must be said. Of what is left out every value that codes use is tried, with two to eight colours, whole
matrices and ones without their last row. What is right has matrices in the group, in an order in which the
plaquette stands out from that of shuffled links, which is what every other order makes of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    ByteOrder,
    Content,
    Precision,
    complete_rows,
    in_precision,
    numbers,
)
from hardscape.gauge.groups import COLOURS
from hardscape.gauge.intake import check_shape

NAME = "raw"
SUFFIXES: tuple[str, ...] = ()  # nothing but format="raw" asks for it
DESCRIPTION = "links without a header, in any order"

#: Most bytes of a header that nobody has told of.
_HEADER = 2**20
_ITEMSIZES: dict[Precision, int] = {"double": 16, "single": 8}
_ORDERS: tuple[ByteOrder, ...] = ("little", "big")


@dataclass(frozen=True, eq=False)
class _Found:
    """Numbers that the size of a file allows it to hold."""

    precision: Precision
    byteorder: ByteOrder
    nc: int
    rows: int
    start: int
    stored: NDArray[Any]

    @property
    def key(self) -> tuple[object, ...]:
        """All but the numbers."""
        return self.precision, self.byteorder, self.nc, self.rows, self.start

    def view(self, layout: layouts.Layout, extents: Sequence[int]) -> Any:
        """Links of shape (T, Z, Y, X, 4, rows, Nc) in this order."""
        return layout.view(self.stored, extents, self.nc, self.rows)


def read(
    source: Source,
    *,
    shape: Sequence[int] | None = None,
    layout: str | None = None,
    precision: Precision | None = None,
    byteorder: ByteOrder | None = None,
    skip: int | None = None,
) -> Content:
    """Read a file of extents X, Y, Z, T."""
    if shape is None:
        raise source.error(
            None, "has no header: shape=(X, Y, Z, T) (--shape X,Y,Z,T) says its extents"
        )
    extents = check_shape(shape)
    if skip is not None and (isinstance(skip, bool) or not 0 <= skip <= len(source)):
        raise InputError(f"skip={skip!r}; bytes before the links, 0 to {len(source)}, are accepted")
    fitting = list(_sizes(source, extents, precision, skip))
    exact = [
        x for x in fitting if x[3] + _bytes(extents, x[1], x[2], _ITEMSIZES[x[0]]) == len(source)
    ]
    if skip is not None:  # bytes after the links are taken for such where nothing else fits
        fitting = exact or fitting
    if not fitting:
        needed = ", ".join(
            f"{_bytes(extents, nc, nc, size)} (SU({nc}), {name})"
            for nc in COLOURS
            for name, size in _ITEMSIZES.items()
        )
        raise source.error(
            None,
            f"has {len(source)} bytes; links of extents {extents} need {needed}, or all rows of them but one",
        )
    orders = _ORDERS if byteorder is None else (byteorder,)
    given = None if layout is None else [layouts.Layout.parse(layout)]
    found = [
        _Found(name, order, nc, rows, start, numbers(source, start, count, dtype))
        for name, nc, rows, start in fitting
        for order in orders
        for dtype in [np.dtype(f"c{_ITEMSIZES[name]}").newbyteorder(order)]
        for count in [_bytes(extents, nc, rows, 1)]
    ]
    guessed = any(said is None for said in (layout, precision, byteorder, skip))
    return _content(source, extents, found, given, guessed)


def _bytes(extents: Sequence[int], nc: int, rows: int, itemsize: int) -> int:
    return len(extents) * math.prod(extents) * nc * rows * itemsize


def _sizes(
    source: Source, extents: Sequence[int], precision: Precision | None, skip: int | None
) -> Iterator[tuple[Precision, int, int, int]]:
    """Precision, Nc, rows and the byte where links begin, as far as the size allows."""
    for name, itemsize in _ITEMSIZES.items():
        for nc in COLOURS:
            for rows in (nc, nc - 1):
                left = len(source) - _bytes(extents, nc, rows, itemsize)
                if left < 0 or precision not in (None, name):
                    continue
                if skip is not None:
                    starts = {skip} if skip <= left else set()
                else:  # a header, a trailer, or both marks of a Fortran record
                    starts = {left, 0, left // 2} if left == 8 else {left, 0}
                yield from (
                    (name, nc, rows, start) for start in sorted(starts) if start <= _HEADER or skip
                )


def _content(
    source: Source,
    extents: tuple[int, ...],
    found: list[_Found],
    given: list[layouts.Layout] | None,
    guessed: bool,
) -> Content:
    """Of all that fits, the one with matrices in the group and the plaquette that stands out."""
    if given is not None:
        tried = [(given[0], one) for one in found]
        if len(tried) > 1:
            tried = [(x, one) for x, one in tried if layouts.orthonormal(one.view(x, extents))]
    else:
        every = list(layouts.plausible(extents))
        tried = [(x, one) for one in found for x in _near_the_group(one, extents, every)]
    if not tried:
        raise source.error(
            None,
            f"holds no matrices of SU(2) to SU({COLOURS[-1]}) in any precision, byte order and layout that "
            "fits its size; layout= (--layout), precision= (--precision), byteorder= (--byte-order) and skip= "
            "(--skip) say what it is",
        )
    enough = max(layouts.STANDS_OUT, *(layouts.noise(one.nc, extents) for _, one in tried))
    winner, highest, second = layouts.best([one.view(x, extents) for x, one in tried])
    if len(tried) > 1 and highest - second <= enough and given is None:
        known = {one.key for _, one in tried}
        tried += [(x, one) for one in found if one.key in known for x in _by_parity(extents)]
        winner, highest, second = layouts.best([one.view(x, extents) for x, one in tried])
    if len(tried) > 1 and highest - second <= enough:
        raise source.error(
            None,
            f"may be in one of {len(tried)} orders, and no plaquette stands out (the largest are {highest:.3g} "
            f"and {second:.3g}); layout= (--layout {layouts.ours(len(extents))!r}) says which",
        )
    layout, one = tried[winner]
    view = one.view(layout, extents)
    facts = {
        "layout": str(layout),
        "precision": one.precision,
        "byteorder": one.byteorder,
        "skip": str(one.start),
        "rows": str(one.rows),
    }
    told = f"read as SU({one.nc}), {', '.join(f'{key} {value}' for key, value in facts.items())}"
    notes = (told,) if guessed else ()
    links = np.ascontiguousarray(view, dtype=view.dtype.newbyteorder("="))
    return Content(complete_rows(links), facts, notes=notes)


def _by_parity(extents: Sequence[int]) -> list[layouts.Layout]:
    return (
        []
        if extents[0] % 2 or len(extents) != 4
        else [layouts.Layout.parse(text) for text in layouts.BY_PARITY]
    )


def _near_the_group(
    one: _Found, extents: Sequence[int], every: list[layouts.Layout]
) -> list[layouts.Layout]:
    """The layouts in which some matrices are in the group; where they lie together one look tells."""
    if not layouts.may_be_unitary(one.stored, one.nc):
        return []
    together = [x for x in every if set(x.axes[-2:]) == {"a", "b"}]
    apart = [x for x in every if set(x.axes[-2:]) != {"a", "b"}]
    if one.rows < one.nc:
        together = [x for x in together if x.axes[-1] == "b"]
    kept = together if layouts.orthonormal(one.view(together[0], extents)) else []
    return kept + [x for x in apart if layouts.orthonormal(one.view(x, extents))]


def write(
    field: GaugeField,
    *,
    layout: str | None = None,
    precision: Precision | None = None,
    byteorder: ByteOrder = "little",
) -> Iterator[bytes | NDArray[Any]]:
    """Write the links alone, by default in the order t, z, y, x, mu, row, column."""
    field = in_precision(field, precision, any_dimension=True)
    stored = layouts.Layout.parse(layout or layouts.ours(field.dimensions)).numbers(field.links)
    yield np.ascontiguousarray(stored, dtype=field.dtype.newbyteorder(byteorder))
