"""The lowest states of sparse models by odd-cycle cuts: method="cuts" of `spectrum`.

A linear program over edges that are satisfied or not, under inequalities for cycles, bounds the least energy;
on planar graphs it is that energy. What its multipliers prove, in integers, fixes the edges that have
one value in all wanted states. What is left is small: it goes to the frontier, or is listed spin by spin
under what the multipliers leave room for (docs/theory/spectrum.md).
After F. Barahona, M. Grötschel, M. Jünger, G. Reinelt, Oper. Res. 36 (1988) 493; M. Grötschel, M. Jünger,
G. Reinelt, in: Heidelberg Colloquium on Glassy Dynamics (Springer, 1987).
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Cpu, Device, Partial, RunOptions, Shard, ShardResult, split
from hardscape.ising.exact import ExactTerms, from_limbs
from hardscape.ising.methods.cliques.cliques import Cliques
from hardscape.ising.methods.cuts.search import CutSearch
from hardscape.ising.methods.exhaustive.blocks import Found, Wanted
from hardscape.ising.methods.frontier.elimination import elimination, hopeless
from hardscape.ising.methods.frontier.lowest import FrontierStatesWork
from hardscape.ising.methods.lowest import LowestMethod, LowestWork

#: Most couplings: in all, for each spin of models that have more than some, and where it is taken by itself.
_MOST_EDGES, _MOST_COUPLINGS, _SOME_EDGES, _COUPLINGS = 200_000, 16, 2000, 4
#: Most states listed where it is taken by itself, and seconds of tables from which on it is: for one state,
#: which hardly needs a branch; without fields; and with them: cycles through the spin that stands for those
#: are many, and bound less.
_MOST_STATES, _SURE_SECONDS, _SECONDS, _FIELD_SECONDS = 10_000, 0.01, 0.2, 20.0
#: Fields that are few.
_FEW_FIELDS = 16
#: Couplings for each spin from which on semidefinite bounds are quicker up to so many spins, unless one state
#: is wanted and there are so many short loops for each.
_MANY_COUPLINGS, _FEW_SPINS, _LOOPS = 3, 160, 2
#: Lattices without fields: most couplings and least short loops a spin; from so many spins to so many (with
#: more couplings than some: long ones are narrow); most states, and seconds of the tables of a first order
#: from which on they take longer than some linear programs.
_LATTICE_COUPLINGS, _LATTICE_LOOPS, _LATTICE_SPINS = 3, 0.75, (64, 512)
_LATTICE_SOME, _LATTICE_SPINS_OF_MORE = 2.5, 128
_LATTICE_STATES, _LATTICE_SECONDS = 257, 6e-5
#: Seconds of a relaxation for each edge, and how they grow.
_EDGE_SECONDS, _POWER = 3e-7, 1.8
#: Seconds of a state where nothing but all of them is known to end it, and most bits that are counted.
_STATE_SECONDS, _MOST_BITS = 1e-9, 900


@dataclass(frozen=True)
class CutWork(LowestWork):
    """All states, as one unit: cuts hold for all of them."""

    name: ClassVar[str] = "ising.spectrum.cuts"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "models"
    counters: ClassVar[tuple[str, ...]] = ("nodes", "relaxations", "core_spins")

    asked: Wanted
    seed: int = 0  #: of the searches for low states
    branching: bool = True  #: whether it goes on where cuts alone do not end it

    @property
    def wanted(self) -> Wanted:
        """What is asked for."""
        return self.asked

    def digest(self) -> str:
        """Hash of the model and of what is wanted."""
        wanted = self.asked
        parts = (wanted.count, wanted.window, wanted.cutoff)
        return hashlib.sha256(wanted.terms.canonical() + repr(parts).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One."""
        return split(1, 1)

    def states_searched(self, units: int) -> int:
        """All or none."""
        return units << self.asked.terms.num_spins

    def nothing(self) -> Partial:
        """No states, and no bound."""
        return {
            **super().nothing(),
            "bound": np.empty((0, self.asked.terms.limbs), dtype=np.uint64),
            "share": np.zeros(1),
        }

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Search all states."""
        known = self.known or self.nothing()
        search = CutSearch(self, context, self.seed, known, self.branching)
        complete = search.run()
        return ShardResult(search.partial(), complete)

    def proven(self, parts: Sequence[Partial]) -> int | None:
        """See `LowestWork.proven`."""
        told = [x for part in parts for x in from_limbs(part["bound"])]
        return max(told, default=None)

    def best_so_far(self, partial: Partial | None) -> Found:
        """The answer of a call that was stopped, with what is proven."""
        found = super().best_so_far(partial)
        if partial is None:
            return found
        bound = from_limbs(partial["bound"])
        return replace(found, bound=bound[0] if bound else None, share=float(partial["share"][0]))

    def lower_bound(self, done: Sequence[tuple[int, int]], found: Found) -> int | None:
        """What the relaxations prove."""
        if done:
            return super().lower_bound(done, found)
        known = [] if found.bound is None else [*from_limbs(found.energies[:1]), found.bound]
        return min(known, default=None)

    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """Nothing is known of what was not begun."""
        return None


class Cuts(LowestMethod[CutWork]):
    """For sparse models that are too wide for tables: lattices, planar graphs above all."""

    name: ClassVar[str] = "cuts"
    devices: ClassVar[tuple[type[Device], ...]] = (Cpu,)

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It is refused without a solver of linear programs, and for very many couplings."""
        if not prune:
            return "prune=False visits every state"
        most = max(_SOME_EDGES, _MOST_COUPLINGS * wanted.terms.num_spins)
        if len(wanted.terms.row) > min(most, _MOST_EDGES):
            return (
                f"'cuts' takes at most {_MOST_COUPLINGS} couplings a spin, and {_MOST_EDGES} in all"
            )
        if not _installed():
            return "'cuts' needs highspy: pip install 'hardscape[cuts]'"
        return ""

    def pays(self, wanted: Wanted) -> bool:
        """Whether the model is sparse, and tables would take long."""
        terms = wanted.terms
        if _lattice(wanted):
            return True
        if len(terms.row) >= _COUPLINGS * terms.num_spins or wanted.count > _MOST_STATES:
            return False
        one = wanted.count <= 2 and wanted.window is None
        # What was taken out may leave a few fields: their vertex is then one like the others.
        light = sum(map(bool, terms.fields)) <= _FEW_FIELDS
        sure = one and light
        many = len(terms.row) >= _MANY_COUPLINGS * terms.num_spins
        few = wanted.count <= 2 and many and terms.num_spins <= _FEW_SPINS
        if few and not (one and short_loops(terms) >= _LOOPS * terms.num_spins):
            return False
        soon = one or terms.symmetric
        most = _SURE_SECONDS if sure else _SECONDS if soon else _FIELD_SECONDS
        return tables_take(wanted, most) and (light or not Cliques().outright(wanted))

    def outright(self, wanted: Wanted) -> bool:
        """Whether one of two states that are flips of one another is wanted, and little can be taken out.

        What is left of it has no flips, and there the state after the one wanted must be found, too. A lattice
        is not looked at for spins to take out: that takes longer than it does.
        """
        terms = wanted.terms
        if _lattice(wanted):
            return True
        many = len(terms.row) >= _MANY_COUPLINGS * terms.num_spins
        return many and wanted.count <= 2 and terms.symmetric and self.pays(wanted)

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> CutWork:
        """The work that answers."""
        return CutWork(wanted, options.seed).knowing(given)

    def sample(self, work: CutWork, device: Device, allowed: float) -> float:
        """Seconds, by a trial.

        What is not done by then takes as long as more relaxations would, or, with fields, as long as tables:
        branches may be without number there.
        """
        began = time.perf_counter()
        stop = np.zeros(1, dtype=np.uint8)
        result = work.run(Shard(0, 0, 1), Context(device, None, stop, time.monotonic() + allowed))
        passed = time.perf_counter() - began
        if result.complete:
            return passed
        terms = work.asked.terms
        if terms.symmetric:
            return passed + _EDGE_SECONDS * math.pow(len(terms.row), _POWER)
        plan = elimination(terms)
        if plan is None:
            return math.ldexp(_STATE_SECONDS, min(terms.num_spins, _MOST_BITS))
        return FrontierStatesWork(work.asked, plan).seconds


def _lattice(wanted: Wanted) -> bool:
    """Whether a few states are wanted of a lattice of some hundred spins whose tables are not small."""
    terms = wanted.terms
    n, (least, most) = terms.num_spins, _LATTICE_SPINS
    if len(terms.row) > _LATTICE_SOME * n:
        most = _LATTICE_SPINS_OF_MORE
    few = wanted.count <= _LATTICE_STATES and wanted.window is None and terms.symmetric
    if not few or not least <= n <= most:
        return False
    return (
        len(terms.row) <= _LATTICE_COUPLINGS * n
        and short_loops(terms) >= _LATTICE_LOOPS * n
        and hopeless(terms, _LATTICE_SECONDS)
    )


@cache
def _installed() -> bool:
    """Whether there is a solver of linear programs: a look through folders takes longer than small tables."""
    return find_spec("highspy") is not None


def tables_take(wanted: Wanted, seconds: float) -> bool:
    """Whether the frontier would take longer than this."""
    if hopeless(wanted.terms, seconds):
        return True
    plan = elimination(wanted.terms)
    return plan is None or FrontierStatesWork(wanted, plan).seconds > seconds


@lru_cache(maxsize=8)
def short_loops(terms: ExactTerms) -> int:
    """Triangles and squares of couplings, whose inequalities are the strong ones."""
    near = np.zeros((terms.num_spins, terms.num_spins))
    near[terms.row, terms.col] = near[terms.col, terms.row] = 1
    paths = np.triu(near @ near, 1)
    return int((near * paths).sum()) // 3 + int((paths * (paths - 1)).sum()) // 4
