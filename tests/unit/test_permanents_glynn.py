"""Glynn's formula in double precision, and its error bound, against exact permanents."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape import engine
from hardscape.errors import BudgetError
from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork, CudaGlynnWork
from hardscape.permanents.structure.scaling import ScaledMatrix
from helpers.permanent_sums import glynn


def exact_permanent(matrix):
    """Real and imaginary part as fractions, row by row over sets of columns."""
    n = len(matrix)
    real = [[Fraction(float(x.real)) for x in row] for row in matrix]
    imag = [[Fraction(float(x.imag)) for x in row] for row in matrix]
    sums = {0: (Fraction(1), Fraction(0))}
    for i in range(n):
        following = {}
        for columns, (a, b) in sums.items():
            for j in range(n):
                if columns >> j & 1 or not (real[i][j] or imag[i][j]):
                    continue
                c, d = real[i][j], imag[i][j]
                key = columns | 1 << j
                p, q = following.get(key, (Fraction(0), Fraction(0)))
                following[key] = (p + a * c - b * d, q + a * d + b * c)
        sums = following
    return sums.get((1 << n) - 1, (Fraction(0), Fraction(0)))


def permanent(matrix, threads=1, **options):
    return glynn(matrix, devices=engine.resolve("cpu", threads=threads), **options)


def deviation(result, matrix):
    """Exact |mantissa - per 2^-exponent|."""
    real, imag = exact_permanent(matrix)
    unit = Fraction(2) ** -result.exponent
    a = Fraction(float(np.real(result.mantissa))) - real * unit
    b = Fraction(float(np.imag(result.mantissa))) - imag * unit
    return abs(a) if b == 0 else Fraction(math.hypot(a, b)) * (1 - Fraction(1, 2**50))


def adversarial():
    """Matrices with huge ranges, cancellations, special structure."""
    rng = np.random.default_rng(11)
    n = 8
    normal = rng.normal(size=(n, n))
    yield "ones", np.ones((10, 10))
    yield "identity", np.eye(9)
    yield "zero", np.zeros((7, 7))
    yield "zero row", np.where(np.arange(n)[:, None] == 3, 0.0, normal)
    yield "zero column", np.where(np.arange(n) == 3, 0.0, normal)
    yield "normal", normal
    yield "integers", rng.integers(-99, 100, (9, 9)).astype(float)
    yield "wide entries", normal * 10.0 ** rng.integers(-150, 150, (n, n))
    yield "wide rows", normal * 10.0 ** rng.integers(-30, 30, (n, 1))
    yield "wide columns", normal * 10.0 ** rng.integers(-30, 30, (1, n))
    yield "largest", np.full((6, 6), np.finfo(float).max)
    yield "subnormal", np.full((6, 6), 5e-324)
    yield "both ends", np.where(np.eye(7) > 0, 5e-324, np.finfo(float).max)
    yield "cancelling", np.vstack([np.ones(n), np.tile([1.0, -1.0], n // 2), normal[2:]])
    nearly = np.ones((n, n))
    nearly[::2, ::2] = -1 - 2.0**-50
    yield "nearly cancelling", nearly
    yield "triangular", np.triu(normal * 1e12) + np.diag(np.full(n, 1e-12))
    yield "complex", normal + 1j * rng.normal(size=(n, n))
    yield "roots of unity", np.exp(2j * np.pi * np.outer(np.arange(9), np.arange(9)) / 9)
    yield "complex range", (normal + 1j) * 10.0 ** rng.integers(-100, 100, (n, n))
    yield "imaginary", 1j * normal
    yield "one by one", np.array([[-3.25]])


@pytest.mark.parametrize(("name", "matrix"), list(adversarial()))
def test_bound_holds_on_adversarial_matrices(name, matrix):
    result = permanent(matrix)
    assert result.rigorous
    assert deviation(result, matrix) <= Fraction(result.bound)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("n", range(1, 11))
def test_random_matrices_are_accurate(n, parts):
    rng = np.random.default_rng(n)
    matrix = rng.normal(size=(n, n))
    if parts == 2:
        matrix = matrix + 1j * rng.normal(size=(n, n))
    result = permanent(matrix)
    assert deviation(result, matrix) <= Fraction(result.bound)
    # Useful as well as true: not many digits are given away.
    assert result.bound < 1e-11 * abs(result.mantissa)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_bound_holds_for_any_entries(data):
    n = data.draw(st.integers(1, 7))
    entry = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, -1.0])
    real = data.draw(st.lists(entry, min_size=n * n, max_size=n * n))
    matrix = np.array(real).reshape(n, n)
    if data.draw(st.booleans()):
        imag = data.draw(st.lists(entry, min_size=n * n, max_size=n * n))
        matrix = matrix + 1j * np.array(imag).reshape(n, n)
    result = permanent(matrix)
    assert deviation(result, matrix) <= Fraction(result.bound)


def test_integer_entries_leave_no_slack():
    matrix = np.random.default_rng(3).integers(-(2**20), 2**20, (12, 12)).astype(float)
    assert ScaledMatrix.of(matrix, 6).exact
    assert permanent(matrix, guard=False).rigorous


def test_without_the_guard_the_bound_is_an_estimate():
    matrix = np.random.default_rng(4).normal(size=(9, 9))
    guarded, estimated = permanent(matrix), permanent(matrix, guard=False)
    assert guarded.rigorous
    assert not estimated.rigorous
    assert guarded.mantissa == estimated.mantissa
    assert guarded.bound / 10 < estimated.bound < guarded.bound * 10


def test_scaled_matrix_is_the_matrix():
    rng = np.random.default_rng(5)
    matrix = rng.integers(-99, 100, (8, 8)) * 2.0 ** rng.integers(-40, 40, (8, 1))
    scaled = ScaledMatrix.of(matrix, 6)
    real, _ = exact_permanent(scaled.entries[0])
    assert scaled.exact
    assert np.abs(scaled.entries).sum(axis=1).max() < 1
    assert real * Fraction(2) ** scaled.exponent == exact_permanent(matrix)[0]


def test_same_bytes_for_any_number_of_threads():
    rng = np.random.default_rng(6)
    matrix = rng.normal(size=(22, 22)) + 1j * rng.normal(size=(22, 22))
    assert len(CpuGlynnWork(matrix).shards()) > 1
    results = [permanent(matrix, threads, guard=False) for threads in (1, 2, 7)]
    assert results[0] == results[1] == results[2]


def test_shards_join_to_the_whole():
    matrix = np.random.default_rng(7).integers(-9, 10, (14, 14)).astype(float)
    work = CpuGlynnWork(matrix)
    context = engine.Context(engine.resolve("cpu", threads=1)[0], None, np.zeros(1, np.uint8))
    whole = work.run(engine.Shard(0, 0, work.blocks), context).partial
    parts = [
        work.run(engine.Shard(i, start, stop), context).partial
        for i, (start, stop) in enumerate([(0, 1), (1, 77), (77, 128), (128, work.blocks)])
    ]
    merged = parts[0]
    for part in parts[1:]:
        merged = work.merge(merged, part)
    bound = work.result(whole).bound
    assert abs(work.result(merged).mantissa - work.result(whole).mantissa) <= 2 * bound
    assert np.isclose(merged["magnitude"], whole["magnitude"], rtol=1e-12)


def test_shards_of_the_largest_matrices():
    for n in (62, 63, 70):
        shards = CpuGlynnWork(np.ones((n, n))).shards()
        assert shards[-1].stop == 2 ** (n - 6)
        assert all(len(shards[i]) == 2**25 for i in (0, 1, len(shards) // 3, len(shards) - 1))


def test_shards_on_gpus_fit_into_a_ledger():
    for n in (62, 63, 70):
        shards = CudaGlynnWork(np.ones((n, n))).shards()
        assert len(shards) == 2**20
        assert all(len(shards[i]) == 2 ** (n - 26) for i in (0, 1, 2**19, 2**20 - 1))
        assert shards[-1].stop == 2 ** (n - 6)
    assert len(CudaGlynnWork(np.ones((40, 40))).shards()) == 8


def test_the_last_terms_of_the_largest_matrix():
    n = 70
    work = CpuGlynnWork(np.random.default_rng(1).normal(size=(n, n)), guard=False)
    context = engine.Context(engine.resolve("cpu", threads=1)[0], None, np.zeros(1, np.uint8))
    for first, last in ((work.blocks - 3, work.blocks), (2**63 - 1, 2**63 + 2)):
        result = work.run(engine.Shard(0, first, last), context)
        assert result.complete
        expected = 0.0
        for block, inner in itertools.product(range(first, last), range(32)):
            # The fixed row, five inner ones, and those of the Gray code.
            bits = (block ^ block >> 1) << 5 | inner
            signs = np.array([1, *(1 - 2 * (bits >> i & 1) for i in range(n - 1))])
            expected += signs.prod() * np.prod(signs @ work.scaled.entries[0])
        assert result.partial["high"][0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [63, 70])
def test_last_shards_of_the_largest_matrix_run(n):
    work = CpuGlynnWork(np.eye(n))
    context = engine.Context(engine.resolve("cpu", threads=1)[0], None, np.zeros(1, np.uint8))
    result = work.run(engine.Shard(0, work.blocks - 4, work.blocks), context)
    assert result.complete
    # Every term of an identity is the same.
    assert result.partial["high"][0] == result.partial["magnitude"][0] > 0


def test_stop_is_obeyed():
    work = CpuGlynnWork(np.eye(20))
    context = engine.Context(engine.resolve("cpu", threads=1)[0], None, np.ones(1, np.uint8))
    assert not work.run(work.shards()[0], context).complete


def test_time_limit_raises():
    with pytest.raises(BudgetError):
        permanent(np.ones((50, 50)), time_limit=0.05)


def test_overflow_is_infinite_but_the_mantissa_is_not():
    result = permanent(np.full((12, 12), -1e200))
    assert result.value == math.inf
    assert result.error_bound == math.inf
    log10 = math.log10(result.mantissa) + result.exponent * math.log10(2)
    assert log10 == pytest.approx(2400 + math.log10(math.factorial(12)))


def test_value_and_error_bound_of_ones():
    result = permanent(np.ones((10, 10)))
    assert result.value == math.factorial(10)
    assert result.error_bound < 1e-13 * result.value
    assert result.terms == 2**9


def test_work_pickles():
    work = CpuGlynnWork(np.random.default_rng(8).normal(size=(7, 7)))
    copy = pickle.loads(pickle.dumps(work))
    assert copy.digest() == work.digest()
    assert copy.digest() != CpuGlynnWork(work.matrix, guard=False).digest()


@pytest.mark.parametrize("complex_entries", [False, True])
def test_rows_of_very_different_size_keep_their_digits(complex_entries):
    rng = np.random.default_rng(5)
    a = rng.normal(size=(9, 9)) + 1j * rng.normal(size=(9, 9)) * complex_entries
    a = a if complex_entries else a.real
    a[-1, 1] *= 1e-4  # small in the largest row only
    plain = permanent(a).value
    a *= 2.0 ** np.array([-30, 0, 0, 0, 0, 0, 0, 0, 30])[:, None]
    assert permanent(a).value == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_errors_of_equal_terms_add_up_and_are_expected_to(seed, complex_entries):
    rng = np.random.default_rng(seed)
    parts = np.repeat(rng.integers(-(2**20), 2**20, (2, 4, 12)).astype(float), 3, axis=1)
    parts[:, 3] *= -1  # still the same but for a sign
    a = parts[0] + 1j * parts[1] if complex_entries else parts[0]
    result = permanent(a)
    assert result.different == 4**4 < result.terms
    assert deviation(result, a) <= result.likely_error
    assert permanent(rng.normal(size=(9, 9))).different == 2**8
