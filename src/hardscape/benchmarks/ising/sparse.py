"""Sparse models by dynamic programming, beside a tree decomposition.

`python -m hardscape.benchmarks.ising.sparse [NAME ...]`.

Seconds are those of the processor, on one thread: of a call with its planning, for one state and for a hundred,
lowest codes first; the peer finds one ground state.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import hardscape
from hardscape.benchmarks.cores import on_cores
from hardscape.benchmarks.tables import Cell, Table
from hardscape.ising import Ising
from hardscape.ising.generators import chimera, lattice
from hardscape.ising.methods.frontier.elimination import elimination
from hardscape.ising.methods.frontier.lowest import form_of

#: Calls of which the least time counts.
_REPEATS = 3
#: Models of which a hundred states take too long to measure by the way, and seconds that they may take.
_ALONE = (
    "torus 14x14, signs",
    "periodic 6x6x6, signs",
    "pegasus 3, signs",
    "pegasus 4, 200 of 264, signs",
)
_LIMIT = 120.0


def parts() -> Ising:
    """Four dense models of 16 spins that do not know of one another."""
    rng = np.random.default_rng(4)
    couplings = np.zeros((64, 64))
    for k in range(4):
        block = slice(16 * k, 16 * k + 16)
        couplings[block, block] = np.triu(rng.normal(size=(16, 16)), 1)
    return Ising(np.zeros(64), couplings)


def regular(spins: int, degree: int, kind: str) -> Ising:
    """Couplings on a random graph of which each vertex has as many neighbours; no fields."""
    from networkx import random_regular_graph

    rng = np.random.default_rng([spins, degree, len(kind)])
    pairs = [(min(x), max(x)) for x in random_regular_graph(degree, spins, seed=spins).edges]
    drawn = rng.choice([-1.0, 1.0], len(pairs)) if kind == "signs" else rng.normal(size=len(pairs))
    return Ising(np.zeros(spins), dict(zip(pairs, drawn.tolist(), strict=True)))


def pegasus(side: int, most: int, kind: str, *seed: int) -> Ising:
    """The first spins of a Pegasus graph, with fields; needs dwave-networkx."""
    from dwave_networkx import pegasus_graph

    rng = np.random.default_rng([side, most, len(kind), *seed])
    graph = pegasus_graph(side)
    number = {node: i for i, node in enumerate(sorted(graph.nodes)[:most])}
    pairs = [(number[a], number[b]) for a, b in graph.edges if a in number and b in number]
    size = len(number) + len(pairs)
    drawn = rng.choice([-1.0, 1.0], size) if kind == "signs" else rng.normal(size=size)
    couplings = dict(zip(pairs, drawn[len(number) :].tolist(), strict=True))
    return Ising(drawn[: len(number)], couplings)


def instances() -> Iterator[tuple[str, Callable[[], Ising]]]:
    """Names, and what draws the models; the one that takes longest last."""
    for kind in ("signs", "gauss"):
        for side in (8, 10, 12):
            yield f"torus {side}x{side}, {kind}", partial(lattice, (side, side), True, kind)
        yield f"chimera 4x4, {kind}", partial(chimera, 4, kind)
    yield "free 4x4x4, signs", partial(lattice, (4, 4, 4), False, "signs")
    yield "periodic 4x4x4, signs", partial(lattice, (4, 4, 4), True, "signs")
    yield "free 5x5x5, signs", partial(lattice, (5, 5, 5), False, "signs")
    yield "free 12x60, signs", partial(lattice, (12, 60), False, "signs")
    yield "chain of 2000, gauss", partial(lattice, (2000,), False, "gauss")
    yield "four dense parts of 16", parts
    for kind in ("signs", "gauss"):
        for spins in (80, 120):
            yield f"6-regular {spins}, {kind}", partial(regular, spins, 6, kind)
        yield f"periodic 5x5x5, {kind}", partial(lattice, (5, 5, 5), True, kind)
    if find_spec("dwave_networkx"):
        for kind in ("signs", "gauss"):
            yield f"pegasus 2, {kind}", partial(pegasus, 2, 40, kind)
            yield f"pegasus 3, {kind}", partial(pegasus, 3, 128, kind)
            yield f"pegasus 4, 200 of 264, {kind}", partial(pegasus, 4, 200, kind)
    yield "periodic 6x6x6, signs", partial(lattice, (6, 6, 6), True, "signs")
    yield "torus 14x14, signs", partial(lattice, (14, 14), True, "signs")


def least(call: Any, repeats: int) -> tuple[float, Any]:
    """The least processor seconds of calls that find nothing prepared, and the answer."""
    seconds, answer = [], None
    for _ in range(repeats):
        elimination.cache_clear()
        form_of.cache_clear()
        began = time.process_time()
        answer = call()
        seconds.append(time.process_time() - began)
        if seconds[-1] > 1:
            break
    return min(seconds), answer


def _ours(model: Ising, states: int, repeats: int) -> tuple[float, Any]:
    limit = None if states == 1 else _LIMIT
    run: dict[str, Any] = {"device": "cpu", "threads": 1, "seed": 1, "time_limit": limit}
    return least(lambda: hardscape.spectrum(model, states, **run), repeats)


def by_tree_decomposition(model: Ising, repeats: int) -> tuple[str, float | None]:
    """Seconds of a tree decomposition, and its energy; why not where it does not take the model."""
    from dwave.samplers import TreeDecompositionSolver

    bqm = model.to_bqm()
    try:
        seconds, samples = least(lambda: TreeDecompositionSolver().sample(bqm), repeats)
    except ValueError:
        return "too wide", None
    return f"{seconds:.2g}", float(samples.first.energy)


def measured(name: str) -> tuple[Cell, ...]:
    """The row of a model."""
    model = dict(instances())[name]()
    plan = elimination(model.exact)
    one, found = _ours(model, 1, _REPEATS)
    assert found.certified
    many = "" if name in _ALONE else _shown(_ours(model, 100, _REPEATS))
    peer, energy = "-", None
    if find_spec("dwave"):
        peer, energy = by_tree_decomposition(model, _REPEATS)
    assert energy is None or np.isclose(energy, found.energies[0], rtol=1e-12)
    width = "" if plan is None else plan.width + len(plan.sliced)
    return name, model.num_spins, width, found.method, f"{one:.2g}", many, peer


def main() -> None:
    """Add one row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models whose names hold one of these alone")
    parser.add_argument("--cores", type=int, default=1, help="on which models are searched at once")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the table there")
    told = parser.parse_args()
    heads = ["model", "spins", "width", "method", "S = 1", "S = 100", "TreeDecompositionSolver"]
    table = Table.begun("spectrum-sparse", heads, "dwave-samplers", "highspy")
    names = [x for x, _ in instances() if not told.names or any(y in x for y in told.names)]
    for row in on_cores(measured, names, told.cores):
        table.add(*row)
    if told.save:
        table.save(told.save)


def _shown(measured: tuple[float, Any]) -> str:
    seconds, found = measured
    return f"{seconds:.2g}" if found.certified else "-"


if __name__ == "__main__":
    main()
