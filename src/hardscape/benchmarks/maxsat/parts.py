"""`auto` beside the best of its own parts.

``python -m hardscape.benchmarks.maxsat.solvers parts FOLDER``.

Every part is a run of the command with one thread, alone on its core, for each formula and each limit. Printed
are the costs, evaluated clause by clause, and where `auto` is worse than a part by more than 1%.

Searches that still get on differ from seed to seed by more than that. With several seeds the costs are
medians, and the last rows tell how often single runs of `auto` are behind, how often another run of the better
part would be in its place, and the differences of mean scores with their standard errors over formulas and
limits.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import queue
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from hardscape.benchmarks.maxsat.structured import OURS, Instance, Run, known, run, unpacked
from hardscape.benchmarks.tables import Table

#: Methods that `auto` is made of.
PARTS = {"auto": "", "weighting": " --method weighting", "exact": " --method exact"}
#: By how much, in the Evaluation's score, it may be worse.
_LESS = 0.99


#: Costs of one part's runs on a formula at a limit, a seed each; None where there was no solution.
Costs = list[int | None]


def middle(costs: Costs) -> int | None:
    """The median, the better one of two; no solution is dearer than any."""
    return sorted(costs, key=lambda cost: math.inf if cost is None else cost)[(len(costs) - 1) // 2]


def behind(cost: int | None, others: Costs) -> bool:
    """Whether a cost is more than 1% worse than the best of others."""
    best = min((other for other in others if other is not None), default=None)
    return best is not None and (cost is None or (1 + best) / (1 + cost) < _LESS)


def again(runs: dict[str, Costs]) -> list[bool]:
    """Whether another run of the better part would be behind, in the place of `auto`."""
    parts = [runs[part] for part in PARTS if part != "auto"]
    better = min(parts, key=lambda costs: [math.inf if x is None else x for x in [middle(costs)]])
    seeds = range(len(better))
    pairs = [(i, j) for i in seeds for j in seeds if i != j]
    return [behind(better[i], [costs[j] for costs in parts]) for i, j in pairs]


def gain(cells: Sequence[dict[str, Costs]], part: str) -> list[float]:
    """How much higher the mean score of `auto` is than a part's, for each formula and limit."""
    gains = []
    for runs in cells:
        best = min((x for costs in runs.values() for x in costs if x is not None), default=0)

        def mean(costs: Costs, best: int = best) -> float:
            return statistics.fmean(0.0 if x is None else (1 + best) / (1 + x) for x in costs)

        gains.append(mean(runs["auto"]) - mean(runs[part]))
    return gains


def cell(runs: dict[str, list[Run]]) -> str:
    """The median costs of one formula at one limit, and whether `auto` is behind."""
    costs = {part: middle([each.cost for each in those]) for part, those in runs.items()}
    proven = {part: all(each.proven for each in those) for part, those in runs.items()}
    shown = [f"{costs[part]}{'*' * proven[part]}" for part in PARTS]
    return ", ".join(shown) + " **behind**" * behind(costs["auto"], list(costs.values()))


def compared(cells: Sequence[dict[str, Costs]]) -> list[tuple[str, str]]:
    """How often `auto` is behind, by medians and by single runs, beside how often a part is behind itself."""
    medians = [{part: middle(costs) for part, costs in runs.items()} for runs in cells]
    others = [[runs[part] for part in PARTS if part != "auto"] for runs in cells]
    singles = [
        behind(cost, [costs[i] for costs in rest])
        for runs, rest in zip(cells, others, strict=True)
        for i, cost in enumerate(runs["auto"])
    ]
    chance = [x for runs in cells for x in again(runs)]
    behinds = sum(behind(row["auto"], list(row.values())) for row in medians)
    lines = [
        ("medians behind", f"{behinds} of {len(cells)}"),
        (
            "single runs behind",
            f"{sum(singles)} of {len(singles)}, {statistics.fmean(singles):.1%}",
        ),
        ("another run of the better part behind", f"{statistics.fmean(chance):.1%}"),
    ]
    for part in PARTS:
        if part != "auto":
            gains = gain(cells, part)
            error = statistics.stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else math.inf
            lines += [
                (f"mean score less that of {part}", f"{statistics.fmean(gains):+.4f}({error:.4f})")
            ]
    return lines


def parts(
    folder: Path,
    *,
    seconds: tuple[float, ...] = (1.0, 2.0, 5.0, 20.0),
    seed: int = 1,
    seeds: int = 1,
    jobs: int = 1,
    only: str = "",
    results: Path = Path("parts.jsonl"),
    save: Path | None = None,
) -> None:
    """Print a row a formula: costs of auto, weighting and exact at each limit, a star where proven.

    Parameters
    ----------
    folder
        With WCNF files, packed or not.
    seconds
        Limits; each is a run of its own.
    seed
        Of all runs, or the first.
    seeds
        Runs of each part, of which the median counts.
    jobs
        Runs at once, each on a core of its own.
    only
        Part of the names of the formulas to run.
    results
        One line of JSON for each run; what is there is not run again.
    save
        Folder for the table as JSON.
    """
    done = known(results)
    cores: queue.Queue[int] = queue.Queue()
    for core in sorted(os.sched_getaffinity(0))[:jobs]:
        cores.put(core)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        files = [path for path in sorted(folder.rglob("*.wcnf*")) if only in path.name]
        instances = [unpacked(path, Path(scratch), "") for path in files]

        def one(job: tuple[float, Instance, str, int]) -> Run:
            limit, instance, part, number = job
            if before := done.get((instance.name, part, limit, number)):
                return before
            core = cores.get()
            try:
                command = OURS + " --device cpu" + PARTS[part]
                answer = run(instance, part, command, limit, number, core)
            finally:
                cores.put(core)
            with results.open("a") as file:
                file.write(json.dumps(asdict(answer)) + "\n")
            return answer

        # The long ones first, so that all cores end at about the same time.
        limits, numbers = sorted(seconds, reverse=True), range(seed, seed + seeds)
        jobs_left = list(itertools.product(limits, instances, PARTS, numbers))
        found = dict(zip(jobs_left, pool.map(one, jobs_left), strict=True))
    columns = ["formula", *(f"{limit:g} s" for limit in seconds)]
    table = Table.begun("maxsat-parts", columns, "python-sat", "rustsat")
    cells = []
    for instance in instances:
        row = []
        for limit in seconds:
            runs = {p: [found[limit, instance, p, number] for number in numbers] for p in PARTS}
            cells.append({part: [each.cost for each in those] for part, those in runs.items()})
            row.append(cell(runs))
        table.add(instance.name, *row)
    if seeds > 1:
        for name, text in compared(cells):
            table.add(name, text)
    total = sum(behind(middle(c["auto"]), [middle(x) for x in c.values()]) for c in cells)
    print(f"\nauto is behind in {total} of {len(cells)}")
    if save is not None:
        table.save(save)
