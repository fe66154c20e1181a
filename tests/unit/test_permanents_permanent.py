"""`hardscape.permanent` on matrices whose permanents are known."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse

import hardscape
from hardscape.engine import Cuda
from hardscape.errors import BudgetError, InputError, OverflowWarning
from hardscape.permanents import minors, value_and_grad


def by_definition(matrix):
    """Sum over injective maps from rows to columns; rows must not outnumber columns."""
    rows, columns = len(matrix), len(matrix[0]) if len(matrix) else 0
    total = Fraction(0)
    for chosen in permutations(range(columns), rows):
        product = Fraction(1)
        for i, j in enumerate(chosen):
            product *= Fraction(matrix[i][j])
        total += product
    return total


@pytest.mark.parametrize("n", [0, 1, 2, 5, 12, 20])
def test_all_ones_gives_the_factorial(n):
    value = hardscape.permanent(np.ones((n, n), dtype=np.int64))
    assert value == math.factorial(n)
    assert type(value) is int


def test_derangements_of_twenty():
    matrix = np.ones((20, 20), dtype=bool) & ~np.eye(20, dtype=bool)
    assert hardscape.permanent(matrix) == 895014631192902121


def test_integers_do_not_overflow():
    n, a, b = 10, 10**30, -(10**25)
    matrix = [[a * (i == j) + b for j in range(n)] for i in range(n)]
    expected = sum(
        math.comb(n, k) * a**k * b ** (n - k) * math.factorial(n - k) for k in range(n + 1)
    )
    assert hardscape.permanent(matrix) == expected


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 1), (3, -3), (5, -5), (7, -105), (9, 81), (11, 6765)]
)
def test_schur_matrices(n, expected):
    k = np.arange(n)
    matrix = np.exp(2j * np.pi * np.outer(k, k) / n)
    result = hardscape.permanent(matrix, full_output=True)
    assert abs(result.value - expected) < 1e-8
    # The entries themselves are rounded, so the bound is about them, not about the ideal matrix.
    assert result.error_bound < 1e-6


def test_rank_one_and_cauchy():
    rng = np.random.default_rng(1)
    u, v = rng.uniform(0.5, 2, 9), rng.uniform(0.5, 2, 9)
    expected = math.factorial(9) * u.prod() * v.prod()
    assert hardscape.permanent(np.outer(u, v)) == pytest.approx(expected, rel=1e-12)
    x, y = np.arange(1.0, 8.0), np.arange(7.0) / 7 + 0.05
    cauchy = 1 / (x[:, None] + y)
    borchardt = np.linalg.det(cauchy**2) / np.linalg.det(cauchy)
    assert hardscape.permanent(cauchy) == pytest.approx(borchardt, rel=1e-4)


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (5, 3), (1, 4), (6, 6)])
def test_double_is_within_its_bound_of_the_definition(shape):
    rng = np.random.default_rng(shape)
    for scale in (1.0, 1e150, 1e-60):
        matrix = rng.normal(size=shape) * scale ** (1 / min(shape))
        wide = matrix if shape[0] <= shape[1] else matrix.T
        expected = by_definition(wide.tolist())
        result = hardscape.permanent(matrix, full_output=True)
        assert result.rigorous
        assert abs(Fraction(result.value) - expected) <= Fraction(result.error_bound)
        assert result.error_bound <= 1e-11 * by_definition(np.abs(wide).tolist())
        assert hardscape.permanent(matrix) == result.value
        assert hardscape.permanent(matrix, precision="exact") == expected


def test_blocks_multiply_within_the_bound():
    rng = np.random.default_rng(4)
    matrix = np.zeros((9, 9))
    matrix[:4, :4] = rng.normal(size=(4, 4))
    matrix[4:8, 4:8] = rng.normal(size=(4, 4))
    matrix[8, 8] = 3.0
    matrix[4:, :4] = rng.normal(size=(5, 4))
    mixed = matrix[rng.permutation(9)][:, rng.permutation(9)]
    result = hardscape.permanent(mixed, method="glynn", full_output=True)
    expected = by_definition(matrix[:4, :4].tolist()) * by_definition(matrix[4:8, 4:8].tolist()) * 3
    assert abs(Fraction(result.value) - expected) <= Fraction(result.error_bound)
    assert result.reductions.splits == 2
    assert result.terms < 2**8


def test_structural_zero_and_sparse_input():
    matrix = scipy.sparse.coo_array(([1, 2, 3], ([0, 1, 2], [0, 0, 1])), shape=(3, 3))
    assert hardscape.permanent(matrix) == 0
    ring = scipy.sparse.diags_array([1, 1], offsets=[0, 1], shape=(40, 40), dtype=int).tolil()
    ring[39, 0] = 1
    assert hardscape.permanent(ring.tocsr()) == 2


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("side", [3, 16])
def test_what_is_beyond_float64_is_warned_of(side: int, kind: type) -> None:
    large = np.random.default_rng(side).uniform(1, 2, (side, side)).astype(kind) * 2.0**500
    batch = np.stack([large, np.eye(side, dtype=kind)])
    with pytest.warns(OverflowWarning):
        assert not np.isfinite(hardscape.permanent(large))
    with pytest.warns(OverflowWarning):
        assert np.isfinite(hardscape.permanent(batch)).tolist() == [False, True]
    with pytest.warns(OverflowWarning):
        assert not np.isfinite(minors(large * 2.0**400)).all()
    told = hardscape.permanent(large, full_output=True)  # says all, and warns of nothing
    assert not np.isfinite(told.value)
    assert np.isfinite(told.mantissa)
    assert np.isfinite(hardscape.permanent(batch[1]))


def test_products_of_factors_do_not_overflow_on_the_way():
    matrix = np.diag([1e300, 1e-300, 1e300, 1e-300])
    assert hardscape.permanent(matrix) == pytest.approx(1.0, rel=1e-15)


def test_beyond_float64_there_is_a_mantissa():
    matrix = np.random.default_rng(7).integers(1, 9, (12, 12))
    exact = hardscape.permanent(matrix)
    for power in (200, -200):
        floating = np.ldexp(matrix.astype(float), power)
        result = hardscape.permanent(floating, full_output=True)
        assert result.value in (math.inf, 0.0)
        found = Fraction(result.mantissa) * Fraction(2) ** (result.exponent - 12 * power)
        assert abs(found / exact - 1) < 1e-13
        assert hardscape.permanent(floating, precision="exact") == exact * Fraction(2) ** (
            12 * power
        )


def test_batches_and_kinds():
    rng = np.random.default_rng(2)
    real = rng.normal(size=(3, 4, 4))
    values = hardscape.permanent(real)
    assert values.dtype == np.float64
    assert values.tolist() == [hardscape.permanent(x) for x in real]
    assert hardscape.permanent(real * 1j).dtype == np.complex128
    whole = hardscape.permanent(np.ones((2, 3, 3), dtype=np.int8))
    assert whole.tolist() == [6, 6]
    assert hardscape.permanent([[Fraction(1, 3), 1], [1, 3]]) == 2


def test_threads_give_the_same_bits():
    matrix = np.random.default_rng(3).normal(size=(20, 20))
    assert len({hardscape.permanent(matrix, threads=t) for t in (1, 2, 7)}) == 1


def test_result_is_json():
    exact = hardscape.permanent([[10**20, 1], [1, 1]], full_output=True)
    assert json.loads(exact.to_json())["value"] == str(10**20 + 1)
    value = json.loads(hardscape.permanent([[1j, 1], [1, 1]], full_output=True).to_json())["value"]
    assert value == {"re": 1.0, "im": 1.0}


def test_bad_input():
    with pytest.raises(InputError):
        hardscape.permanent([[1, 2], [3]])
    with pytest.raises(InputError):
        hardscape.permanent([[1.0, float("nan")], [1, 1]])
    with pytest.raises(InputError, match="quad"):
        hardscape.permanent([[1.0]], precision="quad")
    with pytest.raises(InputError):
        hardscape.permanent([[2**60 + 1]], precision="double")
    with pytest.raises(BudgetError):
        hardscape.permanent(np.random.default_rng(0).normal(size=(36, 36)), time_limit=0.2)


def test_large_matrices_of_small_blocks():
    n = 1100
    assert hardscape.permanent(scipy.sparse.eye(n)) == 1.0
    banded = scipy.sparse.diags_array([1, 1], offsets=[0, -1], shape=(n, n), dtype=int)
    assert hardscape.permanent(banded) == 1
    assert hardscape.permanent(2 * np.eye(n, dtype=int)) == 2**n


def test_masked_entries_are_refused():
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    with pytest.raises(InputError):
        hardscape.permanent(masked)
    assert hardscape.permanent(np.ma.masked_array([[1, 2], [3, 4]], mask=False)) == 10


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 9, 14, 15])
def test_small_matrices_agree_with_the_long_way(n, complex_entries):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n)) + 1j * complex_entries * rng.normal(size=(n, n))
    a = a if complex_entries else a.real
    value, long = hardscape.permanent(a), hardscape.permanent(a, full_output=True)
    assert type(value) is type(long.value)
    assert value == pytest.approx(long.value, rel=1e-11)


def test_small_matrices_that_cancel_take_the_long_way():
    a = np.array([[1, 1], [1, -1 - 2.0**-52]]) / np.sqrt(2)
    exact = float(hardscape.permanent(a, precision="exact"))
    assert hardscape.permanent(a) == exact != 0
    assert hardscape.permanent(-np.full((12, 12), 0.1)) == pytest.approx(
        math.factorial(12) * 1e-12, rel=1e-14
    )
    with pytest.raises(InputError):
        hardscape.permanent(-np.ones((3, 3)), precision="single")
    with pytest.raises(InputError):
        hardscape.permanent(-np.ones((3, 3)), method="ryser")


@pytest.mark.parametrize("entries", [np.int64, np.complex128])
def test_exact_sums_are_planned_on_gpus_where_these_are_quicker(entries) -> None:
    dense = np.random.default_rng(1).integers(-9, 9, (36, 36)).astype(entries)
    plan = hardscape.permanents.plan(dense, device=Cuda(0), precision="exact")
    on_cpu = hardscape.permanents.plan(dense, device="cpu", threads=1, precision="exact")
    assert "GPU" in plan.device
    assert plan.precision == on_cpu.precision == "exact"
    assert plan.seconds < on_cpu.seconds / 2  # the pace of one core differs by machine


@pytest.mark.parametrize(
    ("a", "options"),
    [
        ([[1, 2], [3, 4]], {}),
        ([[0.5, 2], [3, 4j]], {"precision": "exact"}),
        (np.arange(27).reshape(3, 3, 3), {}),
        (np.arange(9).reshape(3, 3), {"rows": [[1, 1, 1], [3, 0, 0]], "cols": [1, 1, 1]}),
        (np.ones((20, 20), dtype=int) + np.diag(np.arange(20)), {"full_output": True}),
    ],
)
def test_small_exact_sums_are_done_by_the_cpu_whatever_the_device(a, options) -> None:
    ours, theirs = (hardscape.permanent(a, device=device, **options) for device in (Cuda(0), "cpu"))
    if "full_output" in options:
        ours, theirs = ours.value, theirs.value
    assert np.all(np.equal(ours, theirs))


@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_narrow_types_are_kept_where_asked(kind):
    """One rounding of what is found in double precision, in every shape of the answer."""
    rng = np.random.default_rng(1)
    batch = rng.normal(size=(3, 5, 5)).astype(kind)
    sparse = scipy.sparse.csr_array(batch[0])
    patterns = {"rows": [[1, 1, 1, 0, 0], [2, 0, 1, 0, 0]], "cols": [1, 0, 1, 1, 0]}
    for a, given in (
        (batch, {}), (batch[0], {}), (batch[0].tolist(), {}), (sparse, {}), (batch[0], patterns),
        (np.zeros((22, 22), kind) + 1, {"method": "glynn"}), (batch[:0], {}),
    ):  # fmt: skip
        wide = hardscape.permanent(a, **given)
        for asked in (kind, np.dtype(kind), getattr(np, kind)):
            found = hardscape.permanent(a, dtype=asked, **given)
            assert found.dtype == kind
            assert np.array_equal(found, np.asarray(wide).astype(kind))
            assert np.shape(found) == np.shape(wide)
    for a in (batch, batch[0]):
        value, gradient = value_and_grad(a, dtype=a.dtype)
        assert value.dtype == gradient.dtype == minors(a, dtype=a.dtype).dtype == kind
        assert (gradient == value_and_grad(a)[1].astype(kind)).all()


def test_what_a_narrow_type_cannot_hold():
    with pytest.warns(OverflowWarning):
        assert hardscape.permanent(np.full((4, 4), 1e20), dtype="float32") == np.inf
    with pytest.warns(OverflowWarning):
        assert np.isinf(minors(np.full((2, 3, 3), 1e30), dtype="float32")).all()
    assert hardscape.permanent([[2.0]], dtype="complex64").dtype == np.complex64
    for a, asked in (
        ([[1, 2], [3, 4]], "float32"), ([[1j]], "float32"), ([[1.0]], "int32"), ([[1.0]], "float16"),
        ([[1.0]], "float"[:3]), ([[Fraction(1, 2)]], np.float64),
    ):  # fmt: skip
        for call in (hardscape.permanent, minors, value_and_grad):
            with pytest.raises(InputError):
                call(a, dtype=asked)
    with pytest.raises(InputError):
        hardscape.permanent([[1.0]], dtype="float32", full_output=True)
