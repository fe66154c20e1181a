"""The search on CUDA: the kernel finds blocks worth opening, the core lists them exactly."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import (
    Context,
    CudaDevice,
    Device,
    Kernel,
    Partial,
    Shard,
    ShardResult,
    cuda_device,
    kernel,
)
from hardscape.ising.methods.exhaustive.blocks import Side
from hardscape.ising.methods.exhaustive.layout import Layout, Prefix, rounded

#: Spins of a block: 2**6 energies in 32 registers, and 2**6 instances of the other six spins.
_SPINS_A, _SPINS_B = 6, 6
_LOW = _SPINS_A + _SPINS_B
#: Threads that a launch should have, as a power of two, and the most spins that one walks.
_THREAD_BITS, _MAX_MID = 17, 10
_THREADS = 256
#: Blocks that one launch can report, as a rule.
_CAPACITY = 1 << 20


class CudaSide(Side):
    """Chunks on GPUs; the smallest is a warp of roots. Positions are those of the CPU's layout."""

    low = _LOW
    least_bits, most_bits, most_words = _LOW + 5, 40, 1

    @cached_property
    def layout(self) -> Layout:
        """Widths for chunks of ``2**chunk_bits`` states, and scales."""
        bits = self.search.chunk_bits
        mid = max(0, min(_MAX_MID, bits - _LOW - _THREAD_BITS))
        return Layout.build(self.search.geometry, _LOW, mid, bits)

    @property
    def root(self) -> int:
        """Spins that number the threads of a chunk."""
        return self.layout.walked - _LOW - self.layout.mid

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel for this instance, as data."""
        generated = {"instance.cuh": self.header()}
        return kernel(
            "ising/methods/exhaustive/exhaustive.cu", "spectrum_search", generated=generated
        )

    def header(self) -> str:
        """Sizes and tables of the instance as CUDA source."""
        layout, root = self.layout, self.root
        coarse = layout.fine_shift + layout.filter_shift
        spins = 1 - 2 * (np.arange(1 << _LOW)[:, None] >> np.arange(_LOW) & 1)
        pairs = layout.pair_energies(spins)
        halves = np.array([rounded(x, coarse) for x in pairs], dtype=np.int64) & 0xFFFF
        table = (halves[0::2] | halves[1::2] << 16).reshape(1 << _SPINS_B, -1)
        mid, above = range(_LOW, _LOW + layout.mid), range(_LOW + layout.mid, layout.walked)
        low = range(_LOW)
        steps = _mid_steps([[self._fine(p, q) for q in mid] for p in mid])
        half = 1 << layout.filter_shift >> 1
        return "\n".join(
            [
                "#pragma once",
                f"constexpr int kSpinsA = {_SPINS_A}, kSpinsB = {_SPINS_B};",
                f"constexpr int kMid = {layout.mid}, kRoot = {root};",
                f"constexpr int kThreads = {self.threads}, kFilterShift = {layout.filter_shift};",
                f"constexpr int kHalf = {half};",
                f"constexpr long long kLeastPairs = {min(pairs) >> layout.fine_shift}LL;",
                f"constexpr long long kMidPairs = {steps[0]}LL;",
                _table("__device__ constexpr unsigned", "kTable", table.tolist()),
                _table("__constant__ const int", "kMidLow", self._rows(mid, low)),
                _table("__constant__ const long long", "kMidSteps", [steps]),
                _table("__constant__ const long long", "kRootRoot", self._rows(above, above)),
                _table("__constant__ const long long", "kRootMid", self._rows(above, mid)),
                _table("__constant__ const int", "kRootLow", self._rows(above, low)),
                "",
            ]
        )

    @property
    def threads(self) -> int:
        """Threads of a block of the grid."""
        return min(_THREADS, 1 << self.root)

    def _fine(self, p: int, q: int) -> int:
        return self.layout.fine(self.search.geometry.couplings[p][q])

    def _rows(self, rows: range, columns: range) -> list[list[int]]:
        return [[self._fine(p, q) for q in columns] for p in rows]

    def prepare(self, device: Device) -> None:
        """Compile the kernel."""
        with cuda_device(device.ordinal) as gpu:
            gpu.load(self.kernel)

    def run(self, shard: Shard, context: Context, limit: int | None) -> ShardResult:
        """Search one chunk: find blocks, list them, and look again where they were too many."""
        search, wanted = self.search, self.search.wanted
        prefix = self.prefix(shard)
        first_block = shard.start >> _LOW
        found = search.nothing()
        if search.walk.prune and limit is not None and self._bound(prefix) > limit:
            return ShardResult(_counted(found, len(shard) >> _LOW))
        pieces = [(0, 1 << self.root)]
        with cuda_device(context.device.ordinal) as device:
            while pieces:
                if context.stop[0]:
                    return ShardResult(found, complete=False)
                first, roots = pieces.pop()
                limit = wanted.limit(found, limit)
                blocks, count = self._launch(device, prefix, limit, first, roots)
                numbers = np.unique(first_block + blocks >> np.uint64(search.layout.low - _LOW))
                opened = search.opened(numbers, limit)
                if count <= len(blocks):
                    found = wanted.merge(found, _counted(opened, roots << self.layout.mid))
                    continue
                # Some were dropped. What is listed may tighten the threshold; if not, halve the piece.
                tighter = wanted.limit(wanted.merge(found, opened), limit)
                if tighter != limit or roots <= self.threads:
                    limit = tighter
                    pieces.append((first, roots))
                else:
                    pieces += [(first + roots // 2, roots // 2), (first, roots // 2)]
        return ShardResult(found)

    def prefix(self, shard: Shard) -> Prefix:
        """Energy and fields of the spins that a chunk fixes."""
        return self.search.geometry.prefix(shard.start >> self.layout.walked, self.layout.walked)

    def _bound(self, prefix: Prefix) -> int:
        """No state of the chunk has a lower energy."""
        floors = self.search.floors
        pairs = floors[self.layout.walked] if floors else -self.search.wanted.terms.bound
        return prefix.energy + pairs - sum(map(abs, prefix.fields))

    def _launch(
        self, device: CudaDevice, prefix: Prefix, limit: int | None, first: int, roots: int
    ) -> tuple[NDArray[np.uint64], int]:
        """Blocks (numbers within the chunk) that pass the filter, and how many there were."""
        import cupy

        # A piece that is not halved any more must fit.
        capacity = max(_CAPACITY, self.threads << self.layout.mid)
        blocks = cupy.empty(capacity, dtype=np.uint64)
        count = cupy.zeros(1, dtype=np.uint32)
        self.start(device, cupy.asarray(self.values(prefix, limit)), blocks, count, first, roots)
        device.synchronize()  # lets the threads of other GPUs run meanwhile, as a copy would not
        total = int(count.get()[0])
        return blocks[: min(total, capacity)].get(), total

    def values(self, prefix: Prefix, limit: int | None) -> NDArray[np.int64]:
        """What the kernel is told of a chunk: target, base, and fields, in fine units."""
        layout = self.layout
        fields = (layout.fine(x) for x in prefix.fields)
        return np.array([layout.target(limit, prefix.energy), 0, *fields], dtype=np.int64)

    def start(
        self, device: CudaDevice, values: Any, blocks: Any, count: Any, first: int, roots: int
    ) -> None:
        """Start the kernel on `roots` roots from `first` on; `blocks` and `count` are CuPy arrays."""
        device.launch(
            self.kernel,
            roots // self.threads,
            self.threads,
            values,
            blocks,
            count,
            np.uint32(len(blocks)),
            np.int32(self.search.walk.prune),
            np.uint64(first),
            shared=8 * self.layout.mid * self.threads,
        )


def _counted(opened: Partial, blocks: int) -> Partial:
    """The same partial with the number of blocks that the GPU looked at."""
    counters = opened["counters"].copy()
    counters[0] = blocks
    return {**opened, "counters": counters}


def _mid_steps(couplings: list[list[int]]) -> list[int]:
    """Pair energy of the mid spins, all +1; then its change at each step of the Gray code."""
    count = len(couplings)
    steps = [sum(couplings[i][j] for i in range(count) for j in range(i))]
    spin = [1] * count
    for step in range(1, 1 << count):
        k = (step & -step).bit_length() - 1
        spin[k] = -spin[k]
        steps.append(2 * spin[k] * sum(couplings[k][j] * spin[j] for j in range(count) if j != k))
    return steps


def _table(kind: str, name: str, rows: list[list[int]]) -> str:
    """A constant table of two dimensions; an empty one gets an entry, which CUDA asks for."""
    rows = [row or [0] for row in rows] or [[0]]
    body = ",\n".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    return f"{kind} {name}[{len(rows)}][{len(rows[0])}] = {{{body}}};"
