"""The command ``hardscape reproduce``: figures and tables of the five papers, done again."""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hardscape.cli.options import OUTPUT, RUN, Flag, Json, option_group
from hardscape.cli.terminal import note, print_json, print_parts, seconds_text, table
from hardscape.errors import FormatError, InputError
from hardscape.figures import new_figure, page, save_plot
from hardscape.files import store
from hardscape.reproduce import Reproduction, figures, read_reproduction
from hardscape.reproduce import reproduce as again
from hardscape.reproduce.figures import figure

if TYPE_CHECKING:
    from rich.table import Table


@option_group(RUN)
class WhereOptions:
    """Where to measure.

    Attributes
    ----------
    device
        auto, cpu, cuda, cuda:0 or cuda:0,1.
    threads
        CPU threads, by default all.
    seed
        Of instances and runs.
    """

    device: str = "auto"
    threads: int | None = None
    seed: int = 1


_DEFAULT_WHERE = WhereOptions()


def reproduce(
    *names: str,
    all: Flag = False,
    full: Flag = False,
    folder: Annotated[Path, Parameter(group=OUTPUT)] = Path("hardscape-reproduce"),
    where: WhereOptions = _DEFAULT_WHERE,
    json: Json = False,
) -> None:
    """Do figures and tables of the five papers again, beside the published numbers.

    Parameters
    ----------
    names
        xorsat-5, ...; without a name, or with "list", all are listed.
    all
        Every one of them.
    full
        The paper's sizes, which need a GPU; else what two cores do in a few minutes each.
    folder
        Where to: for each a picture, its data as .csv, all as .json, and a page of all, index.html. What is
        there of the same name is replaced.
    """
    if names and all:
        raise InputError(f"--all and {names[0]!r}; names or --all are accepted")
    if names == ("list",) or not (names or all):
        _list(json)
        return
    chosen = [figure(name) for name in names] or list(figures())
    new_figure()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from None
    for number, one in enumerate(chosen, start=1):
        tell = partial(_progress, f"{one.name} ({number} of {len(chosen)})")
        found = again(one.name, full=full, tell=tell, **vars(where))
        found.save(folder / f"{one.name}.json")
        found.save(folder / f"{one.name}.csv")
        save_plot(found.plot(), folder / f"{one.name}.png")
        store(folder / "index.html", page("Figures of five papers, done again", _body(folder)))
        if json:
            print_json({"command": "reproduce", **found.to_dict()})
        else:
            print_parts(
                f"{found.name}: {found.shows}, {seconds_text(found.seconds)}", _table(found)
            )
    if not json:
        print_parts(str(folder / "index.html"))


def _progress(head: str, line: str) -> None:
    note(f"{head}: {line}")


def _list(json: bool) -> None:
    known = figures()
    if json:
        rows = [{"name": x.name, "paper": x.paper, "shows": x.shows} for x in known]
        print_json({"command": "reproduce", "figures": rows})
    else:
        print_parts(
            table("<<<", [(x.name, x.shows, x.paper) for x in known], ("name", "what", "paper"))
        )


def _table(found: Reproduction) -> Table:
    rows = [quantity.texts() for quantity in found.quantities]
    return table("<<<<", rows, ("quantity", "here", "published", ""), found.remarks)


def _body(folder: Path) -> str:
    """Of all that is in the folder, in the order of the papers."""
    return "".join(
        part
        for one in figures()
        if (found := _read(folder / f"{one.name}.json")) is not None
        for part in _section(found)
    )


def _read(path: Path) -> Reproduction | None:
    """What an earlier command left there; nothing if that is no longer read."""
    try:
        return read_reproduction(path) if path.exists() else None
    except FormatError as error:
        note(str(error))
        return None


def _section(found: Reproduction) -> Iterator[str]:
    yield f"<h2>{html.escape(found.shows)}</h2>\n<p>{html.escape(found.paper)}</p>\n"
    yield f'<img src="{found.name}.png" alt="{html.escape(found.shows)}">\n'
    yield '<div class="wide"><table><tr><th>quantity<th>here<th>published<th></tr>\n'
    for quantity in found.quantities:
        yield "<tr>" + "".join(f"<td>{html.escape(x)}</td>" for x in quantity.texts()) + "</tr>\n"
    made = f"{found.date}; {found.machine}; {seconds_text(found.seconds)}"
    yield f"</table></div>\n<p>{html.escape(found.remarks)} Data: <a href='{found.name}.csv'>table</a>, "
    yield f"<a href='{found.name}.json'>all</a>. {html.escape(made)}.</p>\n"
    yield f"<pre>$ {html.escape(found.command)}</pre>\n"
