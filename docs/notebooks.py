"""The tutorials as notebooks: text as text, sessions as cells, without results until somebody runs them.

``python docs/notebooks.py FOLDER`` writes them; so does a build of the documents, which offers them for
download.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

HERE = Path(__file__).resolve().parent
TUTORIALS = tuple(sorted((HERE / "tutorials").glob("*.md")))
BUILT = HERE / "_drawn" / "notebooks"
BLOCK = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Roles of the documents, which notebooks do not know.
ROLE = re.compile(r"\{\w+\}`~?([^`<]+?)(?: <[^>]*>)?`")


def cells(page: str) -> Iterator[tuple[str, str, str]]:
    """Kind ("text" or "code"), source and expected output of each cell of a page."""
    at = 0
    for block in BLOCK.finditer(page):
        yield from _text(page[at : block.start()])
        kind, lines = block[1], block[2].splitlines()
        yield from _session(lines) if kind == "pycon" else _commands(lines)
        at = block.end()
    yield from _text(page[at:])


def _text(text: str) -> Iterator[tuple[str, str, str]]:
    kept = [line for line in text.splitlines() if not line.startswith("{download}")]
    plain = re.sub(r"^!\[.*?\]\(.*?\)$", "", "\n".join(kept), flags=re.MULTILINE)
    plain = ROLE.sub(r"`\1`", plain).strip()
    if plain:
        yield "text", plain, ""


def _session(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Cells that end where something is printed, so that each shows it."""
    source: list[str] = []
    output: list[str] = []
    for line in lines:
        typed = line.startswith((">>> ", "... ")) or line in (">>>", "...")
        if typed and output:
            yield "code", "\n".join(source), "\n".join(output)
            source, output = [], []
        if typed:
            source.append(line[4:])
        elif line or output:
            output.append(line)
    if source:
        yield "code", "\n".join(source), "\n".join(output)


def _commands(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    source, output = "", []
    for line in [*lines, "$ "]:
        if line.startswith("$ "):
            if source:
                yield "code", source, "\n".join(output)
            source, output = "!" + line[2:], []
        else:
            output.append(line)


def notebook(page: str) -> tuple[Any, list[str]]:
    """The notebook of a page, and the output that each of its code cells should have."""
    found, outputs = [], []
    for kind, source, output in cells(page):
        if kind == "text":
            found.append(new_markdown_cell(source, id=f"cell-{len(found)}"))
        else:
            found.append(new_code_cell(source, id=f"cell-{len(found)}"))
            outputs.append(output)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=found, metadata={"kernelspec": kernel}), outputs


def write(folder: Path) -> list[Path]:
    """Write all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in TUTORIALS:
        written.append(folder / f"{page.stem}.ipynb")
        nbformat.write(notebook(page.read_text(encoding="utf-8"))[0], written[-1])
    return written


def setup(app: Any) -> dict[str, bool]:
    """Write them before pages that offer them are read."""
    app.connect("builder-inited", lambda app: write(BUILT))
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    print(*write(Path(sys.argv[1])), sep="\n")
