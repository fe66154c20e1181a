"""MAX-SAT, ours and the peers', in one run: ``python -m benchmarks.maxsat``.

Formulas are made by generators with fixed seeds, or read from a folder of SATLIB's files. Every cost is
evaluated again here, clause by clause, by code that shares nothing with the package.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

from benchmarks.machine import machine

app = cyclopts.App(help=__doc__, result_action="return_value")

Lists = tuple[int, list[list[int]], list[int], list[list[int]]]  # variables, soft, weights, hard


def random_3sat(n: int, ratio: float, seed: int) -> Lists:
    """Uniform random 3-SAT."""
    rng = np.random.default_rng(seed)
    clauses: list[list[int]] = []
    while len(clauses) < round(ratio * n):
        v = rng.integers(1, n + 1, 3)
        if len(set(v.tolist())) == 3:
            clauses.append([int(x) for x in v * rng.choice([-1, 1], 3)])
    return n, clauses, [1] * len(clauses), []


def weighted_3sat(n: int, m: int, seed: int) -> Lists:
    """Random MAX-3-SAT with weights 1 to 20."""
    rng = np.random.default_rng(seed)
    clauses = [
        [int(x) for x in (rng.choice(n, 3, replace=False) + 1) * rng.choice([-1, 1], 3)]
        for _ in range(m)
    ]
    return n, clauses, rng.integers(1, 21, m).tolist(), []


def vertex_cover(n: int, p: float, seed: int) -> Lists:
    """Cheapest vertex cover of a random graph, prices 1 to 30."""
    rng = np.random.default_rng(seed)
    edges = [[i + 1, j + 1] for i in range(n) for j in range(i + 1, n) if rng.random() < p]
    return n, [[-i - 1] for i in range(n)], rng.integers(1, 31, n).tolist(), edges


def set_cover(sets: int, elements: int, k: int, seed: int) -> Lists:
    """Cheapest cover where each element is in k random sets, prices 1 to 50."""
    rng = np.random.default_rng(seed)
    hard = [(rng.choice(sets, k, replace=False) + 1).tolist() for _ in range(elements)]
    return sets, [[-i - 1] for i in range(sets)], rng.integers(1, 51, sets).tolist(), hard


def colouring(n: int, p: float, k: int, seed: int) -> Lists:
    """Colours for the vertices of a random graph; an edge of one colour costs 1 to 20."""
    rng = np.random.default_rng(seed)

    def x(i: int, c: int) -> int:
        return i * k + c + 1

    hard = [[x(i, c) for c in range(k)] for i in range(n)]
    hard += [[-x(i, c), -x(i, d)] for i in range(n) for c in range(k) for d in range(c)]
    soft, weights = [], []
    for i in range(n):
        for j in range(i):
            if rng.random() < p:
                soft += [[-x(i, c), -x(j, c)] for c in range(k)]
                weights += [int(rng.integers(1, 21))] * k
    return n * k, soft, weights, hard


def planted(n: int, m: int, wishes: int, seed: int) -> Lists:
    """Satisfiable hard 3-SAT with soft units, weights 1 to 30."""
    rng = np.random.default_rng(seed)
    hidden = rng.choice([-1, 1], n)
    hard: list[list[int]] = []
    while len(hard) < m:
        v = rng.choice(n, 3, replace=False)
        signs = rng.choice([-1, 1], 3)
        if (signs == hidden[v]).any():
            hard.append([int(x) for x in (v + 1) * signs])
    chosen = rng.choice(n, wishes, replace=False) + 1
    soft = [[int(x)] for x in chosen * rng.choice([-1, 1], wishes)]
    return n, soft, rng.integers(1, 31, wishes).tolist(), hard


def max_cut(n: int, p: float, seed: int) -> Lists:
    """Both sides of a random graph; an edge within a side costs 1 to 20."""
    rng = np.random.default_rng(seed)
    soft, weights = [], []
    for i in range(n):
        for j in range(i):
            if rng.random() < p:
                soft += [[i + 1, j + 1], [-i - 1, -j - 1]]
                weights += [int(rng.integers(1, 21))] * 2
    return n, soft, weights, []


PARTIAL: dict[str, Callable[[int], Lists]] = {
    "set cover, 200 sets, 150 elements": lambda seed: set_cover(200, 150, 8, seed),
    "set cover, 300 sets, 150 elements": lambda seed: set_cover(300, 150, 8, seed),
    "vertex cover, 100 vertices": lambda seed: vertex_cover(100, 0.1, seed),
    "vertex cover, 150 vertices": lambda seed: vertex_cover(150, 0.04, seed),
    "3 colours, 20 vertices": lambda seed: colouring(20, 0.4, 3, seed),
    "planted 3-SAT, 200 variables": lambda seed: planted(200, 800, 60, seed),
    "maximum cut, 40 vertices": lambda seed: max_cut(40, 0.15, seed),
}


def formula_of(lists: Lists) -> Any:
    """The package's object."""
    from hardscape.maxsat import Formula

    n, soft, weights, hard = lists
    return Formula.from_clauses(soft, weights, hard=hard, num_variables=n)


def cost_of(lists: Lists, assignment: Any) -> int | None:
    """Cost by the definition; None where a hard clause is violated."""
    _, soft, weights, hard = lists
    true = [bool(x) for x in assignment]

    def holds(clause: list[int]) -> bool:
        return any(true[abs(x) - 1] == (x > 0) for x in clause)

    if not all(map(holds, hard)):
        return None
    return sum(w for clause, w in zip(soft, weights, strict=True) if not holds(clause))


@dataclass(frozen=True)
class Answer:
    """A cost that was evaluated here, and the time it took."""

    cost: int | None
    seconds: float
    flips: int = 0
    cpu: float = 0.0


def cpu_seconds() -> float:
    """Of this process, and of those that it started and that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def ours(lists: Lists, **options: Any) -> Answer:
    """`hardscape.maxsat.solve`, in the call: the formula object exists before."""
    from hardscape.maxsat import solve

    formula = formula_of(lists)
    began, cpu = time.perf_counter(), cpu_seconds()
    result = solve(formula, **options)
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    cost = cost_of(lists, result.assignment)
    assert cost == result.cost, (cost, result)
    return Answer(cost, seconds, result.flips, cpu)


def cadical(lists: Lists, limit: float) -> Answer:
    """python-sat's CaDiCaL 1.5.3 on a formula asked to be satisfied; a process that can be ended."""
    code = (
        "import json,sys,time;from pysat.solvers import Cadical153;c=json.load(sys.stdin);"
        "s=Cadical153(bootstrap_with=c);t=time.perf_counter();ok=s.solve();"
        "print(json.dumps([time.perf_counter()-t,s.get_model() if ok else None]))"
    )
    n, soft, _, _ = lists
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(soft),
            capture_output=True,
            text=True,
            timeout=limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return Answer(None, limit)
    seconds, model = json.loads(done.stdout)
    true = {x for x in model or [] if x > 0}
    return Answer(cost_of(lists, [v in true for v in range(1, n + 1)]), seconds)


def rc2(lists: Lists, limit: float) -> Answer:
    """python-sat's stratified RC2 with Glucose 4, core exhaustion, minimization and AtMost1 detection.

    In a process of its own, which can be ended; what counts is the time of the solver alone, that of the
    formula's way into it and back left out.
    """
    code = """
import json, sys, time
from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF
n, soft, weights, hard = json.load(sys.stdin)
wcnf = WCNF()
wcnf.extend(hard)
wcnf.extend(soft, weights=weights)
began, cpu = time.perf_counter(), time.process_time()
with RC2Stratified(wcnf, solver="g4", adapt=True, exhaust=True, minz=True) as solver:
    model = solver.compute()
print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, model]))
"""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(lists),
            capture_output=True,
            text=True,
            timeout=limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return Answer(None, limit)
    seconds, cpu, model = json.loads(done.stdout)
    true = {x for x in model if x > 0}
    cost = cost_of(lists, [v in true for v in range(1, lists[0] + 1)])
    return Answer(cost, seconds, cpu=cpu)


def row(*cells: Any) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def spread(values: list[float], scale: float = 1.0) -> str:
    """Median and range."""
    a, b, c = statistics.median(values), min(values), max(values)
    return f"{a * scale:.3g} ({b * scale:.3g} to {c * scale:.3g})"


def read_lists(path: Path) -> Lists:
    """A CNF file by its definition."""
    clauses: list[list[int]] = []
    n, open_clause = 0, []
    for line in path.read_text().splitlines():
        if line.startswith("%"):
            break
        if line.startswith(("c", "p")):
            n = int(line.split()[2]) if line.startswith("p") else n
            continue
        for x in map(int, line.split()):
            if x:
                open_clause.append(x)
            else:
                clauses.append(open_clause)
                open_clause = []
    return n, clauses, [1] * len(clauses), []


def satisfiable(folder: Path | None, runs: int) -> None:
    """A small formula many times, one core."""
    path = None if folder is None else folder / "uf250-01.cnf"
    if path is not None and path.is_file():
        name, lists = "uf250-01", read_lists(path)
    else:
        name, lists = "random 3-SAT, 250 variables, ratio 4.2", random_3sat(250, 4.2, 1)
    print(f"\n### {name}, one core, {runs} seeds\n")
    row("tool", "satisfied", "median ms (min to max)", "ms of CPU", "must reach")
    row(*["---"] * 5)
    ours(lists, seed=0, threads=1)
    found = [ours(lists, seed=seed, threads=1) for seed in range(runs)]
    done = sum(x.cost == 0 for x in found)
    row(
        "hardscape, auto",
        f"{done} of {runs}",
        spread([x.seconds for x in found], 1e3),
        spread([x.cpu for x in found], 1e3),
        "all, 5 ms (aim 1 ms)",
    )
    peer = [cadical(lists, 60) for _ in range(3)]
    row(
        "cadical153",
        f"{sum(x.cost == 0 for x in peer)} of 3",
        spread([x.seconds for x in peer], 1e3),
        "",
        "",
    )


def threshold(n: int, instances: int, threads: int, limit: float) -> None:
    """Large random formulas near the threshold."""
    print(f"\n### random 3-SAT, ratio 4.2, n = {n}, {instances} instances, {threads} threads\n")
    row("tool", "satisfied", "median s (min to max)", "flips/s of CPU", "must reach")
    row(*["---"] * 5)
    every = [random_3sat(n, 4.2, seed) for seed in range(instances)]
    found = [ours(x, seed=1, threads=threads, time_limit=limit) for x in every]
    rate = [x.flips / x.cpu for x in found]
    done = sum(x.cost == 0 for x in found)
    goal = "solved, 10 s, 8e6 flips/s (aim 1.5e7)" if n == 10_000 else ""
    row(
        "hardscape, auto",
        f"{done} of {instances}",
        spread([x.seconds for x in found]),
        spread(rate),
        goal,
    )
    peer = [cadical(x, limit) for x in every[:2]]
    row(
        "cadical153",
        f"{sum(x.cost == 0 for x in peer)} of {len(peer)}",
        spread([x.seconds for x in peer]),
        "",
        "",
    )


def weighted(instances: int, long: float) -> None:
    """Overconstrained weighted formulas: the reference is the best of long runs."""
    print(f"\n### weighted random MAX-3-SAT, 100 variables, 1000 clauses, {instances} instances\n")
    row("seconds a run", "at the reference", "mean excess", "must reach")
    row(*["---"] * 4)
    every = [weighted_3sat(100, 1000, seed) for seed in range(instances)]
    options = {"method": "weighting", "threads": 1}
    limits = (0.1, 1.0)
    found = {t: [ours(x, seed=1, time_limit=t, **options).cost for x in every] for t in limits}
    best = [
        min(c for c in [ours(x, seed=2, time_limit=long, **options).cost, *costs] if c is not None)
        for x, *costs in zip(every, *found.values(), strict=True)
    ]
    for t, goal in zip(limits, ("aim: all", "all"), strict=True):
        excess = [(a or 0) - b for a, b in zip(found[t], best, strict=True)]
        row(t, f"{sum(x == 0 for x in excess)} of {instances}", statistics.mean(excess), goal)


def partial(instances: int, limit: float) -> None:
    """Weighted partial formulas that RC2 solves: its cost in a tenth of its time.

    A run of ours ends when it meets RC2's cost, and what counts is the CPU time of the whole call: on a
    shared machine wall-clock times cannot be compared.
    """
    print(f"\n### weighted partial, {instances} instances a family, RC2 within {limit:.0f} s\n")
    row(
        "family",
        "RC2 solves",
        "its CPU s",
        "equal in a tenth",
        "equal later",
        "our CPU ms",
        "must reach",
    )
    row(*["---"] * 7)
    all_equal = all_solved = 0
    for name, make in PARTIAL.items():
        solved = [(lists, rc2(lists, limit)) for lists in map(make, range(instances))]
        solved = [(lists, peer) for lists, peer in solved if peer.cost is not None]
        times, equal = [], 0
        for lists, peer in solved:
            mine = ours(lists, threads=1, seed=1, target=peer.cost, time_limit=limit)
            assert mine.cost is None or peer.cost is None or mine.cost >= peer.cost
            if mine.cost == peer.cost:
                times.append(mine.cpu)
                equal += mine.cpu <= peer.cpu / 10
        all_equal, all_solved = all_equal + equal, all_solved + len(solved)
        row(
            name,
            f"{len(solved)} of {instances}",
            spread([peer.cpu for _, peer in solved]) if solved else "-",
            f"{equal} of {len(solved)}",
            len(times) - equal,
            spread(times, 1e3) if times else "-",
            "95%",
        )
    share = 100 * all_equal / max(1, all_solved)
    row("all", all_solved, "", f"{all_equal} of {all_solved}, {share:.0f}%", "", "", "95%")


@app.default
def main(
    *,
    satlib: Path | None = None,
    runs: int = 100,
    instances: int = 10,
    threads: int = 2,
    limit: float = 60.0,
    long: float = 10.0,
) -> None:
    """Print the tables.

    Parameters
    ----------
    satlib
        Folder with SATLIB's uf250-01.cnf.
    runs
        Seeds of the small formula.
    instances
        Formulas of each kind.
    threads
        CPU threads for the large formulas.
    limit
        Seconds for a peer, and for a large formula.
    long
        Seconds of the runs that give the reference where no proof exists.
    """
    print(machine("python-sat"))
    satisfiable(satlib, runs)
    threshold(10_000, instances, threads, limit)
    threshold(2_000, instances, threads, limit)
    weighted(2 * instances, long)
    partial(instances, limit)


if __name__ == "__main__":
    app()
