"""What a figure of a paper is here: how it is measured and drawn, and numbers beside the published ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

Cell: TypeAlias = float | int | str | None


@dataclass(frozen=True)
class Quantity:
    """One number beside the published one.

    Attributes
    ----------
    name : str
    value : float or None
        None where it was not reached, or has no bound.
    error : float or None
        Standard error of `value`; None where nothing was drawn or timed.
    published, published_error : float or None
        What the paper has; None where it has no such number.
    remark : str
        Why the two differ, or that it is open.

    Examples
    --------
    >>> from hardscape.reproduce import Quantity
    >>> Quantity("slope", 0.08, 0.001, published=0.0786).texts()[-1]
    '1.4 standard errors apart'
    """

    name: str
    value: float | None
    error: float | None = None
    published: float | None = None
    published_error: float | None = None
    remark: str = ""

    @property
    def deviation(self) -> float | None:
        """Distance in standard errors of both; None where there are none."""
        errors = [x for x in (self.error, self.published_error) if x is not None]
        if not _reached(self.value) or self.published is None or not any(errors):
            return None
        return (self.value - self.published) / math.hypot(*errors)

    def texts(self) -> tuple[str, str, str, str]:
        """Cells of a row: name, value, published value, and distance and remark."""
        away = self.deviation
        told = "" if away is None else f"{abs(away):.1f} standard errors apart"
        if away is None and self.published and _reached(self.value):
            told = f"{self.value / self.published:.3g} times"
        said = "; ".join(x for x in (told, self.remark) if x)
        published = "" if self.published is None else _number(self.published, self.published_error)
        return self.name, _number(self.value, self.error), published, said


@dataclass(frozen=True)
class Findings:
    """What a figure's measurement returns: a table and a few numbers.

    Attributes
    ----------
    columns : sequence of str
    rows : iterable of sequences
        As long as `columns`.
    quantities : iterable of Quantity
    remarks : str
        How instances, machine or method differ from the paper's.
    """

    columns: Sequence[str]
    rows: Iterable[Sequence[Cell]]
    quantities: Iterable[Quantity] = ()
    remarks: str = ""


@dataclass(frozen=True)
class Request:
    """How much to measure, and where.

    Attributes
    ----------
    full : bool
        The paper's sizes, for a GPU; else what two cores do in a few minutes.
    seed : int
    run : dict
        Device and threads, as every function takes them.
    tell : callable
        Hears a line of progress.
    """

    full: bool
    seed: int
    run: dict[str, Any]
    tell: Callable[[str], None]


@dataclass(frozen=True)
class Figure:
    """A figure or table that can be done again.

    Attributes
    ----------
    name : str
    paper : str
    shows : str
    measure : callable
        Takes a `Request`, returns `Findings`.
    draw : callable
        Takes the columns of the findings by name, and axes.

    Examples
    --------
    >>> from hardscape.reproduce import figures
    >>> figure = figures()[0]
    >>> figure.name, "Jałowiecki" in figure.paper
    ('ising-3', True)
    """

    name: str
    paper: str
    shows: str
    measure: Callable[[Request], Findings]
    draw: Callable[[dict[str, list[Any]], Any], Any]


def _reached(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _number(value: float | None, error: float | None) -> str:
    if not _reached(value):
        return "not reached"
    return f"{value:.6g}" if not error else f"{value:.4g} ± {error:.1g}"
