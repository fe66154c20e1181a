"""Files that list which sites they hold: MILC's checkpoints, and QIO's files in parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardscape.errors import ChecksumError, FormatError
from hardscape.gauge import formats, generate
from helpers import gauge_files as codes

FIELDS = {
    nc: generate((4, 2, 6, 4), 2.4 * nc, nc, sweeps=10, seed=3, device="cpu") for nc in (2, 3)
}
ORDER = np.random.default_rng(1).permutation(FIELDS[3].volume)


@pytest.mark.parametrize("prefix", "<>")
def test_a_checkpoint_of_milc(prefix: str, tmp_path: Path) -> None:
    path, field = tmp_path / "lat.chk", FIELDS[3]
    data = bytearray(codes.milc_listed(field.links, prefix, ORDER))
    path.write_bytes(data)
    read, report = formats.inspect(path)
    assert (report.format, report.checksum_ok, report.shape) == ("milc", True, field.shape)
    np.testing.assert_array_equal(read.links, field.links.astype(np.complex64))
    path.write_bytes(data[:-1] + b"!")
    with pytest.raises(ChecksumError):
        formats.read(path)
    data[88:92] = data[92:96]  # a site twice
    path.write_bytes(data)
    with pytest.raises(FormatError, match="list of sites"):
        formats.read(path)


@pytest.mark.parametrize("folders", [False, True])
@pytest.mark.parametrize(("nc", "code"), [(3, "d"), (2, "f")])
def test_parts_of_qio(folders: bool, nc: int, code: str, tmp_path: Path) -> None:
    field, names = FIELDS[nc], []
    for i, sites in enumerate(np.split(ORDER, 4)):
        names.append(tmp_path / (f"vol{i:04d}/u.lime" if folders else f"u.lime.vol{i:04d}"))
        names[-1].parent.mkdir(exist_ok=True)
        names[-1].write_bytes(codes.qio_part(field.links, sites, code, i == 0))
    for name in names:
        read, report = formats.inspect(name)
        assert (report.format, report.checksum_ok, report.shape) == ("ildg", True, field.shape)
        np.testing.assert_allclose(read.links, field.links, atol=1e-7)
    names[2].rename(tmp_path / "elsewhere")
    with pytest.raises(FormatError, match="144 of 192 sites"):
        formats.read(names[0])
    names[2].write_bytes(codes.qio_part(FIELDS[5 - nc].links, np.arange(48), code, False))
    with pytest.raises(FormatError, match="vol0002"):
        formats.read(names[0])


def test_one_part_of_all_sites(tmp_path: Path) -> None:
    path = tmp_path / "u.vol0000"
    data = bytearray(codes.qio_part(FIELDS[3].links, ORDER, "d", True))
    path.write_bytes(data)
    assert formats.read(path) == FIELDS[3]
    at = data.index(b"scidac-binary-data") + 128
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(ChecksumError):
        formats.read(path)
    at = data.index(b"scidac-sitelist") + 128
    data[at : at + 4] = b"\x7f\0\0\0"
    path.write_bytes(data)
    with pytest.raises(FormatError):
        formats.read(path)
