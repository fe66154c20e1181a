"""Of Bernaschi et al. (2021) the landscape: Figures 6 and 7, threshold energies, Metropolis, clones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.figures import COLORS, GREY, INK, finish
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request
from hardscape.reproduce.xorsat import OWN, PAPER, PAPER_W1, W1, measured_times, numbered
from hardscape.xorsat.generators import random_regular
from hardscape.xorsat.studies.energy import EnergyTrace, energy_trace
from hardscape.xorsat.studies.plots import (
    HIGHEST_METASTABLE,
    MARGINAL,
    draw_barrier,
    draw_free_energy,
)
from hardscape.xorsat.studies.scans import least_w1, pooled_times
from hardscape.xorsat.studies.theory import (
    free_energy,
    free_energy_barrier,
    run_temperature,
    spinodal_temperature,
)

_TEXT = f"{PAPER}, of its text"
#: Annealing falls from the first w1, T = 1, to the second, T = 0.14.
_HOT, _COLD = math.exp(-2), 1e-6


def _free_energies(request: Request) -> Findings:
    highest = spinodal_temperature()
    rows = [
        (share * highest, m, y)
        for share in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
        for curve in [free_energy(share * highest, points=200)]
        for m, y in zip(curve.magnetization.tolist(), curve.excess.tolist(), strict=True)
    ]
    quantity = Quantity("spinodal temperature", highest, None, 0.980548)
    columns = ("temperature", "magnetisation", "free energy above the paramagnet's")
    return Findings(columns, rows, [quantity], "Computed to full precision.")


def _barriers(request: Request) -> Findings:
    highest = spinodal_temperature()
    grid = np.linspace(0.35 * highest, highest * (1 - 1e-6), 100).tolist()
    rows = [(t, free_energy_barrier(t).height) for t in grid]
    barrier = free_energy_barrier(run_temperature(PAPER_W1)).height
    quantities = [
        Quantity(f"barrier at w1 = {PAPER_W1}", barrier, None, 0.0827249),
        Quantity("temperature of the search", run_temperature(PAPER_W1), None, 0.69),
    ]
    return Findings(("temperature", "barrier"), rows, quantities, "Computed to full precision.")


def _energies(request: Request) -> Findings:
    n, clones, sweeps = (16384, 1 << 14, 30_000) if request.full else (4096, 4096, 10_000)
    system = random_regular(n, seed=request.seed, full_rank=False)
    rows: list[tuple[Any, ...]] = []

    def traced(kind: str, sweeps: int, **how: Any) -> EnergyTrace:
        request.tell(f"N = {n}, {kind}, {sweeps} sweeps")
        return energy_trace(system, sweeps, clones=clones, seed=request.seed, **how, **request.run)

    def keep(kind: str, trace: EnergyTrace, points: slice) -> None:
        columns = (trace.sweeps, trace.energy, trace.error)
        rows.extend(
            (kind, *row) for row in zip(*(x[points].tolist() for x in columns), strict=True)
        )

    quantities = []
    constant: list[tuple[str, dict[str, Any]]] = [
        ("greedy, w1 = 0", {"w1": 0.0}),
        ("quasi-greedy, w1 = 14/256", {"w1": W1}),
        ("Metropolis, w1 = 14/256", {"w1": W1, "dynamics": "metropolis"}),
    ]
    for kind, how in constant:
        trace = traced(kind, sweeps // 3, looks=12, **how)
        keep(kind, trace, slice(1, None))
        quantities.append(
            Quantity(f"{kind}: energy a variable", float(trace.energy[-1]), float(trace.error[-1]))
        )
    balance = -math.tanh(1 / run_temperature(W1))
    quantities.append(Quantity("the same in equilibrium at that temperature", balance))
    annealed: list[tuple[str, dict[str, Any]]] = [
        ("Metropolis, annealed", {"dynamics": "metropolis"}),
        ("quasi-greedy, annealed", {}),
    ]
    for kind, how in annealed:
        times = np.unique(np.geomspace(30, sweeps, 5).astype(int)).tolist()
        for number in times:
            trace = traced(kind, number, w1=_HOT, until=_COLD, looks=min(30, number), **how)
            keep(kind, trace, slice(-1, None))
        mine = [row for row in rows if row[0] == kind]
        e, away = _limit(*(np.array([row[i] for row in mine], dtype=float) for i in (1, 2, 3)))
        name = f"{kind}: energy of endless annealing, extrapolated"
        expected = f"the paper expects it no higher than {MARGINAL}"
        quantities.append(Quantity(name, e, away, remark=expected))
    why = (
        f"One random regular system of N = {n}, {clones} clones. Annealing goes from T = 1 to 0.14, where "
        "w1 is 1e-6; its points are whole runs. The paper gives no curves, only that local dynamics stops "
        f"above the ground state's -1, no higher than {HIGHEST_METASTABLE} and, it is expected, {MARGINAL}."
    )
    return Findings(("dynamics", "sweeps", "energy", "error"), rows, quantities, why)


def _limit(
    t: NDArray[np.float64], y: NDArray[np.float64], error: NDArray[np.float64]
) -> tuple[float, float]:
    """Y of t without end, of the best law y + A t^-b, and how far it moves without the first or last point."""

    def fitted(t: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64]) -> float:
        best = (math.inf, math.nan)
        for b in np.linspace(0.1, 1.5, 141):
            design = np.stack([np.ones_like(t), t**-b], axis=1) * w[:, None]
            c, *_ = np.linalg.lstsq(design, y * w, rcond=None)
            best = min(best, (float(((design @ c - y * w) ** 2).sum()), float(c[0])))
        return best[1]

    weight = 1 / np.where(np.isfinite(error) & (error > 0), error, 1e-4)
    whole = fitted(t, y, weight)
    without = [fitted(t[part], y[part], weight[part]) for part in (slice(1, None), slice(-1))]
    return whole, max(abs(whole - e) for e in without)


def _draw_energies(data: dict[str, list[Any]], ax: Any) -> Any:
    kinds, t, y, error = (
        data["dynamics"],
        *(
            np.array([np.nan if v is None else v for v in data[x]], dtype=float)
            for x in ("sweeps", "energy", "error")
        ),
    )
    for i, kind in enumerate(dict.fromkeys(kinds)):
        mine = np.array([k == kind for k in kinds])
        line = ":" if "annealed" in kind else "-"
        style = {"color": COLORS[i % len(COLORS)], "markersize": 4, "label": kind}
        ax.errorbar(
            t[mine], y[mine], np.nan_to_num(error[mine]), fmt="os^Dv"[i % 5] + line, **style
        )
    for value in (HIGHEST_METASTABLE, MARGINAL):
        ax.axhline(value, color=GREY, linestyle=":", linewidth=1)
    ax.set_xscale("log")
    ax.set_ylim(-1.0, -0.75)
    title = "Energy against time; dotted: $e_{max}$ and $e_{marg}$"
    return finish(ax, title, "sweeps", "mean energy a variable", legend=True)


def _metropolis(request: Request) -> Findings:
    n, instances, runs, timeout = (160, 16, 10, 5.0) if request.full else (72, 8, 60, 5.0)
    points = np.round(np.linspace(*((10, 26) if request.full else (18, 40)), 5)) / 256
    ways = [(kind, w1) for kind in ("quasi-greedy", "metropolis") for w1 in points.tolist()]
    found = [
        measured_times(request, n, instances, runs, timeout, w1=w1, dynamics=kind)
        for kind, w1 in ways
    ]
    solved = np.array([[x.num_solved for x in one] for one in found], dtype=float).T
    totals = np.array([[float(x.sweeps.sum()) * x.clones for x in one] for one in found]).T
    log, error = pooled_times(solved, totals)
    rows = [
        (*way, int(count), math.exp(y), math.exp(y) * e)
        for way, count, y, e in zip(
            ways, solved.sum(axis=0), log.tolist(), error.tolist(), strict=True
        )
        if math.isfinite(y)
    ]
    half = len(points)
    quantities = []
    for i, kind in enumerate(("quasi-greedy", "metropolis")):
        part = slice(i * half, (i + 1) * half)
        best, away = least_w1(points, log[part], error[part])
        quantities.append(Quantity(f"w1 of least sweeps, {kind}", best, away))
    ratio = float(np.exp(log[half:].min() - log[:half].min()))
    off = ratio * float(np.hypot(error[half:].max(), error[:half].max()))
    quantities.append(
        Quantity("least sweeps by Metropolis, over those by quasi-greedy", ratio, off)
    )
    text = (
        f"{OWN} {instances} of N = {n}. Metropolis has w0 = w1^3 and leaves solutions again, so its "
        "clones are looked at after every sweep; the paper runs w0 = 0 alone."
    )
    return Findings(
        ("dynamics", "w1", "solved", "sweeps of one clone", "error"), rows, quantities, text
    )


def _draw_metropolis(data: dict[str, list[Any]], ax: Any) -> Any:
    w1, y, error = (np.array(data[x], dtype=float) for x in ("w1", "sweeps of one clone", "error"))
    for i, kind in enumerate(dict.fromkeys(data["dynamics"])):
        mine = np.array([k == kind for k in data["dynamics"]])
        style = {"color": COLORS[i], "label": kind}
        ax.errorbar(w1[mine], y[mine], error[mine], fmt="os"[i] + "-", **style)
    ax.set_yscale("log")
    x = "$w_1$, probability of flipping a variable of one violated clause"
    title = "Metropolis, and quasi-greedy, which keeps solutions"
    return finish(ax, title, x, "sweeps of one clone", legend=True)


def _clones(request: Request) -> Findings:
    n, instances, runs = (176, 20, 12) if request.full else (96, 12, 60)
    numbers = [1 << k for k in ((16, 18, 20, 22) if request.full else (10, 12, 14, 16, 18))]
    found = [measured_times(request, n, instances, runs, 30.0, clones=c) for c in numbers]
    solved = np.array([[x.num_solved for x in one] for one in found], dtype=float).T
    totals = np.array([[float(x.sweeps.sum()) * x.clones for x in one] for one in found]).T
    log, error = pooled_times(solved, totals)
    rows = [
        (c, math.exp(y), math.exp(y) * e, math.exp(y) / c)
        for c, y, e in zip(numbers, log.tolist(), error.tolist(), strict=True)
    ]
    ratio = float(np.exp(log[1] - log[0]))
    quantities = [
        Quantity("work with four times the fewest clones, over that with the fewest", ratio,
                 ratio * float(np.hypot(error[0], error[1])), 1.0),
        Quantity("sweeps of each clone until a solution, most clones", rows[-1][3]),
    ]  # fmt: skip
    text = (
        f"{OWN} {instances} of N = {n}. As long as clones solve at a constant rate, twice as many need half "
        "of the sweeps; with more, all sweeps go into the descent to the threshold energy, and the work grows."
    )
    columns = ("clones", "sweeps of one clone", "error", "sweeps of each clone")
    return Findings(columns, rows, quantities, text)


def _draw_clones(data: dict[str, list[Any]], ax: Any) -> Any:
    clones, y, error = (np.array(data[x]) for x in ("clones", "sweeps of one clone", "error"))
    ax.errorbar(clones, y, error, fmt="o-", color=COLORS[0], label="measured")
    ax.axhline(y[0], color=INK, linestyle=":", label="exponential law: no dependence")
    ax.set_xscale("log")
    ax.set_yscale("log")
    title = "Work to solution against clones side by side"
    return finish(ax, title, "clones", "sweeps of one clone", legend=True)


FIGURES = (
    numbered(6, "The free energy against the magnetisation", _free_energies,
             lambda data, ax: draw_free_energy(sorted(set(data["temperature"])), ax=ax)),
    numbered(7, "The free-energy barrier against the temperature", _barriers,
             lambda data, ax: draw_barrier(PAPER_W1, ax=ax)),
    Figure("xorsat-energy", _TEXT, "Threshold energies, and annealing", _energies, _draw_energies),
    Figure("xorsat-metropolis", _TEXT, "Metropolis beside the quasi-greedy search", _metropolis,
           _draw_metropolis),
    Figure("xorsat-clones", _TEXT, "Clones against run time", _clones, _draw_clones),
)  # fmt: skip
