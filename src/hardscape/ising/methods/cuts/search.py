"""Branch and bound under odd-cycle relaxations: what they leave open goes to the frontier."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape import memory, native
from hardscape.engine import Context, Partial, Shard
from hardscape.ising.exact import from_limbs, to_limbs
from hardscape.ising.methods.annealing.annealing import AnnealingWork
from hardscape.ising.methods.cuts.graph import Clusters, Core, EdgeForm, chosen
from hardscape.ising.methods.cuts.relaxation import Ends, Known, Most, Proof, Relaxation
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.frontier.elimination import MAX_SPINS, elimination
from hardscape.ising.methods.frontier.lowest import FrontierStatesWork
from hardscape.ising.methods.lowest import LowestWork
from hardscape.ising.methods.tabu.tabu import TabuWork
from hardscape.ising.result import pack, to_codes, unpack

#: Seconds of tables that are filled at once, and rather than to branch.
_AT_ONCE, _RATHER = 0.05, 20.0
#: Entries of tables for each second, and how much worse the first order may be.
_ENTRIES_A_SECOND, _ROUGHLY = 5e8, 16.0
#: Moves of a tabu search from a rounded solution, for each spin, and states that it keeps.
_MOVES, _KEPT = 30, 1000
#: Seconds of a proof after which runs of annealing begin, which take this share of it; and spins, and couplings
#: of each, from which on the first begins at once, as relaxations take long.
_PROOF_SECONDS, _SHARE, _WIDE_SPINS, _WIDE_COUPLINGS = 0.5, 0.03, 512, 4
#: A node is branched after so many solutions that do not raise the bound by one of so many steps to the limit.
_PATIENCE, _STEPS = 3, 100
#: Most work of a list of states under multipliers, in updates of some ns each, before tables are thought of;
#: and, where they would take so many seconds or more, at each solution and then before a branch.
_FIRST_WORK, _LISTS = 200_000, ((2_000_000, 0.02), (100_000_000, 0.5))
#: Room for wanted states, as a part of all that they cost, up to which a list at a solution may take more work;
#: and from which on a search that must not branch gives up before the longest lists.
_NARROW, _NARROW_WORK, _WIDE = 0.016, 10_000_000, 0.03
#: A list that was given up is tried again when there is so much less room; work a second, most states listed.
_LESS_ROOM, _WORK_A_SECOND, _MOST_LISTED = 0.8, 1e8, 100_000
#: Part of all edges that must be known in addition before tables are planned again.
_GROWTH = 0.05


class State(Enum):
    """Of the work at a node."""

    GOES_ON = auto()
    DONE = auto()
    STOPPED = auto()


class Node(NamedTuple):
    """Edges that are set, an exact bound of what is below, and the branches above."""

    bound: int | None
    edges: tuple[int, ...]
    values: tuple[int, ...]
    depth: int = 0


@dataclass
class CutSearch:
    """The lowest states of a model; `going` says whether to go on."""

    work: LowestWork
    context: Context
    seed: int
    found: Partial
    branching: bool = True  #: whether it goes on by branches where cuts do not get any further
    nodes: int = 0
    solved: int = 0
    core_spins: int = 0
    open: list[Node] = field(default_factory=list)
    _sought: int | None = None

    def __post_init__(self) -> None:
        self.wanted: Wanted = self.work.wanted
        self.form = EdgeForm.of(self.wanted.terms)
        self.relaxation = Relaxation(self.form)
        self.open = [Node(None, (), ())]
        terms = self.wanted.terms
        moves = _MOVES * max(1, terms.num_spins)
        kept = min(self.wanted.count, _KEPT)
        self._tabu = TabuWork(terms, kept, 1, moves, self.seed)
        moves = AnnealingWork.moves_a_spin * max(1, terms.num_spins)
        self._annealing = AnnealingWork(terms, kept, 1, moves, self.seed)
        self._began, self._annealed, self._runs = time.thread_time(), 0.0, 0

    def going(self) -> bool:
        """Whether nobody has asked to stop."""
        return not self.context.stopped()

    @property
    def limit(self) -> int | None:
        """The highest energy that a wanted state can have."""
        energies = np.repeat(self.found["energies"], 1 + self.wanted.terms.symmetric, axis=0)
        told = self.work.limit(self.context.incumbent)
        limit = self.wanted.limit({"energies": energies}, told)
        return None if limit is None else self.form.allowed(limit)

    @property
    def bound(self) -> int | None:
        """No wanted state that is not in the list has a lower energy; None if unknown."""
        bounds = [node.bound for node in self.open]
        return None if None in bounds else min((x for x in bounds if x is not None), default=None)

    @property
    def share(self) -> float:
        """Part of the search that is done, if both sides of a branch take as long."""
        return 1 - math.fsum(math.ldexp(1, -node.depth) for node in self.open)

    def partial(self) -> Partial:
        """What was found, and is proven."""
        counters = (self.nodes, self.solved, self.core_spins)
        bound = self.bound
        return {
            **{name: self.found[name] for name in ("states", "energies")},
            "counters": np.array(counters, dtype=np.uint64),
            "bound": to_limbs([] if bound is None else [bound], self.wanted.terms.limbs),
            "share": np.array([self.share]),
        }

    def run(self) -> bool:
        """Search everything; whether that was done."""
        if not len(self.found["states"]):
            self.improve(np.ones(self.wanted.terms.num_spins, dtype=np.int8))
        self.anneal()
        while self.open:
            branch = _Branch(self, self.open[-1])
            self.nodes += 1
            while (state := branch.step()) is State.GOES_ON:
                self.anneal()
                self.context.tell(self.partial())
            if state is State.STOPPED:
                return False
            self.open.pop()
            self.open += branch.children
        return True

    def add(self, states: NDArray[np.uint64]) -> None:
        """Take states into the list."""
        terms = self.wanted.terms
        spins = unpack(states, terms.num_spins)
        found = self.work.searched(states, terms.words(spins))
        self.found = self.work.both(self.found, found)

    def improve(self, spins: NDArray[np.int8]) -> None:
        """Look for low states near one."""
        tabu = replace(self._tabu, given=(spins.tobytes(),))
        vars(tabu).update(model=self._tabu.model)
        context = Context(self.context.device, None, self.context.stop)
        self.add(tabu.run(Shard(0, 0, 1), context).partial["states"])

    def anneal(self) -> None:
        """Make a run of annealing where the proof takes long: what is met is the answer if it is stopped."""
        terms = self.wanted.terms
        n, passed = terms.num_spins, time.thread_time() - self._began
        wide = n >= _WIDE_SPINS and len(terms.row) >= _WIDE_COUPLINGS * n and not self._runs
        late = passed > _PROOF_SECONDS and self._annealed < _SHARE * passed
        if not (wide or late) or not AnnealingWork.pays(terms):
            return
        began = time.thread_time()
        context = Context(self.context.device, None, self.context.stop)
        shard = Shard(self._runs, self._runs, self._runs + 1)
        self.add(self._annealing.run(shard, context).partial["states"])
        self._runs += 1
        self._annealed += time.thread_time() - began

    def more(self) -> None:
        """Where the lowest state is new and others are wanted, look near it for those."""
        least = from_limbs(self.found["energies"][:1])
        if self.limit is None and least and (self._sought is None or least[0] < self._sought):
            self._sought = least[0]
            self.improve(unpack(self.found["states"][:1], self.wanted.terms.num_spins)[0])

    def listed(self, core: Core, top: int) -> bool:
        """Take the lowest states of a core, none above `top`, into the list; False if stopped."""
        if core.terms.num_spins == 0:
            self.add(core.expanded(to_codes([0], 1)))
            return True
        asked = Wanted(core.terms, self.wanted.count, self.wanted.window, top)
        plan = elimination(core.terms)
        assert plan is not None
        work = FrontierStatesWork(asked, plan)
        context = Context(self.context.device, None, self.context.stop, self.context.until)
        result = work.run(Shard(0, 0, plan.slices), context)
        self.add(core.expanded(work.result(result.partial).states))
        return result.complete and result.left is None

    def within(self, proof: Proof, ends: Ends, between: tuple[int, int], work: int) -> bool:
        """Take the lowest states of energies between two into the list; whether these are all."""
        terms = self.wanted.terms
        if not terms.num_spins:
            return False
        # A partner is as low: it tells as much as the state after those listed.
        count = self.wanted.count - terms.symmetric
        energies = from_limbs(self.found["energies"])[:count]
        states = unpack(self.found["states"][: len(energies)], terms.num_spins)
        known = Known(count, energies, (states > 0).astype(np.uint8))
        if self.context.until < math.inf:
            left = max(0.0, self.context.until - time.monotonic())
            work = min(work, int(left * _WORK_A_SECOND))
        most = Most(_MOST_LISTED, work, self.context.stop)
        found = self.relaxation.within(proof, ends, between, known, most)
        if len(found.up):
            self.add(pack(2 * found.up.astype(np.int8) - 1))
        return found.complete

    def quick(self, core: Core, seconds: float) -> float:
        """Seconds of a core's tables; infinite if they are more than these, or there is no room for them."""
        terms = core.terms
        if terms.num_spins == 0:
            return 0.0
        if terms.num_spins > MAX_SPINS or seconds < 0:
            return math.inf
        graph = (terms.num_spins, terms.row, terms.col)
        most = _ROUGHLY * seconds * _ENTRIES_A_SECOND
        if not len(native.vector.ising.elimination_order(*graph, 1, 0, most, 1)):
            return math.inf  # good orders take longer to find, and are not so much better
        plan = elimination(terms)
        if plan is None:
            return math.inf
        work = FrontierStatesWork(Wanted(terms, self.wanted.count, self.wanted.window), plan)
        size, needed = work.memory_bytes(1), work.seconds * work.fillings
        room = memory.small(size) or 2 * size <= memory.available()
        return needed if needed <= seconds and room else math.inf


class _Branch:
    """The work at one node: solutions, cuts, what they prove, and what that leaves."""

    def __init__(self, search: CutSearch, node: Node) -> None:
        self.search, self.node = search, node
        self.form, self.relaxation = search.form, search.relaxation
        self.clusters = Clusters(self.form)
        edges = np.array(node.edges, dtype=np.int64)
        self.possible = self.clusters.join_edges(edges, np.array(node.values, dtype=np.uint8))
        self.low, self.high = self.clusters.known()
        self.children: list[Node] = []
        self.bound, self.idle = node.bound, 0
        self.best: int | None = None
        #: Part of the edges known when tables were planned, and for which highest energy.
        self.planned: tuple[float, int | None] = (-1.0, None)
        #: For highest energies, the room and the work of lists that were given up.
        self.failed: dict[int, tuple[int, int]] = {}
        if not self.relaxation.rows.count:
            self.relaxation.separate(self.low.astype(np.float64))

    def step(self) -> State:
        """Solve and cut once."""
        search, relaxation = self.search, self.relaxation
        if self._empty():
            return State.DONE
        x = relaxation.solve(self.low, self.high, search.going)
        if x is None:
            return State.STOPPED
        search.solved += 1
        proof = relaxation.proof(self.low, self.high)
        self._raise(relaxation.exact(proof.bound))
        search.improve(self._rounded(x))
        if self._empty() or not self._narrowed(proof):
            return State.DONE
        relaxation.purge()
        if not (tired := self._tired(proof)):
            ended = self._tried(proof, final=False)
            if ended is not State.GOES_ON or self._empty() or relaxation.separate(x):
                return State.DONE if self._empty() else ended
        if not search.branching and self._room(proof, search.limit) > _WIDE:
            return State.STOPPED
        search.more()
        ended = self._tried(proof, final=True)
        if ended is not State.GOES_ON or self._empty():
            return State.DONE if self._empty() else ended
        if not search.branching:
            return State.STOPPED
        if tired:
            relaxation.separate(x)
        return self._branched(x)

    def _empty(self) -> bool:
        """Whether no state that is wanted and not listed is below."""
        limit = self.search.limit
        known = limit is not None and self.bound is not None
        return not self.possible or (known and self.bound > limit)  # type: ignore[operator]

    def _raise(self, bound: int) -> None:
        """Take a bound of all states below that are not listed."""
        self.bound = bound if self.bound is None else max(self.bound, bound)
        self.node = self.search.open[-1] = self.node._replace(bound=self.bound)

    def _rounded(self, x: NDArray[np.float64]) -> NDArray[np.int8]:
        """A state that agrees with the edges that are nearly 0 or 1, the surest first."""
        clusters = Clusters(self.form)
        order = np.argsort(-np.abs(x - 0.5), kind="stable").astype(np.int64)
        clusters.join_edges(order, (x[order] > 0.5).astype(np.uint8))
        spins = [1 - 2 * clusters.find(v)[1] for v in range(self.form.terms.num_spins)]
        return np.array(spins, dtype=np.int8)

    def _tired(self, proof: Proof) -> bool:
        """Whether cuts have not raised the bound for some time."""
        limit, best = self.search.limit, self.best
        rise = 1
        if limit is not None and best is not None:
            rise += (self.relaxation.fine_above_base(limit) - best) // _STEPS
        self.idle = 0 if best is None or proof.bound >= best + rise else self.idle + 1
        self.best = proof.bound if best is None else max(best, proof.bound)
        return self.idle >= _PATIENCE

    def _room(self, proof: Proof, top: int | None) -> float:
        """Between what is proven and what states up to `top` cost, as a part of this."""
        if top is None:
            return 1.0
        most = self.relaxation.fine_above_base(top)
        return (most - proof.bound) / max(most, 1)

    def _narrowed(self, proof: Proof) -> bool:
        """Fix what all wanted states have in common; False if there are none."""
        limit = self.search.limit
        if limit is None:
            return True
        if not self._fix(self.clusters, proof, limit):
            return False
        self.low, self.high = self.clusters.known()
        return True

    def _fix(self, clusters: Clusters, proof: Proof, top: int) -> bool:
        """Join spins whose edges have one value in all states up to `top`; False if there are none."""
        room = self.relaxation.fine_above_base(top) - proof.bound
        if room < 0:
            return False
        edges = chosen(np.abs(proof.reduced) > room)
        return clusters.join_edges(edges, (proof.reduced[edges] < 0).astype(np.uint8))

    def _tried(self, proof: Proof, final: bool) -> State:
        """List what is left up to the bound, or up to the limit, where that is quick."""
        limit, bound, ended = self.search.limit, self.bound, State.GOES_ON
        assert bound is not None
        seconds = _RATHER if final else _AT_ONCE
        if limit is None or bound < limit:
            # If there is a state that costs no more than the bound, that is the least energy.
            lowest = self.clusters.copy()
            if self._fix(lowest, proof, bound):
                ended = self._listed(proof, lowest, bound, seconds, final)
            else:
                self._raise(bound + self.form.step)
            if ended is not State.GOES_ON or not final or self._empty():
                return ended
            limit = self.search.limit
        # Where nothing known tells wanted states from others, of all that are below.
        top = self.form.allowed(self.form.base + self.form.total) if limit is None else limit
        return (
            self._listed(proof, self.clusters, top, seconds, final)
            if final or limit is not None
            else ended
        )

    def _listed(
        self, proof: Proof, clusters: Clusters, top: int, seconds: float, final: bool
    ) -> State:
        """List the states of clusters up to `top`, if that takes so many seconds at most."""
        search = self.search
        if self._within(proof, top, _FIRST_WORK):
            return self._done(top)
        known, core, needed = self._known(clusters), None, math.inf
        part, last = self.planned
        if final or last != top or known >= min(part + _GROWTH, 1.0):
            self.planned = known, top
            core = clusters.core()
            allowed = seconds if final else min(seconds, _AT_ONCE)
            needed = 0.0 if known == 1 else search.quick(core, allowed)
        least = _NARROW_WORK if self._room(proof, top) <= _NARROW else 0
        for work, most in _LISTS[: 1 + final]:
            if needed > most and search.going() and self._within(proof, top, max(work, least)):
                return self._done(top)
        if core is not None and needed < math.inf and search.going():
            search.core_spins = max(search.core_spins, core.terms.num_spins)
            return self._done(top) if search.listed(core, top) else State.STOPPED
        return State.GOES_ON if search.going() else State.STOPPED

    def _within(self, proof: Proof, top: int, work: int) -> bool:
        """Whether all states up to `top` that are wanted are listed with so much work, if that is likely."""
        assert self.bound is not None
        room = self.relaxation.fine_above_base(top) - proof.bound
        before, spent = self.failed.get(top, (0, 0))
        if work <= spent and room > _LESS_ROOM * before:
            return False
        if self.search.within(proof, (self.low, self.high), (self.bound, top), work):
            return True
        self.failed[top] = room, work
        return False

    @staticmethod
    def _known(clusters: Clusters) -> float:
        """Part of the edges that is known."""
        low, high = clusters.known()
        return float((low == high).mean()) if len(low) else 1.0

    def _done(self, top: int) -> State:
        """All states up to `top` that are wanted are listed."""
        self._raise(top + self.form.step)
        self.search.more()
        return (
            State.DONE
            if self._empty() or top >= self.form.base + self.form.total
            else State.GOES_ON
        )

    def _branched(self, x: NDArray[np.float64]) -> State:
        """Both values of the edge that is the least decided for its cost, the likelier one first."""
        free, known = chosen(self.low != self.high), chosen(self.low == self.high)
        doubt = np.minimum(x, 1 - x)[free] + 1e-6
        edge = int(free[np.argmax(doubt * self.relaxation.fine[free])])
        edges, values = tuple(known.tolist()), tuple(self.low[known].tolist())
        likely, depth = int(x[edge] > 0.5), self.node.depth + 1
        self.children = [
            Node(self.bound, (*edges, edge), (*values, value), depth)
            for value in (1 - likely, likely)
        ]
        return State.DONE
