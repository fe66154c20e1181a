"""Files of links as codes write them, byte by byte and site by site, without a line of ours.

Links have shape (T, Z, Y, X, 4, Nc, Nc), mu = x, y, z, t. What a function returns is the whole file.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Links = NDArray[np.complex128]
#: Directions in the order t, x, y, z.
TXYZ = (3, 0, 1, 2)


def numbers(matrix: NDArray[Any], code: str) -> bytes:
    """Real and imaginary parts, row by row."""
    flat = [part for x in matrix.reshape(-1) for part in (x.real, x.imag)]
    return struct.pack(f"{code[0]}{len(flat)}{code[1]}", *flat)


def traces(links: Links) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of Re tr of the plaquettes in space and in time that start on each timeslice."""
    T, Z, Y, X = extents = links.shape[:4]
    space, time = np.zeros(T), np.zeros(T)
    for site in np.ndindex(T, Z, Y, X):
        for mu, nu in itertools.combinations(range(4), 2):
            ahead = []
            for direction in (mu, nu):
                place = list(site)
                place[3 - direction] = (place[3 - direction] + 1) % extents[3 - direction]
                ahead.append(tuple(place))
            product = (
                links[site][mu]
                @ links[ahead[0]][nu]
                @ links[ahead[1]][mu].conj().T
                @ links[site][nu].conj().T
            )
            (time if nu == 3 else space)[site[0]] += np.trace(product).real
    return space, time


def periodic_plaquette(links: Links) -> float:
    """Re tr / Nc, averaged."""
    space, time = traces(links)
    return float((space.sum() + time.sum()) / (6 * links.shape[-1] * np.prod(links.shape[:4])))


def lexicographic(links: Links, code: str, rows: int | None = None) -> bytes:
    """t, z, y, x, mu, row, column."""
    return b"".join(
        numbers(links[site][mu][:rows], code)
        for site in np.ndindex(*links.shape[:4])
        for mu in range(4)
    )


def txyz(links: Links, code: str, order: tuple[int, ...] = TXYZ) -> bytes:
    """t, x, y, z, the directions in this order."""
    T, Z, Y, X = links.shape[:4]
    return b"".join(
        numbers(links[t, z, y, x, mu], code)
        for t, x, y, z in itertools.product(range(T), range(X), range(Y), range(Z))
        for mu in order
    )


def lime(records: list[tuple[str, bytes]], pad_last: bool = True) -> bytes:
    """Each record a message of its own."""
    found = b""
    for i, (kind, data) in enumerate(records):
        header = struct.pack(">IHHQ128s", 0x456789AB, 1, 0xC000, len(data), kind.encode())
        last = i == len(records) - 1 and not pad_last
        found += header + data + bytes(0 if last else -len(data) % 8)
    return found


def scidac_sums(data: bytes, sites: int) -> tuple[int, int]:
    """Checksums of the sites' bytes."""
    size, sums = len(data) // sites, [0, 0]
    for i in range(sites):
        crc = zlib.crc32(data[i * size : (i + 1) * size])
        for n, turn in enumerate((i % 29, i % 31)):
            sums[n] ^= (crc << turn | crc >> (32 - turn)) & 0xFFFFFFFF if turn else crc
    return sums[0], sums[1]


def nersc(
    links: Links,
    *,
    floating: str = "IEEE64BIG",
    code: str = ">d",
    checksum: str | None = None,
    plaquette: str | None = None,
    trace: str | None = None,
    rows: int | None = None,
    after: bytes = b"",
) -> bytes:
    """A NERSC archive as Grid prints its header: padded with blanks, the checksum without leading zeros."""
    T, Z, Y, X = links.shape[:4]
    nc = links.shape[-1]
    data = lexicographic(links, code, rows)
    words = struct.unpack(f"{code[0]}{len(data) // 4}I", data)
    kind = f"4D_SU{nc}_GAUGE" + (f"_{nc}x{nc}" if rows in (None, nc) else "")
    mean = np.trace(links, axis1=-2, axis2=-1).real.mean() / nc
    lines = [
        "BEGIN_HEADER",
        "HDR_VERSION = 1.0",
        f"DATATYPE = {kind}",
        "STORAGE_FORMAT = ",
        *(f"DIMENSION_{i} = {extent}" for i, extent in enumerate((X, Y, Z, T), start=1)),
        f"LINK_TRACE = {trace or f'{mean:.10g}'}",
        f"PLAQUETTE  = {plaquette or f'{periodic_plaquette(links):.10g}'}",
        *(f"BOUNDARY_{i} = PERIODIC" for i in range(1, 5)),
        f"CHECKSUM = {checksum or f'{sum(words) & 0xFFFFFFFF:x}':>10}",
        "ENSEMBLE_ID = UKQCD",
        f"FLOATING_POINT = {floating}",
        "END_HEADER",
    ]
    return ("\n".join(lines) + "\n").encode() + data + after


def openqcd(links: Links, plaquette_sum: float) -> bytes:
    """openQCD's export: the eight links at every odd point; the sum of all plaquettes over 6 V."""
    T, Z, Y, X = links.shape[:4]
    found = struct.pack("<4id", T, X, Y, Z, plaquette_sum / (6 * T * Z * Y * X))
    for t, x, y, z in itertools.product(range(T), range(X), range(Y), range(Z)):
        if (t + x + y + z) % 2 == 0:
            continue
        for mu in TXYZ:
            back = [t, z, y, x]
            back[3 - mu] = (back[3 - mu] - 1) % links.shape[3 - mu]
            found += numbers(links[t, z, y, x, mu], "<d") + numbers(links[tuple(back)][mu], "<d")
    return found


def ddalphaamg(links: Links, prefix: str = "<") -> bytes:
    """DDalphaAMG: x fastest, directions t, z, y, x."""
    T, Z, Y, X = links.shape[:4]
    nc = links.shape[-1]
    found = struct.pack(f"{prefix}4id", T, Z, Y, X, nc * periodic_plaquette(links))
    for site in np.ndindex(T, Z, Y, X):
        for mu in (3, 2, 1, 0):
            found += numbers(links[site][mu], f"{prefix}d")
    return found


def hirep(links: Links, plaquette: float, prefix: str = ">") -> bytes:
    """HiRep; quaternions for two colours."""
    T, Z, Y, X = links.shape[:4]
    nc = links.shape[-1]
    found = struct.pack(f"{prefix}5id", nc, T, X, Y, Z, plaquette)
    if nc != 2:
        return found + txyz(links, f"{prefix}d")
    for t, x, y, z in itertools.product(range(T), range(X), range(Y), range(Z)):
        for mu in TXYZ:
            u = links[t, z, y, x, mu]
            q = u[0, 0].real, u[0, 1].imag, -u[0, 1].real, u[0, 0].imag
            found += struct.pack(f"{prefix}4d", *q)
    return found


def mdp(links: Links, code: str, wide: bool = False) -> bytes:
    """FermiQCD; `wide` as a 64-bit machine wrote the older header."""
    T, Z, Y, X = links.shape[:4]
    a_site = 4 * links.shape[-1] ** 2 * 2 * struct.calcsize(code)
    head = struct.pack(
        f"{code[0]}60s60s60sIi10i",
        b"File Type: MDP FIELD\n",
        b"program",
        b"a date\n",
        0x87654321,
        4,
        *(T, X, Y, Z, 0, 0, 0, 0, 0, 0),
    )
    tail = "4xqq" if wide else "ii"
    return head + struct.pack(f"{code[0]}{tail}", a_site, T * X * Y * Z) + txyz(links, code)


def vogt(links: Links, code: str) -> bytes:
    """cuLGT's own format."""
    T, Z, Y, X = links.shape[:4]
    head = struct.pack("<7h", 4, links.shape[-1], T, X, Y, Z, struct.calcsize(code))
    return head + txyz(links, code)


def milc_old(links: Links, prefix: str, integer: str = "i") -> bytes:
    """MILC's versions 1 to 4; `integer` is q where a machine wrote 64-bit integers."""
    T, Z, Y, X = links.shape[:4]
    head = struct.pack(f"{prefix}5{integer}2f", 59354, X, Y, Z, T, 6.0, 0.0)
    return head + lexicographic(links, f"{prefix}f")


def milc_1996(links: Links, prefix: str, unused: bytes = b"") -> bytes:
    """MILC's files of 1996; `unused` is a checksum before the links."""
    T, Z, Y, X = links.shape[:4]
    text = b"made in 1996\0"
    head = struct.pack(f"{prefix}8i200si", 53546, X, Y, Z, T, 244, 0, len(text), text, 2)
    head += struct.pack(f"{prefix}2f", 6.0, 0.25)
    return head + unused + lexicographic(links, f"{prefix}f")


def milc_fermilab(links: Links, prefix: str) -> bytes:
    """MILC with the header of Fermilab's codes."""
    T, Z, Y, X = links.shape[:4]
    count = 8 * links.shape[-1] ** 2
    head = struct.pack(f"{prefix}9i", 0x71626434, 1038700800, 4, count, X, Y, Z, T, 0)
    return head + lexicographic(links, f"{prefix}f")


def bmw(links: Links) -> bytes:
    """BMW: two rows in double."""
    T, Z, Y, X = links.shape[:4]
    data = lexicographic(links, ">d", 2)
    prime, a, b = 2**32 - 5, 1, 0
    for word in struct.unpack(f">{len(data) // 4}I", data):
        a = (a + word) % prime
        b = (b + a) % prime
    head = f"#BMW {X} {Y} {Z} {T} {(b << 32) + a:x}\n\nby hand\n".encode()
    return head.ljust(4096, b"\n") + data


def bridge(links: Links, show: str = ".14e") -> bytes:
    """Bridge++'s text: a number a line in the order of ILDG."""
    every = links.reshape(-1)
    return "".join(f"{part:{show}}\n" for x in every for part in (x.real, x.imag)).encode()


def jlqcd(links: Links, prefix: str) -> bytes:
    """Bridge++'s Fortran_JLQCD: one record, the direction slowest."""
    data = b"".join(
        numbers(links[site][mu], f"{prefix}d")
        for mu in range(4)
        for site in np.ndindex(*links.shape[:4])
    )
    mark = struct.pack(f"{prefix}I", len(data))
    return mark + data + mark


def milc_listed(links: Links, prefix: str, order: NDArray[np.int64]) -> bytes:
    """MILC's checkpoint: the numbers of the sites in the order of nodes, then the sites in that order."""
    T, Z, Y, X = links.shape[:4]
    flat = links.reshape(-1, *links.shape[4:])
    data = b"".join(numbers(flat[i], f"{prefix}f") for i in order)
    sums = [0, 0]
    for i, word in enumerate(struct.unpack(f"{prefix}{len(data) // 4}I", data)):
        for n, turn in enumerate((i % 29, i % 31)):
            sums[n] ^= (word << turn | word >> (32 - turn)) & 0xFFFFFFFF
    head = struct.pack(f"{prefix}5i64si", 20103, X, Y, Z, T, b"a date", 1)
    return head + struct.pack(f"{prefix}{len(order)}i2I", *order, *sums) + data


def qio_part(links: Links, sites: NDArray[np.int64], code: str, master: bool) -> bytes:
    """A file of QIO's PARTFILE or MULTIFILE: of some sites; the first one states the checksum of all."""
    T, Z, Y, X = links.shape[:4]
    nc, double = links.shape[-1], code == "d"
    flat = links.reshape(-1, *links.shape[4:])
    letter = "D" if double else "F"
    size = 2 * nc * nc * struct.calcsize(code)
    records = [
        (
            "scidac-private-file-xml",
            f"<scidacFile><version>1.1</version><spacetime>4</spacetime><dims>{X} {Y} {Z} {T} </dims>"
            "<volfmt>1</volfmt></scidacFile>\0".encode(),
        ),
        ("scidac-sitelist", struct.pack(f">{len(sites)}i", *sites)),
        (
            "scidac-private-record-xml",
            f"<scidacRecord><version>1.1</version><datatype>QDP_{letter}3_ColorMatrix</datatype>"
            f"<precision>{letter}</precision><colors>{nc}</colors><typesize>{size}</typesize>"
            "<datacount>4</datacount></scidacRecord>\0".encode(),
        ),
        ("scidac-record-xml", b"by hand\0"),
        ("scidac-binary-data", b"".join(numbers(flat[i], f">{code}") for i in sites)),
    ]
    if master:
        a, b = scidac_sums(lexicographic(links, f">{code}"), len(flat))
        text = f"<scidacChecksum><version>1.0</version><suma>{a:x}</suma><sumb>{b:x}</sumb></scidacChecksum>"
        records.append(("scidac-checksum", text.encode()))
    return lime(records)
