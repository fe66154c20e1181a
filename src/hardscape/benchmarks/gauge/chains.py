"""Sweeps of quenched chains on the CPU, on one GPU, and on GPUs that hold the lattice together.

``python -m hardscape.benchmarks.gauge.chains --save FOLDER``: SU(3) at beta 6, a heatbath and two
overrelaxations a sweep.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

from hardscape.benchmarks.tables import Table
from hardscape.engine import cuda_status
from hardscape.gauge import GaugeField, WilsonChain

app = App(help=__doc__, result_action="return_value")

_REPEATS = 5


def rates(field: GaugeField, sweeps: int, **where: Any) -> tuple[list[float], float]:
    """Link updates a second, heatbath and overrelaxation counted each, and the last plaquette."""
    chain = WilsonChain(field, 6.0, seed=1, **where)
    chain.run(1)
    clock = time.process_time if chain.device == "cpu" else time.perf_counter
    found = []
    for _ in range(_REPEATS):
        began = clock()
        plaquettes = chain.run(sweeps)
        found.append(3 * 4 * sweeps * field.volume / (clock() - began))
    return found, float(plaquettes[-1])


@app.default
def main(*, save: Path | None = None, extents: tuple[int, ...] = (16, 32), cpu: int = 8) -> None:
    """Print the table; the CPU takes one thread, in processor time, and the lattice of extent `cpu`."""
    columns = ["lattice", "on", "link updates/s", "seconds a sweep", "plaquette"]
    table = Table.begun("gauge-chains", columns)
    places: list[tuple[int, dict[str, Any]]] = [(cpu, {"device": "cpu", "threads": 1})]
    for extent in extents:
        for many in range(1, len(cuda_status().gpus) + 1):
            places.append((extent, {"domains": [f"cuda:{i}" for i in range(many)]}))
    for extent, where in places:
        field = GaugeField.random((extent,) * 4, 3, seed=2)
        found, plaquette = rates(field, 2 if "device" in where else 40, **where)
        on = ", ".join(where.get("domains", ["one thread"]))
        seconds = 12 * field.volume / float(np.median(found))
        table.add(f"{extent}^4", on, found, seconds, plaquette)
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
