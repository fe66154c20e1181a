"""Rounds of sweeps on a GPU that are begun before the last ones are seen.

A round is two launches: sweeps, and what measures them and decides on the next ones. The host begins
some rounds, and some more before it reads what the first ones told; where all copies rest, a round is over
in microseconds. So a small lattice never waits for the host.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Kernel, LoadedKernel
from hardscape.errors import needed
from hardscape.gauge.lattice.lattices import STANDING, Measurement, Rounds, Rules, Turn
from hardscape.gauge.methods.relaxation import QUADRATIC, STEPS
from hardscape.gauge.stored.instance import THREADS, Instance

#: Rounds that are begun together, at most, and how many times so many are under way.
_TOGETHER, _AHEAD = 4, 2
#: Blocks that share a timeslice when it is measured.
PARTS = 16


def round_kernel(instance: Instance, rules: Rules, parts: int = PARTS) -> Kernel:
    """What measures the sweeps of a round and decides on the next one, as data."""
    return instance.round_kernel(
        {
            "kParted": parts,
            "kPerSlice": rules.per_slice,
            "kLargest": rules.largest,
            "kQuadratic": QUADRATIC,
            "kSteps": STEPS,
        }
    )


class Swept(Protocol):
    """The lattices of one GPU, as far as rounds need them."""

    instance: Instance
    copies: int
    slices: int
    volume: int
    live: NDArray[np.bool_]
    links: Any
    transformations: Any
    counters: Any

    def load(self, kernel: Kernel) -> LoadedKernel:
        """A kernel on that GPU."""

    def clear_counters(self) -> None:
        """Nothing is counted of the next launch yet."""

    def prepared(
        self, method: int, count: int, numbers: tuple[Any, ...], going: Any
    ) -> Callable[..., None]:
        """What begins sweeps of the copies that are going."""

    def measured(
        self,
        functional: NDArray[np.float64],
        total: NDArray[np.float64],
        largest: NDArray[np.float64],
    ) -> Measurement:
        """A measurement from sums."""


def rounds_of(lattices: Swept, told: NDArray[np.float64]) -> Rounds:
    """From what the kernel tells of rounds and copies: sums of slices, how copies stand, slices that moved."""
    rounds, copies, _ = told.shape
    end = 3 * lattices.slices
    moved = told[..., -1].astype(np.int64)
    sums = told[..., :end].reshape(rounds * copies, lattices.slices, 3)
    sums = np.where(moved.reshape(-1, 1, 1) > 0, sums, 0.0)
    measured = lattices.measured(sums[..., 0], sums[..., 1], sums[..., 2])
    standing = np.ascontiguousarray(told[..., end:-1]).view(STANDING)[..., 0]
    return Rounds(measured, standing, moved)


class CudaRounds:
    """Rounds of the copies of some lattices. To be used inside :func:`hardscape.engine.cuda_device`.

    No more than `waiting` site updates are begun at a time, or a round.
    """

    def __init__(self, lattices: Swept, rules: Rules, waiting: int) -> None:
        import cupy

        empty_pinned = needed("cupyx", "cupy-cuda13x", "cuda", "CUDA").empty_pinned
        self._cupy = cupy
        self._lattices = lattices
        copies, slices = lattices.copies, lattices.slices
        sites = rules.count * lattices.volume * copies
        self._together = max(1, min(_TOGETHER, waiting // sites))
        self._ahead = _AHEAD if sites <= waiting else 1  # so that signals are heard
        self._kernel: LoadedKernel = lattices.load(round_kernel(lattices.instance, rules))
        self._held = -1, 0  # method and sweeps that launches are prepared for
        self._words: Any = None
        self._parts = cupy.empty((copies, slices, PARTS, 3))
        self._arrived = cupy.zeros(copies, dtype=np.uint32)
        told = self._together, copies, 3 * slices + len(STANDING.names or ()) + 1
        self._told = [cupy.empty(told) for _ in range(self._ahead)]
        self._read = [empty_pinned(told) for _ in range(self._ahead)]
        self._over = [cupy.cuda.Event(disable_timing=True) for _ in range(self._ahead)]

    def run(
        self,
        turn: Turn,
        rules: Rules,
        standing: NDArray[Any],
        most: int,
        stopped: Callable[[], bool],
    ) -> Iterator[Rounds]:
        """Up to `most` rounds like `turn`, until all copies rest or somebody wants to stop.

        `rules` may differ in their numbers from those that this was made for.
        """
        lattices = self._lattices
        whole = _packed(
            np.array([sweep.row() for sweep in turn.sweeps]),
            np.asarray(turn.seeds, dtype=np.uint64),
            np.asarray(turn.first, dtype=np.int64),
            standing.view(np.float64),
            rules.numbers(),
            np.asarray(turn.active.any(axis=1), dtype=np.int32),
            turn.active.astype(np.uint8),
            lattices.live.astype(np.uint8),
        )
        self._prepare(turn.sweeps[0].method, rules.count, whole)
        lattices.clear_counters()
        begun, slot = 0, 0
        under_way: deque[tuple[int, int]] = deque()
        while True:
            while len(under_way) < self._ahead and begun < most and not stopped():
                many = min(self._together, most - begun)
                self._begin(slot, many)
                under_way.append((slot, many))
                begun, slot = begun + many, (slot + 1) % self._ahead
            if not under_way:
                return
            read, many = under_way.popleft()
            self._over[read].synchronize()
            seen = rounds_of(lattices, self._read[read][:many].copy())
            yield seen
            if not seen.moved[-1].any():
                return  # what is still under way moves nothing

    def _prepare(self, method: int, count: int, whole: list[NDArray[np.uint64]]) -> None:
        """Bring small arrays to the GPU, and what launches need of them, unless it is there."""
        lattices, sizes = self._lattices, [len(words) for words in whole]
        ends = np.cumsum(sizes)
        if self._held == (method, count):
            self._words.set(np.concatenate(whole), stream=self._cupy.cuda.get_current_stream())
            return
        self._held = method, count
        self._words = self._cupy.asarray(np.concatenate(whole))
        steps, seeds, firsts, standing, rules, going, active, live = (
            self._words[end - size : end] for end, size in zip(ends, sizes, strict=True)
        )
        counters = lattices.counters
        self._sweep = lattices.prepared(method, count, (steps, seeds, firsts, active), going)
        self._end = self._kernel.prepared(
            PARTS * lattices.slices * lattices.copies,
            THREADS,
            lattices.links,
            lattices.transformations,
            self._parts,
            self._arrived,
            counters,
            np.int32(counters.size),
            steps,
            firsts,
            live,
            active,
            going,
            standing,
            rules,
        )

    def _begin(self, slot: int, many: int) -> None:
        """Launch some rounds, and the copy of what they tell."""
        told = self._told[slot]
        for one in range(many):
            self._sweep()
            self._end(told[one])
        told.get(out=self._read[slot], blocking=False)
        self._over[slot].record()


def _packed(*arrays: NDArray[Any]) -> list[NDArray[np.uint64]]:
    """Small arrays in words of 8 bytes each."""
    packed = [np.zeros(-(-array.nbytes // 8), dtype=np.uint64) for array in arrays]
    for words, array in zip(packed, arrays, strict=True):
        words.view(np.uint8)[: array.nbytes] = (
            np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        )
    return packed
