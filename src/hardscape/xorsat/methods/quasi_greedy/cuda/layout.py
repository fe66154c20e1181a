"""Where clause words lie while a sweep runs: in registers, or in shared memory but for a short span."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hardscape.xorsat.methods.quasi_greedy.plan import Plan

#: Updates whose coins one 64-bit random number holds.
GROUP = 8
#: Shared memory of a multiprocessor that blocks can use, in 32-bit words.
SHARED = 56 * 1024
#: Registers of a multiprocessor in 32-bit words, and the most that a thread may have.
_REGISTERS, _MOST_REGISTERS = 65536, 255
#: Warps of a multiprocessor, one block: at least two for each of its four schedulers.
_LEAST, _MOST = 8, 32
#: Registers of a thread besides clause words: coins, addresses, words on their way. Where some clauses are in
#: shared memory, more of them are worth that nothing is moved about.
_SPARE, _MORE = 38, 46


class Layout(NamedTuple):
    """Warps of a block, of which a multiprocessor holds one, and clauses in shared memory."""

    warps: int
    kept: tuple[int, ...]

    def shared(self, words: int) -> int:
        """Words of shared memory of a block, if each warp has so many besides."""
        return self.warps * (32 * len(self.kept) + words)


def spans_of(plan: Plan) -> dict[int, tuple[int, int]]:
    """First and last group of updates in a sweep that touch each clause."""
    spans: dict[int, tuple[int, int]] = {}
    for update in range(plan.updates):
        for a in plan.clauses(update):
            first, _ = spans.get(a, (update // GROUP, 0))
            spans[a] = first, update // GROUP
    return spans


def layout_of(spans: Mapping[int, tuple[int, int]], words: int) -> Layout:
    """For clauses of such spans, with `words` of shared memory of a warp besides."""
    held = -(-(len(spans) + _SPARE) // 8) * 8
    warps = min(_REGISTERS // (32 * held) // 4 * 4, _MOST)
    if warps > _LEAST:
        return Layout(warps, ())
    kept = None
    for spare in (_MORE, _SPARE):
        kept = _kept(spans, spare)
        if kept is not None and Layout(_LEAST, kept).shared(words) <= SHARED:
            return Layout(_LEAST, kept)
    # Half of the registers idle rather than a system that does not fit.
    return Layout(_LEAST // 2, tuple(sorted(spans)) if kept is None else kept)


def _kept(spans: Mapping[int, tuple[int, int]], spare: int) -> tuple[int, ...] | None:
    """What leaves registers enough; None if nothing does."""
    room = _MOST_REGISTERS - spare
    excess = len(spans) - room
    if excess <= 0:
        return ()
    by_span = sorted(spans, key=lambda a: (spans[a][1] - spans[a][0], a))
    # What is open at a time takes registers again.
    for size in range(excess, len(by_span) + 1):
        if len(spans) - size + _most_open([spans[a] for a in by_span[:size]]) <= room:
            return tuple(sorted(by_span[:size]))
    return None


def _most_open(chosen: list[tuple[int, int]]) -> int:
    """Words in registers at once of such spans, which are read a group ahead."""
    change = np.zeros(max(last for _, last in chosen) + 2, dtype=np.int64)
    for first, last in chosen:
        change[max(first - 1, 0)] += 1
        change[last + 1] -= 1
    return int(np.cumsum(change).max())
