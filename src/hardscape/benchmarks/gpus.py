"""Every family on one GPU and on two: lanes of one process, and workers of an executor, a GPU each.

``python -m hardscape.benchmarks.gpus [WORDS] --save FOLDER`` times whole calls, and checks that all of
them give the same answer. ``--rehearse`` does so with small instances on the threads of a CPU.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

import hardscape
from hardscape.benchmarks.gauge.fixing import in_a_random_gauge
from hardscape.benchmarks.ising.scaling import instance
from hardscape.benchmarks.tables import Table
from hardscape.gauge import GaugeField, fix, fix_ensemble, generate
from hardscape.maxsat import Formula, cellular_search
from hardscape.xorsat import random_regular, time_to_solution

app = App(help=__doc__, result_action="return_value")

Options = dict[str, Any]
#: What a call gives: the same wherever it is made.
Call = Callable[..., object]
#: Times that each is called.
_TIMES = 2


@dataclass(frozen=True)
class Places:
    """Options of one device and of two, and of as many workers."""

    one: Options
    two: Options

    @classmethod
    def lanes(cls, rehearse: bool) -> Places:
        """Of this process."""
        if rehearse:
            return cls({"device": "cpu", "threads": 1}, {"device": "cpu", "threads": 2})
        return cls({"device": "cuda:0"}, {"device": "cuda:0,1"})

    @classmethod
    def workers(cls, rehearse: bool) -> Places:
        """Processes."""
        device = "cpu" if rehearse else "cuda"
        one, two = ({"device": device, "executor": f"processes:{count}"} for count in (1, 2))
        return cls(one, two)


def permanent(n: int) -> Call:
    """Of a dense real matrix."""
    a = np.random.default_rng(1).normal(size=(n, n))

    def call(**where: Any) -> object:
        found = hardscape.permanent(a, full_output=True, **where)
        return found.value, found.error_bound

    return call


def spectrum(n: int) -> Call:
    """Every state visited."""
    model = instance(n)

    def call(**where: Any) -> object:
        found = hardscape.spectrum(model, 100, method="exhaustive", prune=False, **where)
        return found.energies.tobytes(), found.states.tobytes()

    return call


def annealed(count: int, sweeps: int) -> Options:
    """So many copies, each of which takes as many sweeps."""
    taken = {"annealing_sweeps": sweeps // 2, "max_sweeps": sweeps, "strict": False}
    return {"copies": count, "method": "annealing", "precision": "mixed", **taken}


def copies(extent: int, count: int, sweeps: int) -> Call:
    """Gribov copies of one configuration."""
    field = GaugeField.random((extent,) * 4, seed=7)

    def call(**where: Any) -> object:
        found = fix(field, **annealed(count, sweeps), seed=1, **where)
        return found.functional, found.copies.functional.tobytes()

    return call


def ensemble(extent: int, files: int, count: int, sweeps: int, folder: Path) -> Call:
    """Copies of each configuration of a folder."""
    field = generate((extent,) * 4, 6.0, seed=1, sweeps=10, start="cold")
    for number in range(files):
        in_a_random_gauge(field, number).to_file(folder / f"links.{number}.npz")

    def call(**where: Any) -> object:
        files = str(folder / "links.*.npz")
        found = fix_ensemble(files, arguments=annealed(count, sweeps), seed=1, **where)
        return found.values["functional"].tobytes()

    return call


def trials(n: int, count: int, clones: int) -> Call:
    """Times to solution of a 3-regular 3-XORSAT system."""
    system = random_regular(n, seed=1)

    def call(**where: Any) -> object:
        found = time_to_solution(system, count, 60.0, clones=clones, seed=1, **where)
        return found.sweeps.tobytes()

    return call


def cellular(n: int, runs: int) -> Call:
    """Runs of the genetic algorithm on clauses that cannot all be satisfied."""
    rng = np.random.default_rng(2)
    clauses = [(1 + rng.choice(n, 3, False)) * rng.choice([-1, 1], 3) for _ in range(6 * n)]
    formula = Formula.from_clauses([clause.tolist() for clause in clauses])

    def call(**where: Any) -> object:
        found = cellular_search(formula, runs=runs, seed=1, **where)
        return found.cost, found.assignment.tobytes()

    return call


def cases(rehearse: bool, folder: Path) -> dict[str, Callable[[], Call]]:
    """What is measured, most important first; instances are made when it is their turn."""
    if rehearse:
        return {
            "permanent, dense, real, 26 rows": lambda: permanent(26),
            "spectrum, 32 spins, every state visited": lambda: spectrum(32),
            "16 Gribov copies, 4^4": lambda: copies(4, 16, 50),
            "8 files of 4^4, 4 copies each": lambda: ensemble(4, 8, 4, 50, folder),
            "xorsat, N = 96, 64 runs": lambda: trials(96, 64, 512),
            "maxsat, 8 cellular runs, n = 100": lambda: cellular(100, 8),
        }
    return {
        "permanent, dense, real, 41 rows": lambda: permanent(41),
        "spectrum, 48 spins, every state visited": lambda: spectrum(48),
        "64 Gribov copies, 24^4, 1,000 sweeps": lambda: copies(24, 64, 1000),
        "64 Gribov copies, 16^4, 3,000 sweeps": lambda: copies(16, 64, 3000),
        "8 files of 16^4, 16 copies each, 2,000 sweeps": lambda: ensemble(16, 8, 16, 2000, folder),
        "xorsat, N = 192, 128 runs": lambda: trials(192, 128, 2**22),
        "maxsat, 512 cellular runs, n = 1,000": lambda: cellular(1000, 512),
        "permanent, dense, real, 42 rows": lambda: permanent(42),
    }


def best(call: Call, where: Options, answers: list[object], times: int = _TIMES) -> float:
    """Seconds of the quickest of some calls; what they give is added to `answers`."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        answers.append(call(**where))
        taken.append(time.perf_counter() - began)
    return min(taken)


@app.default
def main(
    *words: str, rehearse: bool = False, save: Path | None = None, seconds: float = 1e9
) -> None:
    """Print the table of cases whose names hold one of the words; none is begun after so many seconds."""
    began = time.monotonic()
    columns = ["case", "one, s", "two, s", "factor"]
    columns += ["one worker, s", "two workers, s", "factor", "same"]
    table = Table.begun("gpus", columns)
    with tempfile.TemporaryDirectory() as folder:
        for name, made in cases(rehearse, Path(folder)).items():
            if time.monotonic() - began > seconds:
                break
            if words and not any(word in name for word in words):
                continue
            call = made()
            answers: list[Any] = []
            row: list[float] = []
            for places in (Places.lanes(rehearse), Places.workers(rehearse)):
                one, two = (best(call, where, answers) for where in (places.one, places.two))
                row += [one, two, one / two]
            same = all(answer == answers[0] for answer in answers)
            table.add(name, *row, "yes" if same else "no")
            if save is not None:
                table.save(save)


if __name__ == "__main__":
    app()
