"""Ising files by hand: energies, matrices, and detection."""

import base64
import bz2
import gzip
import itertools
import json
import lzma
from pathlib import Path

import dimod
import numpy as np
import pytest
import scipy.sparse
from dimod.serialization import coo as dimod_coo

from hardscape.errors import FormatError
from hardscape.ising import formats
from hardscape.ising.model import Ising
from helpers.instances import energies
from helpers.readers import bqm_file, mat_file

XORSAT = Path(__file__).resolve().parents[3] / "shared" / "data" / "xorsat"
#: How an archive of NumPy begins, whose first array is called J: other archives are no such.
NPZ = b"PK\x03\x04" + bytes(22) + b"\x05\0\0\0J.npy"


# -- known values ----------------------------------------------------------------------------


def test_coo_by_hand(file):
    text = "% fields\n1 1 0.5\n2 2 -1\n\nc couplings\n1\t2  3e0\n2 1 -1\n"
    model = formats.read(file("a.coo", text))
    # 0.5 s1 - s2 + 2 s1 s2
    assert energies(model) == [2.5, -3.5, -0.5, 1.5]
    assert energies(formats.read(file("a.coo", text), convention="ising")) == [-2.5, 3.5, 0.5, -1.5]


def test_coo_counts_from_zero_when_zero_occurs(file):
    assert formats.read(file("a.coo", "0 1 1\n1 2 1\n")).num_spins == 3
    assert formats.read(file("a.coo", "1 2 1\n2 3 1\n")).num_spins == 3
    assert formats.read(file("a.coo", "1 2 1\n2 3 1\n"), base=0).num_spins == 4
    with pytest.raises(FormatError) as caught:
        formats.read(file("a.coo", "1 2 1\n0 1 1\n"), base=1)
    assert caught.value.line == 2


def test_coo_header_states_what_the_entries_leave_open(file):
    text = "# hardscape num_spins=3 offset=-2.5 base=1\n1 2 1\n"
    assert formats.read(file("a.coo", text)) == Ising([0, 0, 0], {(0, 1): 1}, -2.5)
    assert formats.read(file("a.coo", "# hardscape num_spins=2")) == Ising([0, 0], {})
    assert formats.read(file("a.coo", "# hardscape num_spins=0 offset=4")) == Ising([], {}, 4)


def test_coo_convention_of_the_header_must_be_the_one_asked_for(file):
    path = file("a.coo", "# hardscape convention=ising\n1 2 1\n")
    assert formats.read(path, convention="ising") == Ising([0, 0], {(0, 1): -1})
    with pytest.raises(FormatError):
        formats.read(path)


@pytest.mark.parametrize(
    ("vartype", "wanted"),
    [
        ("SPIN", Ising([0, 1, -2], {(1, 2): 0.5})),
        ("BINARY", Ising.from_qubo([[0, 0, 0], [0, 1, 0.5], [0, 0, -2]])),
    ],
)
def test_coo_reads_what_dimod_writes(file, vartype, wanted):
    bqm = dimod.BinaryQuadraticModel({1: 1.0, 2: -2.0}, {(1, 2): 0.5}, 0.0, vartype)
    assert formats.read(file("a.coo", dimod_coo.dumps(bqm, vartype_header=True))) == wanted


def test_biqmac_by_hand(file):
    # 3 q1 - 4 q2 + 2 * 5 q1 q2
    model = formats.read(file("a.sparse", "2 3\n1 1 3\n2 2 -4\n2 1 5\n"))
    assert energies(model) == [0, -4, 3, 9]


def test_rudy_by_hand(file):
    # a square with one diagonal: the cut {1, 3} | {2, 4} has the four sides, weight 4
    text = "4 5\n1 2 1\n2 3\n3 4 1\n4 1 1.0\n1 3 -2\n"
    model = formats.read(file("a.rud", text))
    assert min(energies(model)) == -4
    assert model.energy([1, 1, 1, 1]) == 0
    assert model.energy([1, 1, -1, -1]) == 0  # cuts 2-3, 4-1 and the diagonal
    assert model.energy([1, -1, 1, -1]) == -4


def test_qubo_by_hand(file):
    text = "c qbsolv\np  qubo  0  4  2  1\n0 0 3\n2 2 -4\nc more\n0 2 10\n"
    model = formats.read(file("a.qubo", text))
    assert model.num_spins == 4
    kept = [model.energy([s, -1, t, 1]) for s in (-1, 1) for t in (-1, 1)]
    assert kept == [0, -4, 3, 9]


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_bqm_json_reads_what_dimod_writes(file, vartype):
    bqm = dimod.BinaryQuadraticModel(
        {"a": 1.0, 3: 0.1, ("b", 2): 0.0}, {("a", 3): 1e-300, (3, ("b", 2)): -1e300}, 0.25, vartype
    )
    model = formats.read(file("a.json", json.dumps(bqm.to_serializable())))
    assert set(model.labels) == {"a", 3, ("b", 2)}
    bqm = dimod.BinaryQuadraticModel.from_serializable(bqm.to_serializable())
    assert model == Ising.from_bqm(bqm)


def test_bqm_json_reads_vectors_of_base64(file):
    bqm = dimod.BinaryQuadraticModel({"a": 1.0, "b": 0.1}, {("a", "b"): -3.5}, 2.0, "SPIN")
    document = bqm.to_serializable(
        use_bytes=True, bytes_type=lambda raw: base64.b64encode(raw).decode()
    )
    assert formats.read(file("a.json", json.dumps(document))) == Ising.from_bqm(bqm)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_bqm_reads_the_file_that_dimod_writes(file, vartype, dtype, version):
    rng = np.random.default_rng(3)
    for labels in ("ba", [0, 1, 2], ["x", ("y", 3), 4, 5.5, 7, "z"], []):
        bqm = dimod.BinaryQuadraticModel(vartype, dtype=dtype)
        bqm.offset = 0.1
        for i, label in enumerate(labels):
            bqm.add_linear(label, rng.normal())
            for other in labels[:i]:
                if rng.random() < 0.6:
                    bqm.add_quadratic(other, label, rng.normal())
        written = bqm_file(bqm, version=version)
        assert formats.read(file("a.bqm", written)) == Ising.from_bqm(bqm)
        assert formats.read(file("model", gzip.compress(written))) == Ising.from_bqm(bqm)


def test_bqm_reads_a_model_that_is_not_labelled(file):
    bqm = dimod.BinaryQuadraticModel({"a": 1}, {"ab": 2, "bc": -1}, 0.5, "SPIN")
    model = formats.read(file("a.bqm", bqm_file(bqm, ignore_labels=True)))
    assert model.labels == (0, 1, 2)
    assert energies(model) == energies(Ising.from_bqm(bqm))


def test_dimod_reads_what_bqm_json_writes(tmp_path):
    model = Ising([0.1, 0, -1e300], {(0, 2): 1e-300}, 2.5, labels=["a", 7, ("b", 1)])
    formats.write(model, tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    bqm = dimod.BinaryQuadraticModel.from_serializable(document)
    assert bqm == dimod.BinaryQuadraticModel(
        {"a": 0.1, 7: 0, ("b", 1): -1e300}, {("a", ("b", 1)): 1e-300}, 2.5, "SPIN"
    )
    assert tuple(bqm.variables) == model.labels


def test_npz_is_plain_numpy(tmp_path):
    model = Ising([0.5, 0, 2], {(0, 2): -1}, 3, labels=["x", "y", 5])
    formats.write(model, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["h"].tolist() == [0.5, 0, 2]
        assert (arrays["row"].tolist(), arrays["col"].tolist()) == ([0], [2])
        assert arrays["value"].tolist() == [-1]
        assert arrays["offset"] == 3
        assert json.loads(str(arrays["labels"])) == ["x", "y", 5]
        assert "exponent" not in arrays


def test_npz_writes_integers_where_float64_falls_short(tmp_path):
    model = Ising.from_entries(2, [0, 0], [1, 1], [1.0, 2.0**80])
    formats.write(model, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["value"].tolist() == [str(2**80 + 1).encode()]
        assert arrays["exponent"] == 0
    assert formats.read(tmp_path / "a.npz") == model


@pytest.mark.parametrize(
    ("name", "spins"),
    [("3r3x_2body_n64_s1", 64), ("3r3x_2body_n160_s1", 160), ("instance_3r3x_n256_s1601", 256)]
    + [(f"3r3x_2body_n512_s{k}", 512) for k in range(1, 9)],
)
def test_challenge_instances_reach_their_ground_energy(name, spins):
    path = XORSAT / f"{name}.qh"
    if not path.exists():
        pytest.skip(f"{path.name} is not among the data files beside the repository")
    model = formats.read(path)
    assert model.num_spins == spins
    assert model.is_integer
    # s1 s2 s3 = -h_a J_a / 4 for every ancilla a; the gadget's minimum is -4.
    half = spins // 2
    clauses = (model.J + model.J.T)[half:, :half]
    sides = -model.h[half:] * clauses.sum(axis=1) / 3 / 4
    spin = solve_parities(clauses != 0, sides < 0)
    ancilla = -np.sign(model.h[half:] + clauses @ spin)
    ancilla[ancilla == 0] = 1
    assert model.energy([*spin, *ancilla]) == -4 * half


def solve_parities(matrix, parity):
    """Spins with the product of every row's spins -1 exactly where `parity` is set."""
    table = np.column_stack([matrix, parity]).astype(bool)
    rows, columns = matrix.shape
    pivots = []
    for column in range(columns):
        below = np.flatnonzero(table[len(pivots) :, column]) + len(pivots)
        if len(below) == 0:
            continue
        rank = len(pivots)
        table[[rank, below[0]]] = table[[below[0], rank]]
        others = np.flatnonzero(table[:, column])
        table[others[others != rank]] ^= table[rank]
        pivots.append(column)
    assert not table[len(pivots) : rows, -1].any()
    spin = np.ones(columns)
    spin[pivots] = np.where(table[: len(pivots), -1], -1, 1)
    return spin


def test_a_byte_order_mark_and_foreign_line_ends_are_accepted(file):
    assert formats.read(file("a.coo", b"\xef\xbb\xbf1 2 3\r\n2 2 1\r\n")) == Ising(
        [0, 1], {(0, 1): 3}
    )


def test_first_index_of_formats_with_a_header(file):
    assert formats.read(file("a.rud", "2 1\n0 1 1\n"), base=0).num_couplings == 1
    assert formats.read(file("a.qubo", "p qubo 0 2 1 1\n1 1 1\n1 2 1\n"), base=1).num_spins == 2


# -- telling formats apart -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.qh", "x", "coo"),
        ("a.COO", "x", "coo"),
        ("a.sparse", "1 2 3\n", "biqmac"),
        ("a.mc.gz", gzip.compress(b"1 2 3\n", mtime=0), "rudy"),
        ("G22", "1 2 3\n", "rudy"),
        ("a.qubo", "1 2 3\n", "qubo"),
        ("a.json", "x", "bqm-json"),
        ("a.npz.xz", lzma.compress(b"x"), "npz"),
        ("a.npz.bz2", bz2.compress(b"x"), "npz"),
        ("a.coo", NPZ, "npz"),
        ("a.txt", bz2.compress(b"1 2 3\n"), "coo"),
        ("a.txt", "# comment\n\n1 2 3\n", "coo"),
        ("a.txt", "c only comments", "coo"),
        ("a", "c comment\np qubo 0 1 0 0\n", "qubo"),
        ("a.qubo", "c comment\np qubo 0 1 0 0\n", "qubo"),
        ("a.qubo", "2\n0 1.5\n0 1 2\n", "hercules"),
        ("a.qubo", "# linear terms\n2 1\n1 1 3\n", "mqlib"),
        ("a.qubo.gz", gzip.compress(b"2 1\n1 2 3\n", mtime=0), "mqlib"),
        ("a.json", '{"version": "1.0.0", "variable_domain": "spin"}', "bqpjson"),
        ("pm1s_80.3", "3 2\n1 2 1\n2 3 -1\n", "rudy"),
        ("be100.1", "3 2\n1 2 1\n2 2 -1\n", "biqmac"),
        ("g05_60.0.gz", gzip.compress(b"2 1\n1 2\n", mtime=0), "rudy"),
        ("a.qplib", "x", "qplib"),
        ("a.lp", "x", "lp"),
        ("a.bin", b"\x89HDF\r\n\x1a\n", "qubin"),
        ("a.bin", b"MATLAB 5.0 MAT-file, written by Octave", "mat"),
        ("a.bin", b"DIMODBQM\2\0", "bqm"),
        ("a.dat", '\n {"type": 1}', "bqm-json"),
        ("a.bin", NPZ, "npz"),
        ("a.bin", b"\x93NUMPY\x01\x00", "npz"),
    ],
)
def test_detection(file, name, content, format):
    assert formats.detect(file(name, content)) == format


@pytest.mark.parametrize("content", ["hello\n", "1\n", "1 2 3 4\n", b"\xff\xfe1\x00", ""])
def test_unknown_content_is_refused(file, content):
    path = file("a.txt", content)
    for function in (formats.detect, formats.read):
        with pytest.raises(FormatError, match=r"a\.txt"):
            function(path)


def test_a_matrix_in_a_file_is_that_matrix(tmp_path):
    rng = np.random.default_rng(1)
    exact = tmp_path / "b.npy"
    np.save(exact, np.array([[-4, -3, -2], [-1, 0, 1], [2, 3, 4]], dtype=np.int8))
    states = np.array(list(itertools.product((-1, 1), repeat=3)))
    energies = formats.read(exact).energy(states).tolist()
    assert energies == [0, 0, 0, 16, 0, 0, -16, 0]  # h = -4, 0, 4; J01 = -4, J12 = 4
    for matrix in (rng.normal(size=(5, 5)), rng.integers(-9, 9, (4, 4)).astype(np.int8)):
        path = tmp_path / "a.npy"
        np.save(path, np.asfortranarray(matrix))
        for convention in ("dimod", "ising"):
            assert Ising.from_file(path, convention=convention) == Ising.from_matrix(
                matrix, convention=convention
            )
    for wrong in (np.ones(4), np.ones((2, 3)), np.ones((2, 2), complex), np.full((2, 2), np.nan)):
        np.save(path, wrong)
        with pytest.raises(FormatError, match=r"a\.npy"):
            formats.read(path)


@pytest.mark.parametrize("convention", ["dimod", "ising"])
@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_a_matrix_that_numpy_wrote_as_text_is_that_matrix(tmp_path, size, convention):
    matrix = np.random.default_rng(size).normal(size=(size, size))
    for how in ({}, {"delimiter": ","}, {"delimiter": "; ", "header": "J"}):
        np.savetxt(tmp_path / "J.txt", matrix, **how)
        model = Ising.from_file(tmp_path / "J.txt", convention=convention)
        assert model == Ising.from_matrix(matrix, convention=convention)


def test_a_matrix_of_integers_as_text(file):
    big = 2**70 + 1
    model = formats.read(file("J.dat", f"0 1 2 3\n0 0 {big} 0\n0 0 0 0\n0 0 0 -7\n"))
    assert model == Ising.from_dict({(0, 1): 1, (0, 2): 2, (0, 3): 3, (1, 2): big}, {3: -7})
    # Of two and three columns a name or a format says that they are no edges and no entries.
    assert formats.read(file("J.csv", "0\t1\n1\t0\n")) == Ising.from_matrix([[0, 1], [1, 0]])
    rows = "1 2 3\n2 3 1\n3 1 1\n"
    assert formats.detect(file("J.txt", rows)) == "coo"
    wanted = Ising.from_matrix([[1, 2, 3], [2, 3, 1], [3, 1, 1]])
    assert formats.read(file("J.txt", rows), format="csv") == wanted


@pytest.mark.parametrize("rows", ["1 2 3 4\n" * 3, "1 2 3 4\n" * 3 + "1 2 x 4\n", "0.5 1\n1\n"])
def test_rows_that_are_no_matrix(file, rows):
    for name in ("J.txt", "J.csv"):
        with pytest.raises(FormatError, match=name):
            formats.read(file(name, rows))


@pytest.mark.parametrize("pack", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("convention", ["dimod", "ising"])
def test_a_matrix_of_matlab_is_that_matrix(file, convention, pack):
    matrix = np.triu(np.random.default_rng(1).normal(size=(5, 5)))
    path = file("J.mat", mat_file(J=pack(matrix), beta=0.5))
    assert Ising.from_file(path, convention=convention) == Ising.from_matrix(
        matrix, convention=convention
    )
    for wrong in (np.ones((2, 3)), np.eye(2) * 1j):
        with pytest.raises(FormatError, match=r"b\.mat"):
            formats.read(file("b.mat", mat_file(J=wrong)))


def test_the_table_of_formats_is_complete():
    own = {"coo", "biqmac", "mqlib", "rudy", "qubo", "bqm-json", "npz"}
    assert set(formats.FORMATS) == own | {
        "bqm",
        "csv",
        "hercules",
        "bqpjson",
        "orlib",
        "qplib",
        "lp",
        "mat",
        "qubin",
    }
    suffixes = [suffix for format in formats.FORMATS.values() for suffix in format.SUFFIXES]
    assert len(set(suffixes)) == len(suffixes)
    assert all(format.DESCRIPTION for format in formats.FORMATS.values())
