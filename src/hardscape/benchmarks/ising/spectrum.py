"""Rates of the exact spectrum, ours and its peers', in one run.

``python -m hardscape.benchmarks.ising.spectrum``.

Every case runs in a process of its own, warms up once, repeats, and prints median and range. Peers run
on the same instances, and every answer is compared.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

from hardscape.benchmarks import rows
from hardscape.benchmarks.machine import machine
from hardscape.benchmarks.tables import Table

PACKAGES = ("cupy-cuda13x", "nvidia-cuda-nvrtc", "dimod", "dwave-samplers", "qubolite", "ising")
alone = partial(rows.in_process_of_its_own, "hardscape.benchmarks.ising.spectrum")
app = cyclopts.App(help=__doc__, result_action="return_value")


@dataclass(frozen=True)
class Case(rows.Case):
    """A model, and how many states of it."""

    kind: str = "integer"
    states: int = 100
    prune: bool = False


CPU = [
    Case("one core, widest level, integer", 32),
    Case("one core, AVX2 (v3), integer", 32, simd="v3"),
    Case("one core, SSE (v2), integer", 32, simd="v2"),
    Case("two threads, integer", 34, threads=2),
    Case("one thread, integer", 34),
    Case("one core, Gaussian", 32, "gaussian"),
    Case("one core, S = 1e5, integer", 34, states=100_000),
    Case("one core, integer, with bounds", 32, prune=True),
    Case("one core, integer, with bounds", 40, prune=True),
    Case("one core, Gaussian, with bounds", 50, "gaussian", states=1000, prune=True, repeats=3),
    Case("one core, integer, with bounds", 64, prune=True, repeats=3),
    Case("memory: two threads, with bounds", 40, threads=2, prune=True),
    Case("memory: two threads, every state", 40, threads=2, repeats=1),
]
PEERS = [
    Case("dimod.ExactSolver", 20, tool="dimod", repeats=3),
    Case("ising 0.1 (the paper's)", 20, tool="ising", repeats=3),
    Case("hardscape, one thread", 20, repeats=9),
    Case("qubolite, one thread, ground state only", 26, states=1, tool="qubolite", repeats=3),
    Case("hardscape, one thread", 26, states=1),
    Case("TreeDecompositionSolver", 64, "lattice", tool="tree", repeats=3),
    Case("hardscape, one thread, with bounds", 64, "lattice", prune=True, repeats=3),
]
GPU = [
    Case("GPU, integer", 44, states=1000, device="cuda:0"),
    Case("GPU, Gaussian", 44, "gaussian", states=1000, device="cuda:0"),
    Case("GPU, integer, S = 1e5", 44, states=100_000, device="cuda:0"),
    Case("GPU, integer, with block bounds", 44, states=1000, device="cuda:0", prune=True),
]
KERNELS = [
    Case("kernel alone, integer", 44, states=1000),
    Case("kernel alone, Gaussian", 44, "gaussian", states=1000),
    Case("kernel alone, Gaussian", 50, "gaussian", states=1000),
]
COMMANDS = [
    Case("command, cold cache", 44, states=1000, device="cuda:0"),
    Case("command, cold cache", 50, states=1000, device="cuda:0", repeats=1),
    Case("command, default options", 50, states=1000, device="auto", prune=True, threads=0),
]


def instance(case: Case) -> Any:
    """Fields and couplings of a case, always the same."""
    from hardscape.ising import Ising

    rng = np.random.default_rng(case.n)
    n = case.n
    if case.kind == "lattice":
        side = round(n**0.5)
        J = np.zeros((n, n))
        for i in range(n):
            for j in (i + 1, i + side):
                if j < n and (j == i + side or j % side):
                    J[i, j] = rng.normal()
        return Ising(np.zeros(n), J)
    if case.kind == "gaussian":
        return Ising(rng.normal(size=n), np.triu(rng.normal(size=(n, n)), 1))
    J = np.triu(rng.integers(-100, 101, (n, n)), 1).astype(float)
    return Ising(rng.integers(-100, 101, n).astype(float), J)


def solver(case: Case) -> Callable[[], np.ndarray]:
    """The call to time; it returns the energies found."""
    model = instance(case)
    if case.tool == "hardscape":
        import hardscape

        return lambda: (
            hardscape.spectrum(
                model,
                case.states,
                device=case.device,
                threads=case.threads,
                prune=case.prune,
            ).energies
        )
    if case.tool == "dimod":
        import dimod

        bqm = model.to_bqm()
        return lambda: np.sort(dimod.ExactSolver().sample(bqm).record.energy)[: case.states]
    if case.tool == "tree":
        from dwave.samplers import TreeDecompositionSolver

        bqm = model.to_bqm()
        reads = case.states
        return lambda: np.sort(TreeDecompositionSolver().sample(bqm, num_reads=reads).record.energy)
    if case.tool == "ising":
        import ising

        row, col, value = model.couplings
        graph = {(i + 1, i + 1): -x for i, x in enumerate(model.h.tolist())}
        graph |= {
            (i + 1, j + 1): -x
            for i, j, x in zip(row.tolist(), col.tolist(), value.tolist(), strict=True)
        }
        return lambda: np.array(
            ising.search(graph, num_states=case.states, show_progress=False).energies
        )
    import qubolite.solving

    terms = model.exact.to_binary()
    matrix = np.diag(terms.floats(terms.fields))
    matrix[terms.row, terms.col] = terms.floats(terms.couplings)
    offset = terms.floats([terms.offset])[0]
    qubo = qubolite.qubo(matrix)
    return lambda: np.array([qubolite.solving.brute_force(qubo, case.threads)[1] + offset])


def measure(case: Case) -> dict[str, Any]:
    """Time one case in this process."""
    call = solver(case)
    energies = call()
    seconds = []
    for _ in range(case.repeats):
        began = time.perf_counter()
        again = call()
        seconds.append(time.perf_counter() - began)
        assert np.array_equal(energies, again)
    return {
        "seconds": seconds,
        "energies": energies[: case.states].tolist(),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def kernel(case: Case) -> dict[str, Any]:
    """Time the CUDA kernel alone, with events, over chunks that hold nothing to list."""
    import cupy

    from hardscape.engine import Cuda, RunOptions
    from hardscape.engine.cuda import cuda_device
    from hardscape.ising.methods.exhaustive.blocks import Wanted
    from hardscape.ising.methods.exhaustive.cuda import CudaSide
    from hardscape.ising.methods.exhaustive.method import Exhaustive
    from hardscape.ising.methods.exhaustive.work import BlockWork

    terms = instance(case).exact
    options = RunOptions.checked(device=Cuda(0), seed=0)
    work = BlockWork.around_low_state(Wanted(terms, case.states, None), Exhaustive.walk, options)
    side = work.sides[CudaSide]
    assert isinstance(side, CudaSide)
    chunk = 1 << work.search.chunk_bits
    seconds = []
    with cuda_device(0) as device:
        for _ in range(case.repeats + 1):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            prefix = side.prefix(work.shards()[-1])
            values = cupy.asarray(side.values(prefix, -2 * terms.bound))
            blocks, count = cupy.empty(1, cupy.uint64), cupy.zeros(1, cupy.uint32)
            begin.record(device.stream)
            side.start(device, values, blocks, count, 0, 1 << side.root)
            end.record(device.stream)
            end.synchronize()
            seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3 * 2**case.n / chunk)
    return {"seconds": seconds[1:], "energies": [], "peak_mb": 0.0}


def command(case: Case) -> dict[str, Any]:
    """Time the whole command, with an empty cache of kernels each time."""
    from hardscape.ising import formats

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        formats.write(instance(case), path, format="coo")
        line = [sys.executable, "-m", "hardscape", "spectrum", str(path), "--json", "--yes"]
        line += ["--num-states", str(case.states), "--device", case.device]
        line += [] if case.prune else ["--no-prune"]
        seconds = []
        for run in range(case.repeats):
            environment = {**os.environ, "HARDSCAPE_CACHE_DIR": f"{folder}/cache{run}"}
            began = time.perf_counter()
            done = subprocess.run(line, env=environment, capture_output=True, check=True)
            seconds.append(time.perf_counter() - began)
    return {"seconds": seconds, "energies": json.loads(done.stdout)["energies"], "peak_mb": 0.0}


@app.command(name="case")
def run_case(text: str) -> None:
    """Measure one case given as JSON, and print JSON."""
    case = Case(**json.loads(text))
    print(json.dumps(measure(case)))


def table(name: str, cases: list[Case], how: Callable[[Case], Any]) -> Table:
    """Print one table; answers to the same instance must agree."""
    columns = ["case", "N", "S", "median s (min to max)", "states/s", "peak MB"]
    found = Table.begun(name, columns, *PACKAGES)
    answers: dict[tuple[int, str], list[float]] = {}
    for case in cases:
        result = how(case)
        if isinstance(result, str):
            found.add(case.name, case.n, case.states, f"not run: {result}")
            continue
        known = answers.setdefault((case.n, case.kind), result["energies"])
        count = min(len(known), len(result["energies"]))
        np.testing.assert_allclose(result["energies"][:count], known[:count], rtol=1e-9)
        seconds = result["seconds"]
        rate = 2.0**case.n / statistics.median(seconds)
        found.add(case.name, case.n, case.states, seconds, rate, round(result["peak_mb"]))
    return found


@app.default
def main(
    *, cpu: bool = True, peers: bool = True, gpu: bool = False, save: Path | None = None
) -> None:
    """Print the tables.

    Parameters
    ----------
    cpu
        Rows of this machine's cores.
    peers
        Other packages, where they are installed.
    gpu
        Rows of the first GPU, its kernels alone (one chunk, scaled to 2^N states), and whole commands.
    save
        A folder for the tables as data.
    """
    print(machine(*PACKAGES))
    wanted: list[tuple[bool, str, list[Case], Callable[[Case], Any]]] = [
        (cpu, "spectrum-cores", CPU, alone),
        (peers, "spectrum-peers", PEERS, alone),
        (gpu, "spectrum-gpu", GPU, alone),
        (gpu, "spectrum-kernels", KERNELS, kernel),
        (gpu, "spectrum-commands", COMMANDS, command),
    ]
    for _, name, cases, how in (x for x in wanted if x[0]):
        found = table(name, cases, how)
        if save:
            found.save(save)


if __name__ == "__main__":
    app()
