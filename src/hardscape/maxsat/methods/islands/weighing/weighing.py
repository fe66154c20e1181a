"""Clause-weighting walks by the thousand on structured formulas: those of weighing.hpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Kernel, kernel
from hardscape.engine.cuda import CudaDevice
from hardscape.errors import BudgetError
from hardscape.maxsat.methods.islands.batch import CpuBatch, WalkBatch, elites_of
from hardscape.maxsat.methods.islands.cuda import packed, unpacked
from hardscape.maxsat.methods.islands.weighing.tables import WeighingTables, walk_bytes

#: Walks of a block on a GPU, fewer where their bits would not fit.
WALKS = 4
#: Bytes of shared memory that a walk may take for its scores, and a block for the bits of its walks where the
#: GPU has as many.
MOST_NEAR, MOST_BITS = 14 * 1024, 227 * 1024
#: Share of a GPU's free memory that walks may take.
MEMORY = 0.5

#: What is known of a walk: ``WeighingStatus`` of weighing.hpp.
STATUS = np.dtype(
    [
        *((name, "<u8") for name in ("random", "steps", "best", "cost", "improved_at")),
        *((name, "<u8") for name in ("pressure", "taken")),
        *((name, "<u4") for name in ("hard", "soft", "last", "restarts", "began", "padding")),
    ]
)


class CpuWeighers(CpuBatch):
    """Clause-weighting walks on one CPU thread, one after the other; see `CudaWeighers`."""

    def __init__(
        self,
        tables: WeighingTables,
        initials: NDArray[np.uint8],
        seed: int,
        first: int,
        walks: int,
        stop: NDArray[np.uint8],
    ) -> None:
        self._stop = stop
        t = tables
        read = t.literal, t.start, t.occurrence, t.first, t.unit, t.cost, t.tempers
        self._walks = [
            native.core.maxsat.WeighingWalk(
                *read,
                t.num_hard,
                t.most,
                t.lasting,
                seed,
                stream,
                initials[turn(tables, initials, stream)],
            )
            for stream in range(first, first + walks)
        ]
        self.walks = walks
        self.status = np.zeros(walks, dtype=[("steps", "u8"), ("flips", "u8"), ("best", "u8")])
        self._look()

    def adopt(self, sources: NDArray[np.int32], guest: NDArray[np.uint8] | None = None) -> None:
        """See `WalkBatch.adopt`."""
        found = elites_of(self, sources, guest)
        for walk, source in zip(self._walks, sources.tolist(), strict=True):
            if source >= 0:
                walk.adopt(found[source])

    def _look(self) -> None:
        self.status["flips"] = [walk.steps for walk in self._walks]
        self.status["best"] = [walk.best_cost for walk in self._walks]


def turn(tables: WeighingTables, initials: NDArray[np.uint8], stream: int) -> int:
    """Which of the first assignments a walk has: all of them meet all tempers."""
    return stream // (len(tables.tempers) - 1) % len(initials)


def weighing_kernels(*, threads: int, near: bool, bits_near: bool, wide: bool) -> dict[str, Kernel]:
    """The kernels that set up walks, run them, and let them take over assignments, as data.

    `threads` are those of a block, a warp of 32 for each walk; `near` if shared memory holds the scores, and
    `bits_near` if it holds what is a bit a variable; `wide` if literals have 32 bits, and not 16.
    """
    constants = {"kThreads": threads, "kNear": near, "kBitsNear": bits_near, "kWide": wide}
    return {
        name: kernel(
            "maxsat/methods/islands/weighing/weighing.cu", f"weigh_{name}", constants=constants
        )
        for name in ("start", "run", "adopt")
    }


@dataclass(frozen=True)
class Layout:
    """How walks on so many variables share a GPU's multiprocessors."""

    walks: int  # of a block
    near: bool  # whether scores are in shared memory
    bits_near: bool  # whether bits are
    shared: int  # bytes of a block

    @classmethod
    def of(cls, n: int, most_shared: int) -> Layout:
        """That of `n` variables where a block has up to `most_shared` bytes."""
        bits = 8 * -(-n // 32)
        near = 4 * n + bits <= MOST_NEAR
        own = bits + (4 * n if near else 0)
        walks = next((w for w in (WALKS, WALKS // 2, 1) if w * own <= most_shared), 0)
        return cls(walks, near, True, walks * own) if walks else cls(WALKS, False, False, 0)


class CudaWeighers(WalkBatch):
    """Clause-weighting walks of consecutive streams on one GPU, by default as many as it runs at once.

    They begin with the first assignments given (`initials`, uint8, shape (some, n)), by turns.
    """

    def __init__(
        self,
        tables: WeighingTables,
        initials: NDArray[np.uint8],
        seed: int,
        first: int,
        walks: int | None,
        device: CudaDevice,
    ) -> None:
        import cupy

        self._device = device
        self._variables, self._first = tables.num_variables, np.uint64(first)
        n, m, words = tables.num_variables, len(tables.unit), tables.words
        layout = Layout.of(n, min(MOST_BITS, device.most_shared))
        self._block, self._shared = layout.walks, layout.shared
        literal = tables.literal if tables.wide else tables.literal.astype(np.uint16)
        places = tables.occurrences, tables.first, tables.start
        read = (*places, literal, tables.unit, tables.cost, tables.tempers)
        free, needed = device.free_memory(), sum(a.nbytes for a in read) + walk_bytes(n, m)
        if needed > free:
            raise BudgetError(
                f"walks need {needed / 1e9:.3g} GB of the GPU's memory; {free / 1e9:.3g} GB are free"
            )
        kernels = weighing_kernels(
            threads=32 * layout.walks,
            near=layout.near,
            bits_near=layout.bits_near,
            wide=tables.wide,
        )
        self._kernels = {name: device.load(kernel) for name, kernel in kernels.items()}
        if walks is None:
            blocks = self._kernels["run"].blocks_per_multiprocessor(32 * self._block, self._shared)
            room = int(MEMORY * free) // walk_bytes(n, m)
            walks = max(1, min(max(1, blocks) * device.multiprocessors * self._block, room))
        self.walks = walks
        self._keep = [cupy.asarray(array) for array in read]
        sizes = n | m << 32, tables.num_hard | len(tables.tempers) << 32
        self._tables = _addresses(self._keep, *sizes, tables.most | tables.lasting << 32)
        self._best_truths = cupy.zeros((walks + 1, words), dtype=np.uint32)  # and the guest's
        self._statuses = cupy.zeros(walks * STATUS.itemsize, dtype=np.uint8)
        widths = words, None, 0 if layout.bits_near else words, m, n, n, m, m
        self._state = [
            self._best_truths if width is None else cupy.empty((walks, width), dtype=np.uint32)
            for width in widths
        ]
        self._arrays = _addresses([*self._state, self._statuses])
        self._fewest = cupy.empty(1, dtype=np.uint32)
        words_of = cupy.asarray(np.stack([packed(initial, words) for initial in initials]))
        self._launch("start", np.uint64(seed), self._first, words_of, np.uint32(len(initials)))
        self.run(0, 0)

    def run(self, steps: int, target: int, *, race: bool = False) -> None:
        """See `WalkBatch.run`."""
        self._fewest.fill(2**32 - 1)
        how = self._first, np.uint32(steps), np.uint64(target), np.uint32(race), self._fewest
        self._launch("run", *how, shared=self._shared)
        self._device.rest()  # the CPU searches meanwhile, maybe on as many threads as it has cores
        status = self._statuses.get().view(STATUS)
        self.status = np.zeros(self.walks, dtype=[("steps", "u8"), ("flips", "u8"), ("best", "u8")])
        for name, of in (("steps", "steps"), ("flips", "steps"), ("best", "best")):
            self.status[name] = status[of]

    def adopt(self, sources: NDArray[np.int32], guest: NDArray[np.uint8] | None = None) -> None:
        """See `WalkBatch.adopt`."""
        import cupy

        if guest is not None:
            self._best_truths[self.walks] = cupy.asarray(packed(guest, self._best_truths.shape[1]))
        self._launch("adopt", self._first, cupy.asarray(sources))

    def best_of(self, walk: int) -> NDArray[np.uint8]:
        """See `WalkBatch.best_of`."""
        return unpacked(self._best_truths[walk].get(), self._variables)

    def _launch(self, name: str, *given: Any, shared: int = 0) -> None:
        of, grid = (self._tables, self._arrays, np.int32(self.walks)), -(-self.walks // self._block)
        self._kernels[name](grid, 32 * self._block, *of, *given, shared=shared)


def _addresses(arrays: list[Any], *sizes: int) -> Any:
    import cupy

    return cupy.asarray(np.array([*(a.data.ptr for a in arrays), *sizes], dtype=np.uint64))
