"""A walk over the sets of soft clauses that hold together.

A violated soft clause is asked for beside all that hold; where the hard clauses refuse, a SAT solver says which
of those stand against it, and the lightest of them is given up, until an assignment is found. It crosses chains
of implications, as encodings have them, that no flip can cross.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.asking import CONFLICTS, Asking
from hardscape.maxsat.methods.installed import can_ask
from hardscape.maxsat.methods.weighting.searches import NEVER

#: One move in so many takes what it asks for, whatever it costs; after so many without a better assignment the
#: walk goes back to the best one.
_ANYTHING, _BACK = 8, 60
#: Of what stands against such a move as many are given up at once as have been before it, divided by one of
#: these, and one more: slow moves cost less, fast ones take less time.
_SLOWNESS = (1000, 12, 4)
#: Where it takes too many conflicts to say whether such a move can be made it is asked again so often, for the
#: solver has learnt meanwhile, and then for all but the lightest: one in so many.
_AGAIN, _LIGHTEST = 2, 8
#: Conflicts after which a move's question is given up: hard ones take most of the time and help little.
_CONFLICTS = 50
#: Conflicts of a question of the opening, and literals that the solver assigns before another one is asked.
_OPENING, _OPENED = 1000, 300_000
#: Most conflicts of a question for a first assignment; the first ones have fewer, and each twice as many as
#: before.
_MOST = 100 * CONFLICTS
#: Keeps the coins apart from those of other searches with the same seed.
_PURPOSE = 0x6D787377


def levels_of(weights: list[int]) -> list[int]:
    """Weights, falling, of half as many more wishes each time, or more of one weight; 0 for all at last."""
    levels, rest = [], sorted(weights, reverse=True)
    left = rest
    while left:
        wanted = max(1, (len(rest) - len(left)) // 2)
        found = left[min(wanted, len(left)) - 1]
        level = found if found > left[-1] else 0
        levels.append(level)
        left = [weight for weight in left if weight < level]
    return levels


def swapping_is_possible(formula: Formula) -> bool:
    """Whether some clauses are hard and some soft, and a SAT solver is there to ask."""
    return 0 < formula.num_hard < formula.num_clauses and can_ask()


class Swapping(Asking):
    """The walk; what it finds is evaluated by the caller.

    Each soft clause is a *wish*: a literal that the solver may be asked to hold. Clauses of one literal are
    wishes themselves, the others get a new variable that relaxes them. The walk of the presolved `formula`
    starts from `initial`, if that satisfies the hard clauses, else from what the solver finds near it, or where
    that is `far` from all that does anywhere, if at once. It stops at a cost of `target`; ``given_up`` says
    that nothing is left to try.
    """

    def __init__(
        self,
        formula: Formula,
        seed: int,
        stream: int,
        target: int,
        initial: NDArray[np.uint8] | None,
        stop: NDArray[np.uint8],
        *,
        far: bool = False,
    ) -> None:
        super().__init__(target)
        self._formula = formula
        self._random = np.random.default_rng([seed, stream, _PURPOSE])
        self._weight: dict[int, int] = {}  # of each wish
        self._held: list[int] = []
        self._lost: list[int] = []
        self._refused: set[int] = set()  # of the lost ones, since something changed
        self._impossible: set[int] = set()  # against the hard clauses alone
        self._in_vain = 0  # moves since the last improvement
        self._began, self._patience = False, CONFLICTS
        self._near: list[int] = []  # literals that are preferred once a question was in vain
        self._levels: list[int] = []  # weights that the opening has not come down to yet
        self._dropped: set[int] = set()  # wishes that it gives up
        self._opened = 0  # literals assigned when it ends
        self.given_up = not self._tell(stop)
        if self.given_up:
            return
        self._wishes = list(self._weight)
        if initial is not None:
            model = self._model_of(initial)
            if far:
                self._near = model
            else:
                self._solver.set_phases(model)
            if formula.hard_violations(initial) == 0:
                self._take(model)
        self._solver.set_phases(self._wishes)

    def adopt(self, assignment: NDArray[np.uint8], stop: NDArray[np.uint8]) -> None:
        """Go on from an assignment that is better than the best one, if it satisfies the hard clauses."""
        if not (self.given_up or stop[0] or self._formula.hard_violations(assignment)):
            self._take(self._model_of(assignment))

    def _tell(self, stop: NDArray[np.uint8]) -> bool:
        """Give the solver all clauses; False if stopped before the end."""
        formula, top = self._formula, self._formula.num_variables
        literals, offsets = formula.literals.tolist(), formula.offsets.tolist()
        self._relaxed: list[tuple[int, int]] = []  # clauses, and the variables that relax them
        for c, (weight, hard) in enumerate(
            zip(formula.weights.tolist(), formula.hard.tolist(), strict=True)
        ):
            if stop[0]:
                return False
            clause = literals[offsets[c] : offsets[c + 1]]
            if not hard and len(clause) == 1:
                self._weight[clause[0]] = self._weight.get(clause[0], 0) + weight
                continue
            if not hard:
                top += 1
                clause.append(top)
                self._relaxed.append((c, top))
                self._weight[-top] = weight
            self._solver.add_clause(clause)
        self._solver.add_clause([top, -top])  # so that models have a value of every variable
        return True

    def _move(self, stop: NDArray[np.uint8]) -> None:
        if not self._began:
            self._begin()
            return
        if self._levels:
            self._open()
            return
        before = self._cost
        self._swap(stop)
        self._in_vain = self._in_vain + 1 if self._cost == before else 0
        if self._in_vain >= _BACK:
            self._in_vain = 0
            self._take(self._model_of(self._best))

    def _begin(self) -> None:
        answer = self._ask((), self._patience)
        self._patience = min(2 * self._patience, _MOST)
        if answer:
            self._take(self._solver.get_model())
            self._levels = levels_of(list(self._weight.values()))[::-1]
            self._opened = self._assigned() + _OPENED
        elif answer is False:
            self.given_up = True
        elif self._near:
            self._solver.set_phases([*self._near, *self._wishes])
            self._near = []

    def _open(self) -> None:
        """Ask for all wishes of some weight, and drop the lightest of those that contradict one another.

        Heavy ones are told first. Where all that are left hold, lighter ones join.
        """
        least = self._levels[-1]
        asked = [wish for wish, weight in self._weight.items() if weight >= least]
        asked = sorted(set(asked) - self._dropped, key=lambda wish: (-self._weight[wish], wish))
        answer = self._ask(asked, _OPENING)
        if answer:
            self._take(self._solver.get_model())
            self._levels.pop()
        elif answer is False and (core := self._solver.get_core()):
            self._dropped.add(min(core, key=self._weight.__getitem__))
        if self._assigned() > self._opened:
            self._levels.clear()
        if not self._levels:
            self._take(self._model_of(self._best))

    def _model_of(self, assignment: NDArray[np.uint8]) -> list[int]:
        """The solver's view of an assignment: what violates a clause relaxes it."""
        formula = self._formula
        true = assignment[np.abs(formula.literals) - 1] == (formula.literals > 0)
        holds = np.logical_or.reduceat(true, formula.offsets[:-1]).tolist()
        model = np.where(assignment, 1, -1) * np.arange(1, formula.num_variables + 1)
        return [*model.tolist(), *(-r if holds[c] else r for c, r in self._relaxed)]

    def _take(self, model: list[int]) -> None:
        """Go to what a model makes of the wishes."""
        self._began = True
        self._refused.clear()
        kept = [wish for wish in self._held if model[abs(wish) - 1] == wish]
        old = set(kept)
        # The old ones first, in their order: so the solver asks the same again as far as it can.
        self._held, self._lost, cost = kept, [], 0
        for wish in self._wishes:
            if model[abs(wish) - 1] != wish:
                cost += self._weight[wish]
                if wish not in self._impossible:
                    self._lost.append(wish)
            elif wish not in old:
                kept.append(wish)
        assigned = model[: self._formula.num_variables]
        self._solver.set_phases(assigned)
        self._solver.set_phases(self._wishes)
        self._found(cost, assigned)

    def _swap(self, stop: NDArray[np.uint8]) -> None:
        """Ask for a lost wish, and give up what stands against it.

        That may weigh no more than the wish, but now and then whatever it takes.
        """
        if not self._lost:
            self.given_up = True
            return
        wanted = self._wanted()
        self._refused.add(wanted)
        anything = self._random.integers(_ANYTHING) == 0
        slowness = _SLOWNESS[int(self._random.integers(len(_SLOWNESS)))] if anything else NEVER
        asked, given_up, cost, unclear = [*self._held, wanted], 0, 0, 0
        while not stop[0]:
            answer = self._ask(asked, _CONFLICTS)
            if answer:
                return self._take(self._solver.get_model())
            if answer is None:
                unclear += 1
                if not anything or len(asked) == 1:
                    return None
                if unclear > _AGAIN:
                    asked = self._fewer(asked)
                continue
            core = [wish for wish in self._solver.get_core() or () if wish != wanted]
            if not core:
                self._impossible.add(wanted)
                self._lost.remove(wanted)
                return None
            light = self._lightest(core, 1 + given_up // slowness)
            given_up += len(light)
            cost += sum(self._weight[wish] for wish in light)
            if cost > self._weight[wanted] and not anything:
                return None
            asked = [wish for wish in asked if wish not in light]
        return None

    def _lightest(self, core: list[int], count: int) -> set[int]:
        """The lightest wishes of a core; one by chance where one is wanted of several."""
        if count > 1:
            return set(sorted(core, key=self._weight.__getitem__)[:count])
        least = min(self._weight[wish] for wish in core)
        ties = [wish for wish in core if self._weight[wish] == least]
        return {ties[int(self._random.integers(len(ties)))]}

    def _fewer(self, asked: list[int]) -> list[int]:
        """Without the lightest wishes, but with the last one."""
        by_weight = sorted(asked[:-1], key=self._weight.__getitem__)
        light = set(by_weight[: -(-len(by_weight) // _LIGHTEST)])
        return [wish for wish in asked if wish not in light]

    def _wanted(self) -> int:
        """A lost wish, a heavy one rather than a light one, and none that was just refused."""
        left = [wish for wish in self._lost if wish not in self._refused]
        if not left:
            self._refused.clear()
            left = self._lost
        sums = np.cumsum([float(self._weight[wish]) for wish in left])
        chosen = np.searchsorted(sums, self._random.random() * sums[-1], side="right")
        return left[min(int(chosen), len(left) - 1)]
