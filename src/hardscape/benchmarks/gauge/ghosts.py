"""The ghost propagator at ten momenta on a GPU, and on a CPU's cores beside it: SU(3), 16^4, beta 6.

``python -m hardscape.benchmarks.gauge.ghosts --threads 2 --save FOLDER`` generates a field, fixes it to
Landau gauge and calls ``ghost_propagator`` on its file: on the GPU some times, of which the first, in which
kernels may be compiled, is not counted, and on so many threads of the CPU once. Both must agree.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

from hardscape.benchmarks.tables import Table
from hardscape.errors import HardscapeError
from hardscape.gauge import GhostPropagator, fix, generate, ghost_propagator

app = App(help=__doc__, result_action="return_value")

#: Runs on a GPU that count.
_REPEATS = 3
#: By how much the two may differ, of a value.
_APART = 1e-6


def called(place: Path, momenta: int, **run: Any) -> tuple[GhostPropagator, float, float]:
    """What a call finds, its seconds, and those of the processor."""
    began, spent = time.perf_counter(), sum(os.times()[:2])
    found = ghost_propagator(place, momenta, **run)
    return found, time.perf_counter() - began, sum(os.times()[:2]) - spent


@app.default
def main(
    *,
    save: Path | None = None,
    extent: int = 16,
    momenta: int = 10,
    threads: int = 2,
    gpu: bool = True,
) -> None:
    """Print the table; a factor is that of the time on the CPU.

    Parameters
    ----------
    save
        Folder for the table as JSON.
    extent
        Of the lattice.
    momenta
        How many of them.
    threads
        Of the CPU.
    gpu
        Whether there is one.
    """
    columns = ["lattice", "device", "momenta", "iterations", "seconds", "processor s", "factor"]
    table = Table.begun("gauge-ghost-calls", columns)
    where, shape = "cuda:0" if gpu else "cpu", f"{extent}^4"
    field = generate((extent,) * 4, 6.0, seed=1, sweeps=100, device=where)
    fixed = fix(field, "landau", seed=1, theta=1e-14, device=where).fixed()
    on_gpu: list[tuple[GhostPropagator, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "landau.npz"
        fixed.to_file(place)
        for _ in range((_REPEATS + 1) * gpu):
            on_gpu.append(called(place, momenta, device="cuda:0"))
        found, slow, spent = called(place, momenta, device="cpu", threads=threads)
    table.add(shape, f"CPU, {threads} threads", momenta, found.iterations, slow, spent, 1)
    if gpu:
        last = on_gpu[-1][0]
        if (apart := abs(last.value / found.value - 1).max()) > _APART:
            raise HardscapeError(f"GPU and CPU differ by {apart:.3g} of a value")
        seconds, processor = [one[1] for one in on_gpu[1:]], [one[2] for one in on_gpu[1:]]
        factor = slow / float(np.median(seconds))
        table.add(shape, "GPU", momenta, last.iterations, seconds, processor, factor)
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
