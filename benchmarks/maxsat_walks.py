"""Random walks on random 3-SAT near the threshold, on CPU and GPU: ``python -m benchmarks.maxsat_walks``.

Flips a second of all walks together, and the time to a solution of satisfiable instances with 2,000
variables at ratio 4.2. An instance is taken if some device satisfies it in time; its solutions are checked
clause by clause.
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
    variables: int = 2000, instances: int = 10, seconds: float = 3.0, cpu_seconds: float = 0.0
) -> None:
    """Times to a solution, on the GPU and, with `cpu_seconds`, on all CPU cores."""
    gpu: list[float] = []
    cpu: list[float] = []
    seed = 100
    while len(gpu) < instances and seed < 100 + 4 * instances:
        formula = random_3_sat(variables, 4.2, seed)
        seed += 1
        began = time.perf_counter()
        found = run(WalkIslands(formula, seed=seed, endless=True), devices=[Device("cuda", 0)],
                    time_limit=seconds)  # fmt: skip
        taken = time.perf_counter() - began
        if found.partial is None or found.partial["violated"][0]:
            print(f"instance {seed - 1}: not solved in {seconds} s, left out")
            continue
        check(formula, found.partial["assignment"])
        gpu.append(taken)
        line = f"instance {seed - 1}: GPU {taken:.3f} s, {int(found.partial['flips'][0]):.3g} flips"
        if cpu_seconds:
            began = time.perf_counter()
            one = maxsat.solve(
                formula, method="weighting", seed=seed, device="cpu", threads=2, target=0,
                time_limit=cpu_seconds,
            )  # fmt: skip
            cpu.append(time.perf_counter() - began)
            line += f"; two cores {cpu[-1]:.3f} s, {one.cost} violated"
        print(line, flush=True)
    if gpu:
        print(f"median of {len(gpu)}: GPU {statistics.median(gpu):.3f} s", end="")
        print(f", two cores {statistics.median(cpu):.3f} s" if cpu else "")


if __name__ == "__main__":
    app()
