"""Lines of three and four entries: a permanent as a sum of smaller ones, where that pays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape.permanents import program
from hardscape.permanents.methods import method
from hardscape.permanents.methods.frontier import frontier
from hardscape.permanents.numbers.bounded import BoundedNumber, total
from hardscape.permanents.structure import expansion as expansions
from hardscape.permanents.structure.expansion import expansion
from helpers.permanent_oracle import exact_permanent_by_subsets


def mixed(n, rng, integers=True):
    """Half of the rows dense, the others of three or four entries near one another."""
    matrix = rng.integers(1, 9, (n, n)) if integers else rng.normal(size=(n, n))
    for i in range(0, n, 2):
        keep = np.zeros(n, dtype=bool)
        keep[[(i + k) % n for k in (0, 1, 2, 3)[: 3 + i // 2 % 2]]] = True
        matrix[i, ~keep] = 0
    return matrix


@pytest.fixture
def eager(monkeypatch):
    """Expand whatever spares terms, however small."""
    monkeypatch.setattr(method, "START", 0.0)
    monkeypatch.setattr(program, "_EXPANDED_FROM", 0.0)
    monkeypatch.setattr(expansions, "_TRIAL", 1e-9)
    monkeypatch.setattr(frontier._RowByRow, "look", 1e9)


def test_expanding_spares_terms():
    matrix = mixed(26, np.random.default_rng(1)).astype(object)
    found = expansion(matrix, None, "integer")
    assert found is not None
    assert found.cost < 0.7 * 26 * 2**25
    assert found.lines > 1


def test_it_is_left_alone_where_it_does_not_pay():
    dense = np.random.default_rng(2).integers(1, 9, (24, 24))
    assert expansion(dense.astype(object), None, "integer") is None
    dense[0, 3:] = 0
    assert expansion(dense.astype(object), None, "integer") is None


@pytest.mark.usefixtures("eager")
def test_integers():
    matrix = mixed(22, np.random.default_rng(4))
    result = hardscape.permanent(matrix, full_output=True)
    assert result.reductions.expanded_lines > 0
    assert result.terms < 2**21
    assert result.value == hardscape.permanent(matrix, method="glynn")
    turned = hardscape.permanent(matrix.T, full_output=True)
    assert turned.value == result.value


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("scale", [1.0, 1e-150])
def test_floats_are_within_their_bound(scale):
    matrix = mixed(22, np.random.default_rng(4), integers=False)
    matrix[1] *= scale
    result = hardscape.permanent(matrix, full_output=True, precision="double")
    assert result.reductions.expanded_lines > 0
    assert result.rigorous
    expected = hardscape.permanent(matrix, precision="exact")
    assert abs(Fraction(result.value) - expected) <= Fraction(result.error_bound)
    assert result.error_bound < 1e-6 * abs(result.value)


@pytest.mark.usefixtures("eager")
def test_complex():
    rng = np.random.default_rng(5)
    matrix = mixed(21, rng, integers=False) * np.exp(1j * rng.uniform(0, 6, (21, 21)))
    result = hardscape.permanent(matrix, full_output=True, precision="double")
    other = hardscape.permanent(matrix, method="glynn", full_output=True)
    assert result.reductions.expanded_lines > 0
    assert abs(result.value - other.value) <= result.error_bound + other.error_bound


@pytest.mark.usefixtures("eager")
def test_parts_have_checkpoints_of_their_own(tmp_path):
    matrix = mixed(22, np.random.default_rng(4), integers=False)
    path = tmp_path / "ledger"
    options = {"precision": "double", "checkpoint": path, "full_output": True}
    value = hardscape.permanent(matrix, **options).value
    assert list(tmp_path.glob("ledger.part*"))
    assert hardscape.permanent(matrix, **options).value == value


def test_sums_of_numbers_far_apart():
    numbers = [BoundedNumber(0.75, 1e-17, 900), BoundedNumber(-0.5, 1e-18, -900)]
    found = total(numbers, float)
    exact = Fraction(3, 4) * Fraction(2) ** 900 - Fraction(1, 2) / Fraction(2) ** 900
    unit = Fraction(2) ** found.exponent
    assert abs(Fraction(found.mantissa) * unit - exact) <= Fraction(found.bound) * unit
    nothing = total([BoundedNumber(0.0, 0.0), BoundedNumber(0.0, 0.0)], float)
    assert (nothing.mantissa, exact_permanent_by_subsets([[0]])) == (0.0, 0)
