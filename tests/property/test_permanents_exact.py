"""Exact permanents of random matrices: against the definition, and their invariances."""

import math
from fractions import Fraction
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape import engine
from hardscape.permanents.methods.exact.exact import ResidueWork, WordWork
from helpers.permanent_sums import summed

quick = settings(max_examples=60, deadline=None)


def exact_permanent(matrix):
    return hardscape.permanent(matrix, precision="exact")


def by_definition(matrix):
    n = max(map(len, matrix), default=0)
    return sum(
        math.prod(row[c] for row, c in zip(matrix, chosen, strict=True))
        for chosen in permutations(range(n), len(matrix))
    )


@st.composite
def matrices(draw, min_side=0, max_side=6, max_columns=None):
    m = draw(st.integers(min_side, max_side))
    n = m if max_columns is None else draw(st.integers(m, max_columns))
    reach = draw(st.sampled_from([1, 9, 2**29, 2**40, 2**62, 10**50]))
    entry = st.one_of(st.just(0), st.integers(-3, 3), st.integers(-reach, reach))
    return draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=m, max_size=m))


@quick
@given(matrices(max_columns=7))
def test_equals_the_definition(matrix):
    assert exact_permanent(matrix) == by_definition(matrix)


@quick
@given(matrices(min_side=6, max_side=7))
def test_kernels_equal_the_definition(matrix):
    expected = by_definition(matrix)
    rows = tuple(map(tuple, matrix))
    works = [ResidueWork.of(rows)]
    if all(map(any, zip(*matrix, strict=True))) and (words := WordWork.of(rows)):
        works.append(words)
    for work in works:
        assert summed(work, engine.resolve("cpu", threads=1)) == expected


@quick
@given(matrices(min_side=1, max_side=10), st.randoms(use_true_random=False))
def test_order_and_transposition_do_not_matter(matrix, random):
    expected = exact_permanent(matrix)
    columns = [list(column) for column in zip(*matrix, strict=True)]
    random.shuffle(columns)
    assert exact_permanent(columns) == expected
    random.shuffle(matrix)
    assert exact_permanent(matrix) == expected


@quick
@given(
    matrices(min_side=2, max_side=8),
    st.fractions(max_denominator=10**9),
    st.integers(-(10**30), 10**30),
)
def test_linear_in_each_row(matrix, factor, other):
    expected = exact_permanent(matrix)
    scaled = [[factor * x for x in matrix[0]], *matrix[1:]]
    assert exact_permanent(scaled) == factor * expected
    moved = [[x + other for x in matrix[0]], *matrix[1:]]
    constant = [[other] * len(matrix), *matrix[1:]]
    assert exact_permanent(moved) == expected + exact_permanent(constant)


@quick
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4))
def test_floats_are_the_rationals_they_are(entries):
    a, b, c, d = entries
    value = exact_permanent([[a, b], [c, d]])
    assert value == Fraction(a) * Fraction(d) + Fraction(b) * Fraction(c)
