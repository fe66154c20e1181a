"""Glynn's formula in double-double arithmetic against exact permanents."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape import engine
from hardscape.permanents import plan
from hardscape.permanents.methods.extended.extended import CpuExtendedWork, CudaExtendedWork
from helpers.permanent_sums import glynn, summed
from helpers.running import at_every_level


def permanent(matrix, threads=1):
    work = CpuExtendedWork(matrix)
    return summed(work, engine.resolve("cpu", threads=threads))


def deviation(result, matrix):
    """Exact |mantissa - per 2^-exponent| for a real matrix."""
    unit = Fraction(2) ** -result.exponent
    return abs(
        Fraction(result.mantissa) - hardscape.permanent(matrix, threads=1, precision="exact") * unit
    )


def positive(n, seed=0):
    """A matrix whose terms cancel: all entries are near 1."""
    return 1 + 1e-3 * np.random.default_rng(seed).normal(size=(n, n))


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 10, 13])
def test_values_are_rounded_once(n):
    for matrix in (np.random.default_rng(n).normal(size=(n, n)), positive(n)):
        result = permanent(matrix)
        assert result.rigorous
        assert deviation(result, matrix) <= Fraction(result.bound)
        assert result.bound <= 1.1 * 2.0**-53 * abs(result.mantissa)


def test_digits_that_double_precision_loses():
    lost = []
    for n in range(16, 21):  # of one matrix alone roundings may cancel, on some instruction sets
        matrix = positive(n)
        exact = float(hardscape.permanent(matrix, threads=1, precision="exact"))
        double = glynn(matrix, devices=engine.resolve("cpu", threads=1)).value
        assert permanent(matrix).value == pytest.approx(exact, rel=2e-16)
        lost.append(abs(double - exact) / exact)
    assert max(lost) > 1e-15


@pytest.mark.parametrize("n", [2, 5, 8, 12])
def test_complex_matrices(n):
    rng = np.random.default_rng(n)
    parts = rng.integers(-99, 100, (2, n, n))
    matrix = parts[0] + 1j * parts[1]
    # Roots of unity on the rows turn the permanent by their product.
    turned = permanent(matrix * np.resize([1j, -1, 1], n)[:, None])
    plain = permanent(matrix)
    factor = math.prod(np.resize([1j, -1, 1], n).tolist())
    assert turned.value == pytest.approx(plain.value * factor, rel=1e-15)
    double = glynn(matrix, devices=engine.resolve("cpu", threads=1))
    assert abs(plain.value - double.value) <= plain.error_bound + double.error_bound
    assert plain.bound <= 2.0**-51 * abs(plain.mantissa)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_bound_holds_for_any_entries(data):
    n = data.draw(st.integers(1, 6))
    entry = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, -1.0])
    matrix = np.array(data.draw(st.lists(entry, min_size=n * n, max_size=n * n))).reshape(n, n)
    result = permanent(matrix)
    if result.rigorous:
        assert deviation(result, matrix) <= Fraction(result.bound)


def test_wide_ranges_are_no_longer_proven():
    matrix = positive(6)
    matrix[0] *= 1e-40
    assert permanent(matrix).rigorous  # rows are scaled
    matrix[0, 0] *= 1e40
    assert not permanent(matrix).rigorous


def test_zeros_and_ones():
    assert permanent(np.zeros((6, 6))).value == 0
    assert permanent(np.eye(9)).value == 1
    assert permanent(np.ones((15, 15))).value == math.factorial(15)
    derangements = np.ones((20, 20)) - np.eye(20)
    assert permanent(derangements).value == 895014631192902121.0


def test_same_bytes_for_any_number_of_threads():
    matrix = positive(20)
    assert len(CpuExtendedWork(matrix).shards()) > 1
    assert permanent(matrix, 1) == permanent(matrix, 3)


def test_every_level_of_instructions_rounds_as_written():
    code = (
        "import numpy as np; from hardscape import engine;"
        "from hardscape.permanents.methods.extended.extended import CpuExtendedWork as W;"
        "w = W(1 + 1e-3 * np.random.default_rng(3).normal(size=(14, 14)));"
        "options = engine.RunOptions.checked(device='cpu', threads=1);"
        "print(repr(engine.solve(w, options).whole().value))"
    )
    assert len(at_every_level(code)) == 1


def test_stop_is_obeyed_and_work_pickles():
    work = CpuExtendedWork(np.eye(30))
    context = engine.Context(engine.resolve("cpu", threads=1)[0], None, np.ones(1, np.uint8))
    assert not work.run(work.shards()[0], context).complete
    copy = pickle.loads(pickle.dumps(work))
    assert copy.digest() == work.digest() != CudaExtendedWork(work.matrix).digest()


def test_shards_of_the_largest_matrices():
    for n in (62, 63, 70):
        shards = CudaExtendedWork(np.ones((n, n))).shards()
        assert len(shards) == 2**20
        assert shards[-1].stop == 2 ** (n - 6)


def test_precision_of_permanent():
    matrix = positive(14)
    exact = hardscape.permanent(matrix, precision="exact", threads=1)
    result = hardscape.permanent(matrix, precision="extended", threads=1, full_output=True)
    assert result.value == float(exact)
    assert (result.precision, result.method, result.rigorous) == ("extended", "glynn", True)
    assert abs(Fraction(result.value) - exact) <= Fraction(result.error_bound)
    assert plan(matrix, precision="extended").precision == "extended"
    rectangle = hardscape.permanent(matrix[:9], precision="extended", threads=1)
    assert rectangle == pytest.approx(
        float(hardscape.permanent(matrix[:9], precision="exact", threads=1)), rel=1e-15
    )


def test_what_double_precision_loses_of_complex_numbers_is_found_again():
    rng = np.random.default_rng(5)
    matrix = positive(12) * np.exp(1j * rng.normal(size=12))
    extended = hardscape.permanent(matrix, precision="extended", threads=1)
    auto = hardscape.permanent(matrix, rtol=0.0, threads=1)
    assert auto == extended
