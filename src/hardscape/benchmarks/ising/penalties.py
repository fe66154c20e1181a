"""QUBOs with penalties, number partitioning, on one core.

`python -m hardscape.benchmarks.ising.penalties [KIND ...]`.

Peers prove the least energy alone, of the same QUBO: CP-SAT with a product for each pair, toulbar2 with a cost
function for each pair, HiGHS with linearised products (in floating point).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hardscape
from hardscape.benchmarks.tables import Cell, Table
from hardscape.ising import Ising
from hardscape.ising.generators.penalties import KINDS, Qubo

#: Kind and size.
ROWS = (
    ("assignment", 8),
    ("assignment", 10),
    ("tour", 7),
    ("tour", 8),
    ("stable", 64),
    ("stable", 128),
    ("gka-b", 60),
    ("gka-b", 100),
    ("gka-b", 125),
    ("colouring", 20),
    ("colouring", 30),
    ("portfolio", 50),
    ("partition20", 40),
    ("partition12", 60),
)


def by_hardscape(qubo: Qubo, states: int, limit: float) -> tuple[float | None, str]:
    """The least energy, if it is proven; by which method."""
    model = Ising.from_qubo(*qubo)
    run: dict[str, Any] = {"device": "cpu", "threads": 1, "seed": 1, "time_limit": limit}
    found = hardscape.spectrum(model, states, **run)
    return float(found.energies[0]) if found.certified else None, found.method


def by_cp_sat(qubo: Qubo, limit: float) -> float | None:
    """The least energy by OR-Tools' CP-SAT."""
    from ortools.sat.python import cp_model

    matrix, offset = qubo
    model = cp_model.CpModel()
    x = [model.new_bool_var(f"x{i}") for i in range(len(matrix))]
    terms = []
    for i, j in zip(*np.nonzero(matrix), strict=True):
        both = x[i]
        if i != j:
            both = model.new_bool_var("")
            model.add_implication(both, x[i])
            model.add_implication(both, x[j])
            model.add_bool_or(~x[i], ~x[j], both)
        terms.append(int(matrix[i, j]) * both)
    model.minimize(sum(terms))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = limit
    status = solver.solve(model)
    return solver.objective_value + offset if status == cp_model.OPTIMAL else None


def by_toulbar2(qubo: Qubo, limit: float) -> float | None:
    """The least energy by toulbar2."""
    import pytoulbar2

    matrix, offset = qubo
    problem = pytoulbar2.CFN(ubinit=int(np.abs(matrix).sum()) + 1)
    for i in range(len(matrix)):
        problem.AddVariable(f"x{i}", [0, 1])
    for i, j in zip(*np.nonzero(matrix), strict=True):
        value = int(matrix[i, j])
        scope, costs = ([int(i)], [0, value]) if i == j else ([int(i), int(j)], [0, 0, 0, value])
        problem.AddFunction(scope, costs)
    found = problem.Solve(timeLimit=int(limit))
    # Of a search that was stopped the bounds differ.
    done = found is not None and problem.GetDDualBound() > found[1] - 0.5
    return float(found[1]) + offset if found is not None and done else None


def by_highs(qubo: Qubo, limit: float) -> float | None:
    """The least energy by HiGHS, of the linearised program."""
    import highspy

    matrix, offset = qubo
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("time_limit", limit)
    x = [solver.addBinary() for _ in range(len(matrix))]
    terms = []
    for i, j in zip(*np.nonzero(matrix), strict=True):
        both = x[i]
        if i != j:
            both = solver.addVariable(0, 1)
            if matrix[i, j] > 0:
                solver.addConstr(both >= x[i] + x[j] - 1)
            else:
                solver.addConstr(both <= x[i])
                solver.addConstr(both <= x[j])
        terms.append(float(matrix[i, j]) * both)
    solver.minimize(sum(terms))
    done = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return solver.getObjectiveValue() + offset if done else None


PEERS = {"CP-SAT": by_cp_sat, "toulbar2": by_toulbar2, "HiGHS": by_highs}


def timed(solve: Callable[[], float | None]) -> tuple[float | None, str]:
    """An energy, and the seconds that it took."""
    began = time.process_time()
    energy = solve()
    return energy, f"{time.process_time() - began:.2f}" if energy is not None else "-"


def main() -> None:
    """Add one row for each kind and seed; all that are proven must agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="rows of these kinds alone")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--states", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the table there")
    told = parser.parse_args()
    peers = {} if told.no_peers else PEERS
    heads = ["kind", "variables", "method", "hardscape", *peers]
    table = Table.begun("spectrum-penalties", heads, "ortools", "pytoulbar2", "highspy")
    for kind, size in ROWS:
        for seed in range(told.seeds) if not told.kinds or kind in told.kinds else ():
            qubo = KINDS[kind](size, np.random.default_rng([seed, size, len(kind)]))
            began = time.process_time()
            least, method = by_hardscape(qubo, told.states, told.time_limit)
            seconds = time.process_time() - began
            cells: list[Cell] = [
                kind,
                len(qubo[0]),
                method,
                f"{seconds:.2f}" if least is not None else "-",
            ]
            for peer in peers.values():
                energy, cell = timed(partial(peer, qubo, told.time_limit))
                assert (
                    energy is None
                    or least is None
                    or abs(energy - least) < 1e-6 * abs(least) + 1e-3
                )
                cells.append(cell)
            table.add(*cells)
    if told.save:
        table.save(told.save)


if __name__ == "__main__":
    main()
