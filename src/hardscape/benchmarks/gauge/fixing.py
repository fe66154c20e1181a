"""Gauge fixing: rates of sweeps, sweeps to the gauge, time of whole jobs.

``python -m hardscape.benchmarks.gauge.fixing`` prints the tables of docs/benchmarks/gauge.md for this machine.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cyclopts import App

from hardscape.benchmarks.tables import Table
from hardscape.engine import probe, team
from hardscape.gauge import GaugeField, fix, generate
from hardscape.gauge.lattice.cpu import CpuLattice
from hardscape.gauge.lattice.lattices import Lattices, Sweep, Turn
from hardscape.gauge.lattice.schedule import Schedule
from hardscape.gauge.options import FixOptions

app = App(help=__doc__)
STOP = np.zeros(1, dtype=np.uint8)
#: Repetitions; the table shows their median and their spread.
REPEATS = 5
_PRECISION = {False: "double", True: "single"}
#: Of rows that are compared with those of earlier versions, whose default it was.
_ANNEALING: dict[str, Any] = {"annealing_sweeps": 150, "temperatures": (1.0, 0.05)}


def thermalised(extent: int, beta: float, sweeps: int = 40) -> GaugeField:
    """A quenched field of extent^4: minutes at 32^4 on two cores, seconds on sixteen."""
    return generate((extent,) * 4, beta, seed=1, sweeps=sweeps, start="cold")


def in_a_random_gauge(field: GaugeField, seed: int) -> GaugeField:
    """The same configuration from another start, made site by site from the Haar measure."""
    with team(1) as alone:
        turn = CpuLattice(np.asarray(field.links, np.complex128), FixOptions(), False, alone)
        turn.randomize(np.array([seed], dtype=np.uint64))
        return field.transform(turn.transformation(0))


def sweep_rate(
    lattices: Lattices, sweep: Sweep, count: int, clock: Callable[[], float]
) -> list[float]:
    """Site updates a second."""
    active = np.ones((lattices.copies, lattices.slices), dtype=bool)
    seeds, first = np.arange(lattices.copies, dtype=np.uint64), np.zeros(lattices.copies, int)
    rates = []
    for _ in range(REPEATS + 1):
        began = clock()
        lattices.sweep(Turn([sweep] * lattices.copies, seeds, first, count, active, STOP))
        rates.append(count * lattices.copies * lattices.volume / (clock() - began))
    return rates[1:]


def cpu_rates(table: Table, extent: int) -> None:
    """Rates of sweeps on one thread, in processor time."""
    links = np.asarray(thermalised(extent, 6.0).links, dtype=np.complex128)
    for name, sweep in (
        ("matrix-overrelaxation", Sweep(1, 1.8)),
        ("overrelaxation", Sweep(0, 1.4)),
    ):
        for single in (False, True):
            with team(1) as alone:
                lattice = CpuLattice(links, FixOptions(), single, alone)
                rate = sweep_rate(lattice, sweep, 4, time.thread_time)
            table.add("one thread", f"{extent}^4", _PRECISION[single], name, rate)


#: Values of omega around the best one.
OMEGAS = (1.3, 1.4, 1.5, 1.6)


def sweep_counts(extent: int, configurations: int) -> Table:
    """Sweeps of "auto" against overrelaxation at its best omega, where both end at the same copy."""
    columns = ["configuration", "start", "auto", "overrelaxation", "its omega", "ratio"]
    table = Table.begun("gauge-sweeps", columns)
    ratios = []
    for seed in range(1, configurations + 1):
        field = generate((extent,) * 4, 6.0, seed=seed, sweeps=40, start="cold")
        for turn in (1, 2):
            start = in_a_random_gauge(field, turn)
            found = fix(start, device="cpu", seed=1)
            counts: dict[float, int] = {}
            for omega in OMEGAS:
                other = fix(
                    start, device="cpu", method="overrelaxation", omega=omega, precision="mixed"
                )
                if abs(other.functional - found.functional) < 1e-10:
                    counts[omega] = other.sweeps
            if counts:
                best = min(counts, key=counts.__getitem__)
                ratios.append(found.sweeps / counts[best])
                table.add(seed, turn, found.sweeps, counts[best], best, ratios[-1])
            else:
                table.add(seed, turn, found.sweeps, "another copy")
    if ratios:
        table.add("median", None, None, None, None, statistics.median(ratios))
        table.add("worst", None, None, None, None, max(ratios))
    return table


def command_times(source: Path) -> list[float]:
    """Seconds of whole commands that fix a file."""
    command = [sys.executable, "-m", "hardscape", "gauge", "fix", str(source), "--json"]
    command += ["--device", "cpu", "--force", "-o", str(source.with_name("fixed.nersc"))]
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        times.append(time.perf_counter() - began)
        assert json.loads(done.stdout)["theta_mean"] < 1e-12
    return times


def gpu_rates(table: Table, field: GaugeField, small: GaugeField) -> None:
    """Rates of sweeps on a GPU, and of a copy of its memory."""
    import cupy

    from hardscape.engine import cuda_device
    from hardscape.gauge.lattice.cuda import CudaLattices

    ways = (("matrix-overrelaxation", Sweep(1, 1.8)), ("overrelaxation", Sweep(0, 1.4)))
    with cuda_device(0) as device:

        def clock() -> float:
            device.synchronize()  # sweeps are launched, and not waited for
            return time.perf_counter()

        for links, copies in ((field, 1), (small, 1), (small, 16)):
            name = f"{links.shape[0]}^4" + ("" if copies == 1 else f", {copies} copies")
            for single in (True, False):
                lattices = CudaLattices(device, links.links, FixOptions(), single, copies)
                for way, sweep in ways:
                    rate = sweep_rate(lattices, sweep, 50, clock)
                    table.add("GPU", name, _PRECISION[single], way, rate)
                if links is field:
                    way = "overrelaxation as published, links rewritten"
                    table.add("GPU", name, _PRECISION[single], way, classic(device, lattices))
                del lattices
        copy = cupy.empty(2**28, dtype=np.float32)
        rate = copy_rate(device, copy)
    table.add("GPU", None, None, "bytes/s of a copy of device memory, read and written", rate)


def classic(device: Any, lattices: Any) -> list[float]:
    """Overrelaxation as published, 768 bytes a site in single precision."""
    kernel = device.load(lattices.instance.kernel("classic", "gauge_classic", Schedule(64)))
    links, real = lattices.links.copy(), np.float32 if lattices.single else np.float64
    blocks = -(-lattices.volume // 2 // 64)
    rates = []
    for _ in range(REPEATS + 1):
        device.synchronize()
        began = time.perf_counter()
        for color in [0, 1] * 50:
            kernel(blocks, 64, links, real(1.4), np.int32(color))
        device.synchronize()
        rates.append(50 * lattices.volume / (time.perf_counter() - began))
    return rates[1:]


def copy_rate(device: Any, array: Any) -> list[float]:
    """Bytes a second of copies of an array, read and written."""
    other = array.copy()
    rates = []
    for _ in range(REPEATS + 1):
        device.synchronize()
        began = time.perf_counter()
        for _ in range(10):
            other[:] = array
        device.synchronize()
        rates.append(20 * array.nbytes / (time.perf_counter() - began))
    return rates[1:]


def whole_jobs(field: GaugeField, small: GaugeField) -> Table:
    """Seconds of whole calls on a GPU, theta < 1e-12."""
    table = Table.begun("gauge-jobs", ["lattice", "method", "precision", "copies", "links on",
                                       "seconds", "sweeps", "seconds in sweeps", "F"])  # fmt: skip
    start = in_a_random_gauge(field, 7)
    on_gpu = start.to("cuda")
    for method in ("auto", "matrix-overrelaxation"):
        for precision in ("double", "mixed"):
            _job(table, on_gpu, "GPU", 10, method=method, precision=precision)
    _job(table, start, "host", 5, method="auto", precision="mixed")
    few = in_a_random_gauge(small, 7).to("cuda")
    for method in ("auto", "matrix-overrelaxation", "annealing"):
        for copies in (1, 16):
            how = {"method": method, "copies": copies, "precision": "mixed", **_ANNEALING}
            _job(table, few, "GPU", 10, **how)
    return table


def _job(table: Table, start: GaugeField, where: str, repeats: int, **how: Any) -> None:
    """The seconds of one call, after one that compiles."""
    times = []
    for _ in range(repeats + 1):
        found = fix(start, device="cuda:0", seed=1, **how)
        times.append(found.seconds)
    moving = found.copies.sweeps.sum() * start.volume / found.site_updates_per_second
    name, copies = f"{start.shape[0]}^4", how.get("copies", 1)
    row = (name, how["method"], how["precision"], copies, where, times[1:], found.sweeps)
    table.add(*row, moving, f"{found.functional:.12f}")


def shares_of_calls() -> Table:
    """How much of a call of one GPU is no sweep: what two GPUs share, or do one after the other."""
    columns = ["lattice", "copies", "seconds", "seconds in sweeps", "share outside sweeps"]
    table = Table.begun("gauge-shares", columns)
    for extent in (8, 16, 24):
        start = GaugeField.random((extent,) * 4, seed=7)
        for copies in (1, 4, 16, 32):
            what: dict[str, Any] = {"copies": copies, "method": "annealing", "max_sweeps": 100}
            what |= {"precision": "mixed", "seed": 1, "strict": False, "device": "cuda:0"}
            what |= _ANNEALING
            calls = [fix(start, **what) for _ in range(6)][1:]
            last = calls[-1]
            moving = last.copies.sweeps.sum() * start.volume / last.site_updates_per_second
            seconds = [call.seconds for call in calls]
            table.add(f"{extent}^4", copies, seconds, moving, 1 - moving / last.seconds)
    return table


@app.default
def main(
    *,
    cpu: bool = True,
    gpu: bool = True,
    shares: bool = False,
    extent: int = 16,
    gpu_extent: int = 32,
    configurations: int = 1,
    save: Path | None = None,
) -> None:
    """Print the tables.

    Parameters
    ----------
    cpu, gpu, shares
        Which tables; the last one needs a GPU, too.
    extent, gpu_extent
        Of their lattices.
    configurations
        Of which sweeps are counted, from two starts each.
    save
        A folder for the tables as data.
    """
    gpu, shares = (x and probe().cuda.usable for x in (gpu, shares))
    rates = Table.begun(
        "gauge-rates", ["where", "lattice", "precision", "method", "site updates/s"]
    )
    tables = [rates]
    if cpu:
        cpu_rates(rates, extent)
    if gpu:
        small, field = thermalised(16, 6.1), thermalised(gpu_extent, 6.1)
        gpu_rates(rates, field, small)
        tables.append(whole_jobs(field, small))
    if cpu:
        tables.append(sweep_counts(extent, configurations))
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "links.nersc"
            thermalised(8, 6.0).to_file(source)
            command = Table.begun("gauge-command", ["whole command", "seconds"])
            command.add("gauge fix, 8^4, beta 6.0", command_times(source))
            tables.append(command)
    if shares:
        tables.append(shares_of_calls())
    if save is not None:
        for table in tables:
            table.save(save)


if __name__ == "__main__":
    app()
