"""openQCD's format: little-endian extents T, X, Y, Z and Nc times the plaquette, then double links.

Sites of odd t + x + y + z follow with z fastest and t slowest. Each has eight links: for t, x, y, z in
turn the one that starts here and the one that ends here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import Claim, Content, in_precision, whole_links

NAME = "openqcd"
SUFFIXES = (".openqcd",)
DESCRIPTION = "openQCD, double, even extents"

_HEADER = struct.Struct("<4id")
#: mu = t, x, y, z in the order x, y, z, t.
_DIRECTIONS = (3, 0, 1, 2)
_NUMBERS = np.dtype("<c16")


def sniff(source: Source) -> bool:
    """Whether extents and size make this format plausible; it has no magic number."""
    if len(source) < _HEADER.size:
        return False
    *extents, _ = _HEADER.unpack(source.bytes(0, _HEADER.size))
    if min(extents) < 2 or max(extents) > 2**16:
        return False
    volume = int(np.prod(extents, dtype=object))
    return len(source) - _HEADER.size in [volume * 64 * nc * nc for nc in (2, 3)]


def read(source: Source) -> Content:
    """Read a file; Nc follows from its size."""
    t, x, y, z, plaquette = _HEADER.unpack(source.bytes(0, _HEADER.size))
    stored = whole_links(source, _HEADER.size, (x, y, z, t), _NUMBERS)
    if any(extent % 2 for extent in (t, x, y, z)):
        raise source.error(
            None, f"has extents x, y, z, t = {x}, {y}, {z}, {t}; even ones are accepted"
        )
    nc = stored.shape[-1]
    stored = stored.reshape(-1, 8, nc, nc)
    links = np.empty((t, z, y, x, 4, nc, nc), dtype=np.complex128)
    sites = links.transpose(0, 3, 2, 1, 4, 5, 6)
    odd = _odd_sites((t, x, y, z))
    ending = np.empty((t, x, y, z, nc, nc), dtype=np.complex128)
    for axis, mu in enumerate(_DIRECTIONS):
        ending[odd] = stored[:, 2 * axis + 1]
        # What ends on an odd site starts on its even neighbour behind.
        sites[..., mu, :, :] = np.roll(ending, -1, axis=axis)
        sites[odd, mu] = stored[:, 2 * axis]
    return Content(links, plaquette=Claim.from_double(plaquette / nc))


def _odd_sites(extents: tuple[int, int, int, int]) -> NDArray[np.bool_]:
    return np.asarray(np.indices(extents, sparse=False).sum(axis=0) % 2 == 1)


def write(
    field: GaugeField,
    *,
    precision: Literal["double"] = "double",
    byteorder: Literal["little"] = "little",
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file of even extents."""
    field = in_precision(field, precision)
    x, y, z, t = field.shape
    if any(extent % 2 for extent in field.shape):
        raise InputError(f"extents {field.shape} cannot be written as openQCD: it needs even ones")
    yield _HEADER.pack(t, x, y, z, field.nc * field.plaquette())
    sites = field.links.transpose(0, 3, 2, 1, 4, 5, 6)
    odd = _odd_sites((t, x, y, z))
    stored = np.empty((field.volume // 2, 8, field.nc, field.nc), dtype=_NUMBERS)
    for axis, mu in enumerate(_DIRECTIONS):
        stored[:, 2 * axis] = sites[odd, mu]
        stored[:, 2 * axis + 1] = np.roll(sites[..., mu, :, :], 1, axis=axis)[odd]
    yield stored
