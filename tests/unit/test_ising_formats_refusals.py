"""Malformed Ising files: each is refused with its path and line, and nothing else escapes."""

import gzip
import io
import json
import lzma
import zipfile

import dimod
import numpy as np
import pytest

from hardscape.errors import FormatError, InputError
from hardscape.ising import formats
from hardscape.ising.model import Ising
from helpers.readers import bqm_file

BQM = {
    "type": "BinaryQuadraticModel",
    "version": {"bqm_schema": "3.0.0"},
    "use_bytes": False,
    "variable_labels": ["a", "b"],
    "variable_type": "SPIN",
    "offset": 0.0,
    "linear_biases": [1.0, 2.0],
    "quadratic_biases": [3.0],
    "quadratic_head": [0],
    "quadratic_tail": [1],
}


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.coo", "1 2 1\n1 2\n", 2),
        ("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1\n3 1 -1\n", 1),
        ("a.coo", "%%matrixmarket matrix coordinate real general\n2 2 1\n1 2 1\n", 1),
        ("a.coo", "1 2 1\n1 2 3 4\n", 2),
        ("a.coo", "1 2 one\n", 1),
        ("a.coo", "1 2 nan\n", 1),
        ("a.coo", "1 2 -inf\n", 1),
        ("a.coo", "1 2 1e400\n", 1),
        ("a.coo", "1 2 1_0\n", 1),
        ("a.coo", "1 2 0x10\n", 1),
        ("a.coo", "1 2 1" + 400 * "0" + "\n", 1),
        ("a.coo", "1 2 \u0661\n", 1),
        ("a.coo", "1 \u0662 1\n", 1),
        ("a.coo", "1 2.0 1\n", 1),
        ("a.coo", "\n-1 2 1\n", 2),
        ("a.coo", "1 1000000000000 1\n", 1),
        ("a.coo", f"1 {'9' * 5000} 1\n", 1),
        ("a.coo", f"1 2 {'9' * 5000}\n", 1),
        ("a.coo", "# no entries\n", None),
        ("a.coo", "1 2 1e308\n2 2 1e308\n", None),
        ("a.coo", "# hardscape num_spins=2\n1 3 1\n", 2),
        ("a.coo", "# hardscape num_spins=-1\n", 1),
        ("a.coo", "# hardscape num_spins=99999999\n", 1),
        ("a.coo", "# hardscape spins=2\n", 1),
        ("a.coo", "# hardscape base=2\n1 2 1", 1),
        ("a.coo", "# hardscape convention=x\n1 2 1", 1),
        ("a.coo", "# hardscape offset=nan\n1 2 1", 1),
        ("a.coo", "# hardscape base=0 base=1\n1 2 1", 1),
        ("a.coo", "# hardscape base=0\n# hardscape base=0\n1 2 1", 2),
        ("a.coo", "# hardscape base=0\n# vartype=SPIN\n1 2 1", None),
        ("a.coo", "# vartype=SPIN\n1 2 1\n# vartype=BINARY", 3),
        ("a.coo", b"1 2 1\n\x80\x81", 2),
        ("a.coo", b"\x00\x00\x00", 1),
        ("a.coo", b"", None),
        ("a.coo", b" \n ", None),
        ("a.sparse", "2 2\n1 1 1\n", None),
        ("a.sparse", "2 1\n1 1 1\n\n2 2 1\n", 4),
        ("a.sparse", "2 1 0\n1 1 1\n", 1),
        ("a.sparse", "-2 1\n1 1 1\n", 1),
        ("a.sparse", "2 -1\n", 1),
        ("a.sparse", "99999999 0\n", 1),
        ("a.sparse", "2 1\n1 3 1\n", 2),
        ("a.sparse", "2 1\n0 1 1\n", 2),
        ("a.sparse", "2 1\n1 2\n", 2),
        ("a.sparse", "2 2\n1 2 1\n2 1 1\n", 3),
        ("a.sparse", "# nothing\n", None),
        ("a.rud", "2 1\n1 1 1\n", 2),
        ("a.rud", "2 2\n1 2\n2 1\n", 3),
        ("a.rud", "2 1\n1\n", 2),
        ("a.rud", "2 1\n1 2 1 1\n", 2),
        ("a.rud", "2 2\n1 2\n", None),
        ("a.rud", "two 2\n1 2\n", 1),
        ("a.qubo", "0 0 1\n", 1),
        ("a.qubo", "p cnf 0 1 1 0\n0 0 1\n", 1),
        ("a.qubo", "p qubo 0 1 2 0\n0 0 1\n", None),
        ("a.qubo", "p qubo 0 2 2 0\n0 0 1\n0 1 1\n", 1),
        ("a.qubo", "p qubo 0 2 1 1\n0 0 1\n1 0 1\n", 3),
        ("a.qubo", "p qubo 0 2 2 0\n0 0 1\n0 0 1\n", 3),
        ("a.qubo", "p qubo 0 1 1 0\n1 1 1\n", 2),
        ("a.qubo", "c hardscape offset=1\nc hardscape offset=2\np qubo 0 0 0 0\n", 2),
        ("a.qubo", "c hardscape offset=x\np qubo 0 0 0 0\n", 1),
        ("a.json", "{", 1),
        ("a.json", '{\n"type": NaN}', None),
        ("a.json", "[]", None),
        ("a.json", "{}", None),
        ("a.json", "[" * 100_000, None),
        ("a.json", b'{"\xff": 1}', None),
        ("a.json", json.dumps({**BQM, "type": "SampleSet"}), None),
        ("a.json", json.dumps({**BQM, "type": 3}), None),
        ("a.json", json.dumps({**BQM, "variable_type": "INTEGER"}), None),
        ("a.json", json.dumps({**BQM, "variable_labels": "ab"}), None),
        ("a.json", json.dumps({**BQM, "variable_labels": ["a", "a"]}), None),
        ("a.json", json.dumps({**BQM, "variable_labels": ["a", None]}), None),
        ("a.json", json.dumps({**BQM, "variable_labels": ["a"]}), None),
        ("a.json", json.dumps({**BQM, "offset": "1"}), None),
        ("a.json", json.dumps({**BQM, "offset": True}), None),
        ("a.json", json.dumps({**BQM, "offset": 2**1024}), None),
        ("a.json", json.dumps({**BQM, "offset": 0}).replace(": 0,", ": 1e999,"), None),
        ("a.json", json.dumps({**BQM, "linear_biases": 1}), None),
        ("a.json", json.dumps({**BQM, "linear_biases": [1, None]}), None),
        ("a.json", json.dumps({**BQM, "linear_biases": [1e308, 1e308]}), None),
        ("a.json", json.dumps({**BQM, "quadratic_head": [1]}), None),
        ("a.json", json.dumps({**BQM, "quadratic_head": [2]}), None),
        ("a.json", json.dumps({**BQM, "quadratic_head": [-1]}), None),
        ("a.json", json.dumps({**BQM, "quadratic_head": [0.0]}), None),
        ("a.json", json.dumps({**BQM, "quadratic_head": [0, 0]}), None),
        ("a.json", json.dumps({**BQM, "use_bytes": True}), None),
        ("a.json", json.dumps({**BQM, "use_bytes": True, "bias_type": "float64"}), None),
        ("a.npz", b"PK\x03\x04", None),
        ("a.npz", "1 2 3\n", None),
        ("a.coo.gz", gzip.compress(b"1 2 1\n", mtime=0)[:-6], None),
        ("a.coo.gz", b"1 2 1\n", None),
        ("a.coo.xz", lzma.compress(b"1 2 1\n")[:-6], None),
        ("a.coo.xz", b"1 2 1\n", None),
    ],
)
def test_malformed_files_are_refused_with_path_and_line(file, name, content, line):
    path = file(name, content)
    with pytest.raises(FormatError) as caught:
        formats.read(path)
    assert caught.value.path == str(path)
    assert caught.value.line == line
    where = str(path) if line is None else f"{path}:{line}"
    assert str(caught.value).startswith(f"{where}: ")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("key", [key for key in BQM if key not in ("version", "use_bytes")])
def test_bqm_json_names_the_missing_key(file, key):
    document = {name: value for name, value in BQM.items() if name != key}
    with pytest.raises(FormatError, match=key):
        formats.read(file("a.json", json.dumps(document)))


RING = {(0, 1): 1, (1, 2): -2, (0, 2): 3}


@pytest.mark.parametrize(
    ("at", "bytes_"),
    [
        (8, b"\3"),  # a version that there is not yet
        (-1, b""),  # cut off
        (10, b"\xff\xff\xff\xff"),  # a header that is longer than the file
        (b'"float64"', b'"complex"'),
        (b'"SPIN"', b'"REAL"'),
        (b"[3, 3]", b"[3, 9]"),
        (b"[3, 3]", b"[-3,3]"),
        (-12, b"\0"),  # another neighbour
        (-1, b"\x3f"),  # another bias than its neighbour has
        (-36, b"\1\0\0\0"),  # itself
        (-84, b"\xff\xff\xff\xff"),  # neighbours that begin before those of others
        (-8, np.float64(np.nan).tobytes()),
    ],
)
def test_damaged_files_of_dimod_are_refused(file, at, bytes_):
    whole = bqm_file(dimod.BinaryQuadraticModel({}, RING, 0, "SPIN"))
    if isinstance(at, bytes):
        damaged = whole.replace(at, bytes_)
    else:
        at %= len(whole)
        damaged = whole[:at] + bytes_ + whole[at + max(len(bytes_), 1) :]
    assert len(damaged) <= len(whole)
    assert damaged != whole
    with pytest.raises(FormatError, match=r"a\.bqm"):
        formats.read(file("a.bqm", damaged))


def archive(**members):
    """An npz file of arrays, or of raw bytes under a member's name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, content in members.items():
            if not isinstance(content, bytes):
                buffer = io.BytesIO()
                np.save(buffer, content, allow_pickle=True)
                content = buffer.getvalue()
            packed.writestr(f"{name}.npy", content)
    return file.getvalue()


ARRAYS = {
    "h": np.array([1.0, 2.0]),
    "row": np.array([0]),
    "col": np.array([1]),
    "value": np.array([0.5]),
    "offset": np.array(3.0),
}
HUGE_HEADER = (
    np.lib.format.magic(1, 0)
    + b"\x50\x00"
    + b"%-79b\n" % (b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,)}")
)


@pytest.mark.parametrize(
    "changes",
    [
        {"other": np.array(1)},
        {"h": None},
        {"offset": None},
        {"h": np.array([[1.0, 2.0]])},
        {"h": np.array([1, 2])},
        {"h": np.array([1.0, np.nan])},
        {"h": np.array([1.0, "x"], dtype=object)},
        {"h": np.array([1j, 2])},
        {"h": np.array([1.7e308, 1.7e308])},
        {"h": HUGE_HEADER},
        {"h": b"not an array"},
        {"row": np.array([1])},
        {"row": np.array([-1])},
        {"col": np.array([2])},
        {"row": np.array([0.0])},
        {"row": np.array([0, 0])},
        {"offset": np.array([3.0])},
        {"exponent": np.array(0)},
        {"labels": np.array('["a"]')},
        {"labels": np.array('["a", "a"]')},
        {"labels": np.array('{"a": 1}')},
        {"labels": np.array('["a", NaN]')},
        {"labels": np.array("[" * 100_000)},
        {"labels": np.array(["a", "b"])},
    ],
)
def test_archives_with_wrong_arrays_are_refused(file, changes):
    assert formats.read(file("a.npz", archive(**ARRAYS))) == Ising([1, 2], {(0, 1): 0.5}, 3)
    members = {name: x for name, x in {**ARRAYS, **changes}.items() if x is not None}
    path = file("a.npz", archive(**members))
    with pytest.raises(FormatError, match=r"a\.npz"):
        formats.read(path)


@pytest.mark.parametrize(
    ("exponent", "h"), [(-1077, b"1"), (1024, b"1"), (0, b"1.0"), (0, b"\xff"), (1000, b"9" * 99)]
)
def test_archives_with_wrong_integers_are_refused(file, exponent, h):
    members = {
        "h": np.array([h]),
        "row": np.empty(0, dtype=np.int64),
        "col": np.empty(0, dtype=np.int64),
        "value": np.empty(0, dtype="S1"),
        "offset": np.array(b"0"),
    }
    good = file("a.npz", archive(**{**members, "h": np.array([b"3"]), "exponent": np.array(-1)}))
    assert formats.read(good) == Ising([1.5], {})
    with pytest.raises(FormatError):
        formats.read(file("a.npz", archive(**members, exponent=np.array(exponent))))


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "missing.coo", tmp_path, tmp_path / "missing.coo.gz"):
        with pytest.raises(FormatError) as caught:
            formats.read(path)
        assert caught.value.line is None
        assert caught.value.path == str(path)
    with pytest.raises(FormatError):
        formats.detect(tmp_path / "missing.txt")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.coo", {"format": "xlsx"}),
        ("a.coo", {"base": 2}),
        ("a.coo", {"convention": "physics"}),
        ("a.sparse", {"convention": "ising"}),
        ("a.json", {"base": 0}),
    ],
)
def test_read_refuses_options_before_it_opens_the_file(tmp_path, name, options):
    with pytest.raises(InputError) as caught:
        formats.read(tmp_path / name, **options)
    assert not isinstance(caught.value, FormatError)


def test_paths_that_name_no_file_are_refused():
    for path in ("a\0b", 3, None):
        with pytest.raises(InputError):
            formats.read(path)


def test_a_file_beyond_the_limit_is_refused(file, monkeypatch):
    monkeypatch.setattr("hardscape.files.MAX_BYTES", 10)
    for name, content in (
        ("a.coo", b"1 2 3\n" * 2),
        ("a.coo.gz", gzip.compress(b"1 2 3\n" * 2, mtime=0)),
        ("a.coo.xz", lzma.compress(b"1 2 3\n" * 2)),
    ):
        with pytest.raises(FormatError):
            formats.read(file(name, content))
    assert formats.read(file("a.coo", b"1 2 3\n")).num_spins == 2
