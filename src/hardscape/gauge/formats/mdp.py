"""FermiQCD's .mdp: a header of text and integers, then the links with z fastest and t slowest.

The header: 60 characters each for the kind, the program and a date, 0x87654321 in the byte order of all
numbers, the number of dimensions, ten extents (t, x, y, z, and zeros), bytes a site, and sites. The last
two have 32 or 64 bits, after the machine and version that wrote. The links of a site are in the order
t, x, y, z, in other dimensions t, x; t, x, y; t, x, y, z, w.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.files import Source
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    ByteOrder,
    Content,
    Precision,
    in_precision,
    native,
    whole_links,
)
from hardscape.gauge.groups import COLOURS

NAME = "mdp"
SUFFIXES = (".mdp",)
DESCRIPTION = "FermiQCD's .mdp, single and double, both endians"
MAGIC = b"File Type: MDP"

_ENDIAN = 0x87654321
_ORDERS: dict[bytes, ByteOrder] = {
    _ENDIAN.to_bytes(4, "big"): "big",
    _ENDIAN.to_bytes(4, "little"): "little",
}
_FIXED = "60s60s60sIi10i"
#: Bytes a site, and sites.
_TAILS = ("ii", "4xqq", "iq")


def _layout(dimensions: int) -> layouts.Layout:
    order = "t" + layouts.NAMES[dimensions][:-1]
    return layouts.Layout.parse(f"{' '.join(order)} mu[{order}] a b")


def read(source: Source) -> Content:
    """Read a file of either byte order; bytes a site tell Nc and the precision."""
    mark = source.bytes(180, 4)
    if mark not in _ORDERS:
        raise source.error(None, f"has {mark.hex()} where 87654321 tells the byte order")
    prefix = ">" if _ORDERS[mark] == "big" else "<"
    for tail in _TAILS:
        header = struct.Struct(prefix + _FIXED + tail)
        if header.size > len(source):
            continue
        _, program, date, _, dimensions, *box, a_site, sites = header.unpack(
            source.bytes(0, header.size)
        )
        if (
            sites == math.prod(box[: max(dimensions, 0)])
            and sites * a_site == len(source) - header.size
        ):
            break
    else:
        raise source.error(
            None, "has no header of sites and bytes a site that its size fits: it is truncated"
        )
    kinds = {2 * dimensions * nc * nc * size: (nc, size) for nc in COLOURS for size in (4, 8)}
    if dimensions not in layouts.NAMES or a_site not in kinds:
        raise source.error(
            None,
            f"says {dimensions} dimensions and {a_site} bytes a site; 2 to 5, and "
            f"{', '.join(map(str, kinds))}, are accepted",
        )
    nc, size = kinds[a_site]
    t, *space = box[:dimensions]
    extents = (*space, t)
    dtype = np.dtype(f"{prefix}c{2 * size}")
    stored = whole_links(source, header.size, extents, dtype, nc=nc)
    links = np.ascontiguousarray(_layout(dimensions).view(native(stored), extents, nc))
    texts = {"program": program, "date": date}
    return Content(
        links,
        {key: value.split(b"\0")[0].decode("latin-1").strip() for key, value in texts.items()}
        | {"byteorder": _ORDERS[mark]},
    )


def write(
    field: GaugeField,
    *,
    precision: Precision | None = None,
    byteorder: ByteOrder = "little",
    header: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file, without program and date unless `header` has them."""
    field = in_precision(field, precision, any_dimension=True)
    prefix = ">" if byteorder == "big" else "<"
    *space, t = field.shape
    program, date = (
        header.get(key, "").encode("latin-1", "replace")[:59] for key in ("program", "date")
    )
    a_site = field.dimensions * field.nc**2 * field.dtype.itemsize
    box = (t, *space, *((10 - field.dimensions) * [0]))
    head = (
        MAGIC + b" FIELD\n",
        program,
        date,
        _ENDIAN,
        field.dimensions,
        *box,
        a_site,
        field.volume,
    )
    yield struct.pack(prefix + _FIXED + _TAILS[0], *head)
    stored = _layout(field.dimensions).numbers(field.links)
    yield np.ascontiguousarray(stored, dtype=field.dtype.newbyteorder(byteorder))
