"""Plots of times to solution and of the theory; matplotlib is imported when one is drawn.

Each function takes matplotlib axes, or makes a figure that pyplot does not know, and returns the
axes; `hardscape.figures.save_plot` writes them. The figures meant are those of Bernaschi et al.,
EPL 133, 60005, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from hardscape.errors import InputError
from hardscape.figures import COLORS, GREY, INK, finish, new_figure
from hardscape.xorsat.studies.posterior import TauPosterior
from hardscape.xorsat.studies.theory import (
    DYNAMIC_TEMPERATURE,
    free_energy,
    free_energy_barrier,
    run_temperature,
    spinodal_temperature,
)

__all__ = [
    "draw_barrier",
    "draw_energies",
    "draw_estimates",
    "draw_exponent",
    "draw_free_energy",
    "draw_survival",
    "draw_timeouts",
    "draw_w1",
]

#: The results draw themselves by these functions, and so are not imported here.
TimeToSolution = Any
W1Scan = Any
ExponentFit = Any
EnergyTrace = Any

#: Energies a variable of random 3-regular systems: below the first there are metastable states, at the second
#: most of them are marginal (A. Montanari, F. Ricci-Tersenghi, Eur. Phys. J. B 33, 339, 2003).
HIGHEST_METASTABLE, MARGINAL = -0.958659, -0.963594

_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")


def draw_survival(
    results: Sequence[TimeToSolution],
    ax: Any = None,
    *,
    unit: Literal["seconds", "sweeps"] = "seconds",
    labels: Sequence[str] | None = None,
) -> Any:
    """Draw P[TTS > t] of each result as steps, with its exponential law (Fig. 2).

    `unit` says what time is counted in, `labels` name the results in the legend.

    Lines straight on the logarithmic scale are exponential laws. The dotted line at 0.01 is crossed
    at TTS99. Runs that were stopped count for as long as they ran.
    """
    ax = _axes(ax)
    lowest = 0.3
    short = "s" if unit == "seconds" else "sweeps"
    for i, result in enumerate(results):
        color = COLORS[i % len(COLORS)]
        times, left = result.curve(unit)
        if not len(times):
            continue
        shown = left > 0
        lowest = min(lowest, left[shown].min(initial=lowest))
        end = float(getattr(result, unit).max())
        tau = result.tau if unit == "seconds" else result.tau_sweeps
        ax.step(
            [0, *times[shown], end],
            [1, *left[shown], left[shown][-1] if shown.any() else 1],
            where="post",
            color=color,
            linewidth=1.5,
        )
        grid = np.linspace(0, end, 50)
        label = rf"$\tau$ = {tau:.3g} {short}, {result.num_solved} of {result.runs} solved"
        if labels is not None:
            label = f"{labels[i]}: {label}"
        ax.plot(grid, np.exp(-grid / tau), "--", color=color, linewidth=0.8, label=label)
    ax.axhline(0.01, color=GREY, linestyle=":", linewidth=1)
    ax.set_ylim(min(lowest * 0.7, 0.007), 1.1)
    ax.set_xlim(left=0)
    title = "Time to solution: steps measured, dashed the exponential law"
    ax.set_yscale("log")
    few = len(results) <= 8 and any(x.num_solved for x in results)
    if not any(x.num_solved for x in results):
        told = "no run has found a solution"
        ax.text(0.5, 0.5, told, ha="center", va="center", color=INK, transform=ax.transAxes)
    clock = "x" if unit == "seconds" else ""
    x = "time $t$" if clock else "time $t$ (sweeps)"
    return finish(ax, title, x, "$P$[TTS > $t$]", seconds=clock, legend=few)


def draw_estimates(results: Sequence[TimeToSolution], ax: Any = None) -> Any:
    """Draw tau of each instance beside the estimates from its percentiles 50, 90 and 99 (Fig. 3)."""
    ax, order, ranks = _ranked(results, ax, markersize=10, label=r"$\tau$, the mean")
    for percent, mark, color in zip((50, 90, 99), _MARKS, COLORS, strict=False):
        scale = -math.log1p(-percent / 100)
        estimates = [x.empirical_tts(percent) / scale for x in order]
        label = f"TTS$_{{{percent}}}$ / {scale:.3g}"
        ax.plot(ranks, estimates, mark, color=color, markersize=4, fillstyle="none", label=label)
    return _finish_ranked(ax, r"Estimates of $\tau$ from percentiles")


def draw_timeouts(
    results: Sequence[TimeToSolution], timeouts: Sequence[float], ax: Any = None
) -> Any:
    """Draw tau as shorter timeouts would have given it, with error bars of 68% (Fig. 4).

    An instance that no run would have solved has an arrow from its lower limit upwards.
    """
    ax, order, ranks = _ranked(results, ax, markersize=12, label="all of each run")
    for i, timeout in enumerate(timeouts):
        cut = [x.stopped_at(timeout).posterior for x in order]
        color, mark = COLORS[i % len(COLORS)], _MARKS[i % len(_MARKS)]
        x = ranks + 0.12 * (i - (len(timeouts) - 1) / 2)
        seen = np.array([p.solved > 0 for p in cut], dtype=bool)
        if seen.any():
            style = {"fmt": mark, "color": color, "linewidth": 0.9}
            some = [p for p in cut if p.solved]
            _bars(ax, x[seen], some, label=f"timeout {timeout:g} s", **style)
        for where, p in zip(x[~seen], (p for p in cut if not p.solved), strict=True):
            ax.plot(where, p.low, "^", color=color, markersize=6, fillstyle="none")
    title = r"$\tau$ from runs with a timeout (open triangle: lower limit)"
    return _finish_ranked(ax, title)


def draw_w1(scan: W1Scan, ax: Any = None) -> Any:
    """Draw the sweeps to solution against w1 with the fitted parabola (Fig. 1)."""
    ax = _axes(ax)
    shown = [(x, r.posterior_sweeps) for x, r in zip(scan.w1, scan.results, strict=True)]
    shown = [(x, p) for x, p in shown if p.solved]
    if shown:
        w1 = np.array([x for x, _ in shown])
        _bars(
            ax, w1, [p for _, p in shown], fmt="o", color=COLORS[0], linewidth=1, label="measured"
        )
        if scan.coefficients is not None:
            grid = np.linspace(w1.min(), w1.max(), 200)
            c = scan.coefficients
            fitted = np.exp(c[0] + c[1] * grid + c[2] * grid**2)
            ax.plot(grid, fitted, color=INK, linewidth=1, label=r"parabola in $\ln \tau$")
    title = "Sweeps to solution"
    if math.isfinite(scan.optimum):
        ax.axvline(scan.optimum, color=GREY, linestyle=":", linewidth=1)
        title += rf", least at $w_1$ = {scan.optimum:.4f} $\pm$ {scan.optimum_error:.4f}"
    x = "$w_1$, probability of flipping a variable of one violated clause"
    ax.set_yscale("log")
    return finish(ax, title, x, r"$\tau$ (sweeps)", legend=bool(shown))


def draw_exponent(fit: ExponentFit, ax: Any = None) -> Any:
    """Draw times against the number of variables with the fitted exponential (Fig. 5)."""
    ax = _axes(ax)
    known = not (fit.errors == 1).all()
    bars = np.minimum(fit.errors, 0.999 * fit.times) if known else None
    style = {"fmt": "o", "color": COLORS[0], "markersize": 5, "linewidth": 1}
    ax.errorbar(fit.sizes, fit.times, bars, label="measured", **style)
    margin = 0.06 * (np.ptp(fit.sizes) or 1)
    grid = np.linspace(fit.sizes.min() - margin, fit.sizes.max() + margin, 100)
    ax.plot(grid, fit.predict(grid), color=INK, linewidth=1, label="exponential fit")
    error = f" $\\pm$ {fit.exponent_error:.2g}" if math.isfinite(fit.exponent_error) else ""
    title = rf"TTS $\propto \exp(a N)$ with $a$ = {fit.exponent:.5g}{error}"
    ax.set_yscale("log")
    return finish(ax, title, "variables $N$", "time to solution (s)", whole="x", legend=True)


def draw_free_energy(
    temperatures: Sequence[float] | None = None, k: int = 3, ax: Any = None
) -> Any:
    """Draw the free energy against the magnetisation at several temperatures (Fig. 6).

    By default from half the spinodal temperature to the spinodal itself.
    """
    ax = _axes(ax)
    highest = spinodal_temperature(k)
    chosen = [share * highest for share in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]
    for i, t in enumerate(chosen if temperatures is None else temperatures):
        curve, color = free_energy(t, k), COLORS[i % len(COLORS)]
        label = f"$T$ = {t:.4g}" + (r" = $T_{sp}$" if abs(t - highest) < 1e-9 else "")
        ax.plot(curve.magnetization, curve.excess, color=color, linewidth=1.4, label=label)
        if t < highest * (1 - 1e-9):
            top = free_energy_barrier(t, k)
            ax.plot(top.magnetization, top.height, "o", color=color, markersize=4)
    ax.axhline(0, color=GREY, linewidth=0.6)
    ax.set_xlim(0, 1)
    title = f"Free energy above the paramagnet's, {k}-spin model of degree {k}"
    y = r"$\beta \Delta f$ a variable"
    return finish(ax, title, "magnetisation $m$", y, legend=True)


def draw_barrier(w1: float = 0.055, k: int = 3, ax: Any = None) -> Any:
    """Draw the barrier against the temperature, with that of the search at w1 (Fig. 7).

    Raises
    ------
    InputError
        If the pseudo-temperature of w1 is at or above the spinodal one: there is no barrier.
    """
    highest, running = spinodal_temperature(k), run_temperature(w1)
    if running >= highest:
        raise InputError(
            f"w1={w1} is the temperature {running:.4f}; below the spinodal temperature "
            f"{highest:.4f}, w1 = {math.exp(-2 / highest):.4f}, there is a barrier"
        )
    ax = _axes(ax)
    grid = np.linspace(min(0.35 * highest, 0.7 * running), highest * (1 - 1e-6), 200)
    heights = [free_energy_barrier(t, k).height for t in grid]
    ax.plot(grid, heights, color=COLORS[0], linewidth=1.6)
    point = free_energy_barrier(running, k)
    ax.plot(running, point.height, "o", color=COLORS[1], zorder=3)
    marks = [(running, r"$T_{run}$"), (highest, r"$T_{sp}$")]
    if k == 3:
        marks.append((DYNAMIC_TEMPERATURE, "$T_d$"))
    for i, (where, name) in enumerate(sorted(marks)):
        ax.axvline(where, color=GREY, linestyle=":", linewidth=1)
        ax.annotate(
            f"{name} = {where:.3g}",
            (where, 0),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 6 + 72 * (i % 3)),  # neighbours at different heights
            textcoords="offset points",
            rotation=90,
            ha="right",
            va="bottom",
            fontsize=9,
            color=INK,
        )
    ax.set_xlim(grid[0], highest * 1.02)
    ax.set_ylim(0, max(heights) * 1.02)
    title = (
        rf"Barrier {point.height:.6f} at $w_1$ = {w1:g}, at magnetisation {point.magnetization:.3f}"
    )
    y = r"barrier $\beta \max_m \Delta f$ a variable"
    return finish(ax, title, "temperature $T$ (units of the coupling)", y)


def draw_energies(
    traces: Sequence[EnergyTrace], ax: Any = None, *, labels: Sequence[str] | None = None
) -> Any:
    """Draw the mean energy a variable against time, with the energies where metastable states are.

    `labels` name the traces in the legend.
    """
    ax = _axes(ax)
    highest = -1.0
    for i, trace in enumerate(traces):
        later = trace.sweeps > 0
        error = np.nan_to_num(trace.error[later])
        label = f"{trace.dynamics}, N = {trace.num_variables}" if labels is None else labels[i]
        style = {"color": COLORS[i % len(COLORS)], "markersize": 4, "label": label}
        marks = _MARKS[i % len(_MARKS)] + "-"
        ax.errorbar(trace.sweeps[later], trace.energy[later], error, fmt=marks, **style)
        highest = max(highest, float(trace.energy[-1]))
    for value, name in ((HIGHEST_METASTABLE, "$e_{max}$"), (MARGINAL, "$e_{marg}$")):
        ax.axhline(value, color=GREY, linestyle=":", linewidth=1)
        at = (0.01, value)
        where = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        over = 2 if value == HIGHEST_METASTABLE else -10
        ax.annotate(f"{name} = {value:.6f}", at, xytext=(0, over), fontsize=8, color=INK, **where)
    ax.set_xscale("log")
    ax.set_ylim(-1.005, max(-0.85, highest + 0.1))
    title = "Energy of local dynamics against time"
    return finish(ax, title, "sweeps", "mean energy a variable", legend=True)


def _axes(ax: Any) -> Any:
    return new_figure().add_subplot() if ax is None else ax


def _ranked(results: Sequence[TimeToSolution], ax: Any, **style: Any) -> Any:
    """Axes with tau of each result, the results in its order, and their ranks."""
    ax = _axes(ax)
    order = sorted(results, key=lambda x: x.tau)
    ranks = np.arange(1, len(order) + 1)
    ax.plot(ranks, [x.tau for x in order], "_", color=INK, **style)
    return ax, order, ranks


def _finish_ranked(ax: Any, title: str) -> Any:
    """Where instances stand side by side."""
    ax.set_yscale("log")
    x, y = r"instance, in order of $\tau$", r"mean time to solution $\tau$"
    return finish(ax, title, x, y, whole="x", seconds="y", legend=True)


def _bars(ax: Any, x: Any, posteriors: Sequence[TauPosterior], **style: Any) -> None:
    """Draw tau with its error bars."""
    mode, low, high = np.array([(p.mode, p.low, p.high) for p in posteriors]).T
    ax.errorbar(x, mode, [mode - low, high - mode], markersize=4, **style)
