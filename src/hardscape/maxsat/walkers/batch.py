"""A batch of walks on one GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine.cuda import CudaDevice
from hardscape.maxsat.walkers.tables import WalkTables, walk_kernels

__all__ = ["WalkBatch"]

#: Lanes of a walk, threads of a block where shared memory allows, violated clauses of a walk in shared
#: memory, and threads of a multiprocessor.
GROUP, THREADS, LISTED, RESIDENT = 8, 512, 128, 1024
#: Bytes of shared memory that a block may take.
_MOST_SHARED = 200 * 1024
_STATUS = np.dtype([("random", "<u8"), ("flips", "<u8"), ("violated", "<u4"), ("best", "<u4")])
_NEVER = 2**32 - 1


class WalkBatch:
    """Walks of consecutive streams, their arrays on the GPU.

    Attributes
    ----------
    first : int
        Stream of the first walk.
    walks : int
    status : array with fields ``flips``, ``violated`` and ``best``
        Of each walk, after the last `run`.
    """

    def __init__(
        self, tables: WalkTables, seed: int, first: int, walks: int | None, device: CudaDevice
    ) -> None:
        import cupy

        self._device = device
        self._tables = tables
        each = 4 * tables.words + 2 * LISTED
        threads = THREADS
        while threads > 32 and threads // GROUP * each > _MOST_SHARED:
            threads //= 2
        kernels = walk_kernels(group=GROUP, threads=threads, listed=LISTED, resident=RESIDENT)
        start, self._run = (device.load(kernel) for kernel in kernels)
        together = threads // GROUP
        self._threads = threads
        self._shared = 4 * len(tables.weights) + together * each
        blocks = self._run.blocks_per_multiprocessor(threads, self._shared)
        self.first = first
        self.walks = walks or max(1, blocks) * device.multiprocessors * together
        names = ("clause", "occurrences", "others", "clause_of", "weights")
        self._arrays = [cupy.asarray(getattr(tables, name)) for name in names]
        sizes = len(tables.occurrences) | len(tables.clause) << 32
        pointers = [array.data.ptr for array in self._arrays]
        self._struct = cupy.asarray(np.array([*pointers, sizes, tables.stride], dtype=np.uint64))
        self._truths = cupy.empty((self.walks, tables.words), dtype=np.uint32)
        self._lists = cupy.empty((self.walks, tables.stride), dtype=np.uint16)
        self._statuses = cupy.zeros(self.walks * _STATUS.itemsize, dtype=np.uint8)
        self._best_truths = cupy.empty((self.walks, tables.words), dtype=np.uint32)
        start(
            -(-self.walks // 4),
            128,
            self._struct,
            np.uint64(seed),
            np.uint64(first),
            np.int32(self.walks),
            np.int32(tables.words),
            self._truths,
            self._lists,
            self._statuses,
        )
        self._kept = _NEVER  # violated clauses of the best assignment that was fetched
        self._look()

    def run(self, flips: int, target: int) -> None:
        """Let every walk do so many flips, or fewer if it comes to `target` violated clauses."""
        self._run(
            -(-self.walks // (self._threads // GROUP)),
            self._threads,
            self._struct,
            np.uint32(flips),
            np.uint32(target),
            np.uint32(self._kept),
            np.int32(self.walks),
            np.int32(self._tables.words),
            self._truths,
            self._lists,
            self._statuses,
            self._best_truths,
            shared=self._shared,
        )
        self._look()

    def _look(self) -> None:
        self._device.synchronize()  # lets other threads run meanwhile, as a copy would not
        self.status: NDArray[Any] = self._statuses.get().view(_STATUS)

    def winner(self) -> int:
        """Walk of the fewest violated clauses; of these the one with the fewest flips, then the first."""
        best, flips = self.status["best"], self.status["flips"]
        return int(np.lexsort((flips, best))[0])

    def improvement(self) -> NDArray[np.uint8] | None:
        """Best assignment of all walks, uint8 of shape (n,), if it is better than the last one given."""
        walk = self.winner()
        best = int(self.status["best"][walk])
        if best >= self._kept:
            return None
        # Nothing was copied before the first flip: then the walk still stands where it began.
        began = not self.status["flips"].any()
        source = self._truths if began else self._best_truths
        self._kept = best
        return self._unpack(source[walk].get())

    def _unpack(self, words: NDArray[np.uint32]) -> NDArray[np.uint8]:
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        return bits[: 2 * len(self._tables.occurrences) : 2].copy()
