"""``hardscape maxsat``: the Evaluation's lines and exit codes, JSON, plots, signals."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from hardscape import cli, maxsat, native
from hardscape.cli import early as searching
from hardscape.cli import main
from hardscape.cli.early import Costs, _Bounds
from hardscape.errors import InputError, Interrupted
from hardscape.maxsat import CellularOptions, Formula, anytime, cellular_search
from hardscape.maxsat.formats import FORMATS
from hardscape.maxsat.methods.exact.ahead import Ahead
from helpers.maxsat_clauses import random_clauses

COVER = "h 1 2 0\nh 2 3 0\n3 -1 0\n5 -2 0\n4 -3 0\n"


@pytest.fixture
def cover(tmp_path):
    path = tmp_path / "cover.wcnf"
    path.write_text(COVER)
    return path


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.wcnf"
    weights = np.random.default_rng(1).integers(1, 50, 4000)
    Formula.from_clauses(random_clauses(600, 4000, [3], 1), weights).to_file(path)
    return path


def lines(text, mark):
    return [line[2:] for line in text.splitlines() if line.startswith(f"{mark} ")]


def test_optimum(cover, capsys):
    assert main(["maxsat", str(cover), "--seed", "1"]) == 30
    out = capsys.readouterr().out
    assert lines(out, "o")[-1] == "5"
    assert lines(out, "s") == ["OPTIMUM FOUND"]
    assert lines(out, "v") == ["010"]
    assert {line[0] for line in out.splitlines()} == set("cosv")


@pytest.mark.parametrize("check", [(), ("--check",)])
def test_lower_bounds_are_told(tmp_path, capsys, check):
    """Of each pair one wish is violated, the lighter one."""
    pytest.importorskip("pysat", reason="python-sat is not installed")
    pytest.importorskip("rustsat", reason="rustsat is not installed")
    weights = [v % 7 + 1 for v in range(1, 61)]
    pairs = [[-v, -v - 1] for v in range(1, 60, 2)]
    path = tmp_path / "pairs.wcnf"
    Formula.from_clauses([[v] for v in range(1, 61)], weights, hard=pairs).to_file(path)
    least = sum(map(min, weights[::2], weights[1::2]))
    assert main(["maxsat", str(path), *check]) == 30
    out = capsys.readouterr().out
    bounds = [int(line.removeprefix("lb ")) for line in lines(out, "c") if line.startswith("lb ")]
    assert bounds
    assert bounds == sorted(bounds)
    assert bounds[-1] == least == int(lines(out, "o")[-1])


@pytest.mark.parametrize("check", [(), ("--check",)])
def test_what_searched_is_told(tmp_path, capsys, check):
    pytest.importorskip("pysat", reason="python-sat is not installed")
    pytest.importorskip("rustsat", reason="rustsat is not installed")
    path = tmp_path / "random.wcnf"
    Formula.from_clauses(random_clauses(20, 130, [3], 1)).to_file(path)
    assert main(["maxsat", str(path), "--method", "exact", *check]) == 30
    (by,) = (line for line in lines(capsys.readouterr().out, "c") if line.startswith("by "))
    assert ("checked" in by) == bool(check)


def test_feasible(large, capsys):
    assert main(["maxsat", str(large), "--method", "weighting", "--max-flips", "2000"]) == 10
    out = capsys.readouterr().out
    (value,) = lines(out, "v")
    costs = [int(x) for x in lines(out, "o")]
    assert costs == sorted(costs, reverse=True)
    assert Formula.from_file(large).cost([int(x) for x in value]) == costs[-1]
    assert lines(out, "s") == ["SATISFIABLE"]


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("h 1 0\nh -1 0\n2 1 0\n", 20, "UNSATISFIABLE"),
        ("p cnf 1 2\n1 0\n-1 0\n", 30, "OPTIMUM FOUND"),
    ],
)
def test_other_codes(text, code, status, tmp_path, capsys):
    path = tmp_path / "f.wcnf"
    path.write_text(text)
    assert main(["maxsat", str(path)]) == code
    out = capsys.readouterr().out
    assert lines(out, "s") == [status]
    assert bool(lines(out, "v")) == (code == 30)


def test_nothing_known(tmp_path, capsys):
    path = tmp_path / "f.wcnf"
    signs = [[a, b, c] for a in (1, -1) for b in (2, -2) for c in (3, -3)]
    Formula.from_clauses([[1]], hard=signs).to_file(path)
    assert main(["maxsat", str(path), "--method", "weighting", "--max-flips", "500"]) == 0
    out = capsys.readouterr().out
    assert lines(out, "s") == ["UNKNOWN"]
    assert not lines(out, "v")
    assert not lines(out, "o")


def test_json(cover, capsys):
    assert main(["maxsat", str(cover), "--json", "--threads", "1"]) == 30
    answer = json.loads(capsys.readouterr().out)
    assert answer["command"] == "maxsat"
    assert (answer["num_variables"], answer["num_hard"], answer["num_soft"]) == (3, 2, 3)
    assert (answer["cost"], answer["assignment"], answer["status"]) == (5, "010", "OPTIMUM FOUND")
    assert (answer["num_satisfied"], answer["num_clauses"], answer["hard_violations"]) == (4, 5, 0)
    assert {"method", "flips", "generations", "seconds", "device"} <= set(answer)


def test_parameters_of_the_genetic_algorithm(cover, large, capsys):
    words = [
        "maxsat",
        str(large),
        "--method",
        "cellular",
        "--seed",
        "1",
        "--threads",
        "1",
        "--json",
    ]
    small = {
        "width": 4,
        "height": 4,
        "columns": 1,
        "rows": 1,
        "max_generations": 2,
        "mutation": 0.5,
    }
    given = [word for name, value in small.items() for word in (f"--options.{name}", str(value))]
    main([*words, "--runs", "3", *given])
    few = json.loads(capsys.readouterr().out)
    options = CellularOptions(**small)
    same = cellular_search(Formula.from_file(large), options=options, runs=3, seed=1, threads=1)
    assert few["generations"] == same.run_generations.sum()
    assert few["cost"] <= same.cost
    assert main(["maxsat", str(cover), "--options.width", "4"]) == 2
    assert main(["maxsat", str(cover), "--options.patience", "4"]) == 30
    assert main(["maxsat", str(cover), "--runs", "2"]) == 2
    assert main([*words, "--options.mutation", "2"]) == 2
    capsys.readouterr()


def test_a_list(cover, tmp_path, capsys):
    assert main(["maxsat", str(cover), "--num-assignments", "3"]) == 30
    out = capsys.readouterr().out
    assert (lines(out, "o"), lines(out, "v")) == (["5", "7", "8"], ["010", "101", "110"])
    assert lines(out, "s") == ["OPTIMUM FOUND"]
    assert main(["maxsat", str(cover), "--num-assignments", "9", "--max-gap", "2", "--json"]) == 30
    answer = json.loads(capsys.readouterr().out)
    assert (answer["costs"], answer["assignment"]) == ([5, 7], ["010", "101"])
    none = tmp_path / "none.wcnf"
    none.write_text("h 1 0\nh -1 0\n")
    assert main(["maxsat", str(none), "--num-assignments", "3"]) == 20
    assert main(["maxsat", str(cover), "--max-gap", "3"]) == 2
    capsys.readouterr()


def test_an_objective_below_zero(tmp_path, capsys):
    path = tmp_path / "f.opb"
    path.write_text("min: -3 x1 -2 x2;\n1 x1 1 x2 <= 1;\n")
    assert main(["maxsat", str(path), "--seed", "1"]) == 30
    out = capsys.readouterr().out
    assert lines(out, "o")[-1] == "-3"
    assert lines(out, "v")[0][:2] == "10"


def test_plot(large, tmp_path, capsys):
    plot = tmp_path / "p.svg"
    command = ["maxsat", str(large), "--method", "weighting", "--max-flips", "5000"]
    assert main([*command, "--plot", str(plot)]) == 10
    assert plot.read_text().startswith("<?xml")
    assert main([*command, "--plot", str(tmp_path / "p.txt")]) == 2
    capsys.readouterr()


def test_errors_name_file_and_line(tmp_path, capsys):
    path = tmp_path / "f.wcnf"
    path.write_text("h 1 0\n0 1 0\n")
    assert main(["maxsat", str(path)]) == 2
    assert f"{path}:2:" in capsys.readouterr().err
    assert main(["maxsat", str(tmp_path / "none.cnf")]) == 2
    assert main(["maxsat", str(path), "--method", "magic"]) == 2
    capsys.readouterr()


def test_a_wrong_header_is_a_note(tmp_path, capsys):
    path = tmp_path / "f.cnf"
    path.write_text("p cnf 1 5\n1 2 0\n")
    assert main(["maxsat", str(path)]) == 30
    captured = capsys.readouterr()
    assert "f.cnf:1:" in captured.err
    assert "1" in lines(captured.out, "v")[0]


@pytest.mark.parametrize(
    ("method", "number"),
    [
        ("weighting", signal.SIGTERM),
        ("weighting", signal.SIGINT),
        ("auto", signal.SIGTERM),
        ("exact", signal.SIGINT),
    ],
)
def test_signals_print_the_best(method, number, large):
    command = [sys.executable, "-m", "hardscape", "maxsat", str(large), "--method", method]
    process = subprocess.Popen(
        [*command, "--time-limit", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    head = [process.stdout.readline() for _ in range(3)]
    time.sleep(0.3 if method == "weighting" else 3.0)
    process.send_signal(number)
    began = time.monotonic()
    rest, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < 2
    out = "".join(head) + rest
    assert process.returncode == 10, errors
    assert lines(out, "s") == ["SATISFIABLE"]
    (value,) = lines(out, "v")
    assert Formula.from_file(large).cost([int(x) for x in value]) == int(lines(out, "o")[-1])


@pytest.mark.parametrize(
    ("stop", "name"),
    [(Interrupted(signal.SIGTERM), "SIGTERM"), (KeyboardInterrupt(), "SIGINT")],
    ids=["SIGTERM", "Ctrl-C"],
)
def test_signals_while_the_file_is_read_leave_the_status_unknown(
    stop, name, cover, monkeypatch, capsys
):
    def interrupted(path, **options):
        raise stop

    monkeypatch.setattr(FORMATS, "read", interrupted)
    assert main(["maxsat", str(cover)]) == 0
    out = capsys.readouterr().out
    assert lines(out, "s") == ["UNKNOWN"]
    assert lines(out, "v") == lines(out, "o") == []
    assert main(["maxsat", str(cover), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "UNKNOWN"
    assert told["cost"] is None
    assert told["stopped"] == name


def test_signals_while_modules_are_imported_leave_the_status_unknown(cover, monkeypatch, capsys):
    def interrupted(make):
        def made(*arguments, **options):
            gc.disable()  # what is raised in its callbacks, which the tests have, is lost
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                return make(*arguments, **options)
            finally:
                gc.enable()

        return made

    monkeypatch.setattr(cli, "program", interrupted(cli.program))
    assert main(["maxsat", str(cover), "--method", "auto"]) == 0
    assert lines(capsys.readouterr().out, "s") == ["UNKNOWN"]
    assert main(["maxsat", str(cover), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] == "SIGTERM"
    monkeypatch.setattr(searching, "searched", interrupted(searching.searched))
    assert main(["maxsat", str(cover)]) == 10  # nothing but a file's name: it is read before
    out = capsys.readouterr().out
    assert lines(out, "s") == ["SATISFIABLE"]
    assert len(lines(out, "v")) == len(lines(out, "o")) == 1


def test_a_signal_that_other_code_swallows_stops_the_search(large, monkeypatch, capsys):
    presolve = anytime.presolve

    def swallowing(*arguments, **options):
        with suppress(BaseException):
            signal.raise_signal(signal.SIGTERM)
        return presolve(*arguments, **options)

    monkeypatch.setattr(anytime, "presolve", swallowing)
    assert main(["maxsat", str(large), "--time-limit", "20"]) == 10
    assert "c stopped by SIGTERM" in capsys.readouterr().out


def test_a_signal_between_two_parts_of_a_search_is_told(cover, monkeypatch, capsys):
    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(anytime, "presolve", interrupted)
    assert main(["maxsat", str(cover)]) == 10
    assert "c stopped by SIGTERM" in capsys.readouterr().out


def test_signals_before_the_search_leave_the_first_assignment(cover, monkeypatch, capsys):
    def interrupted(formula, **options):
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(maxsat, "solve", interrupted)
    assert main(["maxsat", str(cover)]) == 10
    out = capsys.readouterr().out
    assert lines(out, "s") == ["SATISFIABLE"]
    (value,) = lines(out, "v")
    evaluation = Formula.from_file(cover).evaluate([int(x) for x in value])
    assert (evaluation.hard_violations, [evaluation.cost]) == (0, [int(x) for x in lines(out, "o")])
    assert main(["maxsat", str(cover), "--json"]) == 10
    told = json.loads(capsys.readouterr().out)
    assert (told["cost"], told["assignment"]) == (evaluation.cost, value)


def test_what_comes_before_the_first_cost_needs_no_numpy():
    """The command, and all formats, are known in half of the time that NumPy would add."""
    known = "import sys, hardscape.cli.maxsat; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", known]).returncode == 0


def test_a_formula_alone_is_read_before_the_command_line_is():
    """What reads it, and tells a first cost, imports neither NumPy nor what understands options."""
    slow = {"numpy", "cyclopts", "inspect"}
    known = f"import sys, hardscape.cli.early; sys.exit(bool({slow} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", known]).returncode == 0


def test_few_words_are_understood_without_what_understands_all(cover):
    words = ["maxsat", str(cover), "--threads", "1", "--seed", "3", "--time-limit", "20"]
    known = f"import sys; from hardscape.cli import main; main({words}); sys.exit('cyclopts' in sys.modules)"
    few = subprocess.run([sys.executable, "-c", known], capture_output=True, text=True)
    assert few.returncode == 0
    known = f"import sys; from hardscape.cli import main; main({[*words, '--method', 'auto']})"
    all_ = subprocess.run([sys.executable, "-c", known], capture_output=True, text=True)
    for kind in "osv":
        assert lines(few.stdout, kind) == lines(all_.stdout, kind) != []


@pytest.mark.parametrize(
    "words",
    [
        "--seed -1",
        "--seed 18446744073709551616",
        "--threads 1000000",
        "--time-limit nan",
        "--device abacus",
        "--device cuda:4095",
        "--max-flips 0",
        "--target -1",
        "--runs 0",
        "--runs 2",
        "--check --method weighting",
        "--method cellular --options.width 0",
        "--executor abacus",
        "--checkpoint {here}/none/here.db",
        "--checkpoint {here}/other.db",
        "--num-assignments 2 --max-flips 3",
        "--num-assignments 2 --options.patience 3",
        "--num-assignments 2 --seed -1",
    ],
)
def test_what_is_refused_is_refused_before_a_cost_is_told(words, cover, tmp_path, capsys):
    (tmp_path / "other.db").write_text("no checkpoint")
    words = words.format(here=tmp_path).split()
    for before, after in (([], words), (words, [])):
        assert main(["maxsat", *before, str(cover), *after]) == 2
        out, err = capsys.readouterr()
        assert lines(out, "o") == []
        assert err.startswith("hardscape: error: ")
        assert "True" not in err  # flags have no values


def test_an_option_of_a_search_is_told_as_it_was_said(cover, capsys):
    assert main(["maxsat", str(cover), "--options.patience", "-1"]) == 2
    assert "--options.patience" in capsys.readouterr().err
    wide = ["--options.width", "100000", "--options.rows", "1000000"]
    assert main(["maxsat", str(cover), "--method", "cellular", *wide]) == 2
    assert "--options" not in capsys.readouterr().err  # it is about several


def test_a_cost_is_told_once_where_it_was_held_back(cover, tmp_path, capsys):
    where = ["--checkpoint", str(tmp_path / "c.db"), "--seed", "1"]
    for _ in range(2):
        assert main(["maxsat", str(cover), *where]) == 30
        costs = [int(x) for x in lines(capsys.readouterr().out, "o")]
        assert costs == sorted(set(costs), reverse=True)
        assert costs[-1] == 5


def test_each_command_reads_its_own_formula(cover, tmp_path, capsys):
    other = tmp_path / "other.wcnf"
    other.write_text("h 1 0\n3 -1 0\n")
    for words, cost in (([cover], 5), ([other], 3), ([other, "--seed", "1"], 3), ([cover], 5)):
        assert main(["maxsat", *map(str, words)]) == 30
        assert lines(capsys.readouterr().out, "o")[-1] == str(cost)
    assert main(["maxsat", str(tmp_path / "none.wcnf")]) == 2
    assert "none.wcnf" in capsys.readouterr().err
    assert main(["maxsat", "--help"]) == 0
    assert lines(capsys.readouterr().out, "o") == []


def test_the_first_cost_is_there_before_the_search(cover, monkeypatch, capsys):
    """A formula whose first assignment is the best one: its cost is told once."""
    assert main(["maxsat", str(cover)]) == 30
    costs = [int(x) for x in lines(capsys.readouterr().out, "o")]
    assert costs == sorted(set(costs), reverse=True)


@pytest.fixture
def late(tmp_path):
    """Satisfiable clauses that unit propagation and a short walk do not satisfy."""
    pytest.importorskip("pysat")
    pytest.importorskip("rustsat")
    rng = np.random.default_rng(3)
    hidden = rng.integers(0, 2, 200)
    rows = []
    while len(rows) < 860:
        variables = rng.choice(200, 3, replace=False)
        signs = rng.integers(0, 2, 3)
        if (hidden[variables] == signs).any():
            literals = (variables + 1) * (2 * signs - 1)
            rows.append("h " + " ".join(map(str, literals)) + " 0\n")
    path = tmp_path / "late.wcnf"
    path.write_text("".join(rows) + "".join(f"{v} {v} 0\n" for v in range(1, 201)))
    text = native.core.maxsat.parse_wcnf(path.read_bytes())
    assert text.first()[1]  # else nothing looks ahead
    return path


def test_a_solver_finds_the_first_assignment_while_others_import(late, capsys):
    costs = Costs(quiet=False, ahead=True)
    formula = costs.read(late)
    end = time.monotonic() + 60
    while costs.first is None and time.monotonic() < end:
        time.sleep(0.01)
    found = costs.found()
    evaluation = formula.evaluate([int(x) for x in found])
    assert (evaluation.hard_violations, evaluation.cost) == (0, costs.least)
    assert lines(capsys.readouterr().out, "o") == [str(evaluation.cost)]
    assert costs.found() == found


def test_a_search_waits_for_a_solver_that_looks_ahead(late, tmp_path):
    costs = Costs(quiet=True, ahead=True)
    costs.read(late)
    found = costs.found(60.0)
    assert found is not None
    assert costs.first == found
    contradiction = tmp_path / "contradiction.wcnf"
    contradiction.write_text("h 1 2 0\nh 1 -2 0\nh -1 2 0\nh -1 -2 0\n1 1 0\n")
    costs = Costs(quiet=True, ahead=True)
    costs.read(contradiction)
    assert costs.found(600.0) is None  # the solver has ended


def test_what_looks_ahead_begins_before_numbers_are_imported():
    names = "sys, hardscape.cli.early, hardscape.maxsat.methods.exact.ahead"
    code = f"import {names}; print('numpy' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False"]


def test_a_solver_that_nobody_waits_for_ends(late, tmp_path, capsys):
    costs = Costs(quiet=False, ahead=True)
    costs.read(late)
    assert costs.found() == costs.first
    none = tmp_path / "none.wcnf"  # three pigeons, two holes
    holes = ["h 1 2 0", "h 3 4 0", "h 5 6 0"]
    holes += [f"h -{a} -{b} 0" for a, b in ((1, 3), (1, 5), (3, 5), (2, 4), (2, 6), (4, 6))]
    none.write_text("\n".join(holes) + "\n")
    costs = Costs(quiet=False, ahead=True)
    costs.read(none)
    assert costs.found() is None
    assert main(["maxsat", str(none)]) == 20


def test_nothing_looks_ahead_of_a_search_that_is_refused(late, monkeypatch):
    looking = set()

    class Watched(Ahead):
        def __init__(self, *given):
            super().__init__(*given)
            looking.add(self)

        def end(self, patience=0.0):
            super().end(patience)
            looking.remove(self)

    monkeypatch.setattr("hardscape.maxsat.methods.exact.ahead.has_a_core", lambda: True)
    monkeypatch.setattr("hardscape.maxsat.methods.exact.ahead.Ahead", Watched)
    begun = []
    monkeypatch.setattr(Watched, "_listen", lambda self, hear: begun.append(self))
    assert main(["maxsat", str(late), "--checkpoint", str(late)]) == 2
    assert begun
    assert not looking


def test_few_options_do_not_delay_the_first_cost(late, capsys):
    words = ["maxsat", str(late), "--threads", "1", "--time-limit", "2", "--seed", "3"]
    assert main(words) in (10, 30)
    out = capsys.readouterr().out
    (value,) = lines(out, "v")
    evaluation = Formula.from_file(late).evaluate([int(x) for x in value])
    costs = [int(x) for x in lines(out, "o")]
    assert (evaluation.hard_violations, evaluation.cost) == (0, costs[-1])
    assert costs == sorted(set(costs), reverse=True)
    assert main(["maxsat", str(late), "--seed", "three"]) == 2
    assert lines(capsys.readouterr().out, "s") == []


@pytest.mark.parametrize(
    "words",
    [
        ("--time-limit", "soon"),
        ("--time-limit", "0"),
        ("--seed", "1.5"),
        ("--threads",),
        ("--threads", "0"),
        ("--threads", "0", "--method", "weighting"),
    ],
)
def test_nothing_is_told_before_words_that_are_wrong(cover, capsys, words):
    assert main(["maxsat", str(cover), *words]) == 2
    assert capsys.readouterr().out == ""


def test_a_stopped_search_without_solvers_names_them(large, capsys, monkeypatch):
    monkeypatch.setattr("hardscape.maxsat.methods.installed.can_prove", lambda: False)
    main(["maxsat", str(large), "--method", "weighting", "--time-limit", "0.1"])
    assert any("hardscape[sat]" in line for line in lines(capsys.readouterr().out, "c"))


def test_a_bound_that_comes_just_after_another_is_told_soon(capsys):
    """Not only when the next one comes."""
    bounds = _Bounds()
    for lower in (1, 2, 3):
        bounds.raised(-1, lower)
    assert lines(capsys.readouterr().out, "c") == ["lb 0"]
    told = []
    while not told:
        time.sleep(0.01)
        told = lines(capsys.readouterr().out, "c")
    bounds.raised(-1, 4)
    bounds.end()
    assert told == ["lb 2"]
    assert lines(capsys.readouterr().out, "c") == ["lb 3"]


@pytest.mark.parametrize("options", [[], ["--method", "exact"], ["--num-assignments", "2"]])
def test_a_limit_counts_from_the_start_of_the_command(cover, monkeypatch, options):
    """Whatever came before the search is taken off, up to half of it."""
    asked = []

    def refuse(*_, time_limit, **__):
        asked.append(time_limit)
        raise InputError("enough")

    monkeypatch.setattr("hardscape.maxsat.solve", refuse)
    monkeypatch.setattr("hardscape.maxsat.enumerate", refuse)
    words = ["maxsat", str(cover), "--time-limit", "40", *options]
    for waited in 1.0, 30.0:
        with pytest.raises(InputError, match="enough"):
            cli.run(words, time.monotonic() - waited)
    assert 30 < asked[0] <= 39
    assert asked[1] == 20
