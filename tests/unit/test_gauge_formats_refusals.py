"""Damaged, truncated and foreign files of links, and what cannot be written."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.errors import (
    ChecksumError,
    FormatError,
    InputError,
    MissingDependencyError,
)
from hardscape.gauge import GaugeField, formats

BINARY = ["nersc", "ildg", "milc", "openqcd", "hirep", "npz"]
FIELD = GaugeField.random((2, 2, 4, 2), 2, seed=21)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("files")
    found = {}
    for name in BINARY:
        formats.write(FIELD, folder / name, format=name)
        found[name] = (folder / name).read_bytes()
    return found


@pytest.mark.parametrize("name", BINARY)
def test_truncated(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    data, path = files[name], tmp_path / "cut"
    for length in (0, 1, 20, 90, len(data) // 2, len(data) - 1000, len(data) - 9):
        path.write_bytes(data[:length])
        with pytest.raises(FormatError):
            formats.read(path)
        with pytest.raises(FormatError):
            formats.read(path, format=name)


@pytest.mark.parametrize("name", BINARY)
def test_one_wrong_byte_in_the_links(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    data = bytearray(files[name])
    # A high byte of a number near the end of the links, whatever the byte order.
    place = data.find(b"scidac-checksum") - 80 if name == "ildg" else len(data) - 1000
    for offset in range(8):
        data[place - place % 8 + offset] ^= 0x11
    path = tmp_path / "wrong"
    path.write_bytes(bytes(data))
    with pytest.raises(FormatError):
        formats.read(path)


def test_a_wrong_checksum_can_be_ignored(files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "u.nersc"
    path.write_bytes(re.sub(rb"CHECKSUM = \w{8}", b"CHECKSUM = 0badcafe", files["nersc"]))
    with pytest.raises(ChecksumError):
        formats.read(path)
    with pytest.warns(UserWarning, match="0badcafe"):
        field = formats.read(path, ignore_checksum=True)
    np.testing.assert_array_equal(field.links, FIELD.links)
    _, report = formats.inspect(path)
    assert report.checksum_ok is False
    assert report.plaquette_ok is True
    assert not report.ok


@pytest.mark.parametrize("claim", ["PLAQUETTE", "LINK_TRACE"])
def test_a_wrong_average(claim: str, files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "u.nersc"
    path.write_bytes(re.sub(rb"(%s) = \S+" % claim.encode(), rb"\1 = 0.12345", files["nersc"]))
    with pytest.raises(ChecksumError):
        formats.read(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"4D_SU2_GAUGE_2x2", b"4D_SU4_GAUGE_4x4"),
        (b"4D_SU2_GAUGE_2x2", b"4D_SU3_GAUGE_3x3"),
        (b"4D_SU2_GAUGE_2x2", b"4D_SU2_GAUGE_3x2"),
        (b"IEEE64BIG", b"IEEE16BIG"),
        (b"IEEE64BIG", b"IEEE32BIG"),
        (b"DIMENSION_3 = 4", b"DIMENSION_3 = 1"),
        (b"DIMENSION_3 = 4", b"DIMENSION_3 = 99999999999"),
        (b"DIMENSION_3 = 4", b"DIMENSION_3 = four"),
        (b"DIMENSION_3 = 4", b"DIMENSION_5 = 4"),
        (b"CHECKSUM = ", b"CHECKSUM = x"),
        (b"PLAQUETTE = ", b"PLAQUETTE = x"),
        (b"PLAQUETTE = ", b"PLAQUETTE   "),
        (b"PLAQUETTE = ", b"PLAQUETTE = nan\n#"),
        (b"PLAQUETTE = ", b"PLAQUETTE = 1e99999\nOLD = "),
        (b"PLAQUETTE = ", b"PLAQUETTE = 1e-99999\nOLD = "),
        (b"END_HEADER", b"THE_HEADER"),
    ],
)
def test_nersc_headers(old: bytes, new: bytes, files: dict[str, bytes], tmp_path: Path) -> None:
    assert old in files["nersc"]
    path = tmp_path / "u.nersc"
    path.write_bytes(files["nersc"].replace(old, new))
    with pytest.raises(FormatError):
        formats.read(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"su2gauge", b"su5gauge"),
        (b"su2gauge", b"su3gauge"),
        (b"<precision>64", b"<precision>16"),
        (b"<precision>64", b"<precision>32"),
        (b"<lz>4", b"<lz>3"),
        (b"<lz>4</lz>", b"<lx>4</lx>"),
        (b"<suma>", b"<sums>"),
        (b"ildg-binary-data", b"ildg-banary-data"),
    ],
)
def test_ildg_records(old: bytes, new: bytes, files: dict[str, bytes], tmp_path: Path) -> None:
    assert old in files["ildg"]
    path = tmp_path / "u.ildg"
    path.write_bytes(files["ildg"].replace(old, new))
    with pytest.raises(FormatError):
        formats.read(path)


def test_sizes_that_fit_no_group(files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "u"
    for name in ("milc", "openqcd", "hirep"):
        path.write_bytes(files[name] + bytes(64))
        with pytest.raises(FormatError):
            formats.read(path, format=name)


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.write_text("links, links, links")
    with pytest.raises(FormatError):
        formats.read(path)
    for name in formats.FORMATS:
        with pytest.raises(FormatError):
            formats.read(path, format=name)
    np.savez(tmp_path / "other.npz", h=np.zeros(3))
    with pytest.raises(FormatError):
        formats.read(tmp_path / "other.npz")
    np.savez(tmp_path / "objects.npz", links=np.array([{}], dtype=object))
    with pytest.raises(FormatError):
        formats.read(tmp_path / "objects.npz")


def test_numbers_that_no_field_has(tmp_path: Path) -> None:
    path = tmp_path / "u.milc"
    formats.write(FIELD, path)
    data = bytearray(path.read_bytes())
    data[96:100] = np.array(np.nan, ">f4").tobytes()
    path.write_bytes(bytes(data))
    with pytest.raises(FormatError):
        formats.read(path, ignore_checksum=True)


def test_hdf5_of_something_else(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "u.h5"
    formats.write(FIELD, path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError):
        formats.read(path)
    with h5py.File(path, "w") as file:
        file["links"] = np.zeros(3)
    with pytest.raises(FormatError):
        formats.read(path)
    with h5py.File(path, "w") as file:
        file["gauge"] = np.zeros(3)
    with pytest.raises(FormatError):
        formats.read(path)


def test_hdf5_without_h5py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    path = tmp_path / "u.h5"
    with pytest.raises(MissingDependencyError):
        formats.write(FIELD, path)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(MissingDependencyError):
        formats.read(path)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("milc", {"precision": "double"}),
        ("openqcd", {"precision": "single"}),
        ("openqcd", {"checksum": False}),
        ("hirep", {"byteorder": "little"}),
        ("ildg", {"byteorder": "little"}),
        ("ildg", {"rows": 1}),
        ("nersc", {"rows": 3}),
        ("nersc", {"rows": 0}),
        ("nersc", {"precision": "half"}),
        ("nersc", {"byteorder": "middle"}),
        ("docx", {}),
        (None, {}),
    ],
)
def test_what_cannot_be_written(name: str | None, options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        formats.write(FIELD, tmp_path / "u.txt", format=name, **options)
    assert list(tmp_path.iterdir()) == []


def test_unknown_format_for_reading(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        formats.read(tmp_path / "u", format="docx")
