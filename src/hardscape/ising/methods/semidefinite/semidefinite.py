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
    Cuda,
    Device,
    Partial,
    RunOptions,
    Shard,
    ShardResult,
    solve,
)
from hardscape.engine.cuda import cuda_device
from hardscape.ising.exact import from_limbs, to_limbs
from hardscape.ising.methods.branching import BranchingWork
from hardscape.ising.methods.exhaustive.blocks import Wanted, partial
from hardscape.ising.methods.lowest import LowestMethod
from hardscape.ising.methods.semidefinite.device_bounds import MOST_SPINS as MOST_GPU_SPINS
from hardscape.ising.methods.semidefinite.device_bounds import search
from hardscape.ising.methods.tabu.tabu import TabuWork
from hardscape.ising.methods.walkers.place import GpuPlace, Place
from hardscape.ising.result import code_words, from_codes, to_codes

#: Bits of the sum of all coefficients in the integers that bounds are made of.
_FINE_BITS = 42
#: Bits of a state in the compiled search.
_MOST_SPINS = 512
#: States up to which this pays: each one that is wanted is a leaf of the tree.
_MOST_STATES = 10_000
#: Seconds for the bound of a search that is stopped.
_BOUND_SECONDS = 0.05
#: Spins whose values number the shards, those of several GPUs, and spins from which on a GPU pays.
_PLACES, _GPU_PLACES, _GPU_SPINS = 20, 6, 100
#: Seconds of a GPU for what takes a core a second, and for any search: sizes, not measurements.
_GPU_SHARE, _GPU_SECONDS = 0.01, 0.05
#: Paths of an estimate, at least.
_LEAST_PATHS = 8
#: From so many spins on, where they repel one another in the mean or not, other trees are larger.
_SPINS_REPELLING, _SPINS = 36, 57
#: Runs of tabu search for the first threshold, their moves for each spin, and most of a time limit for it.
_RUNS, _MOVES, _HINT_SHARE = 8, 500, 0.25
#: States that it keeps, at least: those that tie with the last one listed.
_KEPT = 1000


@dataclass(frozen=True)
class SemidefiniteWork(BranchingWork):
    """The values of the first spins, in the order in which spins are fixed."""

    name: ClassVar[str] = "ising.spectrum.semidefinite"
    revision: ClassVar[int] = 2
    counters: ClassVar[tuple[str, ...]] = ("nodes", "cut", "leaves", "candidates")
    here: ClassVar[tuple[str, ...]] = ("core",)

    leading: int = 0  #: spins of highest code that are fixed before all others
    numbered: int = _PLACES  #: spins whose values number the shards, at most

    @property
    def places(self) -> int:
        """See `BranchingWork.places`: a GPU takes all at once, unless there are others or a ledger."""
        return min(self.numbered, self.free)

    def digest(self) -> str:
        """Hash of the model, of what is wanted and of the gauge, which orders the shards."""
        parts = (self.gauge, self.leading, self.asked.count, self.asked.window, self.asked.cutoff)
        return hashlib.sha256(self.asked.terms.canonical() + repr(parts).encode()).hexdigest()

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Spins, the most strongly coupled first; but first that of which one value is searched."""
        terms = self.asked.terms
        strength = [abs(field) for field in terms.fields]
        for i, j, x in zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True):
            strength[i] += abs(x)
            strength[j] += abs(x)
        first = terms.num_spins - max(self.leading, terms.symmetric)
        others = sorted(range(first), key=lambda i: (-strength[i], i))
        return (*reversed(range(first, terms.num_spins)), *others)

    @property
    def shift(self) -> int:
        """Logarithm of the unit of the integers that bounds are made of."""
        return max(0, self.asked.terms.bound.bit_length() - _FINE_BITS)

    @property
    def widths(self) -> tuple[int, int]:
        """Words of an energy and of a state in the compiled search."""
        return self.asked.terms.limbs, code_words(_MOST_SPINS)

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

    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """The least bound of the tree above these states, rounded up to an energy that there can be."""
        # Of any numbering: a GPU's one shard says nothing of where its tree is open.
        places = min(_PLACES, self.free)
        terms, bits = self.asked.terms, self.free - places
        numbers = [x for start, stop in ranges for x in (start >> bits, -(-stop >> bits))]
        words = self.core.least_bound(
            places + terms.symmetric, np.array(numbers, dtype=np.uint64), _BOUND_SECONDS
        )
        if words is None:
            return None
        some = terms.offset + sum(terms.fields) + sum(terms.couplings)
        step = 2 * math.gcd(*terms.fields, *terms.couplings)
        bound: int = from_limbs(words)[0]
        return some - (some - bound) // step * step if step else terms.offset

    def limit_of(self, known: Partial) -> int | None:
        """Tightest energy that no wanted state lies above, by states that are searched, in order."""
        energies = np.repeat(known["energies"], 1 + self.asked.terms.symmetric, axis=0)
        return self.asked.limit({"energies": energies})

    def hint(self, known: Partial | None, parts: Sequence[Partial]) -> Partial | None:
        """The lowest states: all parts begin with them, so that each tells which ties are not wanted."""
        best = known or self.known
        for part in parts:
            best = self.both(best, part)
        return best

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The lowest states of both, which may have some in common."""
        return {**self.both(left, right), "counters": left["counters"] + right["counters"]}

    def sought(self, known: Partial | None) -> tuple[Any, ...]:
        """What the compiled search is told of what is wanted, and of what is known."""
        word, known = self.asked.word, known or self.known or self.nothing()
        limits = word(self.limit_of(known)), word(self.asked.window)
        listed, witness = self.asked.count - 1, not self.asked.terms.symmetric
        return listed, witness, *limits, known["states"], known["energies"]

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Search the states of some shards."""
        if isinstance(context.device, Cuda):
            with cuda_device(context.device.ordinal) as device:
                return self.bounded_at(GpuPlace(device), shard, context)
        bits = self.free - self.places
        first, last = shard.start >> bits, shard.stop >> bits
        # The first spin of a model without fields has one value, that of the last half of states.
        states, energies, complete, *counters, reached = self.core.run(
            self.places + self.asked.terms.symmetric,
            first,
            last,
            *self.sought(context.incumbent),
            context.shared,
            context.stop,
            context.seconds,
        )
        found = partial(states, energies, counters)
        return ShardResult(found, complete, None if reached == last else reached)

    def bounded_at(self, place: Place, shard: Shard, context: Context) -> ShardResult:
        """The same with the bounds of many nodes at once, found at one place."""
        bits = self.free - self.places
        numbers = shard.start >> bits, shard.stop >> bits
        places = self.places + self.asked.terms.symmetric
        task = (places, *numbers, *self.sought(context.incumbent))
        states, energies, complete, *counters, _ = search(self.core, task, place, context)
        return ShardResult(partial(states, energies, counters), complete)


def _leading(low: Partial, wanted: Wanted) -> int:
    """Spins to be fixed in the order of codes, so that most nodes are beyond the last tie listed.

    Of states of the same energy the lowest codes are listed: where many tie, their highest spins are down.
    """
    states, energies, listed = low["states"], low["energies"], wanted.count - 1
    if len(states) <= listed or (energies[listed] != energies[listed - 1]).any():
        return 0
    return wanted.terms.num_spins - from_codes(states[listed - 1]).bit_length()


class Semidefinite(LowestMethod[SemidefiniteWork]):
    """Nodes are cut by semidefinite bounds: few of them, of milliseconds each."""

    name: ClassVar[str] = "semidefinite"

    devices: ClassVar[tuple[type[Device], ...]] = (Cpu, Cuda)

    def runs_on(self, device: Device, wanted: Wanted) -> bool:
        """See `LowestMethod.runs_on`: a GPU's blocks have room for so many spins."""
        room = isinstance(device, Cpu) or wanted.terms.num_spins <= MOST_GPU_SPINS
        return room and super().runs_on(device, wanted)

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It is refused where every state is to be visited, or very many are wanted."""
        if not prune:
            return "prune=False visits every state"
        if wanted.terms.num_spins > _MOST_SPINS:
            return f"'semidefinite' takes at most {_MOST_SPINS} spins"
        if wanted.count > _MOST_STATES:
            return f"of more than {_MOST_STATES} states each one would be a leaf of its tree"
        return ""

    def pays(self, wanted: Wanted) -> bool:
        """Whether it is quicker than other trees."""
        terms = wanted.terms
        n, total = terms.num_spins, sum(terms.couplings)
        # Couplings that are positive in the mean, by half their spread or more, as those of cuts and
        # budgets are, make the other trees' bounds weak.
        squares = sum(x * x for x in terms.couplings)
        repelling = total > 0 and 10 * total**2 >= n * (n - 1) * squares
        return n >= (_SPINS_REPELLING if repelling else _SPINS)

    def gpu_pays(self, wanted: Wanted) -> bool:
        """See `LowestMethod.gpu_pays`: a first call takes some tenths of a second longer."""
        return _GPU_SPINS <= wanted.terms.num_spins <= MOST_GPU_SPINS

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> SemidefiniteWork:
        """The work that answers, with a threshold from a search for low states."""
        work = SemidefiniteWork(wanted)
        on_gpus = all(isinstance(device, Cuda) for device in options.devices)
        if on_gpus:
            alone = len(options.devices) == 1 and options.checkpoint is options.executor is None
            work = replace(work, numbered=0 if alone else _GPU_PLACES)
        kept = max(wanted.count, _KEPT)
        low = work.low_states(options.seed, kept)
        leading = _leading(low, wanted)
        work = replace(
            work, gauge=from_codes(low["states"][0]), leading=leading, known=work.both(None, low)
        )
        limit = options.deadline.seconds
        share = None if limit is None else _HINT_SHARE * limit
        moves = _MOVES * max(1, wanted.terms.num_spins)
        tabu = TabuWork(wanted.terms, kept, _RUNS, moves, options.seed)
        preparing = options.preparing(share)
        if on_gpus:  # nearly as long as the search itself, on one thread
            preparing = preparing.on(options.on_cpu().devices)
        found = solve(tabu, preparing).partial
        if found is not None and len(found["states"]):
            # The gauge stays that of the first states, which no time limit changes.
            low = work.searched(found["states"], found["energies"])
            work = replace(work, known=work.both(work.known, low))
        return work.knowing(given)

    def sample(self, work: SemidefiniteWork, device: Device, allowed: float) -> float:
        """Seconds on one lane, by random paths."""
        symmetric, sought = work.wanted.terms.symmetric, work.sought(None)
        stop = np.zeros(1, dtype=np.uint8)
        began, paths, total = time.thread_time(), 0, 0.0
        while paths < _LEAST_PATHS or time.thread_time() < began + allowed:
            total += work.core.probe(symmetric, paths, *sought, stop)
            paths += 1
        if isinstance(device, Cuda):
            return _GPU_SECONDS + _GPU_SHARE * total / paths
        return total / paths
