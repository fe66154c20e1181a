"""Small permanents, ours and the peers', by turns in one process.

``python -m hardscape.benchmarks.permanents.small``.

A row is what users call, whole: least time of many rounds, in which all tools take turns, and the ratio of
the best peer to us. All answers are compared. Peers run on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

import hardscape
from hardscape.benchmarks.machine import machine
from hardscape.benchmarks.tables import Table

app = cyclopts.App(help=__doc__, result_action="return_value")
Call = Callable[[], Any]
#: Rounds of a row, and seconds that a tool has in each.
ROUNDS, SECONDS = 15, 0.01


@dataclass(frozen=True)
class Row:
    """A call in every tool that has it; a batch is a call for each matrix where there is no other."""

    name: str
    ours: Call
    peers: Mapping[str, Call]


def of_all(call: Callable[[np.ndarray], Any], batch: np.ndarray) -> Call:
    """A call for each matrix."""
    return lambda: [call(one) for one in batch]


def tools(complex_entries: bool) -> dict[str, Callable[[np.ndarray], Any]]:
    """What the peers that are installed take a permanent with."""
    found: dict[str, Callable[[np.ndarray], Any]] = {}
    try:
        from thewalrus import perm

        found["thewalrus"] = lambda a: perm(a, method="glynn")
    except ImportError:
        pass
    try:
        import exqalibur

        exqalibur.Config.compute_max_thread_count = 1
        found["exqalibur"] = exqalibur.permanent_cx if complex_entries else exqalibur.permanent_fl
    except ImportError:
        pass
    try:
        import permanent

        found["qc-permanent"] = permanent.glynn
    except ImportError:
        pass
    return found


def rows() -> Iterator[Row]:
    """All rows."""
    random = np.random.default_rng(1)
    for n in (5, 10, 15, 20, 24):
        for kind in ("real", "complex"):
            a = random.normal(size=(n, n))
            a = a + 1j * random.normal(size=(n, n)) if kind == "complex" else a
            peers = {name: partial(f, a) for name, f in tools(kind == "complex").items()}
            yield Row(f"n = {n}, {kind}", partial(hardscape.permanent, a), peers)
    batch = random.normal(size=(10_000, 8, 8)) + 1j * random.normal(size=(10_000, 8, 8))
    of_many = {name: of_all(f, batch) for name, f in tools(True).items()}
    yield Row("10,000 complex 8x8", lambda: hardscape.permanent(batch), of_many)
    sparse = random.normal(size=(2000, 12, 12)) * (random.random((2000, 12, 12)) < 0.4)
    of_many = {name: of_all(f, sparse) for name, f in tools(False).items()}
    yield Row("2,000 12x12, density 0.4", lambda: hardscape.permanent(sparse), of_many)
    whole = random.integers(0, 6, (1000, 8, 8))  # a peer divides negative sums wrongly
    of_many = {name: of_all(f, whole) for name, f in tools(False).items() if name != "exqalibur"}
    yield Row("1,000 integer 8x8, a call each", of_all(hardscape.permanent, whole), of_many)
    modes = random.normal(size=(5, 5)) + 1j * random.normal(size=(5, 5))
    unitary, photons = np.linalg.qr(modes)[0], np.full(5, 6, dtype=np.int32)
    repeated: dict[str, Callable[[], Any]] = {}
    try:
        from piquasso._math.permanent import permanent as piquasso

        repeated["piquasso"] = partial(piquasso, unitary, photons, photons)
    except ImportError:
        pass
    counts = photons.tolist()
    ours = partial(hardscape.permanent, unitary, rows=counts, cols=counts)
    yield Row("5 modes, 30 photons", ours, repeated)


def least(calls: dict[str, Call]) -> dict[str, float]:
    """Least seconds of each call, taking turns."""
    times: dict[str, int] = {}
    for name, call in calls.items():
        began = time.perf_counter()
        call()
        call()
        times[name] = max(1, int(2 * SECONDS / (time.perf_counter() - began)))
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(times[name]):
                call()
            found[name] = min(found[name], (time.perf_counter() - began) / times[name])
    return found


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
    packages = ("thewalrus", "exqalibur", "qc-permanent", "piquasso")
    print(machine(*packages))
    columns = ["call", "us", "best peer, us", "ratio"]
    found = Table.begun("permanents-small", columns, *packages)
    for row in rows():
        if only not in row.name:
            continue
        answer = np.asarray(row.ours(), dtype=complex)
        for name, call in row.peers.items():
            other = np.asarray(call(), dtype=complex)
            size = np.sqrt(np.mean(np.abs(answer) ** 2))
            assert np.abs(other - answer).max() < 1e-4 * size, (row.name, name)
        times = least({"hardscape": row.ours, **row.peers})
        ours = times.pop("hardscape")
        best = min(times, key=times.__getitem__, default="")
        told = (f"{times[best] * 1e6:.4g} ({best})", times[best] / ours) if best else ("absent",)
        found.add(row.name, ours * 1e6, *told)
    if save:
        found.save(save)


if __name__ == "__main__":
    app()
