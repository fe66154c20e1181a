"""Figures 1 to 7 and Table 1 of Bernaschi et al., How we are leading a 3-XORSAT challenge (2021).

Times are counted in sweeps of one clone: the mean time to solution of a run times its clones, which no
machine and no number of clones changes as long as the law is exponential.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hardscape.figures import COLORS, GREY, INK, finish
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request
from hardscape.xorsat.generators import random_regular
from hardscape.xorsat.studies.plots import draw_barrier, draw_free_energy
from hardscape.xorsat.studies.scans import fit_exponent, scan_w1
from hardscape.xorsat.studies.theory import (
    free_energy,
    free_energy_barrier,
    run_temperature,
    spinodal_temperature,
)
from hardscape.xorsat.studies.time_to_solution import time_to_solution
from hardscape.xorsat.studies.times import TimeToSolution

_PAPER = "Bernaschi et al., EPL 133, 60005 (2021)"
#: w1 of the paper's runs, and its Table 1: N, TTS99 in seconds of the median instance on one V100, error.
_W1 = 0.055
_TABLE_1 = {128: (0.0275, 0.0005), 256: (640.0, 20.0), 320: (130e3, 30e3)}
_OWN = "Instances are our own, of the same kind: random regular 3-XORSAT of full rank."


def _measured(
    request: Request, n: int, instances: int, runs: int, timeout: float
) -> Iterator[TimeToSolution]:
    """Times to solution of the instances of one size."""
    for number in range(instances):
        request.tell(f"N = {n}, instance {number + 1} of {instances}")
        seed = [request.seed, n, number]
        system = random_regular(n, seed=int(np.random.SeedSequence(seed).generate_state(1)[0]))
        yield time_to_solution(system, runs, timeout, w1=_W1, seed=request.seed, **request.run)


def _best_w1(request: Request) -> Findings:
    n, runs, timeout = (224, 40, 60.0) if request.full else (112, 600, 5.0)
    points = np.arange(8, 23, 2) / 256
    request.tell(f"N = {n}, {len(points)} values of w1, {runs} runs each")
    system = random_regular(n, seed=request.seed)
    found = scan_w1(system, points, runs, timeout, seed=request.seed, **request.run)
    rows = [
        (float(w1), x.num_solved, x.runs, x.tau_sweeps * x.clones, *_interval(x))
        for w1, x in zip(found.w1, found.results, strict=True)
    ]
    best = Quantity("w1 of least sweeps", found.optimum, found.optimum_error, 0.054, 0.001)
    columns = ("w1", "solved", "runs", "sweeps of one clone", "low", "high")
    return Findings(
        columns, rows, [best], f"{_OWN} One instance of N = {n}, as the paper has one of N = 256."
    )


def _draw_best_w1(data: dict[str, list[Any]], ax: Any) -> Any:
    y, low, high = (np.array(data[name]) for name in ("sweeps of one clone", "low", "high"))
    ax.errorbar(data["w1"], y, [y - low, high - y], fmt="o", color=COLORS[0], label="measured")
    ax.axvline(0.054, color=GREY, linestyle=":", label="least in the paper: 0.054(1)")
    ax.set_yscale("log")
    x = "$w_1$, probability of flipping a variable of one violated clause"
    return finish(ax, "Time to solution against $w_1$", x, "sweeps of one clone", legend=True)


def _exponential_law(request: Request) -> Findings:
    n, instances, runs = (192, 20, 1000) if request.full else (120, 8, 1000)
    rows: list[tuple[float, ...]] = []
    laws = []
    for number, found in enumerate(_measured(request, n, instances, runs, 60.0), start=1):
        laws.append(found.exponential_test())
        times, left = found.curve("sweeps")
        chosen = np.unique(np.linspace(0, len(times) - 1, 200).astype(int))
        rows += [
            (number, found.tau_sweeps * found.clones, t * found.clones, p)
            for t, p in zip(times[chosen].tolist(), left[chosen].tolist(), strict=True)
        ]
    rare = sum(law < 0.01 for law in laws)
    quantities = [
        Quantity("median p-value of the exponential law", float(np.median(laws))),
        Quantity(f"instances of {instances} whose p-value is below 0.01", rare),
    ]
    text = f"{_OWN} {instances} of N = {n}, {runs} runs each (paper: 20 of N = 256, 1008 runs)."
    columns = ("instance", "tau", "sweeps of one clone", "share of runs left")
    return Findings(columns, rows, quantities, text)


def _draw_exponential_law(data: dict[str, list[Any]], ax: Any) -> Any:
    instance, tau, t, left = (np.array(data[name]) for name in data)
    for i in np.unique(instance):
        mine = (instance == i) & (left > 0)
        color = COLORS[int(i - 1) % len(COLORS)]
        ax.step(t[mine] / tau[mine], left[mine], where="post", color=color, linewidth=1)
    grid = np.linspace(0, 6, 50)
    ax.plot(grid, np.exp(-grid), "--", color=INK, label=r"$\exp(-t/\tau)$")
    ax.axhline(0.01, color=GREY, linestyle=":")
    ax.set_yscale("log")
    ax.set_ylim(5e-4, 1.1)
    title = "Time to solution of each instance, in units of its mean"
    return finish(ax, title, r"$t / \tau$", "$P$[TTS > $t$]", legend=True)


def _percentiles(request: Request) -> Findings:
    n, instances, runs = (192, 100, 300) if request.full else (112, 60, 200)
    results = list(_measured(request, n, instances, runs, 60.0))
    rows = []
    for x in sorted(results, key=lambda x: x.tau_sweeps):
        times, left = x.curve("sweeps")
        estimates = [
            float(times[np.flatnonzero(left <= 1 - p / 100 + 1e-12)[0]]) / -math.log1p(-p / 100)
            for p in (50, 90, 99)
        ]
        rows.append([x.tau_sweeps * x.clones, *(e * x.clones for e in estimates)])
    table = np.array(rows)
    off = np.std(np.log(table[:, 1:] / table[:, :1]), axis=0)
    quantities = [
        Quantity(f"scatter of the estimate from TTS{p} around tau, in ln tau", float(s))
        for p, s in zip((50, 90, 99), off, strict=True)
    ]
    spread = float(np.log(table[:, 0]).std())
    quantities.append(Quantity("scatter of tau from instance to instance, in ln tau", spread))
    text = f"{_OWN} {instances} of N = {n}, {runs} runs each; the paper has 100 of N = 256."
    return Findings(("tau", "from TTS50", "from TTS90", "from TTS99"), rows, quantities, text)


def _draw_percentiles(data: dict[str, list[Any]], ax: Any) -> Any:
    ranks = np.arange(1, len(data["tau"]) + 1)
    ax.plot(ranks, data["tau"], "_", color=INK, markersize=9, label=r"$\tau$, the mean")
    for i, name in enumerate(("from TTS50", "from TTS90", "from TTS99")):
        ax.plot(
            ranks, data[name], "os^"[i], color=COLORS[i], markersize=4, fillstyle="none", label=name
        )
    ax.set_yscale("log")
    title = r"Four estimates of $\tau$, instance by instance"
    return finish(ax, title, r"instance, in order of $\tau$", "sweeps of one clone", legend=True)


def _timeouts(request: Request) -> Findings:
    n, instances, runs = (192, 60, 200) if request.full else (112, 60, 200)
    results = list(_measured(request, n, instances, runs, 60.0))
    median = float(np.median([x.tau_sweeps for x in results]))
    shares = (
        0.03,
        0.1,
        0.3,
    )  # of the median tau: the paper's 5, 10 and 20 s are 4 to 15% of its own
    rows = []
    for x in sorted(results, key=lambda x: x.tau_sweeps):
        row: list[float] = [x.tau_sweeps * x.clones]
        for share in shares:
            solved, spent = _stopped(x, share * median)
            row += [spent * x.clones / solved if solved else math.inf, solved]
        rows.append(row)
    table = np.array(rows)
    quantities = []
    for i, share in enumerate(shares):
        some = table[:, 2 + 2 * i] > 0
        ratio = table[some, 1 + 2 * i] / table[some, 0]
        pull = np.log(ratio) * np.sqrt(table[some, 2 + 2 * i])
        quantities += [
            Quantity(
                f"median of tau by a timeout of {share:g} median tau, over tau",
                float(np.median(ratio)) if some.any() else math.nan,
                None,
                1.0,
            ),
            Quantity(f"instances off by more than 2 errors there, of {len(table)}",
                     int((np.abs(pull) > 2).sum())),
        ]  # fmt: skip
    columns = ["tau"]
    for share in shares:
        columns += [f"timeout {share:g}", f"solved {share:g}"]
    return Findings(columns, rows, quantities, f"{_OWN} {instances} of N = {n}, {runs} runs each.")


def _stopped(found: TimeToSolution, sweeps: float) -> tuple[int, float]:
    """Runs that had solved within so many sweeps, and the sweeps of all till then."""
    solved = int((found.solved & (found.sweeps <= sweeps)).sum())
    return solved, float(np.minimum(found.sweeps, sweeps).sum())


def _draw_timeouts(data: dict[str, list[Any]], ax: Any) -> Any:
    tau = np.array(data["tau"])
    for i, name in enumerate([name for name in data if name.startswith("timeout")]):
        solved = np.array(data[name.replace("timeout", "solved")], dtype=float)
        guess = np.array([np.nan if x is None else x for x in data[name]], dtype=float)
        seen = solved > 0
        ratio = guess[seen] / tau[seen]
        label = f"{name} of the median $\\tau$"
        style = {"color": COLORS[i], "markersize": 4, "linewidth": 0.8, "label": label}
        ax.errorbar(tau[seen], ratio, ratio / np.sqrt(solved[seen]), fmt="os^"[i], **style)
    ax.axhline(1, color=GREY, linestyle=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    x, y = r"$\tau$ of all runs, sweeps of one clone", r"estimate with the timeout, over $\tau$"
    return finish(ax, "Running with a short timeout", x, y, legend=True)


def _growth(request: Request) -> Findings:
    # N, instances, runs, seconds of a run at most
    sizes = (
        [(128, 60, 20, 20.0), (160, 60, 12, 20.0), (192, 48, 6, 20.0), (224, 40, 2, 20.0),
         (256, 24, 1, 30.0)]
        if request.full
        else [(64, 60, 100, 5.0), (80, 60, 100, 5.0), (96, 60, 60, 10.0), (112, 60, 40, 10.0),
              (128, 60, 20, 20.0), (144, 40, 10, 30.0)]
    )  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    for n, instances, runs, timeout in sizes:
        results = list(_measured(request, n, instances, runs, timeout))
        median, error = _median([x.tau_sweeps * x.clones for x in results])
        seconds, seconds_error = _median([x.tau for x in results])
        rate = float(np.median([x.spin_updates_per_second for x in results]))
        factor = -math.log(0.01)
        rows.append(
            (n, instances, runs, sum(x.num_solved for x in results), median * factor, error * factor,
             seconds * factor, seconds_error * factor, rate)
        )  # fmt: skip
    big = [row for row in rows if row[0] >= (128 if request.full else 96)]
    fit = fit_exponent(*(np.array([row[i] for row in big]) for i in (0, 4, 5)))
    why = (
        ""
        if request.full
        else f"fitted from N = {big[0][0]} to {big[-1][0]}; the paper from 128 to 320"
    )
    quantities = [
        Quantity("a, from TTS99 ~ exp(a N)", fit.exponent, fit.exponent_error, 0.0786, 0.0004, why)
    ]
    for row in rows:
        if row[0] in _TABLE_1 and request.full:
            name = f"TTS99 of the median instance at N = {row[0]}, s"
            quantities.append(Quantity(name, row[6], row[7], *_TABLE_1[row[0]], "paper: one V100"))
    columns = ("N", "instances", "runs", "solved", "TTS99, sweeps of one clone", "error",
               "TTS99, s", "error, s", "spin updates a second")  # fmt: skip
    text = f"{_OWN} w1 = {_W1}. Errors are those of the median over the instances, by bootstrap."
    return Findings(columns, rows, quantities, text)


def _median(values: list[float]) -> tuple[float, float]:
    """Median and its error, by 1000 resamplings; infinities (unsolved instances) lie above all."""
    random = np.random.default_rng(0)
    drawn = np.median(random.choice(values, (1000, len(values))), axis=1)
    low, high = np.quantile(drawn, [0.16, 0.84], method="nearest")
    return float(np.median(values)), float(high - low) / 2


def _draw_growth(data: dict[str, list[Any]], ax: Any) -> Any:
    n, y, error = (np.array(data[x]) for x in ("N", "TTS99, sweeps of one clone", "error"))
    ax.errorbar(n, y, error, fmt="o", color=COLORS[0], label="median instance")
    fit = fit_exponent(n[-3:], y[-3:], error[-3:])
    grid = np.linspace(n.min(), n.max(), 50)
    label = rf"last three: $\exp({fit.exponent:.4f}\,N)$"
    ax.plot(grid, fit.predict(grid), color=INK, linewidth=1, label=label)
    published = y[-1] * np.exp(0.0786 * (grid - n[-1]))
    ax.plot(grid, published, ":", color=COLORS[1], label=r"published growth, $\exp(0.0786\,N)$")
    barrier = free_energy_barrier(run_temperature(_W1)).height
    theory = y[-1] * np.exp(barrier * (grid - n[-1]))
    ax.plot(grid, theory, "--", color=GREY, label=rf"theory, $\exp({barrier:.4f}\,N)$")
    ax.set_yscale("log")
    title = "99th percentile of the time to solution"
    return finish(ax, title, "variables $N$", "sweeps of one clone", whole="x", legend=True)


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
    barrier = free_energy_barrier(run_temperature(_W1)).height
    quantities = [
        Quantity(f"barrier at w1 = {_W1}", barrier, None, 0.0827249),
        Quantity("temperature of the search", run_temperature(_W1), None, 0.69),
    ]
    return Findings(("temperature", "barrier"), rows, quantities, "Computed to full precision.")


def _interval(found: TimeToSolution) -> tuple[float, float]:
    known = found.posterior_sweeps
    return known.low * found.clones, known.high * found.clones


def _figure(number: int, shows: str, measure: Any, draw: Any) -> Figure:
    return Figure(f"xorsat-{number}", f"{_PAPER}, Fig. {number}", shows, measure, draw)


FIGURES = (
    _figure(1, "Sweeps to solution against w1", _best_w1, _draw_best_w1),
    _figure(2, "The time to solution is exponentially distributed", _exponential_law,
            _draw_exponential_law),
    _figure(3, "Its mean from percentiles, instance by instance", _percentiles, _draw_percentiles),
    _figure(4, "Its mean from runs with a short timeout", _timeouts, _draw_timeouts),
    _figure(5, "Its growth with N (and Table 1)", _growth, _draw_growth),
    _figure(6, "The free energy against the magnetisation", _free_energies,
            lambda data, ax: draw_free_energy(sorted(set(data["temperature"])), ax=ax)),
    _figure(7, "The free-energy barrier against the temperature", _barriers,
            lambda data, ax: draw_barrier(_W1, ax=ax)),
)  # fmt: skip
