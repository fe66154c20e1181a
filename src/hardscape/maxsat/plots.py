"""Plots of MAX-SAT searches; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import Any

from hardscape.figures import new_figure
from hardscape.maxsat.result import MaxsatResult

__all__ = ["draw_improvements"]

_INK, _LINE, _BOUND = "#1f2933", "#1d4ed8", "#c2410c"
#: Ratio of costs from which the axis is logarithmic.
_LOG_FROM = 30


def draw_improvements(result: MaxsatResult, ax: Any = None) -> Any:
    """Draw the cost of the best assignment against time, and a lower bound above 0 as a dashed line.

    Parameters
    ----------
    result : MaxsatResult
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        Seconds, logarithmic, are horizontal; the cost is vertical, logarithmic where it falls by a factor of
        30 or more and stays above 0. Assignments that violate hard clauses are not drawn.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    if ax is None:
        ax = new_figure().add_subplot()
    points = [(x.seconds, float(x.cost)) for x in result.improvements if not x.hard_violations]
    ax.set_xscale("log")
    ax.set_xlabel("seconds")
    ax.set_ylabel("cost: weight of violated soft clauses")
    ax.set_title(f"{result.status.lower()}, {result.method}, {result.seconds:.3g} s", fontsize=10)
    if not points:
        ax.text(
            0.5,
            0.5,
            "no assignment satisfies\nall hard clauses",
            ha="center",
            color=_INK,
            transform=ax.transAxes,
        )
        return ax
    seconds, costs = zip(*points, strict=True)
    end = max(result.seconds, seconds[-1])
    ax.step([*seconds, end], [*costs, costs[-1]], where="post", color=_LINE, linewidth=1.5)
    ax.plot(seconds, costs, "o", color=_LINE, markersize=4)
    logarithmic = costs[-1] > 0 and costs[0] >= _LOG_FROM * costs[-1]
    if logarithmic:
        ax.set_yscale("log")
    if result.lower_bound > 0:  # 0 is known anyway, and would press the curve to the top
        ax.axhline(float(result.lower_bound), color=_BOUND, linestyle="--", linewidth=1)
        ax.annotate(
            "lower bound",
            (1, float(result.lower_bound)),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 4),
            textcoords="offset points",
            ha="right",
            color=_BOUND,
            fontsize=9,
        )
    ax.annotate(
        f"{result.cost}",
        (end, costs[-1]),
        xytext=(0, 6),
        textcoords="offset points",
        ha="right",
        color=_INK,
    )
    return ax
