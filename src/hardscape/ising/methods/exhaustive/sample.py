"""How long a search will take, from a sample of it.

Below each chunk the tree is estimated (`BlockSearch.expected`); parts are then drawn in proportion to their
expected sizes and searched, which tells the time that a unit of size takes: Knuth, Math. Comp. 29 (1975) 121,
with the weights of importance sampling. The states that the parts hold, counted with these weights, tell
what threshold the search will come to.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Cpu, Deadline, Device, Partial, Shard, ShardResult
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.exhaustive.blocks import KEPT
from hardscape.ising.methods.exhaustive.work import BlockWork

#: Nodes of a position that go on in the estimate of the tree below a part that is drawn: of rough sizes
#: those that are too large are drawn too often.
_KEPT_OF_PART = 64
#: Share of the time for the first chunk and for any other part, and parts that a larger one is cut into.
_FIRST, _PART, _CUTS = 0.3, 0.05, 16
#: Times that the smallest chunk is timed, for what each takes at least.
_TIMES = 3
#: Seconds that the engine takes for a shard.
_SHARD = 5e-5
#: How much longer a search takes than under the threshold that it comes to, and most parts that are drawn.
_FALLING, _MOST = 1.15, 100
#: Seconds of a unit of size before one is measured.
_UNIT = 3e-7
#: Numbers in [0, 1) without trend: multiples of the golden ratio.
_GOLDEN = 0.6180339887498949


class Sample:
    """A sample of a search on one lane."""

    def __init__(self, work: BlockWork, device: Device) -> None:
        self._work, self._device = work, device
        self._clock = time.thread_time if isinstance(device, Cpu) else time.perf_counter
        self._found: list[tuple[int, float]] = []  # energies, and for how many states each stands

    def seconds(self, allowed: float) -> float:
        """Time for all chunks; to find it takes two to three times `allowed` seconds."""
        work, shards = self._work, self._work.chunks
        work.side(self._device).prepare(self._device)
        walks = work.walks(self._device)
        parts = work.parts if walks else shards
        taken, result = self._timed(parts[0], work.threshold, _FIRST * allowed)
        limit = work.wanted.limit(result.partial, work.threshold)
        if limit is None or not walks:
            return self._evenly(parts, limit, taken, result, allowed)
        rest = parts
        spent = 0.0
        if result.complete:
            self._keep(result.partial, 1.0)
            rest, spent = parts[1:], taken
        if not rest:
            return spent
        sizes = self._sizes(rest, limit)
        least = rest[int(sizes.argmin())]
        each = min(self._timed(least, limit, allowed)[0] for _ in range(_TIMES))
        unit = self._unit(rest, sizes, limit, each, allowed)
        lower = self._sizes(rest, self._expected_limit(limit))
        return spent + (each + _SHARD) * len(shards) + _FALLING * unit * float(lower.sum())

    def _timed(self, shard: Shard, limit: int | None, seconds: float) -> tuple[float, ShardResult]:
        with Deadline(seconds).watched() as stop:
            context = Context(self._device, None, stop)
            began = self._clock()
            if self._work.search.tiny:
                result = self._work.run(shard, context)
            else:
                result = self._work.side(self._device).run(shard, context, limit)
            return self._clock() - began, result

    def _evenly(
        self,
        shards: Sequence[Shard],
        limit: int | None,
        taken: float,
        first: ShardResult,
        allowed: float,
    ) -> float:
        """Time where all chunks but the first are alike."""
        done = self._share(first, shards[0])
        if len(shards) == 1 or not first.complete:
            return taken / done * len(shards)
        spent = others = 0.0
        for k in count(1):
            shard = shards[1 + int(k * _GOLDEN % 1 * (len(shards) - 1))]
            more, result = self._timed(shard, limit, allowed - spent)
            spent, others = spent + more, others + self._share(result, shard)
            if spent >= allowed or not result.complete:
                break
        return taken + spent / others * (len(shards) - 1)

    def _share(self, result: ShardResult, shard: Shard) -> float:
        """How much of a chunk is done."""
        blocks = int(result.partial["counters"][0])
        low = self._work.side(self._device).low
        return 1.0 if result.complete else max(blocks, 1e-6) / (len(shard) >> low)

    def _sizes(self, parts: Sequence[Shard], limit: int, kept: int = KEPT) -> NDArray[np.float64]:
        return self._work.search.expected(parts, limit, kept)

    def _unit(
        self,
        shards: Sequence[Shard],
        sizes: NDArray[np.float64],
        limit: int,
        each: float,
        allowed: float,
    ) -> float:
        """Mean time of a unit of size, by parts drawn in proportion to their sizes."""
        spent = taken = passed = 0.0
        drawn: list[tuple[Partial, float]] = []
        while spent < allowed and len(drawn) < _MOST and passed < sizes.sum():
            unit = taken / passed if taken else _UNIT
            at = (1 + len(drawn)) * _GOLDEN % 1
            shard, size = self._drawn(shards, sizes, limit, at, _PART * allowed / unit)
            seconds, result = self._timed(shard, limit, allowed)
            spent += max(seconds, each)
            if result.complete:
                taken += max(0.0, seconds - each)
                passed += float(self._sizes([shard], limit, _KEPT_OF_PART)[0])
                drawn.append((result.partial, size))
        for partial, size in drawn:
            self._keep(partial, float(sizes.sum()) / (size * len(drawn)))
        return taken / passed if taken else _UNIT

    def _drawn(
        self,
        shards: Sequence[Shard],
        sizes: NDArray[np.float64],
        limit: int,
        at: float,
        most: float,
    ) -> tuple[Shard, float]:
        """The part at this share of all sizes, of size `most` if it can be cut, and its size."""
        sums = np.cumsum(sizes)
        place = min(int(np.searchsorted(sums, at * sums[-1], side="right")), len(sums) - 1)
        shard, size = shards[place], float(sizes[place])
        least = 1 << self._work.search.root_bits
        if size <= most or len(shard) <= least:
            return shard, size
        cuts = min(_CUTS, len(shard) // least)
        step = len(shard) // cuts
        parts = [
            Shard(shard.index, start, start + step)
            for start in range(shard.start, shard.stop, step)
        ]
        inner = (at * sums[-1] - (sums[place] - size)) / size
        return self._drawn(parts, self._sizes(parts, limit), limit, min(inner, 1.0), most)

    def _keep(self, partial: Partial, weight: float) -> None:
        self._found += [(energy, weight) for energy in from_limbs(partial["energies"])]

    def _expected_limit(self, limit: int) -> int:
        """The threshold at which the states found stand for as many as are wanted."""
        self._found.sort()
        sums = np.cumsum([weight for _, weight in self._found])
        place = bisect_left(sums, self._work.wanted.enough)
        return min(limit, self._found[place][0]) if place < len(sums) else limit
