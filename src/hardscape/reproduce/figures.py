"""The figures and tables of the five papers that can be done again."""

from __future__ import annotations

from hardscape.errors import InputError
from hardscape.reproduce import (
    blocks,
    gauge,
    hidden,
    ising,
    kernels,
    landscape,
    maxsat,
    permanents,
    xorsat,
)
from hardscape.reproduce.figure import Figure


def figures() -> tuple[Figure, ...]:
    """The figures and tables that :func:`reproduce` knows, paper by paper.

    Examples
    --------
    >>> [figure.name for figure in figures()][:3]
    ['ising-3', 'ising-4', 'ising-6']
    """
    return (
        *ising.FIGURES[:1], *blocks.FIGURES, *ising.FIGURES[1:], *permanents.FIGURES, *kernels.FIGURES,
        *xorsat.FIGURES, *landscape.FIGURES, *hidden.FIGURES, *maxsat.FIGURES, *gauge.FIGURES,
    )  # fmt: skip


def figure(name: str) -> Figure:
    """The figure of that name.

    Raises
    ------
    InputError
        If there is none.
    """
    for one in figures():
        if one.name == name:
            return one
    known = ", ".join(one.name for one in figures())
    raise InputError(f"no figure is called {name!r}; {known} are accepted")
