"""Branch and bound under semidefinite bounds with triangle inequalities, for dense models of many spins.

Spins are fixed one after the other, the most strongly coupled first. Below a node, products of spins are the
entries of a matrix with ones on the diagonal that is positive semidefinite and keeps to the triangle
inequalities; the least energy of such matrices is a lower bound, which is proven in double precision from
multipliers found in single precision (docs/theory/spectrum.md). After F. Rendl, G. Rinaldi, A. Wiegele, Math.
Program. 121 (2010) 307, with the low-rank coordinate descent of P.-W. Wang, W.-C. Chang, J. Z. Kolter,
arXiv:1706.00476.
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

from hardscape import native
from hardscape.engine import (
    Context,
    Cpu,
    Device,
    RunOptions,
    Shard,
    ShardResult,
    solve,
    split,
)
from hardscape.ising.exact import to_limbs
from hardscape.ising.methods.exhaustive.blocks import Wanted, partial
from hardscape.ising.methods.lowest import LowestMethod, LowestWork
from hardscape.ising.methods.tabu.tabu import TabuWork
from hardscape.ising.result import code_words, from_codes, to_codes

#: Spins whose values number the shards, at most.
_PLACES = 20
#: Bits of the sum of all coefficients in the integers that bounds are made of.
_FINE_BITS = 42
#: States up to which this pays: each one that is wanted is a leaf of the tree.
_MOST_STATES = 10_000
#: Rounds of ascent of the bound of a search that is stopped.
_BOUND_ROUNDS = 20
#: Paths of an estimate, at least.
_LEAST_PATHS = 3
#: From so many spins on, and couplings for each, other trees are larger.
_SPINS, _COUPLINGS = 57, 4
#: Runs of tabu search for the first threshold, their moves for each spin, and most of a time limit for it.
_RUNS, _MOVES, _HINT_SHARE = 8, 500, 0.25


@dataclass(frozen=True)
class SemidefiniteWork(LowestWork):
    """The values of the first spins, in the order in which spins are fixed."""

    name: ClassVar[str] = "ising.spectrum.semidefinite"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "states"
    counters: ClassVar[tuple[str, ...]] = ("nodes", "cut", "leaves", "candidates")

    asked: Wanted
    gauge: int = 0  #: a low state, which is searched first

    @property
    def wanted(self) -> Wanted:
        """What is asked for."""
        return self.asked

    def digest(self) -> str:
        """Hash of the model, of what is wanted and of the gauge, which orders the shards."""
        parts = (self.gauge, self.asked.count, self.asked.window, self.asked.cutoff)
        return hashlib.sha256(self.asked.terms.canonical() + repr(parts).encode()).hexdigest()

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Spins, the most strongly coupled first; but first that of which one value is searched."""
        terms = self.asked.terms
        strength = [abs(field) for field in terms.fields]
        for i, j, x in zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True):
            strength[i] += abs(x)
            strength[j] += abs(x)
        last = terms.num_spins - 1 if terms.symmetric else None
        return tuple(sorted(range(terms.num_spins), key=lambda i: (i != last, -strength[i], i)))

    @property
    def shift(self) -> int:
        """Logarithm of the unit of the integers that bounds are made of."""
        return max(0, self.asked.terms.bound.bit_length() - _FINE_BITS)

    @cached_property
    def core(self) -> Any:
        """The compiled search."""
        terms, n, order = self.asked.terms, self.asked.terms.num_spins, self.order
        matrix = [[0] * n for _ in range(n)]
        for i, j, x in zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True):
            matrix[i][j] = matrix[j][i] = x
        shift = self.shift
        # A flip changes an energy by twice a sum of coefficients.
        step = 2 * math.gcd(*terms.fields, *terms.couplings) if shift == 0 else 1
        return native.vector.ising.semidefinite_search(
            shift,
            max(step, 1),
            to_limbs([terms.fields[i] for i in order], terms.limbs),
            to_limbs([matrix[i][j] for i in order for j in order], terms.limbs),
            to_limbs([terms.offset], terms.limbs)[0],
            np.array(order, dtype=np.int64),
            to_codes([self.gauge], code_words(n))[0],
        )

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "core"}
        return {**state, "known": None}

    @property
    def free(self) -> int:
        """Number of spins that are searched."""
        return self.asked.terms.num_spins - self.asked.terms.symmetric

    @property
    def places(self) -> int:
        """Spins whose values number the shards."""
        return min(_PLACES, self.free)

    def shards(self) -> Sequence[Shard]:
        """One for each value of the first spins."""
        return split(1 << self.free, 1 << self.places)

    def joined(self) -> int:
        """All: most are never met."""
        return 1 << self.places

    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """The bound of all states, wherever they lie."""
        bound: float = self.core.bound(_BOUND_ROUNDS)
        if not math.isfinite(bound):
            return None
        terms, shift = self.asked.terms, self.shift
        open_terms = terms.num_spins * (terms.num_spins + 1) // 2 if shift else 0
        return terms.offset + ((math.floor(bound) - open_terms) << shift)

    def brief(self, device: Device) -> bool:
        """It takes longer than a moment."""
        return False

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Search the states of some shards."""
        word, bits = self.asked.word, self.free - self.places
        first, last = shard.start >> bits, shard.stop >> bits
        # The first spin of a model without fields has one value, that of the last half of states.
        states, energies, complete, *counters, reached = self.core.run(
            self.places + self.asked.terms.symmetric,
            first,
            last,
            self.asked.count,
            word(self.limit(context.incumbent)),
            word(self.asked.window),
            context.stop,
            context.seconds,
        )
        found = partial(states, energies, counters)
        return ShardResult(found, complete, None if reached == last else reached)


class Semidefinite(LowestMethod[SemidefiniteWork]):
    """Nodes are cut by semidefinite bounds: few of them, of milliseconds each."""

    name: ClassVar[str] = "semidefinite"

    devices: ClassVar[tuple[type[Device], ...]] = (Cpu,)

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It is refused where every state is to be visited, or very many are wanted."""
        if not prune:
            return "prune=False visits every state"
        if wanted.count > _MOST_STATES:
            return f"of more than {_MOST_STATES} states each one would be a leaf of its tree"
        return ""

    def pays(self, wanted: Wanted) -> bool:
        """Whether it is quicker than other trees."""
        terms = wanted.terms
        return terms.num_spins >= _SPINS and len(terms.row) >= _COUPLINGS * terms.num_spins

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> SemidefiniteWork:
        """The work that answers, with a threshold from a search for low states."""
        work = SemidefiniteWork(wanted)
        low = work.low_states(options.seed)
        work = replace(work, gauge=from_codes(low["states"][0]), known=work.both(None, low))
        limit = options.deadline.seconds
        share = None if limit is None else _HINT_SHARE * limit
        moves = _MOVES * max(1, wanted.terms.num_spins)
        tabu = TabuWork(wanted.terms, wanted.count, _RUNS, moves, options.seed)
        found = solve(tabu, options.preparing(share)).partial
        if found is not None and len(found["states"]):
            # Of states and their partners: this tells more than those of them that are searched. The gauge
            # stays that of the first ones, which no time limit changes.
            low = work.searched(found["states"], found["energies"])
            known = work.both(work.known, low)
            work = replace(work, threshold=wanted.limit(found), known=known)
        return work.knowing(given)

    def sample(self, work: SemidefiniteWork, device: Device, allowed: float) -> float:
        """Seconds on one lane, by random paths."""
        limit, symmetric = work.wanted.word(work.limit(None)), work.wanted.terms.symmetric
        stop = np.zeros(1, dtype=np.uint8)
        began, paths, total = time.perf_counter(), 0, 0.0
        while paths < _LEAST_PATHS or time.perf_counter() < began + allowed:
            total += work.core.probe(symmetric, paths, work.wanted.count, limit, stop)
            paths += 1
        return total / paths
