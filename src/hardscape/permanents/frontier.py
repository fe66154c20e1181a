r"""Permanents of sparse matrices row by row: the frontier dynamic program.

Rows are taken in a chosen order. What the rows behind have to say is, for each set of columns that they
may have used, the sum of their products,

.. math::
    f_k(S) = \sum_{j \in S} a_{kj} f_{k-1}(S \setminus j),

and only columns that both rows behind and rows ahead touch, the *frontier*, need a bit in S: others
are unused, or used for certain. With w columns in the frontier and u of them used there are at most
:math:`\binom{w}{u}` states; u follows from the number of rows. So the cost is exponential in the
width of the matrix, not in its side: 60 x 60 matrices of degree 3 have widths near 20.

Nothing is subtracted but what the entries' signs say. In double precision the error of the
permanent is therefore at most :math:`\gamma_k \mathrm{per}(|A|)` for k rounded operations along a
product, and per(\|A\|) is found on the way. Errors of the entries are carried along by the recursion of
:mod:`hardscape.permanents.glynn`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Partial, Shard, ShardResult, Work, split
from hardscape.permanents.integers import Rows, joined
from hardscape.permanents.number import TINY, UNIT, BoundedNumber, shifted
from hardscape.permanents.shards import digest

__all__ = ["FrontierOrder", "FrontierSumWork", "FrontierWork", "best_order"]

#: Columns of a frontier: bits of a state.
MAX_WIDTH = 62
#: Rows to start from, for each orientation.
_STARTS = 8


@dataclass(frozen=True)
class FrontierOrder:
    """An order of rows, and what each step does with the columns.

    Attributes
    ----------
    rows : tuple of int
        Rows in the order in which they are taken.
    slots : tuple of tuple of (int, int)
        For each of them its columns and their bits in a state.
    closed : tuple of int
        For each of them the bits of the columns that no later row touches.
    width : int
        Most columns in the frontier.
    peak : int
        Bound of the number of states.
    transitions : int
        Bound of the number of products of all steps.
    """

    rows: tuple[int, ...]
    slots: tuple[tuple[tuple[int, int], ...], ...]
    closed: tuple[int, ...]
    width: int
    peak: int
    transitions: int


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
        for j in _bits(mask):
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
        for j in _bits(masks[following]):
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
    columns = _bits(mask)
    closing = sum(remaining[j] == 1 for j in columns)
    oldest = min(age.get(j, len(remaining)) for j in columns)
    return (mask & ~behind).bit_count() - closing, oldest


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _described(masks: Sequence[int], rows: Sequence[int]) -> FrontierOrder | None:
    """What an order does, or None if its frontier is too wide."""
    last = {j: k for k, i in enumerate(rows) for j in _bits(masks[i])}
    free = list(range(MAX_WIDTH - 1, -1, -1))
    place: dict[int, int] = {}
    slots: list[tuple[tuple[int, int], ...]] = []
    closed: list[int] = []
    width = done = transitions = 0
    peak = 1
    for k, i in enumerate(rows):
        states = math.comb(len(place), k - done)
        for j in _bits(masks[i]):
            if j not in place:
                if not free:
                    return None
                place[j] = free.pop()
        slots.append(tuple((j, place[j]) for j in _bits(masks[i])))
        width = max(width, len(place))
        transitions += states * masks[i].bit_count()
        ending = [j for j in place if last[j] == k]
        closed.append(sum(1 << place[j] for j in ending))
        for j in ending:
            free.append(place.pop(j))
        done += len(ending)
        peak = max(peak, math.comb(len(place), max(0, k + 1 - done)))
    return FrontierOrder(tuple(rows), tuple(slots), tuple(closed), width, peak, transitions)


def _program(
    order: FrontierOrder,
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint64]]:
    """The order as the kernel reads it: where each row's entries begin, their bits, bits closed."""
    starts = np.cumsum([0, *(len(slots) for slots in order.slots)], dtype=np.int64)
    bits = np.array([bit for slots in order.slots for _, bit in slots], dtype=np.uint8)
    return starts, bits, np.array(order.closed, dtype=np.uint64)


@dataclass(frozen=True)
class FrontierWork(Work[Partial]):
    """The program for integers, modulo ``2**(64 * words)`` or modulo primes, in one shard.

    Attributes
    ----------
    matrix : tuple of tuple of int
        Its rows are those of the order.
    order : FrontierOrder
    words : int
        1, 2, 4 or 8; 0 for primes. Entries then fit 63 bits.
    primes : tuple of int
    """

    matrix: Rows
    order: FrontierOrder
    words: int
    primes: tuple[int, ...] = ()

    name: ClassVar[str] = "permanents.frontier"
    unit: ClassVar[str] = "rows"

    def digest(self) -> str:
        """Digest of the matrix, the order and the arithmetic."""
        return digest(self.name, repr(self))

    def shards(self) -> Sequence[Shard]:
        """One shard: a row needs those before it."""
        return split(len(self.matrix), 1)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows."""
        entries = [self.matrix[i][j] for i, slots in zip(self.order.rows, self.order.slots, strict=True)
                   for j, _ in slots]  # fmt: skip
        program = _program(self.order)
        if self.words:
            values, complete = native.vector.permanents.frontier_words(
                *program, np.array(entries, dtype=np.int64), self.words, context.stop
            )
        else:
            values, complete = native.vector.permanents.frontier_residues(
                *program,
                np.array([[(x << 64) % p for x in entries] for p in self.primes], dtype=np.uint64),
                np.array(self.primes, dtype=np.uint64),
                context.stop,
            )
        return ShardResult({"values": values}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Take the part that has gone further: there is one shard."""
        return right

    def permanent(self, partial: Partial) -> int:
        """The permanent."""
        values = partial["values"].tolist()
        if not self.words:
            return joined(values, self.primes)
        total = int.from_bytes(np.array(values, dtype="<u8").tobytes(), "little")
        return total - (1 << 64 * self.words) if total >> (64 * self.words - 1) else total


@dataclass(frozen=True, eq=False)
class FrontierSumWork(Work[Partial]):
    r"""The program in double precision, in one shard.

    A partial holds ``sums``: the parts of the value, per(\|A\|), the effect of the entries' errors,
    what underflow may have taken, and an exponent.

    Attributes
    ----------
    matrix : float64 or complex128, shape (n, n)
        Its rows are those of the order.
    error : float64, shape (n, n), or None
        Bounds of the errors of the entries' parts.
    order : FrontierOrder
    """

    matrix: NDArray[Any]
    error: NDArray[np.float64] | None
    order: FrontierOrder

    name: ClassVar[str] = "permanents.frontier.double"
    unit: ClassVar[str] = "rows"

    @cached_property
    def scaled(self) -> tuple[NDArray[Any], NDArray[np.float64], int]:
        """Entries and errors times powers of two such that no row adds up to more than 1."""
        error = np.zeros(self.matrix.shape) if self.error is None else self.error
        total = np.zeros(self.matrix.shape, dtype=np.int32)
        for axis in (0, 1, 0, 1):
            entries = shifted(self.matrix, -total)
            size = np.abs(entries.real) + np.abs(entries.imag) + shifted(error, -total)
            power = np.frexp(np.max(size, axis=axis, keepdims=True))[1]
            if axis == 1:
                power += np.frexp(np.sum(shifted(size, -power), axis=1, keepdims=True))[1]
            total += power
        entries = shifted(self.matrix, -total)
        off = np.where(shifted(entries, total) != self.matrix, TINY, 0.0)
        return entries, shifted(error, -total) + off, int(np.trace(total))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrontierSumWork, (self.matrix, self.error, self.order)

    def digest(self) -> str:
        """Digest of the matrix, its errors and the order."""
        return digest(self.name, self.matrix, repr(self.order), self.error)

    def shards(self) -> Sequence[Shard]:
        """One shard: a row needs those before it."""
        return split(len(self.matrix), 1)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows."""
        entries, error, _ = self.scaled
        rows = [
            i for i, slots in zip(self.order.rows, self.order.slots, strict=True) for _ in slots
        ]
        columns = [j for slots in self.order.slots for j, _ in slots]
        chosen = entries[rows, columns]
        parts = [chosen.real, chosen.imag] if np.iscomplexobj(chosen) else [chosen]
        sums, complete = native.vector.permanents.frontier_sums(
            *_program(self.order),
            np.ascontiguousarray(np.stack(parts)),
            np.ascontiguousarray(error[rows, columns]),
            context.stop,
        )
        return ShardResult({"sums": sums}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Take the part that has gone further: there is one shard."""
        return right

    def total(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound."""
        *parts, magnitude, excess, lost, power = partial["sums"].tolist()
        # A product, and as many sums as a row has entries; magnitudes of complex numbers, too.
        steps = sum(len(slots) + 3 for slots in self.order.slots)
        bound = 1.02 * (steps * UNIT * magnitude + excess) + lost
        mantissa = parts[0] if len(parts) == 1 else complex(*parts)
        exponent = self.scaled[2] + int(power)
        return BoundedNumber(
            mantissa, bound, exponent, True, self.order.transitions, float(magnitude)
        )
