"""Figures 1 and 2 of Schröck, Vogt, Gauge fixing using overrelaxation and simulated annealing (2012)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardscape.figures import COLORS, GREY, finish
from hardscape.gauge.field import GaugeField
from hardscape.gauge.fix import fix
from hardscape.gauge.generate import generate
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request

_PAPER = "Schröck, Vogt, PoS LATTICE2012, 187 (2012)"
#: Operations of the paper's sweep, a site; its best rate in single precision, Gflops.
_FLOP, _GFLOPS = 2253, 300.0
#: By precision, the least theta that can be asked for: sweeps end by their number.
_LEAST = {"single": 1e-11, "double": 1e-25}
_PRECISIONS = tuple(_LEAST)
_SWEPT = ("overrelaxation", "stochastic", "matrix-overrelaxation")


def _rates(request: Request) -> Findings:
    side, times, sweeps = (24, (8, 16, 32, 64, 96), 1000) if request.full else (8, (4, 8, 16), 200)
    rows: list[tuple[Any, ...]] = []
    how: dict[str, Any]
    for extent in times:
        field = GaugeField.random((extent, side, side, side), seed=request.seed)
        for precision in _PRECISIONS:
            for method in _SWEPT:
                request.tell(f"{side}^3 x {extent}, {precision}, {method}")
                how = {"method": method, "precision": precision, "theta": _LEAST[precision]}
                run = {"strict": False, "seed": request.seed, **how, **request.run}
                fix(field, max_sweeps=1, **run)  # compiles
                each = sorted(
                    fix(field, max_sweeps=sweeps // 3, **run).site_updates_per_second
                    for _ in range(3)
                )
                rate = each[1]
                gflops = rate * _FLOP / 1e9 if method != "matrix-overrelaxation" else None
                rows.append((extent, precision, method, rate, each[2] - each[0], gflops))
    best = max((r for r in rows if r[1:3] == ("single", "overrelaxation")), key=lambda row: row[3])
    matrix = max((r for r in rows if r[2] == "matrix-overrelaxation"), key=lambda row: row[3])
    quantities = [
        Quantity("Gflops of overrelaxation, single, best", best[5], best[4] / 2 * _FLOP / 1e9, _GFLOPS,
                 remark="paper: GTX 580"),
        Quantity("site updates a second of matrix-overrelaxation, best", matrix[3], matrix[4] / 2),
    ]  # fmt: skip
    columns = ("N_t", "precision", "method", "site updates a second", "spread", "Gflops")
    text = (
        f"Random links of {side}^3 x N_t, medians of three times {sweeps // 3} sweeps and half their spread; "
        f"{_FLOP} operations a site are the paper's count for a sweep through the subgroups."
    )
    return Findings(columns, rows, quantities, text)


def _draw_rates(data: dict[str, list[Any]], ax: Any) -> Any:
    extent, precision, method, rate = (
        np.array(data[x]) for x in ("N_t", "precision", "method", "site updates a second")
    )
    for i, name in enumerate(_SWEPT):
        for kind, style in zip(_PRECISIONS, ("o-", "s--"), strict=True):
            mine = (method == name) & (precision == kind)
            ax.plot(extent[mine], rate[mine], style, color=COLORS[i], label=f"{name}, {kind}")
    ax.axhline(_GFLOPS * 1e9 / _FLOP, color=GREY, linestyle=":", label="paper, single")
    ax.set_yscale("log")
    title = "Rate of gauge-fixing sweeps"
    return finish(ax, title, "$N_t$", "site updates a second", whole="x", legend=True)


def _convergence(request: Request) -> Findings:
    extent, beta, sweeps = (32, 6.1, 200) if request.full else (8, 6.1, 100)
    most = 10000 if request.full else 4000
    request.tell(f"a configuration of {extent}^4 at beta {beta}")
    field = generate((extent,) * 4, beta, seed=request.seed, sweeps=sweeps, **request.run)
    ways: dict[str, dict[str, Any]] = {"relaxation": {"method": "relaxation"}}
    for omega in (1.3, 1.5, 1.6, 1.7, 1.8):
        ways[f"overrelaxation, omega {omega}"] = {"method": "overrelaxation", "omega": omega}
    for chance in (0.1, 0.2, 0.3, 0.5):
        ways[f"stochastic, p {chance}"] = {"method": "stochastic", "probability": chance}
    ways["annealing first"] = {"method": "annealing", "omega": None}
    ways["matrix-overrelaxation"] = {"method": "matrix-overrelaxation"}
    ways["auto"] = {"method": "auto"}
    rows: list[tuple[Any, ...]] = []
    counts: dict[str, float] = {}
    for name, how in ways.items():
        request.tell(name)
        found = fix(field, theta=1e-12, max_sweeps=most, strict=False, seed=request.seed, **how,
                    **request.run)  # fmt: skip
        rows += [(name, int(at), float(theta)) for at, _, theta in found.history]
        counts[name] = found.sweeps if found.converged else float("inf")
    over = {x: n for x, n in counts.items() if x.startswith("overrelaxation")}
    chance_ = {x: n for x, n in counts.items() if x.startswith("stochastic")}
    best, best_chance = min(over, key=over.__getitem__), min(chance_, key=chance_.__getitem__)
    quantities = [
        Quantity(f"sweeps to theta < 1e-12, {best}", over[best]),
        Quantity(f"sweeps, {best_chance}", chance_[best_chance]),
        Quantity("sweeps, relaxation", counts["relaxation"]),
        *(Quantity(f"sweeps, {name}", counts[name]) for name in ("annealing first", "auto")),
    ]
    text = (
        f"A configuration of our own, {extent}^4 at beta {beta}, from one random gauge, {most} sweeps at "
        "most; the paper's is 32^4 at beta 6.1. How often a way from a random gauge passes close to a "
        "saddle, where all methods slow down, differs from one configuration to the next."
    )
    return Findings(("method", "sweeps", "theta"), rows, quantities, text)


def _draw_convergence(data: dict[str, list[Any]], ax: Any) -> Any:
    method, sweeps, theta = (np.array(data[name]) for name in data)
    names = list(dict.fromkeys(data["method"]))
    for i, name in enumerate(names):
        mine = method == name
        style = ("-", "--", ":")[i // len(COLORS)]
        ax.plot(sweeps[mine], theta[mine], style, color=COLORS[i % len(COLORS)], label=name)
    ax.axhline(1e-12, color=GREY, linestyle=":")
    ax.set_yscale("log")
    ax.set_xscale("log")
    return finish(ax, "Convergence to Landau gauge", "sweeps", r"$\theta$", legend=True)


FIGURES = (
    Figure("gauge-1", f"{_PAPER}, Fig. 1", "Rate of sweeps against the lattice", _rates, _draw_rates),
    Figure("gauge-2", f"{_PAPER}, Fig. 2", "Convergence by method, omega and p", _convergence,
           _draw_convergence),
)  # fmt: skip
