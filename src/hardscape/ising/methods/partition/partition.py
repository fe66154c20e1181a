"""Number partitioning, subset sums and other squares of one sum, by meeting in the middle.

The states nearest to zero are first sought among those whose last spins are down: few of them, then more and
more. Where so many are met at the least distance that there can be, none of the others is wanted
(docs/theory/spectrum.md). After E. Horowitz, S. Sahni, J. ACM 21 (1974) 277, and R. Schroeppel, A. Shamir,
SIAM J. Comput. 10 (1981) 456.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import memory, native
from hardscape.engine import Context, Cpu, Device, RunOptions, Shard, ShardResult, solve, split
from hardscape.ising.exact import LIMB_CHOICES, from_limbs, to_limbs
from hardscape.ising.methods.exhaustive.blocks import Wanted, partial
from hardscape.ising.methods.lowest import MOST_SEARCHED, LowestMethod, LowestWork
from hardscape.ising.methods.partition.squares import Square
from hardscape.ising.result import code_words, unpack

#: Spins of the first search, by how many the next ones grow, and of the last one before that of all.
_FIRST, _GROWTH, _LAST = 16, 4, 40
#: Logarithm of the sums of a half that are held at once, and most slices.
_SLICE_BITS, _MOST_SLICES = 20, 1 << 16
#: Spins whose sums are found in milliseconds.
_BRIEF = 32
#: From so many spins on it pays.
_SPINS = 25


@dataclass(frozen=True)
class PartitionWork(LowestWork):
    """States whose spins from `bits` on are down; a shard is a slice of the sums of half of the others."""

    name: ClassVar[str] = "ising.spectrum.partition"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "states"
    counters: ClassVar[tuple[str, ...]] = ("candidates",)
    here: ClassVar[tuple[str, ...]] = ("core", "known")

    asked: Wanted
    square: Square
    bits: int

    @property
    def wanted(self) -> Wanted:
        """What is asked for."""
        return self.asked

    def digest(self) -> str:
        """Hash of the model and of what is wanted."""
        parts = (self.asked.count, self.asked.window, self.asked.cutoff, self.bits)
        return hashlib.sha256(self.asked.terms.canonical() + repr(parts).encode()).hexdigest()

    @property
    def slices(self) -> int:
        """How many slices the sums of a half have."""
        return min(_MOST_SLICES, 1 << max(0, self.bits // 2 - _SLICE_BITS))

    def shards(self) -> Sequence[Shard]:
        """One a slice."""
        return split(1 << self.bits, self.slices)

    @property
    def limbs(self) -> int:
        """Words of a sum, with bits to spare."""
        reach = sum(map(abs, self.square.numbers)) + abs(self.square.shift)
        return next(limbs for limbs in LIMB_CHOICES if 64 * limbs >= reach.bit_length() + 6)

    @cached_property
    def core(self) -> Any:
        """The compiled search: the quarters' sums."""
        least = self.square.shift - sum(self.square.numbers)
        return native.core.ising.halves(
            to_limbs([2 * x for x in self.square.numbers[: self.bits]], self.limbs),
            to_limbs([least], self.limbs)[0],
            code_words(self.asked.terms.num_spins),
            self.slices,
        )

    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """What the common remainder of all sums tells."""
        return self.square.floor

    def brief(self, device: Device) -> bool:
        """Whether there are few sums."""
        return self.bits <= _BRIEF

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Find the states nearest to zero of a slice."""
        limit = self.limit(context.incumbent)
        far = None if limit is None else self.square.within(limit)
        if far is not None and far < 0:
            return ShardResult(self.nothing())
        states, _, complete, pairs = self.core.run(
            shard.index,
            shard.index + 1,
            self.asked.count,
            None if far is None else to_limbs([far], self.limbs)[0],
            context.stop,
        )
        terms = self.asked.terms
        energies = terms.words(unpack(states, terms.num_spins))
        found = partial(states, energies, [pairs])
        return ShardResult({**found, **self.asked.cut(states, energies)}, complete)

    def settled(self, states: NDArray[np.uint64]) -> bool:
        """Whether these are as many as are wanted, none of them further from zero than need be."""
        if len(states) < self.asked.count:
            return False
        words = self.asked.terms.words(unpack(states[-1:], self.asked.terms.num_spins))
        return self.square.within(from_limbs(words)[0]) == self.square.nearest

    def memory_bytes(self, lanes: int) -> int:
        """Lists of both halves a lane, those of the quarters, and the states listed."""
        each = 8 * (self.limbs + 1)
        sums = 1 << self.bits - self.bits // 2
        # Slices are not quite even, and vectors grow by half as much again.
        held = 0 if self.slices == 1 else lanes * (8 * sums // self.slices)
        whole = 4 * (sums if self.slices == 1 else math.isqrt(2 * sums))
        return super().memory_bytes(lanes) + each * (held + whole)


class Partition(LowestMethod[PartitionWork]):
    """Some 2**(N/2) sums are made, of models that are squares of one sum."""

    name: ClassVar[str] = "partition"
    devices: ClassVar[tuple[type[Device], ...]] = (Cpu,)

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It takes nothing but squares."""
        if not prune:
            return "prune=False visits every state"
        if Square.of(wanted.terms) is None:
            return "the energy is not the square of one weighted sum of spins"
        if wanted.terms.num_spins > MOST_SEARCHED:
            return f"'partition' takes at most {MOST_SEARCHED} spins"
        return ""

    def pays(self, wanted: Wanted) -> bool:
        """Of few spins all states are soon visited."""
        return wanted.terms.num_spins >= _SPINS

    def outright(self, wanted: Wanted) -> bool:
        """The square of one sum has no parts, and few that are smaller are squares."""
        return self.pays(wanted)

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> PartitionWork:
        """The work that answers: of as many spins as it takes, under the threshold that fewer tell."""
        square = Square.of(wanted.terms)
        assert square is not None
        free = wanted.terms.num_spins - wanted.terms.symmetric
        work = PartitionWork(wanted, square, min(free, _FIRST)).knowing(given)
        if work.known is not None:
            work = replace(work, threshold=wanted.limit(work.known))
        while work.bits < free and not options.deadline.up:
            found = solve(work, options.preparing(None)).partial
            if found is not None:
                known = work.both(work.known, found)
                work = replace(work, threshold=wanted.limit(known, work.threshold), known=known)
                if work.settled(found["states"]):
                    return work
            bits = work.bits + _GROWTH
            work = replace(work, bits=bits if bits <= min(free, _LAST) else free)
        work = replace(work, bits=free)
        memory.require(work.memory_bytes(1), f"sums of {free} numbers")
        return work

    def sample(self, work: PartitionWork, device: Device, allowed: float) -> float:
        """Seconds of the whole search on one lane, by one slice."""
        began = time.perf_counter()
        shards = work.shards()
        stop = np.zeros(1, dtype=np.uint8)
        core = work.core
        prepared = time.perf_counter() - began
        work.run(shards[len(shards) // 2], Context(device, None, stop))
        assert core is work.core
        return prepared + len(shards) * (time.perf_counter() - began - prepared)
