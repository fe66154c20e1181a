"""Sweeps against settings: the same numbers as `fix` has, resumed, in tables and plots."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape import gauge
from hardscape.cli import main
from hardscape.errors import BudgetError, CheckpointError, InputError
from hardscape.gauge.methods.relaxation import temperatures
from hardscape.gauge.methods.scanned import scanned
from hardscape.gauge.options import FixOptions

CPU: dict[str, Any] = {"device": "cpu", "threads": 1, "seed": 3}


@pytest.fixture(scope="module")
def field() -> gauge.GaugeField:
    return gauge.generate((4, 4, 4, 4), 5.7, seed=2, sweeps=20, device="cpu", threads=1)


@pytest.fixture(scope="module")
def found(field: gauge.GaugeField) -> gauge.GaugeScan:
    return gauge.scan(
        field,
        omegas=[1.0, 1.6],
        probabilities=[0.3],
        schedules=[(0.8, 0.1)],
        copies=3,
        arguments={"annealing_sweeps": 20},
        **CPU,
    )


def test_points(found: gauge.GaugeScan) -> None:
    over, matrix = "overrelaxation", "matrix-overrelaxation"
    assert found.methods == (over, over, matrix, matrix, "stochastic", "annealing")
    np.testing.assert_array_equal(found.omega, [1, 1.6, 1, 1.6, np.nan, np.nan])
    np.testing.assert_array_equal(found.probability, [np.nan] * 4 + [0.3, np.nan])
    np.testing.assert_array_equal(found.first_temperature, [np.nan] * 5 + [0.8])
    np.testing.assert_array_equal(found.last_temperature, [np.nan] * 5 + [0.1])
    assert found.parameters == ("omega", "probability", "first_temperature")
    assert (len(found), found.points_total, found.sweeps.shape) == (6, 6, (6, 3))


def test_each_point_is_a_fix(field: gauge.GaugeField, found: gauge.GaugeScan) -> None:
    settings: list[dict[str, Any]] = [
        {"method": "overrelaxation", "omega": 1.6},
        {"method": "stochastic", "probability": 0.3},
        {"method": "annealing", "temperatures": (0.8, 0.1), "annealing_sweeps": 20},
    ]
    for row, setting in zip((1, 4, 5), settings, strict=True):
        alone = gauge.fix(field, copies=3, **setting, **CPU).copies
        np.testing.assert_array_equal(found.sweeps[row], alone.sweeps)
        np.testing.assert_array_equal(found.functional[row], alone.functional)
        assert found.converged[row].all()


def test_means_are_of_what_converged() -> None:
    points = [FixOptions(method="overrelaxation", omega=1.5)] * 3
    rows = {
        "sweeps": np.array([[10, 30, 50], [10, 20, 20], [9, 9, 9]]),
        "functional": np.array([[0.5, 0.6, 0.9], [0.5, 0.1, 0.1], [0.1, 0.1, 0.1]]),
        "converged": np.array([[True, True, False], [True, False, False], [False] * 3]),
    }
    scan = scanned(points, rows, gauge.GaugeField.random((2, 2, 2, 2), 2))
    np.testing.assert_array_equal(scan.num_converged, [2, 1, 0])
    np.testing.assert_array_equal(scan.mean_sweeps, [20, 10, np.nan])
    np.testing.assert_allclose(scan.sweeps_error, [10, np.nan, np.nan])
    np.testing.assert_array_equal(scan.best_functional, [0.6, 0.5, np.nan])
    np.testing.assert_allclose(scan.functional_error, [0.05, np.nan, np.nan])
    assert json.loads(scan.to_json())["mean_sweeps"] == [20.0, 10.0, None]
    scan.plot()


def test_any_threads_and_workers(field: gauge.GaugeField, found: gauge.GaugeScan) -> None:
    given: dict[str, Any] = {"omegas": [1.0, 1.6], "copies": 3, **CPU, "threads": 3}
    again = gauge.scan(field, **given)
    np.testing.assert_array_equal(again.sweeps, found.sweeps[:4])
    np.testing.assert_array_equal(again.functional, found.functional[:4])


def test_a_scan_goes_on(field: gauge.GaugeField, tmp_path: Path) -> None:
    given: dict[str, Any] = {"omegas": [1.0, 1.6], "copies": 2, **CPU}
    whole = gauge.scan(field, **given, checkpoint=tmp_path / "job")
    assert gauge.scan(field, **given, checkpoint=tmp_path / "job").seconds < whole.seconds
    again = gauge.scan(field, **given)
    np.testing.assert_array_equal(again.sweeps, whole.sweeps)
    with pytest.raises(CheckpointError):
        gauge.scan(field, **given | {"omegas": [1.0, 1.7]}, checkpoint=tmp_path / "job")
    with pytest.raises(BudgetError):
        gauge.scan(field, **given, time_limit=1e-9)


def test_what_is_compared_where_nothing_is_asked_for(field: gauge.GaugeField) -> None:
    found = gauge.scan(field, arguments={"max_sweeps": 10}, **CPU)
    assert len(found) == 2 * 7 + 5 + 3
    first, last = found.first_temperature[-3:], found.last_temperature[-3:]
    own = temperatures(FixOptions(), 3)
    np.testing.assert_allclose(first, [own[0], 2 * own[0], own[0]])
    np.testing.assert_allclose(last, [own[1], own[1], own[1] / 2])


def test_refusals(field: gauge.GaugeField) -> None:
    wrong: list[dict[str, Any]] = [
        {"omegas": [2.5]},
        {"omegas": []},
        {"probabilities": [1.5]},
        {"schedules": [(0.1, 1.0)]},
        {"schedules": [1.0]},
        {"arguments": {"omega": 1.5}},
        {"copies": 0},
        {"theta": -1},
    ]
    for one in wrong:
        with pytest.raises(InputError):
            gauge.scan(field, **one)
    scan = gauge.scan(field, omegas=[1.5], arguments={"max_sweeps": 20}, **CPU)
    assert not scan.converged.any()
    assert np.isnan(scan.mean_sweeps).all()
    with pytest.raises(InputError):
        scan.plot(parameter="probability")


def test_command(
    field: gauge.GaugeField, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links, table, plot = tmp_path / "u.nersc", tmp_path / "t.csv", tmp_path / "p.svg"
    field.to_file(links)
    words = f"gauge scan {links} --omegas 1.5 --schedules 1:0.1 --copies 2 --seed 3 --threads 1"
    more = f" --annealing-sweeps 9 --table {table} --plot {plot}"
    assert main((words + more + " --json").split()) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["methods"] == ["overrelaxation", "matrix-overrelaxation", "annealing"]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [float(row["mean_sweeps"]) for row in rows] == told["mean_sweeps"]
    assert rows[0]["omega"] == "1.5"
    assert rows[2]["first_temperature"] == "1.0"
    assert plot.read_text().count("<svg") == 1
    assert main((words + more).split()) == 2  # the files are there
    for wrong in ("--omegas 1,x", "--schedules 1", "--omegas 3", "--table t.h5"):
        assert main((f"gauge scan {links} " + wrong).split()) == 2
    assert capsys.readouterr().out == ""
