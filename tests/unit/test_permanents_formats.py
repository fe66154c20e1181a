"""Files of matrices: values, exactness, and refusals that name the line."""

import gzip
import struct
from fractions import Fraction

import networkx
import numpy as np
import pytest
import scipy.io
import scipy.sparse

import hardscape
from hardscape.errors import FormatError, InputError
from hardscape.permanents.formats import read
from helpers.readers import mat_file


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def market(kind, body):
    return f"%%MatrixMarket matrix {kind}\n{body}"


FILES = {
    "coordinate real general": "% note\n\n2 3 3\n1 1 0.5\n2 3 -1e-3\n1 2 7\n",
    "coordinate integer symmetric": "3 3 3\n1 1 4\n3 1 -2\n3 2 9\n",
    "coordinate complex hermitian": "2 2 2\n1 1 2 0\n2 1 1.5 -2\n",
    "coordinate real skew-symmetric": "3 3 2\n2 1 3\n3 1 0.25\n",
    "coordinate pattern general": "2 2 2\n1 2\n2 1\n",
    "coordinate pattern symmetric": "2 2 2\n1 1\n2 1\n",
    "array real general": "2 3\n1\n2\n3\n4\n5\n6\n",
    "array integer symmetric": "3 3\n1\n2\n3\n4\n5\n6\n",
    "array real skew-symmetric": "3 3\n1\n2\n3\n",
    "array complex general": "2 1\n1 2\n3 -4\n",
    "array complex hermitian": "2 2\n1 0\n2 3\n4 0\n",
}


@pytest.mark.parametrize("kind", FILES)
def test_matrix_market_agrees_with_scipy(tmp_path, kind):
    path = written(tmp_path, "a.mtx", market(kind, FILES[kind]))
    expected = scipy.io.mmread(path)
    dense = expected.toarray() if kind.startswith("coordinate") else expected
    assert read(path).tolist() == dense.tolist()


def test_layout_of_an_array_is_by_columns(tmp_path):
    path = written(tmp_path, "a.MTX", market("array integer general", "2 2\r\n1\r\n2\r\n3\r\n4"))
    assert read(path).tolist() == [[1, 3], [2, 4]]


def test_a_hermitian_file_conjugates(tmp_path):
    path = written(tmp_path, "a.mtx", market("coordinate complex hermitian", "2 2 1\n2 1 1 5\n"))
    assert read(str(path)).tolist() == [[0, 1 - 5j], [1 + 5j, 0]]


def test_integers_beyond_float64_are_exact(tmp_path):
    big = 10**60 + 1
    path = written(tmp_path, "a.mtx", market("array integer skew-symmetric", f"2 2\n{big}\n"))
    assert read(path).tolist() == [[0, -big], [big, 0]]
    csv = written(tmp_path, "a.csv", f"# weights\n{big}, 2\n\n{2**53 + 1},-4\n")
    assert read(csv).tolist() == [[big, 2], [2**53 + 1, -4]]


def test_an_empty_matrix(tmp_path):
    path = written(tmp_path, "a.mtx", market("coordinate real general", "0 0 0\n"))
    assert read(path).shape == (0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1/2,3\n-4,5/3", [[Fraction(1, 2), 3], [-4, Fraction(5, 3)]]),
        ("1.5, 2\n.5e1,\t-4.", [[1.5, 2.0], [5.0, -4.0]]),
        ("1+2j,-3j\n4,1e2-.5j", [[1 + 2j, -3j], [4, 100 - 0.5j]]),
        ("1+2i,-3i\n4,1e2-.5i", [[1 + 2j, -3j], [4, 100 - 0.5j]]),
        ("1;2\r\n3; -4\r\n", [[1, 2], [3, -4]]),
        ("1\n2\n3", [[1], [2], [3]]),
    ],
)
def test_csv_of_each_kind(tmp_path, text, expected):
    assert read(written(tmp_path, "a.csv", text)).tolist() == expected


@pytest.mark.parametrize("delimiter", [" ", ",", ", ", "\t"])
@pytest.mark.parametrize("dtype", [float, complex, int])
def test_what_savetxt_writes(tmp_path, dtype, delimiter):
    entries = np.array([[1.5 + 2j, -3 - 4.25j], [1e-300j, -2]])
    entries = (entries if dtype is complex else entries.real).astype(dtype)
    fmt = {int: "%d"}.get(dtype, "%.18e")
    np.savetxt(tmp_path / "a.txt", entries, delimiter=delimiter, fmt=fmt, header="a matrix")
    assert np.array_equal(read(tmp_path / "a.txt"), entries)


def test_complex_numbers_of_older_savetxt(tmp_path):
    path = written(tmp_path, "a.csv", " (1.5e+00+-2.0e+00j) (0e0+1e0j)\n")
    assert read(path).tolist() == [[1.5 - 2j, 1j]]


@pytest.mark.parametrize("dtype", ["?", "i1", ">i8", "u8", ">f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_files_keep_values_and_dtype(tmp_path, dtype, order):
    a = np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype, order=order)
    np.save(tmp_path / "a.npy", a)
    np.savez(tmp_path / "a.npz", a)
    for name in ("a.npy", "a.npz"):
        found = read(tmp_path / name)
        assert found.dtype == a.dtype.newbyteorder("=")
        assert np.array_equal(found, a)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", None),
        ("%%MatrixMarket matrix coordinate real\n1 1 0\n", 1),
        (market("coordinate quaternion general", "1 1 0\n"), 1),
        (market("array pattern general", "1 1\n"), 1),
        (market("coordinate pattern skew-symmetric", "1 1 0\n"), 1),
        (market("coordinate real hermitian", "1 1 0\n"), 1),
        (market("coordinate real general", ""), None),
        (market("coordinate real general", "2 2\n"), 2),
        (market("coordinate real general", "2 -2 1\n"), 2),
        (market("coordinate real general", "1000000 1000000 0\n"), 2),
        (market("coordinate real symmetric", "2 3 0\n"), 2),
        (market("coordinate real general", "2 2 1\n% c\n1 3 1\n"), 4),
        (market("coordinate real general", "2 2 1\n0 1 1\n"), 3),
        (market("coordinate real general", "2 2 1\n1 1\n"), 3),
        (market("coordinate real general", "2 2 1\n1 1 nan\n"), 3),
        (market("coordinate real general", "2 2 1\n1 1 1e999\n"), 3),
        (market("coordinate integer general", "2 2 1\n1 1 1.0\n"), 3),
        (market("coordinate integer general", "1 1 1\n1 1 " + "9" * 5000), 3),
        (market("coordinate pattern general", "2 2 1\n1 1 1\n"), 3),
        (market("coordinate real symmetric", "2 2 1\n1 2 1\n"), 3),
        (market("coordinate real skew-symmetric", "2 2 1\n1 1 1\n"), 3),
        (market("coordinate complex hermitian", "2 2 1\n1 1 1 1\n"), 3),
        (market("coordinate real general", "2 2 2\n1 1 1\n1 1 2\n"), 4),
        (market("coordinate real general", "2 2 2\n1 1 1\n"), None),
        (market("array real general", "2 1\n1\n"), None),
        (market("array real general", "2 1\n1\n2\n3\n"), 5),
        (market("array real general", "2 1\n1 2\n"), 3),
    ],
)
def test_malformed_matrix_market_names_the_line(tmp_path, content, line):
    path = written(tmp_path, "a.mtx", content)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("# only\n", None),
        ("1,2\n3", 2),
        ("1,2\n3,x", 2),
        ("1,", 1),
        ("1/0", 1),
        ("1,2\n\ninf,4", 3),
        ("1e999j", 1),
        ("0.5,1/3", None),
        ("1,5;2", 1),
        ("1+2ij", 1),
        ("1_0", 1),
    ],
)
def test_malformed_csv_names_the_line(tmp_path, text, line):
    with pytest.raises(FormatError) as caught:
        read(written(tmp_path, "a.csv", text))
    assert caught.value.line == line


PLAIN = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]])


@pytest.mark.parametrize("names", [{"index": False}, {"header": False}, {}])
def test_names_that_pandas_makes_up_are_no_part_of_a_matrix(tmp_path, names):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(PLAIN).to_csv(tmp_path / "a.csv", **names)
    with pytest.raises(FormatError):
        read(tmp_path / "a.csv")
    pandas.DataFrame(PLAIN).to_csv(tmp_path / "b.csv", index=False, header=False)
    assert read(tmp_path / "b.csv").tolist() == PLAIN.tolist()


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (3, 5), (5, 3), (3, 2), (2, 3), (1, 1), (2, 1)])
def test_rows_that_count_are_rows_where_the_rest_is_not_square(tmp_path, shape):
    distances = np.abs(np.subtract.outer(range(shape[0]), range(shape[1])))
    np.savetxt(tmp_path / "a.csv", distances, fmt="%d", delimiter=",")
    assert read(tmp_path / "a.csv").tolist() == distances.tolist()


def test_numpy_files_that_hold_something_else_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([[1, "a"]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    np.save(tmp_path / "bools.npy", np.array([[2]], dtype=np.uint8).view(bool))
    for name in ("objects.npy", "text.npy", "two.npz", "bools.npy"):
        with pytest.raises(FormatError, match=name):
            read(tmp_path / name)


def test_a_header_cannot_ask_for_memory_that_the_file_does_not_have(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((1, 1)))
    data = (tmp_path / "a.npy").read_bytes()
    bigger = data.replace(b"(1, 1), }" + b" " * 12, b"(1000000, 1000000), }")
    assert bigger != data
    with pytest.raises(FormatError):
        read(written(tmp_path, "a.npy", bigger))


@pytest.mark.parametrize(
    "matrix",
    [
        np.array([[0.5, -2, 3], [1, 0, 7]]),
        np.array([[1, 2], [3, -4]], dtype=np.int64),
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        np.array([[0.1, 2], [3, 4]], dtype=np.float32),
        np.array([[True, False], [True, True]]),
        np.array([[0.5 + 1j, 2], [3, -4j]]),
        np.array([[3.5]]),
        np.zeros((0, 3)),
    ],
)
def test_matlab_matrices(tmp_path, matrix):
    others = {} if matrix.size < 2 else {"n": 3.0}
    for compressed in (False, True):
        path = tmp_path / "a.mat"
        scipy.io.savemat(
            path,
            {"A": matrix, "note": "text", "cell": {"x": 1}} | others,
            do_compression=compressed,
        )
        found = read(path)
        assert found.dtype == matrix.dtype
        assert np.array_equal(found, matrix)
    sparse = scipy.sparse.csc_array(matrix * 1.0)
    if matrix.size > 1:
        found = read(written(tmp_path, "b.mat", mat_file(A=sparse, **others)))
        assert np.array_equal(found, matrix)


def test_whole_numbers_that_matlab_keeps_as_bytes_are_double(tmp_path):
    content = mat_file(A=np.array([[1, 2], [3, 4]], dtype=np.uint8))
    uint8, double = (b"\6\0\0\0\x08\0\0\0" + kind for kind in (b"\x09", b"\x06"))
    assert content.count(uint8) == 1
    found = read(written(tmp_path, "a.mat", content.replace(uint8, double)))
    assert found.dtype == np.float64
    assert found.tolist() == [[1, 2], [3, 4]]


def test_a_matlab_file_of_the_other_byte_order(tmp_path):
    def element(kind, dtype, *values):
        body = np.array(values, dtype=dtype).tobytes()
        return struct.pack(">II", kind, len(body)) + body + bytes(-len(body) % 8)

    small = struct.pack(">HH4s", 1, 1, b"A")  # the name: bytes and type in one word
    inside = element(6, ">u4", 6, 0) + element(5, ">i4", 2, 2) + small
    inside += element(4, ">u2", 1, 2, 300, 4)
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\1\0MI"
    content = head + struct.pack(">II", 14, len(inside)) + inside
    assert read(written(tmp_path, "a.mat", content)).tolist() == [[1, 300], [2, 4]]


def test_matlab_files_that_hold_no_matrix_or_two(tmp_path):
    sparse = mat_file(A=scipy.sparse.csc_array(np.eye(3)[::-1]))
    rows = np.array([2, 1, 0], dtype=np.int32).tobytes()
    assert sparse.count(rows) == 1
    for content in (
        mat_file(A=np.eye(2), B=np.eye(3)),
        mat_file(note="text"),
        mat_file(A=np.zeros((2, 2, 2))[:, :, :0], n=1),
        sparse.replace(rows, np.array([0, 1, 10**6], dtype=np.int32).tobytes()),
        mat_file(A=np.eye(2))[:-9],
        b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF",
    ):
        with pytest.raises(FormatError, match=r"a\.mat"):
            read(written(tmp_path, "a.mat", content))


def test_text_may_be_called_mat(tmp_path):
    text = "# Created by Octave 8\n# name: A\n# type: matrix\n 1 2\n 3 4\n"
    assert read(written(tmp_path, "a.mat", text)).tolist() == [[1, 2], [3, 4]]


def test_paths_that_lead_nowhere(tmp_path):
    (tmp_path / "folder.mtx").mkdir()
    for name in ("missing.mtx", "folder.mtx", "unknown.xyz"):
        with pytest.raises(FormatError, match=name):
            read(tmp_path / name)
    for path in (3, "nul\0.mtx", "\ud800.mtx"):
        with pytest.raises(InputError):
            read(path)


@pytest.mark.parametrize(
    ("text", "base", "expected"),
    [
        ("1 1 5\n2 2 7\n", None, [[5, 0], [0, 7]]),
        ("0 1 0.5\n1 0 2\n", None, [[0, 0.5], [2, 0]]),
        ("% sizes\n2 3 2\n1 1 4\n2 3 -1\n", None, [[4, 0, 0], [0, 0, -1]]),
        ("2 2 2\n1 1 0 1\n2 2 1.5 0\n", None, [[1j, 0], [0, 1.5]]),
        ("1,2\n2,1\n", None, [[0, 1], [1, 0]]),
        ("1 1 5\n", 0, [[0, 0], [0, 5]]),
        (f"1 1 {10**40}\n", 1, [[10**40]]),
    ],
)
def test_entries_without_a_header(tmp_path, text, base, expected):
    path = written(tmp_path, "a.mtx", text)
    assert read(path, format="coo", base=base).tolist() == expected
    with pytest.raises(FormatError):
        read(path)  # only by say-so, which the name can be, too
    if base is None:
        assert read(written(tmp_path, "a.coo", text)).tolist() == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("1 1 1\n1 1 2\n1 2 3\n", 2),
        ("1 1 1 1 1\n", 1),
        ("1 1 1\n2 2\n", 2),
        ("1 x 1\n", 1),
        ("1 1 nan\n", 1),
        ("2 2 2\n1 1 1\n3 1 1\n", 3),
        ("-1 0 1\n", 1),
        ("1 9999999 1\n", None),
    ],
)
def test_malformed_entries_name_the_line(tmp_path, text, line):
    with pytest.raises(FormatError) as caught:
        read(written(tmp_path, "a.mtx", text), format="coo")
    assert caught.value.line == line


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [bool, np.int32, np.float32, complex])
def test_sparse_matrices_of_scipy(tmp_path, kind, dtype):
    dense = (np.random.default_rng(1).random((3, 5)) * 3).astype(int).astype(dtype)
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.coo_array(dense).asformat(kind))
    assert read(tmp_path / "a.npz").tolist() == dense.tolist()


def test_damaged_sparse_matrices_are_refused(tmp_path):
    whole = {
        "format": np.array(b"coo"),
        "shape": np.array([2, 2]),
        "data": np.ones(2),
        "row": np.array([0, 1]),
        "col": np.array([1, 0]),
    }
    np.savez(tmp_path / "a.npz", **whole)
    assert read(tmp_path / "a.npz").tolist() == [[0, 1], [1, 0]]
    for name, wrong in (
        ("format", np.array(b"dia")),
        ("shape", np.array([2, 10**9])),
        ("shape", np.array([1, 2])),
        ("data", np.ones(3)),
        ("data", np.array(["a", "b"])),
        ("row", np.array([0, -1])),
    ):
        np.savez(tmp_path / "a.npz", **(whole | {name: wrong}))
        with pytest.raises(FormatError):
            read(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.csv.gz"])
def test_tabs_marks_and_compression(tmp_path, name):
    text = b"\xef\xbb\xbf1\t2\r\n3\t4\r\n"
    path = written(tmp_path, name, gzip.compress(text) if name.endswith("gz") else text)
    assert read(path).tolist() == [[1, 2], [3, 4]]
    assert hardscape.permanent(path) == 10


def test_perfect_matchings_of_graphs():
    grid = networkx.grid_2d_graph(6, 6)
    assert hardscape.permanent(grid) == 6728  # domino tilings
    complete = networkx.complete_bipartite_graph(4, 4)
    assert hardscape.permanent(complete) == 24
    assert hardscape.permanent(networkx.complete_bipartite_graph(3, 4)) == 0
    assert hardscape.permanent(networkx.disjoint_union(complete, networkx.path_graph(2))) == 24
    weighted = networkx.Graph()
    weighted.add_node("c", bipartite=1)
    weighted.add_node("d", bipartite=1)
    weighted.add_nodes_from("ab", bipartite=0)
    weighted.add_weighted_edges_from([("c", "a", 2.5), ("a", "d", 3), ("b", "c", 5), ("b", "d", 7)])
    assert hardscape.permanent(weighted) == 2.5 * 7 + 3 * 5
    double = networkx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 3)])
    assert hardscape.permanent(double) == 2
    for wrong in (networkx.cycle_graph(5), networkx.DiGraph([(0, 1)]), networkx.Graph([(0, 0)])):
        with pytest.raises(InputError):
            hardscape.permanent(wrong)
