"""Figures of the five papers, done again: what they measure, tell and write. Sizes are cut down here."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from hardscape.benchmarks.permanents import ladder
from hardscape.errors import FormatError, InputError, Interrupted
from hardscape.gauge import GaugeField
from hardscape.ising import Ising
from hardscape.maxsat import CellularOptions
from hardscape.reproduce import (
    Quantity,
    blocks,
    figures,
    gauge,
    hidden,
    ising,
    kernels,
    landscape,
    maxsat,
    permanents,
    read_reproduction,
    reproduce,
    xorsat,
)
from hardscape.reproduce.figures import figure
from hardscape.xorsat import random_regular, time_to_solution

CPU: dict[str, Any] = {"device": "cpu", "threads": 1}
NAMES = [figure.name for figure in figures()]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instances that take no time; the figures stay as they are."""
    measured, model, matrix = xorsat.measured_times, ising.random_model, permanents.matrix
    row = maxsat._TABLE

    def few(request, *_, **how):
        return measured(request, 24, 4, 30, 5.0, **how)

    for module in (xorsat, landscape):
        monkeypatch.setattr(module, "measured_times", few)
    monkeypatch.setattr(xorsat, "random_regular", lambda n, seed: random_regular(24, seed=seed))
    monkeypatch.setattr(hidden, "_SIZES", {False: ((12, 18), 4)})
    monkeypatch.setattr(landscape, "random_regular", lambda n, **how: random_regular(60, **how))
    monkeypatch.setattr(ising, "random_model", lambda n, *rest: model(11, *rest))
    for module, most in ((permanents, 20), (kernels, 26)):
        monkeypatch.setattr(
            module, "matrix", lambda kind, n, seed, m=most: matrix(kind, min(n, m), seed)
        )
    steps = ladder.steps
    monkeypatch.setattr(ladder, "steps", lambda n, **how: steps(12, **how))
    monkeypatch.setattr(kernels, "_SLICE", 0.05)
    monkeypatch.setattr(blocks, "random_model", lambda n, *rest: model(20, *rest))
    monkeypatch.setattr(ising, "_both", lambda *_: (True, 900, False))
    monkeypatch.setattr(maxsat, "_TABLE", (row[0], row[3]))
    monkeypatch.setattr(maxsat, "_RUNS", 3)
    drawn = maxsat.uniform_satisfiable
    monkeypatch.setattr(maxsat, "uniform_satisfiable", lambda n, m, seed: drawn(20, 91, seed))
    monkeypatch.setattr(
        maxsat, "CellularOptions", lambda **how: CellularOptions(**{**how, "max_generations": 1})
    )

    class Fields:
        @staticmethod
        def random(shape: tuple[int, ...], seed: int) -> GaugeField:
            return GaugeField.random((2, 2, 2, 4), seed=seed)

    monkeypatch.setattr(gauge, "GaugeField", Fields)
    monkeypatch.setattr(
        gauge, "generate", lambda shape, beta, seed, **_: Fields.random(shape, seed)
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_figure_is_measured_drawn_and_read_back(name, small, tmp_path):
    heard: list[str] = []
    found = reproduce(name, tell=heard.append, **CPU)
    assert found.name == name
    assert found.quantities
    assert found.rows
    assert all(len(row) == len(found.columns) for row in found.rows)
    assert found.command.startswith(f"hardscape reproduce {name} --seed 1")
    found.save(tmp_path / "found.json")
    found.save(tmp_path / "found.csv")
    again = read_reproduction(tmp_path / "found.json")
    assert again.columns == found.columns
    assert len(again.rows) == len(found.rows)
    assert again.to_json() == found.to_json()
    lines = (tmp_path / "found.csv").read_text().splitlines()
    assert len(lines) == 1 + len(found.rows)
    pytest.importorskip("matplotlib")
    assert again.plot().get_title()


def test_names_are_those_of_figures():
    assert len(set(NAMES)) == len(NAMES) >= 16
    with pytest.raises(InputError, match="'xorsat-9'; ising-3"):
        reproduce("xorsat-9")
    with pytest.raises(InputError, match="time_limit is no argument"):
        reproduce("xorsat-7", time_limit=1.0)


@pytest.mark.parametrize("name", ["xorsat-6", "xorsat-7"])
def test_theory_agrees_with_the_paper(name):
    first = reproduce(name).quantities[0]
    assert first.value == pytest.approx(first.published, abs=5e-7)


def test_no_error_of_a_permanent_is_above_its_bound():
    found = reproduce("permanents-error", **CPU)
    assert found.quantities[-1].name == "errors above their bound"
    assert found.quantities[-1].value == 0
    relative, bound = found.column("relative error"), found.column("bound")
    # Ratios of floats are rounded once more.
    assert all(x <= y * (1 + 1e-9) for x, y in zip(relative, bound, strict=True))


def test_every_step_of_the_ladder_gives_the_permanent():
    for n in (8, 13):
        ladder.checked(ladder.on_a_core, n)
    matrix = np.ones((8, 8))
    for idea in range(len(ladder.IDEAS)):
        whole = ladder.units(idea, 8)
        assert ladder.value(idea, ladder.on_a_core(matrix, idea, whole), 8) == 40320
    found = ladder.steps(12, repeats=1)
    assert [step.name for step in found] == [*ladder.IDEAS, ladder.OURS]


def test_a_slice_is_of_shards_through_a_checkpoint(monkeypatch):
    matrix = kernels.matrix
    monkeypatch.setattr(kernels, "matrix", lambda kind, n, seed: matrix(kind, 30, seed))
    monkeypatch.setattr(kernels, "_SLICE", 0.05)
    found = reproduce("permanents-62", **CPU)
    for _, shards, done, seconds, size, rate, hours in found.rows:
        assert 1 <= done < shards == 64
        assert rate * seconds == pytest.approx(2**29 * done / shards)
        assert hours * 3600 * rate == pytest.approx(2**29)
        assert size > 0


def test_the_same_seed_measures_the_same(small):
    first, second = (reproduce("xorsat-3", seed=4, **CPU) for _ in range(2))
    assert first.rows == second.rows
    assert reproduce("xorsat-3", seed=5, **CPU).rows != first.rows


def test_distances_are_in_standard_errors():
    one = Quantity("a", 0.0800, 0.0003, 0.0786, 0.0004)
    assert one.deviation == pytest.approx(2.8)
    assert one.texts() == ("a", "0.08 ± 0.0003", "0.0786 ± 0.0004", "2.8 standard errors apart")
    assert Quantity("b", 3.0, None, 1.5, remark="why").texts()[-1] == "2 times; why"
    assert Quantity("c", 3.0).deviation is None


def test_a_part_of_a_measurement_is_no_answer(monkeypatch):
    def stopped(request):
        raise Interrupted(2, "the runs of one instance")

    known = figure("xorsat-7")
    monkeypatch.setattr(
        "hardscape.reproduce.reproduction.figure", lambda name: replace(known, measure=stopped)
    )
    with pytest.raises(Interrupted) as stop:
        reproduce("xorsat-7")
    assert stop.value.result is None


def test_an_energy_is_extrapolated_to_endless_time():
    t = np.geomspace(30, 3000, 6)
    value, off = landscape._limit(t, -0.96 + 0.4 * t**-0.35, np.full(6, 1e-5))
    assert value == pytest.approx(-0.96, abs=1e-6)
    assert off < 1e-6
    value, off = landscape._limit(t, -0.96 + 0.4 * t**-0.35 + 1e-3 / t**0.1, np.full(6, 1e-5))
    assert off > 1e-6


def test_the_growth_is_fitted_to_a_row_a_size():
    rows = [(n, 10, 20, 15, 7.0 * np.exp(0.08 * n), 0.1 * np.exp(0.08 * n), 0.6, 1.0, 0.1, 1e11)
            for n in (64, 96, 112, 128, 144)]  # fmt: skip
    found = xorsat.growth_of(rows, full=False)
    first = next(iter(found.quantities))
    assert first.value == pytest.approx(0.08)
    assert 0 < first.error < 0.01


def test_formulas_are_satisfiable_and_uniform():
    formula = maxsat.uniform_satisfiable(20, 91, 7)
    clauses = [formula.literals[3 * i : 3 * i + 3] for i in range(91)]
    assert formula.num_clauses == 91
    assert formula.num_variables == 20
    assert all(len({abs(x) for x in clause}) == 3 for clause in clauses)
    assert min(map(abs, formula.literals)) == 1
    assert max(map(abs, formula.literals)) == 20


def test_models_are_the_same_for_a_seed():
    assert ising.random_model(8, 3) == ising.random_model(8, 3)
    assert isinstance(ising.random_model(8, 3, "uniform"), Ising)
    assert np.abs(ising.random_model(30, 3, "uniform").J).max() <= 1


def test_what_is_no_result_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"name": "xorsat-1"}))
    with pytest.raises(FormatError, match="is no result of hardscape reproduce"):
        read_reproduction(path)
    assert list(islice(NAMES, 1)) == ["ising-3"]


def test_what_was_not_reached_is_told_and_read_back(tmp_path):
    found = replace(
        reproduce("xorsat-7"), quantities=(Quantity("sweeps", float("inf"), None, 5.0),)
    )
    found.save(tmp_path / "found.json")
    again = read_reproduction(tmp_path / "found.json").quantities[0]
    assert again.value is None
    assert again.deviation is None
    assert again.texts() == found.quantities[0].texts() == ("sweeps", "not reached", "5", "")


def test_equations_as_clauses_have_the_same_solutions():
    system = random_regular(12, seed=3)
    formula = hidden.clauses_of(system)
    assert formula.num_clauses == 4 * system.num_clauses
    states = np.arange(1 << 12)[:, None] >> np.arange(12) & 1
    holds = system.violated(states) == 0
    costs = np.array([formula.cost(state.astype(bool)) for state in states])
    assert np.array_equal(costs == 0, holds)
    assert np.array_equal(
        costs, system.violated(states)
    )  # a wrong equation breaks one of its clauses


@pytest.mark.parametrize("kinds", [hidden.HIDDEN, hidden.PLANTED])
def test_a_hidden_solution_solves(kinds):
    formula, solution = hidden.drawn(400, kinds, [1, 2])
    assert formula.cost(solution > 0) == 0
    literals = formula.literals.reshape(-1, 3)
    assert all(len(set(row)) == 3 for row in np.abs(literals).tolist())
    false = (literals * solution[np.abs(literals) - 1] < 0).sum(axis=1)
    shares = np.bincount(false, minlength=3) / len(literals)
    assert shares == pytest.approx(kinds, abs=4 * 0.5 / np.sqrt(len(literals)))
    # Hidden: the literals of a variable agree with the solution as often as not.
    right = (literals * solution[np.abs(literals) - 1] > 0).mean()
    assert right == pytest.approx(sum(k * (3 - i) / 3 for i, k in enumerate(kinds)), abs=0.05)


def test_what_is_left_of_times_is_counted_from_there():
    system = random_regular(24, seed=1)
    found = time_to_solution(system, 40, 5.0, clones=1024, seed=1, **CPU)
    cut = int(np.median(found.sweeps))
    after = xorsat._after(found, cut)
    assert sorted(after.sweeps) == sorted(x - cut for x in found.sweeps if x > cut)
    assert after.runs == (found.sweeps > cut).sum() == after.num_solved


def test_the_limit_of_annealing_is_that_of_its_law():
    t = np.array([30.0, 160, 950, 5300, 30_000])
    e, away = landscape._limit(t, -0.965 + 0.4 * t**-0.4, np.full(5, 1e-4))
    assert e == pytest.approx(-0.965, abs=1e-4)
    assert away < 1e-4
    bent, away = landscape._limit(t, -0.965 + 0.4 * t**-0.4 + 1e-3 * (t > 10_000), np.full(5, 1e-4))
    assert away > 5e-4
    assert abs(bent + 0.965) < 4 * away
