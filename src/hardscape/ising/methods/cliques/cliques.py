"""Branch and bound under clique covers of conflicts, for QUBOs with penalties.

Variables are rivals where their coupling is not below what one of both could gain by being 1. Of a clique of
rivals one gains at most: with what each variable gains spread over such cliques, a node has a lower bound
(docs/theory/spectrum.md). After E. Balas, J. Xue, SIAM J. Comput. 20 (1991) 209, and S. Held, W. Cook,
E. C. Sewell, Math. Program. Comput. 4 (2012) 363, who bound heaviest stable sets so.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import (
    Context,
    Cpu,
    Device,
    Partial,
    RunOptions,
    Shard,
    ShardResult,
    solve,
)
from hardscape.ising.exact import from_limbs, to_limbs
from hardscape.ising.methods.branching import BranchingWork
from hardscape.ising.methods.cliques.qubo import Qubo
from hardscape.ising.methods.exhaustive.blocks import Wanted, partial
from hardscape.ising.methods.lowest import MOST_SEARCHED, LowestMethod
from hardscape.ising.methods.tabu.tabu import TabuWork
from hardscape.ising.result import code_words, from_codes, to_codes

#: Share of all gains, at most, that the cliques of a model with penalties gain together.
_COVER = 0.6
#: Low states that are looked at for ties, and how many of them there must be.
_LOOKED_AT, _TIES = 1000, 500
#: Runs of tabu search for the first threshold, their moves for each spin, and most of a time limit for it.
_RUNS, _MOVES, _HINT_SHARE = 2, 500, 0.25
#: Most states for which that search is made.
_MOST_STATES = 10_000
#: Paths of an estimate, and nodes in a second.
_PATHS, _NODES_A_SECOND = 200, 3e6
#: Spins from which on it is tried, nodes of the trial, and logarithm of those beyond which it is given up.
_SPINS, _TRIAL_NODES, _MOST_BITS = 30, 3e5, 36
#: Nodes of a trial where many low states tie, so that nothing estimates a search.
_LONG_TRIAL = 2e6
#: Nodes of the trial before spins are taken out of the model.
_FEW_NODES = 3e4


@dataclass(frozen=True)
class CliqueWork(BranchingWork):
    """The values of the first spins, in the order in which they are fixed."""

    name: ClassVar[str] = "ising.spectrum.cliques"
    revision: ClassVar[int] = 1
    most_places: ClassVar[int] = 12
    first_share: ClassVar[float] = 0.85  # of stable sets of 100 to 128 vertices, as measured
    counters: ClassVar[tuple[str, ...]] = ("nodes", "cut", "candidates")
    here: ClassVar[tuple[str, ...]] = ("core", "qubo", "known")

    down_is_one: bool = False  #: which spins are variables that are 1
    lexical: bool = False  #: whether states are searched in the order of their codes

    def digest(self) -> str:
        """Hash of the model, of what is wanted and of what orders the shards."""
        asked, shape = self.asked, (self.gauge, self.down_is_one, self.lexical)
        parts = (*shape, asked.count, asked.window, asked.cutoff)
        return hashlib.sha256(asked.terms.canonical() + repr(parts).encode()).hexdigest()

    @cached_property
    def qubo(self) -> Qubo:
        """The model in variables 0 and 1."""
        return Qubo.of(self.asked.terms, self.down_is_one)

    @property
    def widths(self) -> tuple[int, int]:
        """Words of an energy and of a state in the compiled search."""
        return self.qubo.limbs, code_words(self.asked.terms.num_spins)

    @cached_property
    def core(self) -> Any:
        """The compiled search."""
        qubo, terms = self.qubo, self.asked.terms
        n = terms.num_spins
        order = list(range(n - 1, -1, -1)) if self.lexical else qubo.order(terms.symmetric)
        matrix = qubo.matrix
        return native.core.ising.clique_search(
            to_limbs([qubo.linear[i] for i in order], qubo.limbs),
            to_limbs([matrix[i][j] for i in order for j in order], qubo.limbs),
            to_limbs([qubo.offset], qubo.limbs)[0],
            np.array(order, dtype=np.int64),
            self.down_is_one,
            self.lexical,
            to_codes([self.gauge], code_words(n))[0],
        )

    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """The bound of all states, wherever they lie."""
        return from_limbs(self.core.bound()[None])[0]

    def word(self, value: int | None) -> NDArray[np.uint64] | None:
        """Two's complement words of one integer, or None."""
        return None if value is None else to_limbs([value], self.qubo.limbs)[0]

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Search the states of some shards."""
        bits = self.free - self.places
        first, last = shard.start >> bits, shard.stop >> bits
        stop, seconds = context.stop, context.seconds
        found, complete, reached = self.searched_range(
            first, last, context.incumbent, context.shared, stop, seconds, math.inf
        )
        return ShardResult(found, complete, None if reached == last else reached)

    def searched_range(
        self,
        first: int,
        last: int,
        incumbent: Partial | None,
        shared: NDArray[np.uint64] | None,
        stop: NDArray[np.uint8],
        seconds: float,
        most_nodes: float,
    ) -> tuple[Partial, bool, int]:
        """What is found among values [first, last) of the first spins, whether all, and before which."""
        # The first spin of a model without fields has one value, that of the last half of states.
        states, energies, complete, *counters, reached = self.core.run(
            self.places + self.asked.terms.symmetric,
            first,
            last,
            self.asked.count,
            self.word(self.limit(incumbent)),
            self.word(self.asked.window),
            self.asked.terms.symmetric,
            shared,
            stop,
            seconds,
            most_nodes,
        )
        energies = np.ascontiguousarray(energies[:, : self.asked.terms.limbs])
        return partial(states, energies, counters), complete, reached

    @property
    def covered(self) -> bool:
        """Whether cliques gain together far less than all variables could."""
        gains = sum(x for x in self.qubo.gains if x > 0)
        return self.qubo.offset - from_limbs(self.core.bound()[None])[0] <= _COVER * gains

    def tried(self, most_nodes: float) -> tuple[Partial, bool]:
        """What is found with so many nodes, and whether that is all."""
        last, stop = 1 << self.places, np.zeros(1, dtype=np.uint8)
        return self.searched_range(0, last, None, None, stop, math.inf, most_nodes)[:2]

    def small(self) -> bool:
        """Whether a search is short, by a trial and by an estimate with what that found."""
        if not self.covered:
            return False
        found, complete = self.tried(_TRIAL_NODES)
        if complete:
            return True
        limit = self.asked.limit(self.both(self.known, found), self.threshold)
        if self.lexical or limit is None:
            # Nothing estimates it, and others take longer than a longer trial.
            return self.tried(_LONG_TRIAL)[1]
        work = replace(self, threshold=limit)
        vars(work).update(core=self.core)
        bits = min(_MOST_BITS, self.asked.terms.num_spins // 2)
        return work.expected_nodes(_PATHS) < 1 << bits

    def expected_nodes(self, paths: int) -> float:
        """Nodes of a search, by random paths."""
        limit, count = self.word(self.limit(None)), self.asked.count
        return float(np.mean([self.core.probe(i, count, limit) for i in range(paths)]))


class Cliques(LowestMethod[CliqueWork]):
    """Nodes are cut by clique covers: many of them, of microseconds each."""

    name: ClassVar[str] = "cliques"
    devices: ClassVar[tuple[type[Device], ...]] = (Cpu,)

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It is refused where every state is to be visited."""
        if not prune:
            return "prune=False visits every state"
        if wanted.terms.num_spins > MOST_SEARCHED:
            return f"'cliques' takes at most {MOST_SEARCHED} spins"
        return ""

    def pays(self, wanted: Wanted) -> bool:
        """Whether many pairs are rivals, and the tree seems to be small."""
        return _rivals(wanted) and _begun(wanted, 1).small()

    def outright(self, wanted: Wanted) -> bool:
        """Whether a search is very short: spins that are taken out break groups up of which one gains."""
        return _rivals(wanted) and _short(wanted)

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> CliqueWork:
        """The work that answers, with a threshold from a search for low states."""
        work = _begun(wanted, options.seed)
        limit = options.deadline.seconds
        share = None if limit is None else _HINT_SHARE * limit
        if wanted.count > _MOST_STATES:
            return work.knowing(given)
        moves = _MOVES * max(1, wanted.terms.num_spins)
        tabu = TabuWork(wanted.terms, wanted.count, _RUNS, moves, options.seed)
        found = solve(tabu, options.preparing(share)).partial
        if found is not None and len(found["states"]):
            low = work.searched(found["states"], found["energies"])
            threshold = wanted.limit(found, work.threshold)
            work = replace(work, threshold=threshold, known=work.both(work.known, low))
        return work.knowing(given)

    def sample(self, work: CliqueWork, device: Device, allowed: float) -> float:
        """Seconds on one lane, by random paths."""
        until, paths = time.perf_counter() + allowed, _PATHS
        nodes = work.expected_nodes(paths)
        while time.perf_counter() < until:
            paths *= 2
            nodes = work.expected_nodes(paths)
        return nodes / _NODES_A_SECOND


def _rivals(wanted: Wanted) -> bool:
    """Whether many pairs are rivals, of spins that are not few, nor too many."""
    terms = wanted.terms
    searched = _SPINS <= terms.num_spins <= MOST_SEARCHED
    return searched and any(Qubo.rivalry(terms, x) for x in (False, True))


@lru_cache(maxsize=2)
def _short(wanted: Wanted) -> bool:
    """Whether few nodes end a search."""
    work = _begun(wanted, 1)
    return work.covered and work.tried(_FEW_NODES)[1]


@lru_cache(maxsize=2)
def _begun(wanted: Wanted, seed: int) -> CliqueWork:
    """The work with what a short search for low states tells."""
    work = CliqueWork(wanted)
    low = work.low_states(seed, max(_LOOKED_AT, min(wanted.count, _MOST_STATES)))
    n, gauge = wanted.terms.num_spins, from_codes(low["states"][0])
    ties = int((low["energies"][:_LOOKED_AT] == low["energies"][0]).all(axis=1).sum())
    known = work.both(None, low)
    return replace(
        work,
        gauge=0 if ties >= _TIES else gauge,
        down_is_one=2 * gauge.bit_count() > n,
        lexical=ties >= _TIES,
        threshold=wanted.limit(known),
        known=known,
    )
