"""Lines of three or four entries: a permanent as a sum of two smaller ones, where that pays.

A row a, b, c splits into (a, b, 0) + (0, 0, c): the first leaves a matrix with two columns merged, the
second a minor. A row of four splits into two and two. Each of the two matrices has a row less and half of
the terms of Glynn's formula, so nothing is won yet, but their other lines have become shorter: what
they hold of single and double entries goes for nothing, and so on (H. Forbert and D. Marx, Comput. Phys.
Commun. 150, 267 (2003)). Whether this pays is tried out, a few lines deep.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.matrix import Kind, Number
from hardscape.permanents.numbers.rounding import Rounded, rounded_entries
from hardscape.permanents.structure.reduce import Reduced, reduce_entries

#: Lines expanded one after the other, at most, and expansions that are tried in all.
_DEPTH, _TRIED = 8, 120
#: Sides below which no one cares, and how much of the terms an expansion must spare.
_LEAST_SIDE, _WORTH = 18, 0.7
#: Seconds of a trial for each place of the matrix.
_TRIAL = 1e-5


@dataclass(frozen=True, eq=False)
class Term:
    """factor * per(what is left of one of the smaller matrices)."""

    factor: Number | Rounded
    reduced: Reduced
    expansions: tuple[Expansion | None, ...]  #: for each of its blocks


@dataclass(frozen=True, eq=False)
class Expansion:
    """A permanent as a sum: 2**exponent * sum of `terms`."""

    exponent: int
    terms: tuple[Term, ...]
    cost: float  #: factors of all terms of Glynn's formula that are left
    lines: int  #: lines that were expanded


def expansion(
    block: NDArray[Any], error: NDArray[np.float64] | None, kind: Kind, seconds: float = math.inf
) -> Expansion | None:
    """Expand a square block along lines of three or four entries, or None if that spares too little.

    As many expansions are tried as `seconds` last for.
    """
    tried = min(_TRIED, seconds / (_TRIAL * block.size))
    return _Search(kind, int(tried)).best(block, error, _DEPTH)


class _Search:
    """Counts what has been tried."""

    def __init__(self, kind: Kind, tried: int) -> None:
        self._kind = kind
        self._left = tried

    def best(
        self, block: NDArray[Any], error: NDArray[np.float64] | None, depth: int
    ) -> Expansion | None:
        n = len(block)
        if not depth or not self._left or n < _LEAST_SIDE:
            return None
        exponent, entries = 0, block
        if self._kind in ("real", "complex"):
            rounded = block if error is None else np.frompyfunc(Rounded, 2, 1)(block, error)
            entries, exponent = rounded_entries(rounded, block.dtype)
        line = _line(entries)
        if line is None:
            return None
        self._left -= 1
        terms, cost, lines = [], 0.0, 1
        for factor, smaller in _halves(entries if line[1] else entries.T, line[0]):
            reduced = reduce_entries(smaller, self._kind)
            below = tuple(
                self.best(part, off, depth - 1)
                for part, off in zip(reduced.blocks, reduced.errors, strict=True)
            )
            for part, deeper in zip(reduced.blocks, below, strict=True):
                cost += _cost(len(part)) if deeper is None else deeper.cost
                lines += 0 if deeper is None else deeper.lines
            terms.append(Term(factor, reduced, below))
        if cost > _WORTH * _cost(n):
            return None
        return Expansion(exponent, tuple(terms), cost, lines)


def _cost(n: int) -> float:
    return n * 2.0 ** (n - 1)


def _line(entries: NDArray[Any]) -> tuple[int, bool] | None:
    """A line of three or four entries and whether it is a row; the shortest, among short ones."""
    support = np.asarray(entries != 0, dtype=bool)
    found = []
    for pattern, is_row in ((support, True), (support.T, False)):
        degrees = pattern.sum(axis=1)
        for i in np.flatnonzero(degrees <= 4):
            near = pattern[:, pattern[i]].any(axis=1)
            found.append((int(degrees[i]), -float((0.5 ** degrees[near]).sum()), int(i), is_row))
    if not found:
        return None
    _, _, line, is_row = min(found)
    return line, is_row


def _halves(entries: NDArray[Any], row: int) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Factors and matrices whose permanents add up to that of `entries`, split along a row."""
    support = np.asarray(entries != 0, dtype=bool)
    columns = np.flatnonzero(support[row]).tolist()
    degrees = support.sum(axis=1)
    # The column of the shortest lines goes alone: without it they are shorter still.
    columns.sort(key=lambda j: float((0.5 ** degrees[support[:, j]]).sum()))
    rest = np.delete(entries, row, axis=0)
    pairs = [columns[:2]] + ([columns[2:]] if len(columns) == 4 else [])
    one = entries[row, columns[0]]
    one = Rounded(1.0) if isinstance(one, Rounded) else 1
    for j, k in pairs:
        a, b = entries[row, j], entries[row, k]
        merged = np.empty(len(rest), dtype=object)
        merged[:] = [b * x + a * y for x, y in zip(rest[:, j], rest[:, k], strict=True)]
        smaller = np.array(rest, dtype=object)
        smaller[:, j] = merged
        yield one, np.delete(smaller, k, axis=1)
    if len(columns) == 3:
        yield entries[row, columns[2]], np.delete(rest, columns[2], axis=1)
