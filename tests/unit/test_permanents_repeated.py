"""Multiplicities: given for boson sampling, and found in matrices with repeated lines."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.engine import Context, Cpu, Shard
from hardscape.errors import InputError
from hardscape.permanents.methods.repeated.repeated import RepeatedResidueWork, RepeatedWork
from hardscape.permanents.numbers.integers import primes_above
from hardscape.permanents.structure.multiplicity import repeated_lines
from helpers.permanent_oracle import exact_complex_permanent, exact_permanent_by_subsets, repeat


@st.composite
def problems(draw, least=0):
    """A matrix of small integers and multiplicities of equal sums, at most 7."""
    m, n = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rows = draw(st.lists(st.integers(least, 3), min_size=m, max_size=m))
    total = sum(rows)
    cols = [0] * n
    for _ in range(total):
        cols[draw(st.integers(0, n - 1))] += 1
    if total > 7 or (least and 0 in cols):
        rows, cols = [1] * m, [0] * (n - 1) + [m]
        cols = cols if not least or n == 1 else [1] * m
        n = len(cols)
    entries = draw(
        st.lists(st.lists(st.integers(-5, 5), min_size=n, max_size=n), min_size=m, max_size=m)
    )
    return entries, rows, cols


@given(problems())
@settings(max_examples=60, deadline=None)
def test_multiplicities_stand_for_repeated_lines(problem):
    matrix, rows, cols = problem
    expected = exact_permanent_by_subsets(repeat(matrix, rows, cols))
    assert hardscape.permanent(matrix, rows=rows, cols=cols) == expected
    result = hardscape.permanent(
        np.array(matrix, dtype=float), rows=rows, cols=cols, full_output=True
    )
    assert result.rigorous
    assert abs(Fraction(result.value) - expected) <= Fraction(result.error_bound)


@given(problems(least=1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_both_kernels_and_both_sides(problem, turn):
    matrix, rows, cols = problem
    expected = exact_permanent_by_subsets(repeat(matrix, rows, cols))
    if turn:
        matrix, rows, cols = [list(x) for x in zip(*matrix, strict=True)], cols, rows
    work = RepeatedWork(np.array(matrix, dtype=float), tuple(rows), tuple(cols))
    found = work.result(whole(work))
    assert abs(Fraction(found.value) - expected) <= Fraction(found.error_bound)
    residues = RepeatedResidueWork.of(tuple(map(tuple, matrix)), rows, cols, primes_above(10**10))
    assert residues.result(whole(residues)) == expected


def whole(work):
    """The partial of all shards, cut differently from how the work would."""
    context = Context(Cpu(), None, np.zeros(1, np.uint8))
    units = work.shards()[-1].stop
    cuts = sorted({0, units // 3, units // 2, units})
    total = None
    for index, (start, stop) in enumerate(pairwise(cuts)):
        result = work.run(Shard(index, start, stop), context)
        assert result.complete
        total = result.partial if total is None else work.merge(total, result.partial)
    return total


def test_complex_and_guarded_is_within_its_bound():
    rng = np.random.default_rng(1)
    rows, cols = (2, 1, 3, 1), (1, 4, 2)
    matrix = rng.normal(size=(4, 3)) + 1j * rng.normal(size=(4, 3))
    re, im = exact_complex_permanent(repeat(matrix, rows, cols))
    work = RepeatedWork(matrix, rows, cols)
    assert not work.tables[0].exact
    found = work.result(whole(work))
    assert abs(complex(found.value) - complex(re, im)) <= found.error_bound
    assert found.error_bound <= 1e-12 * abs(found.value) * found.condition
    free = hardscape.permanent(matrix, rows=rows, cols=cols)
    assert free == pytest.approx(complex(re, im), rel=1e-12)


def test_sixty_photons_in_one_mode():
    assert hardscape.permanent([[1]], rows=[60], cols=[60]) == math.factorial(60)
    assert hardscape.permanent([[0.5]], rows=[60], cols=[60]) == pytest.approx(
        math.factorial(60) / 2.0**60, rel=1e-14
    )
    # Two modes: per of [[a, b], [c, d]] with k photons each is a sum over those that cross.
    a, b, c, d, k = 3, 1, 2, 5, 60
    expected = sum(
        math.comb(k, i) ** 4
        * math.factorial(k - i) ** 2
        * math.factorial(i) ** 2
        * (a * d) ** (k - i)
        * (b * c) ** i
        for i in range(k + 1)
    )
    assert hardscape.permanent([[a, b], [c, d]], rows=[k, k], cols=[k, k]) == expected
    floating = np.array([[a, b], [c, d]], dtype=float)
    value = hardscape.permanent(floating, rows=[k, k], cols=[k, k])
    assert value == pytest.approx(float(expected), rel=1e-14)


def test_hong_ou_mandel():
    splitter = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    assert hardscape.permanent(splitter) == pytest.approx(0.0, abs=1e-16)
    # Both photons leave through one port: amplitude per / sqrt(2!) = 1/sqrt(2).
    assert hardscape.permanent(splitter, rows=[2, 0], cols=[1, 1]) == pytest.approx(1.0)


def test_repeated_lines_are_found_and_used():
    rng = np.random.default_rng(2)
    matrix = repeat(rng.integers(-9, 10, (4, 6)), [8, 8, 8, 6], [5] * 6)
    lines = repeated_lines(matrix.astype(object))
    assert sorted(lines.rows) == [6, 8, 8, 8]
    result = hardscape.permanent(matrix, full_output=True)
    assert result.method == "repeated"
    # 30 rows; the other side would cost 6^6.
    assert result.terms == 9**3 * 6
    assert result.value == hardscape.permanent(matrix.T[rng.permutation(30)])
    floating = hardscape.permanent(matrix.astype(float), full_output=True)
    assert abs(Fraction(floating.value) - result.value) <= Fraction(floating.error_bound)


def test_proportional_lines_count_as_repeated():
    rng = np.random.default_rng(3)
    base = rng.integers(1, 9, (2, 12))
    factors = rng.integers(1, 5, 12) * rng.choice([-1, 1], 12)
    matrix = base[[0, 1] * 6] * factors[:, None]
    result = hardscape.permanent(matrix, full_output=True, method="repeated")
    assert result.terms < 50
    assert result.value == exact_permanent_by_subsets(matrix)
    floating = hardscape.permanent(
        matrix / 8, full_output=True, precision="double", method="repeated"
    )
    assert abs(Fraction(floating.value) - Fraction(result.value, 8**12)) <= floating.error_bound


def test_rectangles_use_their_rows_of_ones():
    matrix = np.random.default_rng(4).integers(-9, 10, (3, 40))
    a, b, c = matrix.astype(object)
    expected = (
        a.sum() * b.sum() * c.sum()
        - (a * b).sum() * c.sum()
        - (a * c).sum() * b.sum()
        - (b * c).sum() * a.sum()
        + 2 * (a * b * c).sum()
    )
    assert hardscape.permanent(matrix) == expected
    assert hardscape.permanent(matrix.astype(float)) == expected
    for method in ("subset", "repeated"):
        turned = hardscape.permanent(matrix * 1j, full_output=True, method=method)
        assert turned.method == method
        assert abs(turned.value - -1j * float(expected)) <= turned.error_bound


def test_no_photons():
    assert hardscape.permanent([[1.5, 2]], rows=[0], cols=[0, 0]) == 1
    assert hardscape.permanent([[7, 2], [1, 3]], rows=[1, 0], cols=[0, 1]) == 2


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        ([1, 1], [1]),
        ([1, 1], [1, 2]),
        ([1, -1], [0, 0]),
        ([1, 0.5], None),
        ([1, True], None),
        (["2", 0], None),
        (2, None),
        ([5000, 0], [0, 5000]),
    ],
)
def test_multiplicities_that_mean_nothing(rows, cols):
    with pytest.raises(InputError):
        hardscape.permanent([[1, 2], [3, 4]], rows=rows, cols=cols)


def test_not_for_batches():
    with pytest.raises(InputError):
        hardscape.permanent(np.ones((2, 3, 3)), rows=[1, 1, 1])
