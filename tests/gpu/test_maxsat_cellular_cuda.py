"""The cellular genetic algorithm on CUDA against the CPU: the same populations, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.maxsat import CellularOptions, Formula, cellular_search
from helpers.maxsat_random import random_clauses

pytestmark = pytest.mark.gpu


def mixed(n, m, seed, weighted, hard):
    """Clauses of 1 to 6 literals, some with repeated or opposite ones, some empty."""
    rng = np.random.default_rng(seed)
    clauses = [
        [int(x) for x in (rng.integers(1, n + 1, k) * rng.choice([-1, 1], k))]
        for k in rng.choice([0, 1, 2, 3, 3, 3, 4, 6], m, p=[0.01, *[0.99 / 7] * 7])
    ]
    clauses[0] = clauses[0] or [1]
    weights = rng.integers(1, 2**40, m - hard) if weighted else None
    firm = [clause or [1] for clause in clauses[:hard]]
    return Formula.from_clauses(clauses[hard:], weights, hard=firm, num_variables=n)


def assert_same(formula, runs=1, **changes):
    options = CellularOptions(**changes)
    cpu, cuda = (
        cellular_search(formula, options=options, runs=runs, seed=9, device=device)
        for device in ("cpu", "cuda:0")
    )
    assert cuda.device == "cuda:0"
    assert (cpu.history == cuda.history).all()
    assert (cpu.run_costs == cuda.run_costs).all()
    assert (cpu.run_generations == cuda.run_generations).all()
    assert (cpu.assignment == cuda.assignment).all()
    assert cpu.cost == cuda.cost


@pytest.mark.parametrize("runs", [1, 3, 70])
def test_uniform_3_sat(runs):
    assert_same(random_clauses(150, 640, 3, seed=1), runs=runs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hard", [0, 40])
def test_mixed_clauses(weighted, hard):
    formula = mixed(90, 400, 3, weighted, hard)
    assert_same(formula, runs=2, width=5, height=7, columns=3, rows=2, diffusion=0.5)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128])
def test_sizes_around_words(n):
    assert_same(mixed(n, 3 * n + 2, n, False, 0), width=3, height=3, columns=1, rows=1)


@pytest.mark.parametrize("n", [5000, 40000])
def test_tables_and_planes_beyond_shared_memory(n):
    formula = random_clauses_of_pairs(n, 3 * n)
    assert_same(formula, width=8, height=5, columns=1, rows=1, passes=3, step=1, max_generations=3)


def random_clauses_of_pairs(n, m):
    rng = np.random.default_rng(n)
    clauses = rng.integers(1, n + 1, (m, 2)) * rng.choice([-1, 1], (m, 2))
    return Formula.from_clauses(clauses.tolist(), num_variables=n)


@pytest.mark.parametrize("runs", [1, 3])
def test_memetic_3_sat(runs):
    formula = random_clauses(150, 640, 3, seed=1)
    assert_same(formula, runs=runs, width=5, height=7, columns=3, rows=2, walk_flips=60)


@pytest.mark.parametrize("n", [3, 16, 63, 64, 65, 128, 2000])
def test_memetic_short_clauses(n):
    """One to three literals, some repeated, in the order in which they came; lists beyond shared memory."""
    rng = np.random.default_rng(n)
    clauses = [
        [int(x) for x in rng.integers(1, n + 1, k) * rng.choice([-1, 1], k)]
        for k in rng.choice([1, 2, 3, 3], 4 * n)
    ]
    formula = Formula.from_clauses(clauses, num_variables=n)
    assert_same(
        formula, width=3, height=3, columns=2, rows=1, walk_flips=40, max_generations=4, patience=9
    )


def test_memetic_of_other_formulas_is_the_cpus():
    for formula in (random_clauses(30, 100, 4, seed=1), Formula.from_clauses([[1], [2]], [1, 2])):
        options = CellularOptions(walk_flips=5)
        with pytest.raises(InputError):
            cellular_search(formula, options=options, device="cuda:0")
        assert cellular_search(formula, options=options, seed=1).device == "cpu"


def test_no_variables():
    assert_same(Formula.from_clauses([[], []]))


def test_target_and_time_limit():
    formula = random_clauses(200, 1000, 3, seed=1)
    found = cellular_search(formula, runs=1000, target=30, seed=1, device="cuda:0")
    assert found.cost <= 30
    assert found.runs < 1000
    patient = CellularOptions(patience=10**6)
    limited = cellular_search(formula, seed=1, options=patient, time_limit=0.5, device="cuda:0")
    assert limited.stopped == "time_limit"
    assert limited.seconds < 3
    assert limited.cost == formula.cost(limited.assignment)


def test_operators_of_the_cpu_are_refused():
    formula = random_clauses(40, 160, 3, seed=1)
    options = CellularOptions(migration="sorted")
    with pytest.raises(InputError):
        cellular_search(formula, options=options, device="cuda:0")
    assert cellular_search(formula, options=options, seed=1).device.startswith("cpu")
