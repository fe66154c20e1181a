"""Results of every family: compared, shown and written down in one way."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape import gauge, ising, maxsat, xorsat
from hardscape.errors import InputError
from hardscape.plain import brief
from helpers.results import KINDS, MODEL, results


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind.__module__.split('.')[1]}.{kind.__name__}")
def result(request: pytest.FixtureRequest) -> Any:
    return results()[request.param]


def test_equal_where_all_is_equal(result: Any) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert hash(again) == hash(result)
    assert result != "another thing"
    name, value = next(
        (x, y) for x, y in vars(result).items() if isinstance(y, int | str | np.ndarray)
    )
    other = replace(result, **{name: f"{value}x" if isinstance(value, str) else value + 1})
    assert other != result


def test_shown_in_a_line(result: Any) -> None:
    assert repr(result).startswith(f"<{type(result).__name__}: ")
    assert repr(result).endswith(">")
    assert len(repr(result)) < 500
    assert "\n" not in repr(result)
    assert len(result._repr_html_()) < 4000
    assert f"<caption>{type(result).__name__}</caption>" in result._repr_html_()


def test_saved_as_it_is_told(result: Any, tmp_path: Path) -> None:
    result.save(tmp_path / "x.json.gz")
    told = json.loads(gzip.decompress((tmp_path / "x.json.gz").read_bytes()))
    assert told == json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))
    result.save(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        names, *rows = csv.reader(file)
    of_all = type(result).COLUMNS.split() or list(result.to_dict())
    assert names == list(getattr(result, "columns", of_all))
    frame = pytest.importorskip("pandas") and result.to_dataframe()
    assert list(frame.columns) == names
    assert len(frame) == len(rows) >= 1
    with pytest.raises(InputError):
        result.save(tmp_path / "x.docx")


def test_a_row_for_each_state() -> None:
    pytest.importorskip("pandas")
    found = results()[ising.Spectrum]
    frame = found.to_dataframe()
    assert frame["energies"].tolist() == found.energies.tolist()
    assert frame["states"].tolist() == found.bit_strings()


def test_labels_are_told() -> None:
    assert results()[ising.Spectrum].to_dict()["labels"] == ["a", "b", "c"]
    odd = ising.spectrum({(("x", 1), None): 1.0}, 1).to_dict()["labels"]
    assert odd == [repr(("x", 1)), repr(None)]


def test_brief() -> None:
    assert brief(10**10_000) == "10^10000.0"
    assert brief(-(7**300)) == "-10^253.5"
    assert brief(np.zeros((3, 4))) == "float64 of shape (3, 4)"
    assert brief(np.float64(2.5)) == "2.5"
    assert brief(tuple(range(100))) == "100 entries"
    assert len(brief("word " * 100)) == 60


def test_problems_are_equal_by_what_they_hold() -> None:
    problems: list[Any] = [
        ising.Ising.from_any(MODEL),
        xorsat.random_regular(12, seed=1),
        maxsat.Formula.from_clauses([[1], [-2]], [2, 1]),
        gauge.GaugeField.random((2, 2, 2, 2), 2, seed=1),
    ]
    for problem in problems:
        again = pickle.loads(pickle.dumps(problem))
        assert again == problem
        assert hash(again) == hash(problem)
        assert problem != "another thing"
        assert repr(problem).startswith(f"<{type(problem).__name__}: ")
    assert maxsat.Formula.from_clauses([[1], [-2]], [2, 2]) != problems[2]
    assert gauge.GaugeField.random((2, 2, 2, 2), 2, seed=2) != problems[3]


def test_a_random_problem_tells_its_seed() -> None:
    systems = [xorsat.random_regular(12), xorsat.random_system(12, 0.5)]
    for system, again in zip(
        systems,
        (
            xorsat.random_regular(12, seed=systems[0].seed),
            xorsat.random_system(12, 0.5, seed=systems[1].seed),
        ),
        strict=True,
    ):
        assert again == system
        assert pickle.loads(pickle.dumps(system)).seed == system.seed
    shape = (2, 2, 2, 2)
    hot = gauge.GaugeField.random(shape)
    assert gauge.GaugeField.random(shape, seed=hot.seed) == hot == pickle.loads(pickle.dumps(hot))
    made = gauge.generate(shape, 6.0, sweeps=1)
    assert gauge.generate(shape, 6.0, sweeps=1, seed=made.seed) == made
    assert gauge.generate(shape, 6.0, sweeps=1) != made
    assert pickle.loads(pickle.dumps(made)).seed == made.seed
    assert gauge.GaugeField(made.links).seed is None
