"""Options that several of the commands ``hardscape xorsat`` have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from hardscape.cli.options import file_help, format_help, option_group
from hardscape.cli.terminal import note
from hardscape.xorsat.formats import FORMATS
from hardscape.xorsat.methods.quasi_greedy.plan import Dynamics
from hardscape.xorsat.system import XorSystem

SYSTEM, SEARCH = Group("System", sort_key=1), Group("Search", sort_key=2)
FileArgument = Annotated[Path, file_help("The system", FORMATS)]
FormatOption = Annotated[str | None, format_help(FORMATS), Parameter(group=SYSTEM)]


@option_group(SEARCH)
class SearchOptions:
    """The quasi-greedy search.

    Attributes
    ----------
    w1
        Probability of flipping a variable of one violated clause, by default 14/256, or what suits N.
    dynamics
        quasi-greedy (w0 = 0: a solution stays) or metropolis (w0 = w1^3).
    clones
        Searches side by side.
    """

    w1: float | None = None
    dynamics: Dynamics = "quasi-greedy"
    clones: int | None = None


def read_system(file: Path, format: str | None) -> XorSystem:
    """Read a system, and say which variables cancelled."""
    system = XorSystem.from_file(file, format=format)
    if system.cancelled_pairs:
        pairs = system.cancelled_pairs
        note(
            f"{file}: {pairs} pair{'s' if pairs > 1 else ''} of equal variables in a clause cancelled"
        )
    return system
