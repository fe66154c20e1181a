"""Dense models of 60 to 150 spins, proven on one core.

`python -m hardscape.benchmarks.ising.semidefinite [KIND ...]`.

Instances are of the kinds of the Biq Mac library (A. Wiegele, 2007), drawn here: not its files.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import hardscape
from hardscape.benchmarks.tables import Table
from hardscape.ising.generators.dense import NAMES, instance

#: Kind, number of spins, states listed.
ROWS = (
    ("be", 100, 1),
    ("be", 100, 100),
    ("be", 120, 1),
    ("be", 150, 1),
    ("g05", 60, 1),
    ("g05", 80, 1),
    ("g05", 100, 1),
    ("gauss", 64, 1),
    ("gauss", 80, 1),
    ("gauss", 100, 1),
    ("gauss", 64, 100),
    ("pm1d", 80, 1),
    ("pm1s", 100, 1),
    ("w09", 100, 1),
    ("pw05", 100, 1),
)


def main() -> None:
    """Add one row for each kind, and a value for each seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="rows of these kinds alone")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=300)
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the table there")
    parser.add_argument("--gpu", action="store_true", help="a GPU beside all CPU threads instead")
    told = parser.parse_args()
    rows = [row for row in ROWS if not told.kinds or row[0] in told.kinds]
    table = (on_a_gpu if told.gpu else on_a_core)(rows, told.seeds, told.time_limit)
    if told.save:
        table.save(told.save)


def on_a_core(rows: list[tuple[str, int, int]], seeds: int, limit: float) -> Table:
    """Seconds of one thread."""
    heads = ["kind", "spins", "states listed", "CPU seconds, an instance each", "nodes"]
    table = Table.begun("spectrum-dense", heads)
    for kind, n, states in rows:
        seconds, nodes = [], []
        for seed in range(1, seeds + 1):
            model = instance(kind, n, seed)
            began = time.process_time()
            found = hardscape.spectrum(
                model, states, device="cpu", threads=1, seed=1, time_limit=limit
            )
            seconds.append(time.process_time() - began if found.certified else None)
            nodes.append(found.info.get("nodes", 0))
        table.add(NAMES[kind], n, states, each(seconds), ", ".join(f"{x:,}" for x in nodes))
    return table


def on_a_gpu(rows: list[tuple[str, int, int]], seeds: int, limit: float) -> Table:
    """Seconds of whole calls, on a GPU that has started, and on all CPU threads; both list the same."""
    heads = ["kind", "spins", "states listed", "a GPU, s, an instance each", "all CPU threads, s"]
    table = Table.begun("spectrum-dense-gpu", [*heads, "nodes on the GPU"])
    how: dict[str, Any] = {"method": "semidefinite", "seed": 1, "time_limit": limit}
    for warm in (40, 140):
        hardscape.spectrum(instance("be", warm, 1), 1, device="cuda:0", **how)
    for kind, n, states in rows:
        seconds: dict[str, list[float | None]] = {"cuda:0": [], "cpu": []}
        nodes = []
        for seed in range(1, seeds + 1):
            model, found = instance(kind, n, seed), {}
            for device, taken in seconds.items():
                began = time.perf_counter()
                found[device] = hardscape.spectrum(model, states, device=device, **how)
                certified = found[device].certified
                taken.append(time.perf_counter() - began if certified else None)
            if all(x.certified for x in found.values()):
                gpu, cpu = found.values()
                assert gpu.states.tobytes() == cpu.states.tobytes()
            nodes.append(f"{found['cuda:0'].info['nodes']:,}")
        table.add(NAMES[kind], n, states, *map(each, seconds.values()), ", ".join(nodes))
    return table


def each(seconds: list[float | None]) -> str:
    """Seconds of some instances; "-" where no proof came in time."""
    return ", ".join("-" if x is None else f"{x:.2f}" for x in seconds)


if __name__ == "__main__":
    main()
