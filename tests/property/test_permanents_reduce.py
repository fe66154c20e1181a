"""Reductions of random sparse matrices, against permanents summed over all permutations."""

from fractions import Fraction
from itertools import permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.errors import FormatError
from hardscape.permanents import formats
from hardscape.permanents.matrix import intake
from hardscape.permanents.structure.reduce import reduce

quick = settings(max_examples=80, deadline=None)
fuzz = settings(max_examples=150, deadline=None)


def naive(a):
    n = len(a)
    return sum(prod(a[i][p[i]] for i in range(n)) for p in permutations(range(n)))


def by_columns(a):
    """The permanent by expansion along rows, remembering sets of columns."""
    sums = {0: 1}
    for row in a:
        longer = {}
        for used, value in sums.items():
            for j, x in enumerate(row):
                if x and not used >> j & 1:
                    longer[used | 1 << j] = longer.get(used | 1 << j, 0) + value * x
        sums = longer
    return sums.get(2 ** len(a) - 1, 0)


@st.composite
def sparse_matrices(draw, numbers, largest=8):
    n = draw(st.integers(0, largest))
    density = draw(st.integers(1, 10))
    entry = st.tuples(st.integers(1, 10), numbers).map(lambda e: e[1] if e[0] <= density else 0)
    return draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=n, max_size=n))


small = st.integers(-3, 3)
fractions = st.fractions(-2, 2, max_denominator=5)


def product(reduced):
    return prod(reduced.factors) * prod(by_columns(block.tolist()) for block in reduced.blocks)


@quick
@given(sparse_matrices(small, 6))
def test_two_plain_permanents_agree(a):
    assert by_columns(a) == naive(a)


@quick
@given(sparse_matrices(st.one_of(small, st.just(2**70))))
def test_integers_keep_their_permanent(a):
    reduced = reduce(intake(a))
    assert product(reduced) == by_columns(a)
    for block in reduced.blocks:
        degrees = block != 0
        assert min(degrees.sum(axis=0).min(), degrees.sum(axis=1).min()) >= 3
        assert {type(x) for x in block.flat} == {int}


@settings(max_examples=40, deadline=None)
@given(sparse_matrices(fractions, 6))
def test_fractions_keep_their_permanent(a):
    reduced = reduce(intake(a))
    assert product(reduced) == by_columns(a)
    assert all((block != 0).sum(axis=0).min() >= 3 for block in reduced.blocks)


@quick
@given(sparse_matrices(small))
def test_floats_only_lose_entries_without_effect(a):
    reduced = reduce(intake(np.array(a, dtype=float).reshape(len(a), len(a))))
    assert product(reduced) == by_columns(a)  # integers this small are exact in float64
    given_entries = {x for row in a for x in row}
    assert {x for block in reduced.blocks for x in block.flat} <= given_entries | {0}
    for block in reduced.blocks:
        for i, j in np.argwhere(block):
            rest = np.delete(np.delete(block != 0, i, 0), j, 1).astype(int)
            assert by_columns(rest.tolist()) > 0  # each entry left is in a perfect matching


@quick
@given(sparse_matrices(small, 7), st.randoms(use_true_random=False))
def test_blocks_do_not_depend_on_order(a, random):
    a = np.array(a, dtype=float).reshape(len(a), len(a))
    rows, columns = list(range(len(a))), list(range(len(a)))
    random.shuffle(rows)
    random.shuffle(columns)
    one, other = reduce(intake(a)), reduce(intake(a[rows][:, columns].T))
    assert sorted(one.factors) == sorted(other.factors)
    assert sorted(map(len, one.blocks)) == sorted(map(len, other.blocks))
    assert one.reductions == other.reductions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("matrices")


def market(a, field, write):
    lines = [f"{i + 1} {j + 1} {write(x)}" for i, r in enumerate(a) for j, x in enumerate(r) if x]
    head = f"%%MatrixMarket matrix coordinate {field} general\n{len(a)} {len(a)} {len(lines)}\n"
    return head + "\n".join(lines)


@quick
@given(sparse_matrices(st.integers(-(10**30), 10**30), 4))
def test_integers_in_files_are_exact(folder, a):
    path = folder / "a.mtx"
    path.write_text(market(a, "integer", str))
    assert formats.read(path).tolist() == a


@quick
@given(sparse_matrices(st.floats(allow_nan=False, allow_infinity=False), 4))
def test_floats_in_files_are_exact(folder, a):
    path = folder / "a.mtx"
    path.write_text(market(a, "real", lambda x: repr(float(x))))
    assert formats.read(path).tolist() == a


@quick
@given(st.lists(st.lists(fractions, min_size=3, max_size=3), min_size=1, max_size=5))
def test_fractions_in_csv_are_exact(folder, a):
    path = folder / "a.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in a))
    assert [[Fraction(x) for x in row] for row in formats.read(path).tolist()] == a


characters = list("0123 -./%,ej\n\r\t\xa0\xff")
phrases = ["1 1 ", "\n2 2 1\n", "1e999", "nan", "\n%%MatrixMarket matrix ", "array ", "real "]
words = st.sampled_from([*characters, *phrases, "coordinate ", "hermitian\n", "symmetric\n"])
text = st.lists(words, max_size=30).map("".join).map(lambda s: s.encode("latin-1"))
headed = st.tuples(
    st.sampled_from(["coordinate", "array"]),
    st.sampled_from(["real", "integer", "complex", "pattern"]),
    st.sampled_from(["general", "symmetric", "skew-symmetric", "hermitian"]),
    text,
).map(lambda h: f"%%MatrixMarket matrix {' '.join(h[:3])}\n2 2 1\n".encode() + h[3])


def refusal(path):
    """The error with which `path` is refused, or None for one that holds numbers."""
    try:
        found = formats.read(path)
    except FormatError as error:
        return error
    assert found.dtype.kind in "biufcO"
    return None


@fuzz
@given(st.one_of(text, headed, st.binary(max_size=60)), st.sampled_from(formats.FORMATS.suffixes))
def test_any_bytes_give_a_matrix_or_our_error(folder, data, suffix):
    path = folder / f"fuzz{suffix}"
    path.write_bytes(data)
    error = refusal(path)
    assert error is None or str(error).startswith(str(path))


@fuzz
@given(st.data(), st.sampled_from([".npy", ".npz"]))
def test_damaged_numpy_files_give_an_array_or_our_error(folder, data, suffix):
    path = folder / f"damaged{suffix}"
    (np.save if suffix == ".npy" else np.savez_compressed)(path, np.arange(9.0).reshape(3, 3))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    error = refusal(path)
    assert error is None or error.path == str(path)
