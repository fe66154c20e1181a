"""Orders of rows in which the frontier of a sparse matrix stays narrow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.numbers.integers import bits

#: Columns of a frontier: bits of a state.
MAX_WIDTH = 62
#: Rows to start from, for each orientation.
_STARTS = 8


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

    def program(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint64]]:
        """What the kernel reads: where each row's entries begin, their bits, bits closed."""
        starts = np.cumsum([0, *map(len, self.slots)], dtype=np.int64)
        bits = np.array([bit for slots in self.slots for _, bit in slots], dtype=np.uint8)
        return starts, bits, np.array(self.closed, dtype=np.uint64)

    def entries(self) -> list[tuple[int, int]]:
        """Row and column of the entries, as the kernel takes them."""
        pairs = zip(self.rows, self.slots, strict=True)
        return [(i, j) for i, slots in pairs for j, _ in slots]


def best_order(matrix: NDArray[Any]) -> tuple[FrontierOrder, bool] | None:
    """A good order for a square matrix, and whether it is one of the columns.

    None if every order that was tried has a frontier of more than `MAX_WIDTH` columns. Greedy from
    a few rows of low degree, for rows and for columns: O(n^2) operations on bit sets each.
    """
    support = np.asarray(matrix != 0, dtype=bool)
    ways = [(support, False)]
    if not np.array_equal(support, support.T):
        ways.append((support.T, True))
    found: list[tuple[int, FrontierOrder, bool]] = []
    for pattern, turned in ways:
        masks = [sum(1 << int(j) for j in np.flatnonzero(line)) for line in pattern]
        for rows in _greedy_orders(masks):
            order = _described(masks, rows)
            if order is not None:
                found.append((order.transitions, order, turned))
    if not found:
        return None
    _, order, turned = min(found, key=lambda item: item[0])
    return order, turned


def _greedy_orders(masks: Sequence[int]) -> Iterator[list[int]]:
    """Orders that widen the frontier as little as possible at each step."""
    n = len(masks)
    touching: dict[int, list[int]] = {}
    for i, mask in enumerate(masks):
        for j in bits(mask):
            touching.setdefault(j, []).append(i)
    by_degree = sorted(range(n), key=lambda i: masks[i].bit_count())
    for start in by_degree[:: max(1, n // _STARTS)][:_STARTS]:
        yield _greedy(masks, touching, start)


def _greedy(masks: Sequence[int], touching: dict[int, list[int]], start: int) -> list[int]:
    remaining = {j: len(rows) for j, rows in touching.items()}
    age: dict[int, int] = {}
    taken, rows = [False] * len(masks), []
    behind = 0
    following = start
    for step in range(len(masks)):
        taken[following] = True
        rows.append(following)
        behind |= masks[following]
        for j in bits(masks[following]):
            remaining[j] -= 1
            age.setdefault(j, step)
        near = {i for j in age if remaining[j] for i in touching[j] if not taken[i]}
        ahead = near or {i for i, done in enumerate(taken) if not done}
        if ahead:
            following = min(ahead, key=lambda i: (*_widening(masks[i], behind, remaining, age), i))
    return rows


def _widening(
    mask: int, behind: int, remaining: dict[int, int], age: dict[int, int]
) -> tuple[int, int]:
    """By how much a row widens the frontier, and since when its oldest column has been there."""
    columns = bits(mask)
    closing = sum(remaining[j] == 1 for j in columns)
    oldest = min(age.get(j, len(remaining)) for j in columns)
    return (mask & ~behind).bit_count() - closing, oldest


def _described(masks: Sequence[int], rows: Sequence[int]) -> FrontierOrder | None:
    """What an order does, or None if its frontier is too wide."""
    last = {j: k for k, i in enumerate(rows) for j in bits(masks[i])}
    free = list(range(MAX_WIDTH - 1, -1, -1))
    place: dict[int, int] = {}
    slots: list[tuple[tuple[int, int], ...]] = []
    closed: list[int] = []
    width = done = transitions = 0
    peak = 1
    for k, i in enumerate(rows):
        states = math.comb(len(place), k - done)
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
        peak = max(peak, math.comb(len(place), max(0, k + 1 - done)))
    return FrontierOrder(tuple(rows), tuple(slots), tuple(closed), width, peak, transitions)
