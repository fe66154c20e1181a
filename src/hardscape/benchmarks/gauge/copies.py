"""How often methods find the best Gribov copy, for what it costs: SU(3), Landau gauge.

``python -m hardscape.benchmarks.gauge.copies --processes 12 --save FOLDER`` fixes copies of several
configurations by each method with its defaults. The best of a configuration is the largest functional that any
copy of any method has. Shares in equal time are expectations over all choices of so many copies.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App
from numpy.typing import NDArray

from hardscape.benchmarks.cores import on_cores
from hardscape.benchmarks.tables import Table
from hardscape.gauge import fix, generate

app = App(help=__doc__, result_action="return_value")

_METHODS: dict[str, dict[str, Any]] = {
    "annealing": {"method": "annealing"},
    "overrelaxation": {"method": "overrelaxation", "omega": 1.7},
    "matrix-overrelaxation": {"method": "matrix-overrelaxation"},
    "auto": {"method": "auto"},
}
#: Functionals of one copy differ by less, at theta below 1e-12; those of two copies by far more.
_SAME = 1e-8
#: The time of so many annealed copies is what each method has.
_ANNEALED = (1, 4)
#: Choices of copies that are compared.
_CHOICES = 4000


#: Functionals of the copies, seconds of one, and its sweeps.
Found = tuple[NDArray[np.float64], float, float]


def measured(
    seed: int,
    methods: list[dict[str, Any]],
    extent: int,
    beta: float,
    sweeps: int,
    copies: int,
    device: str,
) -> list[Found]:
    """What each method finds on one configuration; copies that do not converge count as none."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    run: dict[str, Any] = {"device": device} | ({"threads": 1} if device == "cpu" else {})
    field = generate((extent,) * 4, beta, seed=seed, sweeps=sweeps, start="cold", **run)
    if device != "cpu":
        field = field.to("cuda")
    results = []
    for how in methods:
        began = clock()
        found = fix(field, "landau", copies=copies, seed=1, strict=False, **how, **run).copies
        seconds = (clock() - began) / copies
        reached = np.where(found.converged, found.functional, -np.inf)
        results.append((reached, seconds, float(np.median(found.sweeps))))
    return results


def found_in(share: float, copies: float) -> float:
    """The chance that so many copies, of which each is the best with this chance, have it."""
    return float(1 - (1 - share) ** copies)


def better(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], counts: tuple[float, float]
) -> float:
    """The chance that the best of some of our copies is above that of some of theirs; half where they tie.

    A count that is no whole number is the next one or the one before, so that its mean is right.
    """
    random = np.random.default_rng(1)

    def best(values: NDArray[np.float64], count: float) -> NDArray[np.float64]:
        many = np.maximum(1, np.floor(count + random.random(_CHOICES)).astype(int))
        drawn = values[random.integers(0, len(values), (_CHOICES, int(many.max())))]
        drawn[np.arange(drawn.shape[1]) >= many[:, None]] = -np.inf
        return np.asarray(drawn.max(axis=1))

    difference = best(ours, counts[0]) - best(theirs, counts[1])
    return float(np.mean((difference > _SAME) + 0.5 * (np.abs(difference) <= _SAME)))


def compared(rows: dict[str, list[Found]]) -> dict[str, list[float]]:
    """The table's columns for each method, from what each found on every configuration."""
    by_configuration = zip(*rows.values(), strict=True)
    best = np.array([max(one[0].max() for one in each) for each in by_configuration])
    annealed = [one[0] for one in rows["annealing"]]
    unit = np.mean([one[1] for one in rows["annealing"]])
    found = {}
    for method, each in rows.items():
        functionals = np.array([one[0] for one in each])
        seconds = float(np.mean([one[1] for one in each]))
        shares = (functionals > best[:, None] - _SAME).mean(axis=1)
        counts = [float(count * unit / seconds) for count in _ANNEALED]
        wins = [
            [better(a, b, both) for a, b in zip(annealed, functionals, strict=True)]
            for both in zip(map(float, _ANNEALED), counts, strict=True)
        ]
        below = (best[:, None] - functionals)[np.isfinite(functionals)]
        found[method] = [
            seconds,
            float(np.median([one[2] for one in each])),
            float(shares.mean()),
            *(float(np.mean([found_in(x, count) for x in shares])) for count in counts),
            *map(float, np.mean(wins, axis=1)),
            1e6 * float(below.mean()),
        ]
    return found


@app.default
def main(
    *,
    save: Path | None = None,
    extent: int = 8,
    beta: float = 5.8,
    configurations: int = 24,
    copies: int = 24,
    sweeps: int = 60,
    annealing_sweeps: tuple[int, ...] = (),
    processes: int = 2,
    device: str = "cpu",
    name: str = "gauge-copies",
) -> None:
    """Print the table.

    Parameters
    ----------
    save
        Folder for the table as JSON.
    extent, beta
        Of the lattice.
    configurations, copies
        Independent configurations, and copies of each by each method.
    sweeps
        That make a configuration of links that are the identity.
    annealing_sweeps
        Other numbers of heatbath sweeps that are tried as well.
    processes
        On "cpu", on a core each.
    device
        "cpu", where seconds are those of the processor, or a GPU.
    name
        Of the table.
    """
    columns = ["lattice", "method", "seconds a copy", "sweeps", "share of best copies"]
    columns += [f"best found in the time of {count} annealed" for count in _ANNEALED]
    columns += [f"annealing better in the time of {count}" for count in _ANNEALED]
    table = Table.begun(name, [*columns, "mean F below the best, 1e-6"])
    methods = _METHODS | {
        f"annealing, {count} sweeps": {"method": "annealing", "annealing_sweeps": count}
        for count in annealing_sweeps
    }
    work = partial(
        measured,
        methods=list(methods.values()),
        extent=extent,
        beta=beta,
        sweeps=sweeps,
        copies=copies,
        device=device,
    )
    seeds = range(1, configurations + 1)
    if device != "cpu":
        work(0)  # kernels are compiled
    results = list(on_cores(work, seeds, processes if device == "cpu" else 1))
    rows = {method: [one[i] for one in results] for i, method in enumerate(methods)}
    where = f"{extent}^4, beta {beta}, {configurations} x {copies}"
    for method, numbers in compared(rows).items():
        table.add(where, method, *numbers)
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
