"""Numbers of the literature beside ours, at stated couplings of SU(3).

``python -m hardscape.benchmarks.gauge.published --device cuda:0 --processes 12 --save FOLDER`` generates small
ensembles and measures r0, t0, w0, the topological susceptibility and the running coupling: some minutes each.
A chain is measured by other processes while it goes on. `--seconds` ends a step early; ``--raw FOLDER`` keeps
what was measured on each configuration.
"""

from __future__ import annotations

import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App
from numpy.typing import NDArray

from hardscape.benchmarks.tables import Table
from hardscape.errors import Interrupted
from hardscape.gauge import (
    Ensemble,
    GaugeField,
    WilsonChain,
    fix,
    ghost_propagator,
    gluon_propagator,
    observables,
    running_coupling,
    static_potential,
)
from hardscape.gauge.ensembles.averages import jackknife

app = App(help=__doc__, result_action="return_value")

Row = tuple[str, str, list[float], list[float], str]
#: Sweeps before the first configuration and between two; overrelaxations in each. Configurations of a bin.
_THERMAL, _APART, _OVERRELAX, _BIN = 500, 40, 3, 2


@dataclass(frozen=True)
class How:
    """Where a step runs, and for how long."""

    count: int
    seconds: float
    device: str
    processes: int
    folder: Path


def chain(extent: int, beta: float, device: str) -> WilsonChain:
    """A chain that has come to equilibrium from links that are the identity."""
    where: dict[str, Any] = {"device": "cpu"} if device == "cpu" else {"domains": [device]}
    start = GaugeField.identity((extent,) * 4, 3)
    made = WilsonChain(start, beta, seed=1, overrelax=_OVERRELAX, **where)
    made.run(_THERMAL)
    return made


def measured(path: Path, options: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The columns of one configuration, whose file is no longer wanted."""
    try:
        found = observables(path, device="cpu", threads=1, **options)
    except Interrupted:  # the step's time is over
        raise SystemExit from None
    path.unlink()
    return dict(found.values)


def ensemble(extent: int, beta: float, how: How, **options: Any) -> Ensemble:
    """What `observables` finds on the configurations of a chain, in their order, as far as time allows."""
    began = time.monotonic()
    made = chain(extent, beta, how.device)
    waiting: list[Any] = []

    def left() -> float:
        return how.seconds - (time.monotonic() - began)

    def wait(most: int) -> None:
        """Until no more than so many are to be measured."""
        while left() > 0 and len(busy := [x for x in waiting if not x.ready()]) > most:
            busy[0].wait(min(1.0, left()))

    with multiprocessing.get_context("spawn").Pool(how.processes) as pool:
        for number in range(how.count):
            if left() < 0:
                break
            made.run(_APART)
            path = how.folder / f"u.{number}.npz"
            made.field.to_file(path)
            waiting.append(pool.apply_async(measured, (path, options)))
            wait(2 * how.processes)
        wait(0)
        rows = [x.get() for x in waiting if x.ready()]
    values = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    files, seconds = tuple(map(str, range(len(rows)))), time.monotonic() - began
    return Ensemble(
        "observables", files, (), values, len(rows), "jackknife", _BIN, 1, how.device, "", seconds
    )


def flow(how: How) -> tuple[list[Row], Ensemble]:
    """The scales t0 and w0 at beta = 5.96."""
    found = ensemble(20, 5.96, how, flow_time=3.4, step=0.05)
    columns = np.stack([found[name] for name in ("t0", "w0")], axis=1)
    ratio = jackknife(columns, lambda x: x[1] / math.sqrt(x[0]), bin_size=_BIN)
    where, t0 = "5.96, 20^4", found.averages["t0"]
    rows: list[Row] = [
        ("t0/a^2", where, list(t0[:2]), [2.7854, 0.0062], "JHEP 08 (2010) 071, 48 x 24^3"),
        (
            "w0/sqrt(t0)", where, list(map(float, ratio)), [1.0198, 0.0058],
            "continuum: w0 Tc, Phys. Rev. D 105, 074513 (2022); sqrt(t0) Tc, Phys. Rev. D 91, 096002 (2015)",
        ),
    ]  # fmt: skip
    return rows, found


def charge(how: How) -> tuple[list[Row], Ensemble]:
    """The topological susceptibility at beta = 6, after a flow time of 3.6, in units of the median of t0."""
    found = ensemble(16, 6.0, how, flow_time=3.6, step=0.1)
    t0 = float(np.median(np.nan_to_num(found["t0"], nan=math.inf)))
    value = [1e4 * t0**2 * x / 16**4 for x in found.averages["charge_squared"][:2]]
    source = "Phys. Rev. D 92, 074502 (2015), continuum"
    return [("10^4 t0^2 chi", "6.0, 16^4", value, [6.67, 0.07], source)], found


def critical(how: How) -> tuple[list[Row], Ensemble]:
    """The scale w0 at beta = 5.8941, where a lattice of six timeslices becomes deconfined."""
    found = ensemble(16, 5.8941, how, flow_time=2.8, step=0.05)
    return [_of_transition(6, "5.8941, 16^4", found)], found


def finer(how: How) -> tuple[list[Row], Ensemble]:
    """The same at beta = 6.0624, of eight timeslices."""
    found = ensemble(20, 6.0624, how, flow_time=6.4, step=0.08)
    return [_of_transition(8, "6.0624, 20^4", found)], found


def _of_transition(slices: int, where: str, found: Ensemble) -> Row:
    published = [slices * 0.25384, slices * 0.00023]
    source = f"{slices} w0 Tc, continuum, Phys. Rev. D 105, 074513 (2022)"
    return "w0/a", where, list(found.averages["w0"][:2]), published, source


def potential(how: How) -> tuple[list[Row], Ensemble]:
    """The distance r0 at beta = 6 from smeared Wilson loops."""
    found = ensemble(16, 6.0, how, loops=(7, 8), smearing=(0.5, 60))
    fits = static_potential(found)
    where, source = f"6.0, 16^4, D = {fits.fitted_separation}", "Nucl. Phys. B 622, 328 (2002), fit"
    rows: list[Row] = [
        ("r0/a of the force", where, list(fits.r0_of_force), [5.37, 0.03], source),
        ("r0/a of the fit, R = 2 to 7", where, list(fits.r0), [5.37, 0.03], source),
    ]
    return rows, found


def coupling(how: How) -> tuple[list[Row], None]:
    """The coupling of ghost and gluon at beta = 6.4, beside three loops with Lambda of the literature."""
    made, folder, count, began = chain(24, 6.4, how.device), how.folder, 0, time.monotonic()
    for number in range(how.count):
        if number > 1 and time.monotonic() - began > how.seconds / 2:
            break
        made.run(_APART)
        fixed = fix(made.field, "landau", seed=number, device=how.device).fixed()
        fixed.to_file(folder / f"landau.{number}.nersc")
        count += 1
    files = [folder / f"landau.{number}.nersc" for number in range(count)]
    momenta = [(2, 2, 2, 2), (2, 2, 2, 3), (3, 3, 3, 3)]
    ghost = ghost_propagator(files, momenta, device=how.device)
    gluon = gluon_propagator(files, beta=6.4, device="cpu")
    found = running_coupling(ghost, gluon)
    r0, error = 9.75, 0.08  # in lattice spacings, the same fit
    rows: list[Row] = []
    for p, value, deviation in zip(found.momentum, found.value, found.error, strict=True):
        # Lambda in the MS-bar scheme is 0.62(1) / r0; in that of the propagators exp(169 / 264) times that.
        scale = math.exp(169 / 264) * np.array([0.62, 0.63])
        middle, other = (three_loops(p * r0 / x) for x in scale)
        spread = math.hypot(other - middle, three_loops(p * (r0 + error) / scale[0]) - middle)
        name = f"alpha_s at p r0 = {p * r0:.2f}"
        source = "Phys. Lett. B 681, 336 (2009)"
        where = f"6.4, 24^4, {count} configurations"
        rows.append((name, where, [float(value), float(deviation)], [middle, spread], source))
    return rows, None


def three_loops(ratio: float) -> float:
    """alpha_s at so many Lambda in the scheme of ghost and gluon (MiniMOM), without quarks."""
    b0, b1, b2 = 11.0, 102.0, 3040.482  # of alpha / 4 pi

    def logarithm(a: float) -> float:
        x = np.linspace(0, a, 2001)
        rest = (b1**2 - b0 * b2 + b1 * b2 * x) / (b0**2 * (b0 + b1 * x + b2 * x**2))
        integral = float(np.sum(rest[1:] + rest[:-1]) / 2 * (x[1] - x[0]))
        return 1 / (b0 * a) + b1 / b0**2 * math.log(b0 * a) - integral

    low, high = 1e-4, 0.08
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if logarithm(middle) > 2 * math.log(ratio) else (low, middle)
    return 4 * math.pi * low


#: Each with its usual number of configurations.
STEPS: dict[str, tuple[Callable[[How], tuple[list[Row], Ensemble | None]], int]] = {
    "potential": (potential, 400),
    "flow": (flow, 100),
    "charge": (charge, 300),
    "critical": (critical, 100),
    "finer": (finer, 60),
    "coupling": (coupling, 12),
}


@app.default
def main(
    *,
    save: Path | None = None,
    raw: Path | None = None,
    device: str = "cpu",
    processes: int = 2,
    only: str = "",
    scale: float = 1.0,
    seconds: float = math.inf,
) -> None:
    """Print the table.

    Parameters
    ----------
    save
        Folder for the table as JSON; it is written after each step.
    raw
        Folder for what was measured on each configuration, ``STEP.npz``.
    device
        Where chains, gauges and ghosts run: "cpu" or a GPU.
    processes
        What measures the rest.
    only
        Names of steps, with commas.
    scale
        Factor on the numbers of configurations.
    seconds
        After which a step ends with what was measured until then.
    """
    columns = [
        "what",
        "beta, lattice",
        "ours",
        "error",
        "published",
        "error of it",
        "source",
        "configurations",
    ]
    table = Table.begun("gauge-published", columns)
    for name, (step, usual) in STEPS.items():
        if only and name not in only.split(","):
            continue
        count = max(2, round(usual * scale))
        with tempfile.TemporaryDirectory() as folder:
            rows, found = step(How(count, seconds, device, processes, Path(folder)))
        count = count if found is None else len(found)
        for what, where, ours, theirs, source in rows:
            table.add(what, where, *map(float, ours), *theirs, source, count)
        if raw is not None and found is not None:
            raw.mkdir(parents=True, exist_ok=True)
            arrays: dict[str, Any] = dict(found.values)
            np.savez(raw / f"{name}.npz", **arrays)
        if save is not None:
            table.save(save)


if __name__ == "__main__":
    app()
