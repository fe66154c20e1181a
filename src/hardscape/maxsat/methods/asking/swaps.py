"""A walk over the sets of soft clauses that hold together.

A violated soft clause is asked for beside all that hold; where the hard clauses refuse, a SAT solver says which
of those stand against it, and the lightest of them is given up, until an assignment is found. It crosses chains
of implications, as encodings have them, that no flip can cross. In other moves less is assumed, and the solver
decides itself what to hold, in an order that it is told.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.asking.asking import CONFLICTS, Asking
from hardscape.maxsat.methods.installed import can_ask

#: Conflicts after which an exchange is given up: hard ones take most of the time and help little.
_EXCHANGED = 50
#: Those of a question in which the solver decides, least and most; and how many times longer the next one of a
#: move is after one without an answer, and shorter after another one.
_DECIDED, _MOST_DECIDED, _LONGER, _SHORTER = 100, 800, 1.1, 1.5
#: The least and the most of the wishes that hold which are assumed where others are released.
_ASSUMED = 0.3, 0.97
#: After so many moves in vain what was refused is asked for again: the solver has learnt meanwhile.
_AGAIN = 60
#: Conflicts of a question of the opening; literals that the solver assigns in all of them, about, at most; and
#: times as often as a variable occurs in the mean, which is what takes long.
_OPENING, _OPENED, _LOOKED_AT = 1000, 1_000_000, 16_000_000
#: Most conflicts of a question for a first assignment; the first ones have fewer, and each twice as many as
#: before.
_MOST = 100 * CONFLICTS
#: Clauses that the solver is told between two looks at whether to stop.
_BETWEEN_LOOKS = 2000
#: What the walk does next.
_Move = Callable[[NDArray[np.uint8]], None]
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
    that is `far` from all that does by turns anywhere and near it. It stops at a cost of `target`;
    ``given_up`` says that nothing is left to try.
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
        moves: tuple[_Move, ...] = self._exchange, self._release, self._force
        self._worked_by = dict.fromkeys(moves, 0)  # literals assigned since its last find
        self._conflicts = dict.fromkeys(moves, float(_DECIDED))  # of its next question
        self._began, self._patience = False, CONFLICTS
        # Literals that are preferred after every second question in vain.
        self._near: list[int] = []
        self._nearer = True
        self._levels: list[int] = []  # weights that the opening has not come down to yet
        self._dropped: set[int] = set()  # wishes that it gives up
        self._model: list[int] = []  # where the walk is
        self._opened = 0  # literals assigned when it ends
        self.refuted = False  # the hard clauses contradict one another
        self.given_up = not self._tell(stop)
        if self.given_up:
            return
        self._wishes = list(self._weight)
        weights = np.array(list(self._weight.values()), dtype=float)
        self._shares = weights / weights.max()
        if initial is not None:
            model = self._model_of(initial)
            if far:
                self._near = model
            else:
                self._solver.set_phases(model)
            if formula.hard_violations(initial) == 0:
                self._take(model)
                if len(set(self._weight.values())) > 1:  # else it has all at once, and gives up any
                    self._begin_opening()
        self._solver.set_phases(self._wishes)

    def adopt(self, assignment: NDArray[np.uint8], stop: NDArray[np.uint8]) -> None:
        """Go on from an assignment that is better than the best one, if it satisfies the hard clauses."""
        if not (self.given_up or stop[0] or self._formula.hard_violations(assignment)):
            self._take(self._model_of(assignment))

    def _tell(self, stop: NDArray[np.uint8]) -> bool:
        """Give the solver all clauses; False if stopped before the end."""
        formula, top = self._formula, self._formula.num_variables
        literals, add = formula.literals.tolist(), self._solver.add_clause
        ends = formula.offsets[:-1], formula.offsets[1:]
        hard = np.flatnonzero(formula.hard)
        for first in range(0, len(hard), _BETWEEN_LOOKS):
            if stop[0]:
                return False
            some = hard[first : first + _BETWEEN_LOOKS]
            for a, b in zip(*(end[some].tolist() for end in ends), strict=True):
                add(literals[a:b])
        self._relaxed: list[tuple[int, int]] = []  # clauses, and the variables that relax them
        for c in np.flatnonzero(~formula.hard).tolist():
            if stop[0]:
                return False
            begins, end = formula.offsets[c : c + 2].tolist()
            weight, clause = int(formula.weights[c]), literals[begins:end]
            if len(clause) == 1:
                self._weight[clause[0]] = self._weight.get(clause[0], 0) + weight
                continue
            top += 1
            self._relaxed.append((c, top))
            self._weight[-top] = weight
            add([*clause, top])
        self._solver.add_clause([top, -top])  # so that models have a value of every variable
        return True

    def _move(self, stop: NDArray[np.uint8]) -> None:
        if not self._began:
            self._begin()
            return
        if self._levels:
            self._open()
            return
        if not self._lost:
            self.given_up = True
            return
        move = min(self._worked_by, key=self._worked_by.__getitem__)
        before, began = self._cost, self._assigned()
        move(stop)
        self._in_vain += 1
        self._worked_by[move] += 1 + self._assigned() - began
        if self._cost < before:
            self._in_vain = self._worked_by[move] = 0
        elif self._in_vain % _AGAIN == 0:
            self._refused.clear()

    def _begin(self) -> None:
        answer = self._ask((), self._patience)
        self._patience = min(2 * self._patience, _MOST)
        if answer:
            self._take(self._solver.get_model())
            self._begin_opening()
        elif answer is False:
            self.refuted = self.given_up = True
        elif self._near:
            self._nearer = not self._nearer
            if self._nearer:
                self._solver.set_phases([*self._near, *self._wishes])

    def _begin_opening(self) -> None:
        occurring = len(self._formula.literals) / self._formula.num_variables
        self._levels = levels_of(list(self._weight.values()))[::-1]
        self._opened = self._assigned() + int(min(_OPENED, _LOOKED_AT / occurring))

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
        self._model = model
        self._prefer()
        self._found(cost, model[: self._formula.num_variables])

    def _prefer(self) -> None:
        """Have the solver try the values of where the walk is, until it tries others, and all wishes."""
        self._solver.set_phases(self._model)
        self._solver.set_phases(self._wishes)

    def _exchange(self, stop: NDArray[np.uint8]) -> None:
        """Assume all that hold and a lost wish, and give up lighter ones that stand against it."""
        wanted = self._wanted()
        self._refused.add(wanted)
        asked, left = [*self._held, wanted], self._weight[wanted]
        while not stop[0]:
            answer = self._ask(asked, _EXCHANGED)
            if answer:
                self._take(self._solver.get_model())
            if answer is not False:
                return
            core = [wish for wish in self._solver.get_core() or () if wish != wanted]
            if not core:
                self._impossible.add(wanted)
                self._lost.remove(wanted)
                return
            lightest = self._lightest(core)
            left -= self._weight[lightest]
            if left < 0:
                return
            asked.remove(lightest)

    def _lightest(self, core: list[int]) -> int:
        """One of the lightest wishes of a core."""
        least = min(self._weight[wish] for wish in core)
        ties = [wish for wish in core if self._weight[wish] == least]
        return ties[int(self._random.integers(len(ties)))]

    def _release(self, stop: NDArray[np.uint8]) -> None:
        """Assume some of the wishes that hold; lost ones are decided first, then those that are released."""
        least, most = _ASSUMED
        share = least + (most - least) * self._random.random()
        drawn = self._random.random(len(self._held)).tolist()
        assumed = [wish for wish, x in zip(self._held, drawn, strict=True) if x < share]
        self._decide(self._release, assumed, self._lost)

    def _force(self, stop: NDArray[np.uint8]) -> None:
        """Assume a lost wish; those that hold are decided first, then others."""
        self._decide(self._force, [self._wanted()], self._held)

    def _decide(self, move: _Move, assumed: list[int], early: list[int]) -> None:
        """Ask for what is assumed, where some wishes are decided early, and go there if that costs no more.

        Heavy ones are likely to come before light ones. The move's questions are as long as most need.
        """
        luck = self._random.random(len(self._wishes)) * self._shares
        activities = {abs(wish): 1 + x for wish, x in zip(self._wishes, luck.tolist(), strict=True)}
        for wish in early:
            activities[abs(wish)] += 1
        self._solver.set_activities(activities)
        self._prefer()
        conflicts = self._conflicts[move]
        answer = self._ask(assumed, int(conflicts))
        longer, shorter = _LONGER * conflicts, conflicts / _SHORTER
        self._conflicts[move] = (
            min(_MOST_DECIDED, longer) if answer is None else max(_DECIDED, shorter)
        )
        if answer:
            model = self._solver.get_model()
            cost = sum(w for wish, w in self._weight.items() if model[abs(wish) - 1] != wish)
            if (0, cost) <= self._cost:
                self._take(model)

    def _wanted(self) -> int:
        """A lost wish, a heavy one rather than a light one, and none that was just refused."""
        left = [wish for wish in self._lost if wish not in self._refused]
        if not left:
            self._refused.clear()
            left = self._lost
        sums = np.cumsum([float(self._weight[wish]) for wish in left])
        chosen = np.searchsorted(sums, self._random.random() * sums[-1], side="right")
        return left[min(int(chosen), len(left) - 1)]
