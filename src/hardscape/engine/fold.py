"""Folding partial answers in shard order, whatever the order in which they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hardscape.engine.work import Partial, ShardResult, Work


class Fold:
    """The merge of all shards from the first up to the first gap, and what waits behind the gap.

    Merging strictly from left to right makes the answer independent of who finished first, also
    where `Work.merge` rounds (floating sums) and is associative only in exact arithmetic.

    `prefix` is the merge of shards 0 to ``length - 1``; shards from `limit` on are not needed: `total`,
    or fewer once the answer is settled.
    """

    def __init__(self, work: Work[Any], total: int) -> None:
        self._work = work
        self._pending: dict[int, Partial] = {}
        self._incomplete: dict[int, Partial] = {}
        self.limit = total
        self.prefix: Partial | None = None
        self.length = 0

    @property
    def complete(self) -> bool:
        """Whether `prefix` is the final answer."""
        return self.length >= self.limit

    @property
    def without_gaps(self) -> Partial | None:
        """Merge of all complete shards so far, if they are shards 0, 1, ... without a gap."""
        return None if self._pending else self.prefix

    def add(self, index: int, result: ShardResult) -> None:
        """Take in the result of shard `index`."""
        if index >= self.limit:
            return
        if not result.complete:
            self._incomplete[index] = result.partial
            return
        self._pending[index] = result.partial
        if self._work.finished(result.partial):
            self.limit = index + 1
        self._advance()

    def _advance(self) -> None:
        while self.length < self.limit and self.length in self._pending:
            partial = self._pending.pop(self.length)
            if self.prefix is None:
                self.prefix = partial
            else:
                self.prefix = self._work.merge(self.prefix, partial)
                if self._work.finished(self.prefix):
                    self.limit = self.length + 1
            self.length += 1

    def best_so_far(self) -> Partial | None:
        """The prefix if it is final; else the merge of everything, incomplete shards last."""
        best = self.prefix
        if self.complete:
            return best
        for partial in self._behind_the_gap():
            best = partial if best is None else self._work.merge(best, partial)
        return best

    def _behind_the_gap(self) -> Iterator[Partial]:
        for partials in (self._pending, self._incomplete):
            for index in sorted(partials):
                yield partials[index]
