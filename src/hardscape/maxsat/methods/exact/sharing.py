"""How a prover and a walker share a thread."""

from __future__ import annotations

import math
import time

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.exact.pace import SHORT, Pace, alone, programs_first
from hardscape.maxsat.methods.exact.prospects import NOTHING_KNOWN, Prospects
from hardscape.maxsat.methods.walkers.local import Walker
from hardscape.maxsat.methods.walkers.openings import FEW
from hardscape.maxsat.result import Improvement

#: The walker's share of the turns, at first and least; and most, which it has while it finds something, and
#: where the bounds will not meet before the limit.
SHARE, _MOST = 0.2, 0.9
#: The share at first where no clause is hard: without hard clauses first cores are long. And seconds that the
#: search has at least, as far as the share goes: it finds most of what it finds within them.
_SOFT, _SEARCHED = 0.5, 8.0
#: The prover's first turn in seconds at the first share, and a turn's share of the time passed.
_TURN, TURN_SHARE = 0.2, 0.1
#: That bounds will not meet is said of a prover without any core after so many seconds, or such a share of the
#: time left.
_UNTRIED, _UNTRIED_SHARE = 0.5, 0.1
#: Such seconds and share where no clause is hard, in which a walker that finds nothing has a half at most: the
#: prover asks for all clauses at first.
_HALF, _UNASKED, _UNASKED_SHARE = 0.5, 5.0, 0.25
#: Nor is it said of one that has had less than such a share of what a limit has above so many seconds: bounds
#: of long proofs come late, and then fast.
_TRIED, _SHORT = 0.25, 20.0
#: Most of the time left that the prover has, but for so little, where its proof begins with linear programs.
_COUNTED, _LITTLE = 0.8, 0.05
#: The walker's share while it asks a solver for a first assignment: the prover asks three. And where few hard
#: clauses are violated, so that clause weighting has turns beside that solver.
_SEEKS, _SEEKS_CLOSE = 0.25, 2 / 3
#: Seconds of its own in which a walker that violates hard clauses has half of the time, and longer where these
#: are few, or a limit is short and it asks a solver. Most that satisfy them do so by then; else a solver is
#: likelier to.
_TRIES = 0.5
#: Share of the time left that the prover has before the walker's first turn, and most seconds: its first
#: assignments are better than most that a walker has by then.
_AHEAD, _MOST_AHEAD = 0.05, 0.5
#: A bound rises as fast as in such a part of the prover's time, the last one, which has turns at both sides.
_RECENT = 0.5
#: Who has waited less for a find goes on, and a walker does so for so many seconds at least.
_MOMENT = 0.1
#: Where no clause is hard and nothing refuted that is so only for as many seconds of a prover: a first core may
#: be what nobody can refute.
_SILENT = 0.5
#: Where the gap is no more than such a share of the cost, a walker that finds something has half, since it may
#: still find little, and a proof, which may find all of it, is near; and one that waits has little.
_NEAR = 0.2
#: Where it is no more than such a share the walker has least, too, while the prover's `first_ones` may come, up
#: to so many seconds, or such a share of the time left.
_CLOSE, _SOON, _FIRST_ONES = 0.5, 0.6, 0.4


def first_share(formula: Formula, left: float | None) -> float:
    """The walker's share of the turns at first, with so many seconds left."""
    share = SHARE if formula.num_hard else _SOFT
    if left is None or programs_first(formula):
        return share
    return min(_MOST, max(share, _SEARCHED / max(left, _SEARCHED)))


class Sharing:
    """The walker's share of the turns, as both have found more or less.

    `constant` is what the prover's costs leave out, `pace` the walker's so far, and `ends` when the time is up.
    """

    def __init__(
        self,
        first: float,
        best: Improvement | None,
        constant: int,
        pace: Pace | None = None,
        ends: float = math.inf,
        prospects: Prospects = NOTHING_KNOWN,
    ) -> None:
        self._first, self._ends = first, ends
        self._pace = pace or Pace()
        self._best, self._constant = best, constant
        self._known = known = prospects
        left = ends - time.monotonic()
        self.part = min(1.0, SHORT / left) if left > 0 else 1.0  # 1 up to a short limit
        # Of the walker while hard clauses are violated: a solver is likelier to satisfy them.
        self._violated = SHARE if known.counted else _LITTLE
        self._tries = max(_TRIES, alone(left)) if known.asks and left > 0 else _TRIES
        self._trial = 0.0 if math.isinf(left) else _TRIED * max(0.0, left - _SHORT)
        self._untried = min(_UNTRIED, _UNTRIED_SHARE * left)
        if known.together:
            self._untried = min(_UNASKED, _UNASKED_SHARE * left)
        self._opening = known.opening
        if known.counted:
            self._opening = min(known.opening, _COUNTED * left)
        # Seconds of the prover until which the walker has least.
        self._close = min(known.first_ones, max(_SOON, _FIRST_ONES * left))
        self._bounds = [(0.0, 0)]  # of the prover, by its seconds
        self._found = 0.0  # seconds of the prover until its last better assignment
        self._held = 0.0  # seconds of the walker until the hard clauses held

    def of(
        self,
        best: Improvement | None,
        lower: int = 0,
        proved: float = math.inf,
        *,
        able: bool = False,
        bound: int = 0,
        seeks: bool = False,
    ) -> float:
        """Of the next turn.

        The lower bound is what the prover has said in so many seconds, and `bound` the best one of the whole
        formula; an `able` walker satisfies the hard clauses without a solver, and one that `seeks` asks one for
        a first assignment, as the prover does.
        """
        opens = self._known.counted and proved < self._opening
        if best is None or best.hard_violations:
            self._held = self._pace.seconds
            few = best is not None and best.hard_violations <= FEW
            if opens:
                # One step of a walker may take a fifth of a second; but one that falls is soon there.
                return 0.0 if self._pace.stuck else _HALF
            if few or self._pace.seconds < self._tries:
                return _SEEKS_CLOSE if few and seeks else _HALF
            return max(self._violated, _SEEKS * seeks)
        if best is not self._best:
            self._found = proved
        self._bounds.append((proved, lower))
        if opens:
            return _HALF if self._pace.falls else _LITTLE
        if proved < self._opening and not able and self._pace.silent:
            return 0.0  # one step of its may take as long as it took to satisfy a circuit
        near = self._near(best, lower, _NEAR)
        most = _HALF if near else _MOST
        if not self._pace.still(self.part, self._held):
            return most
        if proved < self._close and self._near(best, lower, _CLOSE):
            return SHARE
        refutes = self._known.hard or lower or bound > self._constant or proved < _SILENT
        waits = refutes and self._waited_less(proved)
        if waits or self._rises(best, lower, proved):
            return _LITTLE if near else SHARE
        share = self._first if self._meets(best, lower, proved) else _MOST
        if self._known.together and proved < self._untried:
            share = min(share, _HALF)
        return min(share, most)

    @property
    def ahead(self) -> float:
        """Seconds of the prover before the walker's first turn, where there is a limit."""
        if math.isinf(self._ends):
            return 0.0
        return min(_MOST_AHEAD, _AHEAD * (self._ends - time.monotonic()))

    def judge(self, before: Improvement | None, after: Improvement | None, seconds: float) -> None:
        """Take what was known when the walker's turn began and ended, and its seconds."""
        self._pace.walked(seconds, before, after)
        self._best = after

    def _meets(self, best: Improvement, lower: int, proved: float) -> bool:
        """Whether the bounds meet before the limit if the lower one goes on as fast as it has come so far.

        Most slow down, so this is to hope for much.
        """
        if math.isinf(self._ends) or proved == 0 or proved < self._trial:
            return True
        if not lower:
            return proved < self._untried
        gap = best.cost - self._constant - lower
        return gap * proved <= lower * (self._ends - time.monotonic())

    def _waited_less(self, proved: float) -> bool:
        """Whether the prover has waited less for its next find than the walker, each in its own time.

        A walker waits from the first assignment on: what comes before is up to the prover.
        """
        idle = min(self._pace.idle, self._pace.seconds - self._held)
        return idle > max(_MOMENT, proved - self._found)

    def _rises(self, best: Improvement, lower: int, proved: float) -> bool:
        """Whether the lower bound meets the cost before the limit if it goes on as it did at last."""
        left = self._ends - time.monotonic()
        if math.isinf(left) or math.isinf(proved):
            return False
        then, before = next(x for x in reversed(self._bounds) if x[0] <= (1 - _RECENT) * proved)
        gap = best.cost - self._constant - lower
        return lower > before and (lower - before) * left >= gap * (proved - then)

    def _near(self, best: Improvement, lower: int, share: float) -> bool:
        """Whether no more than a share of the cost lies between the bounds."""
        return best.cost - self._constant - lower <= share * best.cost


class Turns:
    """A walker's turns on the thread of a prover, from now on; `share` is the walker's at first.

    `lower` is the prover's last bound, for whoever asks. A walker that has little of the time has no more than
    that: what its steps take beyond one turn is taken from others.
    """

    def __init__(
        self, walker: Walker, incumbent: Incumbent, share: float, sharing: Sharing
    ) -> None:
        self.walker, self.lower = walker, 0
        self._incumbent, self._sharing = incumbent, sharing
        self._began = self._passed = time.monotonic()
        first = max(_TURN * (1 - share) / (1 - SHARE), sharing.ahead)
        self._ends = self._began + first
        self._proved = 0.0  # seconds of the prover so far
        self._over = 0.0  # seconds that the walker, who has little, has had beyond its turns

    @property
    def due(self) -> bool:
        """Whether the prover's turn is over."""
        return time.monotonic() >= self._ends

    def walk(self, lower: int) -> None:
        """Let the walker have its turn, after which the prover, with that lower bound, has its next one."""
        now, before = time.monotonic(), self._incumbent.best
        self._proved += now - self._passed
        told = {"able": self.walker.able, "seeks": self.walker.seeks}
        bound = self._incumbent.earned
        share = self._sharing.of(before, lower, self._proved, bound=bound, **told)
        late = max(0.0, now - self._ends) * self._sharing.part * min(1.0, share / (1 - share))
        turn = TURN_SHARE * (now - self._began) * share + late
        little = share <= _LITTLE
        self.walker.walk(turn - little * self._over)
        self._passed = passed = time.monotonic()
        self._over = little * max(0.0, self._over + passed - now - turn)
        self._sharing.judge(before, self._incumbent.best, passed - now)
        # A walker's turn may end late: it walks so many steps at a time.
        turn = TURN_SHARE * (passed - self._began) * (1 - share)
        self._ends = passed + max(turn, (passed - now) * min(1.0, (1 - share) / max(share, _HALF)))
