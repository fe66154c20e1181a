"""Which answer is kept, whatever the scale of the lines, and how near to the error its bound is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape.engine import RunOptions, solve
from hardscape.permanents import ExactComplex, program
from hardscape.permanents.matrix import intake
from hardscape.permanents.methods.extended.extended import CpuExtendedWork
from hardscape.permanents.methods.frontier.order import best_order
from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork
from hardscape.permanents.methods.repeated.repeated import RepeatedWork
from hardscape.permanents.methods.sparse.sparse import CpuSparseWork
from hardscape.permanents.numbers.bounded import BoundedNumber, product, rounded
from hardscape.permanents.structure.reduce import reduce
from hardscape.permanents.structure.scaling import balanced
from helpers.permanent_oracle import exact_complex_permanent, exact_permanent_by_subsets


def stretched(n, entries, seed):
    """A sparse matrix with a perfect matching, lines times powers of ten from -9 to 9."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((n, n))
    matrix[np.arange(n), rng.permutation(n)] = rng.normal(size=n)
    while np.count_nonzero(matrix) < entries:
        matrix[tuple(rng.integers(n, size=2))] = rng.normal()
    return matrix * 10.0 ** rng.uniform(-9, 9, (n, 1)) * 10.0 ** rng.uniform(-9, 9, n)


def band(n, width, seed):
    rng = np.random.default_rng(seed)
    return sum(np.diag(rng.normal(size=n - abs(k)), k) for k in range(-width, width + 1))


def unitary(n, seed):
    rng = np.random.default_rng(seed)
    q, r = np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))
    return q * (np.diag(r) / np.abs(np.diag(r)))


@pytest.mark.parametrize("seed", range(6))
def test_stretched_lines_do_not_hurt(seed):
    matrix = stretched(30, 107, seed)
    value = hardscape.permanent(matrix)
    exact = hardscape.permanent(matrix, precision="exact")
    assert exact
    assert abs(Fraction(value) - exact) <= Fraction(1e-10) * abs(exact)


@pytest.mark.parametrize("unit", [1.0, 1 + 1j])
def test_entries_at_both_ends_of_the_range(unit):
    matrix = np.array([[1e-165, 1e181, 1.0], [1e100, -1e-100, 2.0], [3.0, 1e-181, 1e-60]]) * unit
    found = hardscape.permanent(matrix, full_output=True)
    exact = [x * Fraction(2) ** -found.exponent for x in exact_complex_permanent(matrix)]
    parts = complex(found.mantissa)
    for part, whole in zip((parts.real, parts.imag), exact, strict=True):
        assert part == pytest.approx(float(whole), rel=1e-12)


def test_balancing_rounds_nothing_and_undoes_a_stretch():
    matrix = stretched(12, 50, 3)
    (block, *_) = reduce(intake(matrix), merge=False).blocks
    entries, power = balanced(block)
    assert power
    logs = [np.log2(np.abs(x[x != 0])) for x in (entries, block)]
    assert np.ptp(logs[0]) < np.ptp(logs[1]) / 2
    exact = exact_permanent_by_subsets(entries) * Fraction(2) ** power
    assert exact == exact_permanent_by_subsets(block)
    apart = np.array([[1.0, 1e300], [1e-300, 1e-310]])
    assert balanced(apart)[0] is apart or (balanced(apart)[0] != 0).all()


def test_a_band_whose_terms_cancel_is_summed_exactly():
    """One entry is set to what makes the permanent vanish, but for its rounding."""
    matrix = band(100, 2, 1)
    matrix[0, 0] = 0
    rest = hardscape.permanent(matrix, precision="exact")
    minor = hardscape.permanent(matrix[1:, 1:], precision="exact")
    matrix[0, 0] = float(-rest / minor)
    exact = hardscape.permanent(matrix, precision="exact")
    doubled = hardscape.permanent(matrix, precision="double")
    assert doubled != pytest.approx(float(exact), rel=1e-3, abs=0)
    assert hardscape.permanent(matrix) == float(exact)


@pytest.mark.parametrize("unit", [1.0, np.exp(1j)])
def test_a_band_that_lost_little_is_not_summed_exactly(unit):
    matrix = band(60, 2, 2) * unit
    found = hardscape.permanent(matrix, full_output=True)
    assert (found.precision, found.retries) == ("double", ())
    exact = hardscape.permanent(band(60, 2, 2), precision="exact")
    assert abs(found.value) == pytest.approx(abs(float(exact)), rel=1e-10)


def test_an_order_turned_around_is_as_wide():
    (order, _) = best_order(band(30, 2, 3))
    turned = order.turned_around()
    assert turned.rows == order.rows[::-1]
    assert (turned.width, turned.peak) == (order.width, order.peak)
    pairs = zip(order.rows, order.slots, strict=True)
    columns = {i: {j for j, _ in slots} for i, slots in pairs}
    pairs = zip(turned.rows, turned.slots, strict=True)
    assert {i: {j for j, _ in slots} for i, slots in pairs} == columns


def test_two_orders_tell_the_likely_error():
    one = BoundedNumber(1.0, 1e-3, 4, terms=100, magnitude=1e6)
    two = BoundedNumber(1.0 + 2.0**-30, 1e-3, 4)
    assert 2.0**-30 < one.rearranged(two).likely_error < 2.0**-24
    assert one.rearranged(one).likely_error < 1e-15
    assert one.rearranged(two).bound == one.bound


FAMILIES = {
    "dense": lambda seed: np.random.default_rng(seed).normal(size=(5 + seed, 5 + seed)),
    "complex": lambda seed: unitary(15 + seed % 3, seed),
    "nonnegative": lambda seed: np.random.default_rng(seed).uniform(size=(6 + seed, 6 + seed)),
    "band": lambda seed: band(25 + seed, 2, seed),
    "merged": lambda seed: band(40 + seed, 1, seed),
    "stretched": lambda seed: stretched(20, 60 + seed, seed),
    "repeated": lambda seed: np.repeat(np.random.default_rng(seed).normal(size=(5, 15)), 3, 0),
    "blocks": lambda seed: np.kron(np.eye(3), np.random.default_rng(seed).normal(size=(5, 5))),
    "rectangle": lambda seed: np.random.default_rng(seed).normal(size=(4, 9)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_asking_for_a_bound_changes_no_number(name):
    for seed in range(5):
        matrix = FAMILIES[name](seed)
        for rtol in (1e-10, 1e-15):
            found = hardscape.permanent(matrix, rtol=rtol, full_output=True)
            assert found.value == hardscape.permanent(matrix, rtol=rtol)
            assert found.rigorous


@pytest.mark.parametrize(("n", "unit"), [(3, 1), (7, 1j), (17, 1), (21, np.exp(1j))])
def test_nor_in_batches(n, unit):
    batch = np.random.default_rng(n).normal(size=(3, n, n)) * unit
    batch[1] = np.abs(batch[1])
    values = hardscape.permanent(batch)
    found = hardscape.permanent(batch, full_output=True)
    assert [one.value for one in found] == values.tolist()
    assert all(one.rigorous for one in found)
    for matrix, one in zip(batch, found, strict=True):
        other = hardscape.permanent(matrix, precision="extended", full_output=True)
        assert abs(one.value - other.value) <= one.error_bound + other.error_bound


@pytest.mark.filterwarnings("ignore::hardscape.errors.OverflowWarning")
@pytest.mark.parametrize("n", [2, 7, 21])
def test_nor_beyond_float64(n):
    batch = np.stack([np.eye(n) * 1e200 + 1] * 2) * (1 + 0.1j)
    values = hardscape.permanent(batch)
    found = hardscape.permanent(batch, full_output=True)
    np.testing.assert_array_equal([one.value for one in found], values)
    assert all(np.isfinite(one.mantissa) and one.error_bound == np.inf for one in found)


@pytest.mark.parametrize("options", [{"time_limit": 100.0}, {"progress": True}, {"threads": 1}])
def test_nor_does_how_it_is_run(options):
    for name, family in FAMILIES.items():
        matrix = family(1)
        assert hardscape.permanent(matrix, **options) == hardscape.permanent(matrix), name


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "complex"])
def test_bounds_hold_and_are_of_the_size_of_the_error(name):
    close = 0
    for seed in range(10):
        matrix = FAMILIES[name](seed)
        exact = hardscape.permanent(matrix, precision="exact")
        found = hardscape.permanent(matrix, full_output=True)
        error = abs(Fraction(found.value) - exact)
        assert error <= Fraction(found.error_bound)
        close += Fraction(found.error_bound) <= 30 * error
    assert close >= 9


def test_bounds_of_unitary_matrices():
    close = 0
    for seed in range(20):
        matrix = unitary(3 + seed % 6, seed)
        found = hardscape.permanent(matrix, full_output=True)
        parts = found.value.real, found.value.imag
        off = [Fraction(x) - y for x, y in zip(parts, exact_complex_permanent(matrix), strict=True)]
        square = off[0] ** 2 + off[1] ** 2
        assert found.rigorous
        assert square <= Fraction(found.error_bound) ** 2
        close += Fraction(found.error_bound) ** 2 <= 900 * square
    assert close >= 19


def test_the_likely_error_tells_where_no_proof_is_cheap(monkeypatch):
    for name in ("THOUGHT", "_PROOF", "_PROOF_TIMES"):
        monkeypatch.setattr(program, name, 0.0)
    held = near = 0
    for seed in range(60):
        matrix = unitary(10 + seed % 4, seed)
        found = hardscape.permanent(matrix, method="glynn", full_output=True)
        exact = hardscape.permanent(matrix, precision="exact")
        error = abs(complex(ExactComplex.of(found.value) - exact))
        assert found.rigorous
        assert error <= found.error_bound
        assert 20 * found.likely_error < found.error_bound
        held += error <= found.likely_error
        near += found.likely_error <= 100 * error
    assert held >= 51  # 57 are expected; the matrices are of the machine's own LAPACK
    assert near >= 51


RANDOM = {
    "normal": lambda rng, n: rng.normal(size=(n, n)),
    "complex": lambda rng, n: rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)),
    "positive": lambda rng, n: rng.random((n, n)),
    "unitary": lambda rng, n: unitary(n, rng),
    "orthogonal columns": lambda rng, n: unitary(2 * n, rng)[:n, :n],
    "sparse": lambda rng, n: rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6),
}


def likely(work, matrix):
    """Whether the likely error of a work is above the error, and whether it is within 50 times."""
    options = RunOptions.checked(device="cpu", threads=1)
    found = solve(work, options).whole()
    sharp = solve(CpuExtendedWork(matrix), options).whole()
    unit = 2.0 ** (sharp.exponent - found.exponent)
    error = abs(found.mantissa - (sharp.mantissa + sharp.rest) * unit)
    return error <= found.likely_error <= found.bound, found.likely_error <= 50 * error


@pytest.mark.parametrize("kind", RANDOM)
def test_the_likely_error_is_of_the_size_of_the_error(kind):
    told = []
    for seed in range(24):
        matrix = RANDOM[kind](np.random.default_rng(seed), 14 + seed % 4)
        told.append(likely(CpuGlynnWork(matrix, guard=False), matrix))
    held, near = np.sum(told, axis=0)
    assert held >= 19
    assert near >= 19


@pytest.mark.parametrize("unit", [1.0, np.exp(1j)])
def test_the_likely_error_of_what_is_eliminated(unit):
    told = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        places = (rng.random((20, 20)) < 0.2 + 0.4 * (seed % 2)) | np.eye(20, dtype=bool)
        matrix = rng.normal(size=(20, 20)) * unit * places
        told.append(likely(CpuSparseWork(matrix), matrix))
    held, near = np.sum(told, axis=0)
    assert held >= 13
    assert near >= 10


def test_a_signed_tridiagonal_matrix_of_five_hundred_rows():
    matrix = band(500, 1, 1)
    found = hardscape.permanent(matrix, full_output=True)
    exact = hardscape.permanent(matrix, precision="exact")
    assert abs(Fraction(found.value) - exact) <= Fraction(found.error_bound)
    assert found.error_bound < 1e-15 * abs(found.value)
    plain = hardscape.permanent(matrix, precision="double", full_output=True)
    assert abs(Fraction(plain.value) - exact) <= Fraction(plain.error_bound)
    assert plain.error_bound < 1e-11 * abs(plain.value)


@pytest.mark.parametrize("n", [3, 7, 10, 13])
@pytest.mark.parametrize("unit", [1.0, np.exp(1j)])
def test_a_guard_changes_no_bit(n, unit):
    rng = np.random.default_rng(n)
    matrix = rng.normal(size=(n, n)) * unit
    options = RunOptions.checked(device="cpu", threads=1)
    ones = (1,) * n
    pairs = [
        [CpuGlynnWork(matrix, guard=guard) for guard in (False, True)],
        [RepeatedWork(matrix, ones, ones, guard) for guard in (False, True)],
    ]
    for plain, guarded in pairs:
        values = [solve(work, options).whole() for work in (plain, guarded)]
        assert values[0].mantissa == values[1].mantissa
        assert values[0].likely_error == values[1].likely_error
        assert values[0].compared == values[1].compared
        assert values[1].rigorous


def test_another_number_gives_a_bound():
    third = rounded(Fraction(1, 3), float)
    off = BoundedNumber(0.5, 1.0, -1, rigorous=False)  # 1/4, far from 1/3
    found = off.beside(third)
    assert found.rigorous
    error = abs(Fraction(1, 4) - Fraction(1, 3))
    bound = Fraction(found.bound) / 2
    assert error <= bound <= error * (1 + Fraction(1, 2**50))
    assert third.beside(off) is third
    assert third.beside(third).bound <= third.bound


@pytest.mark.parametrize("prime", [7, 11, 13, 10**9 + 7])
def test_the_bound_that_a_rounded_number_gives_holds_to_its_last_digit(prime):
    for numerator in range(1, 60):
        exact = Fraction(numerator, prime)
        near = rounded(exact, float)
        for ulps in (-1, 0, 1, 2):
            mantissa = near.mantissa * (1 + ulps * 2.0**-52)
            other = BoundedNumber(mantissa, 1.0, near.exponent, rigorous=False)
            found = other.beside(near)
            assert abs(Fraction(mantissa) * Fraction(2) ** near.exponent - exact) <= Fraction(
                found.bound
            ) * Fraction(2) ** (near.exponent)


@pytest.mark.parametrize("kind", [float, complex])
def test_products_round_once(kind):
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=40) + (1j * rng.normal(size=40) if kind is complex else 0)
    found = product([BoundedNumber(kind(x), 0.0) for x in numbers], Fraction(1, 3), kind)
    whole = Fraction(1, 3), Fraction(0)
    for z in numbers.tolist():
        a, b = Fraction(z.real), Fraction(z.imag)
        whole = whole[0] * a - whole[1] * b, whole[0] * b + whole[1] * a
    unit = Fraction(2) ** found.exponent
    parts = complex(found.mantissa)
    for part, exact in zip((parts.real, parts.imag), whole, strict=True):
        assert abs(Fraction(part) * unit - exact) <= Fraction(found.bound) * unit
    assert found.bound <= 2.0**-52 * abs(found.mantissa)
