"""What commands print: facts and tables for people, one JSON object for programs, notes aside.

Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardscape.errors import OutputError

#: Between the columns of a table.
_GAP = "  "


def show(
    as_json: bool,
    command: str,
    plain: Callable[[], Mapping[str, Any]],
    facts: Iterable[tuple[str, str]],
    more: Iterable[Table | str] = (),
) -> None:
    """Print the answer of `command`: one JSON object, or a table of facts and what follows it."""
    if as_json:
        print_json({"command": command, **plain()})
    else:
        print_parts(fact_table(facts), *more)


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object on one line; floats read back to the same float64."""
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Table:
    """Cells in columns.

    Attributes
    ----------
    align
        A character a column: < or >.
    rows
        Their cells.
    head
        What stands over them.
    caption
        A line below.
    """

    align: str
    rows: Sequence[Sequence[str]]
    head: Sequence[str] = ()
    caption: str = ""

    def lines(self, columns: int | None) -> Iterator[str]:
        """The table in so many columns of text: the last column's cells fold; None folds nothing."""
        head = [self.head, ["-" * len(cell) for cell in self.head]] if self.head else []
        rows = [*head[:1], *self.rows]
        wide = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        if head:
            head[1] = ["-" * width for width in wide]
        indent = sum(wide[:-1]) + len(_GAP) * (len(wide) - 1)
        room = max(wide[-1] if columns is None else columns - indent, 10)
        for row in [*head, *self.rows]:
            first, *more = [row[-1][i : i + room] for i in range(0, len(row[-1]), room)] or [""]
            cells = zip(self.align, [*row[:-1], first], wide, strict=True)
            yield _GAP.join(f"{cell:{side}{width}}" for side, cell, width in cells)
            yield from (" " * indent + part for part in more)
        if self.caption:
            yield self.caption


def fact_table(facts: Iterable[tuple[str, str]]) -> Table:
    """Names beside their values."""
    return Table("<<", list(facts))


def print_parts(*parts: Table | str) -> None:
    """Print tables and text, folded to the terminal's width, and not at all anywhere else."""
    from shutil import get_terminal_size

    columns = get_terminal_size().columns if sys.stdout.isatty() else None
    for part in parts:
        for line in [part] if isinstance(part, str) else part.lines(columns):
            sys.stdout.write(f"{line.rstrip()}\n")
    sys.stdout.flush()


def deliver(write: Callable[[], object], report: Callable[[], None]) -> None:
    """Write a file and report; where it cannot be written, the error comes after the report."""
    try:
        write()
    except OutputError:
        report()
        raise
    report()


def aside(path: Path | None) -> AbstractContextManager[Any]:
    """Where `path` is standard output, what is printed goes to standard error."""
    return redirect_stdout(sys.stderr) if path == Path("-") else nullcontext()


def seconds_text(seconds: float) -> str:
    """A time for people, short ones with two digits."""
    from hardscape.engine.progress import duration

    return f"{seconds:.2g} s" if seconds < 1 else duration(seconds)


def cut_short(stopped: str, left: str) -> str:
    """The sentence that a run did not come to its end: what stopped it, and what there is all the same."""
    cause = {"time_limit": "the time limit"}.get(stopped, stopped.replace("_", " "))
    return f"stopped by {cause}: {left}"


def note(text: str) -> None:
    """Print one line on standard error, with the program's name."""
    print(f"hardscape: {' '.join(text.split())}", file=sys.stderr)
