"""`auto` beside the better of its own parts.

``python -m hardscape.benchmarks.maxsat.solvers parts FOLDER``.

Its parts are clause weighting, and the prover without a search beside it. A run is a call of `solve` with one
thread, in a process of its own that is alone on its core, up to a limit or to the least cost that is known,
where it would stay. A part does not know of the limit, so that one run tells its costs at all of them; `auto`
has one for each.

Costs differ from seed to seed by more than it matters, so what is told is the difference of mean scores, the
Evaluation's, and its standard error: of pairs with the same seed where both have as many. `auto` is behind
where a part's mean is better by more than 1% and by more than two errors.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

from hardscape import maxsat
from hardscape.benchmarks.maxsat.structured import unpacked
from hardscape.benchmarks.tables import Table

#: What `auto` is made of.
PARTS = ("weighting", "prover")
#: By how much, in the Evaluation's score, it may be worse, and in how many errors.
_LESS, _ERRORS = 0.01, 2.0
#: Seconds of a limit that few runs have.
_LONG = 10.0

#: Costs by seed; None where there was no solution.
Costs = Mapping[int, int | None]


@dataclass(frozen=True)
class Run:
    """What one run cost when each of the limits up to its own was over."""

    formula: str
    part: str
    limit: float
    seed: int
    costs: dict[str, int | None]


class _EnoughError(Exception):
    """The least cost known is there."""


def run(file: Path, part: str, limit: float, seed: int, least: int, limits: Sequence[float]) -> Run:
    """One run, in this process."""
    found: list[maxsat.Improvement] = []

    def hear(improvement: maxsat.Improvement) -> None:
        found.append(improvement)
        if improvement.hard_violations == 0 and improvement.cost <= least:
            raise _EnoughError

    with suppress(_EnoughError):
        maxsat.solve(
            maxsat.Formula.from_file(file),
            method="weighting" if part == "weighting" else "auto",
            time_limit=limit,
            seed=seed,
            threads=1,
            device="cpu",
            on_improvement=hear,
        )
    costs = {
        f"{at:g}": min(
            (x.cost for x in found if x.hard_violations == 0 and (x.seconds <= at or at == limit)),
            default=None,
        )
        for at in limits
        if at <= limit
    }
    return Run(file.name.split(".wcnf")[0], part, limit, seed, costs)


def main() -> None:
    """Print one run as a line of JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name in ("file", "part", "limit", "seed", "least"):
        parser.add_argument(name)
    parser.add_argument("limits", nargs="*")
    told = parser.parse_args()
    file, part, limit, seed, least, limits = (getattr(told, name) for name in vars(told))
    from hardscape.maxsat.methods.exact import exact, sharing

    alone = (
        patch.object(sharing.Turns, "due", property(lambda self: False)),
        patch.object(exact, "proof_pays", lambda *_, **__: True),
        patch.object(exact, "asks_in_vain", lambda *_: False),
    )
    for each in alone if part == "prover" else ():
        each.start()
    answer = run(Path(file), part, float(limit), int(seed), int(least), list(map(float, limits)))
    print(json.dumps(asdict(answer)))


def known(results: Path) -> list[Run]:
    """What ran before."""
    if not results.is_file():
        return []
    return [Run(**json.loads(line)) for line in results.read_text().splitlines()]


def costs_at(runs: Iterable[Run], formula: str, part: str, limit: float) -> Costs:
    """What a part's runs cost at a limit, by seed."""
    return {
        each.seed: each.costs[f"{limit:g}"]
        for each in runs
        if (each.formula, each.part) == (formula, part)
        and f"{limit:g}" in each.costs
        and (part != "auto" or each.limit == limit)
    }


def middle(costs: Costs) -> int | None:
    """The median, the better one of two; no solution is dearer than any."""
    return sorted(costs.values(), key=lambda cost: math.inf if cost is None else cost)[
        (len(costs) - 1) // 2
    ]


def difference(ours: Costs, others: Costs, best: int) -> tuple[float, float]:
    """By how much our mean score is higher than another part's, and the standard error of that.

    Of single runs that differ nothing is known, and all is taken for known of those that do not.
    """

    def score(cost: int | None) -> float:
        return 0.0 if cost is None else (1 + best) / (1 + cost)

    a, b = ([score(cost) for cost in costs.values()] for costs in (ours, others))
    by = statistics.fmean(a) - statistics.fmean(b)
    if min(len(a), len(b)) < 2:
        return by, math.inf if by else 0.0
    if ours.keys() == others.keys():
        pairs = [score(ours[seed]) - score(others[seed]) for seed in ours]
        return by, statistics.stdev(pairs) / math.sqrt(len(pairs))
    return by, math.hypot(*(statistics.stdev(x) / math.sqrt(len(x)) for x in (a, b)))


def behind(by: float, error: float) -> bool:
    """Whether that is too much, and not by chance."""
    return by < -_LESS and by < -_ERRORS * error


def compared(runs: Sequence[Run], limits: Sequence[float], best: Mapping[str, int]) -> Table:
    """A row a formula: at each limit the median of `auto`, and how much better it is than the better part.

    Where nothing has any assignment all score 0.
    """
    columns = ["formula", "best known", *(f"{limit:g} s" for limit in limits)]
    table = Table.begun("maxsat-parts", columns, "python-sat", "rustsat")
    worse: dict[float, int] = defaultdict(int)
    gains: dict[tuple[float, str], list[float]] = defaultdict(list)
    names = dict.fromkeys(each.formula for each in runs)
    for name in names:
        cells = []
        for limit in limits:
            ours = costs_at(runs, name, "auto", limit)
            beside = {part: costs_at(runs, name, part, limit) for part in PARTS}
            by = {
                p: difference(ours, costs, best.get(name, 0))
                for p, costs in beside.items()
                if costs
            }
            part = min(by, key=lambda each: by[each][0])
            late = behind(*by[part])
            worse[limit] += late
            gains[limit, "the better part"].append(by[part][0])
            gains[limit, "weighting"].append(by["weighting"][0])
            told = " (prover)" * (part == "prover" and by[part][0] != by["weighting"][0])
            shown = "{:+.4f}({:.4f})".format(*by[part]) if any(by[part]) else "0"
            cells.append(f"{middle(ours)}: {shown}{told}{' **behind**' * late}")
        table.add(name, best.get(name), *cells)
    table.add("behind", None, *(f"{worse[limit]} of {len(names)}" for limit in limits))
    for part in ("weighting", "the better part"):
        means = [gains[limit, part] for limit in limits]
        errors = [
            statistics.stdev(x) / math.sqrt(len(x)) if len(x) > 1 else math.inf for x in means
        ]
        cells = [f"{statistics.fmean(x):+.4f}({e:.4f})" for x, e in zip(means, errors, strict=True)]
        table.add(f"mean score less that of {part}", None, *cells)
    return table


def parts(
    folder: Path,
    *,
    seconds: tuple[float, ...] = (1.0, 2.0, 5.0, 20.0),
    seed: int = 1,
    seeds: int = 20,
    few: int = 6,
    proofs: int = 3,
    best: Path | None = None,
    jobs: int = 1,
    only: str = "",
    results: Path = Path("parts.jsonl"),
    save: Path | None = None,
) -> None:
    """Print a row a formula: what `auto` costs at each limit, and how much better it is than the better part.

    Parameters
    ----------
    folder
        With WCNF files, packed or not.
    seconds
        Limits.
    seed
        The first.
    seeds
        Runs of `auto` and of weighting.
    few
        The same up to limits of more than ten seconds.
    proofs
        Runs of the prover.
    best
        Lines "name, least cost known".
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
    have = {(each.formula, each.part, each.limit, each.seed) for each in done}
    least = {} if best is None else dict(line.split()[:2] for line in best.read_text().splitlines())
    limits = sorted(seconds)
    cores: queue.Queue[int] = queue.Queue()
    for core in sorted(os.sched_getaffinity(0))[:jobs]:
        cores.put(core)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        files = [path for path in sorted(folder.rglob("*.wcnf*")) if only in path.name]
        instances = [unpacked(path, Path(scratch), "") for path in files]

        def one(file: Path, name: str, part: str, limit: float, number: int) -> Run:
            core = cores.get()
            words = (file, part, limit, number, least.get(name, 0), *limits)
            command = [sys.executable, "-m", __name__, *map(str, words)]
            try:
                said = subprocess.run(
                    command,
                    check=True,
                    capture_output=True,
                    text=True,
                    preexec_fn=lambda: os.sched_setaffinity(0, {core}),
                ).stdout
            finally:
                cores.put(core)
            with results.open("a") as lines:
                lines.write(said)
            return Run(**json.loads(said))

        missing = [
            (instance.new, instance.name, part, limit, number)
            for part, limit, number in _wanted(limits, seed, seeds, few, proofs)
            for instance in instances
            if (instance.name, part, limit, number) not in have
        ]
        done += pool.map(lambda job: one(*job), missing)
    names = {instance.name for instance in instances}
    done = sorted((each for each in done if each.formula in names), key=lambda each: each.formula)
    costs = {name: int(cost) for name, cost in least.items()}
    for each in done:
        for cost in each.costs.values():
            if cost is not None:
                costs[each.formula] = min(cost, costs.get(each.formula, cost))
    table = compared(done, limits, costs)
    if save is not None:
        table.save(save)


def _wanted(
    limits: Sequence[float], seed: int, seeds: int, few: int, proofs: int
) -> list[tuple[str, float, int]]:
    """Parts, limits and seeds: of a part the longest limit that its seed has."""
    runs = []
    for index in range(seeds):
        own = [limit for limit in limits if limit <= _LONG or index < few]
        runs += [("auto", limit, seed + index) for limit in own]
        runs += [("weighting", max(own), seed + index)]
        runs += [("prover", max(own), seed + index)] * (index < proofs)
    return sorted(runs, key=lambda each: -each[1])  # the long ones first, for cores to end together


if __name__ == "__main__":
    main()
