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
    told = parser.parse_args()
    heads = ["kind", "spins", "states listed", "CPU seconds, an instance each", "nodes"]
    table = Table.begun("spectrum-dense", heads)
    for kind, n, states in ROWS:
        if told.kinds and kind not in told.kinds:
            continue
        seconds, nodes = [], []
        for seed in range(1, told.seeds + 1):
            model = instance(kind, n, seed)
            began = time.process_time()
            found = hardscape.spectrum(
                model, states, device="cpu", threads=1, seed=1, time_limit=told.time_limit
            )
            seconds.append(time.process_time() - began if found.certified else None)
            nodes.append(found.info.get("nodes", 0))
        table.add(NAMES[kind], n, states, each(seconds), ", ".join(f"{x:,}" for x in nodes))
    if told.save:
        table.save(told.save)


def each(seconds: list[float | None]) -> str:
    """Seconds of some instances; "-" where no proof came in time."""
    return ", ".join("-" if x is None else f"{x:.2f}" for x in seconds)


if __name__ == "__main__":
    main()
