"""The paper's tables of the cellular genetic algorithm, done again.

``python -m hardscape.benchmarks.maxsat.cellular``.

Tables 3 to 5: time, generations and satisfied clauses over 50 runs on ten SATLIB instances, on one CPU
core, on all of them and on a GPU. Table 1, in its spirit: what each part of the algorithm and of its
implementation is worth on uf250-01. The paper's figures stand beside ours (Munawar, Wahib, Munetomo,
Akama, 2009; Tesla C1060 and Core 2 Duo).
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

from hardscape.benchmarks.tables import Table
from hardscape.engine import cuda_status
from hardscape.maxsat import CellularOptions, CellularResult, Formula, cellular_search

app = cyclopts.App(help=__doc__, result_action="return_value")


@dataclass(frozen=True)
class Paper:
    """A row of the paper's tables."""

    name: str
    serial_seconds: float
    gpu_seconds: float
    generations: float
    satisfied: float


PAPER = [
    Paper("uf020", 0.227, 0.0144, 1, 91),
    Paper("uf050", 1.837, 0.098, 1.08, 218),
    Paper("uf075", 4.87, 0.221, 1.18, 325),
    Paper("uf100", 67.977, 2.995, 8.04, 428.64),
    Paper("uf125", 110.148, 4.67, 8.85, 535.9),
    Paper("uf150", 201.625, 8.43, 10.25, 642.7),
    Paper("uf175", 225.08, 13.43, 11.1, 749.875),
    Paper("uf200", 379.35, 15.19, 12.525, 856.7),
    Paper("uf225", 548.83, 21.607, 13.467, 956.167),
    Paper("uf250", 637.42, 24.803, 17.05, 1060.33),
]


def read(path: Path) -> Formula:
    """A SATLIB file; it may end in a line with a percent sign."""
    lines = path.read_text().split("%")[0].splitlines()
    variables = next(int(line.split()[2]) for line in lines if line.startswith("p"))
    words = [w for line in lines if line[:1] not in ("c", "p", "") for w in line.split()]
    clauses: list[list[int]] = [[]]
    for literal in map(int, words):
        if literal:
            clauses[-1].append(literal)
        else:
            clauses.append([])
    return Formula.from_clauses(clauses[:-1], num_variables=variables)


def clock(how: dict[str, Any]) -> float:
    """Processor time where a single thread works, so that other processes do not count; else wall time."""
    return time.process_time() if how.get("threads") == 1 else time.perf_counter()


def seconds_each(formula: Formula, runs: int, **how: Any) -> list[float]:
    """The time of a run alone, its seed that of the repetition."""
    taken = []
    for seed in range(runs):
        began = clock(how)
        cellular_search(formula, seed=seed, **how)
        taken.append(clock(how) - began)
    return taken


def check(formula: Formula, result: CellularResult) -> None:
    """Count the violated clauses without the library."""
    violated = 0
    for begin, end in zip(formula.offsets[:-1].tolist(), formula.offsets[1:].tolist(), strict=True):
        clause = formula.literals[begin:end]
        violated += not (result.assignment[abs(clause) - 1] == (clause > 0)).any()
    if violated != result.cost:
        raise SystemExit(f"cost {result.cost} reported, {violated} clauses violated")


def devices() -> dict[str, dict[str, Any]]:
    """What there is to run on."""
    found: dict[str, dict[str, Any]] = {
        "one core": {"device": "cpu", "threads": 1},
        "all cores": {"device": "cpu"},
    }
    if cuda_status().usable:
        found["GPU"] = {"device": "cuda:0"}
    return found


@app.command
def tables(data: Path, runs: int = 50, only: str = "", save: Path | None = None) -> None:
    """Tables 3 to 5, on the SATLIB files in the folder `data`.

    Alone: median of whole calls for one run; of many: a call for `runs` of them, divided by their number.
    """
    found = Table.begun(
        "cellular-tables",
        ["instance", "device", "alone, s", "of many, s", "times faster than the paper's GPU, alone",
         "generations", "paper's", "satisfied", "its spread", "paper's ", "clauses"],
    )  # fmt: skip
    for paper in PAPER:
        if only and only != paper.name:
            continue
        formula = read(data / f"{paper.name}-01.cnf")
        costs = None
        for name, how in devices().items():
            for warm in (1, runs):  # few and many runs have kernels of their own
                cellular_search(formula, seed=0, runs=warm, **how)
            alone = seconds_each(formula, min(runs, 20), **how)
            began = clock(how)
            many = cellular_search(formula, seed=1, runs=runs, **how)
            batched = (clock(how) - began) / runs
            check(formula, many)
            satisfied = formula.num_clauses - many.run_costs[:, 1]
            if costs is not None and (costs != many.run_costs).any():
                raise SystemExit(f"{paper.name}: {name} found other costs")
            costs = many.run_costs
            found.add(
                f"{paper.name}-01", name, alone, batched, paper.gpu_seconds / statistics.median(alone),
                round(float(many.run_generations.mean()), 2), paper.generations,
                f"{satisfied.mean():.2f}", round(float(satisfied.std()), 2), paper.satisfied,
                formula.num_clauses,
            )  # fmt: skip
    if save:
        found.save(save)


def _uneven(formula: Formula) -> Formula:
    """The same formula with each clause twice as heavy, and one more that weighs 1 and always holds
    once it is climbed: weights that differ are added up one by one."""
    n = formula.num_variables + 1
    return Formula(
        n,
        np.append(formula.literals, np.int32(n)),
        np.append(formula.offsets, formula.offsets[-1] + 1),
        np.append(2 * formula.weights, 1),
        np.append(formula.hard, False),
    )


#: What acts on individuals where the paper's operators act on bits, and what else it compares with.
OLD = CellularOptions(
    crossover="two-point", inversion="gene", selection="panmictic", migration="sorted", step=0
)
WAYS = {
    "as the paper says": CellularOptions(),
    "one pass of climbing": CellularOptions(passes=1),
    "30% of the bits turned": CellularOptions(mutation=0.3),
    "two-point crossover, one gene": CellularOptions(crossover="two-point", inversion="gene"),
    "all of Table 1's old operators": OLD,
}


@app.command
def ends(data: Path, runs: int = 50, save: Path | None = None) -> None:
    """Generations and satisfied clauses at the end of runs, read in several ways, beside Tables 4 and 5."""
    names = [paper.name for paper in PAPER if paper.generations > 1]
    found = Table.begun("maxsat-ends", ["generations; satisfied", *names])
    found.add("paper", *(f"{x.generations}; {x.satisfied}" for x in PAPER if x.generations > 1))
    for way, options in WAYS.items():
        cells = []
        for name in names:
            formula = read(data / f"{name}-01.cnf")
            many = cellular_search(
                formula, seed=1, runs=runs, options=options, threads=1, device="cpu"
            )
            satisfied = formula.num_clauses - many.run_costs[:, 1]
            cells.append(f"{many.run_generations.mean():.2f}; {satisfied.mean():.2f}")
        found.add(way, *cells)
    if save:
        found.save(save)


@app.command
def ablations(data: Path, runs: int = 50, device: str = "cpu", save: Path | None = None) -> None:
    """What each part is worth on uf250-01: every run has 20 generations, as in the paper's Table 1.

    On the CPU one thread works.
    """
    threads = 1 if device == "cpu" else None
    formula = read(data / "uf250-01.cnf")
    base = CellularOptions(max_generations=20, patience=10**6)
    rows: dict[str, tuple[Formula, CellularOptions]] = {
        "as published": (formula, base),
        "gains kept one by one, not bits in planes": (_uneven(formula), base),
        "passes fixed at 20, no feedback": (formula, replace(base, step=0)),
        "one pass": (formula, replace(base, passes=1)),
        "no mutation": (formula, replace(base, mutation=0.0)),
        "no recombination": (formula, replace(base, recombination=0.0)),
        "no diffusion: islands apart": (formula, replace(base, diffusion=0.0)),
        "diffusion always: one torus": (formula, replace(base, diffusion=1.0)),
        "memetic: walks of 200 flips, no climbing": (formula, replace(base, walk_flips=200)),
        "one population of 3000, no islands": (
            formula,
            replace(base, width=60, height=50, columns=1, rows=1),
        ),
    }
    columns = ["way", "device", "s a run", "times the first", "satisfied", "its spread"]
    found = Table.begun("cellular-ablations" + "-gpu" * (device != "cpu"), columns)
    reference = None
    for name, (instance, options) in rows.items():
        how: dict[str, Any] = {"device": device, "threads": threads, "options": options}
        cellular_search(instance, seed=0, **how)
        began = clock(how)
        many = cellular_search(instance, seed=1, runs=runs, **how)
        seconds = (clock(how) - began) / runs
        satisfied = formula.num_clauses - many.run_costs[:, 1] // int(instance.weights[0])
        reference = reference or seconds
        mean, scatter = f"{np.mean(satisfied):.2f}", round(float(np.std(satisfied)), 2)
        found.add(name, device, seconds, seconds / reference, mean, scatter)
    if save:
        found.save(save)


if __name__ == "__main__":
    app()
