"""Searches and tables of lattices on a GPU beside CPU threads.

`python -m hardscape.benchmarks.ising.walkers`. Of each model the moves that all runs make in a second, and
the seconds of whole calls to the lowest energy that any call here has met, three seeds each. Then seconds of
the frontier for one state of lattices with couplings of +-1.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hardscape.benchmarks.ising import search as models
from hardscape.benchmarks.tables import Table
from hardscape.errors import HardscapeError
from hardscape.ising import Ising, Spectrum, search, spectrum

#: Models besides those of `hardscape.benchmarks.ising.search`.
DENSE: dict[str, Callable[[np.random.Generator], Ising]] = {
    "QUBO, N = 100, density 1": lambda rng: models._qubo(100, 1.0, rng),
    "QUBO, N = 1000, density 1": lambda rng: models._qubo(1000, 1.0, rng),
}
#: Lattices around all edges, in order of the work.
TORI = ((12, 12), (14, 14), (4, 4, 8), (15, 15), (16, 16))


def _timed(call: Callable[[], Spectrum]) -> tuple[float, Spectrum]:
    began = time.perf_counter()
    found = call()
    return time.perf_counter() - began, found


def searches(devices: dict[str, dict[str, Any]], limit: float) -> Table:
    """Rates and times to the lowest energy, a row a model."""
    columns = ["model", "by", *(f"moves/s, {x}" for x in devices), "lowest"]
    table = Table.begun("search-gpu", [*columns, *(f"seconds to it, {x}" for x in devices)])
    for kind, drawn in {**DENSE, **models.MODELS}.items():
        model = drawn(np.random.default_rng([0, len(kind)]))
        for how in devices.values():
            search(model, runs=64, moves=2000, seed=1, **how)  # compiles
        rates, best, by = [], np.inf, ""
        for how in devices.values():
            found = search(model, time_limit=limit, seed=1, **how)
            rates.append(found.info["moves"] / found.info["seconds"])
            best, by = min(best, float(found.energies[0])), found.info["search"]
        times: list[list[float] | str] = []
        for how in devices.values():
            call = partial(search, model, target=best, time_limit=4 * limit, **how)
            calls = [_timed(partial(call, seed=seed)) for seed in (11, 12, 13)]
            met = [seconds for seconds, found in calls if found.energies[0] <= best]
            times.append(met if len(met) == len(calls) else f"{len(met)} of {len(calls)} met it")
        table.add(kind, by, *rates, f"{best:.10g}", *times)
    return table


def lattices(devices: dict[str, dict[str, Any]], limit: float) -> Table:
    """Seconds of the frontier, a row a lattice; two calls each."""
    table = Table.begun("frontier-gpu", ["torus", "energy", *devices])
    for shape in TORI:
        model = models._torus(shape, False, np.random.default_rng(1))
        cells: list[list[float] | str] = []
        energies: set[float] = set()
        for how in devices.values():
            seconds: list[float] = []
            call = partial(spectrum, model, 1, method="frontier", time_limit=limit, **how)
            try:
                for _ in range(2):
                    spent, found = _timed(call)
                    if not found.certified:
                        raise TimeoutError
                    seconds.append(spent)
                    energies.add(float(found.energies[0]))
                cells.append(seconds)
            except (HardscapeError, TimeoutError) as error:
                cells.append(str(error).split(";")[0] or f"not in {limit:g} s")
        if len(energies) > 1:
            raise AssertionError(f"{shape}: {energies}")
        table.add("x".join(map(str, shape)), energies.pop() if energies else "?", *cells)
    return table


def main() -> None:
    """Add a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", default="cuda:0", help="the GPU, or cpu for a rehearsal")
    parser.add_argument("--threads", type=int, default=16, help="of the CPU")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a search")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep the tables there")
    told = parser.parse_args()
    devices: dict[str, dict[str, Any]] = {
        "GPU": {"device": told.gpu},
        f"{told.threads} threads": {"device": "cpu", "threads": told.threads},
    }
    for measure, limit in ((searches, told.seconds), (lattices, 30 * told.seconds)):
        table = measure(devices, limit)
        if told.save:
            table.save(told.save)


if __name__ == "__main__":
    main()
