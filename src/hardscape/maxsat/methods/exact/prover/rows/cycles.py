"""Odd cycles of clauses of two literals, as rows of a linear program.

Of literals around a cycle of odd length m, where a clause says of each two neighbours that one holds, more than
half hold: the clauses add up to ``2 sum [l] >= m``, and the sum is whole (M. Padberg, Mathematical
Programming 5, 199, 1973). Values of a program that violate one are found as a shortest path from a literal to
itself of odd length, where a clause is as long as its literals' sum is above 1: less than 1 in all (M.
Groetschel, L. Lovasz, A. Schrijver, Combinatorica 1, 169, 1981).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..relaxation import Row

#: By how much values must violate a row, and most literals of one.
_VIOLATED, _LONGEST = 0.05, 9


class OddCycles:
    """The clauses of two literals among some, as a graph of literals."""

    def __init__(self, clauses: Iterable[Sequence[int]]) -> None:
        self._beside: dict[int, list[int]] = {}
        for a, b in {tuple(sorted(c)) for c in clauses if len(c) == 2}:
            if abs(a) != abs(b):
                self._beside.setdefault(a, []).append(b)
                self._beside.setdefault(b, []).append(a)

    def violated(self, values: Sequence[float], ended: Callable[[], bool]) -> Iterator[Row]:
        """Rows that values of the variables violate, each found from a literal that no row before has.

        Whether that has ended is asked before each.
        """
        value = {x: values[x - 1] if x > 0 else 1 - values[-x - 1] for x in self._beside}
        near = {
            a: [(max(0.0, value[a] + value[b] - 1), b) for b in others]
            for a, others in self._beside.items()
            if 0 < value[a] < 1
        }
        met: set[int] = set()
        for source in near:
            if ended():
                return
            if source in met:
                continue
            cycle = _odd(source, near)
            if cycle and len({abs(x) for x in cycle}) == len(cycle):
                met.update(cycle)
                yield Row(cycle, (len(cycle) + 1) // 2)


def _odd(source: int, near: dict[int, list[tuple[float, int]]]) -> list[int]:
    """The literals of a shortest closed path of odd length that is short; none where there is none."""
    start = (source, 0)
    before: dict[tuple[int, int], tuple[int, int]] = {}
    least = {start: (0.0, 0)}
    waiting = [(0.0, 0, source, 0)]
    while waiting:
        far, steps, literal, odd = heapq.heappop(waiting)
        if (far, steps) > least[literal, odd]:
            continue
        if (literal, odd) == (source, 1):
            path = [before[source, 1]]
            while path[-1] != start:
                path.append(before[path[-1]])
            return [x for x, _ in path]
        if steps == _LONGEST:
            continue
        for length, other in near.get(literal, ()):
            end, place = (far + length, steps + 1), (other, 1 - odd)
            if end[0] < 1 - 2 * _VIOLATED and end < least.get(place, (1.0, 0)):
                least[place], before[place] = end, (literal, odd)
                heapq.heappush(waiting, (*end, *place))
    return []
