"""The tutorials are notebooks too: they run from the first cell to the last, and show what the pages say."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md"))
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def notebooks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return import_module("notebooks")


def shown(cell) -> str:
    """What a cell printed, and the value of its last line."""
    texts = [x.get("text", "") or x.get("data", {}).get("text/plain", "") for x in cell.outputs]
    return re.sub(r"\x1b\[[0-9;]*m", "", "".join(texts))


def test_there_is_one_for_each_kind_of_user():
    assert TUTORIALS == ["annealer-benchmark", "boson-sampling", "gauge", "maxsat", "xorsat"]


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_notebook_runs(name, notebooks, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.setenv("COLUMNS", "100")
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    page = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    made, expected = notebooks.notebook(page)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(made, timeout=120, resources=resources).execute()
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    assert len(code) == len(expected) > 3
    checker, compared = doctest.OutputChecker(), 0
    for cell, told in zip(code, expected, strict=True):
        # A notebook breaks long values over lines elsewhere than a session does.
        same = checker.check_output(re.sub(r"\s", "", told), re.sub(r"\s", "", shown(cell)), LOOSE)
        assert same or "Traceback" in told, (cell.source, told, shown(cell))
        compared += bool(told)
    assert compared > 3


def test_they_are_written(notebooks, tmp_path):
    written = notebooks.write(tmp_path / "folder")
    assert [path.stem for path in written] == TUTORIALS
    text = written[0].read_text(encoding="utf-8")
    assert '"cell_type": "code"' in text
    assert '"outputs": []' in text
