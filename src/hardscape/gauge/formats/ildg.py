"""ILDG and SciDAC files: LIME records, links big-endian in the order t, z, y, x, mu, row, column.

An ILDG file states extents and precision in ``ildg-format`` and holds ``ildg-binary-data``; a SciDAC
file states them in its private records and holds ``scidac-binary-data``. ``scidac-checksum`` is there
or not: the CRC-32 of each site's bytes, rotated by the site's number modulo 29 (``suma``) and 31
(``sumb``) and combined by exclusive or. What is written carries the records of both kinds.

A record ``usqcdInfo`` states plaquette and link trace, both divided by Nc, as MILC writes it; they are
checked like those of a NERSC header.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.files import Source
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats import lime
from hardscape.gauge.formats.content import (
    Checksum,
    Claim,
    Content,
    Precision,
    colours,
    in_precision,
    lattice_shape,
    number_type,
    numbers,
    raw_bytes,
)

NAME = "ildg"
SUFFIXES = (".ildg", ".lime", ".scidac")
DESCRIPTION = "ILDG and SciDAC (USQCD) records in LIME, single and double"
MAGIC = lime.MAGIC

_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_NAMESPACE = (
    'xmlns="http://www.lqcd.org/ildg" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://www.lqcd.org/ildg/filefmt.xsd"'
)
_DATA = ("ildg-binary-data", "scidac-binary-data")
#: Elements of ``usqcdInfo`` and what they state.
_CLAIMS = {"plaq": "plaquette", "linktr": "link_trace"}
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
#: Records that a rewritten file carries along.
_KEPT = ("scidac-file-xml", "scidac-record-xml", "ildg-data-lfn")


def read(source: Source) -> Content:
    """Read a file; of several configurations the first one."""
    found: dict[str, lime.Record] = {}
    for record in lime.records(source):
        found.setdefault(record.kind, record)
    data = next((found[kind] for kind in _DATA if kind in found), None)
    if data is None:
        raise source.error(None, f"holds no record {_DATA[0]} or {_DATA[1]}, but {sorted(found)}")
    texts = {kind: record.text(source) for kind, record in found.items() if kind not in _DATA}
    if "ildg-format" in texts and data.kind == _DATA[0]:
        extents, itemsize, nc = _ildg_format(source, texts["ildg-format"])
    else:
        extents, itemsize, nc = _scidac_format(source, texts)
    x, y, z, t = lattice_shape(source, extents)
    volume = x * y * z * t
    if colours(source, data.length, volume, 2 * itemsize) != nc:
        raise source.error(None, f"says SU({nc}), which {data.length} bytes of links are not")
    stored = numbers(
        source, data.start, data.length // (2 * itemsize), number_type(itemsize, "big")
    )
    checksum = None
    if "scidac-checksum" in texts:
        checksum = Checksum(
            _stated_checksum(source, texts["scidac-checksum"]), _sums(stored, volume)
        )
    links = stored.astype(stored.dtype.newbyteorder("=")).reshape(t, z, y, x, 4, nc, nc)
    claims = _claims(texts.get("scidac-record-xml", ""), itemsize)
    return Content(links, texts, checksum, **{_CLAIMS[tag]: claims[tag] for tag in claims})


def _claims(text: str, itemsize: int) -> dict[str, Claim]:
    """What a record ``usqcdInfo`` states; other records use the same names as they like."""
    if "<usqcdInfo>" not in text:
        return {}
    found = {tag: re.search(_element(tag), text) for tag in _CLAIMS}
    return {
        tag: Claim.from_text(match[2], itemsize)
        for tag, match in found.items()
        if match is not None and _DECIMAL.fullmatch(match[2])
    }


def _element(tag: str) -> str:
    return rf"(<{tag}>\s*)([^<\s]+)(?=\s*</{tag}>)"


def _tag(source: Source, text: str, tag: str, pattern: str = r"[0-9]{1,9}") -> str:
    """The content of one XML element, with or without a namespace prefix."""
    found = re.search(rf"<(?:\w+:)?{tag}\s*>\s*({pattern})\s*</", text)
    if found is None:
        raise source.error(None, f"its records state no <{tag}> as they should")
    return found[1]


def _ildg_format(source: Source, text: str) -> tuple[list[int], int, int]:
    nc = int(_tag(source, text, "field", r"su[23]gauge")[2])
    precision = int(_tag(source, text, "precision", "32|64"))
    return [int(_tag(source, text, f"l{axis}")) for axis in "xyzt"], precision // 8, nc


def _scidac_format(source: Source, texts: dict[str, str]) -> tuple[list[int], int, int]:
    for kind in ("scidac-private-file-xml", "scidac-private-record-xml"):
        if kind not in texts:
            raise source.error(
                None, f"has no record ildg-format and no {kind}: its extents are unknown"
            )
    numbers = r"[0-9]{1,9}(?:\s+[0-9]{1,9})*"
    extents = _tag(source, texts["scidac-private-file-xml"], "dims", numbers).split()
    private = texts["scidac-private-record-xml"]
    itemsize = 4 if _tag(source, private, "precision", "[FD]") == "F" else 8
    count = int(_tag(source, private, "datacount"))
    if count != 4:
        raise source.error(None, f"holds {count} matrices a site; 4 links are accepted")
    return [int(extent) for extent in extents], itemsize, int(_tag(source, private, "colors"))


def _stated_checksum(source: Source, text: str) -> str:
    sums = [int(_tag(source, text, tag, "[0-9a-fA-F]{1,8}"), 16) for tag in ("suma", "sumb")]
    return " ".join(f"{x:08x}" for x in sums)


def _sums(stored: NDArray[Any], sites: int) -> str:
    data = raw_bytes(stored)
    size = stored.nbytes // sites
    crc = np.fromiter(
        (zlib.crc32(data[start : start + size]) for start in range(0, stored.nbytes, size)),
        dtype=np.uint32,
        count=sites,
    )
    return f"{rotated_xor(crc, 29):08x} {rotated_xor(crc, 31):08x}"


def rotated_xor(words: NDArray[np.uint32], period: int) -> int:
    """Exclusive or of all words, word i rotated left by i modulo `period` bits.

    Rotation commutes with exclusive or, so words of one residue are combined first.
    """
    total = 0
    for shift in range(min(period, len(words))):
        word = int(np.bitwise_xor.reduce(words[shift::period]))
        total ^= (word << shift | word >> (32 - shift)) & 0xFFFFFFFF
    return total


def write(
    field: GaugeField,
    *,
    precision: Precision | None = None,
    byteorder: Literal["big"] = "big",
    checksum: bool = True,
    header: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[bytes | NDArray[Any]]:
    """Write the records of ILDG within those of SciDAC, in the links' precision by default."""
    field = in_precision(field, precision)
    itemsize = field.dtype.itemsize // 2
    stored = field.links.astype(number_type(itemsize, byteorder))
    dims = " ".join(map(str, field.shape))
    kept = {kind: header.get(kind) for kind in _KEPT}
    yield from lime.render_message(
        [
            ("scidac-private-file-xml", _private_file(dims)),
            (
                "scidac-file-xml",
                (
                    kept["scidac-file-xml"]
                    or f"{_XML}<title>SU({field.nc}) gauge configuration</title>"
                ).encode(),
            ),
        ]
    )
    parts: list[tuple[str, bytes | NDArray[Any]]] = [
        ("scidac-private-record-xml", _private_record(field.nc, itemsize)),
        ("scidac-record-xml", _record(field, kept["scidac-record-xml"], itemsize).encode()),
        ("ildg-format", _format(field, itemsize)),
    ]
    if kept["ildg-data-lfn"]:
        parts.append(("ildg-data-lfn", kept["ildg-data-lfn"].encode()))
    parts.append(("ildg-binary-data", stored))
    if checksum:
        suma, sumb = _sums(stored, field.volume).split()
        text = f"<version>1.0</version><suma>{suma}</suma><sumb>{sumb}</sumb>"
        parts.append(("scidac-checksum", f"{_XML}<scidacChecksum>{text}</scidacChecksum>".encode()))
    yield from lime.render_message(parts)


def _private_file(dims: str) -> bytes:
    return (
        f"{_XML}<scidacFile><version>1.1</version><spacetime>4</spacetime><dims>{dims} </dims>"
        "<volfmt>0</volfmt></scidacFile>"
    ).encode()


def _private_record(nc: int, itemsize: int) -> bytes:
    letter = "F" if itemsize == 4 else "D"
    return (
        f"{_XML}<scidacRecord><version>1.0</version><globaldata>0</globaldata>"
        f"<datatype>QDP_{letter}{nc}_ColorMatrix</datatype><precision>{letter}</precision>"
        f"<colors>{nc}</colors><typesize>{2 * itemsize * nc * nc}</typesize>"
        "<datacount>4</datacount></scidacRecord>"
    ).encode()


def _record(field: GaugeField, kept: str | None, itemsize: int) -> str:
    """The record of the user: the kept one, where it states averages with the links' own."""
    averages = {"plaq": field.plaquette(), "linktr": field.link_trace()}
    if kept is None:
        elements = "".join(f"<{tag}>{value:.12g}</{tag}>" for tag, value in averages.items())
        return f"{_XML}<usqcdInfo><version>1.0</version>{elements}<info></info></usqcdInfo>"
    for tag, claim in _claims(kept, itemsize).items():
        if not claim.holds(averages[tag]):
            kept = re.sub(_element(tag), rf"\g<1>{averages[tag]:.12g}", kept)
    return kept


def _format(field: GaugeField, itemsize: int) -> bytes:
    extents = "".join(
        f"<l{axis}>{extent}</l{axis}>" for axis, extent in zip("xyzt", field.shape, strict=True)
    )
    return (
        f"{_XML}<ildgFormat {_NAMESPACE}><version>1.0</version><field>su{field.nc}gauge</field>"
        f"<precision>{8 * itemsize}</precision>{extents}</ildgFormat>"
    ).encode()
