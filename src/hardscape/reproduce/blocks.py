"""Figure 4 of Jałowiecki, Rams, Gardas (2021): the search of all states by the size of a block."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from hardscape.engine import Cuda, Device, RunOptions, cuda_device, solve
from hardscape.figures import COLORS, GREY, finish
from hardscape.ising.exact import ExactTerms
from hardscape.ising.methods.exhaustive.blocks import Walk, Wanted
from hardscape.ising.methods.exhaustive.cuda import CudaSide
from hardscape.ising.methods.exhaustive.method import Exhaustive
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request
from hardscape.reproduce.ising import PAPER, random_model

#: Threads of a block of the grid that are tried on a GPU; the paper's own.
_THREADS, _PAPERS = (32, 64, 128, 256, 512, 1024), 512
#: On CPUs, how many spins are walked by Gray code between two of the roots that are built anew.
_WALKED = range(0, 11, 2)
_REPEATS = 3


def _sizes(request: Request) -> Findings:
    device = RunOptions.checked(big_enough=request.full, **request.run).devices[0]
    gpu = isinstance(device, Cuda)
    n = (40 if gpu else 34) if request.full else 28
    terms = random_model(n, request.seed).exact
    measured = _on_gpu(terms, n, device) if gpu else _on_cpu(terms, request)
    rows = []
    for size, seconds in measured:
        request.tell(f"N = {n}, blocks of {size}: {min(seconds):.3g} s")
        median = float(np.median(seconds))
        rows.append((size, median, max(seconds) - min(seconds), 2.0**n / median))
    unit = "threads" if gpu else "states"
    best = min(rows, key=lambda row: row[1])
    quantities = [
        Quantity(f"{unit} of a block at the least time", best[0], None, _PAPERS if gpu else None,
                 remark="the paper's choice; it saw no clear best" if gpu else ""),
        Quantity("the longest time over the least", max(row[1] for row in rows) / best[1]),
    ]  # fmt: skip
    text = (
        f"N = {n}, 100 states wanted. "
        + (
            "The kernel alone, one chunk by events, scaled; the kernel is compiled for each size. "
            if gpu
            else "Whole searches of every state; a block is what one Gray walk visits. "
        )
        + "The paper has N = 34. Our kernel stores what passes its filter and nothing else, so that there is "
        "no throughput of stores to compare."
    )
    columns = (f"{unit} of a block", "seconds", "spread", "states a second")
    return Findings(columns, rows, quantities, text)


def _on_cpu(terms: ExactTerms, request: Request) -> Iterator[tuple[int, list[float]]]:
    options = RunOptions.checked(seed=request.seed, **{**request.run, "device": "cpu"})
    for walked in _WALKED:
        walk = Walk(prune=False, mid=walked, most_chunks=None)
        work = BlockWork.around_low_state(Wanted(terms, 100, None), walk, options)
        work = work.with_hints((), options)
        seconds = []
        for _ in range(_REPEATS):
            began = time.perf_counter()
            solve(work, options)
            seconds.append(time.perf_counter() - began)
        yield 1 << (work.search.root_bits), seconds


class _Sized(CudaSide):
    """Chunks on a GPU by blocks of so many threads."""

    size = 0

    @property
    def threads(self) -> int:
        """As told."""
        return min(self.size, 1 << self.root)


def _on_gpu(terms: ExactTerms, n: int, where: Device) -> Iterator[tuple[int, list[float]]]:
    import cupy

    options = RunOptions.checked(device=where, seed=0)
    work = BlockWork.around_low_state(Wanted(terms, 100, None), Exhaustive.walk, options)
    chunk = 1 << work.search.chunk_bits
    with cuda_device(where.ordinal) as device:
        for threads in _THREADS:
            side = _Sized(work.search)
            side.size = threads
            values = cupy.asarray(side.values(side.prefix(work.shards()[-1]), -2 * terms.bound))
            seconds = []
            for _ in range(_REPEATS + 1):
                blocks, count = cupy.empty(1, cupy.uint64), cupy.zeros(1, cupy.uint32)
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                begin.record(device.stream)
                side.start(device, values, blocks, count, 0, 1 << side.root)
                end.record(device.stream)
                end.synchronize()
                seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3 * 2.0**n / chunk)
            yield threads, seconds[1:]


def _draw(data: dict[str, list[Any]], ax: Any) -> Any:
    unit, seconds, spread, _ = data
    sizes = np.array(data[unit])
    ax.errorbar(sizes, data[seconds], data[spread], fmt="o-", color=COLORS[0], label="every state")
    if unit.startswith("threads"):
        ax.axvline(_PAPERS, color=GREY, linestyle=":", label="the paper's choice")
    ax.set_xscale("log", base=2)
    ax.set_ylim(0)
    return finish(ax, "Time by the size of a block", unit, "seconds", legend=True)


FIGURES = (
    Figure("ising-4", f"{PAPER}, Fig. 4", "Time of exhaustive search by the size of a block",
           _sizes, _draw),
)  # fmt: skip
