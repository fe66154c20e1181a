"""Figures of all families on their way into files; matplotlib is imported when one is made."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from hardscape.errors import InputError, needed
from hardscape.files import store

#: File formats that :func:`save_plot` writes, by suffix.
PLOT_SUFFIXES = (".png", ".pdf", ".svg")
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
    """Make an empty figure of that size in inches, which pyplot does not know."""
    figure = needed("matplotlib.figure", "matplotlib", "plot", "a plot")
    return figure.Figure(figsize=(width, height), layout="constrained")
