"""HiRep's format: big-endian Nc, T, X, Y, Z and the plaquette, then double links, z fastest.

The links of a site are in the order t, x, y, z; matrices are complete, also for SU(2).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.files import Source
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import Claim, Content, in_precision, whole_links

NAME = "hirep"
SUFFIXES = (".hirep",)
DESCRIPTION = "HiRep, double"

_HEADER = struct.Struct(">5id")
#: Where mu = x, y, z, t stand in the file's t, x, y, z, and the other way round.
_TO_OURS, _TO_FILE = [1, 2, 3, 0], [3, 0, 1, 2]
_NUMBERS = np.dtype(">c16")


def sniff(source: Source) -> bool:
    """Whether header and size make this format plausible; it has no magic number."""
    if len(source) < _HEADER.size:
        return False
    nc, *extents, _ = _HEADER.unpack(source.bytes(0, _HEADER.size))
    return nc in (2, 3) and all(2 <= extent <= 2**16 for extent in extents)


def read(source: Source) -> Content:
    """Read a file."""
    nc, t, x, y, z, plaquette = _HEADER.unpack(source.bytes(0, _HEADER.size))
    stored = whole_links(source, _HEADER.size, (x, y, z, t), _NUMBERS, nc=nc)
    sites = stored.reshape(t, x, y, z, 4, nc, nc)[..., _TO_OURS, :, :]
    links = np.ascontiguousarray(sites.transpose(0, 3, 2, 1, 4, 5, 6), dtype=np.complex128)
    return Content(links, plaquette=Claim.from_double(plaquette))


def write(
    field: GaugeField,
    *,
    precision: Literal["double"] = "double",
    byteorder: Literal["big"] = "big",
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file."""
    field = in_precision(field, precision)
    x, y, z, t = field.shape
    yield _HEADER.pack(field.nc, t, x, y, z, field.plaquette())
    sites = field.links.transpose(0, 3, 2, 1, 4, 5, 6)[..., _TO_FILE, :, :]
    yield np.ascontiguousarray(sites, dtype=_NUMBERS)
