"""Low states of large models without a proof, beside other samplers.

`python -m hardscape.benchmarks.ising.search`.

All have the same seconds of CPU time on one core, in calls that are repeated with other seeds; the lowest
energy of any call counts. Then, with ``--repeats``, the seconds of each until it meets the lowest of all those
energies. Models are of the kinds of Beasley's QUBOs, the G-set and the toroidal glasses of the DIMACS
challenge, drawn here: not their files. Peers: `pip install dwave-samplers openjij`; who is not there is left
out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def _planar_graphs(shape: tuple[int, int], signs: bool, rng: np.random.Generator) -> Ising:
    """A cut of two triangular lattices on the same vertices, those of one in another order."""
    sites = np.arange(np.prod(shape)).reshape(shape)
    ends = (sites[:, :-1], sites[:, 1:]), (sites[:-1], sites[1:]), (sites[:-1, :-1], sites[1:, 1:])
    row, col = (np.concatenate([pair[k].ravel() for pair in ends]) for k in (0, 1))
    other = rng.permutation(sites.size)
    pairs = np.sort(
        np.concatenate([np.stack([row, col]), other[np.stack([row, col])]], axis=1), axis=0
    )
    return _weighted(sites.size, pairs, signs, rng)


def _stacked_graphs(n: int, signs: bool, rng: np.random.Generator) -> Ising:
    """A cut of two triangulations, of which some vertices have many neighbours."""
    one, two = _stacked(n, rng), rng.permutation(n)[_stacked(n, rng)]
    return _weighted(n, np.sort(np.concatenate([one, two], axis=1), axis=0), signs, rng)


def _stacked(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Ends of 99% of the edges of a triangulation, each vertex put into some face of those before."""
    faces, pairs = [(0, 1, 2), (0, 1, 2)], [(0, 1), (0, 2), (1, 2)]
    for v in range(3, n):
        k = int(rng.integers(len(faces)))
        a, b, c = faces[k]
        pairs += [(a, v), (b, v), (c, v)]
        faces[k] = (a, b, v)
        faces += [(a, c, v), (b, c, v)]
    kept = rng.permutation(len(pairs))[: len(pairs) * 99 // 100]
    return np.array(pairs, dtype=np.int64)[kept].T


def _weighted(n: int, pairs: NDArray[np.int64], signs: bool, rng: np.random.Generator) -> Ising:
    pairs = np.unique(pairs, axis=1)
    weights = rng.choice([-1.0, 1.0], pairs.shape[1]) if signs else np.ones(pairs.shape[1])
    return Ising.from_entries(n, pairs[0], pairs[1], weights)


#: Name, and the model of a seed.
MODELS: dict[str, Callable[[np.random.Generator], Ising]] = {
    "QUBO, N = 250, density 0.1": lambda rng: _qubo(250, 0.1, rng),
    "QUBO, N = 500, density 0.1": lambda rng: _qubo(500, 0.1, rng),
    "QUBO, N = 1000, density 0.1": lambda rng: _qubo(1000, 0.1, rng),
    "cut, N = 800, density 0.06": lambda rng: _cut(800, 0.06, rng),
    "cut, N = 2000, density 0.01": lambda rng: _cut(2000, 0.01, rng),
    "two planar graphs, N = 2000": lambda rng: _planar_graphs((50, 40), False, rng),
    "two planar graphs, +-1, N = 2000": lambda rng: _planar_graphs((50, 40), True, rng),
    "two stacked planar graphs, N = 800": lambda rng: _stacked_graphs(800, False, rng),
    "two stacked planar graphs, N = 2000": lambda rng: _stacked_graphs(2000, False, rng),
    "two stacked planar graphs, +-1, N = 2000": lambda rng: _stacked_graphs(2000, True, rng),
    "torus 100x20, +-1": lambda rng: _torus((100, 20), False, rng),
    "torus 40x20, +-1": lambda rng: _torus((40, 20), False, rng),
    "torus 8x8x8, +-1": lambda rng: _torus((8, 8, 8), False, rng),
    "torus 10x10x10, Gaussian": lambda rng: _torus((10, 10, 10), True, rng),
}


#: A call with a seed: its lowest energy.
Call = Callable[[int], float]


def _hardscape(model: Ising, target: float | None, seconds: float, method: str = "auto") -> Call:
    told: dict[str, Any] = {"method": method, "device": "cpu", "threads": 1}
    if target is None:
        return lambda seed: float(search(model, runs=3, seed=seed, **told).energies[0])
    told |= {"target": target, "time_limit": seconds}
    return lambda seed: float(search(model, seed=seed, **told).energies[0])


def _windows(model: Ising, target: float | None, seconds: float) -> Call:
    return _hardscape(model, target, seconds, "windows")


def _dwave_annealing(model: Ising, target: float | None, seconds: float) -> Call:
    from dwave.samplers import SimulatedAnnealingSampler

    bqm, annealed = model.to_bqm(), SimulatedAnnealingSampler()
    reads = 4 if target is None else 1
    return lambda seed: float(
        annealed.sample(bqm, num_reads=reads, num_sweeps=2000, seed=seed).first.energy
    )


def _dwave_tabu(model: Ising, target: float | None, seconds: float) -> Call:
    from dwave.samplers import TabuSampler

    bqm, tabu = model.to_bqm(), TabuSampler()
    told: dict[str, Any] = {} if target is None else {"energy_threshold": target}
    return lambda seed: float(
        tabu.sample(bqm, num_reads=1, timeout=300, seed=seed, **told).first.energy
    )


def _openjij(model: Ising, target: float | None, seconds: float) -> Call:
    from openjij import SASampler

    bqm: Any = model.to_bqm()
    reads = 4 if target is None else 1
    return lambda seed: float(
        SASampler().sample(bqm, num_reads=reads, num_sweeps=2000, seed=seed).first.energy
    )


#: Who searches, and what has to be there.
SOLVERS: dict[str, tuple[str, Callable[[Ising, float | None, float], Call]]] = {
    "hardscape": ("hardscape", _hardscape),
    "hardscape, windows": ("hardscape", _windows),
    "annealing, dwave-samplers": ("dwave", _dwave_annealing),
    "tabu, dwave-samplers": ("dwave", _dwave_tabu),
    "annealing, openjij": ("openjij", _openjij),
}
#: Who searches what: kind and number of the model, and name of the solver.
Case = tuple[str, int, str]


def main() -> None:
    """Add a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="of CPU time for each")
    parser.add_argument("--seeds", type=int, default=1, help="models of each kind")
    parser.add_argument("--repeats", type=int, default=0, help="searches for the lowest energy")
    parser.add_argument("--limit", type=float, default=20, help="seconds for each of those")
    parser.add_argument("--workers", type=int, default=1, help="searches at a time")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the tables there")
    told = parser.parse_args()
    names = [name for name, (module, _) in SOLVERS.items() if find_spec(module)]
    models = list(product(MODELS, range(told.seeds)))
    cases: list[Case] = [(*model, name) for model in models for name in names]
    with ProcessPoolExecutor(told.workers, get_context("spawn")) as pool:
        jobs = [pool.submit(_searched, case, told.seconds) for case in cases]
        table = Table.begun("spectrum-search", ["model", *names], "dwave-samplers", "openjij")
        least: dict[tuple[str, int], float] = {}
        for k, model in enumerate(models):
            found = [job.result() for job in jobs[k * len(names) :][: len(names)]]
            table.add(model[0], *(f"{best:.10g}, {met:.2f} s" for best, met in found))
            least[model] = min(best for best, _ in found)
        if told.save:
            table.save(told.save)
        if told.repeats:
            times = _times(pool, cases, least, told.repeats, told.limit)
            if told.save:
                times.save(told.save)


def _times(
    pool: ProcessPoolExecutor,
    cases: list[Case],
    least: dict[tuple[str, int], float],
    repeats: int,
    limit: float,
) -> Table:
    """Seconds to the lowest energies: the median of repeats."""
    names = list(dict.fromkeys(name for _, _, name in cases))
    columns = ["model", "target", *(f"{name}, s" for name in names)]
    table = Table.begun("search-targets", columns, "dwave-samplers", "openjij")
    jobs = {
        case: [
            pool.submit(_searched, case, limit, least[case[:2]], 1000 * (k + 1))
            for k in range(repeats)
        ]
        for case in cases
    }
    for model, target in least.items():
        cells = []
        for name in names:
            # Who met it in fewer than half of the searches has no median.
            found = sorted(
                met if best <= target + 1e-9 * abs(target) else np.inf
                for best, met in (job.result() for job in jobs[*model, name])
            )
            median = found[len(found) // 2]
            reached = sum(map(np.isfinite, found))
            cells.append(
                f"{median:.3g}" if np.isfinite(median) else f"{reached} of {repeats} in {limit:g}"
            )
        table.add(model[0], f"{target:.10g}", *cells)
    return table


def _searched(
    case: Case, seconds: float, target: float | None = None, first: int = 0
) -> tuple[float, float]:
    """The lowest energy of calls begun within so many seconds, and when the call that met it was over."""
    kind, instance, name = case
    model = MODELS[kind](np.random.default_rng([instance, len(kind)]))
    # What is no integer may be rounded in another order by others.
    near = None if target is None else target + 1e-9 * abs(target)
    solve = SOLVERS[name][1](model, near, seconds)
    began, best, met, calls = time.process_time(), np.inf, 0.0, 0
    while time.process_time() < began + seconds and (near is None or best > near):
        energy = solve(first + calls)
        calls += 1
        if energy < best:
            best, met = energy, time.process_time() - began
    return best, met


if __name__ == "__main__":
    main()
