"""The frontier dynamic program: graphs, bands, boards, and its bound in double precision."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.engine import Context, Cpu, RunOptions, solve
from hardscape.errors import BudgetError, InputError
from hardscape.permanents import plan
from hardscape.permanents.methods.frontier.cuts import cut_up
from hardscape.permanents.methods.frontier.order import best_order
from hardscape.permanents.methods.frontier.work import FrontierSumWork, FrontierWork
from hardscape.permanents.numbers.integers import primes_above
from helpers.permanent_oracle import (
    dodecahedron,
    exact_complex_permanent,
    exact_permanent_by_subsets,
    fullerene,
    grid_biadjacency,
)

CONTEXT = Context(Cpu(), None, np.zeros(1, np.uint8))


def value(work):
    results = [work.run(shard, CONTEXT) for shard in work.shards()]
    assert all(result.complete for result in results)
    return work.result(reduce(work.merge, [result.partial for result in results]))


@st.composite
def sparse(draw):
    """A sparse matrix of small integers, with or without perfect matchings."""
    n = draw(st.integers(1, 8))
    entry = st.one_of(st.just(0), st.integers(-4, 4))
    row = st.lists(entry, min_size=n, max_size=n)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)))


@given(sparse(), st.sampled_from([1, 2, 4, 8, 0]))
@settings(max_examples=60, deadline=None)
def test_integers_in_every_arithmetic(matrix, words):
    if not (matrix.any(axis=0).all() and matrix.any(axis=1).all()):
        np.fill_diagonal(matrix, 2)
    order, turned = best_order(matrix)
    rows = tuple(map(tuple, (matrix.T if turned else matrix).tolist()))
    primes = primes_above(2**60) if words == 0 else ()
    assert value(FrontierWork(rows, order, words, primes)) == exact_permanent_by_subsets(matrix)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_double_is_within_its_bound(complex_, scale):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(9, 9)) * (rng.random((9, 9)) < 0.5)
    np.fill_diagonal(matrix, 1.0)
    matrix[3:6] *= scale
    matrix = matrix + 1j * matrix[::-1] * (matrix != 0) if complex_ else matrix
    order, turned = best_order(matrix)
    found = value(FrontierSumWork(matrix.T if turned else matrix, None, order))
    assert_within(found, matrix, 1e-13)


@pytest.mark.parametrize("words", [1, 2, 4, 8, 0])
def test_numbered_states_in_every_arithmetic(words):
    rng = np.random.default_rng(words)
    matrix = rng.integers(-9, 10, (13, 13)) * (rng.random((13, 13)) < 0.8)
    order, turned = best_order(matrix)
    assert order.numbered
    rows = tuple(map(tuple, (matrix.T if turned else matrix).tolist()))
    primes = primes_above(2**90) if words == 0 else ()
    expected = exact_permanent_by_subsets(matrix)
    found = value(FrontierWork(rows, order, words, primes))
    assert found == ((expected + 2**63) % 2**64 - 2**63 if words == 1 else expected)


@pytest.mark.parametrize("kind", ["nonnegative", "signed", "complex"])
@pytest.mark.parametrize("wrong", [False, True])
def test_numbered_states_in_double(kind, wrong):
    rng = np.random.default_rng(4)
    n = 12
    matrix = rng.random((n, n)) * (rng.random((n, n)) < 0.25) + np.eye(n)
    if kind != "nonnegative":
        matrix *= rng.choice([-1, 1], (n, n))
    if kind == "complex":
        matrix = matrix * np.exp(1j * rng.normal(size=(n, n)))
    error = 1e-9 * rng.random((n, n)) if wrong else None
    order, _ = best_order(np.ones((n, n)))
    assert order.numbered
    found = value(FrontierSumWork(matrix, error, order))
    moved = matrix if error is None else matrix + error * rng.choice([-1, 1], (n, n))
    assert_within(found, moved, 1e-7 if wrong else 1e-13)


def test_annealing_narrows_a_frontier():
    rng = np.random.default_rng(1)
    matrix = sum(np.eye(60, dtype=int)[rng.permutation(60)] for _ in range(3))
    plain, _ = best_order(matrix)
    better, turned = best_order(matrix, 1e-6)
    assert better.transitions < plain.transitions
    again, _ = best_order(matrix, 1e-6)
    assert again == better
    rows = tuple(map(tuple, (matrix.T if turned else matrix).tolist()))
    plain_rows = tuple(map(tuple, matrix.tolist()))
    order, other = best_order(matrix)
    rows_of = tuple(zip(*plain_rows, strict=True)) if other else plain_rows
    assert value(FrontierWork(rows, better, 2)) == value(FrontierWork(rows_of, order, 2)) > 0


def regular(n, degree, seed):
    rng = np.random.default_rng(seed)
    return sum(np.eye(n, dtype=int)[rng.permutation(n)] for _ in range(degree))


@pytest.mark.parametrize("words", [1, 2, 4, 0])
def test_parts_add_up_in_integers(words):
    matrix = regular(40, 3, 1) * np.random.default_rng(2).integers(1, 4, (40, 40))
    order, turned = best_order(matrix)
    rows = tuple(map(tuple, (matrix.T if turned else matrix).tolist()))
    primes = primes_above(2**90) if words == 0 else ()
    cuts = cut_up(order, 1.0, 1.0, order.peak / 3)
    assert cuts.parts >= 4
    whole = value(FrontierWork(rows, order, words, primes))
    assert whole != 0
    assert value(FrontierWork(rows, order, words, primes, cuts)) == whole
    # Parts are smaller than the whole, in states and in products.
    parts = cuts.orders(order)
    assert max(part.peak for part in parts) <= order.peak / 3
    assert max(part.transitions for part in parts) < order.transitions


def test_parts_of_a_dense_matrix():
    # Some of them have no perfect matching.
    matrix = np.random.default_rng(6).integers(-9, 10, (10, 10))
    order, turned = best_order(matrix)
    rows = tuple(map(tuple, (matrix.T if turned else matrix).tolist()))
    cuts = cut_up(order, 1.0, 1.0, order.peak / 2)
    assert cuts.parts > 1
    assert value(FrontierWork(rows, order, 1, (), cuts)) == exact_permanent_by_subsets(matrix)


@pytest.mark.parametrize("kind", ["nonnegative", "signed", "complex"])
@pytest.mark.parametrize("scale", [1.0, 1e-120])
def test_parts_add_up_in_double(kind, scale):
    rng = np.random.default_rng(5)
    matrix = regular(12, 3, 3) * rng.random((12, 12))
    matrix[4:] *= scale
    if kind != "nonnegative":
        matrix *= rng.choice([-1, 1], (12, 12))
    if kind == "complex":
        matrix = matrix * np.exp(1j * rng.normal(size=(12, 12)))
    order, turned = best_order(matrix)
    cuts = cut_up(order, 1.0, 1.0, order.peak / 2)
    assert cuts.parts > 1
    found = value(FrontierSumWork(matrix.T if turned else matrix, None, order, cuts))
    assert_within(found, matrix, 1e-13)


def test_parts_are_kept_and_give_one_answer(tmp_path):
    rng = np.random.default_rng(7)
    matrix = regular(40, 3, 1) * rng.normal(size=(40, 40))
    order, turned = best_order(matrix)
    cuts = cut_up(order, 1.0, 1.0, order.peak / 3)
    work = FrontierSumWork(np.array(matrix.T if turned else matrix), None, order, cuts)
    alone, ledger = RunOptions.checked(threads=1), tmp_path / "ledger"
    expected = solve(work, alone).whole()
    first = solve(work, RunOptions.checked(threads=2, checkpoint=ledger))
    again = solve(work, RunOptions.checked(threads=3, checkpoint=ledger))
    assert first.whole() == again.whole() == expected
    assert (first.resumed_shards, again.resumed_shards) == (0, cuts.parts)
    with ThreadPoolExecutor(2) as pool:
        assert solve(work, RunOptions.checked(executor=pool)).whole() == expected


def test_a_time_limit_ends_planning_and_sums():
    with pytest.raises(BudgetError):
        hardscape.permanent(regular(110, 3, 1), time_limit=0.3)


def test_what_takes_long_is_cut():
    matrix = regular(110, 3, 8)
    planned = plan(matrix, memory=16, threads=1)
    cut = plan(matrix, memory=planned.blocks[0].memory_bytes / 3e9, threads=1)
    assert (planned.method, cut.method) == ("frontier", "frontier")
    assert 0 < cut.blocks[0].memory_bytes <= planned.blocks[0].memory_bytes / 3


def assert_within(found, matrix, relative):
    re, im = exact_complex_permanent(matrix)
    unit = Fraction(2) ** found.exponent
    off = max(
        abs(Fraction(complex(found.mantissa).real) * unit - re),
        abs(Fraction(complex(found.mantissa).imag) * unit - im),
    )
    assert off <= Fraction(found.bound) * unit
    assert found.bound <= relative * found.magnitude


def test_memory_is_an_option():
    matrix = np.random.default_rng(3).random((26, 26))
    planned = plan(matrix, method="frontier", memory=8)
    need = planned.blocks[0].memory_bytes
    assert 2**26 < need < 8e9
    with pytest.raises(InputError):
        plan(matrix, method="frontier", memory=need / 2e9)
    with pytest.raises(InputError):
        plan(matrix, memory=0)


def test_errors_of_entries_are_carried_along():
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(7, 7))
    error = rng.random((7, 7)) * 1e-6
    order, turned = best_order(matrix)
    used = (matrix.T, error.T) if turned else (matrix, error)
    found = value(FrontierSumWork(*map(np.ascontiguousarray, used), order))
    for _ in range(20):
        moved = matrix + error * rng.choice([-1, 1], (7, 7))
        assert abs(Fraction(found.value) - exact_permanent_by_subsets(moved)) <= found.error_bound
    assert found.error_bound < 1e-2


def test_long_bands_do_not_underflow():
    n = 700
    matrix = np.zeros((n, n))
    for k in (-1, 0, 1):
        matrix += np.diag(np.full(n - abs(k), 0.1), k)
    result = hardscape.permanent(matrix, full_output=True)
    # Permutations that move by one at most: Fibonacci numbers.
    a, b = 1, 1
    for _ in range(n - 1):
        a, b = b, a + b
    assert result.value == 0.0
    assert result.error_bound < 1e-200
    assert hardscape.permanent((matrix > 0).astype(int)) == b
    scaled = hardscape.permanent(matrix * 10, full_output=True)
    assert scaled.method in ("frontier", "structure")
    assert abs(Fraction(scaled.value) - b) <= Fraction(scaled.error_bound)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (dodecahedron(), 1392),
        (grid_biadjacency(8, 8), 12988816),
        (grid_biadjacency(12, 12), 53060477521960000),
        (fullerene(), 395974320),
    ],
)
def test_graphs_and_boards(matrix, expected):
    result = hardscape.permanent(matrix, full_output=True)
    assert result.value == expected
    floating = hardscape.permanent(matrix.astype(float), full_output=True)
    assert floating.value == expected
    assert floating.error_bound < 1e-12 * expected
    if len(matrix) > 30:
        assert (result.method, floating.method) == ("frontier", "frontier")


def test_asked_for_on_a_dense_matrix():
    matrix = np.random.default_rng(3).integers(-9, 10, (9, 9))
    expected = exact_permanent_by_subsets(matrix)
    result = hardscape.permanent(matrix, method="frontier", full_output=True)
    assert (result.value, result.method) == (expected, "frontier")
    huge = matrix.astype(object) * 10**30
    assert hardscape.permanent(huge, method="frontier") == expected * 10**270


def test_stopped():
    order, _ = best_order(fullerene())
    rows = tuple(map(tuple, fullerene().tolist()))
    for work in (
        FrontierWork(rows, order, 1),
        FrontierSumWork(fullerene().astype(float), None, order),
    ):
        (shard,) = work.shards()
        assert not work.run(shard, Context(Cpu(), None, np.ones(1, np.uint8))).complete
