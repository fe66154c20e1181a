"""Branch and bound over linear programs, where each branch ends by whole numbers.

A branch is a box, 0 or 1 or both for each variable. Its linear program proposes multipliers of rows; they are
rounded to whole numbers q >= 0, and with the prices p and rows ``sum of a x >= b``,

    p x >= q b + sum over v of min over the box of (p - q a)_v x_v

is evaluated in whole numbers. That ends a branch whose bound is above what a better assignment may cost, and
fixes the variables whose part of it alone would lift it there. Branches without a solution end by the same
sum without prices, above 0. Where all values of a program are whole they are an assignment, which is
evaluated. So no tolerance of the solver's enters: what it says wrong costs time alone.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

from .board import Settled
from .costs import Costs
from .program import Program, installed
from .relaxation import Row, first_seconds, rows_of
from .rows.cycles import OddCycles

#: Bits that prices and their sum may have in parts of a unit, and most bits of the parts.
_BITS, _MOST_PARTS = 50, 20
#: Most literals of the rows.
_MOST_LITERALS = 300_000
#: Share of the gap that a round of odd cycles must close, or there is no other one.
_ENOUGH = 0.03
#: How far from a whole number a value may lie to be tried as one.
_WHOLE = 1e-6
#: How many times as long as so far the rest of the tree may take, told by the part that was done since the last
#: better assignment, and how many times its turn it has at most to come to the end. Seconds that are tried
#: where that does not tell yet, and the share of all processor time so far.
_HOPE, _LONGER, _TRIED, _TRIED_AGAIN = 1.0, 5.0, 0.05, 0.05
#: All this where the first program leaves such a share of the cost; so many times more where it leaves less,
#: and so many times where counters prevail: programs see what their clauses do not say.
_GAP, _MOST_WORTH, _COUNTED = 0.1, 10.0, 10.0


class Branch(NamedTuple):
    """A box, what its assignments cost at least, its depth, and the variable that it was made by."""

    lower: Any
    upper: Any
    bound: int
    depth: int
    variable: int = -1
    share: float = 1.0  # of the variable's value that was moved


class Branching:
    """The branches that are left of a formula's assignments."""

    def __init__(self, costs: Costs, rows: list[Row]) -> None:
        import numpy as np

        self._costs, self._board = costs, costs.board
        self._root: int | None = None  # bound of the whole
        self._done = 0.0  # the part of the tree
        # Processor time since the last assignment, and the part done in it.
        self._spent, self._closed = 0.0, 0.0
        self._met, self._began = costs.board.cost, time.thread_time()
        self._hiders = [x for x in (costs.counters, costs.sums) if x is not None]
        shown = np.ones(costs.first, dtype=bool)
        for hider in self._hiders:  # whoever knows its variables gives them their values
            shown[[v - 1 for v in hider.hidden]] = False
        self._shown = np.flatnonzero(shown)
        self._column = np.cumsum(shown)  # of each variable, from 1
        arrays = self._arrays(rows)
        self._cycles = OddCycles(costs.unrolled[0])
        total = sum(costs.soft.values())
        self._scale = 1 << min(_MOST_PARTS, max(0, _BITS - total.bit_length()))
        prices = np.zeros(costs.first, dtype=np.int64)
        for wish, weight in costs.soft.items():
            prices[abs(wish) - 1] = -weight if wish > 0 else weight
        prices = prices[self._shown]
        self._constant = costs.constant + sum(w for x, w in costs.soft.items() if x > 0)
        self._prices, self._step = prices, math.gcd(*costs.soft.values())
        self._program = Program(prices.astype(float), *arrays)
        self._until = 0.0
        self._program.ask(self._ended)
        zeros = np.zeros(len(prices), dtype=np.int8)
        self._left = [Branch(zeros, zeros + 1, 0, 0)]
        self._gains = np.zeros((2, len(prices)))  # of values moved down and up, and how many
        self._moves = np.zeros((2, len(prices)))

    @classmethod
    def of(cls, costs: Costs, against: dict[int, set[int]]) -> Branching | None:
        """Those of the clauses that were given; None where programs take long or say little."""
        if not (costs.soft and installed()) or sum(costs.soft.values()).bit_length() > _BITS:
            return None
        seen = costs.counters or costs.sums  # by programs alone
        if seen is None and not _programs_pay(costs, sum(map(len, costs.given))):
            return None
        rows = rows_of(*costs.unrolled, against)
        if costs.sums is not None:
            rows += [
                Row([-x for x in each.literals], sum(each.weights) - each.most, each.weights)
                for each in costs.sums.rows
            ]
        if not (rows and _programs_pay(costs, sum(len(row.literals) for row in rows))):
            return None
        return cls(costs, rows)

    def seconds(self, turn: float) -> float:
        """What a turn should be worth: more where the end is near, little where there is none in sight."""
        if self._board.cost != self._met:  # most of what was open ends sooner now
            self._spent = self._closed = 0.0
        counted = bool(self._hiders)
        if self._root is None and counted:
            return turn
        far = time.thread_time() - self._began
        left = self._spent * (1 - self._done)  # times what was closed in that time
        if 0 < left <= self._closed * _HOPE * self._worth * far:
            return max(turn, min(2 * left / self._closed, _LONGER * turn))
        worth = self._worth * (_COUNTED if counted else 1.0)
        tried = worth * max(_TRIED, _TRIED_AGAIN * far)
        return min(turn, max(0.0, tried - self._spent))

    @property
    def _worth(self) -> float:
        """How much a branch is worth, by what the first program left of the cost."""
        if self._root is None or self._board.cost is None:
            return 1.0
        gap = 1 - self._root / (self._scale * max(1, self._board.cost))
        return min(_MOST_WORTH, _GAP / max(gap, 1e-9))

    def turn(self, until: float) -> None:
        """Go on until a moment; `Settled` if that proves the best assignment."""
        self._until, self._met = until, self._board.cost
        if self._costs.sums is not None and self._root is None:
            self._assign()
        while time.thread_time() < until:
            self._board.look()
            if not self._left:
                raise Settled
            branch = self._left.pop()
            began = time.thread_time()  # the board's own time does not count
            found = [] if branch.bound > self._most() else self._explored(branch)
            self._spent += time.thread_time() - began
            if found is None:
                self._left.append(branch)
                return
            if not found:
                self._done += 0.5**branch.depth
                self._closed += 0.5**branch.depth
            self._left += found
        self._tell()

    def _assign(self) -> None:
        """Have the solver of programs look for whole numbers by itself, and offer what it finds."""
        arrays, (all_,) = self._program.rows.arrays, self._left
        program = Program(self._prices.astype(float), *arrays, presolve="on")
        program.whole(all_.lower.astype(float), all_.upper.astype(float), self._ended, self._try)

    def _whole(self, values: Any) -> Any:
        """Values of all variables, 0 where others know them."""
        import numpy as np

        every = np.zeros(len(self._column), dtype=values.dtype)
        every[self._shown] = values
        return every

    def _arrays(self, rows: list[Row]) -> tuple[Any, ...]:
        """The columns and signs of all literals, the number of each row's, how many hold, and weights."""
        import numpy as np

        literals = np.array([x for row in rows for x in row.literals], dtype=np.int64)
        sizes, least = [len(row.literals) for row in rows], [row.least for row in rows]
        weights = [w for row in rows for w in row.weights or [1] * len(row.literals)]
        columns = np.sign(literals) * self._column[abs(literals) - 1]
        return columns, *(np.array(x, dtype=np.int64) for x in (sizes, least, weights))

    def _ended(self) -> bool:
        """Whether the turn is over."""
        return self._board.over() or time.thread_time() >= self._until

    def _most(self) -> int:
        """What an assignment costs at most, in parts of a unit, that is better than the best one."""
        if self._board.cost is None:
            return self._scale * (self._costs.constant + sum(self._costs.soft.values()))
        return self._scale * (self._board.cost - self._step)

    def _tell(self) -> None:
        if self._left:
            least = min(branch.bound for branch in self._left)
            self._board.raise_to(-(-least // self._scale))

    def _explored(self, branch: Branch) -> list[Branch] | None:
        """What is left of a branch; None where its program is not solved yet."""
        self._program.bound(branch.lower.astype(float), branch.upper.astype(float))
        feasible = self._program.run()
        if feasible is None and time.thread_time() >= self._until:
            return None
        if feasible is False and self._refuted(branch):
            self._learn(branch, self._most())
            return []
        lower, upper, bound, values = branch.lower, branch.upper, branch.bound, None
        if feasible:
            values = self._program.values
            told, reduced = self._bounded(self._prices, self._program.duals, branch)
            bound = max(bound, told)
            self._root = bound if self._root is None else self._root
            self._learn(branch, bound)
            self._try(values)
            if bound > self._most():
                return []
            if not branch.depth and self._cut(values, bound, branch.bound):
                return [branch._replace(bound=bound)]
            lower, upper = self._fixed(branch, reduced, self._most() - told)
        variable, share = self._chosen(lower, upper, values)
        if variable < 0:  # nothing is left to choose
            self._try(lower)
            return []
        made = []
        for up in (share <= 0.5, share > 0.5):  # the nearer value is tried first
            below, above = lower.copy(), upper.copy()
            (below if up else above)[variable] = int(up)
            moved = 1 - share if up else share
            made.append(Branch(below, above, bound, branch.depth + 1, variable, moved))
        return made

    def _cut(self, values: Any, bound: int, before: int) -> bool:
        """Whether odd cycles refute values; then they are rows from now on.

        They are looked for as long as those before closed enough of the gap.
        """
        if bound - before < _ENOUGH * (self._most() - bound):
            return False
        found = list(self._cycles.violated(self._whole(values).tolist(), self._ended))
        if found:
            self._program.add(*self._arrays(found))
        return bool(found)

    def _bounded(self, prices: Any, duals: Any, branch: Branch) -> tuple[int, Any]:
        """What multipliers say of a branch in parts of a unit, and the prices that they leave."""
        import numpy as np

        rounded = np.rint(self._scale * np.maximum(duals, 0.0))
        if (
            not rounded @ self._program.rows.norms < 2.0**61
        ):  # else sums are whole numbers of 64 bits
            rounded = np.zeros(len(duals))
        q = rounded.astype(np.int64)
        reduced = self._scale * prices - self._program.rows.columns(q)
        parts = np.where(reduced > 0, reduced * branch.lower, reduced * branch.upper)
        constant = self._scale * self._constant if prices.any() else 0
        return constant + int(q @ self._program.rows.bounds) + int(parts.sum()), reduced

    def _refuted(self, branch: Branch) -> bool:
        """Whether multipliers show that a branch is empty."""
        ray = self._program.ray
        if ray is None:
            return False
        largest = float(abs(ray).max(initial=0.0))
        if not 0 < largest < math.inf:
            return False
        nothing = 0 * self._prices
        return any(self._bounded(nothing, sign / largest * ray, branch)[0] > 0 for sign in (1, -1))

    def _fixed(self, branch: Branch, reduced: Any, gap: int) -> tuple[Any, Any]:
        """A box without the values that no better assignment has."""
        import numpy as np

        free = branch.lower < branch.upper
        lower = np.where(free & (reduced < -gap), branch.upper, branch.lower)
        upper = np.where(free & (reduced > gap), branch.lower, branch.upper)
        return lower, upper

    def _try(self, values: Any) -> None:
        """Offer values if they are whole and an assignment."""
        whole = values.round()
        if (abs(values - whole) > _WHOLE).any():
            return
        whole = whole.astype("int64")
        if (self._program.rows.sums(whole) >= self._program.rows.bounds).all():
            told = self._whole(whole).tolist()
            if all(hider.complete(told) for hider in self._hiders):
                self._costs.offer_whole([v if x else -v for v, x in enumerate(told, 1)])

    def _learn(self, branch: Branch, bound: int) -> None:
        """Note what moving a variable's value cost."""
        if branch.variable < 0:
            return
        up = int(branch.lower[branch.variable])
        gain = max(0, min(bound, self._most()) - branch.bound) / self._scale
        self._gains[up, branch.variable] += gain / max(branch.share, _WHOLE)
        self._moves[up, branch.variable] += 1

    def _chosen(self, lower: Any, upper: Any, values: Any) -> tuple[int, float]:
        """The variable whose two branches promise most, and its value; below 0 where there is none."""
        import numpy as np

        free = np.flatnonzero(lower < upper)
        if not len(free):
            return -1, 0.0
        if values is None:
            return int(free[0]), 0.5
        broken = free[abs(values[free] - values[free].round()) > _WHOLE]
        if not len(broken):
            return int(free[abs(self._prices[free]).argmax()]), 0.5
        shares = values[broken]
        usual = self._gains.sum(axis=1) / np.maximum(1, self._moves.sum(axis=1))
        gains, moves = self._gains[:, broken], self._moves[:, broken]
        each = np.where(moves > 0, gains / np.maximum(1, moves), usual[:, None])
        down, up = np.maximum(each * [shares, 1 - shares], _WHOLE)
        best = (down * up).argmax()
        return int(broken[best]), float(shares[best])


def _programs_pay(costs: Costs, literals: int) -> bool:
    """Whether programs of so many literals take little time and say something."""
    return literals <= _MOST_LITERALS and first_seconds(costs, literals) < math.inf
