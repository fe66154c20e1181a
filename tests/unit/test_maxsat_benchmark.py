"""The table of anytime solvers: what they say is evaluated, and nothing runs twice."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hardscape.benchmarks.maxsat import parts
from hardscape.benchmarks.maxsat.structured import answered, structured, unpacked
from hardscape.benchmarks.tables import Table

NEW = "h 1 2 0\nh -2 3 0\n5 -1 0\n3 -2 0\n2 -3 0\n"
OLD = "c a\np wcnf 3 5 11\n11 1 2 0\n11 -2 3 0\n5 -1 0\n3 -2 0\n2 -3 0\n"

#: Says that a cost is 0, whatever the assignment's is, and counts its calls.
PEER = """
import pathlib, sys
counter = pathlib.Path(sys.argv[1])
counter.write_text(counter.read_text() + "x")
print("o 0\\ns SATISFIABLE\\nv " + sys.argv[2])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("cover-a.wcnf", NEW), ("cover-b.wcnf", OLD)):
        (tmp_path / "formulas").mkdir(exist_ok=True)
        (tmp_path / "formulas" / name).write_text(text)
    return tmp_path


def test_costs_by_the_definition(folder: Path) -> None:
    for path in sorted((folder / "formulas").iterdir()):
        instance = unpacked(path, folder, "cover")
        costs = [instance.cost(x) for x in ("011", "100", "111", "010", "000")]
        assert costs == [5, 5, 10, None, None]
        assert instance.old.read_text().startswith("p wcnf 3 5 11\n11 1 2 0")


def test_literals_and_bits() -> None:
    said = [
        (0.1, "c hello"),
        (0.2, "o 7"),
        (0.3, "o 5"),
        (0.4, "v -1 2 3"),
        (0.5, "s OPTIMUM FOUND"),
    ]
    assert answered(said) == ("011", True, 0.2, 5)
    assert answered([(0.1, "v 011")]) == ("011", False, None, None)
    assert answered([]) == ("", False, None, None)


def test_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counter, peer, results = folder / "count", folder / "peer.py", folder / "runs.jsonl"
    counter.write_text("")
    peer.write_text(PEER)
    command = f"{sys.executable} {peer} {counter}"
    for again in range(2):
        structured(
            folder / "formulas",
            seconds=(3.0,),
            seeds=2,
            ours=f"{command} 011 {{seed}}",
            peer=(f"worse={command} 111", f"wrong={command} 000"),
            results=results,
            save=folder / "saved",
        )
        table = capsys.readouterr().out
        assert "| all (2) | 1.000 | 0.545 | 0.000 |" in table, again
        assert "| cover (2) | 1.000 | 0.545 | 0.000 |" in table
    assert len(counter.read_text()) == 2 * (2 + 1 + 1)
    costs = {json.loads(line)["cost"] for line in results.read_text().splitlines()}
    assert costs == {5, 10, None}
    saved = Table.read(folder / "saved" / "maxsat-structured-3.json")
    assert saved.columns[2:] == ["hardscape", "worse", "wrong"]
    *rows, scores, proven = saved.rows
    assert len(rows) == 2
    for _, best, ours, worse, wrong in rows:
        assert (best, wrong) == (5, "none")
        assert {ours.removesuffix(" proven"), worse.removesuffix(" proven")} == {"5", "10"}
    assert scores[2:] == ["1.0000 of 2", "0.5455 of 2", "0.0000 of 2"]
    assert len(proven) == 5


def test_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one part is better than all of them together that is said; what ran is not run again."""
    counter, peer, results = folder / "count", folder / "peer.py", folder / "parts.jsonl"
    counter.write_text("")
    peer.write_text(PEER.replace("sys.argv[2]", "sys.argv[-1]"))
    command = f"{sys.executable} {peer} {counter}"
    monkeypatch.setattr(parts, "OURS", command)
    monkeypatch.setattr(parts, "PARTS", {"auto": " 111", "weighting": " 011", "exact": " 000"})
    for _ in range(2):
        parts.parts(folder / "formulas", seconds=(3.0,), results=results, save=folder)
    assert len(counter.read_text()) == 2 * 3
    cells = [row[1] for row in Table.read(folder / "maxsat-parts.json").rows]
    assert all(cell.endswith("**behind**") for cell in cells)
