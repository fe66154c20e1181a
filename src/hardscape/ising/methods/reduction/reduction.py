"""Searching what is left of a model, part by part, and going back to its lowest states."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import RunOptions
from hardscape.ising.exact import ExactTerms, from_limbs
from hardscape.ising.methods.exhaustive.blocks import Found, Wanted
from hardscape.ising.methods.lowest import LowestMethod, Whole
from hardscape.ising.methods.reduction.listing import Listing, integers
from hardscape.ising.methods.reduction.rules import SPARE_BITS, Remainder, reduced, stays_whole
from hardscape.ising.methods.reduction.searched import Searched, searched
from hardscape.ising.methods.reduction.steps import Listed, Place
from hardscape.ising.result import pack, spectral_order

#: Fewest and most spins of a model for which this pays, and most words of its energies.
_LEAST_SPINS, _MOST_SPINS, _MOST_LIMBS = 24, 20_000, 2
#: States up to which integers of any length are quick enough.
_MANY_STATES = 1 << 14
#: Size of a coefficient, in units of their greatest common divisor, from which on ties are not expected.
_FINE = 1 << 16
#: Seconds for what is left of a call that a signal has stopped.
_NO_TIME = 1e-3

Choice = Callable[[Wanted], LowestMethod[Any]]


@dataclass(frozen=True)
class Part:
    """Some spins of what is left, and the model of them."""

    places: tuple[Place, ...]
    terms: ExactTerms


@dataclass(frozen=True)
class Reduction:
    """A model as what is left of it, in parts."""

    asked: Wanted
    ordered: bool  #: whether states of equal energy are in order, too
    remainder: Remainder
    parts: tuple[Part, ...]  #: the largest last

    @classmethod
    def of(cls, asked: Wanted, ordered: bool) -> Reduction | None:
        """What is left of a model; None if that is all of it."""
        terms = asked.terms
        if not _LEAST_SPINS <= terms.num_spins <= _MOST_SPINS or terms.limbs > _MOST_LIMBS:
            return None
        if asked.count > _MANY_STATES and _kind(terms).hasobject:
            return None
        if stays_whole(terms):
            return None
        remainder = reduced(terms, ordered, asked.count <= 2 and asked.window is None)
        places = list(remainder.parts())
        if (
            len(places) == 1
            and len(remainder.places) + (not ordered and terms.symmetric) == terms.num_spins
        ):
            return None
        parts = tuple(Part(part, remainder.terms(part)) for part in places)
        return cls(asked, ordered, remainder, parts)

    @property
    def held(self) -> bool:
        """Whether the last spin is held down, as flips of all change nothing."""
        return self.asked.terms.symmetric and not self.ordered

    @cached_property
    def half(self) -> Wanted:
        """What is wanted where a spin is held down: no other state is above the last of these."""
        asked = self.asked
        listed = -(-(asked.count - 1) // (1 + self.held))
        return Wanted(asked.terms, listed + 1, asked.window, asked.cutoff)

    def wanted(self, terms: ExactTerms, others: int | None = None) -> Wanted:
        """What is wanted of a part, of which the others have no less energy, in units of what is left."""
        count = min(self.half.count - 1, 1 << min(terms.num_spins, 64)) + 1
        shift = self._shift(terms)
        window, cutoff = self.asked.window, self.asked.cutoff
        if window is not None:
            window = min((window << SPARE_BITS) >> shift, 2 * terms.bound + 1)
        if cutoff is not None and others is not None:
            top = ((cutoff << SPARE_BITS) - self.remainder.offset - others) >> shift
            cutoff = max(min(top, terms.bound), -terms.bound - 1)
        else:
            cutoff = None
        return Wanted(terms, count, window, cutoff)

    def _shift(self, terms: ExactTerms) -> int:
        """Bits that the energies of a part are shorter by."""
        return terms.exponent - self.remainder.exponent

    @property
    def doubtful(self) -> bool:
        """Whether states are known to tie that are not in order: those of a part that can be flipped."""
        return not self.ordered and any(part.terms.symmetric for part in self.parts)

    def pieces(self, choose: Choice) -> list[tuple[LowestMethod[Any], Wanted]]:
        """What finds the lowest states of each part, and what is wanted of it."""
        wanted = [self.wanted(part.terms) for part in self.parts]
        return [(choose(each), each) for each in wanted]

    def search(
        self, choose: Choice, options: RunOptions, given: NDArray[np.int8]
    ) -> tuple[Searched, bool]:
        """Search all parts; and whether the states that tie are told apart."""
        rows = [row for row, _ in self.pieces(choose)]
        runs: list[Searched] = []
        bounds = [-part.terms.bound << self._shift(part.terms) for part in self.parts]
        for k, part in enumerate(self.parts):
            wanted = self.wanted(part.terms, sum(bounds) - bounds[k])
            run = options if k == len(self.parts) - 1 else options.together(None)
            if any(x.signum for x in runs):
                run = run.within(_NO_TIME)
            # Only the last is told of: the others are what the rest is known to be.
            whole = self._whole(runs, bounds) if k == len(self.parts) - 1 else None
            found = searched(rows[k], wanted, run, self._given(part, given), whole=whole)
            runs.append(found)
            if found.bound is not None:
                bounds[k] = max(bounds[k], found.bound << self._shift(part.terms))
        core = self._together(runs)
        states, settled = self._grown(core)
        return self._summary(runs, states, sum(bounds)), settled

    def _whole(self, runs: Sequence[Searched], bounds: Sequence[int]) -> Whole:
        """What energies of the last part say of the whole model, where the others are searched."""
        terms, offset = self.parts[-1].terms, self.remainder.offset
        met = [
            from_limbs(run.found.energies[:1])[0] << self._shift(part.terms)
            if len(run.found.energies)
            else bound
            for run, part, bound in zip(runs, self.parts, bounds, strict=False)
        ]
        return Whole(
            self.asked.terms,
            self._shift(terms),
            sum(met) + offset,
            sum(bounds[:-1]) + offset,
            SPARE_BITS,
        )

    def _given(self, part: Part, given: NDArray[np.int8]) -> NDArray[np.int8]:
        """States that somebody knows, by the spins of a part."""
        if self.held:
            given = given * -given[:, -1:]
        up = np.array([place.up for place in part.places], dtype=np.int8)
        return np.ascontiguousarray(given[:, [place.spin for place in part.places]] * up)

    def _together(self, runs: Sequence[Searched]) -> Listing:
        """The lowest states of all that is left."""
        n, kind = self.asked.terms.num_spins, _kind(self.asked.terms)
        core = Listing.empty(n, kind)
        limit = None if self.asked.window is None else self.asked.window << SPARE_BITS
        for part, run in zip(self.parts, runs, strict=True):
            other = Listing.of(run.found, part.places, n, self._shift(part.terms), kind)
            core = core.with_(other, self.half.count, limit)
        return core

    def _grown(self, core: Listing) -> tuple[NDArray[np.int8], bool]:
        """States of all spins that come of those of what is left, and whether none is missing that ties."""
        half, n, listed = self.half, self.asked.terms.num_spins, self.half.count - 1
        limits = [] if half.window is None else [half.window << SPARE_BITS]
        if half.cutoff is not None:
            limits.append((half.cutoff << SPARE_BITS) - self.remainder.offset - core.least)
        last = int(core.excess[listed - 1]) if len(core) >= listed else None
        if last is not None:
            limits.append(last)
        places = self.remainder.places
        grown = Listed(
            core.states(places, n),
            core.excess,
            half.count,
            min(limits, default=None),
            places,
            self.ordered,
        )
        steps = self.remainder.steps[::-1]
        grown.expect(steps)
        for step in steps:
            grown.undo(step)
        if self.ordered or last is None:
            return grown.states, not grown.overflowing
        every = len(core) == 1 << len(places)
        higher = every or (len(core) > listed and core.excess[listed] > last)
        settled = higher or np.sort(grown.excess)[listed - 1] < last
        return grown.states, bool(settled) and not grown.overflowing

    def _summary(self, runs: Sequence[Searched], states: NDArray[np.int8], bound: int) -> Searched:
        """What all searches came to together."""
        terms = self.asked.terms
        complete = all(x.complete for x in runs)
        found = self._found(states)
        # An energy of the whole model is an integer, so that a bound is rounded up.
        least = -(-(bound + self.remainder.offset) >> SPARE_BITS)
        energies = from_limbs(found.energies[:1])
        if complete:
            known = energies if self.asked.cutoff is None else [*energies, self.asked.cutoff + 1]
            least = min(known, default=least)
        sizes = [len(part.places) for part in self.parts]
        left = terms.num_spins - sum(sizes)
        needed = [x.needed for x in runs]
        parts = tuple(zip(sizes, (x.method for x in runs), strict=True))
        return Searched(
            runs[-1].method if runs else "reduction",
            found,
            complete,
            min([least, *energies]),
            next((x.stopped for x in runs if x.stopped), ""),
            next((x.signum for x in runs if x.signum), 0),
            all(x.answered for x in runs),
            math.prod(x.states for x in runs) << left,
            math.prod(x.resumed for x in runs) << left if runs else 0,
            sum(x.seconds for x in runs),
            sum(x.resumed_shards for x in runs),
            {**sum((Counter(x.facts) for x in runs), Counter()), "parts": parts},
            runs[-1].bounds if runs else (),
            None if None in needed else sum(x for x in needed if x is not None),
        )

    def _found(self, states: NDArray[np.int8]) -> Found:
        """States of the model in spectral order, with exact energies."""
        terms = self.asked.terms
        if self.held:
            states = np.concatenate([states, -states])
        words, codes = terms.words(states), pack(states)
        order = spectral_order(words, codes)
        lowest = self.asked.cut(codes[order], words[order])
        return Found(lowest["states"], lowest["energies"], {})


def _kind(terms: ExactTerms) -> np.dtype[Any]:
    """What holds energies of what is left of a model."""
    return integers(4 * terms.bound << SPARE_BITS)


def is_fine(terms: ExactTerms) -> bool:
    """Whether coefficients are so fine that few states tie."""
    every = (*terms.fields, *terms.couplings)
    return max(map(abs, every), default=0) >= _FINE * math.gcd(*every)
