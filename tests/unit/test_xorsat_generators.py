"""Random systems have the degrees, ranks and solutions that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.xorsat import eliminate, random_regular, random_system


@pytest.mark.parametrize(
    ("n", "k", "degree"), [(12, 3, 3), (30, 3, 3), (20, 4, 3), (15, 5, 3), (9, 3, 5), (8, 1, 1)]
)
def test_regular(n: int, k: int, degree: int) -> None:
    system = random_regular(n, k, degree, seed=n)
    assert system.num_clauses == n * degree // k
    assert (system.lengths == k).all()
    assert (system.degrees == degree).all()
    assert system.cancelled_pairs == 0
    found = eliminate(system)
    assert found.rank == min(n, system.num_clauses)
    assert found.consistent
    assert system == random_regular(n, k, degree, seed=n)
    assert system != random_regular(n, k, degree, seed=n + 1)


def test_planted_or_not() -> None:
    planted = [random_regular(9, 3, 5, seed=i, full_rank=False) for i in range(12)]
    assert all(eliminate(x).consistent for x in planted)
    random = [random_regular(9, 3, 5, seed=i, planted=False, full_rank=False) for i in range(12)]
    assert not all(eliminate(x).consistent for x in random)
    # The hidden assignment is drawn too: it is not all zeros or all ones time after time.
    assert len({x.parity.tobytes() for x in planted}) > 6


def test_seeds_are_drawn_where_none_is_given() -> None:
    assert random_regular(30) != random_regular(30)
    assert random_system(30, 1, planted=False) != random_system(30, 1, planted=False)


@pytest.mark.parametrize(("n", "density", "k"), [(50, 0.9, 3), (6, 4, 5), (5, 2, 5), (10, 0, 3)])
def test_density(n: int, density: float, k: int) -> None:
    system = random_system(n, density, k, seed=1, planted=True)
    assert system.num_clauses == round(density * n)
    assert system.num_variables == n
    assert (system.lengths == k).all()
    assert eliminate(system).consistent


def test_clauses_are_uniform() -> None:
    for k in (2, 4):
        counts = random_system(6, 3000, k, planted=False, seed=0).degrees
        assert abs(counts / counts.mean() - 1).max() < 0.05
        # A pair of variables is in a clause together k (k-1) / (n (n-1)) of the time.
        clauses = np.array(random_system(6, 3000, k, planted=False, seed=0).clauses())
        both = ((clauses == 0).any(axis=1) & (clauses == 1).any(axis=1)).mean()
        assert abs(both - k * (k - 1) / 30) < 0.02


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((10, 3, 4), {}),
        ((10, 4, 3), {}),
        ((2, 3, 3), {}),
        ((9, 3, 2), {}),
        ((8, 4, 5), {}),
        ((-3,), {}),
        ((9.0,), {}),
        ((9, 0), {}),
        ((9, 3, True), {}),
        ((9,), {"seed": -1}),
        ((9,), {"seed": "1"}),
    ],
)
def test_refused_regular(arguments, options) -> None:
    with pytest.raises(InputError):
        random_regular(*arguments, **options)


def test_even_sums_are_refused_only_for_full_rank() -> None:
    assert random_regular(9, 3, 2, seed=0, full_rank=False).rank() < 6
    assert random_regular(0).num_clauses == 0


@pytest.mark.parametrize(
    ("n", "density", "k"), [(2, 1, 3), (5, -1, 3), (5, float("nan"), 3), (5, float("inf"), 3)]
)
def test_refused_density(n, density, k) -> None:
    with pytest.raises(InputError):
        random_system(n, density, k, planted=False)
