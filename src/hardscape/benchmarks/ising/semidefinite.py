"""Dense models of 60 to 150 spins, proven on one core.

`python -m hardscape.benchmarks.ising.semidefinite [KIND ...]`.

Instances are of the kinds of the Biq Mac library (A. Wiegele, 2007), drawn here: not its files.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import hardscape
from hardscape.benchmarks.machine import machine
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


def instance(kind: str, n: int, seed: int) -> Ising:
    """One model; `be` is a QUBO of density 1 (0.8 above 100 variables), `g05` and so on are cuts."""
    rng = np.random.default_rng([seed, n, len(kind)])
    drawn: dict[str, Callable[[], NDArray[np.float64]]] = {
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
    """Print one line for each row and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="rows of these kinds alone")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=300)
    told = parser.parse_args()
    print(machine("numpy"))
    print(
        "| kind | spins | states | seconds | of CPU | nodes | proven |\n"
        "| --- | --- | --- | --- | --- | --- | --- |"
    )
    for kind, n, states in ROWS:
        if told.kinds and kind not in told.kinds:
            continue
        for seed in range(1, told.seeds + 1):
            model = instance(kind, n, seed)
            began, cpu = time.perf_counter(), time.process_time()
            found = hardscape.spectrum(
                model, states, device="cpu", threads=1, seed=1, time_limit=told.time_limit
            )
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            nodes = found.info.get("nodes", "")
            print(
                f"| {kind} | {n} | {states} | {seconds:.2f} | {cpu:.2f} | {nodes} | {found.certified} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
