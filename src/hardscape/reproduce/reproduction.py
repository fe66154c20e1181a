"""A figure or a table of a paper, done again, and kept."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Unpack

from hardscape.arguments import checked_seed
from hardscape.engine import RunArguments, probe
from hardscape.errors import InputError, Interrupted
from hardscape.figures import new_figure
from hardscape.files import load
from hardscape.interrupts import interruptible
from hardscape.plain import Plain, finite_or_none
from hardscape.reproduce.figure import Cell, Quantity, Request
from hardscape.reproduce.figures import figure
from hardscape.version import __version__

#: Arguments that say where a measurement is made; there is no other way to be fair.
_WHERE = ("device", "threads", "seed")


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Plain):
    """A figure or table of a paper, done again.

    Attributes
    ----------
    name, paper, shows : str
        Of the figure.
    full : bool
        Whether in the paper's sizes.
    seed : int
        With which the same instances and runs come again.
    columns : tuple of str
    rows : tuple of tuples
        The data behind the figure.
    quantities : tuple of Quantity
        Numbers beside the published ones.
    remarks : str
        How instances, machine or method differ from the paper's.
    seconds : float
        Wall-clock time.
    date, version, machine, command : str
        When, by which version, on what, and the command that does it again.

    Examples
    --------
    >>> from hardscape.reproduce import reproduce
    >>> found = reproduce("xorsat-7")
    >>> found.columns[:2], found.seed
    (('temperature', 'barrier'), 1)
    """

    name: str
    paper: str
    shows: str
    full: bool
    seed: int
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    quantities: tuple[Quantity, ...]
    remarks: str
    seconds: float
    date: str
    version: str
    machine: str
    command: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what JSON cannot hold, infinities and NaN, is None."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain["rows"] = [[_plain(cell) for cell in row] for row in self.rows]
        plain["columns"] = list(self.columns)
        plain["quantities"] = [
            {name: _plain(x) for name, x in vars(quantity).items()} for quantity in self.quantities
        ]
        return plain

    def column(self, name: str) -> list[Cell]:
        """One column of the table."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def plot(self, ax: Any = None) -> Any:
        """Draw the figure from the table; see `hardscape.figures.save_plot`."""
        ax = new_figure().add_subplot() if ax is None else ax
        return figure(self.name).draw(self._table(), ax)

    def _table(self) -> dict[str, list[Any]]:
        return {name: self.column(name) for name in self.columns}

    def __repr__(self) -> str:
        return f"<Reproduction: {self.name}, {len(self.rows)} rows, {self.seconds:.3g} s>"


def read_reproduction(path: str | Path) -> Reproduction:
    """Read what ``Reproduction.save`` wrote as JSON.

    Raises
    ------
    FormatError
        If the file is none of those.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape.reproduce import read_reproduction, reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduce("xorsat-7").save(f"{folder}/found.json")
    ...     again = read_reproduction(f"{folder}/found.json")
    >>> again.name
    'xorsat-7'
    """
    source = load(path)
    try:
        plain = json.loads(source.data)
        plain["columns"] = tuple(plain["columns"])
        plain["rows"] = tuple(tuple(row) for row in plain["rows"])
        plain["quantities"] = tuple(Quantity(**one) for one in plain["quantities"])
        return Reproduction(**plain)
    except (ValueError, KeyError, TypeError) as error:
        raise source.error(None, f"is no result of hardscape reproduce: {error}") from None


@interruptible
def reproduce(
    name: str,
    *,
    full: bool = False,
    tell: Callable[[str], None] | None = None,
    **run: Unpack[RunArguments],
) -> Reproduction:
    """Do a figure or a table of one of the five papers again.

    Parameters
    ----------
    name : str
        One of :func:`figures`.
    full : bool
        The paper's sizes, which need a GPU; else what two cores do in a few minutes.
    tell : callable, optional
        Hears a line of progress for each part.
    **run
        `device`, `threads` and `seed`, as in :class:`hardscape.engine.RunArguments`; nothing else. The seed
        is 1 by default: the same instances and runs each time.

    Returns
    -------
    Reproduction

    Raises
    ------
    InputError
    Interrupted
        On Ctrl-C or SIGTERM.

    Examples
    --------
    >>> found = reproduce("xorsat-7")
    >>> [(one.name, round(one.value, 7), one.published) for one in found.quantities][0]
    ('barrier at w1 = 0.055', 0.0827249, 0.0827249)
    """
    chosen = figure(name)
    for given in run:
        if given not in _WHERE:
            raise InputError(
                f"{given} is no argument of reproduce; {', '.join(_WHERE)} are accepted"
            )
    seed = checked_seed(run.get("seed", 1))
    where: dict[str, Any] = {x: run[x] for x in ("device", "threads") if x in run}
    began = time.perf_counter()
    try:
        found = chosen.measure(Request(full, seed, where, tell or (lambda line: None)))
    except Interrupted as stop:
        raise Interrupted(stop.signum) from None  # a part of the measurement is no answer
    rows = tuple(tuple(row) for row in found.rows)
    options = "".join(f" --{x} {value}" for x, value in where.items() if value is not None)
    return Reproduction(
        name=chosen.name,
        paper=chosen.paper,
        shows=chosen.shows,
        full=full,
        seed=seed,
        columns=tuple(found.columns),
        rows=rows,
        quantities=tuple(found.quantities),
        remarks=found.remarks,
        seconds=time.perf_counter() - began,
        date=str(date.today()),
        version=__version__,
        machine=_machine(),
        command=f"hardscape reproduce {chosen.name}{' --full' * full} --seed {seed}{options}",
    )


def _machine() -> str:
    """Processor and GPUs in a line."""
    found = probe()
    gpus = ", ".join(gpu.name for gpu in found.cuda.gpus) or "no GPU"
    return f"{found.cpu}, {found.cores} cores; {gpus}; hardscape {__version__}"


def _plain(cell: Any) -> Any:
    return finite_or_none(cell) if isinstance(cell, float) else cell
