"""Sums of ranges of a Gray code on a GPU: launches one behind the other, and adding what they wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, CudaDevice, Kernel, cuda_device


class Flight:
    """Keeps one launch waiting behind the one that runs, and no more, so that a stop comes soon."""

    def __init__(self, device: CudaDevice, stop: NDArray[Any]) -> None:
        self.complete = True  #: whether nobody asked for a stop so far
        self._stream = device.stream
        self._stop = stop
        self._behind: Any = None

    def goes_on(self) -> bool:
        """Wait for the launch before the last one, and tell whether there may be another."""
        before, self._behind = self._behind, self._stream.record()
        if before is not None:
            before.synchronize()  # lets the threads of other GPUs run meanwhile
        self.complete = self.complete and not self._stop[0]
        return self.complete


def sum_ranges(
    context: Context,
    kernel: Kernel,
    matrix: NDArray[Any],
    steps: range,
    parts: int,
    threads: int,
    shared: int,
) -> tuple[NDArray[np.float64], bool]:
    """Sum steps of a Gray code of one matrix by a kernel of (matrix, first, last, out).

    The step of `steps` is a launch; `parts`, `threads` and `shared` are real parts, threads of a
    block and bytes of its shared memory. Gives high parts, low parts and the sum of the terms'
    magnitudes, which depend on the number of multiprocessors and on nothing else besides the
    arguments, and whether nobody asked to stop between launches.
    """
    rows: list[Any] = []
    with cuda_device(context.device.ordinal) as device:
        import cupy

        loaded = device.load(kernel)
        resident = max(1, loaded.blocks_per_multiprocessor(threads, shared))
        given = cupy.asarray(np.ascontiguousarray(matrix))
        flight = Flight(device, context.stop)
        for step in steps:
            if not flight.goes_on():
                break
            until = min(steps.stop, step + steps.step)
            ranges = min(until - step, device.multiprocessors * resident)
            rows.append(cupy.empty((1, ranges, 2 * parts + 1)))
            places = np.uint64(step), np.uint64(until)
            loaded(ranges, threads, given, *places, rows[-1], shared=shared)
        device.synchronize()  # lets the threads of other GPUs run meanwhile, as a copy would not
        return collected(rows, 1, parts)[0], flight.complete


def collected(rows: list[Any], batch: int, parts: int) -> NDArray[np.float64]:
    """Add what launches wrote for each matrix, once they are done; zeros if there were none."""
    width = 2 * parts + 1
    whole = np.concatenate([np.zeros((batch, 1, width)), *(row.get() for row in rows)], axis=1)
    return _folded(whole, parts)


def _folded(rows: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Add the rows of each matrix, in a fixed order and by two-sums."""
    while (count := rows.shape[1]) > 1:
        half = count // 2
        left, right = rows[:, :half], rows[:, half : 2 * half]
        total = left + right
        high, x = left[:, :, :parts], right[:, :, :parts]
        part = total[:, :, :parts] - high
        total[:, :, parts : 2 * parts] += (high - (total[:, :, :parts] - part)) + (x - part)
        rows = np.concatenate([total, rows[:, 2 * half :]], axis=1)
    return rows[:, 0]
