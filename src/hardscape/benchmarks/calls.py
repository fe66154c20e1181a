"""What a call costs where there is hardly anything to compute, and what a command takes to start.

``python -m hardscape.benchmarks.calls``: wall-clock milliseconds of a call, the least and the median.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

from hardscape import gauge, ising, maxsat, permanents, xorsat
from hardscape.benchmarks.tables import Table

app = cyclopts.App(help=__doc__, result_action="return_value")

EXAMPLES = (
    Path(__file__).resolve().parents[1] / "examples"
)  # a link to the repository's, or installed
#: Seconds that a row takes, and fewest calls of a measurement.
SECONDS, FEWEST = 2.0, 5


def calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Name each call, and give it."""
    random = np.random.default_rng(1)
    on_one: dict[str, Any] = {"device": "cpu", "threads": 1, "seed": 1}
    couplings = np.triu(random.integers(-5, 6, (8, 8)), 1)
    model = ising.Ising(random.integers(-5, 6, 8), couplings)
    yield "spectrum, 8 spins", lambda: ising.spectrum(model, 10, **on_one)
    yield "density of states, 8 spins", lambda: ising.density_of_states(model, device="cpu")
    real, whole = random.standard_normal((4, 4)), random.integers(-9, 10, (4, 4))
    turned = real + 1j * random.standard_normal((4, 4))
    for kind, matrix in (("real", real), ("complex", turned), ("integers", whole)):
        yield f"permanent, 4x4, {kind}", partial(permanents.permanent, matrix)
    clauses = [
        [int(v) for v in (random.permutation(5)[:3] + 1) * random.choice((-1, 1), 3)]
        for _ in range(10)
    ]
    formula = maxsat.Formula.from_clauses(clauses)
    yield "maxsat, 10 clauses", lambda: maxsat.solve(formula, **on_one)
    system = xorsat.random_regular(24, seed=1)
    yield "xorsat, 24 variables, elimination", lambda: xorsat.solve(system)
    yield "xorsat, 24 variables, search", lambda: xorsat.quasi_greedy(system, **on_one)
    field = gauge.generate((4, 4, 4, 4), 6.0, sweeps=2, seed=1)
    yield "gauge fix, 4^4", lambda: gauge.fix(field, **on_one)


def commands() -> Iterator[tuple[str, Callable[[], object]]]:
    """The same of whole processes."""
    for line in (
        "-c pass",
        "-c import\tnumpy",
        "-m hardscape --version",
        f"-m hardscape spectrum {EXAMPLES}/partition20.json",
        f"-m hardscape gauge info {EXAMPLES}/hot4.nersc",
    ):
        words = [sys.executable, *(word.replace("\t", " ") for word in line.split(" "))]
        shown = line.replace("\t", " ").replace(f"{EXAMPLES}/", "")
        yield (
            f"`python {shown}`",
            partial(subprocess.run, words, check=True, stdout=subprocess.DEVNULL),
        )


def measured(call: Callable[[], object]) -> list[float]:
    """Seconds of each call, the first left out."""
    call()
    times: list[float] = []
    while len(times) < FEWEST or sum(times) < SECONDS:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return times


@app.default
def main(*, only: str = "", save: Path | None = None) -> None:
    """Print the table.

    Parameters
    ----------
    only
        Rows with this in their names.
    save
        A folder for the table as data.
    """
    found = Table.begun("calls", ["call", "least, ms", "median, ms"], "hardscape")
    for name, call in chain(calls(), commands()):
        if only in name:
            times = measured(call)
            found.add(name, 1e3 * min(times), 1e3 * statistics.median(times))
    if save:
        found.save(save)


if __name__ == "__main__":
    app()
