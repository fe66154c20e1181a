"""The plot of an estimated permanent; matplotlib is imported when it is drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hardscape.figures import COLORS, finish, new_figure

if TYPE_CHECKING:
    from hardscape.permanents.approximation.bounds import Bounds

_ESTIMATE, _BOUND, *_ = COLORS
#: Of the axis, what is left empty at both ends, and its least length in decades.
_MARGIN, _SHORTEST = 0.08, 0.02


def draw_approximation(found: Any, between: Bounds | None = None, ax: Any = None) -> Any:
    """Draw the interval of an estimate between the best bounds, in decades of magnitudes.

    What the bounds leave is shaded; arrowheads point to it. An interval, or a pair of bounds, that contains 0
    goes on to the left of the axis. Of an estimate that is 0 nothing is drawn.

    Parameters
    ----------
    found : Approximation
    between : Bounds, optional
        Of the same matrix.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_figure(height=3.2).add_subplot() if ax is None else ax
    low, x, high = _interval(found)
    rows = [] if between is None else _rows(between)
    drawn = [y for y in (low, x, high, *(y for _, y, _ in rows)) if math.isfinite(y)] or [0.0]
    middle, length = (min(drawn) + max(drawn)) / 2, max(max(drawn) - min(drawn), _SHORTEST)
    left, right = (middle + side * (0.5 + _MARGIN) * length for side in (-1, 1))
    ax.set_xlim(left, right)
    ax.ticklabel_format(axis="x", useOffset=False)
    ends = {"<": right, ">": left}
    for row, (_, y, marker) in enumerate(rows):
        ends[marker] = y
        ax.axvline(y, color=_BOUND, linewidth=0.8)
        ax.plot(y, row, marker=marker, color=_BOUND, markersize=8)
    if rows:
        ax.axvspan(ends[">"], ends["<"], color=_BOUND, alpha=0.08, linewidth=0)
    if math.isfinite(x):
        ax.plot([max(low, left), high], [len(rows)] * 2, color=_ESTIMATE, linewidth=2)
        ax.plot(x, len(rows), "o", color=_ESTIMATE, markersize=6)
    names = [*(name for name, *_ in rows), f"estimate, {100 * found.confidence:g}%"]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(-0.7, len(rows) + 0.7)
    if not (rows or found.mantissa):
        ax.set_xticks([])
    samples = f"{found.num_samples} samples of {found.method}, seed {found.seed}"
    title = f"Permanent\n{samples}" if found.mantissa else "Permanent, estimated as 0"
    return finish(ax, title, r"$\log_{10}\,|\mathrm{per}\,A|$", "")


def _rows(between: Bounds) -> list[tuple[str, float, str]]:
    """Names, decades and arrowheads of the bounds that say something."""
    known = (
        (between.lower_by, between.log_lower, ">"),
        (between.upper_by, between.log_upper, "<"),
    )
    return [(name, log / math.log(10), sign) for name, log, sign in known if math.isfinite(log)]


def _interval(found: Any) -> tuple[float, float, float]:
    """Decades of the estimate's magnitude, between those of its interval; minus infinity of 0."""
    if not found.mantissa:
        return (-math.inf,) * 3
    x = math.log10(abs(found.mantissa)) + found.exponent * math.log10(2)
    off = found.relative_error_bound
    return x + math.log10(1 - off) if off < 1 else -math.inf, x, x + math.log10(1 + off)
