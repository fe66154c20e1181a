"""Orders of elimination, and what the tables of one need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.ising.exact import ExactTerms

#: Widest table that is thought of, and most spins of a model.
MAX_WIDTH, MAX_SPINS = 48, 20_000
#: Entries of all tables below which an effort at better orders does not pay; min-fill orders and sweeps that it
#: tries, and moves of spins. The last is beyond what better orders could make feasible.
_EFFORTS = (
    (0.0, 4, 0, 0),
    (2.0**18, 4, 16, 0),
    (2.0**23, 40, 64, 1000),
    (2.0**26, 40, 64, 4000),
    (2.0**44, 4, 0, 0),
)
#: Spins looked at in all moves, at most.
_MOST_LOOKS = 500_000
#: Entries of all tables of one slice that are kept at once, at most, while slicing pays: on a core; and their
#: bytes on a GPU, the same on all GPUs as a checkpoint is to fit any of them.
_ENTRIES, GPU_BYTES = 2.0**27, 2.0**34
#: Slices wanted for work of so many entries, while one more spin adds less than this factor.
_SLICES_WANTED, _DIVIDED, _OVERHEAD = 5, 2.0**29, 1.15
#: Spins fixed, at most.
_MAX_SLICED = 24
#: Seconds that an entry takes, by the bits of its integer.
_SECONDS = {32: 1e-9, 64: 2e-9, 128: 5e-9, 256: 3e-8, 2304: 4e-7}
#: Seconds on one core from which on a plan for more memory is looked for.
_PLANNED_AGAIN = 2.0
#: How much fewer entries the best order may have than the first one, in a model worth looking for it.
_REFINED = 16.0
#: Fewest bits of a code that a table's values hold, where there are so many.
_LEAST_CODE = 16


def sizes(bits: int, spins: int) -> tuple[int, int]:
    """Bits of a table's values, and how many bits of codes they hold beside energies of so many bits."""
    for size in _SECONDS:
        room = size - 3 - bits
        if room >= min(spins, _LEAST_CODE):
            return size, min(room, spins)
    raise AssertionError("energies are bounded by float64")


@dataclass(frozen=True)
class Elimination:
    """Spins in the order in which they are minimised over, and those that are fixed by a slice's number."""

    order: tuple[int, ...]
    sliced: tuple[int, ...]
    widths: tuple[int, ...]  #: spins that the table of each depends on

    @cached_property
    def entries(self) -> float:
        """Entries of all tables of one slice."""
        return float(np.exp2(np.array(self.widths, dtype=np.float64)).sum())

    @property
    def width(self) -> int:
        """Of the widest table."""
        return max(self.widths, default=0)

    @property
    def slices(self) -> int:
        """How often tables are filled."""
        return 1 << len(self.sliced)

    def seconds(self, size: int) -> float:
        """Of all slices on one core, roughly, with values of so many bits."""
        return self.slices * (self.entries * _SECONDS[size] + 1e-6 * len(self.order))

    @property
    def sets(self) -> int:
        """Sets of tables at once, at most: small ones stay for the next slice while ties have others."""
        return 2 if self.slices > 1 and self.entries <= _ENTRIES else 1

    def memory_bytes(self, size: int) -> int:
        """Of the tables of one slice: what is chosen, and the least values still needed."""
        return int(self.sets * size / 8 * (self.entries + 4 * 2.0**self.width))


@lru_cache(maxsize=8)
def elimination(terms: ExactTerms, most_entries: float = _ENTRIES) -> Elimination | None:
    """A good order for a model, sliced until its tables are small; None if all are too wide.

    It depends on the model alone, so that a checkpoint fits any number of threads.
    """
    n = terms.num_spins
    if n > MAX_SPINS or len(terms.row) > n * MAX_WIDTH:
        return None
    graph = _Graph.of(terms)
    free = np.arange(n) != (n - 1 if terms.symmetric else n)
    order = graph.order(free, *_EFFORTS[0][1:])
    entries = math.inf if order is None else graph.plan(order, ()).entries
    _, *effort = next(x for x in reversed(_EFFORTS) if x[0] <= entries)
    if effort != [*_EFFORTS[0][1:]]:
        order = graph.order(free, *effort)
    if order is None:
        return None
    plan = graph.plan(order, ())
    while len(plan.sliced) < _MAX_SLICED and len(plan.order) > 1:
        finer = graph.finer(plan)
        grown = 2 * finer.entries / plan.entries
        useful = (
            plan.entries * plan.slices > _DIVIDED * most_entries / _ENTRIES
            and len(plan.sliced) < _SLICES_WANTED
            and grown < _OVERHEAD
        )
        if plan.entries <= most_entries and not useful:
            break
        plan = finer
    return plan


def quickest(terms: ExactTerms, size: int, lanes: int, room: float) -> Elimination | None:
    """The plan that takes threads on `lanes` cores the least time, with values of so many bits in `room` bytes.

    Fewer slices take less time in all and more memory, and leave cores without work.
    """
    plan = elimination(terms)
    if plan is None or plan.seconds(size) < _PLANNED_AGAIN:
        return plan
    plans = [plan]
    for parts in {
        1,
        2,
        4,
        lanes,
        2 * lanes,
    }:  # what is kept and what is needed beside it share the room
        wider = elimination(terms, room / parts * 8 / size)
        if wider is not None and min(lanes, wider.slices) * wider.memory_bytes(size) <= room:
            plans.append(wider)
    return min(plans, key=lambda x: x.seconds(size) / min(lanes, x.slices))


@lru_cache(maxsize=8)
def hopeless(terms: ExactTerms, seconds: float) -> bool:
    """Whether no order is likely to have tables of so many seconds, by one that is found at once."""
    if terms.num_spins > MAX_SPINS or len(terms.row) > terms.num_spins * MAX_WIDTH:
        return True
    graph = _Graph.of(terms)
    most = _REFINED * seconds / min(_SECONDS.values())
    return len(graph.first(most)) < terms.num_spins


@dataclass(frozen=True)
class _Graph:
    """Which spins are coupled."""

    n: int
    row: NDArray[np.int64]
    col: NDArray[np.int64]

    @classmethod
    def of(cls, terms: ExactTerms) -> _Graph:
        """Of a model, without the last spin where flips change nothing."""
        n = terms.num_spins
        held = n - 1 if terms.symmetric else n
        inside = (terms.row != held) & (terms.col != held)
        return cls(n, terms.row[inside], terms.col[inside])

    def first(self, most: float) -> NDArray[np.int64]:
        """An order that is found at once; empty if its tables have more entries than this."""
        found: NDArray[np.int64] = native.vector.ising.elimination_order(
            self.n, self.row, self.col, 1, 0, most, 1
        )
        return found

    def order(
        self, free: NDArray[np.bool_], tries: int, sweeps: int, moves: int
    ) -> tuple[int, ...] | None:
        """The best of some orders of free spins."""
        core, graph = native.vector.ising, (self.n, self.row, self.col)
        found = core.elimination_order(*graph, tries, sweeps, 2.0**MAX_WIDTH, 1)
        if self.n and not len(found):
            return None
        if moves:
            found = core.elimination_refined(*graph, found, min(moves, _MOST_LOOKS // self.n), 1)
        return tuple(found[free[found]].tolist())

    def plan(self, order: Sequence[int], sliced: tuple[int, ...]) -> Elimination:
        """With the widths of its tables."""
        widths, _ = self._widths(order)
        return Elimination(tuple(order), sliced, tuple(widths.tolist()))

    def finer(self, plan: Elimination) -> Elimination:
        """The plan with that spin fixed that is in most entries."""
        _, shares = self._widths(plan.order)
        best = max(plan.order, key=lambda i: (shares[i], -i))
        order = [i for i in plan.order if i != best]
        return self.plan(order, (*plan.sliced, best))

    def _widths(self, order: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        among = np.zeros(self.n, dtype=np.bool_)
        among[list(order)] = True
        inside = among[self.row] & among[self.col]
        row, col = self.row[inside], self.col[inside]
        found: tuple[NDArray[np.int64], NDArray[np.float64]]
        found = native.vector.ising.elimination_widths(
            self.n, row, col, np.array(order, dtype=np.int64)
        )
        return found
