"""Gribov copies near the horizon and farther from it: SU(2), Landau gauge.

``python -m hardscape.benchmarks.gauge.horizon --processes 12 --save FOLDER`` fixes copies of several
configurations and takes of each the copy with the least and that with the largest lowest eigenvalue of the
Faddeev-Popov operator. A. Sternbeck and M. Müller-Preussker (arXiv:1304.1416) find the ghost and gluon
propagators of the first ones enhanced at low momentum, and those of larger momentum the same.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App
from numpy.typing import NDArray

from hardscape.benchmarks.cores import on_cores
from hardscape.benchmarks.gauge.fixing import in_a_random_gauge
from hardscape.benchmarks.tables import Table
from hardscape.gauge import (
    faddeev_popov_eigenvalues,
    fix,
    generate,
    ghost_propagator,
    gluon_propagator,
)

app = App(help=__doc__, result_action="return_value")

#: Momenta of the ghost, in units of 2 pi / L.
_MOMENTA = [(1, 0, 0, 0), (1, 1, 1, 1), (3, 3, 3, 3)]
_NAMES = ["lowest eigenvalue", *(f"ghost, k = {k}" for k in _MOMENTA), "gluon, p = 0"]


def measured(seed: int, extent: int, beta: float, copies: int) -> NDArray[np.float64]:
    """Of the copies of one configuration the numbers that `_NAMES` says, in rows."""
    run: dict[str, Any] = {"device": "cpu", "threads": 1}
    field = generate((extent,) * 4, beta, 2, seed=seed, sweeps=200, **run)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "landau.npz"
        for start in range(copies):
            turned = in_a_random_gauge(field, start)
            method: Any = "matrix-overrelaxation"
            fix(turned, "landau", method=method, theta=1e-14, **run).fixed().to_file(place)
            lowest = faddeev_popov_eigenvalues(place, 1, residual=1e-6, **run).value[0]
            ghost = ghost_propagator(place, _MOMENTA, **run)
            at_rest = gluon_propagator(place, **run).value[0]
            rows.append([lowest, *ghost.value[np.argsort(ghost.momentum)], at_rest])
    return np.array(rows)


@app.default
def main(
    *,
    save: Path | None = None,
    extent: int = 12,
    beta: float = 2.3,
    configurations: int = 28,
    copies: int = 12,
    processes: int = 2,
) -> None:
    """Print the table.

    Parameters
    ----------
    save
        Folder for the table as JSON.
    extent, beta
        Of the lattice.
    configurations, copies
        Independent configurations, and copies of each.
    processes
        On a core each.
    """
    columns = ["lattice", "what", "least eigenvalue", "largest", "ratio", "error"]
    table = Table.begun("gauge-horizon", columns)
    work = partial(measured, extent=extent, beta=beta, copies=copies)
    found = np.array(list(on_cores(work, range(1, configurations + 1), processes)))
    every = np.arange(configurations)
    near, far = (found[every, pick(found[:, :, 0], axis=1)] for pick in (np.argmin, np.argmax))
    for i, what in enumerate(_NAMES):
        ratio = near[:, i] / far[:, i]
        where = f"{extent}^4, beta {beta}, {configurations} x {copies}"
        error = ratio.std(ddof=1) / np.sqrt(configurations)
        table.add(
            where, what, *map(float, (near[:, i].mean(), far[:, i].mean(), ratio.mean(), error))
        )
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
