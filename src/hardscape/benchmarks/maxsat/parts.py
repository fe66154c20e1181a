"""`auto` beside the best of its own parts.

``python -m hardscape.benchmarks.maxsat.solvers parts FOLDER``.

Every part is a run of the command with one thread, alone on its core, for each formula and each limit. Printed
are the costs, evaluated clause by clause, and where `auto` is worse than a part by more than 1%.
"""

from __future__ import annotations

import json
import os
import queue
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from hardscape.benchmarks.maxsat.structured import OURS, Instance, Run, known, run, unpacked
from hardscape.benchmarks.tables import Table

#: Methods that `auto` is made of.
PARTS = {"auto": "", "weighting": " --method weighting", "exact": " --method exact"}
#: By how much, in the Evaluation's score, it may be worse.
_LESS = 0.99


def cell(runs: dict[str, Run]) -> tuple[str, bool]:
    """The costs of one formula at one limit, and whether `auto` is behind."""
    costs = {part: each.cost for part, each in runs.items()}
    best = min((cost for cost in costs.values() if cost is not None), default=None)
    auto = costs["auto"]
    behind = best is not None and (auto is None or (1 + best) / (1 + auto) < _LESS)
    shown = [f"{costs[part]}{'*' * runs[part].proven}" for part in PARTS]
    return ", ".join(shown) + " **behind**" * behind, behind


def parts(
    folder: Path,
    *,
    seconds: tuple[float, ...] = (1.0, 2.0, 5.0, 20.0),
    seed: int = 1,
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
        Of all runs.
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

        def one(job: tuple[float, Instance, str]) -> Run:
            limit, instance, part = job
            if before := done.get((instance.name, part, limit, seed)):
                return before
            core = cores.get()
            try:
                command = OURS + " --device cpu" + PARTS[part]
                answer = run(instance, part, command, limit, seed, core)
            finally:
                cores.put(core)
            with results.open("a") as file:
                file.write(json.dumps(asdict(answer)) + "\n")
            return answer

        # The long ones first, so that all cores end at about the same time.
        limits = sorted(seconds, reverse=True)
        jobs_left = [
            (limit, each, part) for limit in limits for each in instances for part in PARTS
        ]
        found = dict(zip(jobs_left, pool.map(one, jobs_left), strict=True))
    columns = ["formula", *(f"{limit:g} s" for limit in seconds)]
    table = Table.begun("maxsat-parts", columns, "python-sat", "rustsat")
    total = 0
    for instance in instances:
        cells = [cell({p: found[limit, instance, p] for p in PARTS}) for limit in seconds]
        total += sum(behind for _, behind in cells)
        table.add(instance.name, *(text for text, _ in cells))
    print(f"\nauto is behind in {total} of {len(instances) * len(seconds)}")
    if save is not None:
        table.save(save)
