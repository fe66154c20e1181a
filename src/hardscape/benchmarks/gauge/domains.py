"""Sweeps of one lattice on one GPU and on two that hold it together: weak and strong scaling.

``python -m hardscape.benchmarks.gauge.domains --save FOLDER`` sweeps SU(3) fields in Landau gauge by
matrix-overrelaxation, twenty sweeps at a time. ``rows`` behind ``domains`` compares cuts in t with cuts of
rows of timeslices on all GPUs that there are.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

from hardscape.benchmarks.tables import Table
from hardscape.engine import Cuda, cuda_device
from hardscape.gauge import GaugeField
from hardscape.gauge.domains.gpus import Gpus
from hardscape.gauge.lattice.cuda import CudaLattices
from hardscape.gauge.lattice.lattices import Lattices, Sweep, Turn
from hardscape.gauge.options import FixOptions

app = App(help=__doc__, result_action="return_value")

#: Sweeps of a launch, and times that it is repeated.
_SWEEPS, _REPEATS = 20, 7


def links_of(extent: int, slices: int) -> Any:
    """Random links of one timeslice's corner, over and over: what they are costs a sweep nothing."""
    corner = GaugeField.random((16, 16, 16, 2), 3, seed=3).links[:1]
    many = extent // 16
    one = np.tile(corner, (1, many, many, many, 1, 1, 1))
    return np.broadcast_to(one, (slices, *one.shape[1:]))


def rates(lattices: Lattices, gpus: int) -> list[float]:
    """Site updates a second, of each repeat but the first."""
    import cupy

    def clock() -> float:
        for number in range(gpus):  # sweeps are launched, and not waited for
            cupy.cuda.Device(number).synchronize()
        return time.perf_counter()

    turn = Turn(
        [Sweep(1, omega=1.8)],
        np.array([5], dtype=np.uint64),
        np.zeros(1, dtype=np.int64),
        _SWEEPS,
        np.ones((1, lattices.slices), dtype=bool),
        np.zeros(1, dtype=np.uint8),
    )
    found = []
    for _ in range(_REPEATS + 1):
        began = clock()
        lattices.sweep(turn)
        found.append(_SWEEPS * lattices.volume / (clock() - began))
    return found[1:]


def swept(
    gpus: int,
    extent: int,
    slices: int,
    options: FixOptions,
    cut: tuple[int, int] | None = None,
) -> list[float]:
    """Rates of so many GPUs together, which cut timeslices and rows into so many parts."""
    links, single = links_of(extent, slices), options.precision == "single"
    if gpus == 1:
        with cuda_device(0) as device:
            return rates(CudaLattices(device, links, options, single, 1), gpus)
    held = Gpus([Cuda(number) for number in range(gpus)], cut)
    with held.placed(links, options, 1):
        return rates(held.lattices(links, options, single, 1), gpus)


@app.default
def main(*, save: Path | None = None, extents: tuple[int, ...] = (64, 32)) -> None:
    """Print the table; a factor is that of the rate of one GPU."""
    columns = ["lattice", "precision", "GPUs", "site updates/s", "factor", "of the best"]
    table = Table.begun("gauge-domains", columns)
    for options in (FixOptions(precision="single", theta=1e-9), FixOptions()):
        for extent in extents:
            alone = 0.0
            for gpus, slices in ((1, extent), (2, extent), (2, 2 * extent)):
                found = swept(gpus, extent, slices, options)
                median = float(np.median(found))
                alone = alone or median
                shape = f"{extent}^3 x {slices}"
                factor = median / alone
                table.add(shape, options.precision, gpus, found, factor, factor / gpus)
    if save is not None:
        table.save(save)


@app.command
def rows(*, save: Path | None = None) -> None:
    """Compare cuts in t with cuts of rows; a factor is that of the rate of one GPU."""
    import cupy

    gpus = cupy.cuda.runtime.getDeviceCount()
    columns = ["lattice", "precision", "parts in t", "parts of rows", "site updates/s", "factor"]
    table = Table.begun("gauge-domains-rows", columns)
    single, double = FixOptions(precision="single", theta=1e-9), FixOptions()
    cuts = [(gpus, 1), (1, gpus)] + [(2, gpus // 2)] * (gpus > 2)
    shapes = (single, 48, 16), (double, 48, 16), (single, 64, 32), (single, 48, 48)
    for options, extent, slices in shapes:
        alone = float(np.median(swept(1, extent, slices, options)))
        for cut in cuts:
            found = swept(gpus, extent, slices, options, cut)
            factor = float(np.median(found)) / alone
            table.add(f"{extent}^3 x {slices}", options.precision, *cut, found, factor)
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
