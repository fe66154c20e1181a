"""Ising files that are written: their text, what writers refuse, and replacement as a whole."""

import gzip
import lzma
import os
import stat

import pytest

from hardscape.errors import InputError
from hardscape.ising import formats
from hardscape.ising.model import Ising


def test_text_of_each_writer(tmp_path):
    cut = Ising([0, 0, 0], {(0, 1): 0.5, (1, 2): -0.125}, -0.375)
    wanted = {
        "a.coo": "# hardscape num_spins=3 offset=-0.375 base=0 convention=dimod\n"
        "0 1 0.5\n1 2 -0.125\n",
        "a.rud": "3 2\n1 2 1\n2 3 -0.25\n",
        "a.sparse": "3 5\n1 1 -1\n1 2 1\n2 2 -0.75\n2 3 -0.25\n3 3 0.25\n",
        "a.qubo": "p qubo 0 3 3 2\n0 0 -1\n1 1 -0.75\n2 2 0.25\n0 1 2\n1 2 -0.5\n",
    }
    for name, text in wanted.items():
        formats.write(cut, tmp_path / name)
        assert (tmp_path / name).read_text() == text
        assert formats.read(tmp_path / name) == cut
    shifted = Ising(cut.h, cut.J, 1)
    formats.write(shifted, tmp_path / "a.qubo")
    assert (tmp_path / "a.qubo").read_text().startswith("c hardscape offset=1.375\n")
    assert formats.read(tmp_path / "a.qubo") == shifted


def test_base_and_convention_of_coo(tmp_path):
    model = Ising([1, 0], {(0, 1): 2}, 5)
    formats.write(model, tmp_path / "a.coo", base=1, convention="ising")
    lines = (tmp_path / "a.coo").read_text().splitlines()
    assert lines[1:] == ["1 1 -1", "1 2 -2"]
    assert formats.read(tmp_path / "a.coo", convention="ising") == model


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_compression_by_suffix(tmp_path, suffix):
    model = Ising([1, 0], {(0, 1): 2}, 5)
    path = tmp_path / f"a.coo{suffix}"
    formats.write(model, path)
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}[suffix]
    assert unpack(path.read_bytes()).startswith(b"# hardscape num_spins=2")
    assert formats.detect(path) == "coo"
    assert formats.read(path) == Ising.from_file(path) == model


NOT_A_FLOAT = Ising.from_entries(2, [0, 0], [1, 1], [0.125, 2.0**80])


@pytest.mark.parametrize(
    ("model", "name", "mentions"),
    [
        (NOT_A_FLOAT, "a.coo", "J[0, 1]"),
        (NOT_A_FLOAT, "a.json", "J[0, 1]"),
        (NOT_A_FLOAT, "a.qubo", "npz"),
        (Ising([1, 0], {}), "a.rud", "h[0]"),
        (Ising([0, 0], {(0, 1): 1}), "a.rud", "-1.0"),
        (Ising([1, 0], {}), "a.sparse", "-1.0"),
        (Ising([0, 0], {(0, 1): 8e307}), "a.sparse", "rescale"),
        (Ising([0], {}, labels=[frozenset()]), "a.json", "frozenset"),
        (Ising([0], {}, labels=[None]), "a.npz", "None"),
    ],
)
def test_writers_refuse_what_they_cannot_hold(tmp_path, model, name, mentions):
    with pytest.raises(InputError) as caught:
        formats.write(model, tmp_path / name)
    assert mentions in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.dat", {}),
        ("a", {}),
        ("a.coo", {"format": "csv"}),
        ("a.coo", {"base": 2}),
        ("a.coo", {"base": True}),
        ("a.coo", {"convention": "physics"}),
        ("a.qubo", {"base": 1}),
        ("a.rud", {"base": 0}),
        ("a.npz", {"base": 0}),
        ("a.qubo", {"convention": "ising"}),
        ("a.json", {"convention": "ising"}),
        ("missing/a.coo", {}),
        ("a\0b.coo", {}),
        ("x" * 300 + ".coo", {}),
    ],
)
def test_write_refuses(tmp_path, name, options):
    with pytest.raises(InputError):
        formats.write(Ising([0], {}), tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_write_takes_models_alone(tmp_path):
    with pytest.raises(InputError):
        formats.write({(0, 1): 1.0}, tmp_path / "a.coo")
    with pytest.raises(InputError):
        formats.write(Ising([0], {}), 7)


def test_write_replaces_a_file_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.coo"
    formats.write(Ising([1], {}), path)
    path.chmod(0o640)
    before = path.read_bytes()

    def fails(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(InputError, match=r"a\.coo"):
            formats.write(Ising([2], {}), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    formats.write(Ising([2], {}), path)
    assert formats.read(path) == Ising([2], {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_write_follows_links_and_leaves_what_is_no_file(tmp_path):
    (tmp_path / "real.coo").write_text("")
    (tmp_path / "link.coo").symlink_to(tmp_path / "real.coo")
    formats.write(Ising([2], {}), tmp_path / "link.coo")
    assert (tmp_path / "link.coo").is_symlink()
    assert formats.read(tmp_path / "real.coo") == Ising([2], {})
    (tmp_path / "folder.coo").mkdir()
    os.mkfifo(tmp_path / "pipe.coo")
    for name in ("folder.coo", "pipe.coo"):
        with pytest.raises(InputError):
            formats.write(Ising([2], {}), tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "folder.coo",
        "link.coo",
        "pipe.coo",
        "real.coo",
    ]
