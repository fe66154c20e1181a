"""Files of gauge configurations: round trips, bytes, checksums, public files."""

from __future__ import annotations

import itertools
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.errors import ChecksumError, FormatError, InputError
from hardscape.gauge import GaugeField, formats
from hardscape.gauge.formats.ildg import rotated_sums

PUBLIC = Path(__file__).resolve().parents[3] / "shared" / "data" / "gauge"

#: All ways to write each format: name, options, and the precision that comes back.
WAYS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("nersc", {"precision": precision, "byteorder": order, "rows": rows})
        for precision, order, rows in itertools.product(
            ("single", "double"), ("big", "little"), ("all", "reduced")
        )
    ),
    *(
        ("ildg", {"precision": precision, "checksum": checksum})
        for precision, checksum in itertools.product(("single", "double"), (True, False))
    ),
    *(("milc", {"precision": "single", "byteorder": order}) for order in ("big", "little")),
    ("openqcd", {"precision": "double"}),
    ("hirep", {"precision": "double"}),
    *((name, {"precision": x}) for name in ("npz", "hdf5") for x in ("single", "double")),
]


def name_of(value: object) -> str:
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def options_for(options: dict[str, Any], nc: int) -> dict[str, Any]:
    rows = {"all": nc, "reduced": nc - 1}
    return options | ({"rows": rows[options["rows"]]} if "rows" in options else {})


@pytest.mark.parametrize("nc", [2, 3, 4])
@pytest.mark.parametrize(("name", "options"), WAYS, ids=name_of)
def test_round_trip(name: str, options: dict[str, Any], nc: int, tmp_path: Path) -> None:
    if name == "hdf5":
        pytest.importorskip("h5py")
    field = GaugeField.random((4, 2, 6, 8), nc, seed=11)
    path, again = tmp_path / "first", tmp_path / "second"
    given = options_for(options, nc)
    formats.write(field, path, format=name, **given)
    assert formats.detect(path) == name
    back, report = formats.inspect(path)
    single = options["precision"] == "single"
    expected = field.astype(np.complex64) if single else field
    assert back.dtype == expected.dtype
    if options.get("rows") == "reduced":
        np.testing.assert_allclose(back.links, expected.links, atol=1e-6 if single else 1e-15)
    else:
        np.testing.assert_array_equal(back.links, expected.links)
    assert report.ok
    assert report.shape == (4, 2, 6, 8)
    assert report.nc == nc
    has_sum = name in ("nersc", "milc", "npz", "hdf5") or options.get("checksum", False)
    assert report.checksum_ok is (True if has_sum else None)
    formats.write(back, again, format=name, header=report.header, **given)
    assert again.read_bytes() == path.read_bytes()


def test_the_file_is_in_the_order_that_its_format_has(tmp_path: Path) -> None:
    """One recognisable link at a place where every extent differs."""
    links = GaugeField.identity((4, 6, 8, 10)).links
    x, y, z, t, mu = 3, 4, 5, 6, 1
    links[t, z, y, x, mu] = np.diag([-1, -1, 1])
    field = GaugeField(links)
    lexicographic = ((((t * 8 + z) * 6 + y) * 4 + x) * 4 + mu) * 18
    hirep = ((((t * 4 + x) * 6 + y) * 8 + z) * 4 + 2) * 18
    # t + x + y + z = 18 is even: the link is stored with its odd end x + y, which counts half the sites.
    openqcd = ((((t * 4 + x) * 6 + y + 1) * 8 + z) // 2 * 8 + 2 * 2 + 1) * 18
    for name, header, dtype, place in (
        ("milc", 96, ">f4", lexicographic),
        ("hirep", 28, ">f8", hirep),
        ("openqcd", 24, "<f8", openqcd),
    ):
        path = tmp_path / name
        formats.write(field, path, format=name)
        numbers = np.frombuffer(path.read_bytes()[header:], dtype)
        assert np.flatnonzero(numbers == -1).tolist() == [place, place + 8]


def test_headers_of_two_colours(tmp_path: Path) -> None:
    field = GaugeField.random((2, 2, 2, 4), 2, seed=1)
    formats.write(field, tmp_path / "a.nersc")
    formats.write(field, tmp_path / "b.nersc", rows=1)
    formats.write(field, tmp_path / "c.ildg")
    formats.write(field, tmp_path / "d.hirep")
    assert b"DATATYPE = 4D_SU2_GAUGE_2x2\n" in (tmp_path / "a.nersc").read_bytes()
    assert b"DATATYPE = 4D_SU2_GAUGE\n" in (tmp_path / "b.nersc").read_bytes()
    ildg = (tmp_path / "c.ildg").read_bytes()
    assert b"<field>su2gauge</field>" in ildg
    assert b"<colors>2</colors><typesize>64</typesize>" in ildg
    assert struct.unpack(">5i", (tmp_path / "d.hirep").read_bytes()[:20]) == (2, 4, 2, 2, 2)


def test_ildg_states_plaquette_and_trace(tmp_path: Path) -> None:
    field = GaugeField.random((2, 4, 2, 2), 3, seed=1)
    path, other = tmp_path / "a.ildg", tmp_path / "b.ildg"
    formats.write(field, path)
    _, report = formats.inspect(path)
    assert (report.plaquette_ok, report.link_trace_ok) == (True, True)
    assert report.plaquette_stated == pytest.approx(field.plaquette(), abs=1e-11)
    stated = f"<plaq>{field.plaquette():.12g}".encode()
    wrong = b"<plaq>" + b"9" * (len(stated) - len(b"<plaq>"))
    other.write_bytes(path.read_bytes().replace(stated, wrong))
    _, report = formats.inspect(other)
    assert (report.ok, report.plaquette_ok, report.checksum_ok) == (False, False, True)
    with pytest.raises(ChecksumError):
        formats.read(other)
    record = "<usqcdInfo><plaq> 5.0e-01 </plaq><linktr>0.1</linktr><info>beta 6</info></usqcdInfo>"
    formats.write(field, other, header={"scidac-record-xml": record})
    _, report = formats.inspect(other)
    assert report.ok
    assert "<info>beta 6</info>" in report.header["scidac-record-xml"]
    formats.write(field, other, header={"scidac-record-xml": "<mine><plaq>3</plaq></mine>"})
    assert formats.inspect(other)[1].plaquette_ok is None


def test_suffixes(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    field = GaugeField.random((2, 2, 2, 2), 3, seed=1)
    for name, kind in formats.FORMATS.items():
        for suffix in kind.SUFFIXES:
            path = tmp_path / f"u{suffix.upper()}"
            formats.write(field, path)
            assert formats.detect(path) == name
            # Between random links the plaquette can be anything, so right links have the right one.
            assert formats.read(path).plaquette() == pytest.approx(field.plaquette(), abs=1e-6)


def test_a_header_is_carried_along(tmp_path: Path) -> None:
    field = GaugeField.random((2, 2, 2, 2), 3, seed=1)
    first, second, third = (tmp_path / f"{i}.nersc" for i in range(3))
    formats.write(field, first, header={"ENSEMBLE_ID": "quenched", "CREATOR": "me"})
    _, report = formats.inspect(first)
    assert report.header["ENSEMBLE_ID"] == "quenched"
    other = GaugeField.random((2, 2, 2, 4), 3, seed=2)
    formats.write(other, second, header=report.header)
    _, report = formats.inspect(second)
    assert report.ok
    assert report.header["CREATOR"] == "me"
    assert report.header["DIMENSION_4"] == "4"
    formats.write(other, third, header=report.header, checksum=False)
    assert formats.inspect(third)[1].checksum_ok is None


def test_milc_date(tmp_path: Path) -> None:
    path = tmp_path / "a.milc"
    formats.write(
        GaugeField.random((2, 2, 2, 2)), path, header={"date": "Wed Oct 10 14:27:08 2001"}
    )
    assert formats.inspect(path)[1].header["date"] == "Wed Oct 10 14:27:08 2001"


def test_rotated_sums() -> None:
    words = np.random.default_rng(1).integers(0, 2**32, 100, dtype=np.uint32)
    expected = [0, 0]
    for i, word in enumerate(words.tolist()):
        for n, shift in enumerate((i % 29, i % 31)):
            expected[n] ^= (word << shift | word >> (32 - shift)) & 0xFFFFFFFF
    assert rotated_sums(words) == f"{expected[0]:08x} {expected[1]:08x}"


def test_scidac_records_without_ildg_format(tmp_path: Path) -> None:
    path = tmp_path / "u.ildg"
    formats.write(GaugeField.random((2, 2, 2, 4), 2, seed=5), path)
    renamed = path.read_bytes().replace(b"ildg-binary-data\0\0", b"scidac-binary-data")
    path.write_bytes(renamed)
    _, report = formats.inspect(path)
    assert report.ok
    assert report.checksum_ok
    assert report.shape == (2, 2, 2, 4)


def test_report(tmp_path: Path) -> None:
    field = GaugeField.random((2, 2, 2, 4), 3, seed=5)
    links = field.links.copy()
    links[0, 0, 0, 0, 0] *= 1.01
    formats.write(GaugeField(links), tmp_path / "u.nersc")
    _, report = formats.inspect(tmp_path / "u.nersc")
    assert report.checksum_ok
    assert report.plaquette_ok
    assert report.unitarity > 0.01
    assert not report.ok
    assert report.to_dict()["shape"] == [2, 2, 2, 4]
    assert pickle.loads(pickle.dumps(report)) == report


@pytest.mark.parametrize(
    ("file", "name", "shape", "precision", "plaquette", "checksum"),
    [
        ("nersc.l8t4b3360", "nersc", (8, 8, 8, 4), "double", 0.5038664469, "b379560a"),
        ("ildg.l8t4b3360", "ildg", (8, 8, 8, 4), "double", 0.5038664469, "10d0ea1a a6a1b3b8"),
        ("lat.sample.l4448", "milc", (4, 4, 4, 8), "single", 0.5690557, "13f3b413 161f7dde"),
        ("lat.sample.l4448.gf", "milc", (4, 4, 4, 8), "single", 0.5690557, "092a1404 01416736"),
        ("lat.sample.l4448.scidac", "ildg", (4, 4, 4, 8), "single", 0.5690557, "1c5a6cb5 5dea327a"),
        ("lat.sample.l4444.ildg", "ildg", (4, 4, 4, 4), "single", 0.5948502, "37affb9c 2fc07bbf"),
    ],
)
def test_public_files(
    file: str,
    name: str,
    shape: tuple[int, ...],
    precision: str,
    plaquette: float,
    checksum: str,
    tmp_path: Path,
) -> None:
    path = PUBLIC / file
    if not path.exists():
        pytest.skip(f"{file}, a public sample configuration, is not in ../shared/data/gauge")
    field, report = formats.inspect(path)
    assert report.ok
    assert (report.format, report.shape, report.precision) == (name, shape, precision)
    assert report.plaquette == pytest.approx(plaquette, abs=2e-7)
    assert report.checksum_stated == checksum
    assert report.unitarity < 1e-6
    again = tmp_path / "again"
    formats.write(field, again, format=name, header=report.header)
    if name == "ildg":
        # Which records accompany the links is each program's choice; the links and their sum are not.
        kind = b"scidac-binary-data" if file.endswith("scidac") else b"ildg-binary-data"
        old, new = path.read_bytes(), again.read_bytes()
        size = field.links.nbytes
        begin = old.index(kind) + 128, new.index(b"ildg-binary-data") + 128
        assert old[begin[0] : begin[0] + size] == new[begin[1] : begin[1] + size]
        assert formats.inspect(again)[1].checksum_stated == checksum
    else:
        assert again.read_bytes() == path.read_bytes()


def test_one_public_configuration_in_two_formats() -> None:
    paths = [PUBLIC / "nersc.l8t4b3360", PUBLIC / "ildg.l8t4b3360"]
    if not all(path.exists() for path in paths):
        pytest.skip("the public configuration l8t4b3360 is not in ../shared/data/gauge")
    one, other = (formats.read(path).links for path in paths)
    np.testing.assert_allclose(one, other, atol=1e-14)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "u.openqcd"
    path.write_bytes(b"old")
    with pytest.raises(InputError):
        formats.write(GaugeField.identity((3, 2, 2, 2)), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_replacing_the_file_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "u.nersc"
    field = GaugeField.random((2, 2, 2, 2), 2, seed=4)
    formats.write(field, path)
    formats.write(formats.read(path), path, byteorder="little")
    np.testing.assert_array_equal(formats.read(path).links, field.links)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        formats.read(tmp_path / "nowhere")
    with pytest.raises(FormatError):
        formats.read(tmp_path)
    with pytest.raises(InputError):
        formats.read("a\0b")
    with pytest.raises(InputError):
        formats.write(GaugeField.identity((2, 2, 2, 2)), tmp_path / "no" / "folder.nersc")
