"""Glynn's sum of integers modulo primes on GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Kernel, cuda_device, kernel
from hardscape.permanents.methods.launch import Flight
from hardscape.permanents.numbers.integers import rings_of

#: Signs in registers, and signs of a thread.
_INNER, _THREAD_BITS = 4, 7
#: Signs of the terms that a block of threads sums at one step.
STEP_BITS = _INNER + _THREAD_BITS
#: Products of one launch, at most: a tenth of a second on an H200.
_LAUNCH = 2**36


def residue_kernel(side: int) -> Kernel:
    """The kernel for matrices of more than `STEP_BITS` rows, as data."""
    sizes = {"kFactors": side, "kInner": _INNER, "kThreadBits": _THREAD_BITS}
    return kernel("permanents/methods/exact/residues.cu", "exact_residues", constants=sizes)


def shared_bytes(side: int) -> int:
    """Shared memory of a block of threads: `Shared` in the kernel."""
    return 8 * side * ((1 << _INNER) + (1 << _THREAD_BITS))


def sum_residues(
    matrices: NDArray[np.uint64], primes: Sequence[int], steps: range, context: Context
) -> tuple[NDArray[np.uint64], bool]:
    """Sum steps of the Gray code of a matrix modulo primes, divided by 2^(64 (n - 1)).

    `matrices` are its residues, shape (primes, n, n). Also tells whether nobody asked to stop.
    """
    side, threads = matrices.shape[1], 1 << _THREAD_BITS
    sizes: dict[str, Any] = {"shared": shared_bytes(side)}
    launched: list[Any] = []
    with cuda_device(context.device.ordinal) as device:
        import cupy

        loaded = device.load(residue_kernel(side))
        resident = max(1, loaded.blocks_per_multiprocessor(threads, sizes["shared"]))
        ranges = max(1, device.multiprocessors * resident // len(primes))
        given = cupy.asarray(matrices), cupy.asarray(rings_of(primes))
        flight = Flight(device, context.stop)
        most = max(1, (_LAUNCH >> STEP_BITS) // (side * len(primes)))
        for first in range(steps.start, steps.stop, most):
            if not flight.goes_on():
                break
            last = min(steps.stop, first + most)
            launched.append(cupy.empty((len(primes), min(ranges, last - first)), dtype=np.uint64))
            grid = launched[-1].shape[::-1]
            loaded(grid, threads, *given, np.uint64(first), np.uint64(last), launched[-1], **sizes)
        device.synchronize()  # lets the threads of other GPUs run meanwhile, as a copy would not
        parts = [found.get().astype(object).sum(axis=1) for found in launched]
    nothing = np.zeros(len(primes), dtype=object)
    total = sum(parts, start=nothing) % np.array(primes, dtype=object)
    return total.astype(np.uint64), flight.complete
