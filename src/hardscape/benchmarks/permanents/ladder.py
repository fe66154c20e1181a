"""What each idea of the kernel for dense permanents is worth, from the textbook's sum to ours.

Steps are those of ``ladder.hpp``, a range of terms each; ours is the library's own. The least of some calls
counts, and a rate is in terms of Glynn's formula, 2^(n-1), whatever a step sums: 1 / seconds of all terms.
Every step must give the permanent of a small matrix.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Cuda, Kernel, RunOptions, cuda_device, kernel, solve
from hardscape.permanents import permanent
from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork, CudaGlynnWork

#: By number, as in ``ladder.hpp``.
IDEAS = (
    "Ryser, sums anew",
    "and a Gray code",
    "and Glynn's formula",
    "and 32 patterns side by side",
)
OURS = "hardscape"
#: Rows whose signs are walked one by one, beside the side.
_LEFT_OUT = (0, 0, 1, 6)
_THREADS = 128


@dataclass(frozen=True)
class Step:
    """An idea, what all terms take, and how often a second that makes.

    Attributes
    ----------
    name : str
    seconds : float
        Of all terms; scaled from a part of them where they are many.
    rate : float
        Terms of Glynn's formula a second.
    """

    name: str
    seconds: float
    rate: float


def inner_sums(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of the five rows before the last with all their signs, [column][pattern]."""
    signs = 1 - 2 * (np.arange(32)[None, :] >> np.arange(5)[:, None] & 1)
    return np.ascontiguousarray(matrix[-6:-1].T @ signs)


def units(idea: int, n: int) -> int:
    """What an idea has to walk."""
    return 1 << (n - _LEFT_OUT[idea])


def value(idea: int, total: float, n: int) -> float:
    """The permanent, from the sum of all units."""
    return total * (-1.0) ** n if idea < 2 else math.ldexp(total, 1 - n)


def on_a_core(matrix: NDArray[np.float64], idea: int, count: int) -> float:
    """The sum of the first units on the calling thread."""
    return native.vector.permanents.ladder_sum(matrix, inner_sums(matrix), idea, 0, count)


def ladder_kernel(idea: int, n: int) -> Kernel:
    """The kernel of an idea, as data."""
    constants = {"kIdea": idea, "kSide": n}
    return kernel("benchmarks/permanents/ladder.cu", "ladder_sum", constants=constants)


def on_a_gpu(matrix: NDArray[np.float64], idea: int, count: int, ordinal: int = 0) -> float:
    """The same on a GPU."""
    import cupy

    with cuda_device(ordinal) as device:
        loaded = device.load(ladder_kernel(idea, len(matrix)))
        blocks = device.multiprocessors * 16
        threads = blocks * _THREADS
        out = cupy.empty(threads)
        given, patterns = cupy.asarray(matrix), cupy.asarray(inner_sums(matrix))
        each = -(-count // threads)
        loaded(blocks, _THREADS, given, patterns, np.uint64(count), np.uint64(each), out)
        device.synchronize()
        return float(out.sum())


def least(call: Callable[[], Any], clock: Callable[[], float], repeats: int) -> float:
    """The least time of some calls, after one that warms up."""
    taken = []
    for _ in range(repeats + 1):
        began = clock()
        call()
        taken.append(clock() - began)
    return min(taken[1:])


def steps(n: int, *, gpu: bool = False, terms: int = 1 << 22, repeats: int = 3) -> list[Step]:
    """Every idea on a normal matrix of side n: on one core by its own clock, or on the first GPU.

    Parameters
    ----------
    n : int
        From 8 to 60.
    gpu : bool
    terms : int
        Of a call, at most.
    repeats : int
    """
    clock = time.perf_counter if gpu else time.thread_time
    run = on_a_gpu if gpu else on_a_core
    matrix = np.random.default_rng(n).normal(size=(n, n))
    checked(run)
    found = []
    for idea, name in enumerate(IDEAS):
        whole = units(idea, n)
        count = min(whole, terms >> (5 if idea == 3 else 0))
        taken = least(partial(run, matrix, idea, count), clock, repeats)
        found.append(_step(name, taken * whole / count, n))
    device = "cuda:0" if gpu else "cpu"
    options = RunOptions.checked(device=device, threads=None if gpu else 1)
    part = min(n, max(10, terms.bit_length() + (3 if gpu else 0)))
    small = np.random.default_rng(part).normal(size=(part, part))
    work = CudaGlynnWork(small) if gpu else CpuGlynnWork(small, guard=False)
    assert isinstance(options.devices[0], Cuda) == gpu
    taken = least(lambda: solve(work, options).whole(), clock, repeats)
    # A term takes n operations of each kind.
    found.append(_step(OURS, taken * 2.0 ** (n - part) * n / part, n))
    return found


def _step(name: str, seconds: float, n: int) -> Step:
    return Step(name, seconds, 2.0 ** (n - 1) / seconds)


def checked(run: Callable[[NDArray[np.float64], int, int], float], n: int = 12) -> None:
    """Compare every idea with the library on a small matrix.

    Raises
    ------
    AssertionError
        If one differs by more than rounding.
    """
    matrix = np.random.default_rng(1).normal(size=(n, n))
    expected = float(permanent(matrix, device="cpu"))
    for idea, name in enumerate(IDEAS):
        found = value(idea, run(matrix, idea, units(idea, n)), n)
        assert math.isclose(found, expected, rel_tol=1e-8), (name, found, expected)
