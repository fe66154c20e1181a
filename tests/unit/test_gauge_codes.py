"""Files as other codes write them, made byte by byte by the helpers, and public ones."""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.errors import ChecksumError, FormatError
from hardscape.gauge import GaugeField, formats, generate
from helpers import gauge_files as codes

PUBLIC = Path(__file__).resolve().parents[3] / "shared" / "data" / "gauge"
SHAPE = (4, 2, 6, 4)
FIELDS = {
    nc: generate(SHAPE, 2.4 * (nc - 1) ** 1.3, nc, sweeps=15, seed=3, device="cpu")
    for nc in (2, 3, 4)
}


def links(nc: int = 3, *, single: bool = False) -> Any:
    found = FIELDS[nc].links
    return found.astype(np.complex64) if single else found


def plaquette(nc: int = 3) -> float:
    return FIELDS[nc].plaquette()


ILDG_FORMAT = """<?xml version="1.0" encoding="UTF-8"?>
<ildgFormat xmlns="http://www.lqcd.org/ildg"
            xsi:schemaLocation="http://www.lqcd.org/ildg filefmt.xsd">
  <version> 1.0 </version>
{field}  <precision> 64 </precision>
  <lx> 4 </lx>
  <ly> 2 </ly>
  <lz> 6 </lz>
  <lt> 4 </lt>
</ildgFormat>"""


def ildg(
    sums: str = "{0:#x} {1:#x}", field: str = "  <field> su3gauge </field>\n", nc: int = 3
) -> bytes:
    data = codes.lexicographic(links(nc), ">d")
    a, b = sums.format(*codes.scidac_sums(data, FIELDS[nc].volume)).split()
    check = (
        f"<scidacChecksum><version>1.0</version><suma>{a}</suma><sumb>{b}</sumb></scidacChecksum>"
    )
    return codes.lime(
        [
            ("xlf-info", f" plaquette = {plaquette(nc):e}\n trajectory nr = 2000\n".encode()),
            ("ildg-format", ILDG_FORMAT.format(field=field).encode()),
            ("ildg-binary-data", data),
            ("scidac-checksum", check.encode()),
        ]
    )


#: Name of the format, colours, whether single precision, and the file.
FILES: dict[str, tuple[str, int, bool, Callable[[], bytes]]] = {
    "nersc-grid": ("nersc", 3, False, lambda: codes.nersc(links())),
    "nersc-grid-su2": ("nersc", 2, False, lambda: codes.nersc(links(2), rows=1)),
    "nersc-newline": ("nersc", 3, False, lambda: codes.nersc(links(), after=b"\n")),
    "nersc-zeros": (
        "nersc",
        3,
        True,
        lambda: codes.nersc(
            links(), floating="IEEE32BIG", code=">f", rows=2, checksum="0", trace="0", after=b"\n"
        ),
    ),
    "nersc-ieee64-big": ("nersc", 3, False, lambda: codes.nersc(links(), floating="IEEE64")),
    "nersc-ieee64-little": (
        "nersc",
        3,
        False,
        lambda: codes.nersc(links(), floating="IEEE64", code="<d"),
    ),
    "nersc-ieee64-little-no-sum": (
        "nersc",
        3,
        False,
        lambda: codes.nersc(links(), floating="IEEE64", code="<d", checksum="0"),
    ),
    "ildg-0x": ("ildg", 3, False, ildg),
    "ildg-plain": ("ildg", 3, False, lambda: ildg("{0:x} {1:x}")),
    "ildg-padded": ("ildg", 3, False, lambda: ildg("{0:#010x} {1:08X}")),
    "ildg-no-field": ("ildg", 3, False, lambda: ildg(field="")),
    "ildg-su4": ("ildg", 4, False, lambda: ildg(field="  <field>su4gauge</field>\n", nc=4)),
    "nersc-su4": ("nersc", 4, False, lambda: codes.nersc(links(4))),
    "nersc-su4-rows": ("nersc", 4, False, lambda: codes.nersc(links(4), rows=3)),
    "hirep-su4": ("hirep", 4, False, lambda: codes.hirep(links(4), plaquette(4))),
    "mdp-su4": ("mdp", 4, False, lambda: codes.mdp(links(4), "<d")),
    "vogt-su4": ("vogt", 4, False, lambda: codes.vogt(links(4), "<d")),
    "openqcd": (
        "openqcd",
        3,
        False,
        lambda: codes.openqcd(links(), sum(x.sum() for x in codes.traces(links()))),
    ),
    "ddalphaamg": ("ddalphaamg", 3, False, lambda: codes.ddalphaamg(links())),
    "ddalphaamg-big": ("ddalphaamg", 3, False, lambda: codes.ddalphaamg(links(), ">")),
    "hirep": ("hirep", 3, False, lambda: codes.hirep(links(), plaquette())),
    "hirep-quaternions": ("hirep", 2, False, lambda: codes.hirep(links(2), plaquette(2))),
    "hirep-little": ("hirep", 3, False, lambda: codes.hirep(links(), plaquette(), "<")),
    "hirep-little-su2": ("hirep", 2, False, lambda: codes.hirep(links(2), plaquette(2), "<")),
    "mdp": ("mdp", 3, False, lambda: codes.mdp(links(), "<d")),
    "mdp-big-single-su2": ("mdp", 2, True, lambda: codes.mdp(links(2), ">f")),
    "mdp-wide": ("mdp", 3, False, lambda: codes.mdp(links(), "<d", wide=True)),
    "vogt": ("vogt", 3, True, lambda: codes.vogt(links(), "<f")),
    "vogt-su2": ("vogt", 2, False, lambda: codes.vogt(links(2), "<d")),
    "milc-old": ("milc", 3, True, lambda: codes.milc_old(links(), ">")),
    "milc-old-little": ("milc", 3, True, lambda: codes.milc_old(links(), "<")),
    "milc-old-64": ("milc", 3, True, lambda: codes.milc_old(links(), ">", "q")),
    "milc-1996": ("milc", 3, True, lambda: codes.milc_1996(links(), ">")),
    "milc-1996-little": ("milc", 2, True, lambda: codes.milc_1996(links(2), "<", b"\1\2\3\4")),
    "milc-fermilab": ("milc", 3, True, lambda: codes.milc_fermilab(links(), ">")),
    "milc-fermilab-little": ("milc", 2, True, lambda: codes.milc_fermilab(links(2), "<")),
    "bmw": ("bmw", 3, False, lambda: codes.bmw(links())),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_codes(name: str, tmp_path: Path) -> None:
    kind, nc, single, made = FILES[name]
    path = tmp_path / "cfg.1000"
    path.write_bytes(gzip.compress(made()) if name.endswith("big") else made())
    field, report = formats.inspect(path)
    assert (report.format, report.ok, report.shape) == (kind, True, SHAPE)
    tolerance = 2e-7 if single else 1e-14
    np.testing.assert_allclose(field.links, links(nc, single=single), atol=tolerance)
    assert report.plaquette == pytest.approx(plaquette(nc), abs=1e-6 if single else 1e-13)
    assert field.dtype == (np.complex64 if single else np.complex128)


@pytest.mark.parametrize("name", ["mdp", "vogt", "ddalphaamg", "bmw", "hirep", "openqcd"])
def test_what_is_written_is_what_the_code_writes(name: str, tmp_path: Path) -> None:
    formats.write(FIELDS[3], tmp_path / "u", format=name)
    ours = (tmp_path / "u").read_bytes()
    theirs = codes.vogt(links(), "<d") if name == "vogt" else FILES[name][3]()
    size = {"mdp": 236, "vogt": 14, "bmw": 4096, "hirep": 28}.get(name, 24)
    assert ours[size:] == theirs[size:]
    assert len(ours) == len(theirs)
    if name not in ("mdp", "bmw"):
        assert ours[: size - 8] == theirs[: size - 8]


def test_bare_lime(tmp_path: Path) -> None:
    for nc, code in ((3, ">d"), (2, ">f"), (4, ">d")):
        path = tmp_path / "bare"
        data = codes.lexicographic(links(nc), code)
        path.write_bytes(codes.lime([("ildg-binary-data", data)], pad_last=False))
        with pytest.raises(FormatError, match="--shape"):
            formats.read(path)
        field = formats.read(path, shape=SHAPE)
        np.testing.assert_allclose(field.links, links(nc), atol=1e-7)
        with pytest.raises(FormatError):
            formats.read(path, shape=(4, 4, 6, 4))


@pytest.mark.parametrize("after", [b"\n", bytes(7), bytes(1000), b"written by hand\n"])
def test_bytes_after_the_records(after: bytes, tmp_path: Path) -> None:
    path = tmp_path / "u.lime"
    path.write_bytes(ildg() + after)
    with pytest.warns(UserWarning, match="after the records"):
        assert formats.read(path) == FIELDS[3]
    for broken in (ildg() + ildg()[:100], ildg()[:-200], ildg() + b"x" * 200):
        path.write_bytes(broken)
        with pytest.raises(FormatError):
            formats.read(path)


@pytest.mark.parametrize("show", [".14e", ""])
def test_text_of_bridge(show: str, tmp_path: Path) -> None:
    for nc in (2, 3):
        path = tmp_path / "conf"
        path.write_bytes(codes.bridge(links(nc), show))
        with pytest.raises(FormatError, match="--shape"):
            formats.read(path)
        field, report = formats.inspect(path, shape=SHAPE)
        assert report.format == "bridge"
        np.testing.assert_allclose(field.links, links(nc), rtol=0, atol=1e-14 if show else 0)
        with pytest.raises(FormatError):
            formats.read(path, shape=(4, 4, 6, 4))
        formats.write(field, tmp_path / "again.txt", format="bridge")
        assert (tmp_path / "again.txt").read_bytes() == codes.bridge(field.links, ".16e")


@pytest.mark.parametrize("kind", ["lime", "text"])
def test_extents_in_another_order_are_noticed(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "conf"
    data = codes.lexicographic(links(), ">d")
    lime = codes.lime([("ildg-binary-data", data)], pad_last=False)
    path.write_bytes(lime if kind == "lime" else codes.bridge(links()))
    formats.read(path, shape=SHAPE)  # warnings are errors
    for wrong in ((2, 4, 6, 4), (4, 2, 4, 6)):
        with pytest.warns(UserWarning, match=re.escape(str(SHAPE))):
            field = formats.read(path, shape=wrong)
        assert field.shape == wrong


def test_text_of_bridge_that_is_damaged(tmp_path: Path) -> None:
    lines = codes.bridge(links()).split(b"\n")
    lines[700] = b"1_0"
    path = tmp_path / "conf.txt"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(FormatError) as caught:
        formats.read(path, shape=SHAPE)
    assert caught.value.line == 701


@pytest.mark.parametrize("prefix", ["<", ">"])
def test_a_record_of_jlqcd(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "conf"
    path.write_bytes(codes.jlqcd(links(), prefix))
    with pytest.warns(UserWarning, match="mu t z y x a b"):
        field = formats.read(path, format="raw", shape=SHAPE)
    np.testing.assert_array_equal(field.links, links())


@pytest.mark.parametrize("stated", ["0xnonsense", "none", "123456789abc"])
def test_a_checksum_that_cannot_be_read(stated: str, tmp_path: Path) -> None:
    path = tmp_path / "u.lime"
    path.write_bytes(ildg(f"[{stated}] {{1:x}}").replace(b"[", b" ").replace(b"]", b" "))
    with pytest.raises(ChecksumError):
        formats.read(path)
    with pytest.warns(UserWarning, match="checksum"):
        formats.read(path, ignore_checksum=True)
    path.write_bytes(codes.nersc(links(), checksum="0xnonsense"))
    with pytest.raises(ChecksumError):
        formats.read(path, format="nersc")


def test_a_zero_checksum_beside_a_wrong_plaquette(tmp_path: Path) -> None:
    path = tmp_path / "u.nersc"
    path.write_bytes(codes.nersc(links(), checksum="0", plaquette="0.123456"))
    with pytest.raises(ChecksumError):
        formats.read(path)
    path.write_bytes(codes.nersc(links(), checksum="0"))
    with pytest.warns(UserWarning, match="CHECKSUM = 0"):
        formats.read(path)


def test_comments_and_small_letters_in_a_header(tmp_path: Path) -> None:
    path = tmp_path / "u.nersc"
    data = (
        codes.nersc(links()).replace(b"GAUGE_3x3", b"GAUGE_3X3").replace(b"IEEE64BIG", b"ieee64big")
    )
    path.write_bytes(data.replace(b"HEADER\n", b"HEADER\n# made by hand\n\n", 1))
    with pytest.warns(UserWarning, match="made by hand"):
        assert formats.read(path) == FIELDS[3]


def test_too_much_after_the_links(tmp_path: Path) -> None:
    path = tmp_path / "u.nersc"
    path.write_bytes(codes.nersc(links(), after=b"\n" * 100))
    with pytest.raises(FormatError):
        formats.read(path)


def test_second_rows_that_were_not_written(tmp_path: Path) -> None:
    data = bytearray(codes.vogt(links(2), "<f"))
    for i in range(4 * FIELDS[2].volume):
        data[14 + 32 * i + 16 : 14 + 32 * i + 32] = struct.pack("<4i", i, 2, 3, 4)
    path = tmp_path / "u.vogt"
    path.write_bytes(data)
    with pytest.warns(UserWarning, match="second rows"):
        field = formats.read(path)
    np.testing.assert_allclose(field.links, links(2), atol=2e-7)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<c16", ">c16", ">c8"])
def test_arrays_of_numpy(order: Any, dtype: str, tmp_path: Path) -> None:
    array = np.asarray(links(), dtype=dtype, order=order)
    np.save(tmp_path / "u.npy", array)
    field = formats.read(tmp_path / "u.npy")
    np.testing.assert_array_equal(field.links, array)
    assert field.dtype.isnative
    assert GaugeField(array) == field
    with gzip.open(tmp_path / "v.npy.gz", "wb") as file:
        np.save(file, np.moveaxis(array, 4, 0))
    with pytest.warns(UserWarning, match="mu t z y x a b"):
        assert formats.read(tmp_path / "v.npy.gz") == field


@pytest.mark.parametrize(
    ("file", "name", "shape", "value", "options"),
    [
        ("L4T8conf", "ildg", (4, 4, 4, 8), 0.63500557, {}),
        ("L4T8conf.landau", "ildg", (4, 4, 4, 8), 0.63500557, {"shape": (4, 4, 4, 8)}),
        ("HiRep_obc_L8T8.hirep", "hirep", (8, 8, 8, 8), 0.826682342, {}),
        ("lat.sample.l4444.nersc", "nersc", (4, 4, 4, 4), 0.594850122929, {}),
        ("lat.sample.l4444.vogt", "vogt", (4, 4, 4, 4), 0.594850, {}),
        ("configSU2N4T8SP.vogt", "vogt", (4, 4, 4, 8), 0.565964, {}),
    ],
)
def test_public_files(
    file: str, name: str, shape: tuple[int, ...], value: float, options: dict[str, Any]
) -> None:
    path = PUBLIC / file
    if not path.exists():
        pytest.skip(f"{file}, a public configuration, is not in ../shared/data/gauge")
    field, report = formats.inspect(path, **options)
    assert (report.format, report.shape, report.ok) == (name, shape, True)
    assert report.plaquette == pytest.approx(value, abs=5e-7)
    assert field.boundary == ("open" if "obc" in file else "periodic")


@pytest.mark.parametrize(("at", "value"), [(20, 100), (24, 1), (232, 3), (232, -1)])
def test_headers_of_1996_that_cannot_be(at: int, value: int, tmp_path: Path) -> None:
    # the bytes of the header, the order of sites, the number of parameters
    content = bytearray(codes.milc_1996(links(), ">"))
    content[at : at + 4] = value.to_bytes(4, "big", signed=True)
    path = tmp_path / "u.milc"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        formats.read(path)
