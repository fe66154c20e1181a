"""Anytime solvers on a folder of formulas.

``python -m hardscape.benchmarks.maxsat.solvers structured FOLDER``.

Every solver is a command that prints the Evaluation's lines and is ended at the limit, alone on its core. What
it prints last is evaluated here, clause by clause, by code that shares nothing with the package. The score is
the Evaluation's: (1 + best cost known) / (1 + cost), 0 without a solution.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import os
import queue
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hardscape.benchmarks.machine import machine
from hardscape.benchmarks.tables import Table

#: Seconds after its limit that a solver has for its last lines; those of a package load before they begin.
GRACE, LOADING = 5.0, 30.0
OURS = f"{sys.executable} -m hardscape maxsat {{file}} --threads 1 --time-limit {{seconds}} --seed {{seed}}"
PACKAGED = (
    f"{sys.executable} -m hardscape.benchmarks.maxsat.peers {{name}} {{file}} --seconds {{seconds}}"
)
OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


@dataclass(frozen=True)
class Run:
    """One answer: a cost that was evaluated here, or None, and when."""

    formula: str
    solver: str
    seconds: float
    seed: int
    cost: int | None
    proven: bool
    first: float | None  # seconds to the first "o" line
    ended: float

    @property
    def key(self) -> tuple[str, str, float, int]:
        """What is not run again."""
        return self.formula, self.solver, self.seconds, self.seed


@dataclass(frozen=True)
class Instance:
    """A formula in both generations of the format, and what is known of it."""

    name: str
    kind: str
    new: Path
    old: Path

    def cost(self, values: str) -> int | None:
        """Cost of an assignment by the definition; None where a hard clause is violated."""
        total = 0
        for line in self.new.read_text().splitlines():
            mark, *words = line.split()
            literals = map(int, words[:-1])
            if not any((values[abs(x) - 1 : abs(x)] == "1") == (x > 0) for x in literals):
                if mark == "h":
                    return None
                total += int(mark)
        return total


def unpacked(path: Path, folder: Path, kind: str) -> Instance:
    """The formula as plain files: lines of 2022, and under a header."""
    name = path.name.split(".wcnf")[0]
    with OPENERS.get(path.suffix, open)(path, "rt") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("c")]
    if lines[0][0] == "p":
        top = lines[0][4] if len(lines[0]) > 4 else None
        lines = [["h" if line[0] == top else line[0], *line[1:]] for line in lines[1:]]
    total = 1 + sum(int(line[0]) for line in lines if line[0] != "h")
    largest = max(abs(int(x)) for line in lines for x in line[1:])
    instance = Instance(name, kind, folder / f"{name}.wcnf", folder / f"{name}.old.wcnf")
    instance.new.write_text("".join(" ".join(line) + "\n" for line in lines))
    hard = [[str(total), *line[1:]] if line[0] == "h" else line for line in lines]
    head = f"p wcnf {largest} {len(lines)} {total}\n"
    instance.old.write_text(head + "".join(" ".join(line) + "\n" for line in hard))
    return instance


def answered(text: Iterable[tuple[float, str]]) -> tuple[str, bool, float | None, int | None]:
    """The last assignment, whether it is proven, when the first cost came, and the last cost."""
    values, proven, first, told = "", False, None, None
    for at, line in text:
        mark, _, rest = line.strip().partition(" ")
        if mark == "o":
            first, told = (at if first is None else first), int(rest)
        elif mark == "s":
            proven = rest.strip() == "OPTIMUM FOUND"
        elif mark == "v":
            values = rest.strip()
            if set(values) - {"0", "1"} or len(values.split()) > 1:  # literals, as before 2020
                literals = [int(x) for x in values.split()]
                true = {x for x in literals if x > 0}
                values = "".join(str(int(v in true)) for v in range(1, max(map(abs, literals)) + 1))
    return values, proven, first, told


def run(instance: Instance, solver: str, command: str, seconds: float, seed: int, core: int) -> Run:
    """Let a solver run on one core up to its limit, and evaluate what it says."""
    packaged = command.startswith(PACKAGED.partition("{")[0])
    facts = {"file": instance.new, "old": instance.old, "seconds": seconds, "seed": seed}
    began = time.monotonic()
    limit = seconds + (LOADING if packaged else 0.0)
    with subprocess.Popen(
        shlex.split(command.format(**facts)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    ) as process:

        def end(how: int) -> None:
            if process.poll() is None:
                os.killpg(process.pid, how)

        timers = [
            threading.Timer(limit, end, [signal.SIGTERM]),
            threading.Timer(limit + GRACE, end, [signal.SIGKILL]),
        ]
        for timer in timers:
            timer.start()
        assert process.stdout is not None
        said = [(time.monotonic() - began, line) for line in process.stdout]
        process.wait()
        ended = time.monotonic() - began
        for timer in timers:
            timer.cancel()
    values, proven, first, told = answered(said)
    cost = instance.cost(values) if values else None
    if values and told is not None and told != cost:
        print(f"{solver} says {told} of {instance.name}, and its assignment costs {cost}")
    return Run(instance.name, solver, seconds, seed, cost, proven, first, ended)


def known(results: Path) -> dict[tuple[str, str, float, int], Run]:
    """What ran before."""
    if not results.is_file():
        return {}
    runs = (Run(**json.loads(line)) for line in results.read_text().splitlines())
    return {each.key: each for each in runs}


def bests(path: Path | None, instances: Sequence[Instance], runs: Iterable[Run]) -> dict[str, int]:
    """The least cost known: of a file with lines "part of the name, cost", or of a run."""
    found: dict[str, int] = {}
    for line in [] if path is None else path.read_text().splitlines():
        part, cost = line.split()[:2]
        for instance in instances:
            if part in instance.name:
                found[instance.name] = int(cost)
    for each in runs:
        if each.cost is not None:
            found[each.formula] = min(each.cost, found.get(each.formula, each.cost))
    return found


def score(each: Run, best: dict[str, int]) -> float:
    """The Evaluation's."""
    return 0.0 if each.cost is None else (1 + best[each.formula]) / (1 + each.cost)


def table(runs: Sequence[Run], kinds: dict[str, str], best: dict[str, int]) -> None:
    """A row a kind: the mean, over formulas, of the median score over seeds."""
    solvers = list(dict.fromkeys(each.solver for each in runs))
    of: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for each in runs:
        of[each.formula, each.solver].append(each)

    def cells(names: Sequence[str], value: Callable[[list[Run]], float], format: str) -> list[str]:
        found = []
        for solver in solvers:
            values = [value(of[name, solver]) for name in names if of[name, solver]]
            found.append(format.format(statistics.mean(values)) if values else "-")
        return found

    def median(some: list[Run]) -> float:
        return statistics.median(score(each, best) for each in some)

    def row(*words: str) -> None:
        print("| " + " | ".join(words) + " |", flush=True)

    row("kind", *solvers)
    row(*["---"] * (1 + len(solvers)))
    for kind in [*sorted(set(kinds.values())), "all"]:
        names = [name for name in kinds if kind in (kinds[name], "all")]
        row(f"{kind} ({len(names)})", *cells(names, median, "{:.3f}"))
    proven = [
        sum(all(each.proven for each in of[name, solver]) for name in kinds if of[name, solver])
        for solver in solvers
    ]
    row("proven", *map(str, proven))
    nothing = [sum(each.cost is None for each in runs if each.solver == x) for x in solvers]
    row("runs without a solution", *map(str, nothing))


def costs_table(limit: float, runs: Sequence[Run], best: dict[str, int]) -> Table:
    """A row a formula: median costs, a star where every run proves it; then the score, and what is proven."""
    solvers = list(dict.fromkeys(each.solver for each in runs))
    of: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for each in runs:
        of[each.formula, each.solver].append(each)
    packages = ("python-sat", "rustsat", "hermax")
    columns = ["formula", "best known", *solvers]
    found = Table.begun(f"maxsat-structured-{limit:g}", columns, *packages)

    def cell(some: list[Run]) -> str | None:
        costs = sorted(math.inf if each.cost is None else each.cost for each in some)
        if not costs:
            return None
        proven = all(each.proven for each in some)
        middle = costs[(len(costs) - 1) // 2]
        return "none" if middle == math.inf else f"{middle}{' proven' * proven}"

    names = list(dict.fromkeys(each.formula for each in runs))
    for name in names:
        found.add(name, best.get(name), *(cell(of[name, solver]) for solver in solvers))
    scores, proofs = [], []
    for solver in solvers:
        rows = [of[name, solver] for name in names if of[name, solver]]
        medians = (statistics.median(score(each, best) for each in row) for row in rows)
        scores.append(f"{statistics.mean(medians):.4f} of {len(rows)}")
        proofs.append(sum(all(each.proven for each in row) for row in rows))
    found.add("mean of the median scores", None, *scores)
    found.add("proven", None, *proofs)
    if len(solvers) > 1:
        together = {each.formula for each in runs if each.proven and each.solver != solvers[0]}
        found.add("proven by one or another of the others", None, None, len(together))
    return found


def structured(
    folder: Path,
    *,
    seconds: tuple[float, ...] = (5.0, 60.0),
    seeds: int = 3,
    peer: tuple[str, ...] = (),
    ours: str = OURS,
    best: Path | None = None,
    results: Path = Path("structured.jsonl"),
    jobs: int = 1,
    only: str = "",
    save: Path | None = None,
) -> None:
    """Print the score at each limit by kind, ours and the peers', and the costs.

    Parameters
    ----------
    folder
        With WCNF files, packed or not. The kind of one is its folder's name inside this one, or else what
        stands before the first underscore or hyphen of its own.
    seconds
        Limits; each is a run of its own.
    seeds
        Runs of ours; solvers whose command names no {seed} run once.
    peer
        NAME, of a package's solver that hardscape.benchmarks.maxsat.peers knows, or NAME=COMMAND, in which
        {file}, {old} (the formula under a header, as before 2022), {seconds} and {seed} are filled in.
    ours
        The command of ours.
    best
        Lines "part of a file's name, least cost known".
    results
        One line of JSON for each run; what is there is not run again.
    jobs
        Runs at once, each on a core of its own.
    only
        Part of the names of the formulas to run.
    save
        Folder for the tables of costs as JSON.
    """
    print(machine("python-sat", "rustsat", "hermax", "ortools"))
    commands = {"hardscape": ours}
    for each in peer:
        name, _, command = each.partition("=")
        commands[name] = command or PACKAGED.replace("{name}", name)
    cores: queue.Queue[int] = queue.Queue()
    for core in sorted(os.sched_getaffinity(0))[:jobs]:
        cores.put(core)
    files = [path for path in sorted(folder.rglob("*.wcnf*")) if only in path.name]
    done, lock = known(results), threading.Lock()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        instances = []
        for path in files:
            own = path.parent.name if path.parent != folder else path.name.replace("-", "_")
            instances.append(unpacked(path, Path(scratch), own.split("_")[0]))

        def one(instance: Instance, solver: str, limit: float, seed: int) -> None:
            core = cores.get()
            try:
                found = run(instance, solver, commands[solver], limit, seed, core)
            finally:
                cores.put(core)
            with lock:
                done[found.key] = found
                with results.open("a") as file:
                    file.write(json.dumps(asdict(found)) + "\n")

        wanted = [
            (instance, solver, limit, seed)
            for limit in seconds
            for instance in instances
            for solver, command in commands.items()
            for seed in range(1, 1 + (seeds if "{seed}" in command else 1))
        ]
        missing = [job for job in wanted if (job[0].name, *job[1:]) not in done]
        list(pool.map(lambda job: one(*job), missing))
    kinds = {instance.name: instance.kind for instance in instances}
    least = bests(best, instances, (each for each in done.values() if each.formula in kinds))
    for limit in seconds:
        print(f"\n### {limit:g} s, one thread\n")
        ran = [done[job[0].name, *job[1:]] for job in wanted if job[2] == limit]
        table(ran, kinds, least)
        costs = costs_table(limit, ran, least)
        if save is not None:
            costs.save(save)
