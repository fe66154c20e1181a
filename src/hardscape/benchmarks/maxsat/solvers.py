"""MAX-SAT, ours and the peers', in one run.

``python -m hardscape.benchmarks.maxsat.solvers``.

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
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cyclopts

from hardscape.benchmarks.machine import machine
from hardscape.benchmarks.maxsat.formulas import Lists, random_3sat, weighted_3sat
from hardscape.benchmarks.maxsat.large import generate
from hardscape.benchmarks.maxsat.parts import parts
from hardscape.benchmarks.maxsat.structured import structured

app = cyclopts.App(help=__doc__, result_action="return_value")
app.command(structured)
app.command(parts)
app.command(generate)


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


def asked(code: str, lists: Lists, limit: float) -> Answer:
    """What a peer answers in a process of its own, which can be ended: it reads the lists and prints
    seconds, seconds of CPU, and a model."""
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
    seconds, cpu, model = json.loads(done.stdout.splitlines()[-1])
    true = {x for x in model or () if x > 0}
    return Answer(cost_of(lists, [v in true for v in range(1, lists[0] + 1)]), seconds, cpu=cpu)


def cadical(lists: Lists, limit: float) -> Answer:
    """python-sat's CaDiCaL 1.5.3 on a formula asked to be satisfied; a process that can be ended."""
    code = """
import json, sys, time
from pysat.solvers import Cadical153
n, soft, weights, hard = json.load(sys.stdin)
solver = Cadical153(bootstrap_with=soft)
began, cpu = time.perf_counter(), time.process_time()
model = solver.get_model() if solver.solve() else None
print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, model]))
"""
    return asked(code, lists, limit)


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
    return asked(code, lists, limit)


def wmaxcdcl(lists: Lists, limit: float) -> Answer:
    """WMaxCDCL, branch and bound with clause learning, as hermax brings it; None where it is not installed."""
    code = """
import json, sys, time
from hermax.core.wmaxcdcl import WMaxCDCL
n, soft, weights, hard = json.load(sys.stdin)
solver = WMaxCDCL()
for _ in range(n):
    solver.newVar()
solver.setNInputVars(n)
for clause in hard:
    solver.addClause(clause, None)
for clause, weight in zip(soft, weights):
    solver.addClause(clause, weight)
began, cpu = time.perf_counter(), time.process_time()
solver.solve(None)
spent = [time.perf_counter() - began, time.process_time() - cpu]
print(json.dumps([*spent, solver.getModel()]), flush=True)
"""
    if find_spec("hermax") is None:
        return Answer(None, 0.0)
    return asked(code, lists, limit)


def highs(lists: Lists, limit: float) -> Answer:
    """HiGHS, the clauses as rows of an integer program; what it takes to read them left out."""
    code = """
import json, sys, time
import highspy, numpy as np
n, soft, weights, hard = json.load(sys.stdin)
rows = hard + [[*clause, n + 1 + i] for i, clause in enumerate(soft)]
rows = [sorted(set(row)) for row in rows]
literals = np.array([x for row in rows for x in row])
sizes = [len(row) for row in rows]
starts = np.cumsum([0, *sizes[:-1]])
least = 1.0 - np.add.reduceat(literals < 0, starts)
top = n + len(soft)
solver = highspy._Highs()
for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
    solver.setOptionValue(name, value)
nothing = np.zeros(top, dtype=np.int32)
prices = np.array([0.0] * n + [float(w) for w in weights])
solver.addCols(top, prices, np.zeros(top), np.ones(top), 0, nothing, nothing[:0], np.empty(0))
solver.addRows(len(rows), least, np.full(len(rows), np.inf), len(literals), starts.astype(np.int32),
               (abs(literals) - 1).astype(np.int32), np.sign(literals).astype(np.float64))
whole = np.array([highspy.HighsVarType.kInteger] * top)
solver.changeColsIntegrality(top, np.arange(top, dtype=np.int32), whole)
began, cpu = time.perf_counter(), time.process_time()
solver.run()
values = solver.getSolution().col_value
spent = [time.perf_counter() - began, time.process_time() - cpu]
print(json.dumps([*spent, [v if values[v - 1] > 0.5 else -v for v in range(1, n + 1)]]))
"""
    if find_spec("highspy") is None:
        return Answer(None, 0.0)
    return asked(code, lists, limit)


def row(*cells: Any) -> None:
    """Print a row of a table."""
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
    row("tool", "satisfied", "median ms (min to max)", "ms of CPU")
    row(*["---"] * 4)
    ours(lists, seed=0, threads=1)
    found = [ours(lists, seed=seed, threads=1) for seed in range(runs)]
    done = sum(x.cost == 0 for x in found)
    row(
        "hardscape, auto",
        f"{done} of {runs}",
        spread([x.seconds for x in found], 1e3),
        spread([x.cpu for x in found], 1e3),
    )
    peer = [cadical(lists, 60) for _ in range(3)]
    row(
        "cadical153",
        f"{sum(x.cost == 0 for x in peer)} of 3",
        spread([x.seconds for x in peer], 1e3),
        "",
    )


def threshold(n: int, instances: int, threads: int, limit: float) -> None:
    """Large random formulas near the threshold."""
    print(f"\n### random 3-SAT, ratio 4.2, n = {n}, {instances} instances, {threads} threads\n")
    row("tool", "satisfied", "median s (min to max)", "flips/s of CPU")
    row(*["---"] * 4)
    every = [random_3sat(n, 4.2, seed) for seed in range(instances)]
    found = [ours(x, seed=1, threads=threads, time_limit=limit) for x in every]
    rate = [x.flips / x.cpu for x in found]
    done = sum(x.cost == 0 for x in found)
    row(
        "hardscape, auto",
        f"{done} of {instances}",
        spread([x.seconds for x in found]),
        spread(rate),
    )
    peer = [cadical(x, limit) for x in every[:2]]
    row(
        "cadical153",
        f"{sum(x.cost == 0 for x in peer)} of {len(peer)}",
        spread([x.seconds for x in peer]),
        "",
    )


def weighted(clauses: int, instances: int, limit: float, long: float) -> None:
    """Overconstrained weighted formulas; the reference is proven, or where no solver does that the best of
    long runs."""
    print(
        f"\n### weighted random MAX-3-SAT, 100 variables, {clauses} clauses, {instances} instances\n"
    )
    row("proven by RC2, by WMaxCDCL", "runs at the reference", "median ms (min to max)")
    row(*["---"] * 3)
    options = {"method": "weighting", "threads": 1}
    proven, found = [0, 0], []
    for lists in (weighted_3sat(100, clauses, seed) for seed in range(instances)):
        peers = [prove(lists, limit).cost for prove in (rc2, wmaxcdcl)] if limit else []
        proven = [n + (cost is not None) for n, cost in zip(proven, peers, strict=False)] or proven
        known = [cost for cost in peers if cost is not None]
        if not known:
            runs = [ours(lists, seed=100 + i, time_limit=long, **options).cost for i in range(3)]
            known = [cost for cost in runs if cost is not None]
        best = min(known)
        assert not peers or max(known) == best
        for seed in range(10):
            mine = ours(lists, seed=seed, target=best, time_limit=5, **options)
            assert mine.cost is not None
            assert mine.cost >= best
            found.append((mine.cost == best, mine.seconds))
    row(
        f"{proven[0]}, {proven[1]} of {instances}" if limit else "not tried",
        f"{sum(same for same, _ in found)} of {len(found)}",
        spread([seconds for same, seconds in found if same], 1e3),
    )


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
    weighted(500, 2 * instances, limit, long)
    weighted(1000, 2 * instances, 0, long)


if __name__ == "__main__":
    app()
