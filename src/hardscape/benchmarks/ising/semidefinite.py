"""Dense models of 60 to 150 spins, proven on one core.

`python -m hardscape.benchmarks.ising.semidefinite [KIND ...]`.

Instances are of the kinds of the Biq Mac library (A. Wiegele, 2007), drawn here: not its files.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hardscape
from hardscape.benchmarks.tables import Table
from hardscape.ising import Ising

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
#: What is drawn.
NAMES = {
    "be": "QUBO, density 1 (0.8 above 100)",
    "g05": "cut, weights 0 and 1 (g05)",
    "gauss": "Gaussian couplings",
    "pm1d": "weights -1 and 1, density 0.99 (pm1d)",
    "pm1s": "weights -1 and 1, density 0.1 (pm1s)",
    "w09": "weights -10 to 10, density 0.9 (w09)",
    "pw05": "weights 0 to 10, density 0.5 (pw05)",
}


def instance(kind: str, n: int, seed: int) -> Ising:
    """One model; `be` is a QUBO of density 1 (0.8 above 100 variables), `g05` and so on are cuts."""
    rng = np.random.default_rng([seed, n, len(kind)])
    drawn: dict[str, Callable[[], NDArray[Any]]] = {
        "be": lambda: (
            rng.integers(-50, 51, (n, n)) * (rng.random((n, n)) < (1 if n <= 100 else 0.8))
        ),
        "g05": lambda: rng.integers(0, 2, (n, n)),
        "gauss": lambda: rng.normal(size=(n, n)),
        "pm1d": lambda: rng.choice([-1, 1], (n, n)) * (rng.random((n, n)) < 0.99),
        "pm1s": lambda: rng.choice([-1, 1], (n, n)) * (rng.random((n, n)) < 0.1),
        "w09": lambda: rng.integers(-10, 11, (n, n)) * (rng.random((n, n)) < 0.9),
        "pw05": lambda: rng.integers(0, 11, (n, n)) * (rng.random((n, n)) < 0.5),
    }
    couplings = np.triu(drawn[kind](), 1).astype(float)
    if kind == "be":
        matrix = 2 * couplings + np.diag(rng.integers(-100, 101, n))
        return Ising.from_qubo(matrix)
    return Ising(np.zeros(n), couplings)


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
