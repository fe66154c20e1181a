"""MILC's formats: a header, then links in single precision, t, z, y, x, mu.

Version 5 is written and read, with a header of 96 bytes.

The header: magic 20103, extents x, y, z, t, 64 characters of a date, the order of sites (0: natural; 1, of a
checkpoint: as listed next, a 32-bit number x + Nx (y + Ny (z + Nz t)) a site), and two checksums: all 32-bit
words combined by exclusive or, word i rotated by i modulo 29 and 31. All of it in the byte order of the machine
that wrote, which the magic number tells.

Versions 1 to 4 are read: magic 59354, extents x, y, z, t, and two real numbers, without a checksum. Some
have 64-bit integers, whose first four bytes are zero.

Files of 1996 are read: magic 53546, extents x, y, z, t, the bytes of the header, the order of sites, the length
of a description and its 200 characters, the number of parameters, at most two, and these, real numbers. Links
begin after the header, or after a checksum of 4 bytes that is not used.

Files of Fermilab's header are read: magic 0x71626434, the time in seconds, 4 bytes a number, 72 numbers a site,
extents x, y, z, t, and the order of sites, without a checksum.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.files import Source
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    ByteOrder,
    Checksum,
    Content,
    in_precision,
    lattice_shape,
    native,
    numbers,
    whole_links,
)
from hardscape.gauge.formats.ildg import rotated_sums

_MAGIC = 20103
_ORDERS: dict[bytes, ByteOrder] = {
    _MAGIC.to_bytes(4, "big"): "big",
    _MAGIC.to_bytes(4, "little"): "little",
}
NAME = "milc"
SUFFIXES = (".milc",)
DESCRIPTION = "MILC versions 1 to 7, of 1996, and Fermilab's header, single, both endians"
_OLD: dict[bytes, ByteOrder] = {
    (59354).to_bytes(4, "big"): "big",
    (59354).to_bytes(4, "little"): "little",
}
#: The layouts of old headers, by the bytes of an integer.
_OLD_LAYOUTS = {4: "5i2f", 8: "5q2f"}
_1996: dict[bytes, ByteOrder] = {
    (53546).to_bytes(4, "big"): "big",
    (53546).to_bytes(4, "little"): "little",
}
_1996_LAYOUT = "8i200si"
_FERMILAB: dict[bytes, ByteOrder] = {b"qbd4": "big", b"4dbq": "little"}
_FERMILAB_LAYOUT = "9i"
MAGIC = (
    *_ORDERS,
    *_OLD,
    *_1996,
    *_FERMILAB,
    *((59354).to_bytes(8, order) for order in ("big", "little")),
)
_LAYOUT = "5i64si2I"
_SIZE = 96
_NATURAL_ORDER, _LISTED_ORDER = 0, 1


def read(source: Source) -> Content:
    """Read a file of either byte order; Nc follows from its size."""
    mark = source.bytes(0, 8)
    for integer in _OLD_LAYOUTS:
        magic = mark[:4] if integer == 4 or mark[:4] in _OLD else mark[4:]
        if magic in _OLD and (integer == 8) == (mark[:4] == bytes(4) or mark[4:] == bytes(4)):
            return _read_old(source, _OLD[magic], integer)
    if mark[:4] in _1996:
        return _read_1996(source, _1996[mark[:4]])
    if mark[:4] in _FERMILAB:
        return _read_fermilab(source, _FERMILAB[mark[:4]])
    head = source.bytes(0, _SIZE)
    if head[:4] not in _ORDERS:
        raise source.error(
            None,
            f"begins with {head[:4].hex()}; MILC's magic number, 20103, or 59354 or 53546 of old versions, "
            "is expected",
        )
    byteorder = _ORDERS[head[:4]]
    _, *extents, date, order, sum29, sum31 = struct.unpack(_prefix(byteorder) + _LAYOUT, head)
    ranks = None
    if order == _LISTED_ORDER:
        ranks = _ranks(source, extents, byteorder)
        sums = source.bytes(_SIZE - 8 + ranks.nbytes, 8)
        sum29, sum31 = struct.unpack(f"{_prefix(byteorder)}2I", sums)
    else:
        _require_natural(source, order)
    start = _SIZE + (0 if ranks is None else ranks.nbytes)
    stored = whole_links(source, start, extents, np.dtype(np.complex64).newbyteorder(byteorder))
    checksum = Checksum(f"{sum29:08x} {sum31:08x}", _sums(stored))
    sites = native(stored)
    if ranks is not None:
        sites[ranks] = sites.copy()
    links = sites.reshape(*extents[::-1], *stored.shape[1:])
    header = {
        "byteorder": byteorder,
        "date": date.split(b"\0")[0].decode("latin-1"),
    }
    return Content(links, header, checksum)


def _ranks(source: Source, extents: list[int], byteorder: ByteOrder) -> NDArray[Any]:
    """The numbers of the sites in their order in the file, each of them once."""
    volume = math.prod(lattice_shape(source, extents))
    ranks = numbers(source, _SIZE - 8, volume, np.dtype(np.int32).newbyteorder(byteorder))
    if not np.array_equal(np.sort(ranks), np.arange(volume)):
        raise source.error(None, "has a list of sites that does not name each of them once")
    return ranks


def _read_old(source: Source, byteorder: ByteOrder, integer: int) -> Content:
    """Read a file of versions 1 to 4."""
    header = struct.Struct(_prefix(byteorder) + _OLD_LAYOUTS[integer])
    _, x, y, z, t, c1, c2 = header.unpack(source.bytes(0, header.size))
    dtype = np.dtype(np.complex64).newbyteorder(byteorder)
    stored = whole_links(source, header.size, (x, y, z, t), dtype)
    links = native(stored).reshape(t, z, y, x, *stored.shape[1:])
    return Content(links, {"byteorder": byteorder, "c1": f"{c1:g}", "c2": f"{c2:g}"})


def _read_1996(source: Source, byteorder: ByteOrder) -> Content:
    """Read a file of 1996."""
    header = struct.Struct(_prefix(byteorder) + _1996_LAYOUT)
    fields = header.unpack(source.bytes(0, header.size))
    _, *extents, begin, order, length, description, count = fields
    _require_natural(source, order)
    if not (0 <= count <= 2 and begin >= header.size):
        raise source.error(
            None,
            f"says {count} parameters in a header of {begin} bytes; at most 2, and {header.size} bytes or "
            "more, are accepted",
        )
    parameters = struct.Struct(f"{_prefix(byteorder)}{count}f")
    told = parameters.unpack(source.bytes(header.size, parameters.size))
    dtype = np.dtype(np.complex64).newbyteorder(byteorder)
    unused = (len(source) - begin) % (4 * dtype.itemsize)
    stored = whole_links(source, begin + (unused if unused == 4 else 0), extents, dtype)
    links = native(stored).reshape(*extents[::-1], *stored.shape[1:])
    text = description[: max(0, length)].split(b"\0")[0].decode("latin-1")
    known = {"description": text, "parameters": " ".join(f"{value:g}" for value in told)}
    return Content(links, {"byteorder": byteorder, **known})


def _read_fermilab(source: Source, byteorder: ByteOrder) -> Content:
    """Read a file with the header that Fermilab's codes share among fields of all kinds."""
    header = struct.Struct(_prefix(byteorder) + _FERMILAB_LAYOUT)
    _, seconds, size, count, *extents, order = header.unpack(source.bytes(0, header.size))
    _require_natural(source, order)
    dtype = np.dtype(np.complex64).newbyteorder(byteorder)
    stored = whole_links(source, header.size, extents, dtype)
    whole = 2 * stored[0].size
    if (size, count) != (4, whole):
        raise source.error(
            None, f"says {count} numbers of {size} bytes a site; {whole} of 4 bytes are accepted"
        )
    links = native(stored).reshape(*extents[::-1], *stored.shape[1:])
    return Content(links, {"byteorder": byteorder, "time": str(seconds)})


def _require_natural(source: Source, order: int) -> None:
    if order != _NATURAL_ORDER:
        raise source.error(
            None,
            f"has its sites in order {order}; natural order (0) is accepted, in version 5 a listed one (1)",
        )


def _prefix(byteorder: ByteOrder) -> str:
    return ">" if byteorder == "big" else "<"


def _sums(stored: NDArray[Any]) -> str:
    words = stored.reshape(-1).view(f"{stored.dtype.str[0]}u4")
    return rotated_sums(words.astype(np.uint32))


def write(
    field: GaugeField,
    *,
    precision: Literal["single"] = "single",
    byteorder: ByteOrder = "big",
    header: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file, by default big-endian, without a date unless `header` has one."""
    field = in_precision(field, precision)
    stored = np.ascontiguousarray(field.links, field.dtype.newbyteorder(byteorder))
    sums = [int(text, 16) for text in _sums(stored).split()]
    date = header.get("date", "").encode("latin-1", "replace")[:63]
    yield struct.pack(
        _prefix(byteorder) + _LAYOUT, _MAGIC, *field.shape, date, _NATURAL_ORDER, *sums
    )
    yield stored
