"""Walks on one GPU, a warp each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine.cuda import CudaDevice
from hardscape.maxsat.methods.islands.batch import STATUS, WalkBatch
from hardscape.maxsat.methods.islands.tables import WalkTables, walk_kernels

#: Walks of a block, half as many where no more fit: with more, all of them together are faster, and each of
#: them slower.
WALKS = 8
#: Violated clauses of a walk in shared memory, 8 bytes each: fewest, and as many as there is room for.
LISTED, MOST_LISTED = 128, 1024
#: Bytes of shared memory that a block may take where the GPU has as many.
MOST_SHARED = 227 * 1024


def packed(bits: NDArray[np.uint8], words: int) -> NDArray[np.uint32]:
    """Bits, one a byte, in so many words of 32."""
    whole = np.zeros(32 * words, dtype=np.uint8)
    whole[: len(bits)] = bits
    return np.packbits(whole, bitorder="little").view("<u4").astype(np.uint32)


def unpacked(words: NDArray[np.uint32], bits: int) -> NDArray[np.uint8]:
    """So many bits of words of 32, one a byte."""
    return np.unpackbits(words.astype("<u4").view(np.uint8), count=bits, bitorder="little")


def _shared(tables: WalkTables, own: int, walks: int, cached: bool) -> int:
    """Bytes of shared memory for so many walks, of so many bytes each, and for the tables if `cached`."""
    return walks * own + (tables.cached_bytes if cached else 0)


class WalkArrays:
    """What walks on a GPU read and change, and the kernels that do it.

    ``truths`` and ``best_truths`` (uint32, shapes (walks, words) and (walks + 1, words)) are where each
    walk is and its best assignment, and a guest's; ``statuses`` are bytes to be viewed as `STATUS`. Steps of
    `synchronous` walks flip several variables at once.
    """

    def __init__(
        self, tables: WalkTables, walks: int | None, device: CudaDevice, *, synchronous: bool
    ) -> None:
        import cupy

        words = tables.words
        # Truths are bits and, for synchronous steps, bytes, too.
        own = (36 if synchronous else 4) * words
        most = min(MOST_SHARED, device.most_shared) - tables.weights.nbytes
        plans = [(many, cached) for cached in (True, False) for many in (WALKS, WALKS // 2)]
        many, cached = next(
            (plan for plan in plans if _shared(tables, own + 8 * LISTED, *plan) <= most), plans[-1]
        )
        fixed = _shared(tables, own, many, cached)
        listed = max(LISTED, min((most - fixed) // (8 * many), MOST_LISTED) // 32 * 32)
        self._threads = 32 * many
        self._listed = np.int32(listed)
        self._shared = tables.weights.nbytes + fixed + 8 * many * listed
        kernels = walk_kernels(
            threads=self._threads, cached=cached, uniform=tables.uniform, synchronous=synchronous
        )
        self._kernels = {name: device.load(kernel) for name, kernel in kernels.items()}
        if walks is None:
            together = self._kernels["run"].blocks_per_multiprocessor(self._threads, self._shared)
            walks = max(1, together) * device.multiprocessors * many
        self.walks = walks
        self._keep = [cupy.asarray(array) for array in tables.arrays]
        pointers = [array.data.ptr for array in self._keep]
        self._tables = cupy.asarray(np.array([*pointers, *tables.sizes], dtype=np.uint64))
        self._sizes = np.int32(walks), np.int32(words)
        self.truths = cupy.zeros((walks, words), dtype=np.uint32)
        self.best_truths = cupy.zeros((walks + 1, words), dtype=np.uint32)
        self._lists = cupy.empty((walks, tables.places), dtype=np.uint64)
        self.statuses = cupy.zeros(walks * STATUS.itemsize, dtype=np.uint8)
        self._fewest = cupy.full(1, 2**32 - 1, dtype=np.uint32)  # steps of a walk at the target
        self._state = self.truths, self.best_truths, self._lists, self.statuses

    def start(self, seed: int, first: int) -> None:
        """Begin from random assignments, those of the streams from `first` on."""
        self._launch("start", np.uint64(seed), np.uint64(first))

    def run(self, steps: int, target: int, *, afresh: bool, race: bool = False) -> None:
        """Do so many steps; `afresh` forgets best assignments from before. See `WalkBatch.run`."""
        self._kernels["run"](
            -(-self.walks * 32 // self._threads),
            self._threads,
            self._tables,
            self._listed,
            np.uint32(steps),
            np.uint32(target),
            np.uint32(afresh),
            np.uint32(race),
            self._fewest,
            *self._sizes,
            *self._state,
            shared=self._shared,
        )

    def adopt(self, sources: Any) -> None:
        """Let each walk with a source, not -1, go on from that walk's best assignment."""
        self._launch("adopt", sources)

    def _launch(self, name: str, *given: Any) -> None:
        grid = -(-self.walks // 4), 128
        self._kernels[name](*grid, self._tables, *given, *self._sizes, *self._state)


class CudaWalks(WalkBatch):
    """Walks of consecutive streams on one GPU, by default as many as it runs at once."""

    def __init__(
        self, tables: WalkTables, seed: int, first: int, walks: int | None, device: CudaDevice
    ) -> None:
        self._device = device
        self._variables = tables.num_variables
        self._arrays = WalkArrays(tables, walks, device, synchronous=True)
        self._arrays.start(seed, first)
        self.walks = self._arrays.walks
        self._afresh = False
        self._look()

    def run(self, steps: int, target: int, *, race: bool = False) -> None:
        """See `WalkBatch.run`."""
        self._arrays.run(steps, target, afresh=self._afresh, race=race)
        self._afresh = False
        self._look()

    def adopt(self, sources: NDArray[np.int32], guest: NDArray[np.uint8] | None = None) -> None:
        """See `WalkBatch.adopt`."""
        import cupy

        best = self._arrays.best_truths
        if guest is not None:
            literals = np.stack([guest, 1 - guest], axis=1).ravel()
            best[self.walks] = cupy.asarray(packed(literals, best.shape[1]))
        self._arrays.adopt(cupy.asarray(sources))
        self._afresh = True

    def best_of(self, walk: int) -> NDArray[np.uint8]:
        """See `WalkBatch.best_of`."""
        return unpacked(self._arrays.best_truths[walk].get(), 2 * self._variables)[::2].copy()

    def _look(self) -> None:
        self._device.rest()  # the CPU searches meanwhile, maybe on as many threads as it has cores
        self.status = self._arrays.statuses.get().view(STATUS)
