"""Lattices that are too wide for tables, by odd-cycle cuts.

`python -m hardscape.benchmarks.ising.lattices [NAME ...]`.

Seconds of the processor, on one thread. The peers prove one ground state of the same model: a planar solver by
matching, CP-SAT and HiGHS with a product for each pair; a dash where one takes longer, does not take it, or is
not there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import hardscape
from hardscape.benchmarks.cores import on_cores
from hardscape.benchmarks.ising.penalties import by_cp_sat, by_highs, timed
from hardscape.benchmarks.tables import Cell, Table
from hardscape.ising import Ising, search
from hardscape.ising.generators import lattice

#: Spins up to which peers are run.
_MOST_FOR_PEERS = 400


def instances() -> Iterator[tuple[str, tuple[int, ...], bool, str]]:
    """Names, shapes, whether periodic, and couplings."""
    for kind in ("signs", "gauss"):
        for side in (20, 32, 64):
            yield f"free {side}x{side}, {kind}", (side, side), False, kind
        for side in (14, 20, 32):
            yield f"torus {side}x{side}, {kind}", (side, side), True, kind
    yield "free 5x5x5, signs", (5, 5, 5), False, "signs"
    yield "periodic 5x5x5, signs", (5, 5, 5), True, "signs"
    yield "periodic 5x5x5, gauss", (5, 5, 5), True, "gauss"


def by_matching(model: Ising, side: int) -> float:
    """The least energy of a square lattice, by the planar solver of dwave-samplers."""
    from dwave.samplers import PlanarGraphSolver

    bqm = model.to_bqm()
    places = {v: (int(v) % side, int(v) // side) for v in bqm.variables}
    return float(PlanarGraphSolver().sample(bqm, pos=places).first.energy)


def peers(model: Ising, shape: tuple[int, ...], periodic: bool, limit: float) -> Iterator[str]:
    """Seconds of each; all energies must agree."""
    ground = hardscape.spectrum(model, 1, device="cpu", threads=1, seed=1).energies[0]
    planar = len(shape) == 2 and not periodic and find_spec("dwave") is not None
    found, seconds = timed(lambda: by_matching(model, shape[0]) if planar else None)
    assert found is None or np.isclose(found, ground)
    yield seconds
    whole = model.is_integer
    form = model.exact.to_binary()
    scale = 2.0**form.exponent
    matrix = np.diag([scale * x for x in form.fields])
    matrix[form.row, form.col] = [scale * x for x in form.couplings]
    for peer in (by_cp_sat, by_highs):
        possible = peer is by_highs or (whole and find_spec("ortools") is not None)
        qubo = (matrix, form.offset * scale)
        found, seconds = timed(partial(peer, qubo, limit)) if possible else (None, "-")
        assert found is None or np.isclose(found, ground, rtol=1e-6)
        yield seconds


#: Sides of planar lattices by matching, and couplings.
_PLANAR = (
    *((side, kind) for side in (32, 64, 100, 200) for kind in ("signs", "gauss")),
    (300, "gauss"),
    (500, "gauss"),
    (1000, "gauss"),
)


def planar() -> Table:
    """One ground state of square lattices with a border, by matching."""
    heads = ["lattice", "spins", "CPU seconds", "energy a spin", "bound below it"]
    table = Table.begun("spectrum-planar", heads, "pymatching")
    search({(0, 1): 1.0, (1, 2): 1.0, (0, 2): 1.0}, method="matching")  # imports
    for side, kind in _PLANAR:
        model = square(side, kind)
        began = time.process_time()
        found = search(model, method="matching", threads=1, seed=1)
        seconds = time.process_time() - began
        energy, spins = float(found.energies[0]), side * side
        below = f"{energy - found.lower_bound:.2g}"
        table.add(f"{side}x{side}, {kind}", spins, f"{seconds:.2g}", f"{energy / spins:.5f}", below)
    return table


def square(side: int, kind: str) -> Ising:
    """A square lattice with a border, drawn at once."""
    rng = np.random.default_rng([side, len(kind)])
    place = np.arange(side * side).reshape(side, side)
    row = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()]).tolist()
    col = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()]).tolist()
    values = rng.choice([-1.0, 1.0], len(row)) if kind == "signs" else rng.normal(size=len(row))
    couplings = dict(zip(zip(row, col, strict=True), values.tolist(), strict=True))
    return Ising(np.zeros(side * side), couplings)


def measured(task: tuple[str, float | None]) -> tuple[Cell, ...]:
    """The row of a lattice, beside peers of so many seconds each."""
    name, limit = task
    _, shape, periodic, kind = next(x for x in instances() if x[0] == name)
    model, cells = lattice(shape, periodic, kind), list[Cell]()
    for states in (1, 100):
        began = time.process_time()
        found = hardscape.spectrum(model, states, device="cpu", threads=1, seed=1, method="cuts")
        cells.append(f"{time.process_time() - began:.2g}")
        assert found.certified
    cells += [found.info["nodes"], found.info["core_spins"]]
    if limit and model.num_spins <= _MOST_FOR_PEERS:
        cells += peers(model, shape, periodic, limit)
    return name, model.num_spins, *cells


def main() -> None:
    """Add one row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models whose names hold one of these alone")
    parser.add_argument("--peers", type=float, metavar="SECONDS", help="run peers, so long each")
    parser.add_argument(
        "--cores", type=int, default=1, help="on which lattices are searched at once"
    )
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the table there")
    parser.add_argument("--planar", action="store_true", help="the table of matching alone")
    told = parser.parse_args()
    if told.planar:
        table = planar()
        if told.save:
            table.save(told.save)
        return
    heads = ["model", "spins", "S = 1", "S = 100", "nodes", "clusters left"]
    heads += ["PlanarGraphSolver", "CP-SAT", "HiGHS"] if told.peers else []
    table = Table.begun("spectrum-lattices", heads, "highspy", "ortools", "dwave-samplers")
    tasks = [
        (name, told.peers)
        for name, *_ in instances()
        if not told.names or any(x in name for x in told.names)
    ]
    for row in on_cores(measured, tasks, told.cores):
        table.add(*row)
    if told.save:
        table.save(told.save)


if __name__ == "__main__":
    main()
