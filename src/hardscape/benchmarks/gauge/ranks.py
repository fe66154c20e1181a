"""One lattice on ranks of MPI: site updates of sweeps, and iterations of the conjugate gradient.

``python -m hardscape.benchmarks.gauge.ranks --ranks 1,2,4 --save FOLDER`` calls mpiexec for each number of
ranks, which sweep an SU(3) field in Landau gauge by matrix-overrelaxation.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

from hardscape.benchmarks.gauge.domains import links_of
from hardscape.benchmarks.tables import Table
from hardscape.gauge import domains
from hardscape.gauge.domains.ranks import Domains
from hardscape.gauge.lattice.lattices import Sweep, Turn
from hardscape.gauge.options import FixOptions

app = App(help=__doc__, result_action="return_value")

_SWEEPS, _ITERATIONS, _REPEATS = 10, 3, 4


def told(ranks: Domains, links: Any, single: bool, threads: int) -> dict[str, list[float]]:
    """Site updates a second, and seconds of an iteration of the conjugate gradient, but for the first."""
    options = FixOptions(precision="single" if single else "double", theta=1e-9)
    rates, seconds = [], []
    with ranks.placed(links, options, threads):
        lattices = ranks.lattices(links, options, single, 1)
        active = np.ones((1, lattices.slices), dtype=bool)
        stop, seeds = np.zeros(1, dtype=np.uint8), np.array([5], dtype=np.uint64)
        turn = Turn([Sweep(1, omega=1.8)], seeds, np.zeros(1, np.int64), _SWEEPS, active, stop)
        for _ in range(_REPEATS):
            began = time.perf_counter()
            lattices.sweep(turn)
            lattices.measure()
            rates.append(_SWEEPS * lattices.volume / (time.perf_counter() - began))
        steps = lattices.accelerator()
        assert steps is not None
        for _ in range(_REPEATS):
            began = time.perf_counter()
            for _ in range(_ITERATIONS):
                steps.advance(active)
            seconds.append((time.perf_counter() - began) / _ITERATIONS)
    return {"rates": rates[1:], "seconds": seconds[1:]}


@app.command
def one(
    extent: int, slices: int, *, single: bool = False, threads: int = 1, gpus: bool = False
) -> None:
    """What a rank runs; the first prints a line of JSON."""
    from mpi4py import MPI  # it begins with MPI_Init

    with domains(MPI.COMM_WORLD, on_gpus=gpus) as ranks:
        if ranks is not None:
            links = np.ascontiguousarray(links_of(extent, slices))
            print(json.dumps(told(ranks, links, single, threads)), flush=True)


@app.default
def main(
    *,
    ranks: str = "1,2",
    extent: int = 16,
    slices: int = 16,
    weak: bool = False,
    single: bool = False,
    threads: int = 1,
    gpus: bool = False,
    save: Path | None = None,
) -> None:
    """Print the table.

    Parameters
    ----------
    ranks
        Numbers of ranks, "1,2,4".
    extent, slices
        In space, a multiple of 16, and in time.
    weak
        As many timeslices for every rank, not in all.
    single
        Precision.
    threads
        Of a rank.
    gpus
        A GPU for each rank.
    save
        Folder for the table as JSON.
    """
    columns = ["lattice", "ranks", "site updates/s", "factor", "s an iteration of fourier-cg"]
    table = Table.begun("gauge-ranks", columns)
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        sys.exit("mpiexec is not in PATH: pip install 'hardscape[mpi]' mpich")
    alone = 0.0
    for many in map(int, ranks.split(",")):
        long = slices * (many if weak else 1)
        words = [sys.executable, "-m", __spec__.name, "one", str(extent), str(long)]
        words += ["--threads", str(threads), *["--single"] * single, *["--gpus"] * gpus]
        run = subprocess.run(
            [mpiexec, "-n", str(many), *words], stdout=subprocess.PIPE, text=True, check=True,
            env={**os.environ, "HYDRA_LAUNCHER": "fork"},
        )  # fmt: skip
        found = json.loads(run.stdout.splitlines()[-1])
        median = float(np.median(found["rates"]))
        alone = alone or median / many
        shape = f"{extent}^3 x {long}"
        table.add(shape, many, found["rates"], median / alone, found["seconds"])
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
