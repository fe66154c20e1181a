"""How far a run says it is half way.

``python -m hardscape.benchmarks.progress [WORDS] [--save FOLDER]``.

The whole time of a run, as its share half way tells it, beside what it took; what prepares it is over before
anything is told. Of one thread, by the processor's time, which waiting does not lengthen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

import hardscape
from hardscape.benchmarks.estimates import cut, grid, spin_glass, stable_set
from hardscape.benchmarks.tables import Table
from hardscape.engine import ProgressEvent
from hardscape.ising.density import density_of_states

app = cyclopts.App(help=__doc__, result_action="return_value")
#: How far off it may be, half way.
WITHIN = 2.0


def cases() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Calls of some seconds, by what cuts their trees."""
    spectra: dict[str, tuple[Any, dict[str, Any]]] = {
        "tree: gauss 60": (spin_glass(60, 21), {"method": "tree"}),
        "tree: half 62": (spin_glass(62, 24, 0.5), {"method": "tree"}),
        "tree: integers 64": (spin_glass(64, 6, 1.0, "integers"), {"method": "tree"}),
        "tree: signs 56": (spin_glass(56, 8, 1.0, "sign"), {"method": "tree"}),
        "tree: gauss 56, 10,000 states": (
            spin_glass(56, 23),
            {"method": "tree", "num_states": 10_000},
        ),
        "semidefinite: gauss 100": (spin_glass(100, 33), {"num_states": 10}),
        "semidefinite: signs 90": (spin_glass(90, 32, 1.0, "sign"), {"num_states": 10}),
        "semidefinite: cut 90": (cut(90, 35), {"num_states": 10}),
        "semidefinite: cut 80, 1 state": (cut(80, 36), {"num_states": 1}),
        "cliques: stable 128, 0.08": (stable_set(128, 0.08, 3), {"method": "cliques"}),
        "cliques: stable 128, 0.12": (stable_set(128, 0.12, 3), {"method": "cliques"}),
    }
    for name, (model, what) in spectra.items():
        yield name, lambda model=model, what=what, **run: hardscape.spectrum(model, **what, **run)
    for name, model in {
        "density: dense 38": spin_glass(38, 1, 1.0, "sign"),
        "density: torus 10x10": grid(10, 1),
    }.items():
        yield name, lambda model=model, **run: density_of_states(model, **run)
    random = np.random.default_rng(1)
    sparse = np.where(random.random((36, 36)) < 0.25, random.normal(size=(36, 36)), 0.0)
    for name, a in {
        "permanent: real 32": random.normal(size=(32, 32)),
        "permanent: integers 25, to 10^6": random.integers(-(10**6), 10**6, size=(25, 25)),
        "permanent: sparse 36, 0.25": sparse + np.eye(36),
    }.items():
        yield name, lambda a=a, **run: hardscape.permanent(a, time_limit=1e6, **run)


@app.default
def main(*words: str, save: Path | None = None) -> None:
    """Run the cases whose names hold all words.

    Parameters
    ----------
    words
    save
        A folder that gets the table as JSON.
    """
    found = Table.begun("progress", ["case", "whole s", "half way", "told / took"], "hardscape")
    for name, call in cases():
        if not all(word in name for word in words):
            continue
        seen: list[tuple[float, float]] = []
        began = time.process_time()

        def hear(event: ProgressEvent, seen: Any = seen, began: float = began) -> None:
            seen.append((time.process_time() - began, event.share))

        call(device="cpu", threads=1, progress=hear)
        # The first event comes when all is prepared.
        prepared, whole = seen[0][0], time.process_time() - began - seen[0][0]
        seen = [(spent - prepared, share) for spent, share in seen]
        at, share = min(seen, key=lambda told: abs(told[0] - whole / 2))
        told = at / share / whole if share else float("inf")
        found.add(name, round(whole, 2), f"{share:.0%} said at {at / whole:.0%}", round(told, 2))
    close = sum(1 / WITHIN <= row[-1] <= WITHIN for row in found.rows)  # type: ignore[operator]
    print(f"{close} of {len(found.rows)} within {WITHIN:g} times")
    if save:
        found.save(save)


if __name__ == "__main__":
    app()
