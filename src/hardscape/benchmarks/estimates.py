"""Estimates beside what things then took.

``python -m hardscape.benchmarks.estimates [WORDS] [--save FOLDER]``.

A row is what `--estimate` or a refusal says of a call, what the call took, and the ratio. On a machine that
others use too, the processor's time a thread is the truth, which waiting does not lengthen.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

import hardscape
from hardscape.benchmarks.tables import Table
from hardscape.engine import forecast
from hardscape.engine.device import cpu_lanes
from hardscape.gauge import wilson_flow
from hardscape.ising.density import cheapest, density_of_states, seconds_here
from hardscape.ising.model import Ising
from hardscape.ising.spectrum import estimate
from hardscape.permanents.plan import plan

app = cyclopts.App(help=__doc__, result_action="return_value")
#: How far off an estimate may be, and in how many cases.
WITHIN, SHARE = 1.5, 0.9


@dataclass(frozen=True)
class Case:
    """A call and what is said of it before."""

    name: str
    said: Callable[[], float]  #: seconds
    call: Callable[[], Any]


def spin_glass(n: int, seed: int, density: float = 1.0, kind: str = "gauss") -> dict[Any, float]:
    """Couplings of a random graph, Gaussian or of either sign."""
    random = np.random.default_rng(seed)
    pairs = [(i, j) for j in range(n) for i in range(j) if random.random() < density]
    values = random.normal(size=len(pairs))
    if kind == "sign":
        values = np.sign(values)
    elif kind == "integers":
        values = np.rint(9 * values)
    return dict(zip(pairs, map(float, values), strict=True))


def grid(side: int, seed: int) -> dict[Any, float]:
    """Couplings of either sign on a torus."""
    random = np.random.default_rng(seed)
    place = np.arange(side * side).reshape(side, side)
    ends = [(place, np.roll(place, -1, axis)) for axis in (0, 1)]
    pairs = [tuple(sorted(map(int, p))) for a, b in ends for p in zip(a.flat, b.flat, strict=True)]
    return {p: float(random.choice([-1, 1])) for p in pairs}


def partition(n: int) -> dict[Any, float]:
    """Couplings of the partitioning of numbers of 26 bits."""
    numbers = [int(x) for x in np.random.default_rng(n).integers(1, 1 << 26, size=n)]
    return {(i, j): float(numbers[i] * numbers[j]) for j in range(n) for i in range(j)}


def from_qubo(linear: Any, pairs: dict[tuple[int, int], float]) -> Ising:
    """An Ising model of variables (1 + s) / 2."""
    fields, couplings = np.asarray(linear, dtype=float) / 2, {}
    for (i, j), x in pairs.items():
        couplings[i, j] = x / 4
        fields[i] += x / 4
        fields[j] += x / 4
    return Ising.from_any((fields, couplings))


def assignment(side: int, seed: int) -> Ising:
    """Each of some things in one place: penalties for two in one, costs of pairs."""
    random = np.random.default_rng(seed)
    number = np.arange(side * side).reshape(side, side)
    costs = random.integers(1, 100, size=side * side)
    pairs: dict[tuple[int, int], float] = {}
    for line in (*number, *number.T):
        pairs |= {(int(i), int(j)): 400.0 for k, j in enumerate(line) for i in line[:k]}
    return from_qubo(costs - 400.0, {(min(p), max(p)): x for p, x in pairs.items()})


def stable_set(n: int, density: float, seed: int) -> Ising:
    """Heaviest stable sets of a random graph."""
    random = np.random.default_rng(seed)
    weights = random.integers(1, 50, size=n)
    edges = [(i, j) for j in range(n) for i in range(j) if random.random() < density]
    return from_qubo(-weights, dict.fromkeys(edges, 100.0))


def cut(n: int, seed: int) -> dict[Any, float]:
    """Couplings of a largest cut of a random graph."""
    random = np.random.default_rng(seed)
    return {(i, j): 1.0 for j in range(n) for i in range(j) if random.random() < 0.5}


def spectra() -> Iterator[Case]:
    """Pruned and whole searches."""
    models = {
        "gauss 44": spin_glass(44, 1),
        "gauss 48": spin_glass(48, 2),
        "gauss 50": spin_glass(50, 3),
        "gauss 52": spin_glass(52, 4),
        "half 52": spin_glass(52, 5, 0.5),
        "integers 50": spin_glass(50, 6, 1.0, "integers"),
        "signs 44": spin_glass(44, 7, 1.0, "sign"),
        "signs 48": spin_glass(48, 8, 1.0, "sign"),
        "sparse signs 56": spin_glass(56, 9, 0.1, "sign"),
        "sparse gauss 60": spin_glass(60, 10, 0.1),
        "gauss 56": spin_glass(56, 21),
        "half 60": spin_glass(60, 24, 0.5),
        "torus 7x7": grid(7, 11),
        "torus 8x8": grid(8, 12),
    }
    for name, model in models.items():
        yield _spectrum(f"spectrum {name}", model)
    yield _spectrum("spectrum gauss 46, 10,000 states", spin_glass(46, 13), num_states=10_000)
    yield _spectrum("spectrum gauss 54, 10,000 states", spin_glass(54, 23), num_states=10_000)
    yield _spectrum("spectrum gauss 48, 1 state", spin_glass(48, 14), num_states=1)
    yield _spectrum("spectrum gauss 46, window 5", spin_glass(46, 15), window=5.0)
    for n in (46, 48, 54):
        yield _spectrum(f"spectrum partition {n}", partition(n))
    for name, qubo in {
        "assignment 36": assignment(6, 1),
        "assignment 64": assignment(8, 1),
        "stable 90": stable_set(90, 0.3, 2),
        "stable 110": stable_set(110, 0.5, 3),
    }.items():
        yield _spectrum(f"spectrum cliques {name}", qubo)
    for name, model in {
        "gauss 64": spin_glass(64, 31),
        "signs 60": spin_glass(60, 32, 1.0, "sign"),
        "gauss 70": spin_glass(70, 33),
        "cut 50": cut(50, 34),
        "cut 60": cut(60, 35),
    }.items():
        yield _spectrum(f"spectrum semidefinite {name}", model, num_states=10)
    for name, model in {
        "torus 10x10": grid(10, 3),
        "torus 11x11": grid(11, 3),
        "sparse gauss 65": spin_glass(65, 10, 0.1),
        "sparse gauss 300": spin_glass(300, 10, 0.008),
    }.items():
        yield _spectrum(f"spectrum frontier {name}", model)
    for n in (34, 36):
        yield _spectrum(f"spectrum whole {n}", spin_glass(n, n), prune=False)


def _spectrum(name: str, model: Any, **what: Any) -> Case:
    run = what | {"device": "cpu", "threads": THREADS, "seed": 1}
    return Case(
        name, lambda: estimate(model, **run).seconds, lambda: hardscape.spectrum(model, **run)
    )


def densities() -> Iterator[Case]:
    """Counts of states."""
    for name, model in {
        "torus 8x8": grid(8, 1),
        "torus 10x10": grid(10, 1),
        "dense 30": spin_glass(30, 1, 1.0, "sign"),
        "dense 34": spin_glass(34, 1, 1.0, "sign"),
        "dense 37": spin_glass(37, 1, 1.0, "sign"),
        "sparse 80": spin_glass(80, 2, 0.05, "sign"),
    }.items():
        yield Case(
            f"density {name}",
            partial(_density_seconds, model),
            partial(density_of_states, model, device="cpu", threads=THREADS),
        )


def _density_seconds(model: Any) -> float:
    lanes = cpu_lanes(THREADS)
    began = time.process_time()
    work, _ = cheapest(Ising.from_any(model), "auto", lanes)
    planned = time.process_time() - began
    return planned + seconds_here(work, min(len(work.shards()), len(lanes)))


def permanents() -> Iterator[Case]:
    """Every method."""
    random = np.random.default_rng(1)

    def real(n: int) -> Any:
        return random.normal(size=(n, n))

    def complex_(n: int) -> Any:
        return real(n) + 1j * real(n)

    def sparse(n: int, density: float) -> Any:
        return np.where(random.random((n, n)) < density, real(n), 0.0) + np.eye(n)

    def whole(n: int, most: int) -> Any:
        return random.integers(-most, most + 1, size=(n, n))

    def lattice(side: int) -> Any:
        """Which cells a domino joins: black ones by white ones."""
        cells = [(i, j) for i in range(side) for j in range(side)]
        black = [c for c in cells if not sum(c) % 2]
        white = [c for c in cells if sum(c) % 2]
        return np.array([[int(abs(a - c) + abs(b - d) == 1) for c, d in white] for a, b in black])

    for n in (24, 28, 31):
        yield _permanent(f"real {n}", real(n))
    for n in (22, 26, 29):
        yield _permanent(f"complex {n}", complex_(n))
    yield _permanent("real 27, proven", real(27), full_output=True)
    yield _permanent("real 23, extended", real(23), precision="extended")
    yield _permanent("complex 22, extended", complex_(22), precision="extended")
    yield _permanent("real 20, exact", real(20), precision="exact")
    yield _permanent("integers 26", whole(26, 1))
    yield _permanent("integers 24, to 10^6", whole(24, 10**6))
    yield _permanent("complex 18, exact", complex_(18), precision="exact")
    yield _permanent("nonnegative 24", abs(real(24)))
    yield _permanent("sparse 36, 0.15", sparse(36, 0.15))
    yield _permanent("sparse 34, 0.25", sparse(34, 0.25))
    yield _permanent("sparse 40, 0.1", sparse(40, 0.1))
    yield _permanent("domino 16x16", lattice(16))
    yield _permanent("domino 20x20", lattice(20))
    a = complex_(8)
    yield _permanent("repeated 8 of 40", a, rows=[5] * 8, cols=[5] * 8)
    yield _permanent("repeated 12 of 36", complex_(12), rows=[3] * 12, cols=[3] * 12)
    low = random.integers(-3, 4, size=(40, 3)) @ random.integers(-3, 4, size=(3, 40))
    yield _permanent("rank 3, 40", low)


def flows() -> Iterator[Case]:
    """Flows of gauge fields, told by beginning them."""
    for extents, flow_time in (((8, 8, 8, 8), 6.0), ((12, 12, 12, 12), 1.0)):
        field = hardscape.gauge.generate(extents, 6.0, seed=1, sweeps=2)

        def said(field: Any = field, flow_time: float = flow_time) -> float:
            told = forecast(wilson_flow, field, flow_time, threads=THREADS)
            return told.seconds or 0.0

        def call(field: Any = field, flow_time: float = flow_time) -> Any:
            return wilson_flow(field, flow_time, threads=THREADS)

        yield Case(f"flow {'x'.join(map(str, extents))}", said, call)


def _permanent(name: str, a: Any, **what: Any) -> Case:
    run = what | {"device": "cpu", "threads": THREADS}

    def said() -> float:
        apart(lambda: plan(a, **run) and None)  # measures what paces it asks for
        began = time.process_time()
        planned = plan(a, **run)
        planning = time.process_time() - began
        return planned.seconds + (planning if planned.planning_seconds else 0.0)

    return Case(f"permanent {name}", said, lambda: hardscape.permanent(a, **run, time_limit=1e6))


def _called(call: Callable[[], Any]) -> None:
    call()


def apart(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call returns, and its processor's and wall-clock seconds, in a process that has done no other.

    Whoever comes second finds memory, orders of elimination and code where the first one left them. Small
    calls come first, as what a forked process writes to is copied then, and in no other process.
    """
    mine, its = Pipe(duplex=False)
    if not (child := os.fork()):
        gc.collect()
        small_calls()
        began, core = time.perf_counter(), time.process_time()
        found = call()
        its.send((found, time.process_time() - core, time.perf_counter() - began))
        os._exit(0)
    its.close()
    try:
        told: tuple[Any, float, float] = mine.recv()
    finally:
        os.waitpid(child, 0)
    return told


def small_calls() -> None:
    """What only the first call of a process takes."""
    hardscape.spectrum(spin_glass(20, 1))
    hardscape.permanent(np.eye(12) + 1)


@app.default
def compare(*words: str, threads: int = 1, save: Path | None = None) -> None:
    """Run the cases whose names hold all words.

    Parameters
    ----------
    words
    threads
    save
        A folder that gets the table as JSON.
    """
    global THREADS
    THREADS = threads
    columns = ["case", "said s", "took, processor s a thread", "took s", "said / took", "said in s"]
    found = Table.begun("estimates", columns, "hardscape")
    small_calls()
    ratios = []
    for case in (*spectra(), *densities(), *permanents(), *flows()):
        if not all(word in case.name for word in words):
            continue
        said, saying, _ = apart(case.said)
        _, core, wall = apart(partial(_called, case.call))
        ratios.append(said * threads / core)
        figures = said, core / threads, wall, ratios[-1], saying
        found.add(case.name, *(float(f"{x:.3g}") for x in figures))
        if save:
            found.save(save)
    close = sum(1 / WITHIN <= ratio <= WITHIN for ratio in ratios)
    print(f"{close} of {len(ratios)} within {WITHIN} times")


THREADS = 1

if __name__ == "__main__":
    app()
