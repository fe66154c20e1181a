"""One model of every kind, proven on one core: what a call takes, from dense glasses to lattices.

`python -m hardscape.benchmarks.ising.kinds [NAME ...] [--seeds SEED ...] [--cores N]`.

Seconds are those of the processor, on one thread, of a call that chooses its method itself, with its
planning; the least of up to three where it is short; median, least and most of the seeds. A tree decomposition
finds one ground state of the models that are narrow enough. Each of several cores takes one model after the
other.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hardscape
from hardscape.benchmarks.cores import on_cores
from hardscape.benchmarks.ising.penalties import ROWS as PENALTIES
from hardscape.benchmarks.ising.semidefinite import ROWS as DENSE
from hardscape.benchmarks.ising.sparse import by_tree_decomposition, least, pegasus
from hardscape.benchmarks.tables import Table
from hardscape.ising import Ising
from hardscape.ising.generators import chimera, lattice
from hardscape.ising.generators.dense import NAMES, instance
from hardscape.ising.generators.penalties import KINDS

#: Calls of which the least time counts, where they are short.
_REPEATS = 3
#: Shapes, and whether periodic.
_LATTICES = (
    ((8, 8), True),
    ((10, 10), True),
    ((12, 12), True),
    ((14, 14), True),
    ((20, 20), True),
    ((32, 32), False),
    ((4, 4, 4), True),
    ((5, 5, 5), True),
    ((6, 6, 6), True),
)

#: A name, states listed, what draws the model, and whether a tree decomposition may take it.
Row = tuple[str, int, Callable[[], Ising], bool]


def rows(seed: int) -> Iterator[Row]:
    """All kinds."""
    for kind, n, states in DENSE:
        yield NAMES[kind], states, partial(instance, kind, n, seed), False
    for kind, size in PENALTIES:
        yield kind, 1, partial(_penalties, kind, size, seed), False
    for values in ("signs", "gauss"):
        yield f"chimera 4x4, {values}", 1, partial(chimera, 4, values, seed), True
        if find_spec("dwave_networkx"):
            yield f"pegasus 2, {values}", 1, partial(pegasus, 2, 40, values, seed), True
        for shape, periodic in _LATTICES:
            name = f"{'x'.join(map(str, shape))} {'periodic' if periodic else 'free'}, {values}"
            narrow = len(shape) == 2 and max(shape) <= 10
            yield name, 1, partial(lattice, shape, periodic, values, seed), narrow


def _penalties(kind: str, size: int, seed: int) -> Ising:
    matrix, offset = KINDS[kind](size, np.random.default_rng([seed, size, len(kind)]))
    return Ising.from_qubo(matrix, offset)


class Measured(NamedTuple):
    """What came of one model: seconds, infinite where it was not proven."""

    spins: int
    method: str
    seconds: float
    peer: float | None


def measured(task: tuple[int, int, float]) -> Measured:
    """One row for one seed, given up after so many seconds."""
    place, seed, limit = task
    _, states, drawn, narrow = list(rows(seed))[place]
    model = drawn()
    run: dict[str, Any] = {"device": "cpu", "threads": 1, "seed": 1, "time_limit": limit}
    seconds, found = least(partial(hardscape.spectrum, model, states, **run), _REPEATS)
    beside = narrow and find_spec("dwave")
    peer, energy = by_tree_decomposition(model, _REPEATS) if beside else ("", None)
    assert energy is None or not found.certified or np.isclose(energy, found.energies[0])
    seconds = seconds if found.certified else np.inf
    return Measured(model.num_spins, found.method, seconds, None if energy is None else float(peer))


def main() -> None:
    """Add one row for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="kinds whose names hold one of these alone")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="of the models")
    parser.add_argument("--cores", type=int, default=1, help="on which models are searched at once")
    parser.add_argument("--time-limit", type=float, default=600, help="seconds of a model")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the table there")
    told = parser.parse_args()
    heads = ["kind", "spins", "states listed", "method", "CPU seconds", "tree decomposition"]
    table = Table.begun("spectrum-kinds", heads, "highspy", "dwave-samplers")
    named = [(place, row) for place, row in enumerate(rows(1)) if _asked(row[0], told.names)]
    tasks = [(place, seed, told.time_limit) for place, _ in named for seed in told.seeds]
    found = on_cores(measured, tasks, told.cores)
    for _, (name, states, *_) in named:
        came = [next(found) for _ in told.seeds]
        methods = ", ".join(sorted({one.method for one in came}))
        peers = [one.peer for one in came if one.peer is not None]
        seconds = [one.seconds for one in came]
        table.add(name, came[0].spins, states, methods, seconds, peers or None)
    if told.save:
        table.save(told.save)


def _asked(name: str, names: list[str]) -> bool:
    return not names or any(x in name for x in names)


if __name__ == "__main__":
    main()
