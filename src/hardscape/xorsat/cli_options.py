"""Options that several commands of the family have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from hardscape.terminal import note
from hardscape.xorsat.system import XorSystem

__all__ = [
    "OUTPUT",
    "SEARCH",
    "SYSTEM",
    "FormatOption",
    "OutputOptions",
    "PlotOptions",
    "SearchOptions",
    "read_system",
]

SYSTEM, SEARCH, OUTPUT = (
    Group(name, sort_key=i) for i, name in enumerate(("System", "Search", "Output"), start=1)
)
FormatOption = Annotated[str | None, Parameter(group=SYSTEM)]
_Flag = Annotated[bool, Parameter(negative="")]


@Parameter(name="*", group=SEARCH)
@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The quasi-greedy search.

    Attributes
    ----------
    w1
        Probability of flipping a variable of one violated clause, by default 0.055, or what suits N.
    clones
        Searches side by side.
    device
        auto, cpu, cuda or cuda:0.
    threads
        CPU threads, by default all.
    seed
        Seed; the same one repeats the search.
    """

    w1: float | None = None
    clones: int | None = None
    device: str = "auto"
    threads: int | None = None
    seed: int | None = None


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What to print.

    Attributes
    ----------
    json
        Print one JSON object on standard output, and nothing else there.
    """

    json: _Flag = False


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class PlotOptions:
    """What to draw.

    Attributes
    ----------
    plot
        Also draw into this file: .png, .pdf or .svg.
    """

    plot: Path | None = None

    def check(self) -> None:
        """Refuse, before work begins, a file that could not be written."""
        if self.plot is not None:
            from hardscape.figures import check_plot_path

            check_plot_path(self.plot)


def read_system(file: Path, format: str | None) -> XorSystem:
    """Read a system, and say which variables cancelled."""
    system = XorSystem.from_file(file, format=format)
    if system.cancelled_pairs:
        pairs = system.cancelled_pairs
        note(
            f"{file}: {pairs} pair{'s' if pairs > 1 else ''} of equal variables in a clause cancelled"
        )
    return system
