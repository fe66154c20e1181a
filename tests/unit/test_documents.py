"""What the documents and docstrings show being typed is typed here, and must answer as they show.

A block ``pycon`` is a Python session, a block ``console`` lines ``$ command`` with their output.
The blocks of a page run in order, with one namespace, in a folder that holds the examples. As in
doctest, ``...`` stands for anything, and runs of white space are equal.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import io
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hardscape
from hardscape.benchmarks import tables
from hardscape.cli import main

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
SESSION = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

#: All but the tutorials, whose sessions `test_notebooks` runs and compares.
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    if path.parent.name != "tutorials" and SESSION.search(path.read_text(encoding="utf-8"))
]


@cache
def modules() -> list[ModuleType]:
    names = [
        module.name
        for module in pkgutil.walk_packages(hardscape.__path__, "hardscape.")
        if not module.name.rpartition(".")[2].startswith("_")
    ]
    return [hardscape, *map(importlib.import_module, names)]


def run_python(code: str, names: dict[str, Any], page: str, line: int) -> None:
    test = doctest.DocTestParser().get_doctest(code, names, page, page, line)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=LOOSE)
    result = runner.run(test, out=report.append, clear_globs=False)
    assert result.attempted
    assert not result.failed, "".join(report)
    names.update(test.globs)


def told(command: str) -> str:
    """What a command prints: in this process, as beginning takes most of its time, where no shell is needed."""
    words = shlex.split(command)
    if words[0] == "hardscape" and not re.match("[^']*[|;<>&$*]", command):
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with redirect_stdout(out), redirect_stderr(out):
            main(words[1:])
        out.seek(0)
        return out.read()
    return subprocess.run(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=120,
    ).stdout


def run_shell(code: str, page: str, line: int) -> None:
    commands = COMMAND.findall(code)
    assert commands, f"{page}:{line}: no line begins with '$ '"
    for command, expected in commands:
        found = told(command)
        same = doctest.OutputChecker().check_output(expected, found, LOOSE)
        assert same, f"{page}:{line}: $ {command}\n{found}"


def test_there_are_sessions() -> None:
    assert {"README.md", "docs/tutorial.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for name, value in {"COLUMNS": "100", "LANG": "C.UTF-8", "PYTHONIOENCODING": "utf-8"}.items():
        monkeypatch.setenv(name, value)
    text = (ROOT / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in SESSION.finditer(text):
        kind, code = block.groups()
        line = text.count("\n", 0, block.start(2))
        if kind == "pycon":
            run_python(code, names, page, line)
        else:
            run_shell(code, page, line + 1)


def test_tables_show_the_data() -> None:
    """Tables whose results are data are made from them: ``python -m hardscape.benchmarks.tables``."""
    shown: list[str] = []
    pages = ""
    for path in (ROOT / "docs").glob("**/*.md"):
        page = path.read_text(encoding="utf-8")
        assert tables.with_results(page, RESULTS) == page, path
        shown += [found[1] for found in tables.SHOWN.finditer(page)]
        pages += page
    data = {path.stem for path in RESULTS.glob("*.json")}
    assert sorted(shown) == sorted(data & set(shown))
    # What tables are made of, too long to be shown, is named instead.
    assert [name for name in data - set(shown) if f"`docs/results/{name}.json`" not in pages] == []


def test_a_table_says_where_it_is_from() -> None:
    for path in RESULTS.glob("*.json"):
        measured = tables.Table.read(path).measured
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", measured["date"]), path
        assert measured["cpu"], path
        assert measured["command"], path
        assert re.match(r"\d+\.\d+\.\d+", measured["versions"]["hardscape"]), path


def test_a_table_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tables.Table.begun("kept", ["what", "seconds", "rate"])
    table.add("three calls", [0.3, 0.1, 0.2])
    table.add("one", None, 74600000000.0)
    table.save(tmp_path)
    assert tables.Table.read(tmp_path / "kept.json") == table
    assert table.measured.keys() == {"date", "cpu", "cores", "gpus", "versions", "command"}
    lines = ["| three calls | 0.2 (0.1 to 0.3) |  |", "| one |  | 7.46e+10 |"]
    assert table.markdown()[2:] == lines
    assert capsys.readouterr().out.splitlines()[1:] == table.markdown()


FACES = ("", ".ising", ".permanents", ".xorsat", ".maxsat", ".gauge", ".engine", ".reproduce")


@cache
def of_names(module: ModuleType) -> dict[str, str]:
    """The texts that follow assignments, as of aliases of types, which can have no docstring."""
    body = ast.parse(inspect.getsource(module)).body
    return {
        named.targets[0].id: text.value.value
        for named, text in pairwise(body)
        if isinstance(named, ast.Assign)
        and isinstance(named.targets[0], ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


@pytest.mark.parametrize("face", FACES)
def test_every_public_name_has_an_example(face: str) -> None:
    """`test_docstrings` runs them."""
    module = importlib.import_module(f"hardscape{face}")
    told: dict[str, str] = {}
    for part in modules():
        if part.__name__.startswith(module.__name__):
            told |= of_names(part)
    without = []
    for name in module.__all__:
        found = getattr(module, name)
        if isinstance(found, ModuleType | str):
            continue
        own = inspect.isroutine(found) or isinstance(found, type)
        if ">>> " not in ((found.__doc__ if own else told.get(name)) or ""):
            without.append(name)
    assert without == []


def test_docstrings() -> None:
    attempted = 0
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=LOOSE)
    for module in modules():
        for test in finder.find(module):
            if test.examples:  # without any, a run would only look at every file again
                result = runner.run(test)
                assert not result.failed, test.name
                attempted += result.attempted
        if ">>> " not in inspect.getsource(module):
            continue
        for name, text in of_names(module).items():
            if ">>> " in text:
                run_python(text, {}, f"{module.__name__}.{name}", 0)
    assert attempted > 0
