"""Glynn's formula on CUDA: sums of ranges of terms, for one matrix or a batch of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Kernel, cuda_device, kernel
from hardscape.permanents.methods.launch import Flight, collected

#: In place of an exponent.
NOT_FINITE = -(2**31) + 1

#: Signs in registers, for real and complex matrices, and signs of a thread.
_INNER = {1: 6, 2: 5}
_THREAD_BITS = 8
#: Parts of a row above which a block of so many threads has no memory left.
_LARGE = 84
#: Threads of a block of the kernel that scales a matrix.
_SCALING_THREADS = 64
#: Times that the blocks of threads of a batch fill a GPU, so that hardly any waits at the end.
_ROUNDS = 4
#: Bytes of matrices that are copied to a GPU at a time, roughly.
_PORTION_BYTES = 2**23
#: Terms of one launch, at most, as a power of two: a third of a second on an H200 at n = 40.
_LAUNCH_BITS = 36
#: Signs that the CPU's blocks of terms hold: ranges are given in these blocks.
_BLOCK_BITS = 5
#: Smallest matrix that the kernel takes.
LEAST_SIDE = max(_INNER.values()) + 1


@dataclass(frozen=True)
class GlynnKernels:
    """The kernel for matrices of side `n` with `parts` real parts (1 real, 2 complex)."""

    n: int  #: from `LEAST_SIDE` to 70
    parts: int

    @property
    def thread_bits(self) -> int:
        """Signs that number the threads of a block, one less where memory is short."""
        most = _THREAD_BITS if self.n * self.parts <= _LARGE else _THREAD_BITS - 1
        return min(most, self.n - 1 - _INNER[self.parts])

    @property
    def step_bits(self) -> int:
        """Signs of the terms that a block of threads sums at one step, as many as it has."""
        return _INNER[self.parts] + self.thread_bits

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, as data."""
        sizes = {
            "kFactors": self.n,
            "kParts": self.parts,
            "kInner": _INNER[self.parts],
            "kThreadBits": self.thread_bits,
        }
        return kernel("permanents/methods/glynn/glynn.cu", "glynn_sum", constants=sizes)

    def scaling(self, given: int) -> Kernel:
        """The kernel that scales matrices of side `given` and pads them, as data."""
        sizes = {
            "kGiven": given,
            "kFactors": self.n,
            "kParts": self.parts,
            "kNotFinite": NOT_FINITE,
        }
        return kernel("permanents/methods/glynn/scale.cu", "glynn_scale", constants=sizes)

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block: `Shared` in the kernel."""
        right = 1 << (_INNER[self.parts] - 4)
        pair = 2 * (4 * right + 4 + right)
        walked = max(1, self.n - 1 - self.step_bits)
        values = self.n // 2 * pair + 4 + right + (walked + (1 << self.thread_bits)) * self.n
        return 8 * self.parts * values

    def steps(self, first: int, last: int, batch: int = 1) -> range:
        """Steps of a range of the CPU's blocks, which fills whole ones; its step is a launch."""
        shift = self.step_bits - _BLOCK_BITS
        most = max(1, (1 << _LAUNCH_BITS - self.step_bits) // batch)
        return range(first >> shift, last >> shift, most)

    def batch(
        self, ordinal: int, matrices: Any, stop: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], bool]:
        """Scale each C-contiguous matrix of side <= n, completed by an identity; sum all its terms.

        Those in main memory are copied in portions, each while the GPU works on the one before.
        Gives sums as `sum_ranges` (for equal matrices of a batch equal ones), powers of two to
        take them times, or `NOT_FINITE` where an entry is not, and whether nobody asked to stop.
        """
        (count, side), threads = matrices.shape[:2], 1 << self.thread_bits
        launched = []
        with cuda_device(ordinal) as device:
            import cupy

            scaling, kernel = device.load(self.scaling(side)), device.load(self.kernel)
            flight = Flight(device, stop)
            resident = kernel.blocks_per_multiprocessor(threads, self.shared)
            slots = device.multiprocessors * max(1, resident)
            # Whole rounds of blocks of threads go together, and some megabytes.
            size = math.prod(matrices.shape[1:]) * matrices.dtype.itemsize * _ROUNDS * slots
            portion = _ROUNDS * slots * max(1, int(_PORTION_BYTES // size))
            together = min(count, portion)
            steps = self.steps(0, 1 << self.n - 1 - _BLOCK_BITS, together)
            # All that fit at a time for one matrix, or four times that many for all.
            ranges = slots if together == 1 else -(-_ROUNDS * slots // together)
            for start in range(0, count, portion):
                given = cupy.asarray(matrices[start : start + portion])
                entries = cupy.empty((len(given), self.parts, self.n, self.n))
                exponents = cupy.empty(len(given), dtype=np.int32)
                scaling(len(given), _SCALING_THREADS, given, entries, exponents)
                rows: list[Any] = []
                for first in steps:
                    if not flight.goes_on():
                        break
                    until = min(steps.stop, first + steps.step)
                    grid = min(ranges, until - first), len(given)
                    rows.append(cupy.empty((grid[1], grid[0], 2 * self.parts + 1)))
                    places = np.uint64(first), np.uint64(until)
                    kernel(grid, threads, entries, *places, rows[-1], shared=self.shared)
                launched.append((exponents, rows))
            device.synchronize()  # lets the threads of other GPUs run meanwhile, as a copy would not
            found = [
                (collected(rows, len(exponents), self.parts), exponents.get())
                for exponents, rows in launched
            ]
        sums, powers = (np.concatenate(part) for part in zip(*found, strict=True))
        return sums, powers, flight.complete


@cache
def glynn_kernels(n: int, parts: int) -> GlynnKernels:
    """The kernels for matrices of this side, once."""
    return GlynnKernels(n, parts)
