"""Plots of the Ising family; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hardscape.figures import COLORS, GREY, INK, finish, new_figure
from hardscape.ising.levels import Level

_LEVEL, _GROUND, *_ = COLORS
#: Ratio of degeneracies from which lengths are logarithmic.
_LOG_FROM = 30
#: Levels above which lines and marks are thin, and most levels drawn: more would fill the paper.
_CROWDED, _MOST_LEVELS = 40, 500
#: Bins of energies, where a density has more levels than that.
_BINS = 200
#: From so many levels of equally many states on, their number up to each energy is drawn.
_MANY_LEVELS = 10
#: Least distance of two counts written beside their levels, in points.
_SPACING = 10.0


def draw_levels(spectrum: Any, ax: Any = None) -> Any:
    """Draw each energy level as a line whose length is the number of its states.

    Numbers of states stand at the lines' ends where there is room. A dashed line with an open end
    is a level of which more states may exist: the list was cut inside it, or is not certified. Of
    more than 500 levels the lowest 500 are drawn, as the title then says. Where all of ten levels and more
    have as many states, lines of one length would say nothing: the number of states up to each energy is drawn.

    Parameters
    ----------
    spectrum : Spectrum
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The energy, in the units of the couplings, is vertical; the number of states is horizontal,
        logarithmic where numbers differ by a factor of 30 or more. (The number up to each energy is vertical,
        and the energy horizontal.)

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    if ax is None:
        ax = new_figure().add_subplot()
    if len(spectrum.levels) >= _MANY_LEVELS and _alike(spectrum.levels):
        return _draw_number(ax, spectrum)
    levels = spectrum.levels[:_MOST_LEVELS]
    largest = max((level.count for level in levels), default=1)
    logarithmic = largest >= _LOG_FROM * min((level.count for level in levels), default=1)
    start = 0.7 if logarithmic else 0.0
    _draw_levels(ax, levels, start)
    if logarithmic:
        ax.set_xscale("log")
        ax.set_xlim(start, largest * (largest / start) ** 0.22)
    else:
        ax.set_xlim(start, largest * 1.3)
    _set_energy_axis(ax, levels)
    _write_counts(ax, levels)
    _write_gap(ax, spectrum)
    integers = all(float(level.energy).is_integer() for level in levels)
    x, y = "states at this energy (degeneracy)", "energy $E$ (units of the couplings)"
    return finish(ax, _title(spectrum), x, y, whole="xy" if integers else "x")


def draw_bounds(spectrum: Any, ax: Any = None) -> Any:
    """Draw how the lowest energy met and the proven lower bound closed in time.

    Parameters
    ----------
    spectrum : Spectrum
        With its `bounds`; of a call that took less than some 0.3 seconds, the end alone.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        Seconds are horizontal, energies vertical; between both bounds lies what is not known.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    if ax is None:
        ax = new_figure().add_subplot()
    rows = spectrum.bounds
    seconds, best, bound = rows.T
    ax.fill_between(seconds, bound, best, step="post", color=GREY, alpha=0.15, linewidth=0)
    steps: dict[str, Any] = {"where": "post", "marker": "o", "markersize": 3.0, "linewidth": 1.4}
    ax.step(seconds, best, color=COLORS[1], label="lowest energy met", **steps)
    ax.step(seconds, bound, color=COLORS[0], label="proven lower bound", **steps)
    if len(rows):
        ax.legend(frameon=False)
    end = "proven" if spectrum.certified else f"gap {best[-1] - bound[-1]:.4g}" if len(rows) else ""
    title = f"{spectrum.num_spins} spins, {spectrum.method}: {end or 'no states'}"
    return finish(ax, title, "time (s)", "energy $E$ (units of the couplings)")


def draw_density(density: Any, ax: Any = None) -> Any:
    """Draw the number of states of each energy on a logarithmic scale, of many levels those of 200 bins.

    Parameters
    ----------
    density : DensityOfStates
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default the axes of a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The energy, in the units of the couplings, is horizontal; the decimal logarithm of the number
        of states is vertical.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    if ax is None:
        ax = new_figure().add_subplot()
    heights = density.log_counts / np.log(10)
    few = density.num_levels <= _MOST_LEVELS
    if few:
        ax.vlines(density.energies, 0, heights, colors=_LEVEL, linewidths=1.2)
        ax.scatter(density.energies, heights, 9.0, color=_LEVEL, zorder=3, clip_on=False)
    else:
        edges = np.linspace(density.energies[0], density.energies[-1], _BINS + 1)
        places = np.searchsorted(edges[1:-1], density.energies, "right")
        sums = np.full(_BINS, -np.inf)
        np.logaddexp.at(sums, places, density.log_counts)
        ax.stairs(np.maximum(sums, 0) / np.log(10), edges, fill=True, color=_LEVEL)
    ax.scatter(density.energies[:1], heights[:1], 22.0, color=_GROUND, zorder=4, clip_on=False)
    ax.set_ylim(0, None if heights.any() or not few else 1)
    title = (
        f"All 2^{density.num_spins} states of {density.num_spins} spins in {density.num_levels} levels\n"
        f"ground energy {density.ground_energy!r}, degeneracy {density.ground_degeneracy}"
    )
    integers = bool((density.energies == np.round(density.energies)).all())
    x, y = "energy $E$ (units of the couplings)", r"$\log_{10}$ of the number of states"
    return finish(ax, title, x, y if few else f"{y}, {_BINS} bins", whole="x" if integers else "")


def _alike(levels: Sequence[Level]) -> bool:
    """Whether all levels have as many states; the last one may be cut."""
    *others, last = levels
    return len({x.count for x in others}) == 1 and (
        last.count == others[0].count or not last.complete
    )


def _draw_number(ax: Any, spectrum: Any) -> Any:
    """Draw N(E), the number of states of at most this energy, as steps."""
    energies = spectrum.energies
    numbers = np.arange(1, len(energies) + 1)
    ax.step([energies[0], *energies], [0, *numbers], where="post", color=_LEVEL, linewidth=1.4)
    if len(energies) <= _MOST_LEVELS:
        ax.plot(energies, numbers, ".", color=_LEVEL, markersize=4)
    ground = spectrum.levels[0].count
    ax.plot(energies[:1], [ground], "o", color=_GROUND, markersize=6, zorder=4)
    ax.set_ylim(bottom=0)
    ax.ticklabel_format(axis="x", useOffset=False)
    x, y = "energy $E$ (units of the couplings)", "states of energy $E$ and below, $N(E)$"
    return finish(ax, _title(spectrum), x, y, whole="y")


def _draw_levels(ax: Any, levels: Sequence[Level], start: float) -> None:
    energies = np.array([level.energy for level in levels])
    counts = np.array([level.count for level in levels])
    complete = np.array([level.complete for level in levels], dtype=bool)
    ground = np.arange(len(levels)) == 0
    width, size = (0.7, 4.0) if len(levels) > _CROWDED else (1.6, 22.0)
    for part, color in ((~ground, _LEVEL), (ground, _GROUND)):
        for proven in (False, True):
            chosen = part & (complete == proven)
            ink = color if proven or part is ground else GREY
            ax.hlines(
                energies[chosen],
                start,
                counts[chosen],
                colors=ink,
                linestyles="-" if proven else (0, (4, 2)),
                linewidths=width,
            )
            ax.scatter(
                counts[chosen],
                energies[chosen],
                size,
                facecolors=ink if proven else "white",
                edgecolors=ink,
                zorder=3,
                clip_on=False,
            )


def _set_energy_axis(ax: Any, levels: Sequence[Level]) -> None:
    if not levels:
        return
    bottom, top = levels[0].energy, levels[-1].energy
    margin = (top - bottom) * 0.06 or abs(bottom) * 0.05 or 1.0
    ax.set_ylim(bottom - margin, top + margin)
    # Ticks as "+1e6" beside the axis would hide what the energies are.
    ax.ticklabel_format(axis="y", useOffset=False)


def _points(ax: Any, energy: float) -> float:
    """Length on paper, in points, of a difference of energies."""
    low, high = ax.get_ylim()
    return float(energy / (high - low) * ax.bbox.height * 72 / ax.figure.dpi)


def _write_counts(ax: Any, levels: Sequence[Level]) -> None:
    """Write the number of states at the end of each line that is far enough from its neighbours."""
    if all(level.count == 1 and level.complete for level in levels):
        return
    written = None
    for level in levels:
        if written is not None and _points(ax, level.energy - written) < _SPACING:
            continue
        written = level.energy
        ax.annotate(
            f"{level.count}" if level.complete else f"{level.count} or more",
            (level.count, level.energy),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=INK if level.complete else GREY,
        )


def _write_gap(ax: Any, spectrum: Any) -> None:
    """Mark the distance of the two lowest levels at the right edge, with its number."""
    if spectrum.gap is None:
        return
    ground, first = spectrum.levels[0].energy, spectrum.levels[1].energy
    edge = ax.get_yaxis_transform()
    ax.hlines([ground, first], 0.96, 1.0, transform=edge, colors=INK, linewidths=0.6)
    heads = "<->" if _points(ax, first - ground) > 2 * _SPACING else "-"
    ax.annotate(
        "",
        xy=(0.98, ground),
        xytext=(0.98, first),
        xycoords=edge,
        textcoords=edge,
        arrowprops={"arrowstyle": heads, "color": INK, "lw": 0.8, "shrinkA": 0, "shrinkB": 0},
    )
    ax.annotate(
        f"gap {spectrum.gap:.6g}",
        (1.0, first),
        xycoords=edge,
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=9,
        color=INK,
    )


def _title(spectrum: Any) -> str:
    if not spectrum.levels:
        return f"{spectrum.num_spins} spins: no states found"
    ground = spectrum.levels[0]
    count = spectrum.num_states
    parts = [f"{count} lowest states" if count > 1 else "Lowest state"]
    parts.append(f"of {spectrum.num_spins} {'spin' if spectrum.num_spins == 1 else 'spins'}")
    if len(spectrum.levels) > _MOST_LEVELS:
        parts.append(f"(levels 1 to {_MOST_LEVELS} of {len(spectrum.levels)})")
    parts.append("(certified)" if spectrum.certified else "(not certified)")
    more = "" if ground.complete else " or more"
    return f"{' '.join(parts)}\nground energy {ground.energy!r}, degeneracy {ground.count}{more}"
