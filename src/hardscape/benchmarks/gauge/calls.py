"""Whole calls of `fix` on one GPU: 16^4, SU(3), Landau gauge, from links that lie there.

``python -m hardscape.benchmarks.gauge.calls --save FOLDER``
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

from hardscape.benchmarks.tables import Table
from hardscape.gauge import fix, generate

app = App(help=__doc__, result_action="return_value")

_REPEATS = 9
_CALLS: tuple[dict[str, Any], ...] = (
    {"method": "annealing"},
    {"method": "annealing", "precision": "mixed"},
    {"method": "auto"},
    {"method": "auto", "precision": "mixed"},
    {"method": "annealing", "copies": 16},
)


@app.default
def main(*, save: Path | None = None, device: str = "cuda:0") -> None:
    """Print the table: seconds of a call, the first one left out."""
    columns = ["method", "precision", "copies", "seconds", "sweeps", "site updates/s in sweeps"]
    table = Table.begun("gauge-calls", columns)
    field = generate((16, 16, 16, 16), 6.0, seed=1, sweeps=30, device=device)
    if device != "cpu":
        field = field.to("cuda")
    for call in _CALLS:
        seconds, sweeping, sweeps = [], [], []
        for seed in range(_REPEATS):
            began = time.perf_counter()
            found = fix(field, device=device, seed=seed, **call)
            seconds.append(time.perf_counter() - began)
            sweeping.append(found.site_updates_per_second)
            sweeps.append(found.sweeps)
        table.add(
            call["method"],
            call.get("precision", "double"),
            call.get("copies", 1),
            seconds[1:],
            int(np.median(sweeps)),
            sweeping[1:],
        )
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
