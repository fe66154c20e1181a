"""Local search as work for the engine: independent walkers, one a shard."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Cpu, Device, Partial, Shard, ShardResult, Work, split
from hardscape.maxsat.formula import LARGE, Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.asking.growing import Together
from hardscape.maxsat.methods.asking.swaps import Swapping
from hardscape.maxsat.methods.walkers.random_turns import TURN_PER_VARIABLE
from hardscape.maxsat.methods.walkers.schedule import Schedule, is_small
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.methods.weighting.searches import NEVER, Bounding, Search, Weighted
from hardscape.maxsat.task import Task, Walks

#: Hard clauses violated by a walker that was stopped before.
_UNKNOWN = 2**63 - 1
#: Seconds between two looks at a walker from outside, which are its improvements' resolution in time.
_SLICE_SECONDS = 0.01
#: Flips of a search's first slice; its later ones are sized by the clock, which no trajectory depends on.
_FIRST_SLICE = 4096
#: Time between two offers of improvements, in times that an offer takes.
_BETWEEN_OFFERS = 4
#: Without a limit, a walker ends after so many flips without improvement: so many a variable up to the
#: most, and this many times the flips that it took to the last improvement.
_PATIENCE, _PATIENCE_PER_VARIABLE, _PATIENCE_FACTOR = 2_000_000, 4000, 4
#: Seconds after which a walker on an executor tells what it found, and how often at most that is done.
_TURN, _TURNS = 5.0, 2**24
#: Flips and literals of a walk that is over in milliseconds, and seconds of a turn that the calling thread has:
#: a thread's start would take longer than many searches.
_BRIEF, _BRIEF_TURN = 4096, 0.1
#: Literals above which unit propagation takes too long for a first assignment where no clause is hard: it takes
#: 50 ns each, and most of what follows is better than from the first passes.
_PROPAGATED = 3_000_000


@dataclass(frozen=True, eq=False)
class LocalSearch(Work[Partial]):
    """Independent walkers on a presolved formula.

    A partial holds ``hard`` (violated hard clauses, 2^63 - 1 where a walker never began), ``cost`` (two
    words, high first), ``flips`` (int64,
    shape (1,)) and the best ``assignment`` of the presolved formula (uint8, shape (n,)).

    With `max_flips` for each walker the answer does not depend on who runs them. Else they go on until one
    of them reaches the target, which stops all, or until it stagnates, unless `endless`, or for `turn`
    seconds; then every second one that begins later begins with the best that was found before.
    """

    name = "maxsat.local"
    revision = 1
    here = ("incumbent",)
    unit = "walkers"

    formula: Formula  # without tautologies, repeated literals and empty clauses
    walk: bool  # whether all clauses count alike, so that the random walk may be tried
    seed: int
    walkers: int
    target: int  # cost of `formula` at which a walker stops
    max_flips: int | None = None
    endless: bool = False
    turn: float = math.inf
    busy: bool = False  # whether a turn is processor time
    initial: NDArray[np.uint8] | None = None  # first assignment of the first walker
    options: WeightingOptions = field(default_factory=WeightingOptions)
    tells: bool = True  # whether lower bounds that a search finds are told
    #: Where improvements go at once, in this process.
    incumbent: Incumbent | None = field(default=None, repr=False)
    #: Where walkers that have not ended are kept, by stream, for a later work that goes on with them.
    kept: dict[int, Walker] | None = field(default=None, repr=False)

    def digest(self) -> str:
        """Hash of the formula and of everything that shapes a walker."""
        first = b"" if self.initial is None else self.initial.tobytes()
        limits = (self.target, self.max_flips, self.turn)
        facts = (self.walk, self.seed, self.walkers, *limits, self.options)
        return hashlib.sha256(f"{self.formula.digest}{facts}".encode() + first).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """A shard for each walker."""
        return split(self.walkers, self.walkers)

    def brief(self, device: Device) -> bool:
        """Whether a walker's flips, or its turn, are done at once."""
        if self.max_flips is None:
            return self.turn <= _BRIEF_TURN and is_small(self.formula)
        return self.max_flips + len(self.formula.literals) <= _BRIEF

    def walker(self, stream: int, context: Context) -> Walker:
        """A walker, to be let go for a while at a time: one that was kept, if it is."""
        walker = self.kept.pop(stream, None) if self.kept else None
        if walker is None:
            return Walker(self, stream, context)
        walker.resume(self, context)
        return walker

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Let one walker go."""
        walker = self.walker(shard.start, context)
        complete = walker.walk(self.turn, busy=self.busy)
        # A turn's end is its own, also where another one has reached the target.
        in_turns = self.turn < math.inf and not context.stopped()
        if self.kept is not None and in_turns and not complete:
            self.kept[shard.start] = walker
        return ShardResult(walker.partial(), complete or in_turns)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The better one, `left` where they are equal."""
        better = min(left, right, key=_order)
        return {**better, "flips": left["flips"] + right["flips"]}

    def hint(self, known: Partial | None, parts: Sequence[Partial]) -> Partial | None:
        """The best so far, where walkers have turns; it is offered where it is known first."""
        if math.isinf(self.turn):
            return None
        best = min((part for part in (known, *parts) if part is not None), key=_order, default=None)
        if self.incumbent is not None and best is not None and best is not known:
            self.incumbent.offer_reduced(best["assignment"])
        return best

    def finished(self, partial: Partial) -> bool:
        """Whether the target is reached."""
        hard, cost = _order(partial)
        return hard == 0 and cost <= self.target


def _order(partial: Partial) -> tuple[int, int]:
    high, low = partial["cost"].tolist()
    return int(partial["hard"][0]), (high << 64) + low


class Walker:
    """One walker: searches in turn, and the best of all."""

    def __init__(self, work: LocalSearch, stream: int, context: Context) -> None:
        self.work, self._context, self.stop = work, context, context.stop
        initial = work.initial if stream == 0 else None
        if context.incumbent is not None and stream % 2:
            initial = context.incumbent["assignment"]
        self.flips = 0
        self._schedule = Schedule(self, stream, initial)
        self._told = 0  # flips of the works before this one
        self._improved_at = 0
        self._lower = 0  # what all assignments cost, as its own searches have proven
        self._best: tuple[int, int] | None = None
        self._assignment = np.zeros(work.formula.num_variables, dtype=np.uint8)
        self._slices: dict[type[Search], int] = {}  # a flip of some takes as long as many of others
        self._left = math.inf  # of its turn, in seconds
        self._going = self._go()
        self._found: Search | None = None  # has a better assignment that was not offered yet
        self._offer_at = 0.0

    def resume(self, work: LocalSearch, context: Context) -> None:
        """Go on for another work on the same formula."""
        self.work, self._context, self.stop = work, context, context.stop
        self._told = self.flips

    @property
    def new_flips(self) -> int:
        """Flips for this work."""
        return self.flips - self._told

    @property
    def able(self) -> bool:
        """Whether the hard clauses are satisfied without a solver, by it or from the start."""
        incumbent, standing = self.work.incumbent, self._schedule.standing
        given = incumbent is not None and incumbent.suggested is None and incumbent.feasible
        return standing.able or (given and standing.first is None)

    @property
    def asking(self) -> bool:
        """Whether it asks whether all clauses hold together, where none is hard, and has no answer yet."""
        return self._schedule.asking

    @property
    def seeks(self) -> bool:
        """Whether a solver is asked for a first assignment, which a proof would ask for, too."""
        return self._schedule.standing.seeks

    @property
    def opens(self) -> bool:
        """Whether the searches that come first have not had their turns."""
        return self._schedule.opens

    @property
    def solved(self) -> bool:
        """Whether a linear program was solved, and others would follow."""
        return self._schedule.solved

    def walk(self, seconds: float = math.inf, *, busy: bool = False) -> bool:
        """Search for so long, by the processor's time if `busy`; False if stopped before the end."""
        clock = time.thread_time if busy else time.monotonic
        until = clock() + seconds
        while (left := until - clock()) > 0:
            self._left = left
            complete = next(self._going, True)
            if complete is not None:
                self._offer()
                return complete
        self._offer()
        return False

    def _go(self) -> Iterator[bool | None]:
        """Search, slice by slice; at the end whether it was the end."""
        for search, turn in self._schedule:
            end = self.flips + turn
            while self.flips < end:
                if self.interrupted():
                    yield False
                    return
                self._adopt(search)
                if not self._advance(search, end) or self._exhausted():
                    if self.work.max_flips is not None and self._arrived(self._lower):
                        # How soon after a proof a slice ends depends on the clock; a turn does not.
                        self.flips = min(end, self.work.max_flips)
                    yield not self.interrupted()
                    return
                yield None
            self._offer()
        yield True

    def _adopt(self, search: Search) -> None:
        """Go on from what was suggested, if it is better than what this search knows."""
        incumbent = self.work.incumbent
        if incumbent is None or self.work.max_flips is not None:
            return
        found = incumbent.suggested
        standing = self._schedule.standing
        if found is None or search is standing.apart or not isinstance(search, Weighted | Swapping):
            return
        if incumbent.reduced_cost(found) < search.cost():
            standing.lead(search)
            search.adopt(incumbent.restrict(found), self.stop)
            self.take(search)

    def interrupted(self) -> bool:
        """Whether a limit, a signal, or another walker at the target says stop."""
        incumbent = self.work.incumbent
        # With a limit on flips every walker's end is its own, so that the answer is always the same.
        if self.work.max_flips is None and incumbent is not None and incumbent.halt[0]:
            return True
        return self._context.stopped()

    def _advance(self, search: Search, end: int) -> bool:
        """Run one slice; False where the search itself has nothing more to do."""
        most = end - self.flips
        if self.work.max_flips is not None:
            most = min(most, self.work.max_flips - self.flips)
        kind = type(search)
        part = min(1.0, self._left / _SLICE_SECONDS)  # of a slice, until the turn is over
        sized = self._slices.get(kind, _FIRST_SLICE)
        asked = min(int(part * sized) + 1, most)
        before = search.quality if self.flips else None
        began = time.perf_counter()
        done = search.run(asked, self.stop)
        seconds = time.perf_counter() - began
        self.flips += done
        # A factor of at most 4: a clock that stood still once must not make the next slice endless.
        fitting = min(4.0, max(0.25, part * _SLICE_SECONDS / max(seconds, 1e-6)))
        self._slices[kind] = int(min(sized, asked / part) * fitting) + 1
        if search.quality != before and search.quality[0] != NEVER:
            self._schedule.standing.note(search)
            self.take(search)
        if self.work.incumbent is not None and self.work.tells:
            self._tell(search, self.work.incumbent)
        return done == asked

    def _tell(self, search: Search, incumbent: Incumbent) -> None:
        """Tell what a search has proven."""
        if isinstance(search, Bounding | Together):
            incumbent.bound_reduced(search.lower)
            self._lower = max(self._lower, search.lower)
        if isinstance(search, Swapping) and search.refuted:
            incumbent.refute()

    def take(self, search: Search) -> None:
        """Know of what a search has, if that is anything, and better than all before."""
        found = search.cost()
        if found[0] == NEVER or (self._best is not None and found >= self._best):
            return
        self._best, self._found = found, search
        self._improved_at = self.flips
        if time.perf_counter() >= self._offer_at:
            self._offer()

    def _offer(self) -> None:
        """Show the best assignment, which takes a while on large formulas: not every time, then."""
        if self._found is None:
            return
        began = time.perf_counter()
        self._assignment, self._found = self._found.best(), None
        if self.work.incumbent is not None:
            self.work.incumbent.offer_reduced(self._assignment)
        ended = time.perf_counter()
        self._offer_at = ended + _BETWEEN_OFFERS * (ended - began)

    def _arrived(self, cost: int) -> bool:
        """Whether the best one satisfies the hard clauses, and costs no more."""
        return self._best is not None and self._best <= (0, cost)

    def _exhausted(self) -> bool:
        work = self.work
        if self._arrived(max(work.target, self._lower)):
            return True
        if work.max_flips is not None:
            return self.flips >= work.max_flips
        n = work.formula.num_variables
        patience = min(_PATIENCE, _PATIENCE_PER_VARIABLE * n) + TURN_PER_VARIABLE * n
        still = self.flips - self._improved_at
        return not work.endless and still > max(patience, _PATIENCE_FACTOR * self._improved_at)

    def partial(self) -> Partial:
        """What came out, to be merged with the others'."""
        hard, cost = self._best or (_UNKNOWN, 0)
        return {
            "hard": np.array([hard], dtype=np.int64),
            "cost": np.array(divmod(cost, 2**64), dtype=np.uint64),
            "flips": np.array([self.new_flips], dtype=np.int64),
            "assignment": self._assignment,
        }


class LocalWalks(Walks):
    """Walkers on CPU threads: clause weighting, the random walk, and the walk over sets of soft clauses."""

    name = "weighting"
    asked = ("auto", "weighting", "exact")
    devices = (Cpu,)

    def told(self, task: Task) -> str:
        """See `Walks.told`."""
        shared = self._in_turns(task, task.endless)
        walkers = task.options.workers_now if shared else len(task.options.devices)
        return f"{self.name} with {walkers} walker{'s' * (walkers > 1)}"

    def _in_turns(self, task: Task, endless: bool) -> bool:
        """Whether workers elsewhere, which hear nothing of one another on the way, search up to a limit."""
        return endless and task.options.executor is not None and task.max_flips is None

    def _walkers(self, task: Task, endless: bool) -> int:
        return _TURNS if self._in_turns(task, endless) else len(task.options.devices)

    def work(self, task: Task, *, endless: bool) -> LocalSearch:
        """See `Walks.work`."""
        assert isinstance(task.parameters, WeightingOptions)
        presolved, best = task.presolved, task.incumbent.best
        initial = task.initial
        most = LARGE if presolved.formula.num_hard else _PROPAGATED
        if initial is None and best is not None and len(task.formula.literals) > most:
            initial = best.assignment
        return LocalSearch(
            formula=presolved.formula,
            walk=task.formula.uniform,
            seed=task.options.seed,
            walkers=self._walkers(task, endless),
            target=0 if task.target is None else max(0, task.target - presolved.constant),
            max_flips=task.max_flips,
            endless=endless,
            turn=_TURN if self._in_turns(task, endless) else math.inf,
            initial=None if initial is None else presolved.restrict(initial),
            options=task.parameters,
            tells=not task.check,
            incumbent=task.incumbent,
        )
