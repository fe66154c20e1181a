"""The BMW collaboration's format: a header of 4096 characters, then two rows a matrix in big-endian doubles.

The header begins with ``#BMW X Y Z T CHECKSUM``; the rest of it is free. Sites run with x fastest, the links of
one in the order x, y, z, t. The checksum is Adler's of the 32-bit words d_0, d_1, ..., d_(n-1) of the links,
A = 1 + sum d_i and B = n + sum (n - i) d_i modulo 2^32 - 5, printed as one hexadecimal number B 2^32 + A.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.files import Source, shown
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    Checksum,
    Content,
    complete_rows,
    in_precision,
    lattice_shape,
    native,
    numbers,
)

NAME = "bmw"
SUFFIXES = (".bmw",)
DESCRIPTION = "BMW, two rows, double"
MAGIC = b"#BMW"

_SIZE = 4096
_PRIME = 2**32 - 5
#: Words that are summed at once.
_PIECE = 2**22
_NC = 3
_FIRST = re.compile(
    rb"#BMW\s+([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s+(\S{1,31})"
)
_HEXADECIMAL = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")


def read(source: Source) -> Content:
    """Read a file."""
    head = source.bytes(0, _SIZE)
    found = _FIRST.match(head)
    if found is None:
        raise source.error(None, "does not begin with '#BMW X Y Z T CHECKSUM'")
    x, y, z, t = lattice_shape(source, map(int, found.groups()[:4]))
    count = x * y * z * t * 4 * (_NC - 1) * _NC
    stored = numbers(source, _SIZE, count, np.dtype(">c16"))
    if _SIZE + stored.nbytes != len(source):
        raise source.error(
            None, f"has {len(source) - _SIZE} bytes of links; its header says {stored.nbytes}"
        )
    stated = found[5].decode("latin-1")
    form = f"{int(stated, 16):016x}" if _HEXADECIMAL.fullmatch(stated) else shown(stated)
    text = head[found.end() :].decode("latin-1").strip()
    links = complete_rows(native(stored).reshape(t, z, y, x, 4, _NC - 1, _NC))
    return Content(links, {"text": text} if text else {}, Checksum(form, _checksum(stored)))


def _checksum(stored: NDArray[Any]) -> str:
    words = stored.reshape(-1).view(">u4")
    a, b, n = 1, len(words), len(words)
    for start in range(0, n, _PIECE):
        piece = words[start : start + _PIECE].astype(np.uint64)
        left = np.arange(n - start, n - start - len(piece), -1, dtype=np.uint64)
        a += int(piece.sum())
        b += int((left * piece % np.uint64(_PRIME)).sum())
    return f"{(b % _PRIME << 32) + a % _PRIME:016x}"


def write(
    field: GaugeField,
    *,
    precision: Literal["double"] = "double",
    byteorder: Literal["big"] = "big",
    header: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file of three colours."""
    if field.nc != _NC:
        raise InputError(f"SU({field.nc}) cannot be written as bmw: it holds SU(3)")
    field = in_precision(field, precision)
    stored = np.ascontiguousarray(field.links[..., : _NC - 1, :], dtype=">c16")
    extents = " ".join(map(str, field.shape))
    text = f"#BMW {extents} {int(_checksum(stored), 16):x}\n{header.get('text', '')}\n"
    yield text.encode("latin-1", "replace")[:_SIZE].ljust(_SIZE, b"\n")
    yield stored
