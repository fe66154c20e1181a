"""Orders of rows in which the frontier of a sparse matrix stays narrow."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.permanents.numbers.integers import bits

#: Columns of a frontier: bits of a state.
MAX_WIDTH = 62
#: States from which they are numbered, as in layers.hpp.
_NUMBERED = 512
#: Rows of all greedy orders, about.
_STARTED_ROWS = 2000
#: Seconds of a step of annealing for each row, and rows that an entry of a row counts as.
_STEP, _DEGREE = 1e-8, 6
#: Steps of the first round, the part of the products' time that a round may take (all of them twice that), and
#: the most.
_FIRST_STEPS, _LOOKING, _LONGEST = 4096, 25, 1.0
#: How much better annealing makes an order at most, by half as much after each round: what is worse by more is
#: given up. Random matrices gain up to 8 with 80 rows, 11 with 120.
_GAIN, _LATE_GAIN = 16.0, 2.0


@dataclass(frozen=True)
class FrontierOrder:
    """An order of rows, and what each step does with the columns."""

    rows: tuple[int, ...]  #: rows in the order in which they are taken
    #: For each of them its columns and their bits in a state.
    slots: tuple[tuple[tuple[int, int], ...], ...]
    closed: tuple[int, ...]  #: for each of them the bits of the columns that no later row touches
    width: int  #: most columns in the frontier
    peak: int  #: bound of the number of states
    transitions: int  #: bound of the number of products of all steps

    @property
    def numbered(self) -> bool:
        """Whether the kernel numbers the states, all that there could be."""
        return self.peak >= _NUMBERED and 1 << (self.width + 1) // 2 <= 4 * self.peak

    def program(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint64]]:
        """What the kernel reads: where each row's entries begin, their bits, bits closed."""
        starts = np.cumsum([0, *map(len, self.slots)], dtype=np.int64)
        bits = np.array([bit for slots in self.slots for _, bit in slots], dtype=np.uint8)
        return starts, bits, np.array(self.closed, dtype=np.uint64)

    def turned_around(self) -> FrontierOrder:
        """The same rows from the last to the first, with the same columns between any two of them."""
        pairs = zip(self.rows, self.slots, strict=True)
        masks = dict(sorted((i, sum(1 << j for j, _ in slots)) for i, slots in pairs))
        found = described(list(masks.values()), self.rows[::-1])
        assert found is not None  # it is as wide
        return found

    def entries(self) -> list[tuple[int, int]]:
        """Row and column of the entries, as the kernel takes them."""
        pairs = zip(self.rows, self.slots, strict=True)
        return [(i, j) for i, slots in pairs for j, _ in slots]


@dataclass(frozen=True, eq=False)
class GreedyOrder:
    """The best of some greedy orders of a square pattern's rows, or of its columns."""

    starts: NDArray[np.int64]  #: where the entries of each line begin
    columns: NDArray[np.int32]  #: of the entries
    rows: NDArray[np.int32]  #: the order
    products: float  #: of all steps
    turned: bool  #: whether it is one of columns

    @classmethod
    def of(cls, support: NDArray[np.bool_]) -> GreedyOrder:
        """Orders from a few rows, and from a few columns: milliseconds in all."""
        ways = [support] if np.array_equal(support, support.T) else [support, support.T]
        n = len(support)
        firsts = np.arange(0, n, max(1, n * n // _STARTED_ROWS), dtype=np.int32)
        found = []
        for turned, pattern in enumerate(ways):
            starts = np.concatenate([[0], np.cumsum(pattern.sum(axis=1))]).astype(np.int64)
            lines = starts, np.nonzero(pattern)[1].astype(np.int32)
            best = native.vector.permanents.frontier_greedy(*lines, firsts)
            found.append(cls(*lines, *best, bool(turned)))
        return min(found, key=lambda order: order.products)

    @property
    def least(self) -> float:
        """Products that annealing may leave."""
        return self.products / _GAIN

    def annealed(
        self, each: float = 0.0, limit: float = math.inf, left: float | None = None
    ) -> tuple[FrontierOrder, bool] | None:
        """A better order, and whether it is one of the columns; None if its frontier has more than `MAX_WIDTH`.

        Annealed as long as that takes a small part of `limit` seconds and of what the products, of `each`
        seconds, would; not at all where these would take far longer than `limit`. That is counted in
        steps, so that a matrix has one order; after `left` seconds, when nothing can be summed any more,
        it is given up, with the best one so far.
        """
        n, order, products = len(self.rows), self.rows, self.products
        step = _STEP * (n + _DEGREE * len(self.columns) / max(1, n))
        steps, gain = _FIRST_STEPS, _GAIN
        until = math.inf if left is None else time.monotonic() + left
        while each * products < gain * limit and time.monotonic() < until:
            if steps * step >= min(each * products / _LOOKING, limit / _LOOKING, _LONGEST):
                break
            order, products = native.vector.permanents.frontier_annealed(
                self.starts, self.columns, order, steps, steps, until - time.monotonic()
            )
            steps, gain = 2 * steps, max(_LATE_GAIN, gain / 2)
        columns = self.columns.tolist()
        masks = [sum(1 << j for j in columns[a:b]) for a, b in pairwise(self.starts.tolist())]
        best = described(masks, order.tolist())
        return None if best is None else (best, self.turned)


def best_order(matrix: NDArray[Any], each: float = 0.0) -> tuple[FrontierOrder, bool] | None:
    """A good order for a square matrix whose products take `each` seconds, as `GreedyOrder.annealed` has it."""
    return GreedyOrder.of(np.asarray(matrix != 0, dtype=bool)).annealed(each)


def described(masks: Sequence[int], rows: Sequence[int]) -> FrontierOrder | None:
    """What an order does, or None if its frontier is too wide."""
    last = {j: k for k, i in enumerate(rows) for j in bits(masks[i])}
    free = list(range(MAX_WIDTH - 1, -1, -1))
    place: dict[int, int] = {}
    slots: list[tuple[tuple[int, int], ...]] = []
    closed: list[int] = []
    width = done = transitions = 0
    peak = 1
    for k, i in enumerate(rows):
        states = _subsets(len(place), k - done)
        for j in bits(masks[i]):
            if j not in place:
                if not free:
                    return None
                place[j] = free.pop()
        slots.append(tuple((j, place[j]) for j in bits(masks[i])))
        width = max(width, len(place))
        transitions += states * masks[i].bit_count()
        ending = [j for j in place if last[j] == k]
        closed.append(sum(1 << place[j] for j in ending))
        for j in ending:
            free.append(place.pop(j))
        done += len(ending)
        peak = max(peak, _subsets(len(place), k + 1 - done))
    return FrontierOrder(tuple(rows), tuple(slots), tuple(closed), width, peak, transitions)


def _subsets(width: int, used: int) -> int:
    """How many sets of used columns there are; none where more columns were closed than rows taken."""
    return math.comb(width, used) if used >= 0 else 0
