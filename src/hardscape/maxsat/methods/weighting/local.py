"""Local search as work for the engine: independent walkers, one a shard."""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Cpu, Device, Partial, Shard, ShardResult, Work, split
from hardscape.maxsat.formula import LARGE, Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.hitting.vertex import RESTS, vertex_pays, whole_vertices
from hardscape.maxsat.methods.installed import can_ask
from hardscape.maxsat.methods.weighting.growing import Growing, Together
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.methods.weighting.searches import (
    NEVER,
    Bounding,
    Covering,
    Diagnosing,
    Hitting,
    Search,
    Walking,
    Weighing,
    Weighted,
    asks_for_a_cover,
    looks_random,
    wishes_are_literals,
)
from hardscape.maxsat.methods.weighting.swaps import Swapping, swapping_is_possible
from hardscape.maxsat.task import Task, Walks

#: Hard clauses violated by a walker that was stopped before.
_UNKNOWN = 2**63 - 1

#: Seconds between two looks at a walker from outside, which are its improvements' resolution in time.
_SLICE_SECONDS = 0.01
#: Flips of the first slice; the later ones are sized by the clock, which no trajectory depends on.
_FIRST_SLICE = 4096
#: Flips of the first turn of the random walk and, on each variable, more; turns double.
_FIRST_TURN, _TURN_PER_VARIABLE = 200_000, 50
#: The random walk goes on alone where its best violates at most this share of the clauses, or this many, or
#: less than this share of what it did a turn before: then it is likely to satisfy them all.
_CLOSE_SHARE, _CLOSE, _FALLING = 0.001, 2, 0.9
#: Flips of the clause-weighting search before another search has its first turn; literals from which on
#: soft clauses are no longer exchanged, and those from which on no SAT solver is asked.
_FIRST_ALONE, _MOST_SWAPPED, _MOST_GROWN = 8_000, 200_000, 3_000_000
#: Literals above which no search by cores begins; and its flips before any other where soft clauses are no
#: longer exchanged, as long as few wishes hit all cores.
_MOST_HIT, _OPENING = 3_000_000, 200_000
#: Literals above which no circuit is looked for.
_MOST_DIAGNOSED = 3_000_000
#: Rounds of two searches before a third one exchanges soft clauses.
_BEFORE_SWAPS = 5
#: More flips before a solver is asked about small formulas without hard clauses: to begin with one takes it
#: as long, and their optima are often found before.
_BEFORE_GROWN = 100_000
#: Share of the weight that violated clauses may have where a solver is asked for all.
_LITTLE = 0.02
#: What the better one of two searches has, in turns of the other.
_LESS = 4
#: Beside a search by cores turns begin so many times shorter, and its own first one is so many of them; later
#: ones are twice as long as others', and in the first flips those of clause weighting, where it is behind, are
#: so many times halved. Who is behind has half of its turn, time after time, until it is so many times halved;
#: the search by cores, if it satisfied the hard clauses, but once in the first flips.
_SHORT, _AHEAD, _HALF, _FEW, _MOST_LATE, _LATE, _EARLY = 8, 4, 2, 2, 3, 1, 100_000
#: Flips of a search by cores before any other, as long as few wishes hit them all.
_START = 50_000
#: Literals up to which linear programs are solved at once, and what part of its first turn the search by cores
#: has before; of other formulas flips a literal before that, which take as long as the first ones. After a rest
#: they go on when so many times as many flips are done.
_SOON, _BEFORE_SOON, _LATER, _RESTED = 4000, 4, 4, 4
#: Time between two offers of improvements, in times that an offer takes.
_BETWEEN_OFFERS = 4
#: Seconds after which a walker on an executor tells what it found, and how often at most that is done.
_TURN, _TURNS = 5.0, 2**24
#: Flips and literals of a walk that is over in milliseconds, and seconds of a turn that the calling thread has:
#: a thread's start would take longer than many searches.
_BRIEF, _BRIEF_TURN = 4096, 0.1
#: Without a limit, a walker ends after so many flips without improvement: so many a variable up to the
#: most, and this many times the flips that it took to the last improvement.
_PATIENCE, _PATIENCE_PER_VARIABLE, _PATIENCE_FACTOR = 2_000_000, 4000, 4


def _nearly_all(cost: tuple[int, int], formula: Formula) -> bool:
    """Whether so little is violated that all clauses may hold together."""
    return cost[0] == 0 and cost[1] <= _LITTLE * formula.total_weight


def _asked(together: Together | None, turn: int) -> Iterator[tuple[Search, int]]:
    """The turn of who asks for all clauses, if it has one."""
    if together is not None and not together.given_up:
        yield together, turn


def swapping_pays(formula: Formula) -> bool:
    """Whether soft clauses are exchanged by a solver, which satisfies hard ones, too."""
    return len(formula.literals) <= _MOST_SWAPPED and swapping_is_possible(formula)


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
        nnz = len(self.formula.literals)
        if self.max_flips is None:
            return self.turn <= _BRIEF_TURN and nnz <= _MOST_SWAPPED
        return self.max_flips + nnz <= _BRIEF

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
    """One walker: turns of the random walk and of the weighting search, and the best of both."""

    def __init__(self, work: LocalSearch, stream: int, context: Context) -> None:
        self._work = work
        self._stream = stream
        self._context = context
        self._stop = context.stop
        self._initial = work.initial if stream == 0 else None
        if context.incumbent is not None and stream % 2:
            self._initial = context.incumbent["assignment"]
        self.flips = 0
        self._told = 0  # flips of the works before this one
        self._improved_at = 0
        self._best: tuple[int, int] | None = None
        self._assignment = np.zeros(work.formula.num_variables, dtype=np.uint8)
        self._slice = _FIRST_SLICE
        self._going = self._go()
        self._found: Search | None = None  # has a better assignment that was not offered yet
        self._own: dict[Search, tuple[int, int]] = {}  # what each has found, and not adopted
        self._offer_at = 0.0

    def resume(self, work: LocalSearch, context: Context) -> None:
        """Go on for another work on the same formula."""
        self._work, self._context, self._stop = work, context, context.stop
        self._told = self.flips

    @property
    def new_flips(self) -> int:
        """Flips for this work."""
        return self.flips - self._told

    def walk(self, seconds: float = math.inf, *, busy: bool = False) -> bool:
        """Search for so long, by the processor's time if `busy`; False if stopped before the end."""
        clock = time.thread_time if busy else time.monotonic
        until = clock() + seconds
        while clock() < until:
            complete = next(self._going, True)
            if complete is not None:
                self._offer()
                return complete
        self._offer()
        return False

    def _go(self) -> Iterator[bool | None]:
        """Search, slice by slice; at the end whether it was the end."""
        for search, turn in self._turns():
            end = self.flips + turn
            while self.flips < end:
                if self._interrupted():
                    yield False
                    return
                self._adopt(search)
                if not self._advance(search, end) or self._exhausted():
                    yield not self._interrupted()
                    return
                yield None
            self._offer()
        yield True

    def _adopt(self, search: Search) -> None:
        """Go on from what was suggested, if it is better than what this search knows."""
        incumbent = self._work.incumbent
        if incumbent is None or self._work.max_flips is not None:
            return
        found = incumbent.suggested
        if found is None or not isinstance(search, Weighted | Swapping):
            return
        if incumbent.reduced_cost(found) < search.cost():
            search.adopt(incumbent.restrict(found), self._stop)
            self._take(search)

    def _interrupted(self) -> bool:
        """Whether a limit, a signal, or another walker at the target says stop."""
        incumbent = self._work.incumbent
        # With a limit on flips every walker's end is its own, so that the answer is always the same.
        if self._work.max_flips is None and incumbent is not None and incumbent.halt[0]:
            return True
        return self._context.stopped()

    def _turns(self) -> Iterator[tuple[Search, int]]:
        """Searches in turn, and how many flips each has."""
        work = self._work
        if not work.walk:
            yield from self._weighted_turns()
            return
        walking = Walking(work.formula, work.seed, self._stream, self._initial, self._stop)
        if not looks_random(work.formula):
            yield walking, _FIRST_TURN
            yield from self._weighted_turns()
            return
        weighing: Weighing | None = None
        turn = _FIRST_TURN + _TURN_PER_VARIABLE * work.formula.num_variables
        close = max(_CLOSE, int(_CLOSE_SHARE * work.formula.num_clauses))
        while True:
            before = walking.quality[0]
            yield walking, turn
            if walking.quality[0] > max(close, _FALLING * before):
                if weighing is None:
                    weighing = self._weighing(walking.best())
                yield weighing, turn
            turn *= 2

    def _weighing(self, initial: NDArray[np.uint8] | None) -> Weighing:
        work = self._work
        how = work.options, work.target, work.seed
        return Weighing(work.formula, *how, self._stream, initial, self._stop)

    def _weighted_turns(self) -> Iterator[tuple[Search, int]]:
        work = self._work
        formula = work.formula
        turn = _FIRST_ALONE + formula.num_variables
        cover, size = asks_for_a_cover(formula), len(formula.literals)
        mixed = 0 < formula.num_hard < formula.num_clauses
        if mixed and not cover and size <= _MOST_DIAGNOSED and not self._stream:
            diagnosing = self._diagnosing()  # has tables that the next search shares
            while not diagnosing.given_up or self._interrupted():  # proven: no other one begins
                yield diagnosing, turn // _SHORT
            if diagnosing.cost()[0] == 0:
                self._initial = diagnosing.best()
            self._own.pop(diagnosing, None)  # nobody stays behind what has ended
        if size <= _MOST_SWAPPED and mixed and not cover:
            yield from self._hitting_turns(turn // _SHORT)
            return
        if mixed and not cover and size <= _MOST_HIT and wishes_are_literals(formula):
            yield from self._opened_turns(turn)
            return
        weighing = self._weighing(self._initial)
        yield weighing, turn
        if cover:
            yield from self._covering_turns(weighing, turn)
            return
        yield from self._grown_turns(weighing, turn)

    def _grown_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """Clause weighting, and sets that a solver grows where it may be asked."""
        formula = self._work.formula
        if len(formula.literals) <= _MOST_GROWN and not looks_random(formula) and can_ask():
            yield from self._growing_turns(weighing, turn)
        while True:
            yield weighing, turn
            turn *= 2

    def _opened_turns(self, turn: int) -> Iterator[tuple[Search, int]]:
        """The same after a search by cores, which goes on as long as few wishes hit them all, or it is best."""
        work = self._work
        hitting = Hitting(
            work.formula, work.target, work.seed, self._stream, self._initial, self._stop
        )
        yield hitting, turn // _SHORT
        until = self.flips + _OPENING
        while hitting.few and not hitting.given_up and self.flips < until:
            yield hitting, turn // _SHORT
        feasible = hitting.cost()[0] == 0
        beside = hitting if feasible or hitting.few else None
        weighing = self._weighing(hitting.best() if feasible else self._initial)
        del hitting  # its memory, where it has ended
        yield weighing, turn
        for search, part in self._grown_turns(weighing, turn):
            if beside is not None:
                better = weighing.cost() < beside.cost()
                if beside.given_up or (better and not beside.few):
                    beside = None
                else:
                    if better and not weighing.cost()[0]:
                        beside.adopt(weighing.best(), self._stop)
                    yield beside, part
                    if beside.cost() < weighing.cost():
                        weighing.adopt(beside.best(), self._stop)
            yield search, part

    def _diagnosing(self) -> Diagnosing:
        """The search for faults, which is over where the formula is no circuit."""
        work = self._work
        return Diagnosing(work.formula, work.target, work.seed, self._stream, None, self._stop)

    def _hitting_turns(self, turn: int) -> Iterator[tuple[Search, int]]:
        """Cores of propagation, clause weighting, before or behind, and later exchanges by a solver.

        Who stays behind has ever less of the turns: who found nothing as good as another, also where that was
        adopted. As long as none has satisfied the hard clauses, all are behind the solver but clause weighting
        that comes close.
        """
        work = self._work
        how = work.seed, self._stream
        weighs = looks_random(work.formula) or not wishes_are_literals(work.formula)
        initial = self._initial
        if weighs:
            weighing = self._weighing(initial)
            yield weighing, turn
            initial = weighing.best()
        hitting = Hitting(work.formula, work.target, *how, initial, self._stop)
        short, size = turn, len(work.formula.literals)
        programs = not (weighs or self._stream) and vertex_pays(work.formula)
        soon = programs and size <= _SOON
        yield hitting, turn // _BEFORE_SOON if soon else turn
        vertices = self._vertex_turns(hitting, short) if programs else iter(())
        go_on = _LATER * size
        if soon:
            yield from iter(lambda: next(vertices, None), None)  # until a rest
            go_on = _RESTED * self.flips
        if not weighs:
            yield hitting, (_AHEAD - 1) * turn
            while hitting.few and not hitting.given_up and self.flips < _START:
                yield hitting, turn
            weighing = self._weighing(initial)
            yield weighing, turn
        searches: list[Hitting | Weighing | Swapping] = [hitting, weighing]
        late: dict[Search, int] = {}
        for count in itertools.count():
            if self.flips >= go_on:
                self._tell_best(hitting, searches)
                yield from iter(lambda: next(vertices, None), None)  # until a rest
                go_on = _RESTED * self.flips
            best = min(searches, key=lambda each: each.cost())
            ready = count > _BEFORE_SWAPS or best.cost()[0] > 0
            if ready and len(searches) == 2 and swapping_is_possible(work.formula):
                initial = None if best.cost()[0] else best.best()
                swapping = Swapping(work.formula, *how, work.target, initial, self._stop)
                searches.append(swapping)
                self._own[swapping] = swapping.cost()
            for search in searches[::-1]:
                if isinstance(search, Hitting):
                    self._tell_best(search, searches)
                if isinstance(search, Weighing) or not search.given_up:
                    most = self._most_late(search)
                    late[search] = self._behind(search) * min(most, late.get(search, 0) + 1)
                    whole = turn if weighs and search is weighing else self._whole(search, turn)
                    yield search, whole >> late[search]
            turn *= 2

    def _tell_best(
        self, hitting: Hitting, searches: Sequence[Hitting | Weighing | Swapping]
    ) -> None:
        """Have the search by cores go on from another one's assignment that is better."""
        best = min(searches, key=lambda each: each.cost())
        if best.cost()[0] == 0 and best.cost() < hitting.cost():
            hitting.adopt(best.best(), self._stop)

    def _vertex_turns(self, hitting: Hitting, turn: int) -> Iterator[tuple[Search, int] | None]:
        """Have the search by cores go on from whole vertices of the linear program, with turns in between.

        None where others should have theirs.
        """
        if hitting.given_up:
            return

        def known() -> float:
            hard, cost = hitting.cost()
            return math.inf if hard else float(cost)

        for found in whole_vertices(self._work.formula, hitting, known):
            if found is RESTS:
                yield None
                continue
            if found is not None:
                hitting.adopt(found, self._stop)
            if hitting.cost()[0] == 0:  # else it may have nothing yet
                self._own[hitting] = hitting.cost()
                self._take(hitting)
            yield hitting, turn // 2
        if hitting.given_up:  # has its bound told
            yield hitting, turn

    def _whole(self, search: Search, turn: int) -> int:
        """The turn of a search that is not behind."""
        if isinstance(search, Hitting):
            return _HALF * turn
        few = isinstance(search, Weighing) and self.flips < _EARLY and self._behind(search)
        return turn >> _FEW if few else turn

    def _most_late(self, search: Search) -> int:
        """How often the turn of a search that is behind is halved."""
        able = isinstance(search, Hitting) and self._own.get(search, (NEVER, 0))[0] == 0
        return _LATE if able and self.flips < _EARLY else _MOST_LATE

    def _behind(self, search: Search) -> bool:
        """Whether a search has less of the turns than others."""
        if isinstance(search, Hitting) and search.few:
            return False
        best = min(self._own.values(), default=(NEVER, 0))
        own = self._own.get(search, (NEVER, 0))
        if best[0] == 0:
            return best < own
        close = max(_CLOSE, int(_CLOSE_SHARE * self._work.formula.num_clauses))
        return not (isinstance(search, Swapping) or own[0] <= close)

    def _growing_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """What grows begins again where clause weighting has found something better.

        Where little is violated a solver is asked for all clauses, too.
        """
        work = self._work
        together: Together | None = None
        if len(work.formula.literals) <= _MOST_SWAPPED:
            yield weighing, _BEFORE_GROWN
        while True:
            growing = Growing(work.formula, work.target, weighing.best(), self._stop)
            if together is None and _nearly_all(growing.cost(), work.formula):
                together = Together(work.formula, work.target, self._stop)
            while not growing.given_up:
                yield growing, turn
                turn *= 2
                yield from _asked(together, turn // 2)
                yield weighing, turn
                if weighing.cost() < growing.cost():
                    break
            if growing.cost() < weighing.cost():
                weighing.adopt(growing.best(), self._stop)
            known = weighing.cost()
            while not weighing.cost() < known:
                turn *= 2
                yield from _asked(together, turn // 2)
                yield weighing, turn

    def _covering_turns(self, weighing: Weighing, turn: int) -> Iterator[tuple[Search, int]]:
        """First as many flips; then the better one has more than the other."""
        work = self._work
        how = work.target, work.seed, self._stream, weighing.best()
        covering = Covering(work.formula, *how, self._stop)
        yield covering, turn
        while True:
            turn *= 2
            for search, other in ((weighing, covering), (covering, weighing)):
                yield search, turn if search.cost() <= other.cost() else turn // _LESS

    def _advance(self, search: Search, end: int) -> bool:
        """Run one slice; False where the search itself has nothing more to do."""
        most = end - self.flips
        if self._work.max_flips is not None:
            most = min(most, self._work.max_flips - self.flips)
        asked = min(self._slice, most)
        before = search.quality if self.flips else None
        began = time.perf_counter()
        done = search.run(asked, self._stop)
        seconds = time.perf_counter() - began
        self.flips += done
        # A factor of at most 4: a clock that stood still once must not make the next slice endless.
        self._slice = int(asked * min(4.0, max(0.25, _SLICE_SECONDS / max(seconds, 1e-6)))) + 1
        if search.quality != before and search.quality[0] != NEVER:
            if not isinstance(search, Walking):
                self._own[search] = search.cost()
            self._take(search)
        if isinstance(search, Bounding) and self._work.incumbent is not None and self._work.tells:
            self._work.incumbent.bound_reduced(search.lower)
        return done == asked

    def _take(self, search: Search) -> None:
        found = search.cost()
        if self._best is not None and found >= self._best:
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
        if self._work.incumbent is not None:
            self._work.incumbent.offer_reduced(self._assignment)
        ended = time.perf_counter()
        self._offer_at = ended + _BETWEEN_OFFERS * (ended - began)

    def _exhausted(self) -> bool:
        work = self._work
        if self._best is not None and self._best[0] == 0 and self._best[1] <= work.target:
            return True
        if work.max_flips is not None:
            return self.flips >= work.max_flips
        n = work.formula.num_variables
        patience = min(_PATIENCE, _PATIENCE_PER_VARIABLE * n) + _TURN_PER_VARIABLE * n
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
        return f"{self.name} with {walkers} walkers"

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
        if initial is None and best is not None and len(task.formula.literals) > LARGE:
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
