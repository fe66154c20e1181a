"""cuLGT's own format: 16-bit numbers for dimensions (4), Nc, T, X, Y, Z and bytes of a number, then the links.

Everything is little-endian; sites run with z fastest and t slowest, the links of one in the order t, x, y, z.
cuLGT reads no second row of SU(2), and may have anything there: it then follows from the first one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    Content,
    Precision,
    complete_rows,
    in_precision,
    native,
    whole_links,
)

NAME = "vogt"
SUFFIXES = (".vogt",)
DESCRIPTION = "cuLGT's .vogt, single and double"

_HEADER = struct.Struct("<7h")
#: Distance from the group beyond rounding.
_AWAY = 1e-3
_LAYOUT = layouts.Layout.parse("t x y z mu[txyz] a b")


def sniff(source: Source) -> bool:
    """Whether header and size fit one another; there is no magic number."""
    if len(source) < _HEADER.size:
        return False
    dimensions, nc, *extents, size = _HEADER.unpack(source.bytes(0, _HEADER.size))
    if dimensions != 4 or size not in (4, 8) or nc < 2 or min(extents) < 2:
        return False
    return bool(len(source) - _HEADER.size == math.prod(extents) * 8 * nc * nc * size)


def read(source: Source) -> Content:
    """Read a file."""
    dimensions, nc, t, x, y, z, size = _HEADER.unpack(source.bytes(0, _HEADER.size))
    if dimensions != 4 or size not in (4, 8):
        raise source.error(
            None,
            f"says {dimensions} dimensions and {size} bytes a number; 4, and 4 or 8, are accepted",
        )
    stored = whole_links(source, _HEADER.size, (x, y, z, t), np.dtype(f"<c{2 * size}"), nc=nc)
    links = np.ascontiguousarray(_LAYOUT.view(native(stored), (x, y, z, t), nc))
    if nc == 2 and _first_rows_alone(links):
        note = "the second rows have nothing to do with the first ones and are left out"
        return Content(complete_rows(links[..., :1, :]), notes=(note,))
    return Content(links)


def _first_rows_alone(links: NDArray[Any]) -> bool:
    """Whether all first rows of SU(2) are of length 1, and most second ones do not follow from them."""
    first = links[..., :1, :]
    lengths = (first.real**2 + first.imag**2).sum(axis=(-1, -2))
    away = np.abs(complete_rows(first) - links).max(axis=(-1, -2)) > _AWAY
    return bool((np.abs(lengths - 1) < _AWAY).all() and away.mean() > 0.5)


def write(
    field: GaugeField,
    *,
    precision: Precision | None = None,
    byteorder: Literal["little"] = "little",
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file."""
    field = in_precision(field, precision)
    x, y, z, t = field.shape
    if max(field.shape) >= 2**15:
        raise InputError(f"extents {field.shape} cannot be written as vogt: at most {2**15 - 1}")
    yield _HEADER.pack(4, field.nc, t, x, y, z, field.dtype.itemsize // 2)
    stored = _LAYOUT.numbers(field.links)
    yield np.ascontiguousarray(stored, dtype=field.dtype.newbyteorder(byteorder))
