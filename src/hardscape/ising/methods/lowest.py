"""What methods that find the lowest states have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Cpu, Cuda, Device, Partial, RunOptions, Shard, Work
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs
from hardscape.ising.methods.exhaustive.blocks import Found, Wanted
from hardscape.ising.methods.runs import distinct
from hardscape.ising.methods.tabu.tabu import TabuWork
from hardscape.ising.result import code_words, pack, spectral_order, to_codes

#: Most spins of a method whose states are two words; others may take any number.
MOST_SEARCHED = 128
#: States kept of a short tabu search, and its moves, times the number of spins squared.
_FIRST_STATES, _MOVES = 1000, 1
#: States up to which sorting them anew is the quickest way to merge them with their partners.
_FEW_STATES = 4096


@dataclass(frozen=True)
class Whole:
    """What an energy of a part says of the whole model: ``(energy * 2**shift + rest) / 2**spare``."""

    terms: ExactTerms
    shift: int = 0
    met: int = 0  #: the rest where it is as low as was met
    least: int = 0  #: what it is at least
    spare: int = 0

    def energies(self, best: int, bound: int) -> tuple[float, float]:
        """Energies of the whole model in its own units, rounded up to those that there can be."""
        both = (best << self.shift) + self.met, (bound << self.shift) + self.least
        best_float, bound_float = self.terms.floats([-(-x >> self.spare) for x in both]).tolist()
        return best_float, bound_float


@dataclass(frozen=True)
class LowestWork(Work[Found]):
    """A search for the lowest states. Models without fields give one of each two partners.

    A partial holds ``states`` and ``energies``, as `Found`, and ``counters``.
    """

    #: What a partial counts.
    counters: ClassVar[tuple[str, ...]]

    #: Exact energy that no wanted state lies above; a hint.
    threshold: int | None = field(default=None, kw_only=True)
    #: States known before, of those that are searched: the best so far of a call that is stopped.
    known: Partial | None = field(default=None, kw_only=True)
    #: Energies of the whole model, where this is a part of it.
    whole: Whole | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def wanted(self) -> Wanted:
        """What is asked for."""

    def nothing(self) -> Partial:
        """The partial of no states."""
        terms = self.wanted.terms
        return {
            "states": np.empty((0, code_words(terms.num_spins)), dtype=np.uint64),
            "energies": np.empty((0, terms.limbs), dtype=np.uint64),
            "counters": np.zeros(len(self.counters), dtype=np.uint64),
        }

    def knowing(self, states: NDArray[np.int8] | None) -> Self:
        """The same work with states, int8 of shape (k, N), that somebody knows."""
        if states is None or not len(states):
            return self
        return replace(self, known=self.both(self.known, self.packed(states)))

    def running(self) -> AbstractContextManager[None]:
        """What lasts as long as it is searched."""
        return nullcontext()

    def proved_by(self, name: str, found: Found) -> str:
        """The method that found the answer; `name` is the one that was chosen."""
        return name

    def best_so_far(self, partial: Partial | None) -> Found:
        """The answer of a call that was stopped: of what it found, and of what was known before."""
        return self.result(self.both(self.known, partial or self.nothing()))

    def lower_bound(self, done: Sequence[tuple[int, int]], found: Found) -> int | None:
        """No state has a lower energy, where all states of these ranges of units are in `found`, or higher."""
        cutoff, states = self.wanted.cutoff, self.shards()[-1].stop
        known = from_limbs(found.energies[:1]) or ([] if cutoff is None else [cutoff + 1])
        ends = [0, *(x for both in done for x in both), states]
        left = [(x, y) for x, y in zip(ends[::2], ends[1::2], strict=True) if x < y]
        if not left:
            return min(known, default=None)
        bound = self.least_bound(left)
        return None if bound is None else min([*known, bound])

    def bounds(
        self, parts: Sequence[Partial], done: Sequence[tuple[int, int]]
    ) -> tuple[float, float] | None:
        """The lowest energy met, of states known before, too, and one that no state lies below."""
        terms = self.wanted.terms
        told = [self.known, *parts] if self.known is not None else parts
        known = [x for part in told for x in from_limbs(part["energies"][:1])]
        if not known:
            return None
        best = min(known)
        energies = to_limbs([best], terms.limbs)
        found = Found(np.empty((0, 1), dtype=np.uint64), energies, {}, self.proven(parts))
        bound = self.lower_bound(done, found)
        least = terms.offset + abs(terms.offset) - terms.bound
        whole = self.whole or Whole(terms)
        return whole.energies(best, least if bound is None else max(least, bound))

    def proven(self, parts: Sequence[Partial]) -> int | None:
        """What no state that was not found has a lower energy than, by what parts that are not done told."""
        return None

    @abstractmethod
    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """No state of these ranges of units, in order and apart, has a lower energy; None if unknown."""

    def low_states(self, seed: int, count: int | None = None, moves: int | None = None) -> Partial:
        """Low states, so many or a few, by a short tabu search; always the same ones for one seed."""
        terms = self.wanted.terms
        kept = count or min(self.wanted.count, _FIRST_STATES)
        work = TabuWork(terms, kept, 1, moves or _MOVES * terms.num_spins**2, seed)
        found = work.run(Shard(0, 0, 1), Context(Cpu(), None, np.zeros(1, dtype=np.uint8))).partial
        return self.searched(found["states"], found["energies"])

    def packed(self, states: NDArray[np.int8]) -> Partial:
        """Known states, int8 of shape (k, N), as a partial."""
        return self.searched(pack(states), self.wanted.terms.words(states))

    def searched(self, states: NDArray[np.uint64], energies: NDArray[np.uint64]) -> Partial:
        """States, or those of their partners that are searched, in order."""
        if self.wanted.terms.symmetric:
            last = self.wanted.terms.num_spins - 1
            up = (states[:, last // 64] >> np.uint64(last % 64)).astype(bool)
            mask = to_codes([(1 << last + 1) - 1], code_words(last + 1))
            states = np.where(up[:, None], states ^ mask, states)
        lowest = distinct(states, energies)
        return {**self.nothing(), **lowest}

    def both(self, known: Partial | None, found: Partial) -> Partial:
        """What is wanted of two lists that may have states in common; the counters are those of `found`."""
        if known is not None:
            both = [known, found]
            states, energies = (
                np.concatenate([x[name] for x in both]) for name in ("states", "energies")
            )
        else:
            states, energies = found["states"], found["energies"]
        lowest = distinct(states, energies)
        return {
            **self.wanted.cut(lowest["states"], lowest["energies"]),
            "counters": found["counters"],
        }

    def hint(self, known: Partial | None, parts: Sequence[Partial]) -> Partial | None:
        """The exact energy that no wanted state lies above, ``limit``."""
        limit = self.wanted.limit_of(parts)
        if limit is None or (known is not None and from_limbs(known["limit"])[0] <= limit):
            return known
        return {"limit": to_limbs([limit], self.wanted.terms.limbs)}

    def result(self, partial: Partial) -> Found:
        """The states found, with their flip partners where the model has no fields."""
        lowest = self.wanted.cut(partial["states"], partial["energies"])
        states, energies = lowest["states"], lowest["energies"]
        if self.wanted.terms.symmetric:
            states, energies = self._with_partners(states, energies)
        counters = dict(zip(self.counters, map(int, partial["counters"].tolist()), strict=True))
        return Found(states, energies, counters)

    def _with_partners(
        self, states: NDArray[np.uint64], energies: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The lowest of these states and their flip partners."""
        n = self.wanted.terms.num_spins
        partners = states ^ to_codes([(1 << n) - 1], code_words(n))
        if len(states) <= _FEW_STATES:
            states = np.concatenate([states, partners])
            energies = np.concatenate([energies, energies])
            order = spectral_order(energies, states)[: self.wanted.count]
            return states[order], energies[order]
        # The partners of a level's states are in order from the last to the first.
        changes = np.flatnonzero((energies[1:] != energies[:-1]).any(axis=1)) + 1
        starts = np.concatenate([[0], changes])
        sizes = np.diff(np.append(starts, len(states)))
        mirrored = np.repeat(2 * starts + sizes - 1, sizes) - np.arange(len(states))
        return native.vector.ising.merge_spectra(
            states, energies, partners[mirrored], energies, self.wanted.count
        )

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The lowest states of both."""
        return self.wanted.merge(left, right)

    def states_searched(self, units: int) -> int:
        """A unit is a state, or two partners."""
        return units << self.wanted.terms.symmetric

    def memory_bytes(self, lanes: int) -> int:
        """A pool and its sorted copy a lane, the merged ones, and the result's states."""
        terms = self.wanted.terms
        lists = (3 * lanes + 4) * 8 * (1 + terms.limbs)
        states = 2 * (terms.num_spins + 8) * (1 + self.wanted.terms.symmetric)
        return self.wanted.count * (lists + states)

    def limit(self, incumbent: Partial | None) -> int | None:
        """Tightest energy known that no wanted state lies above."""
        known = [] if self.threshold is None else [self.threshold]
        told = [] if incumbent is None else from_limbs(incumbent["limit"])
        return min(known + told, default=None)


Some = TypeVar("Some", bound=LowestWork)


class LowestMethod(ABC, Generic[Some]):
    """A row of the table of `spectrum`."""

    name: ClassVar[str]
    #: On which it runs.
    devices: ClassVar[tuple[type[Device], ...]] = (Cpu, Cuda)

    @abstractmethod
    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """Why this method cannot answer; empty if it can."""

    def pays(self, wanted: Wanted) -> bool:
        """Whether it should answer where others can, too, that come after it in the table."""
        return True

    def runs_on(self, device: Device, wanted: Wanted) -> bool:
        """Whether a device takes it."""
        return isinstance(device, self.devices)

    def gpu_pays(self, wanted: Wanted) -> bool:
        """Whether a GPU is quicker, its start included, where the device is left open."""
        return False

    def outright(self, wanted: Wanted) -> bool:
        """Whether it needs no smaller model: what others could take out makes no difference to it."""
        return False

    @abstractmethod
    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> Some:
        """The work that answers, with all hints that its shards profit from, and the states given."""

    def foreseen(self, work: Some, options: RunOptions) -> float | None:
        """Seconds of the whole search where no sample is needed to tell."""
        return None

    @abstractmethod
    def sample(self, work: Some, device: Device, allowed: float) -> float:
        """Seconds of the whole search on one lane, by a sample of it that takes about so many."""
