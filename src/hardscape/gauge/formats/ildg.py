"""ILDG and SciDAC files: records of LIME, links big-endian in the order t, z, y, x, mu, row, column.

An ILDG file states extents and precision in ``ildg-format`` and holds ``ildg-binary-data``; a SciDAC
file states them in its private records and holds ``scidac-binary-data``. ``scidac-checksum`` is there
or not: the CRC-32 of each site's bytes, rotated by the site's number modulo 29 (``suma``) and 31
(``sumb``) and combined by exclusive or. What is written carries the records of both kinds.

QIO's files in parts, ``name.vol0000`` and so on or ``vol0000/name``, state in ``scidac-sitelist`` which sites
they hold, by their numbers x + Nx (y + Ny (z + Nz t)), 32 or 64 bits each; a part is read with the others
beside it.

Some codes write ``ildg-binary-data`` alone: extents are then given by `shape`, and the number of bytes tells
Nc and the precision.

A record ``usqcdInfo`` states plaquette and link trace, both divided by Nc, as MILC writes it, and ``xlf-info``
the plaquette, as tmLQCD does; they are checked like those of a NERSC header.

A record of LIME has a header of 144 bytes: magic 0x456789ab, version 1, two flags (first and last record of a
message), the length, and the type in 128 bytes. Data are padded to 8 bytes.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.errors import InputError
from hardscape.files import Source, load
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    Checksum,
    Claim,
    Content,
    Precision,
    Sums,
    hexadecimal,
    in_precision,
    lattice_shape,
    numbers,
    summed,
    whole_links,
)
from hardscape.gauge.groups import COLOURS
from hardscape.gauge.intake import check_shape

NAME = "ildg"
SUFFIXES = (".ildg", ".lime", ".scidac")
DESCRIPTION = "ILDG and SciDAC (USQCD) records in LIME, single and double"

_HEADER = struct.Struct(">IHHQ128s")
_MAGIC = 0x456789AB
MAGIC = _MAGIC.to_bytes(4, "big")
_FIRST, _LAST = 0x8000, 0x4000

_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_NAMESPACE = (
    ' xmlns="http://www.lqcd.org/ildg" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://www.lqcd.org/ildg/filefmt.xsd"'
)
_DATA = ("ildg-binary-data", "scidac-binary-data")
#: Elements of ``usqcdInfo`` that state plaquette and link trace.
_CLAIMS = ("plaq", "linktr")
_XLF = re.compile(r"plaquette\s*=\s*([+-]?[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,3})?)\b")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
#: Which sites a part holds, and the mark of a part in names.
_SITES, _PART = "scidac-sitelist", re.compile("vol[0-9]{4}")
#: Records that a rewritten file carries along.
_KEPT = ("scidac-file-xml", "scidac-record-xml", "ildg-data-lfn")


@dataclass(frozen=True)
class _Record:
    """Type, place and length of one record."""

    kind: str
    start: int
    length: int

    def text(self, source: Source) -> str:
        """The record as text, without the null characters that some writers append."""
        data = source.bytes(self.start, self.length)
        return data.decode("utf-8", "replace").rstrip("\0")


def _records(source: Source) -> list[_Record]:
    """List the records of a file; little that is none, or zeros, may follow them."""
    found: list[_Record] = []
    position = 0
    while position < len(source) and not (found and _beside(source, position)):
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
        found.append(_Record(name, start, length))
        # The last record's padding may be missing.
        position = start + -(-length // 8) * 8
    return found


def _beside(source: Source, position: int) -> bool:
    """Whether what is left of a file is no part of a record."""
    left = source.raw[position : position + _HEADER.size]
    if len(left) < _HEADER.size:
        return not left.startswith(MAGIC[: len(left)])
    return not left.strip(b"\0") and not source.raw[position:].strip(b"\0")


def _rendered(
    parts: Mapping[str, bytes | NDArray[Any]],
) -> Iterator[bytes | NDArray[Any]]:
    """Write records as one message."""
    for position, (kind, data) in enumerate(parts.items()):
        length = len(data) if isinstance(data, bytes) else data.nbytes
        flags = _FIRST * (position == 0) | _LAST * (position == len(parts) - 1)
        yield _HEADER.pack(_MAGIC, 1, flags, length, kind.encode())
        yield data
        yield bytes(-length % 8)


def read(source: Source, *, shape: Sequence[int] | None = None) -> Content:
    """Read a file; of several configurations the first one. `shape` is X, Y, Z, T where it does not say."""
    found = _first_of_each(source)
    data = next((found[kind] for kind in _DATA if kind in found), None)
    if data is None:
        raise source.error(None, f"holds no record {_DATA[0]} or {_DATA[1]}, but {sorted(found)}")
    binary = (*_DATA, _SITES)
    texts = {kind: record.text(source) for kind, record in found.items() if kind not in binary}
    extents, itemsize, nc = _kind(source, data, texts, shape)
    dtype = np.dtype(f">c{2 * itemsize}")
    stated = texts.get("scidac-checksum")
    if _SITES in found:
        stored, others = _joined(source, extents, dtype)
        stated = others[0] if others else None
    else:
        stored = whole_links(source, data.start, extents, dtype, length=data.length, nc=nc)
    taken, sums = summed(stored, sites=stated is not None)
    checksum = None if stated is None else Checksum(_stated_checksum(stated), _shown(sums))
    links = taken.reshape(*extents[::-1], *stored.shape[1:])
    claims = _claims(texts.get("scidac-record-xml", ""), itemsize)
    line = _XLF.search(texts.get("xlf-info", ""))
    if line is not None and "plaq" not in claims:  # as tmLQCD writes it
        claims["plaq"] = Claim.from_text(line[1], itemsize)
    notes = _after(source) + (() if shape is None else layouts.other_orders(links))
    stated_plaquette, trace = claims.get("plaq"), claims.get("linktr")
    return Content(links, texts, checksum, stated_plaquette, trace, notes=notes)


def _after(source: Source) -> tuple[str, ...]:
    """What tells of bytes after the last record."""
    last = _records(source)[-1]
    many = len(source) - last.start - -(-last.length // 8) * 8
    return (f"{many} byte{'s' * (many > 1)} after the records, left out",) if many > 0 else ()


def _first_of_each(source: Source) -> dict[str, _Record]:
    found: dict[str, _Record] = {}
    for record in _records(source):
        found.setdefault(record.kind, record)
    return found


def _joined(
    source: Source, extents: Sequence[int], kind: np.dtype[Any]
) -> tuple[NDArray[Any], list[str]]:
    """The links of a file in parts, shape (sites, 4, Nc, Nc), and the checksums that its parts state."""
    volume = math.prod(lattice_shape(source, extents))
    parts = [source, *(load(path, mapped=True) for path in _other_parts(source))]
    held = [_part(part, kind) for part in parts]
    nc = held[0][1].shape[-1]
    memory.require(4 * volume * nc * nc * kind.itemsize, source.path)
    stored, missing = np.empty((volume, 4, nc, nc), kind), np.ones(volume, dtype=bool)
    for part, (sites, links, _) in zip(parts, held, strict=True):
        if sites.min() < 0 or sites.max() >= volume or links.shape[-1] != nc:
            raise part.error(None, f"is no part of SU({nc}) on a lattice of {volume} sites")
        stored[sites], missing[sites] = links, False
    if missing.any():
        raise source.error(
            None,
            f"is a part, with those beside it {volume - missing.sum()} of {volume} sites: "
            "all files NAME.vol0000, NAME.vol0001, ... or vol0000/NAME, ... together are a configuration",
        )
    return stored, [text for *_, text in held if text is not None]


def _part(
    source: Source, kind: np.dtype[Any]
) -> tuple[NDArray[np.int64], NDArray[Any], str | None]:
    """The numbers of a part's sites, their links, and the checksum that it states."""
    found = _first_of_each(source)
    data = next((found[kind] for kind in _DATA if kind in found), None)
    if data is None or _SITES not in found:
        raise source.error(None, "is no part: it holds no list of sites with links")
    listed, stated = found[_SITES], found.get("scidac-checksum")
    for size in (4, 8):
        count = listed.length // size
        for nc in COLOURS:
            if listed.length % size == 0 and data.length == 4 * count * nc * nc * kind.itemsize > 0:
                ranks = np.frombuffer(source.raw, f">i{size}", count, listed.start)
                links = numbers(source, data.start, 4 * count * nc * nc, kind)
                text = None if stated is None else stated.text(source)
                return ranks.astype(np.int64), links.reshape(count, 4, nc, nc), text
    raise source.error(
        None, f"lists sites in {listed.length} bytes, which {data.length} bytes of links do not fit"
    )


def _other_parts(source: Source) -> list[Path]:
    path = Path(source.path)
    pattern = f"{escape(path.stem)}.vol[0-9][0-9][0-9][0-9]"
    beside = path.parent.glob(pattern) if _PART.fullmatch(path.suffix[1:]) else []
    if _PART.fullmatch(path.parent.name):
        beside = path.parent.parent.glob(f"vol[0-9][0-9][0-9][0-9]/{escape(path.name)}")
    return sorted(x for x in beside if x != path)


def _kind(
    source: Source, data: _Record, texts: dict[str, str], shape: Sequence[int] | None
) -> tuple[Sequence[int], int, int | None]:
    """Extents, bytes of a number, and Nc if anything but the number of bytes says so."""
    if "ildg-format" in texts and data.kind == _DATA[0]:
        extents, itemsize, nc = _ildg_format(source, texts["ildg-format"])
    elif "scidac-private-file-xml" in texts and "scidac-private-record-xml" in texts:
        extents, itemsize, nc = _scidac_format(source, texts)
    else:
        return _by_size(source, data.length, shape)
    if shape is not None and tuple(shape) != tuple(extents):
        raise source.error(None, f"says X, Y, Z, T = {extents}, shape={tuple(shape)!r} is given")
    return extents, itemsize, nc


def _by_size(
    source: Source, length: int, shape: Sequence[int] | None
) -> tuple[Sequence[int], int, int]:
    if shape is None:
        raise source.error(
            None,
            f"holds {length} bytes of links and does not say of which extents; "
            "shape=(X, Y, Z, T) (--shape X,Y,Z,T) does",
        )
    extents = check_shape(shape)
    if len(extents) != 4:
        raise InputError(f"shape={shape!r}; four extents X, Y, Z, T are accepted")
    sizes = {
        8 * nc * nc * itemsize * math.prod(extents): (itemsize, nc)
        for nc in COLOURS
        for itemsize in (4, 8)
    }
    if length not in sizes:
        raise source.error(
            None,
            f"has {length} bytes of links; shape={tuple(extents)!r} needs "
            + ", ".join(f"{size} (SU({nc}), {8 * x} bits)" for size, (x, nc) in sizes.items()),
        )
    return extents, *sizes[length]


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


def _ildg_format(source: Source, text: str) -> tuple[list[int], int, int | None]:
    nc = None
    if re.search(r"<(?:\w+:)?field\s*>", text):  # MILC writes none for fields of other codes
        nc = int(_tag(source, text, "field", r"su[0-9]gauge")[2])
    precision = int(_tag(source, text, "precision", "32|64"))
    return [int(_tag(source, text, f"l{axis}")) for axis in "xyzt"], precision // 8, nc


def _scidac_format(source: Source, texts: dict[str, str]) -> tuple[list[int], int, int]:
    listed = r"[0-9]{1,9}(?:\s+[0-9]{1,9})*"
    extents = _tag(source, texts["scidac-private-file-xml"], "dims", listed).split()
    private = texts["scidac-private-record-xml"]
    itemsize = 4 if _tag(source, private, "precision", "[FD]") == "F" else 8
    count = int(_tag(source, private, "datacount"))
    if count != 4:
        raise source.error(None, f"holds {count} matrices a site; 4 links are accepted")
    return [int(extent) for extent in extents], itemsize, int(_tag(source, private, "colors"))


def _stated_checksum(text: str) -> str:
    """The checksums in one form, whichever of C's forms of hexadecimal numbers they are printed in."""
    found = [re.search(rf"<(?:\w+:)?{tag}\s*>([^<]*)<", text) for tag in ("suma", "sumb")]
    shown = [match[1].strip() if match else "nothing" for match in found]
    return " ".join(hexadecimal(x) for x in shown)


def _shown(sums: Sums) -> str:
    return f"{sums.suma:08x} {sums.sumb:08x}"


def rotated_sums(words: NDArray[np.uint32]) -> str:
    """Exclusive or of all words, word i rotated left by i modulo 29 bits, and modulo 31, in hex.

    Rotation commutes with exclusive or, so words of one residue are combined first.
    """
    sums = []
    for period in (29, 31):
        total = 0
        for shift in range(min(period, len(words))):
            word = int(np.bitwise_xor.reduce(words[shift::period]))
            total ^= (word << shift | word >> (32 - shift)) & 0xFFFFFFFF
        sums.append(f"{total:08x}")
    return " ".join(sums)


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
    bits = 4 * field.dtype.itemsize
    stored = field.links.astype(field.dtype.newbyteorder(byteorder))
    dims = " ".join(map(str, field.shape))
    kept = {kind: header.get(kind) for kind in _KEPT}
    title = f"{_XML}<title>SU({field.nc}) gauge configuration</title>"
    yield from _rendered(
        {
            "scidac-private-file-xml": _xml(
                "scidacFile", version=1.1, spacetime=4, dims=f"{dims} ", volfmt=0
            ),
            "scidac-file-xml": (kept["scidac-file-xml"] or title).encode(),
        }
    )
    letter = "F" if bits == 32 else "D"
    extents = {f"l{axis}": extent for axis, extent in zip("xyzt", field.shape, strict=True)}
    parts: dict[str, bytes | NDArray[Any]] = {
        "scidac-private-record-xml": _xml(
            "scidacRecord",
            version=1.0,
            globaldata=0,
            datatype=f"QDP_{letter}{field.nc}_ColorMatrix",
            precision=letter,
            colors=field.nc,
            typesize=bits // 4 * field.nc**2,
            datacount=4,
        ),
        "scidac-record-xml": _record(field, kept["scidac-record-xml"], bits // 8),
        "ildg-format": _xml(
            "ildgFormat",
            _NAMESPACE,
            version=1.0,
            field=f"su{field.nc}gauge",
            precision=bits,
            **extents,
        ),
    }
    if kept["ildg-data-lfn"]:
        parts["ildg-data-lfn"] = kept["ildg-data-lfn"].encode()
    parts["ildg-binary-data"] = stored
    if checksum:
        suma, sumb = _shown(summed(stored.reshape(field.volume, -1), sites=True)[1]).split()
        parts["scidac-checksum"] = _xml("scidacChecksum", version=1.0, suma=suma, sumb=sumb)
    yield from _rendered(parts)


def _xml(root: str, attributes: str = "", /, **elements: object) -> bytes:
    """A record of elements in this order."""
    text = "".join(f"<{tag}>{content}</{tag}>" for tag, content in elements.items())
    return f"{_XML}<{root}{attributes}>{text}</{root}>".encode()


def _record(field: GaugeField, kept: str | None, itemsize: int) -> bytes:
    """The record of the user: the kept one, where it states averages with the links' own."""
    averages = {"plaq": field.plaquette(), "linktr": field.link_trace()}
    if kept is None:
        texts = {tag: f"{value:.12g}" for tag, value in averages.items()}
        return _xml("usqcdInfo", version=1.0, **texts, info="")
    for tag, claim in _claims(kept, itemsize).items():
        if not claim.holds(averages[tag]):
            kept = re.sub(_element(tag), rf"\g<1>{averages[tag]:.12g}", kept)
    return kept.encode()
