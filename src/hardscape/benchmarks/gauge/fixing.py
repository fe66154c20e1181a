"""Gauge fixing: rates of sweeps, sweeps to the gauge, time of whole jobs.

``python -m hardscape.benchmarks.gauge.fixing`` prints the tables of docs/benchmarks.md for this machine.
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

from hardscape.benchmarks.machine import machine
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
#: Of rows that are compared with those of earlier versions, whose default it was.
_ANNEALING: dict[str, Any] = {"annealing_sweeps": 150, "temperatures": (1.0, 0.05)}


def row(*cells: str) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def spread(values: list[float]) -> str:
    """The median, with the least and the largest."""
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def thermalised(extent: int, beta: float, sweeps: int = 40) -> GaugeField:
    """A quenched field of extent^4: minutes at 32^4 on two cores, seconds on sixteen."""
    return generate((extent,) * 4, beta, seed=1, sweeps=sweeps, start="cold")


def in_a_random_gauge(field: GaugeField, seed: int) -> GaugeField:
    """The same configuration from another start, made site by site from the Haar measure."""
    with team(1) as alone:
        turn = CpuLattice(np.asarray(field.links, np.complex128), FixOptions(), False, alone)
        turn.randomize(np.array([seed], dtype=np.uint64))
        return field.transform(turn.transformation(0))


def sweep_rate(lattices: Lattices, sweep: Sweep, count: int, clock: Callable[[], float]) -> str:
    """Site updates a second."""
    active = np.ones((lattices.copies, lattices.slices), dtype=bool)
    seeds, first = np.arange(lattices.copies, dtype=np.uint64), np.zeros(lattices.copies, int)
    rates = []
    for _ in range(REPEATS + 1):
        began = clock()
        lattices.sweep(Turn([sweep] * lattices.copies, seeds, first, count, active, STOP))
        rates.append(count * lattices.copies * lattices.volume / (clock() - began))
    return spread(rates[1:])


def cpu_tables(extent: int) -> None:
    """Print rates of sweeps on one thread, and sweeps to the gauge."""
    print("\n| CPU | median (spread) |\n| --- | --- |")
    field = thermalised(extent, 6.0)
    links = np.asarray(field.links, dtype=np.complex128)
    for name, sweep in (
        ("matrix-overrelaxation", Sweep(1, 1.8)),
        ("overrelaxation", Sweep(0, 1.4)),
    ):
        for single in (False, True):
            kind = "single" if single else "double"
            with team(1) as alone:
                lattice = CpuLattice(links, FixOptions(), single, alone)
                rate = sweep_rate(lattice, sweep, 4, time.thread_time)
            row(f"SU(3) {name}, {kind}, {extent}^4, one thread, sites/s", rate)
    small = thermalised(8, 6.0)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "links.nersc"
        small.to_file(source)
        row("whole command, 8^4 beta 6.0, s", spread(command_times(source)))


#: Values of omega around the best one.
OMEGAS = (1.3, 1.4, 1.5, 1.6)


def sweep_counts(extent: int, configurations: int) -> None:
    """Sweeps of "auto" against overrelaxation at its best omega, where both end at the same copy."""
    print("\n| configuration, start | auto | overrelaxation | ratio |\n| --- | --- | --- | --- |")
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
            ratio = found.sweeps / min(counts.values()) if counts else float("nan")
            ratios += [ratio] if counts else []
            print(f"| {seed}, {turn} | {found.sweeps} | {counts} | {ratio:.3f} |", flush=True)
    if ratios:
        print(f"\nratio: median {statistics.median(ratios):.3f}, worst {max(ratios):.3f}")


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


def gpu_tables(extent: int) -> None:
    """Print rates of sweeps on a GPU, and of a copy of its memory."""
    import cupy

    from hardscape.engine import cuda_device
    from hardscape.gauge.lattice.cuda import CudaLattices

    print("\n| GPU | median (spread) |\n| --- | --- |")
    small = thermalised(16, 6.1)
    field = thermalised(extent, 6.1)
    rates: dict[str, str] = {}
    with cuda_device(0) as device:
        for single in (True, False):
            lattices = CudaLattices(device, field.links, FixOptions(), single, 1)
            kind = "single" if single else "double"
            for name, sweep in (
                ("matrix-overrelaxation", Sweep(1, 1.8)),
                ("g only", Sweep(0, 1.4)),
            ):
                rates[kind] = sweep_rate(lattices, sweep, 50, time.perf_counter)
                row(f"SU(3) {name}, {kind}, {extent}^4, sites/s", rates[kind])
            rewritten = classic(device, lattices)
            row(f"links rewritten, {kind}, {extent}^4, sites/s", rewritten)
            del lattices
        copy = cupy.empty(2**28, dtype=np.float32)
        row("copy of device memory, read and written, B/s", copy_rate(device, copy))
    del copy
    whole_jobs(field, small, extent)


def classic(device: Any, lattices: Any) -> str:
    """Overrelaxation as published, 768 bytes a site in single precision."""
    kernel = device.load(lattices.instance.kernel("classic", "gauge_classic", Schedule(64)))
    links, real = lattices._links.copy(), np.float32 if lattices.single else np.float64
    blocks = -(-lattices.volume // 2 // 64)
    rates = []
    for _ in range(REPEATS + 1):
        device.synchronize()
        began = time.perf_counter()
        for color in [0, 1] * 50:
            kernel(blocks, 64, links, real(1.4), np.int32(color))
        device.synchronize()
        rates.append(50 * lattices.volume / (time.perf_counter() - began))
    return spread(rates[1:])


def copy_rate(device: Any, array: Any) -> str:
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
    return spread(rates[1:])


def whole_jobs(field: GaugeField, small: GaugeField, extent: int) -> None:
    """Print seconds of whole calls on a GPU."""
    print("\n| GPU, theta < 1e-12 | s, median of 10, 5 from host (spread); of the last: |")
    print("| --- | --- |")
    start = in_a_random_gauge(field, 7)
    name = f"{extent}^4 beta 6.1, plaquette {field.plaquette():.6f}, random gauge"
    on_gpu = start.to("cuda")
    for method in ("auto", "matrix-overrelaxation"):
        for precision in ("double", "mixed"):
            keywords: dict[str, Any] = {"method": method, "precision": precision, "seed": 1}
            timed_job(f"{method}, {precision}, {name}, links on GPU", on_gpu, 10, keywords)
    keywords = {"method": "auto", "precision": "mixed", "seed": 1}
    timed_job(f"auto, mixed, {name}, links on host", start, 5, keywords)
    few = in_a_random_gauge(small, 7).to("cuda")
    for method in ("auto", "matrix-overrelaxation", "annealing"):
        for copies in (1, 16):
            keywords = {"precision": "mixed", "seed": 1, "copies": copies, "method": method}
            keywords |= _ANNEALING
            name = f"{copies} copies, {method}, mixed, 16^4 beta 6.1, links on GPU"
            timed_job(name, few, 10, keywords)


def timed_job(name: str, start: GaugeField, repeats: int, keywords: dict[str, Any]) -> None:
    """Print the seconds of one call, after one that compiles."""
    times = []
    for _ in range(repeats + 1):
        found = fix(start, device="cuda:0", **keywords)
        times.append(found.seconds)
    moving = found.copies.sweeps.sum() * start.volume / found.site_updates_per_second
    how = f"{found.sweeps} sweeps, {moving:.3f} s in them, F = {found.functional:.12f}"
    row(name, f"{spread(times[1:])}; {how}")


def shares_of_calls() -> None:
    """How much of a call of one GPU is no sweep: what two GPUs share, or do one after the other."""
    print("\n| one GPU, links on host | s, median of 5 (spread); of the last: | outside sweeps |")
    print("| --- | --- | --- |")
    for extent in (8, 16, 24):
        start = GaugeField.random((extent,) * 4, seed=7)
        for copies in (1, 4, 16, 32):
            what: dict[str, Any] = {"copies": copies, "method": "annealing", "max_sweeps": 100}
            what |= {"precision": "mixed", "seed": 1, "strict": False, "device": "cuda:0"}
            what |= _ANNEALING
            calls = [fix(start, **what) for _ in range(6)][1:]
            last = calls[-1]
            moving = last.copies.sweeps.sum() * start.volume / last.site_updates_per_second
            told = f"{spread([call.seconds for call in calls])}; {moving:.3f} s in sweeps"
            row(f"{copies} copies, {extent}^4", told, f"{1 - moving / last.seconds:.0%}")


@app.default
def main(
    *,
    cpu: bool = True,
    gpu: bool = True,
    shares: bool = False,
    extent: int = 16,
    gpu_extent: int = 32,
    configurations: int = 1,
) -> None:
    """Print the tables.

    Parameters
    ----------
    cpu, gpu, shares
        Which tables; the last one needs a GPU, too.
    extent, gpu_extent
        Of their lattices.
    """
    print(machine())
    if cpu:
        cpu_tables(extent)
        sweep_counts(extent, configurations)
    if gpu and probe().cuda.usable:
        gpu_tables(gpu_extent)
    if shares and probe().cuda.usable:
        shares_of_calls()


if __name__ == "__main__":
    app()
