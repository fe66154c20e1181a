"""A drawing of the gluon propagator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardscape.figures import new_figure

if TYPE_CHECKING:
    from hardscape.gauge.propagator import GluonPropagator

__all__ = ["draw_propagator"]

_VALUE, _DRESSING = "#1d4ed8", "#c2410c"


def draw_propagator(propagator: GluonPropagator, ax: Any = None) -> Any:
    """Draw D on a logarithmic scale and p^2 D beside it, against p.

    Parameters
    ----------
    propagator : GluonPropagator
    ax : matplotlib axes, optional
        Where to draw D; p^2 D has its own scale on the right.

    Returns
    -------
    matplotlib axes
    """
    ax = new_figure().add_subplot() if ax is None else ax
    p, error = propagator.momentum, np.nan_to_num(propagator.error)
    unit = "g_0^2\\," if propagator.beta is None else ""
    style = {"fmt": "o", "markersize": 4, "capsize": 2, "linewidth": 0.8}
    ax.errorbar(p, propagator.value, error, color=_VALUE, **style)
    ax.set_yscale("log")
    ax.set_xlabel("momentum $p$ (lattice units)")
    ax.set_ylabel(f"${unit}D(p^2)$", color=_VALUE)
    right = ax.twinx()
    style["fmt"] = "s"
    right.errorbar(p, propagator.dressing, p**2 * error, color=_DRESSING, **style)
    right.set_ylabel(f"${unit}p^2 D(p^2)$", color=_DRESSING)
    right.set_ylim(bottom=0)
    extents = r"$\times$".join(map(str, propagator.shape))
    many = propagator.configurations
    ax.set_title(
        f"SU({propagator.nc}) gluon propagator, {propagator.gauge.capitalize()} gauge\n"
        f"{extents}, {many} configuration{'s' * (many > 1)}",
        fontsize=11,
    )
    return ax
