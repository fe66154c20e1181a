"""Figures of all families on their way into files, and pages of them; matplotlib is imported when used."""

from __future__ import annotations

import html
import io
import math
from functools import partial
from pathlib import Path
from typing import Any

from hardscape.errors import InputError, needed
from hardscape.files import store

#: File formats that :func:`save_plot` writes, by suffix.
PLOT_SUFFIXES = (".png", ".pdf", ".svg")
#: The one palette: text, what is less than proven, and curves in this order.
INK, GREY = "#1f2933", "#6b7280"
COLORS = ("#1d4ed8", "#c2410c", "#047857", "#7c3aed", "#0e7490", "#be123c", "#4d7c0f", "#b45309")
#: Times of day that matplotlib would put into a file, which would make equal plots differ.
_DATES: dict[str, dict[str, None]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


def check_plot_path(path: str | Path) -> Path:
    """Check, before work begins, that :func:`save_plot` could write `path`.

    Raises
    ------
    InputError
        If the suffix is not one of `PLOT_SUFFIXES`, or the folder does not exist.
    MissingDependencyError
        If matplotlib is not installed.
    """
    place = Path(path)
    if place.suffix.lower() not in PLOT_SUFFIXES:
        raise InputError(
            f"plot file {str(path)!r} has the suffix {place.suffix!r}; "
            f"{', '.join(PLOT_SUFFIXES)} are accepted"
        )
    if not place.parent.is_dir():
        raise InputError(f"plot file {str(path)!r}: there is no folder {str(place.parent)!r}")
    new_figure()
    return place


def save_plot(plot: Any, path: str | Path) -> None:
    """Write a figure to a file, whole or not at all; the same plot gives the same bytes.

    Parameters
    ----------
    plot : matplotlib Figure or Axes
    path : str or Path
        The suffix, one of `PLOT_SUFFIXES`, gives the file format. A file that is there is replaced.

    Raises
    ------
    InputError
        If the suffix is not accepted or the file cannot be written.
    """
    place = check_plot_path(path)
    import matplotlib

    suffix = place.suffix.lower()
    figure = plot if hasattr(plot, "savefig") else plot.get_figure()
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "hardscape"}):
        figure.savefig(content, format=suffix[1:], dpi=150, metadata=_DATES[suffix])
    store(place, content.getvalue())


def new_figure(width: float = 6.4, height: float = 4.8) -> Any:
    """Make an empty figure of that size in inches, which pyplot does not know; notebooks show it."""
    module = needed("matplotlib.figure", "matplotlib", "plot", "a plot")
    figure = module.Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)
    return figure


def _png(figure: Any) -> bytes:
    """What a notebook shows of a figure."""
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()


def finish(
    ax: Any, title: str, x: str, y: str, *, whole: str = "", seconds: str = "", legend: bool = False
) -> Any:
    """Give axes the style that all families have, when everything is drawn.

    Parameters
    ----------
    ax : matplotlib Axes
    title, x, y : str
        Above, below and beside.
    whole : str
        Axes, "x", "y" or "xy", of integers: ticks stand at no others.
    seconds : str
        Axes of seconds: ticks say ms and what is shorter by name.
    legend : bool
        Whether what is labelled has a legend; it covers nothing that is drawn.

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib.ticker import EngFormatter, MaxNLocator

    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        if axis.get_scale() == "log":
            _set_log_ticks(axis)
        elif name in whole:
            axis.set_major_locator(
                MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1)
            )
        if name in seconds:
            axis.set_major_formatter(EngFormatter(unit="s"))
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title, fontsize=11, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        labels = ax.get_legend_handles_labels()[1]
        short = all(len(label) <= 28 for label in labels)
        columns = min(len(labels), 3 - (len(labels) == 4)) if short else 1
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13)}
        ax.legend(fontsize=8, frameon=False, ncols=columns, **place)
    if "_repr_png_" in vars(ax.figure):  # a figure of ours: pyplot shows others by itself
        ax._repr_png_ = ax.figure._repr_png_
    return ax


def _set_log_ticks(axis: Any) -> None:
    """Ticks as numbers that people read, also where the axis is shorter than a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else 9.0
    if decades <= 4:
        few = range(1, 10) if decades <= 0.7 else (1, 2, 5) if decades <= 2 else (1,)
        axis.set_major_locator(LogLocator(subs=few, numticks=20))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    axis.set_minor_formatter(NullFormatter())


def page(title: str, body: str) -> bytes:
    """A whole page of HTML, with pictures and code no wider than the window."""
    return _PAGE.format(title=html.escape(title), body=body).encode()


_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 60em; margin: 2em auto; padding: 0 1em; font-family: sans-serif; line-height: 1.4; }}
pre {{ overflow-x: auto; border: 1px solid #8886; padding: 1em; font-size: 0.85em; }}
img {{ max-width: 100%; background: white; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.3em 1em 0.3em 0; border-bottom: 1px solid #8884; }}
</style>
<h1>{title}</h1>
{body}</html>
"""
