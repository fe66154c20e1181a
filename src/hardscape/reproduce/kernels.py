"""Permanents, after Elbek et al.: what each idea of a kernel is worth, and slices of the largest one."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.benchmarks.permanents import ladder
from hardscape.engine import Cuda, RunOptions
from hardscape.errors import HardscapeError, PartDone
from hardscape.figures import COLORS, GREY, finish
from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork, CudaGlynnWork
from hardscape.permanents.permanent import permanent
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request

_PAPER = "Elbek, Taşyaran, Uçar, Kaya, SUperman (2025)"
#: Side, GPUs and days of the paper's largest permanent.
RECORD = (62, 192, 1.63)
#: Seconds of a slice, about.
_SLICE = 1.0
_DAY = 86400.0


def matrix(kind: str, n: int, seed: int) -> NDArray[Any]:
    """Normal, complex normal, uniform from 0 to 1, or normal where 3 in 10 entries are not 0."""
    random = np.random.default_rng([n, seed])
    if kind == "complex":
        return random.normal(size=(n, n)) + 1j * random.normal(size=(n, n))
    if kind == "nonnegative":
        return random.random((n, n))
    dense = random.normal(size=(n, n))
    return (
        np.where(random.random((n, n)) < 0.3, dense, 0) + np.eye(n) if kind == "sparse" else dense
    )


def _ideas(request: Request) -> Findings:
    gpu = isinstance(RunOptions.checked(big_enough=request.full, **request.run).devices[0], Cuda)
    n = 36 if request.full else 24
    request.tell(f"dense, n = {n}, {'a GPU' if gpu else 'one core'}")
    terms = 1 << (32 if gpu else 22)
    found = [("dense", one.name, one.seconds) for one in ladder.steps(n, gpu=gpu, terms=terms)]
    side = 32 if request.full else 26
    sparse = matrix("sparse", side, request.seed)
    repeated = np.repeat(matrix("real", side, request.seed)[::2], 2, axis=0)
    ways: dict[str, tuple[NDArray[Any], tuple[str, ...]]] = {
        "sparse, 3 in 10": (sparse, ("glynn", "sparse", "auto")),
        "every row twice": (repeated, ("glynn", "repeated", "auto")),
    }
    for kind, (given, methods) in ways.items():
        for method in methods:
            request.tell(f"{kind}, n = {side}, {method}")
            call = _call(given, method, request)
            found.append((kind, method, ladder.least(call, time.perf_counter, 2)))
    rows = [
        (kind, name, seconds, before / seconds if kind == last else 1.0)
        for (last, _, before), (kind, name, seconds) in zip([found[0], *found], found, strict=False)
    ]
    dense = [row for row in rows if row[0] == "dense"]
    quantities = [
        Quantity("the textbook's sum over ours, dense", dense[0][2] / dense[-1][2]),
        Quantity("the step before ours over ours, dense", dense[-1][3]),
        Quantity("the dense sum over auto, sparse", _gain(rows, "sparse, 3 in 10")),
        Quantity("the dense sum over auto, every row twice", _gain(rows, "every row twice")),
    ]
    text = (
        f"Dense: side {n}, {'one GPU' if gpu else 'one core'}, all terms, scaled from a part of them; each "
        "step has the ideas of those before it. "
        f"The others: whole calls, side {side}. The paper's kernels are not here to be taken apart."
    )
    return Findings(("matrix", "way", "seconds", "times the one before"), rows, quantities, text)


def _call(given: NDArray[Any], method: str, request: Request) -> Callable[[], Any]:
    return lambda: permanent(given, precision="double", method=method, **request.run)


def _gain(rows: list[tuple[str, str, float, float]], kind: str) -> float:
    seconds = [row[2] for row in rows if row[0] == kind]
    return seconds[0] / seconds[-1]


def _draw_ideas(data: dict[str, list[Any]], ax: Any) -> Any:
    names = [f"{kind}: {way}" for kind, way in zip(data["matrix"], data["way"], strict=True)]
    y = np.arange(len(names))[::-1]
    kinds = list(dict.fromkeys(data["matrix"]))
    colors = [COLORS[kinds.index(kind)] for kind in data["matrix"]]
    ax.barh(y, data["seconds"], color=colors)
    ax.set_yticks(y, names)
    ax.set_xscale("log")
    return finish(ax, "Permanents: what each idea is worth", "seconds of all terms", "")


def _slices(request: Request) -> Findings:
    sides = (50, 54, 58, 62) if request.full else (34, 38, 42, 46)
    devices = RunOptions.checked(big_enough=True, **request.run).devices
    gpu = isinstance(devices[0], Cuda)
    rows: list[tuple[Any, ...]] = []
    for n in sides:
        request.tell(f"a slice of n = {n}")
        rows.append((n, *_slice(matrix("real", n, request.seed), gpu, len(devices), request)))
    n, rate = rows[-1][0], rows[-1][5]
    side, gpus, days = RECORD
    hours = rows[-1][6] * 2.0 ** (side - n) * side / n
    place = "GPU-hours" if gpu else "hours of all cores here"
    quantities = [
        Quantity(f"{place} of {side} x {side}, from a slice of n = {n}", hours, None,
                 gpus * days * 24, remark="paper: A100"),
        Quantity(f"days of it on {gpus} such devices", hours / 24 / gpus, None, days,
                 remark=f"paper: {gpus} A100"),
        Quantity(f"terms a second at n = {n}", rate),
    ]  # fmt: skip
    columns = ("n", "shards", "shards done", "seconds", "bytes of the checkpoint", "terms a second",
               "device hours in all")  # fmt: skip
    text = (
        "The first shards of each, through a checkpoint, as a job of many parts does them: "
        "`hardscape permanent FILE --checkpoint JOB --shards 1/K`."
    )
    return Findings(columns, rows, quantities, text)


def _slice(given: NDArray[Any], gpu: bool, lanes: int, request: Request) -> tuple[float, ...]:
    """Shards in all and done, seconds, size of the checkpoint, terms a second, hours of all."""
    work = CudaGlynnWork(given) if gpu else CpuGlynnWork(given, guard=False)
    shards = work.shards()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "job.ledger"

        def part(count: int) -> tuple[int, float]:
            began = time.perf_counter()
            try:
                permanent(given, precision="double", method="glynn", checkpoint=ledger,
                          shards=f"1/{count}", **request.run)  # fmt: skip
            except PartDone as done:
                return done.done, time.perf_counter() - began
            raise AssertionError(f"part 1 of {count} was the whole")

        _warmed(given, request)
        done, seconds = part(min(max(1, len(shards) // lanes), 10**6))
        if seconds < _SLICE and done * 4 < len(shards):
            count = max(2, int(len(shards) / done * seconds / _SLICE))
            done, seconds = part(count)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    terms = done * len(shards[0]) * 32
    hours = 32.0 * work.blocks / (terms / seconds) / 3600
    return len(shards), done, seconds, size, terms / seconds, hours


def _warmed(given: NDArray[Any], request: Request) -> None:
    """Compile the kernel, which is no part of a rate."""
    try:
        permanent(given, precision="double", method="glynn", time_limit=0.01, **request.run)
    except HardscapeError:
        return


def _draw_slices(data: dict[str, list[Any]], ax: Any) -> Any:
    n, hours = np.array(data["n"]), np.array(data["device hours in all"])
    ax.plot(n, hours / 24, "o-", color=COLORS[0], label="this device")
    ahead = np.arange(n[-1], 71)
    scaled = hours[-1] / 24 * 2.0 ** (ahead - n[-1]) * ahead / n[-1]
    ax.plot(ahead, scaled, ":", color=COLORS[0], label="from the last slice")
    side, gpus, days = RECORD
    ax.plot([side], [gpus * days], "s", color=GREY, label="paper, A100")
    ax.set_yscale("log")
    title = "Dense permanents: days of one device"
    return finish(ax, title, "side $n$", "device days", whole="x", legend=True)


FIGURES = (
    Figure("permanents-ideas", _PAPER, "What each idea of the kernels is worth", _ideas, _draw_ideas),
    Figure("permanents-62", _PAPER, "Slices of large permanents, and the 62 x 62 matrix",
           _slices, _draw_slices),
)  # fmt: skip
