"""The anytime search: optima, limits, callbacks, determinism, statuses, refusals."""

import dataclasses
import importlib.util
import json
import logging
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from hardscape.errors import (
    BudgetError,
    CheckpointError,
    DeviceError,
    InputError,
    MissingDependencyError,
)
from hardscape.maxsat import CellularOptions, Formula, WeightingOptions, solve
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods import installed
from hardscape.maxsat.result import MaxsatResult
from helpers import maxsat_oracle as oracle
from helpers.maxsat_clauses import random_clauses
from helpers.maxsat_strategies import formulas

SATLIB = Path(__file__).resolve().parents[3] / "shared" / "data" / "satlib"


def random_formula(n, m, seed, most=20, hard=0):
    rng = np.random.default_rng(seed)
    plain = random_clauses(n, m, [3], seed)
    firm = random_clauses(n, hard, [3], seed + 1000)
    return Formula.from_clauses(plain, rng.integers(1, most + 1, m), hard=firm, num_variables=n)


def check(formula: Formula, result: MaxsatResult) -> None:
    """What a result says is what its assignment does."""
    hard, cost = formula.hard_violations(result.assignment), formula.cost(result.assignment)
    assert result.cost == (None if hard else cost)
    assert result.hard_violations == hard
    assert result.num_satisfied == np.count_nonzero(formula.satisfied(result.assignment))
    assert result.num_clauses == formula.num_clauses
    last = result.improvements[-1]
    assert (last.hard_violations, last.cost) == (hard, cost)
    qualities = [(x.hard_violations, x.cost) for x in result.improvements]
    assert qualities == sorted(set(qualities), reverse=True)
    if result.cost is not None:
        assert result.lower_bound <= result.cost
        assert (result.lower_bound == result.cost) == (result.status == "OPTIMUM FOUND")


@settings(max_examples=60)
@given(formulas(max_clauses=12))
def test_local_search_finds_the_optimum_of_small_formulas(lists):
    formula = lists.formula()
    result = solve(formula, method="weighting", seed=1, max_flips=2000)
    best = oracle.optimum(lists.num_variables, lists.soft, lists.weights, lists.hard)
    assert result.cost == best
    check(formula, result)


@settings(max_examples=6)
@given(formulas(max_clauses=12))
def test_exact(lists):
    formula = lists.formula()
    result = solve(formula, method="exact", seed=1, max_flips=1)
    best = oracle.optimum(lists.num_variables, lists.soft, lists.weights, lists.hard)
    assert result.cost == best
    assert result.status == ("UNSATISFIABLE" if best is None else "OPTIMUM FOUND")
    check(formula, result)


@settings(max_examples=60)
@given(formulas(max_clauses=12))
def test_tiny_formulas_are_proven_at_once(lists):
    formula = lists.formula()
    result = solve(formula)
    best = oracle.optimum(lists.num_variables, lists.soft, lists.weights, lists.hard)
    assert result.cost == best
    assert result.status == ("UNSATISFIABLE" if best is None else "OPTIMUM FOUND")
    assert result.flips == 0
    check(formula, result)


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_a_proof(method):
    formula = random_formula(30, 150, 3, hard=20)
    result = solve(formula, method=method, seed=1, time_limit=30)
    assert result.status == "OPTIMUM FOUND"
    assert result.cost == solve(formula, method="weighting", seed=2, max_flips=200_000).cost
    check(formula, result)


def test_hard_clauses_that_contradict_one_another():
    signs = [[a, b, c] for a in (1, -1) for b in (2, -2) for c in (3, -3)]
    formula = Formula.from_clauses([[1], [4, 5]], hard=signs)
    assert solve(formula, seed=1, max_flips=1000, method="weighting").status == "UNKNOWN"
    result = solve(formula, seed=1, max_flips=1000, method="exact")
    assert (result.status, result.cost, result.hard_violations) == ("UNSATISFIABLE", None, 1)
    check(formula, result)
    empty = solve(Formula.from_clauses([[1]], hard=[[]]))
    assert (empty.status, empty.cost) == ("UNSATISFIABLE", None)


def test_all_hard():
    formula = Formula.from_clauses([], hard=random_clauses(60, 200, [3], 1))
    result = solve(formula, seed=1)
    assert (result.status, result.cost, result.hard_violations) == ("OPTIMUM FOUND", 0, 0)


def test_nothing_to_do():
    for formula in (
        Formula.from_clauses([]),
        Formula.from_clauses([[1]], num_variables=3),
        Formula.from_clauses([[]], [5]),
        Formula.from_clauses([[1, -1]]),
    ):
        result = solve(formula)
        assert result.status == "OPTIMUM FOUND"
        check(formula, result)


def test_costs_beyond_64_bits():
    big = 2**63 - 1
    formula = Formula.from_clauses(
        [[1], [2], [3], [1, 2]], [big, big, big, 3], hard=[[-1, -2], [-2, -3]]
    )
    result = solve(formula, method="weighting", seed=1, max_flips=1000)
    assert result.cost == big
    worse = Formula.from_clauses([[1], [2], [3]], [big] * 3, hard=[[-1, -2], [-2, -3], [-1, -3]])
    result = solve(worse, method="weighting", seed=1, max_flips=1000)
    assert result.cost == 2 * big
    check(worse, result)


def test_the_same_seed_gives_the_same_search_whatever_cuts_it():
    formula = random_formula(80, 600, 5, hard=30)
    a = solve(formula, method="weighting", seed=7, max_flips=30_000, threads=2)
    b = solve(formula, method="weighting", seed=7, max_flips=30_000, threads=2)
    assert (a.assignment == b.assignment).all()
    assert (a.cost, a.flips) == (b.cost, b.flips)
    assert a.flips == 60_000


def test_initial_is_never_lost():
    formula = random_formula(60, 400, 6, hard=20)
    good = solve(formula, method="weighting", seed=1, max_flips=20_000)
    again = solve(formula, method="weighting", seed=2, max_flips=1, initial=good.assignment)
    assert again.cost <= good.cost
    first = again.improvements[0]
    assert (first.cost, first.hard_violations) == (good.cost, 0)


def test_target():
    formula = random_formula(60, 500, 8)
    best = solve(formula, method="weighting", seed=1, max_flips=20_000).cost
    result = solve(formula, method="weighting", seed=1, target=best + 5, max_flips=10**9, threads=2)
    assert best <= result.cost <= best + 5
    reached = solve(formula, method="weighting", seed=1, target=best + 5, threads=2)
    assert reached.cost <= best + 5
    assert reached.stopped == ""


@pytest.mark.parametrize("method", ["weighting", "auto", "exact"])
def test_time_limit(method):
    formula = random_formula(300, 2000, 9)
    began = time.monotonic()
    result = solve(formula, method=method, seed=1, time_limit=0.7)
    assert time.monotonic() - began < 1.5
    assert result.stopped == "time_limit"
    assert result.status == "SATISFIABLE"
    check(formula, result)


def test_of_many_improvements_the_last_ones_keep_their_assignments(monkeypatch):
    monkeypatch.setattr("hardscape.maxsat.incumbent._MOST_BYTES", 350)
    formula = random_formula(100, 800, 10)
    told = []
    result = solve(
        formula, method="weighting", seed=1, max_flips=50_000, on_improvement=told.append
    )
    assert len(told) > 3
    assert [x.cost for x in result.improvements] == [x.cost for x in told]
    assert [len(x.assignment) for x in result.improvements[:-3]] == [0] * (len(told) - 3)
    for found in (*told, *result.improvements[-3:]):
        assert formula.cost(found.assignment) == found.cost
    assert formula.cost(result.assignment) == result.cost


def test_improvements_are_told_as_they_come():
    formula = random_formula(100, 800, 10)
    told = []
    result = solve(
        formula, method="weighting", seed=1, max_flips=50_000, on_improvement=told.append
    )
    assert told == list(result.improvements)
    for found in told:
        assert formula.cost(found.assignment) == found.cost
    assert [x.seconds for x in told] == sorted(x.seconds for x in told)


def test_what_the_callback_raises_ends_the_search():
    class EnoughError(Exception):
        pass

    def refuse(found):
        raise EnoughError

    with pytest.raises(EnoughError):
        solve(random_formula(50, 400, 1), time_limit=60, on_improvement=refuse)


def test_cellular():
    formula = random_formula(40, 250, 12, hard=30)
    options = CellularOptions(columns=2, rows=2, width=4, height=4)
    a, b = (solve(formula, method="cellular", seed=5, threads=t, options=options) for t in (1, 2))
    check(formula, a)
    assert a.generations > 0
    assert (a.assignment == b.assignment).all()
    assert a.method == "cellular"
    assert a.cost == solve(formula, method="weighting", seed=1, max_flips=50_000).cost


def test_cellular_goes_on_up_to_its_limits():
    formula = random_formula(40, 250, 12, hard=30)
    options = CellularOptions(columns=1, rows=1, width=3, height=3, passes=1, patience=1)
    once = solve(formula, method="cellular", seed=5, threads=1, options=options)
    longer = solve(formula, method="cellular", seed=5, threads=1, options=options, time_limit=0.3)
    check(formula, longer)
    assert longer.generations > once.generations
    assert longer.stopped == "time_limit"
    assert longer.cost <= once.cost
    best = solve(formula, method="weighting", seed=1, max_flips=50_000).cost
    found = solve(formula, method="cellular", seed=5, threads=1, options=options, target=best + 10)
    assert found.cost <= best + 10
    assert found.stopped == ""


def test_cellular_stops_in_its_first_individuals():
    drawn, n, m = np.random.default_rng(13), 20_000, 80_000
    clauses = drawn.integers(1, n + 1, (m, 3)) * drawn.choice([-1, 1], (m, 3))
    formula = Formula.from_clauses(clauses.tolist(), drawn.integers(1, 21, m), num_variables=n)
    began = time.monotonic()
    result = solve(formula, method="cellular", seed=1, threads=1, time_limit=0.2)
    assert time.monotonic() - began < 3  # all 3000 individuals take about ten seconds
    assert result.stopped == "time_limit"
    check(formula, result)


@pytest.mark.parametrize("method", ["weighting", "exact", "cellular"])
def test_a_resumed_search_is_never_worse(method, tmp_path):
    formula = random_formula(40, 250, 12, hard=30)
    ledger = tmp_path / "search.ledger"
    how = {"options": CellularOptions(columns=1, rows=1)} if method == "cellular" else {}
    first = solve(formula, method=method, seed=1, max_flips=20_000, checkpoint=ledger, **how)
    again = solve(formula, method="weighting", seed=9, max_flips=1, checkpoint=ledger)
    assert again.cost <= first.cost
    assert again.lower_bound >= first.lower_bound
    assert again.improvements[0].cost == first.cost
    if method == "exact":
        assert (again.status, again.flips, again.ran) == ("OPTIMUM FOUND", 0, ())
    check(formula, again)
    with pytest.raises(CheckpointError):
        solve(random_formula(40, 250, 13), seed=1, checkpoint=ledger)


def test_improvements_are_kept_while_the_search_goes_on(tmp_path):
    class EnoughError(Exception):
        pass

    formula, ledger = random_formula(600, 4000, 10), tmp_path / "search.ledger"
    told = []

    def refuse(found):
        told.append(found.cost)
        if len(told) == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        solve(formula, method="weighting", seed=1, checkpoint=ledger, on_improvement=refuse)
    again = solve(formula, method="weighting", seed=2, max_flips=1, checkpoint=ledger)
    assert again.improvements[0].cost in told


@pytest.mark.parametrize("limit", [None, 20.0])
def test_an_executor_walks(limit):
    formula = random_formula(60, 400, 6, hard=20)
    how = {"method": "weighting", "seed": 3, "threads": 3, "max_flips": 20_000}
    here = solve(formula, **how)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = solve(formula, executor=pool, time_limit=limit, **how)
    assert (here.assignment == there.assignment).all()
    assert (here.cost, here.flips) == (there.cost, there.flips)
    assert here.ran == ("weighting with 3 walkers on cpu",)
    assert there.ran == ("weighting with 3 walkers on cpu of ProcessPoolExecutor",)


def test_a_result_says_what_searched():
    formula = random_formula(60, 320, 3, hard=20)  # not settled by the search
    walked, proved = solve(formula, method="exact", seed=1, time_limit=30).ran
    assert "weighting" in walked
    assert "elimination" in proved or "exact" in proved
    assert solve(random_formula(10, 60, 1)).ran == ("enumeration on cpu",)


def test_the_log_says_why_methods_are_passed_over(caplog):
    caplog.set_level(logging.DEBUG, logger="hardscape.maxsat")
    solve(random_formula(60, 400, 6), method="weighting", seed=1, max_flips=10)
    passed = [record.args[0] for record in caplog.records]
    assert passed == ["cellular", "enumeration", "exact", "walks", "weighing", "weighting"]


def test_integers_of_any_type():
    formula = random_formula(60, 400, 6)
    plain = solve(formula, method="weighting", seed=3, max_flips=2000)
    other = solve(formula, method="weighting", seed=np.int64(3), max_flips=np.uint16(2000))
    assert (plain.assignment == other.assignment).all()


def test_options_of_the_other_method_are_refused():
    formula = random_formula(10, 40, 1)
    with pytest.raises(InputError):
        solve(formula, method="cellular", options=WeightingOptions())
    with pytest.raises(InputError):
        solve(formula, options=CellularOptions())


def test_options_shape_the_search():
    formula = random_formula(500, 4000, 11, hard=50)
    costs = set()
    for options in (WeightingOptions(), WeightingOptions(samples=1, patience=50, soft_limit=2)):
        result = solve(formula, method="weighting", seed=3, max_flips=3000, options=options)
        check(formula, result)
        costs.add(result.assignment.tobytes())
    assert len(costs) == 2


def test_result_as_data():
    result = solve(random_formula(20, 100, 1), seed=1, max_flips=1000, method="weighting")
    data = json.loads(result.to_json())
    assert data["cost"] == result.cost
    assert data["assignment"] == "".join(map(str, result.assignment))
    assert data["improvements"][-1][1] == result.cost


def test_lower_bounds_are_kept_as_they_rose():
    formula = random_formula(40, 240, 3, hard=20)
    result = solve(formula, method="exact", seed=1, threads=1)
    assert result.status == "OPTIMUM FOUND"
    seconds, lower = zip(*result.bounds, strict=True)
    assert sorted(seconds) == list(seconds)
    assert sorted(set(lower)) == list(lower)
    assert (lower[-1], seconds[-1] <= result.seconds) == (result.cost, True)
    assert json.loads(result.to_json())["bounds"][-1][1] == result.cost
    told = solve(formula, method="weighting", lower_bound=result.cost, max_flips=10)
    assert told.bounds == ((0.0, result.cost),)


def test_of_lower_bounds_that_come_together_the_last_is_kept():
    incumbent = Incumbent(random_formula(3, 5, 1), None, time.monotonic() - 1000.0)
    for lower in range(1, 1000):
        incumbent.bound(lower)
    assert len(incumbent.bounds) == 2
    assert incumbent.bounds[-1][1] == 999


@pytest.mark.parametrize("method", ["weighting", "exact"])
def test_a_lower_bound_is_drawn_where_there_is_one(method):
    pytest.importorskip("matplotlib")
    formula = random_formula(30, 150, 3, hard=20 if method == "exact" else 0)
    result = solve(formula, method=method, seed=1, max_flips=10_000)
    ax = result.plot()
    drawn = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert len(drawn) == (result.lower_bound > 0) == (method == "exact")


def test_a_plot_without_assignments_tells_none_found_from_none_there():
    pytest.importorskip("matplotlib")
    result = solve(Formula.from_clauses([[2]], hard=[[1], [-1]]), seed=1)
    assert result.status == "UNSATISFIABLE"
    unknown = dataclasses.replace(result, status="UNKNOWN")
    told = [x.plot().texts[0].get_text() for x in (result, unknown)]
    assert told[0] != told[1]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "magic"},
        {"time_limit": 0},
        {"time_limit": float("nan")},
        {"max_flips": 0},
        {"max_flips": 1.5},
        {"target": -1},
        {"target": "2"},
        {"seed": -1},
        {"seed": 2**64},
        {"seed": True},
        {"seed": 1.5},
        {"time_limit": "1"},
        {"threads": 1.5},
        {"threads": 0},
        {"device": "gpu"},
        {"on_improvement": 3},
        {"on_bound": "print"},
        {"initial": np.ma.masked_array([0, 1], mask=[0, 1])},
        {"initial": [0]},
        {"initial": [0, 2]},
        {"initial": [[0, 1]]},
    ],
)
def test_refused(options):
    with pytest.raises(InputError):
        solve(Formula.from_clauses([[1, 2], [-1, -2], [1, -2], [-1, 2]]), **options)


def test_absurd_sizes_are_refused_before_memory_is_taken():
    with pytest.raises(BudgetError):
        solve(Formula.from_clauses([[1, 2], [-1, -2]], num_variables=2**31 - 1))


def test_refused_formula_and_device():
    with pytest.raises(InputError):
        solve([[1, 2]])
    with pytest.raises((InputError, DeviceError)):
        solve(Formula.from_clauses([[1]]), device="cuda", method="weighting")


@pytest.mark.parametrize(
    "options",
    [
        {"samples": 0},
        {"samples": 1.5},
        {"clauses": 0},
        {"hard_increase": 0},
        {"soft_increase": float("nan")},
        {"soft_increase": "1"},
        {"soft_limit": 0},
        {"patience": 0},
    ],
)
def test_refused_weighting_options(options):
    with pytest.raises(InputError):
        WeightingOptions(**options)


@pytest.mark.skipif(not SATLIB.is_dir(), reason="the SATLIB files are not here")
@pytest.mark.parametrize("size", ["020", "100", "250"])
def test_satlib(size):
    formula = Formula.from_file(SATLIB / f"uf{size}-01.cnf")
    for seed in range(5):
        result = solve(formula, seed=seed)
        assert (result.status, result.cost) == ("OPTIMUM FOUND", 0)
        assert result.num_satisfied == formula.num_clauses


def test_the_result_says_why_a_search_ended_that_settled_nothing():
    formula = random_formula(60, 500, 8)
    assert solve(formula, method="weighting", seed=1).stopped == "stagnation"
    assert solve(formula, method="weighting", seed=1, max_flips=1000).stopped == "max_flips"
    assert solve(random_formula(8, 20, 1), seed=1).stopped == ""


@pytest.mark.parametrize(("there", "package"), [((), "python-sat"), (("pysat",), "rustsat")])
@pytest.mark.parametrize("wish", [{"check": True}, {"method": "exact"}])
def test_a_proof_without_its_packages_names_the_wish_and_what_is_missing(
    monkeypatch, there, package, wish
):
    monkeypatch.setattr(installed, "_found", set(there))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError) as caught:
        solve(Formula.from_clauses([[1], [-1]]), **wish)
    assert (caught.value.package, caught.value.extra) == (package, "sat")
    assert caught.value.purpose.startswith(next(iter(wish)))
