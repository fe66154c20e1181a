"""What an assignment costs: wishes and their weights, and counts of violated ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from pysat.solvers import Cadical153

from hardscape import native

from .board import Board, Settled
from .oracle import BETWEEN_LOOKS, Oracle
from .rows.adders import Adders
from .rows.counters import Counters
from .rows.sums import Sums

#: Wishes above which a restart of the solver costs more than all else.
_MANY = 20_000
#: Share of the clauses that simpler ones may be at most, or they are not worth it.
_SHRUNK = 0.9
#: Most literals of clauses of two that are looked through for counters at once.
_MOST_COUNTED = 1_000_000
#: Literals above which clauses are simplified by elimination and subsumption alone.
_THOROUGH = 150_000
#: What CaDiCaL says of clauses that contradict one another.
_REFUTED = 20


class Relaxed:
    """Clauses of which each soft one has a wish: a literal that costs its weight where it does not hold.

    That is, of a clause of one literal itself, of another one a new variable that relaxes it. Variables that
    come later than the first ones have other numbers here.
    """

    def __init__(self, variables: int) -> None:
        self.variables = self.top = variables
        self.clauses: list[list[int]] = []
        self.wishes: list[int] = []
        self.relaxed: dict[int, list[int]] = {}  # the soft clause of a wish
        self._number: dict[int, int] = {}

    def take(self, clauses: Sequence[list[int]], hard: Iterable[int]) -> None:
        """Take hard and soft clauses."""
        done = 0
        for i in [i for i, is_hard in enumerate(hard) if not is_hard]:
            self.clauses += clauses[done:i]
            clause, done = clauses[i], i + 1
            if len(clause) == 1:
                self.wishes.append(clause[0])
                continue
            self.top += 1
            self.clauses.append([*clause, self.top])
            self.relaxed[-self.top] = clause
            self.wishes.append(-self.top)
        self.clauses += clauses[done:]

    def inner(self, literal: int) -> int:
        """The literal of the caller's, here."""
        if abs(literal) <= self.variables:
            return literal
        number = self._number.get(abs(literal), 0)
        if not number:
            self.top += 1
            number = self._number[abs(literal)] = self.top
        return number if literal > 0 else -number


class Costs:
    """The clauses, what each wish costs that does not hold, and what is demanded of better assignments.

    `names` are the variables that the board's assignments tell the values of, where they are not the first.
    Counters and sums are looked for unless it is known that none prevail (`counted`): that takes as long as
    many proofs.
    """

    def __init__(
        self,
        relaxed: Relaxed,
        weights: Iterable[int],
        oracle: Oracle,
        names: Sequence[int] | None = None,
        *,
        counted: bool = True,
    ) -> None:
        self.board, self.oracle = oracle.board, oracle
        self.variables, self.first = relaxed.variables, relaxed.top
        self.top = relaxed.top
        self.given, self.clauses = relaxed.clauses, list(relaxed.clauses)
        self.names = names
        self.counted = counted
        self._relaxed = relaxed.relaxed
        self._eliminated: list[tuple[Any, int]] = []  # who knows their values, of variables up to
        self.solutions = native.core.maxsat.Solutions()
        self.weight: dict[int, int] = {}
        self._most = 0  # no wish weighs more
        self.scale = 1  # parts of a unit that weights are counted in
        self.paid = 0  # what any better assignment costs at least, in them
        constant = 0
        for wish, weight in zip(relaxed.wishes, weights, strict=True):
            both = min(weight, self.weight.get(-wish, 0))
            constant += both
            self.gain(-wish, -both)
            self.gain(wish, weight - both)
        self.soft, self.constant = dict(self.weight), constant
        self._kept = {abs(wish) for wish in self.soft}
        if constant:
            self.raised(constant)

    @classmethod
    def of(cls, formula: dict[str, Any], board: Board, solver: str = "g4") -> Costs:
        """Those of a formula that is solved once."""
        relaxed = Relaxed(int(formula["variables"]))
        relaxed.take(formula["clauses"], formula["hard"])
        soft = zip(formula["weights"], formula["hard"], strict=True)
        weights = [weight for weight, hard in soft if not hard]
        oracle = Oracle(relaxed.clauses, board, solver, many=len(weights) > _MANY)
        costs = cls(relaxed, weights, oracle, counted=formula.get("counted", True))
        if board.patience < math.inf:
            oracle.spare = costs.new(), costs.new()
        return costs

    @cached_property
    def counters(self) -> Counters | None:
        """Those among the clauses that were given, where they prevail."""
        if not self.counted:
            return None
        pairs = sum(len(clause) == 2 for clause in self.given)
        if not (_MOST_COUNTED >= 2 * pairs > len(self.given)):
            return None
        found = Counters(self.given, map(abs, self.soft))
        return found if found.prevail else None

    @cached_property
    def sums(self) -> Sums | Adders | None:
        """Those that the clauses that were given say, where they prevail."""
        if not self.counted or self.counters is not None:
            return None
        named = [abs(wish) for wish in self.soft]
        return Sums.of(self.given, named) or Adders.of(self.given, named)

    @property
    def unrolled(self) -> tuple[Sequence[Sequence[int]], Sequence[list[int]]]:
        """The clauses that were given without sums that prevail, and cliques for counters that prevail."""
        if self.counters is None:
            return self.given if self.sums is None else self.sums.left, ()
        return self.counters.left, self.counters.cliques

    def relaxes(self, wish: int) -> bool:
        """Whether it is no soft clause itself, but relaxes one of several literals."""
        return wish in self._relaxed

    def new(self) -> int:
        """A new variable."""
        self.top += 1
        return self.top

    def add(self, clause: list[int]) -> None:
        """Demand a clause from now on."""
        self.clauses.append(clause)
        self.oracle.add(clause)

    def restrict(self, clauses: Iterable[list[int]]) -> None:
        """Demand what an optimal solution satisfies, with some values of variables after the formula's."""
        new: dict[int, int] = {}
        self.solutions.forget()
        for clause in clauses:
            for v in map(abs, clause):
                if v > self.variables and v not in new:
                    new[v] = self.new()
            self.add([new.get(x, x) if x > 0 else -new.get(-x, -x) for x in clause])

    def gain(self, wish: int, weight: int) -> None:
        """Let a wish weigh more, or less."""
        if weight:
            weighs = self.weight.get(wish, 0) + weight
            if weighs:
                self.weight[wish] = weighs
                self._most = max(self._most, weighs)
            else:
                del self.weight[wish]

    def raised(self, by: int) -> None:
        """Take a lower bound that is higher by so many parts of a unit."""
        self.paid += by
        self.board.raise_to(-(-self.paid // self.scale))

    def forget(self, clauses: list[list[int]]) -> None:
        """Demand these clauses, which were there before, and no others."""
        self.clauses = clauses
        self.oracle.restart(clauses)
        self.solutions.forget()

    def restart(self, scale: int, paid: int, weight: dict[int, int]) -> None:
        """Have other wishes, in such parts of a unit, and what any better assignment costs beside them."""
        self.scale, self.paid, self.weight = scale, 0, weight
        self._most = max(weight.values(), default=0)
        self.raised(paid)

    def above(self, lower: int) -> int:
        """What a better assignment than the best one may cost above so many parts of a unit."""
        assert self.board.cost is not None
        return self.scale * (self.board.cost - 1) - lower

    def keep(self, variables: Iterable[int]) -> None:
        """Have these variables eliminated by nobody."""
        self._kept.update(variables)

    def simplify(self) -> None:
        """Have fewer clauses, which wishes and counts cannot tell from those that were there."""
        named = self._kept.union(map(abs, self.weight))
        kept = [v for v in range(1, self.top + 1) if v > self.variables or v in named]
        processor = Cadical153(bootstrap_with=self.clauses)
        # Equal literals stay two: what is substituted could not be wished for.
        more = dict.fromkeys(
            ("probe", "probehbr", "ternary", "transred", "vivify"),
            sum(map(len, self.clauses)) <= _THOROUGH,
        )
        answer, simpler = processor.process(decompose=False, freeze=kept, **more)
        if answer == _REFUTED:
            raise Settled
        if len(simpler) <= _SHRUNK * len(self.clauses):
            self.clauses = simpler
            self._eliminated.append((processor, self.top))
            self.oracle.restart(self.clauses)

    def offer(self, model: list[int]) -> list[int]:
        """Offer a solution for what it costs; with what it leaves open, which is false."""
        model = model + [-v for v in range(len(model) + 1, self.top + 1)]
        missed = [wish for wish in self.soft if model[abs(wish) - 1] != wish]  # none is eliminated
        relaxed = [wish for wish in missed if wish in self._relaxed]
        cost = self.constant + sum(self.soft[wish] for wish in missed)
        cost -= sum(self.soft[wish] for wish in relaxed)
        if self.board.improves(cost):
            whole = self._restored(model)
            for wish in relaxed:
                if all(whole[abs(x) - 1] != x for x in self._relaxed[wish]):
                    cost += self.soft[wish]
            self.board.offer(cost, self._named(whole))
        return model

    def offer_whole(self, model: list[int]) -> None:
        """Offer values of the first variables that satisfy the clauses that were given."""
        cost = self.constant
        for wish, weight in self.soft.items():
            held = self._relaxed.get(wish, (wish,))
            cost += 0 if any(model[abs(x) - 1] == x for x in held) else weight
        self.board.offer(cost, self._named(model))

    def _restored(self, model: list[int]) -> list[int]:
        """With the values of what was eliminated."""
        model = list(model)
        for processor, top in reversed(self._eliminated):
            restored = processor.restore(model[:top])  # without last ones that no clause had
            model[: len(restored)] = restored
        return model

    def _named(self, model: list[int]) -> list[int]:
        """The board's literals."""
        if self.names is None:
            return model[: self.variables]
        values = enumerate((model[name - 1] for name in self.names), 1)
        return [v if x > 0 else -v for v, x in values]

    def harden(self) -> None:
        """Demand the wishes that nothing better than the best assignment can leave out."""
        if self.board.cost is None:
            return
        left = self.above(self.paid)
        if self._most <= left:
            return
        hardened = [wish for wish, weight in self.weight.items() if weight > left]
        for wish in hardened:
            self.add([wish])
            del self.weight[wish]
        self._most = max(self.weight.values(), default=0)
        if hardened:
            self.solutions.demand(hardened)


class Count:
    """How many literals of a core are violated, as literals: output i says more than i. One is paid for."""

    def __init__(self, costs: Costs, violated: list[int], weight: int) -> None:
        from pysat.card import ITotalizer  # takes milliseconds

        self._costs = costs
        self.weight, self.violated, self.size = weight, violated, len(violated)
        self.shown: dict[int, int] = {}  # weight that output i has as a wish, those paid included
        self._bound = 1
        self._sum = ITotalizer(lits=violated, ubound=1, top_id=costs.top)
        self._take(self._sum.cnf.clauses)

    def _take(self, clauses: list[list[int]]) -> None:
        self._costs.top = max(self._costs.top, self._sum.top_id)
        for i, clause in enumerate(clauses, 1):
            self._costs.add(clause)
            if i % BETWEEN_LOOKS == 0:
                self._costs.board.look()

    def hidden(self, i: int) -> int:
        """What output i weighs that is no wish."""
        return self.weight - self.shown.get(i, 0)

    def wish(self, i: int) -> int:
        """That no more than i are violated, i < size."""
        if i > self._bound:
            self._bound = min(self.size - 1, 2 * i)
            self._sum.increase(ubound=self._bound, top_id=self._costs.top)
            if self._sum.nof_new:
                self._take(self._sum.cnf.clauses[-self._sum.nof_new :])
        return -int(self._sum.rhs[i])
