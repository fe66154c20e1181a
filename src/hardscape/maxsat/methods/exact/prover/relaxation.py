"""A linear program, whose multipliers are cores that are paid for all at once.

Every clause, and every clique of literals that exclude one another, is a row: of its literals at least k hold.
With values between 0 and 1 for the variables, the least cost under the rows is that of a linear program, and
its dual gives each row a multiplier q. With s = sum [l] - k >= 0, the slack of a row of literals l,

    cost = cost + sum of q (k + s - sum [l]) = lower + sum of |c_v| [v is not as wished] + sum of q s

for any q at all, and where q >= 0 nothing on the right is negative. So floating point numbers only propose q;
they are rounded to whole numbers, of which the right side is made exactly. It is what cores, one by one, end
with, too: a lower bound, wishes, and counts (s is the number of literals beyond one that hold; in a clique, of
k + 1 literals of which at most one is denied, whether all hold).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from .costs import Costs
from .exclusions import confirm_clique, wish_for_one
from .program import Program, installed

#: Parts of a unit of weight that multipliers are rounded to (halves, thirds, quarters, and fifths are whole),
#: as long as weights stay below a number of bits.
_PARTS, _BITS = 60, 50
#: Most literals of the rows, and most pairs that cliques are made of.
_MOST_LITERALS, _MOST_PAIRS = 2_000_000, 300_000
#: Processor time that the first program may take, at least and for each literal, where one variable in so many
#: has a price, or there are no more than so many literals for each wish, and fewer above `_LARGE`: there
#: assignments come first. A program whose value is above the bound already may take so many times longer.
_SECONDS, _EACH, _NEARLY, _PRICED, _PRICED_LARGE, _LARGE = 0.05, 1.5e-6, 3, 100, 65, 20_000
_AHEAD = 4


class Row(NamedTuple):
    """Of these literals at least so many hold, or those that hold weigh at least so much."""

    literals: list[int]
    least: int
    weights: list[int] | None = None


def rows_of(
    clauses: Iterable[Sequence[int]], cliques: Sequence[list[int]], against: dict[int, set[int]]
) -> list[Row]:
    """Clauses, and cliques, also of the pairs of literals that clauses or `against` exclude."""
    rows, pairs = [], {x: set(others) for x, others in against.items()}
    for clause in clauses:
        variables = len(set(map(abs, clause)))
        literals = list(clause if variables == len(clause) else dict.fromkeys(clause))
        if not literals or variables < len(literals):
            continue  # says nothing that the solver does not know
        if len(literals) != 2:
            rows.append(Row(literals, 1))
            continue
        a, b = literals
        pairs.setdefault(-a, set()).add(-b)
        pairs.setdefault(-b, set()).add(-a)
    every = [*cliques, *_cover(pairs)]
    return rows + [Row([-x for x in clique], len(clique) - 1) for clique in every]


def _cover(pairs: dict[int, set[int]]) -> list[list[int]]:
    """Cliques that hold every pair, as large as they are found; the pairs themselves where they are many."""
    found: list[list[int]] = []
    merges = sum(map(len, pairs.values())) <= 2 * _MOST_PAIRS
    left = {x: set(others) for x, others in pairs.items()}
    for first in sorted(pairs, key=lambda x: -len(pairs[x])):
        while left[first]:
            second = max(left[first], key=lambda x: len(left[x]))
            clique, near = [first, second], pairs[first] & pairs[second] if merges else set()
            while near:
                clique.append(max(near, key=lambda x: len(left[x])))
                near = near & pairs[clique[-1]]
            for x in clique:
                left[x].difference_update(clique)
            found.append(clique)
    return found


class Relaxation:
    """The rows of some clauses, or of all, and multipliers of them that a linear program proposes."""

    def __init__(
        self,
        costs: Costs,
        against: dict[int, set[int]],
        clauses: list[list[int]] | None = None,
    ) -> None:
        if costs.counters is None or costs.board.check:  # checks are pair by pair, which takes long
            first = costs.first
            some = costs.clauses if clauses is None else clauses
            own = [x for x in some if max(map(abs, x), default=0) <= first]
            self.rows = rows_of(own, (), against)
        else:
            self.rows = rows_of(*costs.unrolled, against)
        self.scale = _PARTS if max(costs.soft.values()) < 1 << _BITS else 1
        self._costs = costs
        self.multipliers: list[int] = []

    def solve(self, seconds: float, solver: str = "simplex") -> bool:
        """Propose multipliers, in so much processor time; whether that was enough."""
        literals = sum(len(row.literals) for row in self.rows)
        if not self.rows or literals > _MOST_LITERALS:
            return True
        proposed = _dual(self.rows, self._costs, seconds, solver)
        if proposed is not None:
            self.multipliers = [max(0, round(q * self.scale)) for q in proposed]
        return proposed is not None

    def reduced(self) -> tuple[int, dict[int, int]]:
        """What any assignment costs at least, in parts of a unit, and wishes and their weights beside that."""
        lower = self.scale * self._costs.constant
        price = defaultdict[int, int](int)  # of the truth of a variable
        for wish, weight in self._costs.soft.items():
            lower += self.scale * weight if wish > 0 else 0
            price[abs(wish)] -= self.scale * weight if wish > 0 else -self.scale * weight
        for row, q in self.paid():
            lower += q * (row.least - sum(x < 0 for x in row.literals))
            for x in row.literals:
                price[abs(x)] += q if x < 0 else -q
        lower += sum(c for c in price.values() if c < 0)
        return lower, {-v if c > 0 else v: abs(c) for v, c in price.items() if c}

    def paid(self) -> list[tuple[Row, int]]:
        """The rows that were given something."""
        return [(row, q) for row, q in zip(self.rows, self.multipliers, strict=False) if q]


def first_seconds(costs: Costs, literals: int) -> float:
    """Processor time that a program may take before anything else was done; infinite where none is worth it.

    That is where little has a price: there are very many literals for each wish.
    """
    wishes = len(costs.soft)
    little = costs.first > _NEARLY * wishes
    if little and literals > _PRICED * wishes:
        return math.inf
    late = little and literals > max(_LARGE, _PRICED_LARGE * wishes)
    return 0.0 if late else _SECONDS + _EACH * literals


def relaxed(
    costs: Costs,
    against: dict[int, set[int]],
    seconds: float,
    solver: str = "simplex",
    clauses: list[list[int]] | None = None,
) -> list[tuple[Row, int]] | None:
    """Have costs begin anew with what a linear program proposes, where that pays; None if it takes too long.

    It pays where it raises the bound.

    What is left to do is to count the slack of each row that was given something; these are returned.
    """
    board = costs.board
    if not costs.soft or not installed():
        return []
    relaxation = Relaxation(costs, against, clauses)
    if not relaxation.solve(seconds, solver):
        board.look()
        return None
    lower, weight = relaxation.reduced()
    if lower <= relaxation.scale * board.lower:
        board.look()
        return []
    costs.restart(relaxation.scale, lower, weight)
    board.look()  # not before: the bound says what more is worth
    paid = relaxation.paid()
    costs.keep(abs(x) for row, _ in paid for x in row.literals)
    return paid


def clique_of(costs: Costs, row: Row, weight: int) -> bool:
    """Wish that some member of a clique holds; whether the row is one."""
    if row.least == 1:
        return False
    clique = [-x for x in row.literals]
    confirm_clique(costs, clique)
    wish_for_one(costs, clique, weight)
    return True


def _dual(rows: list[Row], costs: Costs, seconds: float, solver: str) -> list[float] | None:
    """What the dual program gives each row; None where it is not solved within so many seconds."""
    import numpy as np

    board, prices = costs.board, np.zeros(costs.first)
    for wish, weight in costs.soft.items():
        prices[abs(wish) - 1] += -weight if wish > 0 else weight
    sizes = np.array([len(row.literals) for row in rows])
    least = np.array([row.least for row in rows])
    literals = np.fromiter(chain.from_iterable(row.literals for row in rows), np.int64, sizes.sum())
    program = Program(prices, literals, sizes, least, solver=solver)
    # The time begins here: to import the solver takes as long as many programs.
    began = time.thread_time()
    known = board.lower - costs.constant - sum(w for wish, w in costs.soft.items() if wish > 0)

    def ended() -> bool:
        most = seconds * (_AHEAD if program.value > known else 1)
        return board.over() or time.thread_time() - began >= most

    program.ask(ended)
    solved = program.run()
    found: list[float] | None = program.duals.tolist() if solved else None
    return found
