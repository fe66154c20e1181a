"""Intake of matrices and their structural reductions, on matrices with known answers."""

from fractions import Fraction
from itertools import permutations
from math import prod

import numpy as np
import pytest
import scipy.sparse

import hardscape
from hardscape.errors import InputError
from hardscape.permanents.matrix import MAX_SIDE, intake
from hardscape.permanents.structure.reduce import Reductions, reduce


def naive(a):
    n = len(a)
    return sum(prod(a[i][p[i]] for i in range(n)) for p in permutations(range(n)))


def product(reduced):
    return prod(reduced.factors) * prod(naive(block.tolist()) for block in reduced.blocks)


def grid(side):
    """Biadjacency matrix of the side x side grid, black against white squares."""
    squares = [(x, y) for x in range(side) for y in range(side)]
    black = [s for s in squares if sum(s) % 2 == 0]
    white = [s for s in squares if sum(s) % 2]
    return [[int(abs(x - u) + abs(y - v) == 1) for u, v in white] for x, y in black]


def tridiagonal(n):
    return [[int(abs(i - j) <= 1) for j in range(n)] for i in range(n)]


@pytest.mark.parametrize(
    ("a", "kind", "dtype"),
    [
        (np.ones((2, 2), dtype=bool), "integer", object),
        (np.ones((2, 2), dtype=np.uint8), "integer", object),
        (np.ones((2, 2), dtype=np.float32), "real", np.float64),
        (np.ones((2, 2), dtype=np.longdouble), "real", np.float64),
        (np.ones((2, 2), dtype=np.complex64), "complex", np.complex128),
        ([[1, 2], [3, Fraction(1, 2)]], "rational", object),
        ([[1, 2.5], [3, Fraction(1, 2)]], "real", np.float64),
        ([[1, 2.5], [3j, True]], "complex", np.complex128),
        ([[np.int8(1), np.float32(0.5)]], "real", np.float64),
        ([], "integer", object),
        (np.zeros((0, 0)), "real", np.float64),
        (np.ones((3, 2, 2)), "real", np.float64),
    ],
)
def test_intake_finds_the_kind_and_keeps_the_values(a, kind, dtype):
    matrix = intake(a)
    assert (matrix.kind, matrix.entries.dtype) == (kind, dtype)
    assert matrix.entries.tolist() == (a.tolist() if isinstance(a, np.ndarray) else a)
    assert not matrix.entries.flags.writeable


def test_integers_are_python_ints_of_any_size():
    entries = intake([[2**63, -1], [10**400, np.int16(3)]]).entries
    assert entries.tolist() == [[2**63, -1], [10**400, 3]]
    assert {type(x) for x in entries.flat} == {int}
    assert {type(x) for x in intake(np.array([[True, False]])).entries.flat} == {int}


def test_a_tall_matrix_is_transposed_and_the_input_is_not_aliased():
    a = np.arange(6.0).reshape(3, 2)
    matrix = intake(a)
    assert matrix.transposed
    assert matrix.shape == (2, 3)
    a[2, 1] = 9
    assert matrix.entries.tolist() == [[0, 2, 4], [1, 3, 5]]


def test_sparse_matrices_add_repeated_entries_without_overflow():
    at = ([0, 0, 1], [1, 1, 0])
    small = scipy.sparse.coo_array((np.array([100, 100, 7], dtype=np.int8), at), shape=(2, 2))
    assert intake(small).entries.tolist() == [[0, 200], [7, 0]]
    real = scipy.sparse.csr_matrix(np.array([[0, 0.5], [2, 0]]))
    assert intake(real).kind == "real"
    assert intake(real).entries.tolist() == [[0, 0.5], [2, 0]]
    bools = scipy.sparse.coo_array((np.array([True, False, True]), at), shape=(2, 2))
    assert intake(bools).entries.tolist() == [[0, 1], [1, 0]]


class Exported:
    """An array of a package that speaks DLPack, and nothing else."""

    def __init__(self, array):
        self._array = array
        self.ndim = array.ndim

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_arrays_of_any_package_with_dlpack():
    assert intake(Exported(np.eye(2, dtype=np.complex64))).kind == "complex"
    assert intake(Exported(np.eye(2, dtype=np.int64))).entries.tolist() == [[1, 0], [0, 1]]
    batch = np.arange(12.0).reshape(3, 2, 2)
    found = hardscape.permanent(Exported(batch))
    assert isinstance(found, np.ndarray)
    assert found.tolist() == hardscape.permanent(batch).tolist()
    mask = Exported(np.array([2, 1]))
    assert hardscape.permanent([[1, 2], [3, 4]], rows=mask, cols=np.array([1, 2])) == 56


def test_a_batch_is_not_copied_and_stays_writable():
    batch = np.ones((3, 2, 2))
    entries = intake(batch).entries
    assert np.shares_memory(entries, batch)
    assert not entries.flags.writeable
    assert batch.flags.writeable


@pytest.mark.parametrize(
    ("a", "named"),
    [
        ([[1.0, np.nan], [0, 1]], "[0, 1]"),
        (np.array([[1, 0], [np.inf, 1]]), "[1, 0]"),
        (np.array([[1, 0], [1j * np.inf, 1]]), "[1, 0]"),
        ([[1, "2"], [0, 1]], "[0, 1]"),
        ([[1, None], [0, 1]], "[0, 1]"),
        ([[0.5, 2**53 + 1]], str(2**53 + 1)),
        ([[0.5, 10**5000]], "[0, 1]"),
        ([[0.5], [Fraction(1, 3)]], "1/3"),
        ([[1j, Fraction(1, 3)]], "1/3"),
        ([[1, 2], [3]], "list"),
        ([1, 2], "(2,)"),
        (3, "()"),
        (None, "()"),
        (np.ones((2, 2, 3)), "(2, 2, 3)"),
        (np.ones((1, 1, 1, 1)), "(1, 1, 1, 1)"),
        (np.array([["a"]]), "<U1"),
        (np.zeros((1, 1), dtype="datetime64[s]"), "datetime64"),
        (scipy.sparse.coo_array(([np.nan], ([0], [1])), shape=(2, 2)), "[0, 1]"),
        (scipy.sparse.coo_array((1, MAX_SIDE + 1)), str(MAX_SIDE)),
    ],
)
def test_bad_matrices_are_refused_by_name(a, named):
    with pytest.raises(InputError) as caught:
        intake(a, "weights")
    assert "weights" in str(caught.value)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("a", "permanent"),
    [
        ([], 1),
        ([[0]], 0),
        ([[7]], 7),
        (np.eye(6, dtype=int), 1),
        (np.zeros((5, 5), dtype=int), 0),
        (np.eye(6, dtype=int)[[3, 0, 5, 1, 2, 4]] * 2, 64),
        (tridiagonal(30), 1346269),
        (grid(4), 36),
        (np.triu(np.ones((9, 9), dtype=int)), 1),
        ([[1, 2], [3, 4]], 10),
        ([[Fraction(1, 2), Fraction(1, 3)], [1, 2]], Fraction(4, 3)),
        ([[1, 1, 0], [1, -1, 0], [5, 6, 7]], 0),
    ],
)
def test_exact_permanents_by_structure_alone(a, permanent):
    assert product(reduce(intake(a))) == permanent


def test_two_entries_a_line_leave_nothing_of_a_tridiagonal_matrix():
    reduced = reduce(intake(tridiagonal(30)))
    assert reduced.blocks == ()
    assert reduced.reductions.merged_rows + reduced.reductions.merged_columns > 0


def test_block_triangular_matrix_falls_apart_and_loses_the_entries_between():
    a = np.ones((7, 7))
    a[:3, 3:] = 0
    order = np.random.default_rng(5).permutation(7)
    reduced = reduce(intake(a[order][:, order[::-1]]))
    assert sorted(len(block) for block in reduced.blocks) == [3, 4]
    assert reduced.reductions == Reductions(dropped_entries=12, splits=1)
    assert product(reduced) == 6 * 24


def test_a_row_of_one_entry_becomes_a_factor():
    a = np.full((4, 4), 3.0)
    a[2] = [0, 5, 0, 0]
    reduced = reduce(intake(a))
    assert reduced.factors == (5.0,)
    assert [block.tolist() for block in reduced.blocks] == [[[3.0] * 3] * 3]
    assert reduced.reductions == Reductions(dropped_entries=3, splits=1, single_entries=1)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.complex64])
def test_no_perfect_matching_answers_zero_of_the_right_type(dtype):
    a = np.ones((6, 6), dtype=dtype)
    a[:4, 3:] = 0  # four rows share three columns
    reduced = reduce(intake(a))
    assert reduced.factors == (0,)
    assert reduced.blocks == ()
    assert reduced.reductions == Reductions(unmatched_rows=1)
    assert type(reduced.factors[0]) is {"i": int, "f": float, "c": complex}[np.dtype(dtype).kind]


def test_zero_lines_are_counted():
    a = np.ones((4, 4))
    a[1] = 0
    a[:, 2] = 0
    assert reduce(intake(a)).reductions == Reductions(zero_lines=2)


def test_floating_rows_of_two_entries_are_left_alone_in_small_matrices():
    a = np.array(tridiagonal(5)) * 0.1
    reduced = reduce(intake(a))
    assert reduced.factors == ()
    assert np.array_equal(reduced.blocks[0], a)


def test_extreme_factors_neither_overflow_nor_vanish():
    reduced = reduce(intake(np.diag([1e300, 1e300, 5e-324, 2.0])))
    assert sorted(reduced.factors) == [5e-324, 2.0, 1e300, 1e300]


def test_long_chains_need_no_recursion():
    n = 1200
    cycle = np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    (two,) = (reduced := reduce(intake(cycle))).factors
    assert Fraction(two.value) * Fraction(2) ** reduced.exponent == 2
    assert reduced.reductions.merged_rows + reduced.reductions.merged_columns == n - 1
    path = np.eye(n, k=1) + np.eye(n)
    assert reduce(intake(path[::-1])).factors == (1.0,) * n


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (2, 2, 2)])
def test_only_square_matrices_are_reduced(shape):
    with pytest.raises(InputError, match="shape"):
        reduce(intake(np.ones(shape)))
