"""Drawings of gauge fixing: the copies' functional, and the way to the gauge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hardscape.figures import new_figure

if TYPE_CHECKING:
    from hardscape.gauge.result import GaugeFixResult

__all__ = ["draw_copies", "draw_history"]

_TITLES = {
    "landau": "Landau gauge",
    "coulomb": "Coulomb gauge",
    "mag": "Maximally Abelian gauge",
}


def draw_copies(result: GaugeFixResult, ax: Any = None) -> Any:
    """Histogram of the functional over the converged copies, the best one marked.

    Parameters
    ----------
    result : GaugeFixResult
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = new_figure().add_subplot() if ax is None else ax
    values = result.copies.functional[result.copies.converged]
    # Copies that are the same differ by rounding, which is no width for a bar.
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    margin = max(0.02 * (high - low), 1e-9)
    bins = max(5, min(40, len(values) // 2))
    ax.hist(values, bins, range=(low - margin, high + margin), color="tab:blue", alpha=0.7)
    ax.axvline(result.functional, color="tab:red", label="best")
    ax.set_xlabel("gauge functional F")
    ax.set_ylabel("Gribov copies")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_title(f"{_TITLES[result.gauge]}, {len(values)} of {len(result.copies)} converged")
    ax.legend()
    return ax


def draw_history(result: GaugeFixResult, ax: Any = None) -> Any:
    """Theta against sweeps on a logarithmic scale.

    Parameters
    ----------
    result : GaugeFixResult
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = new_figure().add_subplot() if ax is None else ax
    ax.semilogy(result.history[:, 0], result.history[:, 2], marker=".")
    ax.set_xlabel("sweeps")
    ax.set_ylabel(f"theta ({result.reduction})")
    ax.set_title(f"{_TITLES[result.gauge]}, {result.method}, F = {result.functional:.9g}")
    return ax
