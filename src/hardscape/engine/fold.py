"""Folding partial answers along a fixed tree, whoever made them and in whatever order they arrive.

The leaves of the tree are the shards; a node of level k stands for 2^k of them, from a multiple of 2^k
on, or for as many of these as there are. Its partial is the merge of those of the two nodes below it, the
lower first, so that it depends on the shards alone, also where `Work.merge` rounds (floating sums) and is
associative only in exact arithmetic. Anybody can make it: a worker folds the block of shards that it was
given and sends one partial. Where merges are exact (`Work.joined`), any blocks side by side make one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hardscape.engine.work import Partial, Shard, Work


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """The shards ``start <= index < stop``: a node of the tree, or any where merges are exact."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def size(self) -> int:
        """How many shards its node has where the tree goes on far enough: a power of two."""
        return 1 << (len(self) - 1).bit_length()

    @property
    def is_node(self) -> bool:
        """Whether it begins where a node of its size does."""
        return 0 <= self.start < self.stop and self.start % self.size == 0

    def shard(self, shards: Sequence[Shard]) -> Shard:
        """All of its shards as one."""
        first = shards[self.start]
        last = first if len(self) == 1 else shards[self.stop - 1]
        return Shard(self.start, first.start, last.stop)

    def cut(self, most: int) -> Iterator[Block]:
        """The blocks of at most `most` shards, a power of two, that it consists of."""
        for start in range(self.start, self.stop, most):
            yield Block(start, min(start + most, self.stop))


class Fold:
    """The nodes whose shards are all there, each merged into the one above it as soon as that can be.

    Shards from `limit` on are not needed: `total`, or fewer once the answer is settled.
    """

    def __init__(self, work: Work[Any], total: int) -> None:
        self._work = work
        self._anyhow = work.joined() > 1
        self._partials: dict[int, tuple[Block, Partial]] = {}  # by the first shard
        self._starts: list[int] = []  # their keys in order
        self._incomplete: list[tuple[Block, Partial]] = []
        self.limit = total
        self.shards = 0  #: how many shards are there

    @property
    def complete(self) -> bool:
        """Whether all shards that are needed are there."""
        return self.shards >= self.limit

    def nodes(self) -> Iterator[tuple[Block, Partial]]:
        """What there is, in order."""
        return (self._partials[start] for start in self._starts)

    def covers(self, block: Block) -> bool:
        """Whether a block is there, or not needed."""
        if block.start >= self.limit:
            return True
        at = bisect_right(self._starts, block.start)
        return at > 0 and self._partials[self._starts[at - 1]][0].stop >= block.stop

    def add(self, block: Block, partial: Partial) -> bool:
        """Take in the partial of a block; False where it is not needed.

        A settled answer is the end of its block.
        """
        if block.stop > self.limit or self.covers(block) or (self._anyhow and self._cuts(block)):
            return False
        for inner in self._between(block.start, block.stop):
            self._remove(inner)
        if self._work.finished(partial):
            self.limit = block.stop
            for later in self._between(block.stop, None):
                self._remove(later)
        self._join(block, partial)
        return True

    def _cuts(self, block: Block) -> bool:
        """Whether a block that is there is half in this one, as no node is in another."""
        for edge in (block.start, block.stop):
            at = bisect_left(self._starts, edge)
            if at and self._partials[self._starts[at - 1]][0].stop > edge:
                return True
        return False

    def _joined(self, block: Block, partial: Partial) -> None:
        """Make one of this block and those on both sides of it."""
        self.shards += len(block)
        at = bisect_left(self._starts, block.start)
        if at < len(self._starts) and self._starts[at] == block.stop:
            right, found = self._partials.pop(self._starts.pop(at))
            block, partial = Block(block.start, right.stop), self._work.merge(partial, found)
        if at:
            left, found = self._partials[self._starts[at - 1]]
            if left.stop == block.start:
                block, partial = Block(left.start, block.stop), self._work.merge(found, partial)
                self._starts.pop(at - 1)
        self._partials[block.start] = block, partial
        insort(self._starts, block.start)

    def _join(self, block: Block, partial: Partial) -> None:
        if self._anyhow:
            self._joined(block, partial)
            return
        self.shards += len(block)
        size = block.size
        while len(block) < self.limit:
            if block.start & size:
                left = self._partials.get(block.start - size)
                if left is None or left[0].stop != block.start:
                    break
                self._remove(left[0])
                self.shards += len(left[0])
                partial = self._work.merge(left[1], partial)
                block = Block(left[0].start, block.stop)
            elif block.start + size < self.limit:
                right = self._partials.get(block.start + size)
                if right is None or right[0].stop != min(block.start + 2 * size, self.limit):
                    break
                self._remove(right[0])
                self.shards += len(right[0])
                partial = self._work.merge(partial, right[1])
                block = Block(block.start, right[0].stop)
            size *= 2  # a node that has nothing beside it is the one above it
        self._partials[block.start] = block, partial
        insort(self._starts, block.start)

    def _between(self, start: int, stop: int | None) -> list[Block]:
        end = None if stop is None else bisect_left(self._starts, stop)
        starts = self._starts[bisect_left(self._starts, start) : end]
        return [self._partials[inner][0] for inner in starts]

    def _remove(self, block: Block) -> None:
        del self._partials[block.start]
        del self._starts[bisect_left(self._starts, block.start)]
        self.shards -= len(block)

    def add_incomplete(self, block: Block, partial: Partial) -> None:
        """Take in what was found in a block before it was stopped."""
        self._incomplete.append((block, partial))

    def best_so_far(self) -> Partial | None:
        """The final answer if it is there; else the merge of everything, what was stopped last."""
        told = list(self.nodes())
        if not self.complete:
            taken = list(self._starts)
            ends = {start: block.stop for start, (block, _) in self._partials.items()}
            for block, partial in sorted(self._incomplete, key=lambda one: one[0]):
                at = bisect_left(taken, block.stop)  # only the last that begins before may reach in
                if at and ends[taken[at - 1]] > block.start:
                    continue
                taken.insert(at, block.start)
                ends[block.start] = block.stop
                told.append((block, partial))
        best = None
        for _, partial in told:
            best = partial if best is None else self._work.merge(best, partial)
        return best


class Hint:
    """What `Work.hint` makes of a fold, asked again when that has grown by a sixteenth."""

    def __init__(self, work: Work[Any], known: Partial | None = None) -> None:
        self._work = work
        self._next = 1
        self.known = known

    def look(self, fold: Fold) -> Partial | None:
        """What is known now."""
        if fold.shards >= self._next:
            self._next = fold.shards + fold.shards // 16 + 1
            self.known = self._work.hint(self.known, [partial for _, partial in fold.nodes()])
        return self.known


class Waiting:
    """The shards below `limit` that nobody has taken."""

    def __init__(self, limit: int, done: Iterable[Block]) -> None:
        self.limit = limit
        self.left = 0  #: how many wait, those included that `limit` has made unneeded
        # In order from the last to the first; they need not be nodes.
        self._ranges: list[Block] = []
        self._halves: list[Block] = []  # of ranges that were cut: the next to be taken, as they are
        begin = 0
        for block in done:
            self._put(begin, block.start)
            begin = max(begin, block.stop)
        self._put(begin, limit)
        self._ranges.reverse()

    def _put(self, start: int, stop: int) -> None:
        if start < stop:
            self._ranges.append(Block(start, stop))
            self.left += stop - start

    def give_back(self, start: int, stop: int) -> None:
        """Shards that were taken wait again, and are the next."""
        self._put(start, stop)

    def share(self, most: int, takers: int) -> Block | None:
        """The next block of at most `most` shards for one of so many takers, where no block need be a node.

        What somebody left is cut in two: one goes on where that one was, another takes what comes last. More
        and smaller parts would take whoever gives them out longer than they take.
        """
        while self._halves or self._ranges:
            whole = not self._halves
            rest = (self._ranges if whole else self._halves).pop()
            self.left -= len(rest)
            start, stop = rest.start, min(rest.stop, self.limit)
            if start >= stop:
                continue
            if stop - start > most:
                self._put(start + most, stop)
                return Block(start, start + most)
            if whole and takers > len(self._ranges) + 1 and stop - start > 1:
                # At the topmost node of it, of which the other takes the lower side.
                level = (start ^ (stop - 1)).bit_length() - 1
                middle = stop - 1 >> level << level
                self._halves.append(Block(start, middle))
                self.left += middle - start
                return Block(middle, stop)
            return Block(start, stop)
        return None

    def take(self, most: int) -> Block | None:
        """The next block of at most `most` shards, or None."""
        while self._ranges:
            rest = self._ranges.pop()
            self.left -= len(rest)
            stop = min(rest.stop, self.limit)
            if rest.start >= stop:
                continue
            size = 1 << (min(most, stop - rest.start).bit_length() - 1)
            if rest.start:
                size = min(size, rest.start & -rest.start)
            self._put(rest.start + size, stop)
            return Block(rest.start, rest.start + size)
        return None
