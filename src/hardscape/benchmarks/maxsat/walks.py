"""Random walks on random 3-SAT near the threshold, on CPU and GPU.

``python -m hardscape.benchmarks.maxsat.walks``.

Flips a second of all walks together, and the time to a solution of instances with 2,000 variables at ratio
4.2. An instance is taken if some device satisfies it in time; solutions are checked clause by clause.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

from hardscape import maxsat, native
from hardscape.benchmarks.tables import Table
from hardscape.engine import RunOptions, cuda_status, solve
from hardscape.engine.cuda import cuda_device
from hardscape.maxsat.methods.islands.cuda import CudaWalks
from hardscape.maxsat.methods.islands.elites import Exchange
from hardscape.maxsat.methods.islands.islands import WalkIslands
from hardscape.maxsat.methods.islands.tables import WalkTables
from hardscape.maxsat.methods.weighting.walk import break_weights

app = cyclopts.App(help=__doc__, result_action="return_value")


def random_3_sat(variables: int, ratio: float, seed: int) -> maxsat.Formula:
    """Clauses of three distinct variables with random signs."""
    rng = np.random.default_rng(seed)
    clauses = round(ratio * variables)
    drawn = rng.integers(1, variables + 1, (clauses, 3))
    while True:
        same = (drawn[:, [0]] == drawn[:, 1:]).any(axis=1) | (drawn[:, 1] == drawn[:, 2])
        if not same.any():
            break
        drawn[same] = rng.integers(1, variables + 1, (int(same.sum()), 3))
    return maxsat.Formula.from_clauses(
        (drawn * rng.choice([-1, 1], drawn.shape)).tolist(), num_variables=variables
    )


def check(formula: maxsat.Formula, assignment: np.ndarray) -> None:
    """Look at every clause without the library."""
    values = assignment[np.abs(formula.literals) - 1] == (formula.literals > 0)
    if not values.reshape(-1, 3).any(axis=1).all():
        raise SystemExit("a clause is violated")


@app.command
def rate(variables: int = 2000, flips: int = 20_000, save: Path | None = None) -> None:
    """Flips a second: one CPU core (processor time), and all walks of a GPU."""
    table = Table.begun("maxsat-walks", ["where", "walks", "flips/s together", "flips/s of a walk"])
    formula = random_3_sat(variables, 4.2, 1)
    walk = native.core.maxsat.Walk(formula, break_weights(3), 1, 0, None)
    stop = np.zeros(1, dtype=np.uint8)
    walk.run(10**5, 0, stop)
    began = time.thread_time()
    done = walk.run(3 * 10**6, 0, stop)
    flips_a_second = done / (time.thread_time() - began)
    table.add("one CPU core", 1, flips_a_second, flips_a_second)
    if cuda_status().usable:
        _rate_of_gpu(table, formula, flips)
    if save is not None:
        table.save(save)


def _rate_of_gpu(table: Table, formula: maxsat.Formula, flips: int) -> None:
    with cuda_device(0) as device:
        batch = CudaWalks(WalkTables.of(formula), 1, 0, None, device)
        batch.run(flips, 0)
        rates = []
        for _ in range(5):
            before = int(batch.status["flips"].sum())
            began = time.perf_counter()
            batch.run(flips, 0)
            seconds = time.perf_counter() - began
            rates.append((int(batch.status["flips"].sum()) - before) / seconds)
        table.add("GPU", batch.walks, rates, statistics.median(rates) / batch.walks)


def timed(work: Callable[[], tuple[int, np.ndarray]], formula: maxsat.Formula) -> float:
    """Seconds to a solution, which is checked; infinite where none was found."""
    began = time.perf_counter()
    violated, assignment = work()
    seconds = time.perf_counter() - began
    if violated:
        return math.inf
    check(formula, assignment)
    return seconds


@app.command
def solutions(
    variables: int = 2000,
    instances: int = 11,
    seeds: int = 5,
    seconds: float = 2.0,
    cpu_seconds: float = 0.0,
    ratio: float = 4.2,
    exchange: Exchange = "winners",
    save: Path | None = None,
) -> None:
    """Times to a solution of consecutive instances, on the GPU and, with `cpu_seconds`, on two cores.

    Medians over all seeds of the instances that some run satisfied; a run without a solution is infinite.
    """
    solve(
        WalkIslands(random_3_sat(100, 3, 1), seed=1), RunOptions.checked(device="cuda:0")
    )  # warms up
    every: dict[str, list[float]] = {"GPU": [], "two cores": []}
    for number in range(100, 100 + instances):
        formula = random_3_sat(variables, ratio, number)

        def gpu(seed: int, formula: maxsat.Formula = formula) -> tuple[int, np.ndarray]:
            work = WalkIslands(formula, seed=seed, endless=True, exchange=exchange)
            options = RunOptions.checked(device="cuda:0", time_limit=seconds)
            found = solve(work, options).answer
            assert found is not None
            return int(found["violated"][0]), found["assignment"]

        def cores(seed: int, formula: maxsat.Formula = formula) -> tuple[int, np.ndarray]:
            found = maxsat.solve(
                formula, method="weighting", seed=seed, device="cpu", threads=2, target=0,
                time_limit=cpu_seconds,
            )  # fmt: skip
            return found.cost or 0, found.assignment

        who = {"GPU": gpu, **({"two cores": cores} if cpu_seconds else {})}
        times = {
            name: sorted(timed(partial(work, seed), formula) for seed in range(seeds))
            for name, work in who.items()
        }
        print(f"instance {number}", {k: [round(x, 3) for x in t] for k, t in times.items()})
        if min(t[0] for t in times.values()) < math.inf:
            for name, t in times.items():
                every[name] += t
    table = Table.begun("maxsat-walks-solutions", ["where", "runs", "unsolved", "median s"])
    for name, t in every.items():
        if t:
            table.add(name, len(t), sum(x == math.inf for x in t), statistics.median(t))
    if save is not None:
        table.save(save)


@app.command
def calls(
    *,
    variables: int = 2000,
    instances: int = 10,
    seeds: int = 3,
    seconds: float = 2.0,
    ratio: float = 4.2,
    save: Path | None = None,
) -> None:
    """Whole calls of `maxsat.solve`, on a GPU and on two cores.

    Parameters
    ----------
    variables
        Of each instance.
    instances
        How many, from seed 100 on.
    seeds
        Runs of each.
    seconds
        Limit of a run; one without a solution counts as infinite.
    ratio
        Clauses a variable.
    save
        Folder for the table.
    """
    who: dict[str, dict[str, Any]] = {"two cores": {"device": "cpu", "threads": 2}}
    if cuda_status().usable:
        who["one GPU"] = {"device": "cuda:0"}
    table = Table.begun("maxsat-walks-calls", ["device", "median s", "s, where solved", "unsolved"])
    every: dict[str, list[float]] = {name: [] for name in who}
    warm = random_3_sat(variables, 3.5, 1)
    for how in who.values():
        maxsat.solve(warm, target=0, time_limit=seconds, **how)
    for number in range(100, 100 + instances):
        formula = random_3_sat(variables, ratio, number)
        for name, how in who.items():

            def call(
                seed: int, formula: maxsat.Formula = formula, how: dict[str, Any] = how
            ) -> tuple[int, np.ndarray]:
                found = maxsat.solve(formula, seed=seed, target=0, time_limit=seconds, **how)
                return found.cost or 0, found.assignment

            every[name] += [timed(partial(call, seed), formula) for seed in range(seeds)]
    medians = {name: statistics.median(t) for name, t in every.items()}
    for name, t in every.items():
        solved = [x for x in t if x < math.inf]
        table.add(name, medians[name], solved, len(t) - len(solved))
    if len(medians) > 1:
        table.add("ratio", medians["two cores"] / medians["one GPU"])
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
