"""Random walks on random 3-SAT near the threshold, on CPU and GPU: ``python -m benchmarks.maxsat_walks``.

Flips a second of all walks together, and the time to a solution of instances with 2,000 variables at ratio
4.2. An instance is taken if some device satisfies it in time; solutions are checked clause by clause.
"""

from __future__ import annotations

import statistics
import time

import cyclopts
import numpy as np

from hardscape import maxsat, native
from hardscape.engine import Device, cuda_status, run
from hardscape.engine.cuda import cuda_device
from hardscape.maxsat.walk import break_weights
from hardscape.maxsat.walkers import CudaWalks, WalkIslands, WalkTables

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
def rate(variables: int = 2000, flips: int = 20_000) -> None:
    """Flips a second: one CPU core (processor time), and all walks of a GPU."""
    formula = random_3_sat(variables, 4.2, 1)
    walk = native.core().Walk(
        variables, formula.literals, formula.offsets, break_weights(3), 1, 0, None
    )
    stop = np.zeros(1, dtype=np.uint8)
    walk.run(10**5, 0, stop)
    began = time.thread_time()
    done = walk.run(3 * 10**6, 0, stop)
    print(f"one CPU core: {done / (time.thread_time() - began):.3g} flips/s")
    if not cuda_status().usable:
        return
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
        print(
            f"GPU, {batch.walks} walks: median {statistics.median(rates):.4g} flips/s "
            f"({min(rates):.4g} to {max(rates):.4g})"
        )


@app.command
def solutions(
    variables: int = 2000,
    instances: int = 11,
    seconds: float = 3.0,
    cpu_seconds: float = 0.0,
    ratio: float = 4.2,
) -> None:
    """Times to a solution of consecutive instances, on the GPU and, with `cpu_seconds`, on two cores.

    The medians are over the instances that either satisfied; one that did not counts as its limit.
    """
    taken: list[tuple[float, float]] = []
    run(WalkIslands(random_3_sat(100, 3, 1), seed=1), devices=[Device("cuda", 0)])  # warms up
    for seed in range(100, 100 + instances):
        formula = random_3_sat(variables, ratio, seed)
        began = time.perf_counter()
        found = run(WalkIslands(formula, seed=seed, endless=True), devices=[Device("cuda", 0)],
                    time_limit=seconds)  # fmt: skip
        gpu = time.perf_counter() - began
        assert found.partial is not None
        violated, flips = int(found.partial["violated"][0]), int(found.partial["flips"][0])
        if violated == 0:
            check(formula, found.partial["assignment"])
        line = f"instance {seed}: GPU {gpu:.3f} s, {flips:.3g} flips, {violated} violated"
        cpu, left = 0.0, 1
        if cpu_seconds:
            began = time.perf_counter()
            one = maxsat.solve(
                formula, method="weighting", seed=seed, device="cpu", threads=2, target=0,
                time_limit=cpu_seconds,
            )  # fmt: skip
            cpu, left = time.perf_counter() - began, one.cost or 0
            line += f"; two cores {cpu:.3f} s, {left} violated"
        if violated and left:
            line += "; left out"
        else:
            taken.append((gpu, cpu))
        print(line, flush=True)
    if taken:
        gpus, cpus = zip(*taken, strict=True)
        print(f"median of {len(taken)}: GPU {statistics.median(gpus):.3f} s", end="")
        print(f", two cores {statistics.median(cpus):.3f} s" if cpu_seconds else "")


if __name__ == "__main__":
    app()
