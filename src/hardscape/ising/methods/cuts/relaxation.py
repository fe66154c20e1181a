"""The linear relaxation of a model under odd-cycle inequalities, and what it proves in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.errors import needed
from hardscape.ising.methods.cuts.graph import EdgeForm

#: Bits of the sum of all costs in the integers that bounds are made of, and of those with all multipliers.
_FINE_BITS, _MOST_BITS = 46, 61
#: Cycles whose length lies below 1 by more than this are violated.
_TOLERANCE = 1e-4
#: Rows without a multiplier are kept for so many solutions.
_PATIENCE = 4


@dataclass(frozen=True)
class Rows:
    """Inequalities: the lengths of cycles, of edges as they are or turned, are 1 or more."""

    starts: NDArray[np.int64]
    edges: NDArray[np.int64]
    turned: NDArray[np.int64]

    @classmethod
    def none(cls) -> Rows:
        """No inequalities."""
        empty = np.empty(0, dtype=np.int64)
        return cls(np.zeros(1, dtype=np.int64), empty, empty)

    @property
    def count(self) -> int:
        """Number of cycles."""
        return len(self.starts) - 1

    @property
    def owner(self) -> NDArray[np.int64]:
        """The cycle of each edge listed."""
        return np.repeat(np.arange(self.count), np.diff(self.starts))

    @property
    def least(self) -> NDArray[np.int64]:
        """Right sides: 1 less the turned edges of each cycle."""
        return 1 - np.bincount(self.owner, weights=self.turned, minlength=self.count).astype(
            np.int64
        )

    def kept(self, mask: NDArray[np.bool_]) -> Rows:
        """Some of them."""
        lengths = np.diff(self.starts)
        inside = np.repeat(mask, lengths)
        starts = np.concatenate([[0], np.cumsum(lengths[mask])])
        return Rows(starts, self.edges[inside], self.turned[inside])

    def with_more(self, other: Rows) -> Rows:
        """Both."""
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        edges, turned = (
            np.concatenate([getattr(self, x), getattr(other, x)]) for x in ("edges", "turned")
        )
        return Rows(starts, edges, turned)


@dataclass(frozen=True)
class Proof:
    """A lower bound in fine units, what it rises by where an open edge has the other value, and why."""

    bound: int
    reduced: NDArray[np.int64]
    rows: Rows
    weights: NDArray[np.int64]  #: multipliers of the rows


#: The least and the greatest value of each edge.
Ends = tuple[NDArray[np.uint8], NDArray[np.uint8]]


class Known(NamedTuple):
    """How many of the lowest states are wanted, and those that are known."""

    wanted: int
    energies: list[int]
    up: NDArray[np.uint8]


class Most(NamedTuple):
    """When a list of states is given up."""

    states: int
    work: int
    stop: NDArray[np.uint8]


class Within(NamedTuple):
    """Whether these are all states that are wanted; spins that are up; the work that it took."""

    complete: bool
    up: NDArray[np.uint8]
    work: int


@dataclass
class Relaxation:
    """Edges between 0 and 1 under a growing list of inequalities."""

    form: EdgeForm
    rows: Rows = field(default_factory=Rows.none)

    def __post_init__(self) -> None:
        form = self.form
        #: A fine unit is 2**shift exact ones.
        self.shift = form.total.bit_length() - _FINE_BITS
        costs = [2 * abs(x) for x in form.values]
        fine = [x >> self.shift if self.shift > 0 else x << -self.shift for x in costs]
        self.fine = np.array(fine, dtype=np.int64)
        self.scale = float(max(fine, default=1)) or 1.0
        self.idle = np.zeros(0, dtype=np.int64)
        self.multipliers = np.zeros(0)

    def fine_above_base(self, energy: int) -> int:
        """The largest number of fine units that is not above an exact energy."""
        above = energy - self.form.base
        return above >> self.shift if self.shift > 0 else above << -self.shift

    def exact(self, bound: int) -> int:
        """An exact lower bound, rounded up to an energy that there can be."""
        above = bound << self.shift if self.shift > 0 else -(-bound >> -self.shift)
        form = self.form
        return form.some - (form.some - form.base - above) // form.step * form.step

    def solve(
        self, low: NDArray[np.uint8], high: NDArray[np.uint8], going: Callable[[], bool]
    ) -> NDArray[np.float64] | None:
        """A solution between these bounds, of least cost or nearly so; None if stopped."""
        found = minimised(self.fine / self.scale, low, high, self.rows, going)
        if found is None:
            return None
        x, self.multipliers = found
        used = self.multipliers > 1e-9
        self.idle = np.where(used, 0, self.idle + 1)
        return x

    def purge(self) -> None:
        """Forget inequalities that have had no multiplier for some time."""
        kept = self.idle < _PATIENCE
        if not kept.all():
            self.rows = self.rows.kept(kept)
            self.idle, self.multipliers = self.idle[kept], self.multipliers[kept]

    def separate(self, x: NDArray[np.float64], tolerance: float = _TOLERANCE) -> int:
        """Add violated inequalities; how many."""
        form = self.form
        starts, taken = native.vector.ising.odd_cycles(
            form.vertices, form.row, form.col, form.signs, x, 1.0 - tolerance
        )
        more = Rows(starts, taken // 2, taken % 2)
        self.rows = self.rows.with_more(more)
        self.idle = np.concatenate([self.idle, np.zeros(more.count, dtype=np.int64)])
        self.multipliers = np.concatenate([self.multipliers, np.zeros(more.count)])
        return more.count

    def proof(self, low: NDArray[np.uint8], high: NDArray[np.uint8]) -> Proof:
        """What the last multipliers prove of states between these bounds: integers alone, and no tolerance."""
        rows, limit = self.rows, 2.0**_MOST_BITS
        fine = np.maximum(np.nan_to_num(self.multipliers), 0.0) * self.scale
        lengths = np.diff(rows.starts)
        size = float(fine @ lengths) + float(self.fine.sum())
        if size > limit:
            fine *= limit / size / 2
        weights = fine.astype(np.int64)
        reduced = self.fine.copy()
        each = weights[rows.owner]
        np.subtract.at(reduced, rows.edges, np.where(rows.turned == 1, -each, each))
        ends = np.minimum(reduced * low, reduced * high)
        bound = int((weights * rows.least).sum() + ends.sum())
        return Proof(bound, np.where(low == high, 0, reduced), rows, weights)

    def within(
        self,
        proof: Proof,
        ends: Ends,
        between: tuple[int, int],
        known: Known,
        most: Most,
    ) -> Within:
        """The lowest states between bounds of edges, of energies between two, and those known."""
        form, lift = self.form, -self.shift
        exact = lift >= 0
        # Of rounded costs all states are listed: which of two is lower is not known.
        step, some, least, costs = 0, 0, 0, np.empty(0, dtype=np.int64)
        spins = np.empty((0, form.terms.num_spins), dtype=np.uint8)
        if exact:
            step = form.step << lift
            least = ((between[0] - form.base) << lift) - proof.bound
            some = (((form.some - form.base) << lift) - proof.bound) % step
            above = [((x - form.base) << lift) - proof.bound for x in known.energies]
            costs, spins = np.array(above, dtype=np.int64), known.up
        complete, found, _, work = native.vector.ising.states_within(
            form.vertices,
            form.row,
            form.col,
            form.signs,
            *ends,
            proof.reduced,
            proof.rows.starts,
            proof.rows.edges,
            proof.rows.turned,
            proof.weights,
            spins,
            costs,
            min(self.fine_above_base(between[1]) - proof.bound, 1 << _MOST_BITS),
            least,
            step,
            some,
            form.vertices > form.terms.num_spins,
            known.wanted if exact else most.states + 1,
            most.states,
            most.work,
            most.stop,
        )
        return Within(complete, found, work)


def solver() -> Any:
    """The package that solves linear programs."""
    return needed("highspy", "highspy", "cuts", "method='cuts'")


def minimised(
    costs: NDArray[np.float64],
    low: NDArray[np.uint8],
    high: NDArray[np.uint8],
    rows: Rows,
    going: Callable[[], bool],
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Edges of least cost, and the multipliers of rows, by an interior point; None if stopped.

    No vertex is sought: between all the best solutions, an edge is 0 or 1 where it is so in all of them.
    """
    open_ = np.flatnonzero(low != high)
    number = np.full(len(costs), -1, dtype=np.int32)
    number[open_] = np.arange(len(open_))
    x = low.astype(np.float64)
    signs = np.where(rows.turned == 1, -1.0, 1.0)
    held = number[rows.edges] < 0
    owner = rows.owner
    fixed = np.bincount(owner[held], weights=(signs * x[rows.edges])[held], minlength=rows.count)
    least = (rows.least - fixed).astype(np.float64)
    counts = np.bincount(owner[~held], minlength=rows.count)
    # Rows without an open edge, and those that hold whatever their edges are, say nothing.
    lowest = -np.bincount(owner[~held], weights=rows.turned[~held], minlength=rows.count)
    says = (counts > 0) & (least > lowest)
    inside = ~held & says[owner]
    multipliers = np.zeros(rows.count)
    if not len(open_):
        return x, multipliers
    columns = number[rows.edges[inside]]
    found = _interior_point(costs[open_], least[says], counts[says], columns, signs[inside], going)
    if found is None:
        return None
    x[open_] = np.clip(np.nan_to_num(found[0], nan=0.5), 0.0, 1.0)
    multipliers[says] = found[1]
    return x, multipliers


def _interior_point(
    costs: NDArray[np.float64],
    least: NDArray[np.float64],
    counts: NDArray[np.int64],
    columns: NDArray[np.int32],
    signs: NDArray[np.float64],
    going: Callable[[], bool],
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Columns in [0, 1] of least cost under rows, and the rows' multipliers; None if stopped."""
    if not going():
        return None
    highspy = solver()
    highs = highspy._Highs()  # what Highs wraps; Highs itself prints
    options = {
        "output_flag": False,
        "solver": "ipm",
        "run_crossover": "off",
        "presolve": "off",
        "threads": 1,
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    n, none = len(costs), np.empty(0, dtype=np.int32)
    highs.addCols(
        n, costs, np.zeros(n), np.ones(n), 0, np.zeros(n, dtype=np.int32), none, np.empty(0)
    )
    if len(least):
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
        above = np.full(len(least), np.inf)
        highs.addRows(len(least), least, above, len(columns), starts, columns, signs)

    def asked(kind: Any, message: str, told: Any, answer: Any, data: Any) -> None:
        answer.user_interrupt = not going()

    highs.setCallback(asked, None)
    highs.startCallback(highspy.cb.HighsCallbackType.kCallbackIpmInterrupt)
    highs.run()
    solution = highs.getSolution()
    if not going() or len(solution.row_dual) != len(least):
        return None
    return np.array(solution.col_value), np.array(solution.row_dual)
