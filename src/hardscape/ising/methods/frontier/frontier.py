"""Counting states by level with a frontier: exact dynamic programming along an order of the spins.

Spins enter one by one, and are summed over as soon as all their neighbours have entered. In
between, each assignment of the spins that are in (the frontier) has a histogram of the levels of
all that was summed over. A step costs 2**frontier times the histogram's length, so narrow models of
hundreds of spins are done at once. A model that is too wide is sliced: some spins are fixed, and
each of their assignments is a work unit. On a lattice this is the transfer matrix of K. Binder,
Physica 62, 508 (1972), site by site.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Shard, ShardResult, split
from hardscape.ising.methods.counting import (
    CountingMethod,
    CountingWork,
    LevelTerms,
    add_counts,
    components,
)

#: Bytes of one table at most, or so many for each level if that is more; a lane holds two tables.
_TABLE_BYTES, _LEVEL_BYTES = 2**28, 32
#: Slices wanted for work above so many word additions, while one more adds less than this factor.
_SLICES_WANTED, _LONG, _OVERHEAD = 64, 2**32, 1.1
#: Rough rate of one core, word additions/s.
_RATE = 4e8
#: Word additions of work that is over in milliseconds.
_BRIEF = 1e6
#: Spins fixed, at most.
_MAX_SLICED = 40
#: Orders tried, at most, and neighbours looked at for all of them.
_MAX_STARTS, _MAX_LOOKS = 64, 2**21


Neighbours = Sequence[Mapping[int, int]]


def _words(spins: int) -> int:
    """64-bit words of a count that is at most ``2**spins``."""
    return spins // 64 + 1


@dataclass(frozen=True, slots=True)
class Step:
    """One spin enters; then those in `leaving` are summed over, one after the other."""

    entering: int
    leaving: tuple[int, ...]


def steps(order: Sequence[int], neighbours: Neighbours) -> list[Step]:
    """Steps for an order of entering."""
    position = {spin: t for t, spin in enumerate(order)}
    leaving: list[list[int]] = [[] for _ in order]
    for spin, t in position.items():
        last = max((position[j] for j in neighbours[spin] if j in position), default=t)
        leaving[max(last, t)].append(spin)
    return [Step(spin, tuple(out)) for spin, out in zip(order, leaving, strict=True)]


def greedy_order(neighbours: Neighbours, start: int) -> list[int]:
    """Order in which each spin summed over is one that brings in the fewest new ones."""
    missing = [set(near) for near in neighbours]
    order: list[int] = []
    frontier: list[int] = []
    outside = sorted(range(len(neighbours)), key=lambda i: (i != start, len(neighbours[i])))
    entered = set()

    def enter(spin: int) -> None:
        order.append(spin)
        frontier.append(spin)
        entered.add(spin)
        for near in neighbours[spin]:
            missing[near].discard(spin)

    for seed in outside:
        if seed in entered:
            continue
        enter(seed)
        while frontier:
            # Ties go to the spin that has waited longest, so that the front moves as a whole.
            spin = min(frontier, key=lambda i: len(missing[i]))
            for near in sorted(missing[spin], key=lambda i: len(missing[i])):
                enter(near)
            frontier.remove(spin)
    return order


def breadth_first_order(neighbours: Neighbours, start: int) -> list[int]:
    """Order of Cuthill and McKee (1969) from `start`; other components follow."""
    return list(chain.from_iterable(components(neighbours, start)))


def _orders(neighbours: Neighbours) -> Iterator[list[int]]:
    """Candidates: the spins' own order, then greedy and breadth-first ones."""
    n = len(neighbours)
    yield list(range(n))
    looks = n * n + 2 * sum(map(len, neighbours))
    starts = max(1, min(n, _MAX_STARTS, _MAX_LOOKS // (looks + 1)))
    by_degree = sorted(range(n), key=lambda i: len(neighbours[i]))
    for start in by_degree[:starts]:
        yield greedy_order(neighbours, start)
        yield breadth_first_order(neighbours, start)


@dataclass(frozen=True)
class FrontierWork(CountingWork):
    """Count all states by level with a frontier. A unit is one slice."""

    order: tuple[int, ...]  #: bits in the order in which they enter
    sliced: tuple[int, ...] = ()  #: bits fixed by the number of the slice

    name: ClassVar[str] = "ising.density.frontier"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "slices"

    @cached_property
    def steps(self) -> list[Step]:
        """What enters and leaves."""
        return steps(self.order, self.terms.neighbours())

    @cached_property
    def profile(self) -> NDArray[np.float64]:
        """For each step, its frontier and a bound on the words of a histogram, shape (steps, 2)."""
        near = self.terms.neighbours()
        frontier, length, left = 0, 1, 0
        rows = []
        for step in self.steps:
            frontier += 1
            for spin in step.leaving:
                field = [
                    *near[spin].values(),
                    2 * self.terms.linear[spin] + sum(near[spin].values()),
                ]
                length += sum(map(abs, field)) // 2
            left += len(step.leaving)
            rows.append((frontier, min(length, self.terms.num_levels) * _words(left)))
            frontier -= len(step.leaving)
        return np.array(rows, dtype=np.float64).reshape(-1, 2)

    @property
    def max_frontier(self) -> int:
        """Most spins that are in at a time."""
        return int(self.profile[:, 0].max(initial=0))

    @property
    def _assignments(self) -> NDArray[np.float64]:
        # Cut off where it would overflow; anything near that is refused anyway.
        return np.exp2(np.minimum(self.profile[:, 0], 900.0))

    @property
    def step_costs(self) -> NDArray[np.float64]:
        """Word additions of each step of one slice."""
        return self._assignments * (self.profile[:, 1] + 32)

    @property
    def additions(self) -> float:
        """Word additions of all slices."""
        return float(self.step_costs.sum()) * 2.0 ** len(self.sliced)

    @property
    def core_seconds(self) -> float:
        """Guess of the time on one core."""
        return self.additions / _RATE

    @property
    def table_bytes(self) -> float:
        """Memory of the largest table."""
        return float((self._assignments * self.profile[:, 1]).max(initial=1)) * 8

    @property
    def memory_bytes(self) -> int:
        """Bytes that a lane needs at least: those of its largest table."""
        return int(self.table_bytes)

    @property
    def fits(self) -> bool:
        """Whether the tables are as small as they should be."""
        return self.table_bytes <= max(_TABLE_BYTES, _LEVEL_BYTES * self.terms.num_levels)

    def slice_once_more(self) -> FrontierWork:
        """Fix the spin that does most of the work by staying in long."""
        costs = self.step_costs
        position = {spin: t for t, spin in enumerate(self.order)}
        saved = {
            spin: costs[position[spin] : t + 1].sum()
            for t, step in enumerate(self.steps)
            for spin in step.leaving
        }
        best = max(saved, key=lambda spin: (saved[spin], -spin))
        order = tuple(spin for spin in self.order if spin != best)
        return FrontierWork(self.terms, order, (*self.sliced, best))

    @property
    def explanation(self) -> str:
        """What will be done, for people."""
        return (
            f"frontier: at most {self.max_frontier} open spins, {2 ** len(self.sliced)} slices, "
            f"{self.additions:.2g} additions"
        )

    def brief(self, device: Device) -> bool:
        """A shard asks after each step whether to stop."""
        return self.additions < _BRIEF

    def shards(self) -> Sequence[Shard]:
        """One shard a slice, at most 4096 of them."""
        slices = 2 ** len(self.sliced)
        return split(slices, min(slices, 4096))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Count the states of some slices."""
        counts = np.zeros((_words(self.terms.num_bits), self.terms.num_levels), dtype=np.uint64)
        for number in range(shard.start, shard.stop):
            frontier = _Frontier(self.terms, self.sliced, number, context.stop)
            for step in self.steps:
                frontier.enter(step.entering)
                for spin in step.leaving:
                    frontier.leave(spin)
                if context.stop[0]:
                    return ShardResult({"counts": counts}, complete=False)
            first, part = frontier.histogram()
            here = slice(first - self.terms.lowest, first - self.terms.lowest + part.shape[1])
            whole = np.zeros((len(counts), part.shape[1]), dtype=np.uint64)
            whole[: len(part)] = part
            counts[:, here] = add_counts(counts[:, here], whole)
        return ShardResult({"counts": counts})


class _Frontier:
    """The spins that are in, and the histogram of each of their assignments.

    Bit p of an assignment is spin ``spins[p]``. Assignment x has the histogram in table row
    ``row[x]``, which starts at level ``start[x]``: entering spins and their couplings move starts
    and copy no rows.
    """

    def __init__(
        self,
        terms: LevelTerms,
        sliced: Sequence[int],
        number: int,
        stop: NDArray[np.uint8],
    ) -> None:
        self._neighbours = terms.neighbours()
        self._linear = list(terms.linear)
        self._stop = stop
        level = 0
        for k, spin in enumerate(sliced):
            if not number >> k & 1:
                continue
            level += self._linear[spin]
            for j, b in self._neighbours[spin].items():
                self._linear[j] += b
        self._spins: list[int] = []
        self._left = 0
        self._table = np.ones((1, 1), dtype=np.uint64)
        self._used = np.ones(1, dtype=np.int64)
        self._row = np.zeros(1, dtype=np.int64)
        self._start = np.full(1, level, dtype=np.int64)

    def enter(self, spin: int) -> None:
        """Add a spin to the frontier, with its couplings to the spins there."""
        up = self._start + self._linear[spin]
        for p, other in enumerate(self._spins):
            if b := self._neighbours[spin].get(other):
                up.reshape(-1, 2, 2**p)[:, 1] += b
        self._spins.append(spin)
        self._row = np.concatenate([self._row, self._row])
        self._start = np.concatenate([self._start, up])

    def leave(self, spin: int) -> None:
        """Sum over a spin of the frontier."""
        p = self._spins.index(spin)
        del self._spins[p]
        rows = self._halves(self._row, p)
        starts = self._halves(self._start, p)
        used = self._used
        ends = starts + used[rows]
        self._start = starts.min(axis=0)
        self._used = ends.max(axis=0) - self._start
        words = _words(self._left)
        self._left += 1
        self._table = native.vector.ising.frontier_eliminate(
            self._table,
            words,
            used,
            rows,
            starts - self._start,
            _words(self._left),
            int(self._used.max()),
            self._stop,
        )
        self._row = np.arange(len(self._start))

    @staticmethod
    def _halves(values: NDArray[np.int64], p: int) -> NDArray[np.int64]:
        """Values for bit p clear and set, shape (2, assignments of the others)."""
        return np.ascontiguousarray(values.reshape(-1, 2, 2**p).swapaxes(0, 1)).reshape(2, -1)

    def histogram(self) -> tuple[int, NDArray[np.uint64]]:
        """Lowest level and counts, shape (words, levels from there), once all spins have left."""
        return int(self._start[0]), self._table.reshape(_words(self._left), -1)


def plan_frontier(terms: LevelTerms) -> FrontierWork:
    """Choose the cheapest of several orders, and slice until tables fit and threads have work.

    The plan depends on the model alone, so that a checkpoint fits any number of threads.
    """
    neighbours = terms.neighbours()
    plan = min(
        (FrontierWork(terms, tuple(order)) for order in _orders(neighbours)),
        key=lambda work: work.additions,
    )
    while plan.order and len(plan.sliced) < _MAX_SLICED:
        finer = plan.slice_once_more()
        useful = (
            plan.additions > _LONG
            and 2 ** len(plan.sliced) < _SLICES_WANTED
            and finer.additions < _OVERHEAD * plan.additions
        )
        if plan.fits and not useful:
            break
        plan = finer
    return plan


class Frontier(CountingMethod):
    """For sparse or narrow models, of hundreds of spins."""

    name: ClassVar[str] = "frontier"

    def work(self, terms: LevelTerms) -> CountingWork | str:
        """The cheapest plan found, if its tables fit."""
        plan = plan_frontier(terms)
        if plan.fits:
            return plan
        return (
            f"'frontier' would keep {plan.max_frontier} spins open with "
            f"{len(plan.sliced)} others fixed"
        )
