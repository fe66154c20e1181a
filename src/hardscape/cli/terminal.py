"""What commands print: facts and tables for people, one JSON object for programs, notes aside.

Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hardscape.errors import OutputError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

#: Columns of output that is not a terminal: wide enough to wrap nothing.
_WIDE = 500


def show(
    as_json: bool,
    command: str,
    plain: Callable[[], Mapping[str, Any]],
    facts: Iterable[tuple[str, str]],
    more: Iterable[RenderableType] = (),
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


def table(
    align: str, rows: Iterable[Sequence[str]], head: Sequence[str], caption: str = ""
) -> Table:
    """A table of cells; `align` has < or > for each column, and the last column folds."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Else a caption is folded to the width of the table.
    told = Text(caption, no_wrap=True, overflow="ignore") if caption else None
    made = Table(box=box.SIMPLE_HEAD, caption=told, caption_justify="left")
    for side, name in zip(align, head, strict=True):
        last = len(made.columns) == len(head) - 1
        justify: Literal["left", "right"] = "left" if side == "<" else "right"
        made.add_column(name, justify=justify, no_wrap=not last, overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def fact_table(facts: Iterable[tuple[str, str]]) -> Table:
    """Names in bold beside their values."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in facts:
        made.add_row(name, value)
    return made


def print_parts(*parts: RenderableType) -> None:
    """Print tables and text, wrapped to the terminal's width, and not at all anywhere else."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _WIDE
    console = Console(width=width, markup=False, highlight=False, emoji=False)
    # rich would end the process by itself if nobody reads; written from here, that is an exception.
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    lines = captured.get().splitlines()
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines))
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
