"""DDalphaAMG's format: extents T, Z, Y, X and Nc times the plaquette, then double links, x fastest.

The links of a site are in the order t, z, y, x. Header and size are those of an openQCD file; the plaquette
tells which it is. Little-endian; files of a build for big-endian ones are read too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import FormatError, InputError
from hardscape.files import Source
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    ByteOrder,
    Claim,
    Content,
    in_precision,
    native,
    whole_links,
)

NAME = "ddalphaamg"
SUFFIXES = (".ddalphaamg",)
DESCRIPTION = "DDalphaAMG, double"

_HEADER = "4id"
_SIZE = struct.calcsize(f"<{_HEADER}")
_LAYOUT = layouts.Layout.parse("t z y x mu[tzyx] a b")


def sniff(source: Source) -> bool:
    """Whether the links, read so, have the plaquette that the header states."""
    if len(source) <= _SIZE:
        return False
    try:
        stored, shape, plaquette = _stored(source)
    except FormatError:
        return False
    view = _LAYOUT.view(stored, shape, stored.shape[-1])
    if not layouts.orthonormal(view):
        return False
    stated = Claim.from_double(plaquette / stored.shape[-1])
    if abs(layouts.sampled(view) - stated.value) > layouts.STANDS_OUT:
        return False
    try:  # of links at infinite temperature some sites tell nothing
        return stated.holds(GaugeField(np.ascontiguousarray(view), layout=layouts.OURS).plaquette())
    except InputError:
        return False


def _stored(source: Source) -> tuple[NDArray[Any], tuple[int, int, int, int], float]:
    """The numbers of a file, X, Y, Z, T, and what the header states."""
    head = source.bytes(0, _SIZE)
    prefix = "<" if 2 <= struct.unpack("<i", head[:4])[0] <= 2**16 else ">"
    t, z, y, x, plaquette = struct.unpack(prefix + _HEADER, head)
    stored = whole_links(source, _SIZE, (x, y, z, t), np.dtype(f"{prefix}c16"))
    return stored, (x, y, z, t), plaquette


def read(source: Source) -> Content:
    """Read a file of either byte order; Nc follows from its size."""
    stored, shape, plaquette = _stored(source)
    nc = stored.shape[-1]
    links = np.ascontiguousarray(_LAYOUT.view(native(stored), shape, nc))
    return Content(links, plaquette=Claim.from_double(plaquette / nc))


def write(
    field: GaugeField,
    *,
    precision: Literal["double"] = "double",
    byteorder: ByteOrder = "little",
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file."""
    field = in_precision(field, precision)
    x, y, z, t = field.shape
    prefix = "<" if byteorder == "little" else ">"
    yield struct.pack(prefix + _HEADER, t, z, y, x, field.nc * field.plaquette())
    yield np.ascontiguousarray(_LAYOUT.numbers(field.links), dtype=f"{prefix}c16")
