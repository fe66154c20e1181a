"""Numbers of the literature beside ours, at stated couplings of SU(3).

``python -m hardscape.benchmarks.gauge.published --device cuda:0 --processes 12 --save FOLDER`` generates small
ensembles and measures t0, the topological susceptibility, r0 and the running coupling: some minutes.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

from hardscape.benchmarks.tables import Table
from hardscape.gauge import (
    GaugeField,
    WilsonChain,
    fix,
    ghost_propagator,
    gluon_propagator,
    observables,
    running_coupling,
    static_potential,
)

app = App(help=__doc__, result_action="return_value")

Row = tuple[str, str, list[float], list[float], str]


def ensemble(
    extent: int,
    beta: float,
    count: int,
    folder: str,
    device: str,
    *,
    thermal: int = 500,
    apart: int = 50,
) -> str:
    """Write configurations of a chain with three overrelaxations a sweep; returns their pattern."""
    where: dict[str, Any] = {"device": "cpu"} if device == "cpu" else {"domains": [device]}
    start = GaugeField.identity((extent,) * 4, 3)
    chain = WilsonChain(start, beta, seed=1, overrelax=3, **where)
    chain.run(thermal)
    for number in range(count):
        chain.run(apart)
        chain.field.to_file(f"{folder}/u.{number}.nersc")
    return f"{folder}/u.*.nersc"


def flow(count: int, folder: str, device: str, processes: int) -> list[Row]:
    """The scale t0 and the susceptibility of the charge at beta = 5.96."""
    files = ensemble(20, 5.96, count, folder, device)
    found = observables(
        files, flow_time=3.2, step=0.05, device="cpu", executor=f"processes:{processes}"
    )
    t0, squares = found.averages["t0"], found.averages["charge_squared"]
    unit = t0.value**2 / 20**4
    return [
        ("t0/a^2", "5.96, 20^4", [t0.value, t0.error], [2.7854, 0.0062], "JHEP 08 (2010) 071, 48 x 24^3"),
        (
            "10^4 t0^2 chi", "5.96, 20^4", [1e4 * unit * x for x in squares[:2]], [6.67, 0.07],
            "Phys. Rev. D 92, 074502 (2015), continuum",
        ),
    ]  # fmt: skip


def potential(count: int, folder: str, device: str, processes: int) -> list[Row]:
    """The distance r0 at beta = 6 from smeared Wilson loops."""
    files = ensemble(16, 6.0, count, folder, device)
    run: dict[str, Any] = {"device": "cpu", "executor": f"processes:{processes}"}
    found = observables(files, loops=(8, 6), smearing=(0.5, 20), bin_size=2, **run)
    r0 = static_potential(found).r0
    return [("r0/a", "6.0, 16^4", list(r0), [5.37, 0.03], "Nucl. Phys. B 622, 328 (2002), fit")]


def coupling(count: int, folder: str, device: str, processes: int) -> list[Row]:
    """The coupling of ghost and gluon at beta = 6.4, beside three loops with Lambda of the literature."""
    ensemble(24, 6.4, count, folder, device)
    for number in range(count):
        fixed = fix(f"{folder}/u.{number}.nersc", "landau", seed=number, device=device).fixed()
        fixed.to_file(f"{folder}/landau.{number}.nersc")
    files, momenta = f"{folder}/landau.*", [(2, 2, 2, 2), (2, 2, 2, 3), (3, 3, 3, 3)]
    ghost = ghost_propagator(files, momenta, device=device)
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
        rows.append((name, "6.4, 24^4", [float(value), float(deviation)], [middle, spread], source))
    return rows


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


STEPS: dict[str, tuple[Callable[[int, str, str, int], list[Row]], int]] = {
    "potential": (potential, 120),
    "coupling": (coupling, 8),
    "flow": (flow, 60),
}


@app.default
def main(
    *,
    save: Path | None = None,
    device: str = "cpu",
    processes: int = 2,
    only: str = "",
    scale: float = 1.0,
) -> None:
    """Print the table.

    Parameters
    ----------
    save
        Folder for the table as JSON; it is written after each step.
    device
        Where chains, gauges and ghosts run: "cpu" or a GPU.
    processes
        What measures the rest.
    only
        Names of steps: potential,coupling,flow.
    scale
        Factor on the numbers of configurations.
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
            for what, where, ours, theirs, source in step(count, folder, device, processes):
                table.add(what, where, *map(float, ours), *theirs, source, count)
        if save is not None:
            table.save(save)


if __name__ == "__main__":
    app()
