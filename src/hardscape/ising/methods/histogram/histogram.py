"""Counting states by level, exhaustively: one histogram over all states but a few spins'.

Write c for the level of all spins but k chosen ones, and f for the k fields that those put on the
chosen ones. The level of a whole state depends on (c, f) and the chosen spins alone, so it is
enough to count the (c, f), 2^(N-k) of them, and to add up the chosen spins' 2^k patterns at the
end. The vectors (c, f) lie on a lattice; in coordinates y of a triangular basis of it the table has
no cell that parity forbids. Each coordinate is quadratic (c) or linear (f) in the other bits, hence
so is the table's index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Shard, ShardResult, split
from hardscape.ising.methods.counting import CountingMethod, CountingWork, LevelTerms

#: Bits whose states make a block: their indices, 1 KiB, stay in the first-level cache.
_LOW = 8
#: Copies of a small table, against waiting for one counter (see histogram.simd.cpp), and what is small.
_COPIES, _SMALL = 4, 2**13
#: At most: spins left out, cells of the table, and additions to read it.
_MAX_ELIMINATED, _MAX_CELLS, _MAX_READ = 8, 2**23, 2**26
#: Bits whose 2**n states 64-bit counts hold.
_MAX_BITS = 62
#: Rough rate of one core in 1/s while the table is in the caches, and beyond.
_NEAR_RATE, _FAR_RATE = 2e9, 3e8
#: Seconds of work that is over in milliseconds.
_BRIEF_SECONDS = 3e-3
#: States counted, at least, for each addition to read the table.
_COUNTED_PER_READ = 16


def lattice_basis(generators: Sequence[Sequence[int]]) -> list[list[int]]:
    """Triangular basis of the integer lattice spanned by `generators`: row r is 0 before column r.

    Columns without a pivot get a row of zeros. Entries behind a pivot are reduced to at most half
    of the pivot below them.
    """
    rows = [list(g) for g in generators]
    width = len(rows[0]) if rows else 0
    basis: list[list[int]] = []
    for column in range(width):
        pivot = [0] * width
        for i, row in enumerate(rows):
            while row[column]:
                quotient = pivot[column] // row[column]
                pivot, row = row, [p - quotient * x for p, x in zip(pivot, row, strict=True)]
            rows[i] = row
        basis.append(pivot if pivot[column] >= 0 else [-x for x in pivot])
    for r, row in enumerate(basis):
        for column in range(r + 1, width):
            pivot = basis[column]
            if pivot[column]:
                quotient = (2 * row[column] + pivot[column]) // (2 * pivot[column])
                row[:] = [x - quotient * p for x, p in zip(row, pivot, strict=True)]
    return basis


def lattice_coordinates(basis: Sequence[Sequence[int]], vector: Sequence[int]) -> list[int]:
    """Coefficients of a lattice vector in a triangular basis."""
    rest = list(vector)
    result = []
    for column, pivot in enumerate(basis):
        y = rest[column] // pivot[column] if pivot[column] else 0
        rest = [x - y * p for x, p in zip(rest, pivot, strict=True)]
        result.append(y)
    return result


@dataclass(frozen=True)
class SpinTable:
    """Table of the states of all bits but the eliminated ones: rows are fields, columns levels."""

    linear: NDArray[np.int64]  #: shape (m,); m bits are counted
    pairs: NDArray[np.int64]  #: shape (m, m)
    base: int  #: a state's cell, ``row * columns + column``, is this form of the m bits
    rows: int
    columns: int
    #: Position on the level axis of column 0, for each pattern of the k bits left out: (rows, 2**k).
    shifts: NDArray[np.int64]
    stride: int  #: levels from one column to the next

    @property
    def cells(self) -> int:
        """Number of counters."""
        return self.rows * self.columns

    @classmethod
    def of(cls, terms: LevelTerms, eliminated: Sequence[int], max_cells: int) -> SpinTable | None:
        """Lay the table out; None if it would have more than `max_cells`."""
        matrix = terms.matrix()
        left_out = set(eliminated)
        # The bits that the Gray code flips most move the index least: counters in use lie close.
        strength = np.abs(matrix).sum(axis=1)
        counted = [i for i in np.argsort(strength, kind="stable").tolist() if i not in left_out]
        fields = matrix[np.ix_(eliminated, counted)].T.tolist()
        level = [terms.linear[i] for i in counted]
        pairs = matrix[np.ix_(counted, counted)]
        generators = [[*f, a] for f, a in zip(fields, level, strict=True)]
        generators.append([0] * len(eliminated) + [math.gcd(*pairs.ravel().tolist())])
        basis = lattice_basis(generators)
        moves = np.array([lattice_coordinates(basis, g) for g in generators[:-1]], dtype=np.int64)
        moves = moves.reshape(len(counted), len(eliminated) + 1)
        stride = basis[-1][-1] or 1
        pairs //= stride
        lowest, columns = _quadratic_range(moves[:, -1], pairs)
        smallest = np.minimum(moves[:, :-1], 0).sum(axis=0)
        sizes = np.abs(moves[:, :-1]).sum(axis=0) + 1
        rows = math.prod(sizes.tolist())
        if rows * columns > max_cells:
            return None
        strides = np.array(
            [columns * math.prod(sizes[r + 1 :].tolist()) for r in range(len(sizes))],
            dtype=np.int64,
        )
        # Fields and column offset of each row, from its coordinates.
        y = np.indices(sizes.tolist()).reshape(len(sizes), rows).T + smallest
        field = y @ np.array(basis, dtype=np.int64)[:-1]
        field[:, -1] += stride * lowest
        return cls(
            moves[:, -1] + moves[:, :-1] @ strides,
            pairs,
            -lowest - int(smallest @ strides),
            rows,
            columns,
            _pattern_levels(terms, matrix, eliminated, field) - terms.lowest,
            stride,
        )


def _quadratic_range(linear: NDArray[np.int64], pairs: NDArray[np.int64]) -> tuple[int, int]:
    """Lower bound of a form of bits, and how many integers it may take from there."""
    # In spins: constant + fields + couplings, all times 4.
    row_sums = pairs.sum(axis=1)
    constant = int(2 * linear.sum() + row_sums.sum() // 2)
    reach = int(np.abs(2 * linear + row_sums).sum() + np.abs(pairs).sum() // 2)
    lowest = -((reach - constant) // 4)
    return lowest, (constant + reach) // 4 - lowest + 1


def _pattern_levels(
    terms: LevelTerms,
    matrix: NDArray[np.int64],
    eliminated: Sequence[int],
    field: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Levels of all patterns of the bits left out, given rows (fields..., level of the rest)."""
    k = len(eliminated)
    bits = np.arange(2**k)[:, None] >> np.arange(k) & 1
    linear = np.array([terms.linear[i] for i in eliminated], dtype=np.int64)
    own = (
        bits @ linear
        + np.einsum("xi,ij,xj->x", bits, matrix[np.ix_(eliminated, eliminated)], bits) // 2
    )
    return np.ascontiguousarray(field[:, -1:] + field[:, :-1] @ bits.T + own)


def choose_eliminated(terms: LevelTerms) -> tuple[int, ...]:
    """Bits to leave out, those with the fewest fields first, while the caches hold the table."""
    matrix = terms.matrix()
    units = np.gcd.reduce(matrix, axis=1, initial=0)
    spread = np.abs(matrix).sum(axis=1) // np.maximum(units, 1)
    order = np.argsort(spread, kind="stable").tolist()
    chosen: tuple[int, ...] = ()
    for k in range(1, min(_MAX_ELIMINATED, terms.num_bits) + 1):
        read = min(_MAX_READ, 2 ** (terms.num_bits - k) // _COUNTED_PER_READ)
        limit = min(_MAX_CELLS, read // 2**k)
        if SpinTable.of(terms, order[:k], limit) is None:
            break
        chosen = tuple(sorted(order[:k]))
    return chosen


@dataclass(frozen=True)
class HistogramWork(CountingWork):
    """Count all states by level. A unit is a block of up to 256 states of the bits counted."""

    eliminated: tuple[int, ...]

    name: ClassVar[str] = "ising.density.histogram"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "blocks"

    @cached_property
    def table(self) -> SpinTable:
        """Layout of the table."""
        table = SpinTable.of(self.terms, self.eliminated, 2**31)
        assert table is not None
        return table

    @property
    def counted(self) -> int:
        """Bits that are counted one state at a time."""
        return self.terms.num_bits - len(self.eliminated)

    @property
    def core_seconds(self) -> float:
        """Guess of the time on one core."""
        rate = _NEAR_RATE if self.table.cells <= _MAX_CELLS else _FAR_RATE
        return 2.0**self.counted / rate

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the table, which is quicker to lay out again than to send with every shard.
        return HistogramWork, (self.terms, self.eliminated)

    @property
    def explanation(self) -> str:
        """What will be done, for people."""
        return (
            f"exhaustive: 2**{self.counted} increments of {2 ** len(self.eliminated)} states each, "
            f"{self.table.cells} counters"
        )

    def brief(self, device: Device) -> bool:
        """Whether states are few."""
        return self.core_seconds < _BRIEF_SECONDS

    def shards(self) -> Sequence[Shard]:
        """Shards of 2**26 to 2**31 states, larger where the table or the axis is."""
        low = min(_LOW, self.counted)
        read = max(self.table.shifts.shape[1] * self.table.cells, self.terms.num_levels)
        states = max(2**26, _COUNTED_PER_READ * read, 2**self.counted >> 12)
        return split(2 ** (self.counted - low), -(-(2**self.counted) // min(states, 2**31)))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Count the states of a range of blocks."""
        table = self.table
        counts, complete = native.vector.ising.density_histogram(
            table.linear.astype(np.int32),
            table.pairs.astype(np.int32),
            table.base,
            min(_LOW, self.counted),
            _COPIES if table.cells <= _SMALL else 1,
            table.shifts,
            table.columns,
            table.stride,
            self.terms.num_levels,
            shard.start,
            shard.stop,
            context.stop,
        )
        return ShardResult({"counts": counts[None, :]}, complete)


class Histogram(CountingMethod):
    """For dense models of up to about 40 spins."""

    name: ClassVar[str] = "exhaustive"

    def work(self, terms: LevelTerms) -> CountingWork | str:
        """All states, several with each increment."""
        if terms.num_bits <= _MAX_BITS:
            return HistogramWork(terms, choose_eliminated(terms))
        return (
            f"'exhaustive' holds {_MAX_BITS} spins, besides one for each component without fields"
        )
