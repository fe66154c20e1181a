"""LIME, the container of ILDG and SciDAC files: typed records, each with a header of 144 bytes.

A header is big-endian: magic 0x456789ab, version 1, two flags (first and last record of a message),
the length, and the type in 128 bytes. Data are padded to 8 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hardscape.files import Source

_HEADER = struct.Struct(">IHHQ128s")
_MAGIC = 0x456789AB
MAGIC = _MAGIC.to_bytes(4, "big")
_FIRST, _LAST = 0x8000, 0x4000


@dataclass(frozen=True)
class Record:
    """Type, place and length of one record."""

    kind: str
    start: int
    length: int

    def text(self, source: Source) -> str:
        """The record as text, without the null characters that some writers append."""
        data = source.bytes(self.start, self.length)
        return data.decode("utf-8", "replace").rstrip("\0")


def records(source: Source) -> list[Record]:
    """List the records of a file."""
    found, position = [], 0
    while position < len(source):
        header = source.bytes(position, _HEADER.size)
        magic, version, _, length, kind = _HEADER.unpack(header)
        if magic != _MAGIC or version != 1:
            raise source.error(
                None, f"has no LIME record at byte {position}: it is damaged or truncated"
            )
        name = kind.split(b"\0")[0].decode("latin-1")
        start = position + _HEADER.size
        if start + length > len(source):
            raise source.error(
                None,
                f"is truncated: {len(source) - start} of {length} bytes of record {name!r} are there",
            )
        found.append(Record(name, start, length))
        # The last record's padding may be missing.
        position = start + -(-length // 8) * 8
    return found


def render_message(
    parts: Mapping[str, bytes | NDArray[Any]],
) -> Iterator[bytes | NDArray[Any]]:
    """Write records as one message."""
    for position, (kind, data) in enumerate(parts.items()):
        length = len(data) if isinstance(data, bytes) else data.nbytes
        flags = _FIRST * (position == 0) | _LAST * (position == len(parts) - 1)
        yield _HEADER.pack(_MAGIC, 1, flags, length, kind.encode())
        yield data
        yield bytes(-length % 8)
