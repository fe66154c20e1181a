"""The way back from what is left of a model to its lowest states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import memory

#: States beyond those wanted that are kept before they are sorted, at least, and most of those that tie.
_ROOM, _MOST_TIES = 1024, 2**17


@dataclass(frozen=True)
class Place:
    """Which bit of a state a spin decides, the highest of those that go by it."""

    spin: int
    position: int
    up: int  #: value of the spin for which the bit is 1


Form = tuple[int, tuple[tuple[int, int], ...]]  #: a field, and couplings to other spins


@dataclass(frozen=True)
class Removal:
    """A spin that was minimised over, where it stood among the others."""

    place: Place
    partner: Place | None  #: of the spin that it goes by, as it was before
    field: int
    near: tuple[tuple[int, int], ...]
    low: int  #: its value in the state of lower code

    def with_partner(self, partner: Place) -> Removal:
        """The same step, by which another spin has got its bit."""
        return replace(self, partner=partner)

    def extend(self, listed: Listed) -> None:
        """Add the states in which the spin is not as it would be."""
        field = listed.field((self.field, self.near))
        spin = self.place.spin
        listed.states[:, spin] = np.where(field == 0, self.low, np.where(field > 0, -1, 1))
        listed.flip(spin, 2 * abs(field), np.ones(len(field), dtype=bool))


@dataclass(frozen=True)
class Twins:
    """A spin that goes by another one, as both feel all others in proportion."""

    place: Place
    partner: Place
    mine: Form  #: what the partner feels
    other: Form  #: what the spin feels
    sign: int
    coupling: int  #: size of their own coupling, which favours the sign
    low: int  #: the partner's value in the state of lower code

    def with_partner(self, partner: Place) -> Twins:
        """It knows its partner."""
        return self

    def extend(self, listed: Listed) -> None:
        """Add the states in which they differ, to those in which both are as they would be."""
        kept, spin = self.partner.spin, self.place.spin
        mine, other = listed.field(self.mine), listed.field(self.other)
        value = listed.states[:, kept]
        listed.states[:, spin] = self.sign * value
        best = value == np.where(mine == 0, self.low, np.where(mine > 0, -1, 1))
        pair = 2 * self.coupling
        listed.flip(spin, 2 * abs(other) + pair, best)
        listed.flip(kept, 2 * abs(mine) + pair, best)


@dataclass(frozen=True)
class Persistent:
    """A spin that has one value in all ground states, of which one is wanted."""

    place: Place
    value: int
    partner: None = None

    def extend(self, listed: Listed) -> None:
        """Give it that value: no other one is wanted."""
        listed.states[:, self.place.spin] = self.value


Step = Removal | Twins | Persistent


class Listed:
    """Low states and how far their energies are above the lowest, as the model grows back.

    Parameters
    ----------
    states : int8, shape (m, N)
        Spins; those that were taken out are not looked at. In order of energy.
    excess : int64 or object, shape (m,)
        Exact integers.
    count : int
        How many states are wanted.
    limit : int or None
        No wanted state is further above the lowest.
    places : sequence of Place
        Of the spins that the states have.
    ordered : bool
        Whether states that tie are in the order of their codes, so that those beyond `count` may go.
    """

    def __init__(
        self,
        states: NDArray[np.int8],
        excess: NDArray[Any],
        count: int,
        limit: int | None,
        places: Sequence[Place],
        ordered: bool,
    ) -> None:
        self.states, self.excess, self.count, self.limit = states, excess, count, limit
        self._places = {place.spin: place for place in places}
        self._ordered = ordered
        self.overflowing = False  #: whether too many states tie

    def expect(self, steps: Iterable[Step]) -> None:
        """Refuse a list that will not fit before it is made: without a limit, each removal doubles it."""
        count = len(self.states)
        for step in steps:
            if self.limit is not None or count > 2 * self.count + _ROOM:
                break
            count <<= isinstance(step, Removal)
        self._require(count)

    def undo(self, step: Step) -> None:
        """Put the spin of a step back."""
        self._places[step.place.spin] = step.place
        if step.partner is not None:
            self._places[step.partner.spin] = step.partner
        step.extend(self)
        if len(self.states) > 2 * self.count + _ROOM:
            self.cut()

    def field(self, form: Form) -> NDArray[Any]:
        """The field that a spin feels in each state."""
        constant, near = form
        total = np.full(len(self.states), constant, dtype=self.excess.dtype)
        for j, x in near:
            total += np.array([-x, x], dtype=self.excess.dtype)[(self.states[:, j] > 0).astype(int)]
        return total

    def flip(self, spin: int, gap: NDArray[Any], where: NDArray[np.bool_]) -> None:
        """Add states that differ from the first ones in a spin, at a price each."""
        excess = self.excess[: len(gap)] + gap
        if self.limit is not None:
            where = where & (excess <= self.limit).astype(bool)
        self._require(len(self.states) + int(where.sum()))
        added = self.states[: len(gap)][where]
        added[:, spin] *= -1
        self.states = np.concatenate([self.states, added])
        self.excess = np.concatenate([self.excess, excess[where]])

    def _require(self, count: int) -> None:
        length = self.states.shape[1]
        size = 2 * count * (length + self.excess.itemsize)  # old and new
        memory.require(size, f"a list of {count} states of {length} spins")

    def cut(self) -> None:
        """Forget states that are not wanted."""
        if len(self.excess) <= self.count:
            return
        last = np.sort(self.excess)[self.count - 1]
        self.limit = int(last) if self.limit is None else min(self.limit, int(last))
        kept = (self.excess <= self.limit).astype(bool)
        self.states, self.excess = self.states[kept], self.excess[kept]
        if not self._ordered:
            self.overflowing |= len(self.excess) > self.count + _MOST_TIES
        if self.overflowing or (self._ordered and len(self.excess) > self.count + _ROOM):
            self._sort()
            self.states, self.excess = self.states[: self.count], self.excess[: self.count]

    def _sort(self) -> None:
        """By energy and code."""
        places = sorted(self._places.values(), key=lambda x: x.position)
        keys: list[NDArray[Any]] = [self.states[:, x.spin] * np.int8(x.up) for x in places]
        keys.append(np.unique(self.excess, return_inverse=True)[1])
        order = np.lexsort(keys)
        self.states, self.excess = self.states[order], self.excess[order]
