"""Low states of large models without a proof, beside other samplers.

`python -m hardscape.benchmarks.ising.search`.

All have the same seconds of CPU time on one core, in calls that are repeated with other seeds; the lowest
energy of any call counts. Models are of the kinds of Beasley's QUBOs, the G-set and the toroidal glasses of the
DIMACS challenge, drawn here: not their files. Peers: `pip install dwave-samplers openjij`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hardscape.benchmarks.tables import Table
from hardscape.ising import Ising, search


def _qubo(n: int, density: float, rng: np.random.Generator) -> Ising:
    entries = np.triu(rng.integers(-100, 101, (n, n)) * (rng.random((n, n)) < density), 1)
    return Ising.from_qubo(2.0 * entries + np.diag(rng.integers(-100, 101, n)))


def _cut(n: int, density: float, rng: np.random.Generator) -> Ising:
    return Ising(np.zeros(n), np.triu(rng.random((n, n)) < density, 1).astype(float))


def _torus(shape: tuple[int, ...], gaussian: bool, rng: np.random.Generator) -> Ising:
    sites = np.arange(np.prod(shape)).reshape(shape)
    couplings: dict[tuple[int, int], float] = {}
    for axis in range(len(shape)):
        for i, j in zip(sites.flat, np.roll(sites, -1, axis).flat, strict=True):
            couplings[int(i), int(j)] = rng.normal() if gaussian else rng.choice([-1.0, 1.0])
    return Ising.from_any(couplings)


#: Name, and the model of a seed.
MODELS: dict[str, Callable[[np.random.Generator], Ising]] = {
    "QUBO, N = 250, density 0.1": lambda rng: _qubo(250, 0.1, rng),
    "QUBO, N = 500, density 0.1": lambda rng: _qubo(500, 0.1, rng),
    "QUBO, N = 1000, density 0.1": lambda rng: _qubo(1000, 0.1, rng),
    "cut, N = 800, density 0.06": lambda rng: _cut(800, 0.06, rng),
    "cut, N = 2000, density 0.01": lambda rng: _cut(2000, 0.01, rng),
    "torus 40x20, +-1": lambda rng: _torus((40, 20), False, rng),
    "torus 8x8x8, +-1": lambda rng: _torus((8, 8, 8), False, rng),
    "torus 10x10x10, Gaussian": lambda rng: _torus((10, 10, 10), True, rng),
}


def solvers(model: Ising) -> Iterator[tuple[str, Callable[[int], float]]]:
    """Who searches: the lowest energy of one call with a seed."""
    yield (
        "hardscape",
        lambda seed: float(search(model, runs=3, device="cpu", threads=1, seed=seed).energies[0]),
    )
    from dwave.samplers import SimulatedAnnealingSampler, TabuSampler
    from openjij import SASampler

    bqm: Any = model.to_bqm()
    annealed, tabu = SimulatedAnnealingSampler(), TabuSampler()
    yield (
        "annealing, dwave-samplers",
        lambda seed: annealed.sample(bqm, num_reads=4, num_sweeps=2000, seed=seed).first.energy,
    )
    yield (
        "tabu, dwave-samplers",
        lambda seed: tabu.sample(bqm, num_reads=1, timeout=300, seed=seed).first.energy,
    )
    yield (
        "annealing, openjij",
        lambda seed: SASampler().sample(bqm, num_reads=4, num_sweeps=2000, seed=seed).first.energy,
    )


def main() -> None:
    """Add a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="of CPU time for each")
    parser.add_argument("--seeds", type=int, default=1, help="models of each kind")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the table there")
    told = parser.parse_args()
    names = [name for name, _ in solvers(MODELS["torus 40x20, +-1"](np.random.default_rng(0)))]
    table = Table.begun("spectrum-search", ["model", *names], "dwave-samplers", "openjij")
    for kind, drawn in MODELS.items():
        for instance in range(told.seeds):
            model = drawn(np.random.default_rng([instance, len(kind)]))
            table.add(kind, *(_searched(solve, told.seconds) for _, solve in solvers(model)))
    if told.save:
        table.save(told.save)


def _searched(solve: Callable[[int], float], seconds: float) -> str:
    """The lowest energy of calls begun within so many seconds, and when the call that met it was over."""
    began, best, met, calls = time.process_time(), np.inf, 0.0, 0
    while time.process_time() < began + seconds:
        energy = solve(calls)
        calls += 1
        if energy < best:
            best, met = energy, time.process_time() - began
    return f"{best:.10g}, {met:.2f} s"


if __name__ == "__main__":
    main()
