"""Rates of permanents, ours and the peers', in one run.

``python -m hardscape.benchmarks.permanents.rates``.

Every case runs in a process of its own, warms up once, repeats, and prints median and range. Peers run
on the same matrices, and every answer is compared.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

from hardscape.benchmarks import rows
from hardscape.benchmarks.machine import machine
from hardscape.benchmarks.tables import Table
from hardscape.permanents.numbers.bounded import BoundedNumber

app = cyclopts.App(help=__doc__, result_action="return_value")


@dataclass(frozen=True)
class Case(rows.Case):
    """A matrix, and how to take its permanent."""

    kind: str = "real"
    guard: bool = False


CPU = [
    Case("one core, widest level, real", 26),
    Case("one core, widest level, real", 28),
    Case("one core, AVX2 (v3), real", 28, simd="v3"),
    Case("one core, SSE (v2), real", 28, simd="v2"),
    Case("one core, 20-bit entries, proven bound", 28, "20 bits", guard=True),
    Case("one core, real, proven bound", 28, guard=True),
    Case("two threads, real", 28, threads=2),
    Case("one core, widest level, complex", 26, "complex"),
    Case("one core, widest level, complex", 28, "complex", repeats=3),
    Case("one core, AVX2 (v3), complex", 26, "complex", simd="v3"),
    Case("one core, complex, proven bound", 26, "complex", guard=True, repeats=3),
    Case("two threads, complex", 28, "complex", threads=2, repeats=3),
]
PEERS = [
    Case("hardscape, one thread", 26, kind)
    if tool == "hardscape"
    else Case(tool, 26, kind, tool=tool, repeats=3)
    for kind in ("real", "complex")
    for tool in ("hardscape", "thewalrus", "exqalibur", "qc-permanent")
]
EXACT = [
    Case("integers to 99, exact", 26, "99", tool="permanent", repeats=3),
    Case("C60, adjacency, exact", 60, "C60", tool="permanent"),
]
STRUCTURE = [
    Case("dominoes on a board of 20x20", 200, "dominoes", tool="permanent", repeats=3),
    Case("3-regular graph", 60, "3-regular", tool="permanent", repeats=3),
    Case("3-regular graph", 90, "3-regular", tool="permanent", repeats=2),
    Case("ones, plus a diagonal", 40, "ones", tool="permanent", repeats=3),
    Case("density 0.25, dense", 30, "sparse", repeats=2),
    Case("density 0.25, eliminated", 30, "sparse", tool="sparse", repeats=2),
]
GPU = [
    # Nothing is run twice that takes half a minute.
    Case("double-double, proven", 40, "20 bits", tool="extended", repeats=0, device="cuda:0"),
    Case("double", 40, "20 bits", repeats=2, device="cuda:0"),
    Case("command, no kernel compiled", 40, "20 bits", tool="cold",
         repeats=0, device="cuda:0"),
    Case("command, kernel compiled", 40, "20 bits", tool="command", repeats=1, device="cuda:0"),
    Case("double-double, proven", 36, "complex 20 bits", tool="extended", repeats=0,
         device="cuda:0"),
    Case("double", 36, "complex 20 bits", device="cuda:0"),
    Case("double", 36, "real", device="cuda:0"),
    Case("exactly, by rows that repeat", 36, "4 rows", tool="exact", repeats=0),
    Case("double", 36, "4 rows", device="cuda:0"),
    Case("exactly, by rows that repeat", 36, "complex 4 rows", tool="exact", repeats=0),
    Case("double", 36, "complex 4 rows", device="cuda:0"),
    Case("batch of 4096", 20, "complex batch", device="cuda:0"),
    Case("the same, hardscape.permanent", 20, "complex batch", tool="permanent", device="cuda:0"),
    Case("the same, of a CuPy array", 20, "complex batch", tool="cupy", device="cuda:0"),
    Case("the same, of a torch tensor", 20, "complex batch", tool="torch", device="cuda:0"),
    Case("batch of 4096", 20, "real batch", device="cuda:0"),
    Case("density 0.25, dense kernel", 34, "sparse", device="cuda:0"),
    Case("density 0.25, generated", 34, "sparse", tool="sparse", device="cuda:0"),
    Case("density 0.25, dense kernel", 45, "sparse", repeats=0, device="cuda:0"),
    Case("density 0.25, generated", 45, "sparse", tool="sparse", repeats=2, device="cuda:0"),
]  # fmt: skip
PACKAGES = ("thewalrus", "exqalibur", "qc-permanent")


def matrix(case: Case) -> np.ndarray:
    """The matrix of a case, always the same."""
    rng = np.random.default_rng(case.n)
    shape = (case.n, case.n)
    if case.kind == "C60":
        return truncated_icosahedron()
    if case.kind == "dominoes":
        return dominoes(math.isqrt(2 * case.n))
    if case.kind == "3-regular":
        return np.array(sum(np.eye(case.n, dtype=int)[rng.permutation(case.n)] for _ in range(3)))
    if case.kind == "ones":
        return np.ones(shape, dtype=int) + np.diag(np.arange(case.n))
    if case.kind == "99":
        return rng.integers(-99, 100, shape)
    if case.kind.endswith(("20 bits", "4 rows")):
        repeats = case.n // 4 if case.kind.endswith("4 rows") else 1
        parts = rng.integers(-(2**20), 2**20, (2, case.n // repeats, case.n)).astype(float)
        real, imaginary = np.repeat(parts, repeats, axis=1)
        whole: np.ndarray = real + 1j * imaginary if case.kind.startswith("complex") else real
        return whole
    if case.kind == "sparse":
        sparse: np.ndarray = rng.normal(size=shape) * (rng.random(shape) < 0.25) + np.eye(case.n)
        return sparse
    if case.kind.endswith("batch"):
        return _normal(rng, (4096, *shape), case.kind)
    return _normal(rng, shape, case.kind)


def _normal(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    real: np.ndarray = rng.normal(size=shape)
    return real + 1j * rng.normal(size=shape) if kind.startswith("complex") else real


def dominoes(side: int) -> np.ndarray:
    """Black squares of a board against the white ones beside them."""
    squares = np.argwhere(np.ones((side, side)))
    black, white = (squares[squares.sum(axis=1) % 2 == color] for color in (0, 1))
    beside: np.ndarray = np.abs(black[:, None] - white).sum(axis=2) == 1
    return beside.astype(int)


def truncated_icosahedron() -> np.ndarray:
    """Adjacency of the 60 corners of C60: of an icosahedron, each edge gives a corner at each end."""
    golden = (1 + math.sqrt(5)) / 2
    signs = itertools.product((-1, 1), (-golden, golden))
    corners = np.array([np.roll((0, x, y), k) for x, y in signs for k in range(3)])
    near = np.isclose(np.linalg.norm(corners[:, None] - corners, axis=2), 2)
    ends = np.argwhere(near)
    a = np.zeros((60, 60), dtype=int)
    for (i, (u, v)), (j, (x, y)) in itertools.product(enumerate(ends), repeat=2):
        a[i, j] = (u, v) == (y, x) or (u == x and near[v, y])
    return a


def exactly(a: np.ndarray) -> complex:
    """The permanent of a matrix of integers, or Gaussian integers, whose rows repeat."""
    import hardscape

    if not np.iscomplexobj(a):
        return float(hardscape.permanent(a.astype(int).astype(object)))
    # Glynn's sum over multiplicities, in Python's integers.
    rows, counts = np.unique(a, axis=0, return_counts=True)
    entries = [[(int(x.real), int(x.imag)) for x in row] for row in rows]
    total = (0, 0)
    for signs in itertools.product(*(range(m + 1) for m in counts)):
        re = math.prod((-1) ** v * math.comb(int(m), v) for m, v in zip(counts, signs, strict=True))
        im = 0
        weights = [int(m) - 2 * v for m, v in zip(counts, signs, strict=True)]
        for j in range(a.shape[1]):
            x = sum(w * row[j][0] for w, row in zip(weights, entries, strict=True))
            y = sum(w * row[j][1] for w, row in zip(weights, entries, strict=True))
            re, im = re * x - im * y, re * y + im * x
        total = (total[0] + re, total[1] + im)
    return complex(total[0] >> len(a), total[1] >> len(a))


def solver(case: Case) -> Callable[[], complex | BoundedNumber]:
    """The call to time."""
    a = matrix(case)
    if case.tool == "thewalrus":
        from thewalrus import perm

        return lambda: perm(a, method="glynn")
    if case.tool == "exqalibur":
        import exqalibur

        peer = exqalibur.permanent_cx if case.kind == "complex" else exqalibur.permanent_fl
        exqalibur.Config.compute_max_thread_count = case.threads
        return lambda: peer(a, "glynn")
    if case.tool == "qc-permanent":
        import permanent

        return lambda: permanent.glynn(a)
    if case.tool == "exact":
        return lambda: exactly(a)
    if case.tool in ("cold", "command"):
        return lambda: command(a, case)
    import hardscape
    from hardscape.engine import Cuda, RunOptions, solve
    from hardscape.permanents.methods.extended.extended import CpuExtendedWork, CudaExtendedWork
    from hardscape.permanents.methods.glynn.batch import BATCHES
    from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork, CudaGlynnWork
    from hardscape.permanents.methods.sparse.cuda import CudaSparseWork
    from hardscape.permanents.methods.sparse.sparse import CpuSparseWork

    if case.tool in ("cupy", "torch"):
        given = on_the_gpu(a, case.tool)
        # The sum waits for the answers.
        return lambda: complex(hardscape.permanent(given).sum())
    if case.tool == "permanent":
        threads = None if case.device == "cuda:0" else case.threads
        return lambda: np.sum(hardscape.permanent(a, device=case.device, threads=threads))
    options = RunOptions.checked(device=case.device, threads=case.threads)
    on_gpu = isinstance(options.devices[0], Cuda)
    work: Any
    if case.tool == "sparse":
        # Its plan is made anew each time.
        sparse = CudaSparseWork if on_gpu else CpuSparseWork
        return lambda: solve(sparse(a), options).whole().value
    if a.ndim == 3:
        work = BATCHES[type(options.devices[0])]
        return lambda: solve(work(a), options).whole().values.sum()
    if case.tool == "extended":
        work = CudaExtendedWork if on_gpu else CpuExtendedWork
        return lambda: solve(work(a), options).whole()
    if on_gpu:
        return lambda: solve(CudaGlynnWork(a), options).whole()
    return lambda: solve(CpuGlynnWork(a, guard=case.guard), options).whole()


def on_the_gpu(a: np.ndarray, package: str) -> Any:
    """The array in CuPy or torch, on the first GPU."""
    if package == "cupy":
        import cupy

        return cupy.asarray(a)
    import torch

    return torch.tensor(a, device="cuda:0")


def command(a: np.ndarray, case: Case) -> complex:
    """The whole command on a file; "cold" has an empty cache of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/matrix.npy", a)
        line = [sys.executable, "-m", "hardscape", "permanent", f"{folder}/matrix.npy", "--json"]
        line += ["--device", case.device]
        environment = dict(os.environ)
        if case.tool == "cold":
            environment["HARDSCAPE_CACHE_DIR"] = f"{folder}/cache"
        done = subprocess.run(line, env=environment, capture_output=True, check=True)
        return float(json.loads(done.stdout)["value"])


def measure(case: Case) -> dict[str, Any]:
    """Time one case in this process; without repeats, what warms up is timed.

    One thread is timed by its own clock, so that what else the machine does disturbs less.
    """
    call = solver(case)
    own = case.device == "cpu" and case.threads == 1
    clock = time.process_time if own else time.perf_counter
    seconds, bound = [], 0.0
    for _ in range(1 + case.repeats):
        began = clock()
        value = call()
        seconds.append(clock() - began)
    if isinstance(value, BoundedNumber):
        bound, value = value.error_bound, value.value
    value = complex(value)
    return {
        "seconds": seconds[1:] or seconds,
        "value": [value.real, value.imag],
        "bound": bound / abs(value),
    }


@app.command(name="case")
def run_case(text: str) -> None:
    """Measure one case given as JSON, and print JSON."""
    print(json.dumps(measure(Case(**json.loads(text)))))


def table(name: str, cases: list[Case]) -> Table:
    """Print one table; the difference is from the first answer for the same matrix, and the bound
    what each answer says of its own relative error."""
    columns = [
        "case",
        "n",
        "entries",
        "median s (min to max)",
        "ns",
        "ratio",
        "difference",
        "bound",
    ]
    found = Table.begun(name, columns, *PACKAGES)
    first: dict[tuple[int, str], tuple[complex, float]] = {}
    for case in cases:
        result = rows.in_process_of_its_own("hardscape.benchmarks.permanents.rates", case)
        head = (case.name, case.n, case.kind)
        if isinstance(result, str):
            found.add(*head, f"not run: {result}")
            continue
        seconds = result["seconds"]
        median = statistics.median(seconds)
        value, reference = first.setdefault(
            (case.n, case.kind), (complex(*result["value"]), median)
        )
        bound = f"{result['bound']:.0e}" if result["bound"] else None
        difference = abs(complex(*result["value"]) / value - 1)
        # Ryser's formula, which some peers use, loses digits.
        ours = case.tool not in ("thewalrus", "exqalibur", "qc-permanent")
        assert difference < (1e-10 if ours else 1e-4)
        each = 1e9 * median / (case.n * 2.0 ** (case.n - 1))
        found.add(*head, seconds, each, median / reference, f"{difference:.1e}", bound)
    return found


@app.default
def main(
    *,
    cpu: bool = True,
    peers: bool = True,
    gpu: bool = False,
    only: str = "",
    save: Path | None = None,
) -> None:
    """Print the tables; ns are for each n 2^(n-1).

    Parameters
    ----------
    cpu
        Rows of this machine's cores.
    peers
        Other packages, where they are installed.
    gpu
        Rows of the first GPU.
    only
        Of those, the rows whose entries or size this names: "complex batch", "45".
    save
        A folder for the tables as data.
    """
    print(machine(*PACKAGES))
    chosen = [case for case in GPU if only in ("", case.kind, str(case.n))]
    wanted = [
        (cpu, "permanents-cores", CPU),
        (cpu, "permanents-exact", EXACT),
        (cpu, "permanents-structure", STRUCTURE),
        (peers, "permanents-peers", PEERS),
        (gpu, "permanents-gpu", chosen),
    ]
    for _, name, cases in (x for x in wanted if x[0]):
        found = table(name, cases)
        if save:
            found.save(save)


if __name__ == "__main__":
    app()
