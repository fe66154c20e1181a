"""Ising files by hand: energies, detection, what writers refuse, and atomic writing."""

import base64
import bz2
import gzip
import itertools
import json
import lzma
import os
import stat
from pathlib import Path

import dimod
import numpy as np
import pytest
import scipy.sparse
from dimod.serialization import coo as dimod_coo

from hardscape.errors import FormatError, InputError
from hardscape.ising import formats
from hardscape.ising.model import Ising
from helpers.readers import bqm_file, mat_file, readers

XORSAT = Path(__file__).resolve().parents[3] / "shared" / "data" / "xorsat"


@pytest.fixture
def file(tmp_path):
    """Write text or bytes under a name and return the path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def energies(model):
    """Energies of all states; the first spin changes slowest, -1 comes before +1."""
    return model.energy(list(itertools.product((-1, 1), repeat=model.num_spins))).tolist()


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


# -- writing -----------------------------------------------------------------------------------


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


# -- other programs' files -----------------------------------------------------------------------


def test_hercules_halves_the_matrix(file):
    model = formats.read(file("a.qubo", "3\n0 0 4\n0 1 -6\n2 1 1\n2 0.5\n"))
    # 2 x0 - 3 x0 x1 + x1 x2 / 2 + x2 / 2
    assert energies(model) == [0, 0.5, 0, 1, 2, 2.5, -1, 0]
    formats.write(model, path := file("b.hercules", ""))
    assert formats.read(path) == model
    with pytest.raises(InputError):
        formats.write(Ising([], {}, 1.0), path)
    with pytest.raises(FormatError):
        formats.read(file("c.qubo", "3\n0 3 1\n"))


def test_mqlib_maximises_what_biqmac_minimises(file):
    # MQLib's own example, whose best value is 6, of 1 0 1
    text = "# Input matrix Q:\n# [ 5 -6  0\n3 5\n1 1 5\n2 2 3\n3 3 1\n1 2 -6\n2 3 -1\n"
    model = formats.read(file("sample.qubo", text))
    assert energies(model) == [0, -1, -3, -2, -5, -6, 4, 5]
    assert energies(formats.read(file("sample.txt", text), format="mqlib")) == energies(model)
    other = formats.read(file("sample.txt", text))
    assert energies(other) == [-x for x in energies(model)]


def test_the_or_library_maximises_and_has_several_problems_in_a_file(file):
    # 5 x1 - 6 x1 x2 - 2 x3, and 4 x1 + 2 x1 x2, both to be maximised
    text = "2\n3 3\n1 1 5\n2 1 -3\n3 3 -2\n2 2\n1 1 4\n1 2 1\n"
    path = file("bqp.txt", text)
    assert formats.detect(path) == "orlib"
    first = formats.read(path, problem=1)
    assert energies(first) == [0, 2, 0, 2, -5, -3, 1, 3]
    assert energies(formats.read(path, problem=2)) == [0, 0, -4, -6]
    alone = file("one.txt", "1\n3 3\n1 1 5\n1 2 -3\n3 3 -2\n")
    assert formats.read(alone) == formats.read(alone, problem=1) == first
    for wrong in (None, 0, 3):
        with pytest.raises(InputError):
            formats.read(path, problem=wrong)
    with pytest.raises(InputError):
        formats.read(file("a.sparse", "1 1\n1 1 3\n"), problem=1)
    for cut in (text[:-6], text.replace("2 1 -3", "2 4 -3"), "2\n1 1\n1 1 3\n"):
        with pytest.raises(FormatError):
            formats.read(file("b.txt", cut), format="orlib", problem=2 if "4 -3" not in cut else 1)


def test_bqpjson_scales_what_it_shifts(file):
    document = {
        "version": "1.0.0",
        "id": 2,
        "metadata": {},
        "scale": 2.0,
        "offset": 0.5,
        "variable_domain": "boolean",
        "variable_ids": [1, 3],
        "linear_terms": [{"id": 3, "coeff": -1.0}],
        "quadratic_terms": [{"id_head": 1, "id_tail": 3, "coeff": 4.0}],
    }
    model = formats.read(file("a.json", json.dumps(document)))
    assert model.labels == (1, 3)
    assert energies(model) == [1, -1, 1, 7]
    formats.write(model, path := file("b.bqpjson", ""))
    assert energies(formats.read(path)) == [1, -1, 1, 7]
    for key, value in (("variable_ids", [1]), ("scale", "2"), ("variable_domain", "real")):
        with pytest.raises(FormatError):
            formats.read(file("c.json", json.dumps(document | {key: value})))


def test_the_comments_of_qubo_files_scale_and_shift(file):
    text = "c scale : 2.0\nc offset : 0.5\np qubo 0 2 1 1\n0 0 -1\n0 1 4\n"
    assert energies(formats.read(file("a.qubo", text))) == [1, 1, -1, 7]
    with pytest.raises(FormatError):
        formats.read(file("b.qubo", "c scale : 1\n" + text))


def test_qubist_counts_sites_and_lines(file):
    model = formats.read(file("a.qh", "4 2\n1 1 0.5\n1 3 -1\n"))
    assert (model.num_spins, model.h[1], model.J[1, 3]) == (4, 0.5, -1)
    with pytest.raises(FormatError):
        formats.read(file("b.qh", "4 3\n1 1 0.5\n1 3 -1\n"))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        # -(2 x1 x1 - 1.5 x1 x2 + 2 x3 + 0.25)
        ("qplib", [-0.25, -2.25, -0.25, -2.25, -2.25, -4.25, -0.75, -2.75]),
        # 2 x + x y - z
        ("lp", [0, -1, 0, -1, 2, 1, 3, 2]),
        # 2 (x1 - 0.5 x3 - 2 x1 x2 + 1.5 x2 x3 + 0.5)
        ("qubin", [1, 0, 1, 3, 3, 2, -1, 1]),
    ],
)
def test_programs_that_are_qubos(file, name, values):
    path = file("a.bin", readers()[f"ising-{name}"].corpus[0])
    model = formats.read(path, format=name)
    order = sorted(range(3), key=lambda i: str(model.labels[i]))
    states = np.array(list(itertools.product((-1, 1), repeat=3)))
    assert model.energy(states[:, np.argsort(order)]).tolist() == values
    with pytest.raises(InputError):
        formats.write(model, path, format=name)


def test_programs_that_are_none(file):
    rule = b"Minimize\n obj: x\nSubject To\n c: x + y <= 1\nBinary\n x y\nEnd\n"
    whole = b"Minimize\n obj: x\nGeneral\n x\nEnd\n"
    mixed = readers()["ising-qplib"].corpus[0].replace(b"QBN", b"QMN")
    for name, content in (("a.lp", rule), ("b.lp", whole), ("c.qplib", mixed), ("d.lp", "nan\0")):
        with pytest.raises(FormatError, match=name):
            formats.read(file(name, content))


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
        ("a.coo", b"PK\x03\x04...", "npz"),
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
        ("a.bin", b"PK\x03\x04...", "npz"),
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
