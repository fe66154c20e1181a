"""Tables of results are data.

``python -m hardscape.benchmarks.tables`` writes them into the documents.

A benchmark that is given ``--save FOLDER`` leaves each of its tables there as JSON: date, machine, versions,
command, columns and rows. Those of the documents are in their folder ``results``; a page shows one between the
lines ``<!-- results: NAME -->`` and ``<!-- end -->``. The folder of the documents is ``docs`` here, or is
given.
"""

from __future__ import annotations

import json
import re
import shlex
import statistics
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import cyclopts

from hardscape.benchmarks.machine import facts
from hardscape.files import store

app = cyclopts.App(help=__doc__, result_action="return_value")

SHOWN = re.compile(r"^<!-- results: (\S+) -->\n(?:.*?\n)??<!-- end -->$", re.MULTILINE | re.DOTALL)

#: A number, a text, nothing, or the values of repeats.
Cell = float | int | str | None | list[float]


@dataclass
class Table:
    """A table of results and what it was measured on.

    Attributes
    ----------
    name : str
        Of its file.
    columns : list of str
    measured : dict
        Date, machine, versions and command.
    rows : list of lists
        A list of numbers are repeats, shown as median, least and most.
    """

    name: str
    columns: list[str]
    measured: dict[str, Any] = field(default_factory=dict)
    rows: list[list[Cell]] = field(default_factory=list)

    @classmethod
    def begun(cls, name: str, columns: list[str], *packages: str) -> Table:
        """An empty one, measured here and now by this command; its head is printed.

        Absolute paths are told by their last part: a machine's folders mean nothing elsewhere.
        """
        words = (x if not Path(x).is_absolute() else Path(x).name for x in sys.argv[1:])
        line = shlex.join(["python", "-m", _module(Path(sys.argv[0])), *words])
        table = cls(name, columns, {**facts(*packages), "command": line})
        print("\n" + "\n".join(table.markdown()), flush=True)
        return table

    def add(self, *cells: Cell) -> None:
        """Print a row and keep it; cells that are not given stay empty."""
        self.rows.append([*cells, *[None] * (len(self.columns) - len(cells))])
        print(self.markdown()[-1], flush=True)

    def markdown(self) -> list[str]:
        """Its lines."""
        lines = [self.columns, ["---"] * len(self.columns)]
        lines += [[shown(cell) for cell in row] for row in self.rows]
        return ["| " + " | ".join(cells) + " |" for cells in lines]

    def save(self, folder: Path) -> None:
        """Write ``NAME.json``, a line a row, so that changes can be read."""
        folder.mkdir(parents=True, exist_ok=True)
        plain = asdict(self)
        rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in plain.pop("rows"))
        head = json.dumps(plain, indent=1, ensure_ascii=False)
        path = folder / f"{self.name}.json"
        store(path, f'{head[:-2]},\n "rows": [\n{rows}\n ]\n}}\n'.encode())

    @classmethod
    def read(cls, path: Path) -> Table:
        """Read what `save` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def _module(path: Path) -> str:
    """The name under which a file of this package runs."""
    root = Path(__file__).resolve().parent
    inside = path.resolve().is_relative_to(root)
    parts = path.resolve().relative_to(root).with_suffix("").parts if inside else (path.stem,)
    return ".".join(["hardscape.benchmarks", *parts])


def shown(cell: Cell) -> str:
    """A cell as the documents have it: four digits of a number, and the spread of repeats."""
    if cell is None:
        return ""
    if isinstance(cell, list):
        if len(cell) == 1:
            return shown(cell[0])
        return f"{statistics.median(cell):.4g} ({min(cell):.4g} to {max(cell):.4g})"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def with_results(page: str, results: Path) -> str:
    """A page with its tables made from the data in a folder."""

    def block(found: re.Match[str]) -> str:
        lines = Table.read(results / f"{found[1]}.json").markdown()
        return "\n".join([f"<!-- results: {found[1]} -->", *lines, "<!-- end -->"])

    return SHOWN.sub(block, page)


@app.default
def main(documents: Path = Path("docs")) -> None:
    """Write the tables into all pages of a folder of documents, from what is in its folder ``results``."""
    for path in documents.glob("**/*.md"):
        before = path.read_text(encoding="utf-8")
        if (after := with_results(before, documents / "results")) != before:
            path.write_text(after, encoding="utf-8")
            print(path)


if __name__ == "__main__":
    app()
