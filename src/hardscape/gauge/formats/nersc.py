"""The NERSC archive format: a text header, then links in the order t, z, y, x, mu, row, column.

``DATATYPE`` is ``4D_SU3_GAUGE_3x3``, or ``4D_SU3_GAUGE`` for two rows a matrix; with N colours
``4D_SUN_GAUGE_NxN`` and ``4D_SUN_GAUGE``. ``FLOATING_POINT`` names precision and byte order.
``CHECKSUM`` is the sum of all 32-bit words of the links modulo 2^32. ``PLAQUETTE`` and
``LINK_TRACE`` are Re tr / Nc, averaged.

What codes do beside that: ``IEEE64`` without a byte order is tried in both; a ``0`` for checksum, plaquette or
trace may stand for none; bytes may follow the links; lines of the header may be comments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.files import Source, shown
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    ByteOrder,
    Checksum,
    Claim,
    Content,
    Precision,
    Sums,
    complete_rows,
    hexadecimal,
    in_precision,
    lattice_shape,
    numbers,
    summed,
)
from hardscape.gauge.groups import COLOURS

N = TypeVar("N")

NAME = "nersc"
SUFFIXES = (".nersc",)
DESCRIPTION = "the NERSC archive of Nc or Nc - 1 rows, single and double, both endians"
MAGIC = b"BEGIN_HEADER"
_END = re.compile(rb"^END_HEADER[ \t\r]*\n", re.MULTILINE)
_KEY = re.compile(r"\s*[A-Z][A-Z0-9_]+\b")
_MAX_HEADER = 2**16
#: Most bytes after the links that are no part of them.
_AFTER = 64
_DATATYPE = re.compile(r"4D_SU([0-9]+)_GAUGE(?:_([0-9]+)x([0-9]+))?", re.IGNORECASE)
_FLOATING = re.compile(r"IEEE(32|64)(BIG|LITTLE|SMALL|)", re.IGNORECASE)


def read(source: Source) -> Content:
    """Read a file."""
    header, start, notes = _header(source)
    rows, nc = _matrix_shape(source, _entry(source, header, "DATATYPE"))
    itemsize, orders = _floating_point(source, _entry(source, header, "FLOATING_POINT"))
    x, y, z, t = lattice_shape(
        source, (_number(source, header, f"DIMENSION_{axis}", int) for axis in range(1, 5))
    )
    count = t * z * y * x * 4 * rows * nc
    after = len(source) - start - 2 * count * itemsize
    if after > _AFTER:
        raise source.error(
            None,
            f"has {after + 2 * count * itemsize} bytes of links; its header says {2 * count * itemsize}",
        )
    if after > 0:
        notes.append(f"{after} byte{'s' * (after > 1)} after the links, left out")
    claims = {
        name: _number(source, header, key, lambda text: Claim.from_text(text, itemsize))
        for name, key in (("plaquette", "PLAQUETTE"), ("link_trace", "LINK_TRACE"))
        if key in header and not _stands_for_none(header[key])
    }
    found = []
    for byteorder in orders:
        stored = numbers(source, start, count, np.dtype(f"c{2 * itemsize}").newbyteorder(byteorder))
        taken, sums = summed(stored)
        links = complete_rows(taken.reshape(t, z, y, x, 4, rows, nc))
        found.append(
            Content(
                links,
                header,
                _checked(header, sums),
                claims.get("plaquette"),
                claims.get("link_trace"),
            )
        )
    if len(found) == 1:
        return _without_zeros(found[0], notes)
    best = min(range(len(found)), key=lambda i: _disagreement(found[i]))
    notes.append(f"FLOATING_POINT = {header['FLOATING_POINT']} taken as {orders[best]}-endian")
    return _without_zeros(found[best], notes)


def _checked(header: dict[str, str], sums: Sums) -> Checksum | None:
    if "CHECKSUM" not in header:
        return None
    return Checksum(hexadecimal(header["CHECKSUM"]), f"{sums.words:08x}")


def _disagreement(content: Content) -> tuple[bool, float, float]:
    """Checksum, then plaquette, then distance from the group: the least is the right byte order."""
    wrong = content.checksum is not None and not content.checksum.ok
    with np.errstate(all="ignore"):
        try:
            field = GaugeField(content.links, layout=layouts.OURS)
        except InputError:
            return True, math.inf, math.inf
        away = (
            0.0 if content.plaquette is None else abs(field.plaquette() - content.plaquette.value)
        )
        return wrong, away, field.unitarity()


def _stands_for_none(text: str) -> bool:
    """Whether a code that has not computed a number wrote this."""
    return text in ("0", "0.0")


def _without_zeros(content: Content, notes: list[str]) -> Content:
    """Take zeros for numbers that were not computed, as far as nothing contradicts the links."""
    checksum = content.checksum
    if checksum is not None and not checksum.ok and checksum.stated == "00000000":
        field = GaugeField(content.links, layout=layouts.OURS)
        if content.plaquette is None or content.plaquette.holds(field.plaquette()):
            told = "" if content.plaquette is None else ", the plaquette agrees"
            notes.append(f"CHECKSUM = 0 is taken for none{told}")
            checksum = None
    for key in ("PLAQUETTE", "LINK_TRACE"):
        if _stands_for_none(content.header.get(key, "")):
            notes.append(f"{key} = {content.header[key]} is taken for none")
    return replace(content, checksum=checksum, notes=tuple(notes))


def _header(source: Source) -> tuple[dict[str, str], int, list[str]]:
    """The entries, the byte where links begin, and what is no entry."""
    head = source.raw[:_MAX_HEADER]
    end = _END.search(head)
    if end is None:
        raise source.error(None, f"has no line END_HEADER in its first {len(head)} bytes")
    header: dict[str, str] = {}
    notes = []
    for line in head[: end.start()].decode("latin-1").splitlines()[1:]:
        key, equals, value = line.partition("=")
        if equals:
            header[key.strip()] = value.strip()
        elif _KEY.match(line):
            raise source.error(None, f"header line {shown(line)} is not KEY = VALUE")
        elif line.strip():
            notes.append(f"header line {shown(line)}, which is not KEY = VALUE, left out")
    return header, end.end(), notes


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
    if found is not None and int(found[1]) in COLOURS:
        nc = int(found[1])
        if found[2] is None:
            return nc - 1, nc
        if int(found[3]) == nc and int(found[2]) in (nc, nc - 1):
            return int(found[2]), nc
    raise source.error(
        None,
        f"DATATYPE = {datatype[:40]!r}; 4D_SU3_GAUGE, 4D_SU3_GAUGE_3x3 and their like for SU(2) to "
        f"SU({COLOURS[-1]}) are accepted",
    )


def _floating_point(source: Source, text: str) -> tuple[int, tuple[ByteOrder, ...]]:
    found = _FLOATING.fullmatch(text)
    if found is None:
        raise source.error(
            None,
            f"FLOATING_POINT = {text[:40]!r}; IEEE32 and IEEE64 with BIG or LITTLE are accepted",
        )
    orders: dict[str, tuple[ByteOrder, ...]] = {"": ("big", "little"), "BIG": ("big",)}
    return int(found[1]) // 8, orders.get(found[2].upper(), ("little",))


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
        **({"CHECKSUM": f"{summed(stored)[1].words:08x}"} if checksum else {}),
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
        elif key == "CHECKSUM" and old is not None and hexadecimal(old) == value:
            continue
        else:
            merged[key] = value
    return merged
