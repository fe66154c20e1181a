"""The NERSC archive format: a text header, then links in the order t, z, y, x, mu, row, column.

``DATATYPE`` is ``4D_SU3_GAUGE_3x3``, or ``4D_SU3_GAUGE`` for two rows a matrix; with two colours
``4D_SU2_GAUGE_2x2`` and ``4D_SU2_GAUGE``. ``FLOATING_POINT`` names precision and byte order.
``CHECKSUM`` is the sum of all 32-bit words of the links modulo 2^32. ``PLAQUETTE`` and
``LINK_TRACE`` are Re tr / Nc, averaged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    PIECE,
    ByteOrder,
    Checksum,
    Claim,
    Content,
    Precision,
    complete_rows,
    in_precision,
    lattice_shape,
    native,
    numbers,
)

N = TypeVar("N")

NAME = "nersc"
SUFFIXES = (".nersc",)
DESCRIPTION = "the NERSC archive of Nc or Nc - 1 rows, single and double, both endians"
MAGIC = b"BEGIN_HEADER"
_END = re.compile(rb"^END_HEADER[ \t\r]*\n", re.MULTILINE)
_MAX_HEADER = 2**16
_DATATYPE = re.compile(r"4D_SU([0-9]+)_GAUGE(?:_([0-9]+)x([0-9]+))?")
_FLOATING = re.compile(r"IEEE(32|64)(BIG|LITTLE|SMALL|)")


def read(source: Source) -> Content:
    """Read a file."""
    header, start = _header(source)
    rows, nc = _matrix_shape(source, _entry(source, header, "DATATYPE"))
    itemsize, byteorder = _floating_point(source, _entry(source, header, "FLOATING_POINT"))
    x, y, z, t = lattice_shape(
        source, (_number(source, header, f"DIMENSION_{axis}", int) for axis in range(1, 5))
    )
    count = t * z * y * x * 4 * rows * nc
    stored = numbers(source, start, count, np.dtype(f"c{2 * itemsize}").newbyteorder(byteorder))
    if start + stored.nbytes != len(source):
        raise source.error(
            None, f"has {len(source) - start} bytes of links; its header says {stored.nbytes}"
        )
    claims = {
        name: _number(source, header, key, lambda text: Claim.from_text(text, itemsize))
        for name, key in (("plaquette", "PLAQUETTE"), ("link_trace", "LINK_TRACE"))
        if key in header
    }
    checksum = None
    if "CHECKSUM" in header:
        stated = _number(source, header, "CHECKSUM", lambda text: int(text, 16))
        checksum = Checksum(f"{stated:08x}", _checksum(stored))
    links = complete_rows(native(stored).reshape(t, z, y, x, 4, rows, nc))
    return Content(links, header, checksum, **claims)


def _header(source: Source) -> tuple[dict[str, str], int]:
    head = source.raw[:_MAX_HEADER]
    end = _END.search(head)
    if end is None:
        raise source.error(None, f"has no line END_HEADER in its first {len(head)} bytes")
    header: dict[str, str] = {}
    for line in head[: end.start()].decode("latin-1").splitlines()[1:]:
        key, equals, value = line.partition("=")
        if equals:
            header[key.strip()] = value.strip()
        elif line.strip():
            raise source.error(None, f"header line {line[:60]!r} is not KEY = VALUE")
    return header, end.end()


def _entry(source: Source, header: dict[str, str], key: str) -> str:
    if key not in header:
        raise source.error(None, f"the header has no {key}")
    return header[key]


def _number(source: Source, header: dict[str, str], key: str, kind: Callable[[str], N]) -> N:
    text = _entry(source, header, key)
    try:
        return kind(text)
    except ValueError:
        raise source.error(None, f"{key} = {text[:40]!r}, which is no number") from None


def _matrix_shape(source: Source, datatype: str) -> tuple[int, int]:
    found = _DATATYPE.fullmatch(datatype)
    if found is not None and int(found[1]) in (2, 3):
        nc = int(found[1])
        if found[2] is None:
            return nc - 1, nc
        if int(found[3]) == nc and int(found[2]) in (nc, nc - 1):
            return int(found[2]), nc
    raise source.error(
        None,
        f"DATATYPE = {datatype[:40]!r}; 4D_SU3_GAUGE, 4D_SU3_GAUGE_3x3, 4D_SU2_GAUGE and "
        "4D_SU2_GAUGE_2x2 are accepted",
    )


def _floating_point(source: Source, text: str) -> tuple[int, ByteOrder]:
    found = _FLOATING.fullmatch(text)
    if found is None:
        raise source.error(
            None,
            f"FLOATING_POINT = {text[:40]!r}; IEEE32 and IEEE64 with BIG or LITTLE are accepted",
        )
    return int(found[1]) // 8, "big" if found[2] in ("BIG", "") else "little"


def _checksum(stored: NDArray[Any]) -> str:
    words = stored.view(stored.dtype.byteorder.replace("=", "<").replace("|", "<") + "u4")
    sums = (np.sum(words[i : i + PIECE], dtype=np.uint64) for i in range(0, len(words), PIECE))
    return f"{sum(map(int, sums)) & 0xFFFFFFFF:08x}"


def write(
    field: GaugeField,
    *,
    precision: Precision | None = None,
    byteorder: ByteOrder = "big",
    rows: int | None = None,
    checksum: bool = True,
    header: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file: by default all rows, big-endian, in the links' precision.

    Entries of `header` that do not follow from the links are carried along in their places;
    of those that do, the text is kept where it is right.
    """
    nc = field.nc
    if rows not in (None, nc - 1, nc):
        raise InputError(f"rows={rows!r}; {nc - 1} and {nc} are accepted for SU({nc})")
    rows = rows or nc
    field = in_precision(field, precision)
    itemsize = field.dtype.itemsize // 2
    stored = np.ascontiguousarray(
        field.links[..., :rows, :], dtype=field.dtype.newbyteorder(byteorder)
    )
    claims = {"LINK_TRACE": field.link_trace(), "PLAQUETTE": field.plaquette()}
    entries = {
        "DATATYPE": f"4D_SU{nc}_GAUGE" + (f"_{nc}x{nc}" if rows == nc else ""),
        **{f"DIMENSION_{i}": str(extent) for i, extent in enumerate(field.shape, start=1)},
        **({"CHECKSUM": _checksum(stored.reshape(-1))} if checksum else {}),
        **{key: f"{value:.12g}" for key, value in claims.items()},
        **{f"BOUNDARY_{i}": "PERIODIC" for i in range(1, 5)},
        "FLOATING_POINT": f"IEEE{8 * itemsize}{byteorder.upper()}",
    }
    merged = _merge(dict(header), entries, claims, itemsize)
    lines = [MAGIC.decode(), *(f"{key} = {value}" for key, value in merged.items()), "END_HEADER"]
    yield ("\n".join(lines) + "\n").encode("latin-1", "replace")
    yield stored


def _merge(
    given: dict[str, str], entries: dict[str, str], claims: dict[str, float], itemsize: int
) -> dict[str, str]:
    """The given header with what follows from the links put right."""
    if "CHECKSUM" not in entries:
        given.pop("CHECKSUM", None)
    if not given:
        return entries
    merged = dict(given)
    for key, value in entries.items():
        old = given.get(key)
        if key.startswith("BOUNDARY") or (key == "FLOATING_POINT" and old == f"{value[:6]}"):
            continue
        if key in claims and old is not None:
            kept = Claim.from_text(old, itemsize).holds(claims[key])
            merged[key] = old if kept else value
        elif key == "CHECKSUM" and old is not None and int(old, 16) == int(value, 16):
            continue
        else:
            merged[key] = value
    return merged
