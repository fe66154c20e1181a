"""Every benchmark starts, and the smallest of each family runs; what they measure is not looked at."""

from __future__ import annotations

import json
import math
import shlex
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from hardscape.benchmarks.__main__ import benchmarks
from hardscape.benchmarks.tables import Table
from hardscape.benchmarks.xorsat import growth
from hardscape.errors import InputError
from hardscape.xorsat.studies.population import growth_of

NAMES = sorted(benchmarks())
#: The smallest run of a module, and the least number of rows that it prints.
SMALLEST = {
    "calls": ("--only 4x4", 3),
    "gauge.fixing": ("--no-gpu --extent 4", 3),
    "gauge.ghosts": ("--no-gpu --extent 4 --momenta 1 --threads 1", 1),
    "gauge.reading": ("--extent 4 --repeats 1", 2),
    "ising.mps": ("--sizes 10 --bond-dimensions 4 --dbetas 0.5 --instances 2 --num-states 5", 1),
    "ising.scaling": ("18 --workers 2", 0),
    "kernels": ("ising --device cpu --repeats 1 --smaller 12 --only exhaustive", 0),
    "maxsat.limits": ("--variables 60 --limits 0.02 --methods weighting --repeats 1", 2),
    "permanents.planning": ("--only blocks --rounds 1", 2),
    "progress": ("nothing of this name", 0),
    "sizes": ("xorsat --seconds 0.001", 3),
    "xorsat.search": ("elimination --n 48 --repeats 1", 1),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("hardscape.benchmarks.calls"), "SECONDS", 0.0)
    monkeypatch.setattr(import_module("hardscape.benchmarks.gauge.fixing"), "REPEATS", 1)


def run(name: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``python -m hardscape.benchmarks.NAME WORDS`` would, in this process."""
    module = import_module(f"hardscape.benchmarks.{name}{'.__main__' * (name == 'kernels')}")
    monkeypatch.setattr(sys, "argv", [str(module.__file__), *words])
    try:
        module.app(words) if hasattr(module, "app") else module.main()
    except SystemExit as end:
        if end.code:
            raise


def test_a_folder_of_benchmarks_is_found():
    assert len(NAMES) > 25
    assert set(SMALLEST) <= set(NAMES)
    assert all(benchmarks().values())


@pytest.mark.parametrize("name", NAMES)
def test_help(name, monkeypatch, capsys):
    run(name, ["--help"], monkeypatch)
    assert "usage" in capsys.readouterr().out.lower()


@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_run(name, monkeypatch, capsys):
    words, rows = SMALLEST[name]
    run(name, shlex.split(words), monkeypatch)
    printed = capsys.readouterr().out
    assert printed
    lines = [line for line in printed.splitlines() if line.startswith("| ")]
    heads = sum(line.startswith("| --- ") for line in lines)
    assert len(lines) - 2 * heads >= rows


def test_a_benchmark_is_no_word_of_the_list(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "ising.mps"])
    with pytest.raises(SystemExit) as ended:
        import_module("hardscape.benchmarks.__main__").main()
    assert "ising.mps" in ended.value.code
    assert capsys.readouterr().out == ""


def test_a_table_is_kept_with_what_it_was_measured_on(tmp_path, monkeypatch):
    words = ["--only", "4x4, real", "--save", str(tmp_path)]
    run("calls", words, monkeypatch)
    plain = json.loads((tmp_path / "calls.json").read_text())
    assert plain["measured"]["command"].startswith("python -m hardscape.benchmarks.calls --only")
    assert {"date", "cpu", "cores", "gpus", "versions"} <= set(plain["measured"])
    found = Table.read(tmp_path / "calls.json")
    assert [row[0] for row in found.rows] == ["permanent, 4x4, real"]
    assert 0 < found.rows[0][1] <= found.rows[0][2]
    page = tmp_path / "page.md"
    page.write_text("<!-- results: calls -->\n<!-- end -->\n")
    (tmp_path / "results").mkdir()
    Path(tmp_path / "calls.json").rename(tmp_path / "results/calls.json")
    run("tables", [str(tmp_path)], monkeypatch)
    assert page.read_text().count("permanent, 4x4, real") == 1


def test_runs_of_several_sessions_are_one_study(tmp_path, monkeypatch, capsys):
    runs = tmp_path / "runs.json"
    how = "--instances 2 --rounds 2 --device cpu --threads 1"
    words = [str(runs), "24", *shlex.split(how)]
    run("xorsat.growth", ["measure", *words], monkeypatch)
    once = Table.read(runs).rows
    run("xorsat.growth", ["measure", *words], monkeypatch)
    twice = Table.read(runs).rows
    assert twice[: len(once)] == once
    assert len(twice) == 2 * len(once) == 4  # a row an instance and session, of two runs each
    assert [row[:3] for row in once] == [[24, 0, 14], [24, 1, 14]]
    assert [row[4:6] for row in twice] == [[2, 2]] * 4
    assert {row[6] for row in once} != {row[6] for row in twice[len(once) :]}  # other seeds
    beside = tmp_path / "beside.json"
    run("xorsat.growth", ["measure", str(beside), *words[1:], "--first", "2"], monkeypatch)
    more = Table.read(beside).rows
    assert {row[1] for row in more} == {2, 3}
    for _ in range(2):  # no row comes in twice
        run("xorsat.growth", ["gather", str(runs), str(beside)], monkeypatch)
        assert Table.read(runs).rows == twice + more
    Table("x", ["N"], rows=[[3]]).save(tmp_path)
    with pytest.raises(InputError, match="has no runs"):
        growth.gather(runs, tmp_path / "x.json")
    runs.unlink()
    run("xorsat.growth", ["gather", str(runs), str(beside)], monkeypatch)
    assert Table.read(runs).rows == more
    Table("runs", Table.read(beside).columns, rows=twice).save(tmp_path)
    known = growth.seen(Table.read(runs), 24)
    assert known.solved.sum() == 2 * len(twice)
    assert known.totals.sum() == sum(row[3] * row[6] for row in twice)
    run("xorsat.growth", ["law", str(runs), "--save", str(tmp_path)], monkeypatch)
    (row,) = Table.read(tmp_path / "xorsat-growth.json").rows
    assert row[:3] == [24, 2, 2 * len(twice)]
    assert 0 < row[3] < 4.7 * known.totals.sum() / len(twice) * 3 / 2


def test_sizes_without_a_solution_bound_the_exponent_from_below():
    random, a, scatter = np.random.default_rng(1), 0.08, 0.3
    known = {}
    for n, instances, runs in ((128, 60, 20), (160, 60, 10), (224, 60, 3)):
        tau = np.exp(a * n + scatter * random.standard_normal(instances))
        known[n] = np.full(instances, float(runs)), random.gamma(runs, tau)
    found, error, _, _ = growth_of(known)
    assert error < 0.0015
    assert abs(found - a) < 4 * error
    tau = math.exp(a * 320)
    little = growth_of({**known, 320: (np.zeros(8), np.full(8, 0.001 * tau))})
    much = growth_of({**known, 320: (np.zeros(30), np.full(30, 10 * tau))})
    assert abs(little[0] - found) < 0.1 * error
    assert abs(math.log(little[2] / tau)) < 4 * little[3] < 1
    assert much[0] > found + 0.3 * error
    # One solution when it is expected tells little, and as much as it is.
    once = np.zeros(8)
    once[3] = 1.0
    one = growth_of({**known, 320: (once, np.full(8, tau / 8))})
    assert abs(one[0] - found) < error
    assert 0.5 * error < one[1] < 1.05 * error


def test_a_command_is_told_without_the_folders_of_a_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["rates.py", "--save", str(tmp_path / "kept"), "--seeds", "2"])
    told = Table.begun("none", ["a"]).measured["command"]
    assert shlex.split(told)[-4:] == ["--save", "kept", "--seeds", "2"]
