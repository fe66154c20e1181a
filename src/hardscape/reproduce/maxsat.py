"""Tables 1, 3, 4, 5 and Figure 11 of Munawar et al., Hybrid of genetic algorithm and local search (2009)."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardscape.figures import COLORS, GREY, finish
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.cellular.options import CellularOptions
from hardscape.maxsat.methods.cellular.search import cellular_search
from hardscape.maxsat.solve import solve
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request

_PAPER = "Munawar, Wahib, Munetomo, Akama, Genet. Program. Evolvable Mach. 10, 391 (2009)"
_OWN = (
    "Formulas are our own, drawn as SATLIB's uf are: uniform random 3-SAT, satisfiable; "
    "the paper has one of SATLIB's of each size."
)
_RUNS = 50


@dataclass(frozen=True)
class _Row:
    """The paper's row: variables, clauses, seconds of one core and of the GPU, generations, satisfied."""

    n: int
    m: int
    serial: float
    gpu: float
    generations: float
    spread: float
    satisfied: float


_TABLE = (
    _Row(20, 91, 0.227, 0.0144, 1, 0, 91),
    _Row(50, 218, 1.837, 0.098, 1.08, 0.26, 218),
    _Row(75, 325, 4.87, 0.221, 1.18, 0.56, 325),
    _Row(100, 430, 67.977, 2.995, 8.04, 1.678, 428.64),
    _Row(125, 538, 110.148, 4.67, 8.85, 2.67, 535.9),
    _Row(150, 645, 201.625, 8.43, 10.25, 2.99, 642.7),
    _Row(175, 753, 225.08, 13.43, 11.1, 4.64, 749.875),
    _Row(200, 860, 379.35, 15.19, 12.525, 2.276, 856.7),
    _Row(225, 960, 548.83, 21.607, 13.467, 3.32, 956.167),
    _Row(250, 1065, 637.42, 24.803, 17.05, 2.195, 1060.33),
)


def uniform_satisfiable(n: int, m: int, seed: int) -> Formula:
    """Uniform random 3-SAT with m clauses, drawn again until the search satisfies all."""
    for attempt in range(1000):
        random = np.random.default_rng([n, m, seed, attempt])
        picks = np.argsort(random.random((m, n)), axis=1)[:, :3] + 1
        signs = random.choice([-1, 1], (m, 3))
        formula = Formula.from_clauses((picks * signs).tolist(), num_variables=n)
        if solve(formula, seed=1, time_limit=5.0, device="cpu", threads=1, target=0).cost == 0:
            return formula
    raise AssertionError(f"no satisfiable formula of {n} variables and {m} clauses in 1000")


def _tables(request: Request) -> Findings:
    rows: list[tuple[Any, ...]] = []
    quantities = []
    instances = 20 if request.full else 5
    for paper in _TABLE:
        request.tell(f"{paper.n} variables")
        runs, seconds = [], []
        for number in range(instances):
            formula = uniform_satisfiable(paper.n, paper.m, request.seed + number)
            cellular_search(formula, seed=0, **request.run)
            began = time.perf_counter()
            cellular_search(formula, seed=1, **request.run)
            seconds.append(time.perf_counter() - began)
            many = cellular_search(formula, seed=request.seed, runs=_RUNS, **request.run)
            satisfied = paper.m - many.run_costs[:, 1]
            runs.append((float(many.run_generations.mean()), float(satisfied.mean())))
        generations, satisfied_each = (list(column) for column in zip(*runs, strict=True))
        rows.append(
            (paper.n, paper.m, statistics.median(seconds), *_mean(generations),
             *_mean(satisfied_each), paper.serial, paper.gpu, paper.generations, paper.satisfied)
        )  # fmt: skip
        if paper.n in (100, 250):
            quantities += [
                Quantity(f"generations, {paper.n} variables", *_mean(generations),
                         paper.generations, paper.spread / math.sqrt(_RUNS)),
                Quantity(f"satisfied of {paper.m}, {paper.n} variables",
                         *_mean(satisfied_each), paper.satisfied),
                Quantity(f"seconds of a run, {paper.n} variables", rows[-1][2], None, paper.gpu,
                         remark="paper: Tesla C1060"),
            ]  # fmt: skip
    columns = ("variables", "clauses", "seconds", "generations", "their error", "satisfied",
               "its error", "paper: one core, s", "paper: GPU, s", "paper: generations",
               "paper: satisfied")  # fmt: skip
    text = (
        f"{_OWN} {instances} formulas of each size, {_RUNS} runs each; the paper's parameters. Errors are "
        "those of the mean over the formulas."
    )
    return Findings(columns, rows, quantities, text)


def _mean(values: list[float]) -> tuple[float, float]:
    """Mean over the formulas and its standard error."""
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def _draw_tables(data: dict[str, list[Any]], ax: Any) -> Any:
    n = data["variables"]
    ax.plot(n, data["seconds"], "o-", color=COLORS[0], label="here")
    ax.plot(n, data["paper: GPU, s"], "s--", color=GREY, label="paper, Tesla C1060")
    ax.plot(n, data["paper: one core, s"], "^:", color=GREY, label="paper, one core")
    ax.set_yscale("log")
    title = "Cellular genetic algorithm: time of a run"
    return finish(ax, title, "variables", "seconds", whole="x", legend=True)


def _ablation(request: Request) -> Findings:
    formula = uniform_satisfiable(250, 1065, request.seed)
    base = CellularOptions(max_generations=20, patience=10**6)
    ways = {
        "as published": base,
        "passes fixed at 20, no feedback": replace(base, step=0),
        "one pass of climbing": replace(base, passes=1),
        "no mutation": replace(base, mutation=0.0),
        "no recombination": replace(base, recombination=0.0),
        "no diffusion: islands apart": replace(base, diffusion=0.0),
        "diffusion always: one torus": replace(base, diffusion=1.0),
        "one population of 3000": replace(base, width=60, height=50, columns=1, rows=1),
    }
    rows: list[tuple[Any, ...]] = []
    for name, options in ways.items():
        request.tell(name)
        how: dict[str, Any] = {"options": options, **request.run}
        cellular_search(formula, seed=0, **how)
        began = time.perf_counter()
        many = cellular_search(formula, seed=request.seed, runs=_RUNS, **how)
        seconds = (time.perf_counter() - began) / _RUNS
        satisfied = 1065 - many.run_costs[:, 1]
        rows.append((name, seconds, float(satisfied.mean()), float(satisfied.std())))
    quantities = [
        Quantity("seconds of a run of 20 generations", rows[0][1], None, 28.913,
                 remark="paper: all its optimisations, Tesla C1060"),
        Quantity("the same beside its first program on the GPU", rows[0][1], None, 82.713),
    ]  # fmt: skip
    text = f"{_OWN} Steps of the paper that are slower ways to the same operators are not gone back to."
    columns = ("way", "seconds a run", "satisfied", "its spread")
    return Findings(columns, rows, quantities, text)


def _draw_ablation(data: dict[str, list[Any]], ax: Any) -> Any:
    names = data["way"]
    y = np.arange(len(names))[::-1]
    error = np.array(data["its spread"]) / math.sqrt(_RUNS)
    ax.errorbar(data["satisfied"], y, xerr=error, fmt="o", color=COLORS[0])
    ax.set_yticks(y, names)
    return finish(ax, "20 generations on 1065 clauses", "satisfied clauses, mean of 50 runs", "")


FIGURES = (
    Figure("maxsat-1", f"{_PAPER}, Table 1", "What each part of the algorithm is worth", _ablation,
           _draw_ablation),
    Figure("maxsat-3", f"{_PAPER}, Tables 3 to 5, Fig. 11",
           "Time, generations and satisfied clauses against size", _tables, _draw_tables),
)  # fmt: skip
