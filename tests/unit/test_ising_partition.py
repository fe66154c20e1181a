"""Squares of one sum, by meeting in the middle: recognised exactly; the same spectra as by other methods."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import hardscape
from hardscape.errors import BudgetError, InputError
from hardscape.ising import Ising, estimate
from hardscape.ising.exact import ExactTerms
from hardscape.ising.methods.partition import partition
from hardscape.ising.methods.partition.squares import Square
from helpers.seeds import each_seed
from helpers.spectra import assert_same_list


def square_model(numbers, shift=0, scale=Fraction(1), offset=Fraction(0)):
    """E = scale (sum a s + shift)**2 + offset, exactly."""
    n = len(numbers)
    fields = [(i, 2 * scale * shift * a) for i, a in enumerate(numbers)]
    pairs = [(i, j, 2 * scale * numbers[i] * numbers[j]) for i, j in combinations(range(n), 2)]
    constant = scale * (sum(a * a for a in numbers) + shift * shift) + offset
    return Ising.from_exact(ExactTerms.collect(n, fields, pairs, constant))


def drawn(seed):
    """Numbers of many kinds: few or many ties, zeros, both signs, a shift that may be half an integer."""
    rng = np.random.default_rng(seed)
    n, largest = int(rng.integers(4, 17)), int(rng.choice([1, 2, 5, 40, 10**4, 10**9]))
    numbers = rng.integers(-largest if seed % 3 == 0 else seed % 2, largest + 1, n).tolist()
    shift = Fraction(int(rng.integers(-2 * largest, 2 * largest + 1)), 2) if seed % 4 else 0
    scale = Fraction(int(rng.integers(1, 4)), int(rng.choice([1, 8])))
    return square_model(numbers, shift, scale, Fraction(int(rng.integers(-9, 10))))


@pytest.fixture
def short(monkeypatch):
    """Slices of a few sums, and first searches of a few spins."""
    monkeypatch.setattr(partition, "_SLICE_BITS", 3)
    monkeypatch.setattr(partition, "_FIRST", 5)
    monkeypatch.setattr(partition, "_GROWTH", 3)


CPU = {"device": "cpu", "threads": 1}


def test_numbers_whose_products_are_no_float64():
    rng = np.random.default_rng(1)
    numbers = [int(x) for x in rng.integers(2**55, 2**56, 18)]
    J = {(i, j): 2 * numbers[i] * numbers[j] for i, j in combinations(range(18), 2)}
    found = hardscape.spectrum(([0] * 18, J), 2, method="partition", **CPU)
    sums = found.states.astype(np.int64) @ np.array(numbers)
    signs = np.array([(1, *bits) for bits in product((-1, 1), repeat=17)])
    assert abs(sums[0]) == abs(sums[1]) == np.abs(signs @ np.array(numbers)).min()
    assert found.certified


@each_seed(range(60))
def test_spectra_are_those_of_all_states(seed, short):
    model = drawn(seed)
    if Square.of(model.exact) is None:
        assert np.count_nonzero(model.J) < 3
        return
    for num_states in (1, 3, 50, 10**6):
        expected = hardscape.spectrum(model, num_states, method="exhaustive", **CPU)
        found = hardscape.spectrum(model, num_states, method="partition", **CPU)
        assert_same_list(found, expected)
        assert found.method == "partition"
    top = float(expected.energies[len(expected.energies) // 3])
    for limits in ({"window": 9.0}, {"cutoff": top}, {"num_states": 4, "window": 3.0}):
        expected = hardscape.spectrum(model, method="exhaustive", **limits, **CPU)
        assert_same_list(hardscape.spectrum(model, method="partition", **limits, **CPU), expected)


def test_a_square_is_what_it_says():
    model = square_model([6, -4, 0, 10, 2], Fraction(3, 2), Fraction(5, 4), Fraction(7))
    square = Square.of(model.exact)
    states = 2 * (np.arange(32)[:, None] >> np.arange(5) & 1) - 1
    unit = Fraction(2) ** model.exact.exponent
    for state, energy in zip(states.tolist(), model.energy(states), strict=True):
        value = sum(a * s for a, s in zip(square.numbers, state, strict=True)) + square.shift
        exact = square.scale * value**2 + square.constant
        assert exact * unit == Fraction(float(energy))
        assert abs(value) >= square.nearest
        assert square.within(math.floor(exact)) == abs(value)


@pytest.mark.parametrize("change", ["pair", "field", "sign", "missing"])
def test_what_is_no_square(change):
    numbers = [3, 5, 7, 11, 13]
    J = 2.0 * np.triu(np.outer(numbers, numbers), 1)
    h = np.zeros(5)
    if change == "pair":
        J[3, 4] += 1
    elif change == "field":
        h[2] = 1
    elif change == "sign":
        J = -J
    else:
        J[3, 4] = 0
    model = Ising(h, J)
    assert Square.of(model.exact) is None
    with pytest.raises(InputError):
        hardscape.spectrum(model, 1, method="partition", **CPU)


def test_numbers_beyond_doubles():
    # The sums of 70-bit numbers differ in their last bits; one partition is planted.
    rng = np.random.default_rng(7)
    numbers = [int.from_bytes(rng.bytes(8), "little") << 5 | 3 for _ in range(27)]
    signs = rng.choice([-1, 1], 26).tolist()
    numbers[26] = abs(sum(a * s for a, s in zip(numbers[:26], signs, strict=True)))
    found = hardscape.spectrum(square_model(numbers), 2, **CPU)
    assert found.method == "partition"
    assert found.energies.tolist() == [0.0, 0.0]
    assert all(
        sum(a * int(s) for a, s in zip(numbers, row, strict=True)) == 0 for row in found.states
    )


def test_forty_numbers_of_twenty_bits():
    rng = np.random.default_rng(40)
    numbers = rng.integers(1, 1 << 20, 40).tolist()
    found = hardscape.spectrum(square_model(numbers), 3, **CPU)
    sums = [sum(a * int(s) for a, s in zip(numbers, row, strict=True)) for row in found.states]
    assert found.certified
    assert {abs(x) for x in sums} == {sum(numbers) % 2}
    # There are very many; the first of them have the lowest codes.
    codes = [int(bits[::-1], 2) for bits in found.bit_strings()]
    assert codes == sorted(codes)
    assert codes[-1] < 1 << 36


def test_shards_merge_to_the_same(short, tmp_path):
    model = square_model(np.random.default_rng(3).integers(1, 10**6, 26).tolist(), 5)
    alone = hardscape.spectrum(model, 30, method="partition", **CPU)
    assert_same_list(
        hardscape.spectrum(model, 30, method="partition", device="cpu", threads=3), alone
    )
    path = tmp_path / "sums.ledger"
    for _ in range(2):
        kept = hardscape.spectrum(model, 30, method="partition", checkpoint=path, **CPU)
        assert_same_list(kept, alone)
    assert kept.info["resumed_shards"] > 0


def test_stopped_and_estimated():
    model = square_model(np.random.default_rng(5).integers(1, 1 << 52, 52).tolist())
    cut = hardscape.spectrum(model, 2, time_limit=0.2, **CPU)
    assert not cut.certified
    assert cut.num_states == 2
    assert 0 <= cut.lower_bound <= cut.energies[0]
    assert estimate(model, 2, **CPU).seconds > 0.2


def test_what_memory_cannot_hold():
    model = square_model([(1 << 61) + 2 * i * i + 1 for i in range(128)])
    with pytest.raises(BudgetError):
        hardscape.spectrum(model, 1, **CPU)
