"""Quasi-greedy search: rates and times to solution, ours and the peers'.

``python -m hardscape.benchmarks.xorsat.search``.

Rates are medians of repeated runs after one that warms up; answers are checked. On the CPU one thread
is timed by its own clock, so that other work on the machine does little harm.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import cyclopts
import numpy as np

from hardscape import native
from hardscape.benchmarks.tables import Cell, Table
from hardscape.engine import cuda_device, cuda_status
from hardscape.engine.cuda import jit
from hardscape.xorsat import (
    TimeToSolution,
    XorSystem,
    eliminate,
    median_tts,
    quadratize,
    random_regular,
    time_to_solution,
)
from hardscape.xorsat.methods.quasi_greedy.cuda import CudaClones, CudaRound
from hardscape.xorsat.methods.quasi_greedy.plan import Plan, default_w1
from hardscape.xorsat.methods.quasi_greedy.rounds import Rounds
from hardscape.xorsat.studies.population import population_of

app = cyclopts.App(help=__doc__, result_action="return_value")

_PACKAGES = ("openjij", "dwave-samplers")


@app.default
def main(*, save: Path | None = None) -> None:
    """Run everything that this machine can, one table each.

    Parameters
    ----------
    save
        A folder for the tables as data; the other commands have it, too.
    """
    table = Table.begun("xorsat-cores", ["case", "N", "spin updates/s"])
    for level in native.available_levels():
        environment = {**os.environ, "HARDSCAPE_SIMD": level}
        line = [sys.executable, "-m", "hardscape.benchmarks.xorsat.search", "rate"]
        done = subprocess.run(line, env=environment, check=True, capture_output=True, text=True)
        for n, values in json.loads(done.stdout):
            table.add(f"one thread, {level}", n, values)
    _kept(table, save)
    elimination(save=save)
    peers(save=save)
    if cuda_status().usable:
        gpu(save=save)


def _kept(table: Table, save: Path | None) -> None:
    if save is not None:
        table.save(save)


def _repeated(call: Callable[[], float], repeats: int) -> list[float]:
    # The slowest is the warm-up, or as slow.
    return sorted(call() for _ in range(repeats + 1))[1:]


@app.command
def rate(*, repeats: int = 7) -> None:
    """JSON of one thread's updates a second, at the widest level or that of HARDSCAPE_SIMD."""
    stop = np.zeros(1, np.uint8)
    found = []
    for n in (128, 256):
        plan = Plan.build(random_regular(n, seed=1))

        def updates(plan: Plan = plan) -> float:
            began = time.thread_time()
            # Solutions are looked for, but these clones find none.
            *_, sweeps, _ = plan.kernel.run(1, 0, 1, 8000, 32, 0, True, stop)
            return float(sweeps * 1024 * plan.updates / (time.thread_time() - began))

        found.append((n, _repeated(updates, repeats)))
    print(json.dumps(found))


@app.command
def elimination(*, n: int = 4096, repeats: int = 7, save: Path | None = None) -> None:
    """Elimination of a 3-regular system."""
    system = random_regular(n, seed=1, full_rank=False)

    def milliseconds() -> float:
        began = time.thread_time()
        eliminate(system)
        return 1e3 * (time.thread_time() - began)

    table = Table.begun("xorsat-elimination", ["N", "processor ms"])
    table.add(n, _repeated(milliseconds, repeats))
    _kept(table, save)


@app.command
def peers(*, n: int = 32, reads: int = 2000, save: Path | None = None) -> None:
    """TTS99 of this library, openjij (3-spin annealing) and dwave-samplers (2-body annealing)."""
    system = random_regular(n, seed=1)
    table = Table.begun("xorsat-peers", ["tool", "N", "TTS99, s", "times ours"], *_PACKAGES)
    tts = time_to_solution(system, 200, 10.0, device="cpu", threads=1, seed=1).tts(99)
    table.add("hardscape, one thread", n, tts, 1.0)
    for name, sample in (
        ("openjij, HUBO annealing", _openjij),
        ("dwave-samplers, annealing of the 2-body form", _dwave),
    ):
        try:
            seconds = min(sample(system, reads, sweeps) for sweeps in (50, 200, 1000))
            table.add(name, n, seconds, seconds / tts)
        except ImportError:
            table.add(name, n, "not installed")
    _kept(table, save)


def _tts99(seconds: float, solved: int, reads: int) -> float:
    """Time in which independent reads of one length succeed with 99%."""
    if not solved:
        return math.inf
    if solved == reads:
        return seconds / reads
    return seconds / reads * max(1.0, math.log(0.01) / math.log1p(-solved / reads))


def _openjij(system: XorSystem, reads: int, sweeps: int) -> float:
    import openjij

    couplings = {
        clause: -(1.0 - 2.0 * float(side))
        for clause, side in zip(system.clauses(), system.parity, strict=True)
    }
    sampler = openjij.SASampler()
    options = {"vartype": "SPIN", "num_reads": reads, "num_sweeps": sweeps, "seed": 1}
    sampler.sample_hubo(couplings, **{**options, "num_reads": 1})
    began = time.perf_counter()
    energies = sampler.sample_hubo(couplings, **options).record.energy
    seconds = time.perf_counter() - began
    return _tts99(seconds, int((energies < -system.num_clauses + 0.5).sum()), reads)


def _dwave(system: XorSystem, reads: int, sweeps: int) -> float:
    import dimod
    from dwave.samplers import SimulatedAnnealingSampler

    model = quadratize(system)
    quadratic = dimod.BinaryQuadraticModel("SPIN")
    for (i, j), value in model.terms().items():
        if i == j:
            quadratic.add_linear(i, value)
        else:
            quadratic.add_quadratic(i, j, value)
    sampler = SimulatedAnnealingSampler()
    began = time.perf_counter()
    answer = sampler.sample(quadratic, num_reads=reads, num_sweeps=sweeps, seed=1)
    seconds = time.perf_counter() - began
    order = [answer.variables.index(v) for v in range(system.num_variables)]
    assignments = (1 - answer.record.sample[:, order]) // 2
    return _tts99(seconds, int((system.violated(assignments) == 0).sum()), reads)


@app.command
def gpu(*files: Path, runs: int = 300, w1: int | None = None, save: Path | None = None) -> None:
    """Rates and times of the kernel on the first GPU, for random systems or those in files.

    Parameters
    ----------
    runs
        Up to the solution, of systems of up to 160 variables.
    w1
        In 256ths; otherwise the default.
    """
    share = None if w1 is None else w1 / 256
    systems = [(path.name, XorSystem.from_file(path)) for path in files] or [
        (f"random {n}", random_regular(n, seed=n)) for n in (128, 256)
    ]
    columns = ["system", "N", "$256\\,w_1$", "clones", "spin updates/s", "sweeps",
               "time to solution in the kernel, ms", "its error"]  # fmt: skip
    table = Table.begun("xorsat-gpu", columns)
    for name, system in systems:
        plan = Plan.build(system, share)
        clones, values = _kernel_rate(plan)
        times: list[Cell] = []
        if system.num_variables <= 160:
            mean, sweeps = _kernel_times(plan, runs)
            times = [sweeps, mean, mean / math.sqrt(runs)]
        w1_used = default_w1(system) if share is None else share
        table.add(name, system.num_variables, 256 * w1_used, clones, values, *times)
    _kept(table, save)


@app.command
def compile_kernels(*files: Path, arch: str = "sm_90") -> None:
    """Compile the kernels of systems in files side by side into the cache; needs no GPU."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        began = time.perf_counter()
        sizes = list(pool.map(_compiled, files, [arch] * len(files)))
    print(f"compiled {len(sizes)} kernels in {time.perf_counter() - began:.1f} s")


def _compiled(file: Path, arch: str) -> int:
    plan = Plan.build(XorSystem.from_file(file))
    return len(jit.compile(CudaClones.build(plan, exact=True).kernel, arch))


@app.command(name="w1")
def scan(
    *files: Path,
    values: tuple[int, ...] = (11, 14, 17, 20, 23, 26),
    runs: int = 100,
    timeout: float = 2.0,
    save: Path | None = None,
) -> None:
    """Time to solution on the first GPU at several w1, in 256ths."""
    columns = ["system", "N", "$256\\,w_1$", "updates to solution", "68% interval", "mean TTS, ms",
               "solved"]  # fmt: skip
    table = Table.begun("xorsat-w1-gpu", columns)
    for file in files:
        system = XorSystem.from_file(file)
        for value in values:
            found = time_to_solution(system, runs, timeout, w1=value / 256, device="cuda:0", seed=1)
            each = system.num_variables * found.clones
            low, high = (
                each * x for x in (found.posterior_sweeps.low, found.posterior_sweeps.high)
            )
            span, solved = f"{low:.3g} to {high:.3g}", f"{found.num_solved} of {found.runs}"
            name, n = file.name, system.num_variables
            table.add(name, n, value, found.tau_updates, span, 1e3 * found.tau, solved)
    _kept(table, save)


@app.command
def challenge(
    *files: Path,
    runs: int = 5,
    timeout: float = 2.0,
    w1: int | None = None,
    seed: int = 0,
    device: str = "cuda:0",
    save: Path | None = None,
) -> None:
    """Median TTS99 of systems in files, by runs with a timeout, and of all runs together in updates.

    Parameters
    ----------
    w1
        In 256ths; otherwise the default.
    seed
        Another one makes new runs. Updates of several tables may be added up; seconds only of one card.
    """
    share = None if w1 is None else w1 / 256
    columns = ["instance", "runs", "solved", "tau, s", "68% interval", "updates of all runs",
               "spin updates/s"]  # fmt: skip
    table = Table.begun("xorsat-challenge", columns)
    results: list[TimeToSolution] = []
    for file in files:
        own = 1000 * seed + len(results)
        found = time_to_solution(
            XorSystem.from_file(file), runs, timeout, w1=share, device=device, seed=own
        )
        results.append(found)
        span = f"{found.posterior.low:.3g} to {found.posterior.high:.3g}"
        speed = found.spin_updates_per_second
        row = found.num_solved, found.tau, span, speed * float(found.seconds.sum()), speed
        table.add(file.name, found.runs, *row)
    value, low, high = median_tts(results)
    table.add("median TTS99, s", None, None, value, f"{low:.3g} to {high:.3g}")
    solved = sum(x.num_solved for x in results)
    if solved:  # of all together, as if they had one tau
        updates = sum(x.spin_updates_per_second * float(x.seconds.sum()) for x in results)
        tts = -math.log(0.01) * updates / solved
        span = f"{tts / math.sqrt(solved):.2g} its error"
        counts = sum(x.runs for x in results), solved
        table.add("TTS99 of all together, updates", *counts, tts, span, updates)
    _kept(table, save)


@app.command
def pooled(runs: Path, *tables: Path, rate: float, save: Path | None = None) -> None:
    """TTS99 by all runs of `challenge` that a file keeps, in updates, and so in seconds of a card.

    Parameters
    ----------
    runs
        The file; rows of `tables` that it lacks are added to it.
    rate
        Spin updates a second of the card.
    """
    known = Table.read(runs)
    for path in tables:
        found = Table.read(path)
        where = found.measured["gpus"][0], found.measured["date"]
        each = [[*row[:3], row[5], row[6], *where] for row in found.rows if row[6] is not None]
        known.rows += [row for row in each if row not in known.rows]
        known.measured = {**found.measured, "command": known.measured["command"]}
    known.save(runs.parent)
    columns = ["instance", "runs", "solved", "TTS99, updates", "error of its logarithm", "seconds"]
    table = Table.begun("xorsat-challenge", columns)
    table.measured |= {key: known.measured[key] for key in ("gpus", "date", "versions")}
    names = sorted({str(row[0]) for row in known.rows})
    numbers = np.array(
        [
            [sum(float(str(row[i])) for row in known.rows if row[0] == name) for i in (1, 2, 3)]
            for name in names
        ]
    )
    for name, (count, solved, updates) in zip(names, numbers, strict=True):
        tts = -math.log(0.01) * updates / solved if solved else math.inf
        error = f"{1 / math.sqrt(solved):.2f}" if solved else None
        table.add(name, int(count), int(solved), tts, error, tts / rate)
    law = population_of(numbers[:, 1], numbers[:, 2])
    counts = int(numbers[:, 0].sum()), law.solved
    table.add("median instance", *counts, law.tts(), f"{law.log_error:.2f}", law.tts() / rate)
    _kept(table, save)


def _timed(search: CudaRound, first: int, sweeps: int, look: int, *, last: bool) -> float:
    """Seconds of a launch on the GPU, initial spins included, the way there not."""
    import cupy

    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    # Keeps the GPU busy, for milliseconds, until the launch to be timed has arrived.
    search.start(0, 2048, 4096, last=False, keep=False)
    start.record()
    search.start(first, sweeps, look, last=last, keep=False)
    stop.record()
    stop.synchronize()
    return 1e-3 * float(cupy.cuda.get_elapsed_time(start, stop))


def _kernel_rate(plan: Plan, sweeps: int = 4096) -> tuple[int, list[float]]:
    clones = CudaClones.build(plan, exact=True)
    groups = clones.groups_at_once(0)
    # As many sweeps without a look as there are: a solution does not end the run.
    rounds = Rounds(plan, 1, groups, sweeps, 0, sweeps, False)
    with cuda_device(0) as device:
        search = CudaRound(clones, rounds, 0, device)

        def updates() -> float:
            seconds = _timed(search, 0, sweeps, sweeps + 1, last=False)
            return sweeps * groups * 1024 * plan.updates / seconds

        return groups * 1024, _repeated(updates, 5)


def _kernel_times(plan: Plan, runs: int) -> tuple[float, float]:
    clones = CudaClones.build(plan, exact=True)
    groups, seconds, sweeps = clones.groups_at_once(0), [], []
    with cuda_device(0) as device:
        for seed in range(runs):
            rounds = Rounds(plan, seed, groups, 1 << 16, 0, 1 << 16, False)
            search = CudaRound(clones, rounds, 0, device)
            seconds.append(_timed(search, 0, 1 << 16, 8, last=True))
            key, _ = search.read()
            sweeps.append(key >> 26 & 0x3FFFFF)
    return 1e3 * statistics.mean(seconds), statistics.mean(sweeps)


if __name__ == "__main__":
    app()
