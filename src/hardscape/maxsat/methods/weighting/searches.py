"""What a walker asks of a search, and the compiled searches seen so."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.hitting.vertex import Vertex
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.methods.weighting.walk import FULL, FULL_EXPONENT, ONE_EXPONENT, break_weights

#: Clauses a variable, by their length, where random formulas stop being satisfiable (Mertens, Mezard, Zecchina,
#: 2006); the parts of them from which on a walk takes long, and up to which surveys say something; and most
#: literals.
_THRESHOLD = {3: 4.267, 4: 9.931, 5: 21.117, 6: 43.37, 7: 87.79}
_WALKED, _SURVEYED, _MOST_SURVEYED = 0.97, 1.02, 3_000_000
#: Of formulas that look drawn: clauses and pairs of variables that are counted, and most literals of a clause;
#: how often clauses may be on the same variables, how many more pairs than by chance may have met before, and
#: what the variance of how often a variable occurs may be, in means.
_ROWS, _PAIRS, _LONG, _COPIES, _AGAIN, _SPREAD = 2**17, 2**15, 16, 2.5, 0.05, 1.5
#: What a compiled search counts as violated before it has evaluated anything.
NEVER = 2**64 - 1


class Search(Protocol):
    """What a walker asks of a search."""

    def run(self, flips: int, stop: NDArray[np.uint8]) -> int:
        """Search on; returns the flips done, fewer than asked for where there is nothing more to do."""

    def best(self) -> NDArray[np.uint8]:
        """The best assignment."""

    def cost(self) -> tuple[int, int]:
        """Of the best one: violated hard clauses and weight of the soft ones."""

    @property
    def quality(self) -> tuple[int, ...]:
        """Falls with each improvement; begins with `NEVER` before anything was evaluated."""


class _Compiled(Search):
    """A compiled search on its way to a target, which it takes as some words."""

    def __init__(self, search: Any, *target: int) -> None:
        self._search = search
        self._target = target

    def run(self, flips: int, stop: NDArray[np.uint8]) -> int:
        return self._search.run(flips, *self._target, stop)  # type: ignore[no-any-return]

    def best(self) -> NDArray[np.uint8]:
        return self._search.best()  # type: ignore[no-any-return]


class Walking(_Compiled):
    """The focused random walk; quality is the number of violated clauses."""

    def __init__(
        self, formula: Formula, seed: int, stream: int, initial: Any, stop: NDArray[np.uint8]
    ) -> None:
        self._formula = formula
        # Clauses that presolve merged weigh more than others.
        self._alike = formula.uniform
        mean = len(formula.literals) / max(1, formula.num_clauses)
        full = looks_random(formula) and formula.num_clauses > FULL * formula.num_variables
        self._likely = mean, FULL_EXPONENT if full else ONE_EXPONENT
        weights = break_weights(*self._likely)
        walk = native.core.maxsat.Walk(formula, weights, seed, stream, initial, stop)
        super().__init__(walk, 0)

    def cool(self, power: float) -> None:
        """Go on by such a power of how likely each variable was at first."""
        self._search.weigh(break_weights(*self._likely, power))

    def cost(self) -> tuple[int, int]:
        """See `Search.cost`."""
        if self._alike:
            violated, weight = self._search.best_cost, int(self._formula.weights[0])
            return (0, violated * weight) if weight else (violated, 0)
        return self._formula.evaluate(self.best())[:2]

    @property
    def quality(self) -> tuple[int, ...]:
        """Violated clauses."""
        return (self._search.best_cost,)


class _Costed(_Compiled):
    """A search by costs; quality are violated hard clauses and the cost, high word first."""

    def __init__(self, search: Any, target: int) -> None:
        super().__init__(search, *divmod(max(target, 0), 2**64))

    def cost(self) -> tuple[int, int]:
        """See `Search.cost`."""
        hard, high, low = self._search.best_cost
        return hard, (high << 64) + low

    @property
    def quality(self) -> tuple[int, ...]:
        """See `Search.quality`."""
        return self._search.best_cost  # type: ignore[no-any-return]


class Surveying(_Costed):
    """Survey propagation and decimation, which has nothing before its end."""

    def __init__(
        self, formula: Formula, target: int, seed: int, stream: int, stop: NDArray[np.uint8]
    ) -> None:
        super().__init__(native.core.maxsat.Surveys(formula, seed, stream, None, stop), target)

    @property
    def over(self) -> bool:
        """Whether it has an assignment: nothing is left to survey."""
        return self.quality[0] != NEVER


class Weighted(_Costed):
    """A search by costs that goes on from what others have."""

    def adopt(self, assignment: NDArray[np.uint8], stop: NDArray[np.uint8]) -> None:
        """Go on from an assignment, as the best."""
        self._search.adopt(assignment, stop)


class Weighing(Weighted):
    """The clause-weighting search."""

    def __init__(
        self,
        formula: Formula,
        options: WeightingOptions,
        target: int,
        seed: int,
        stream: int,
        initial: Any,
        stop: NDArray[np.uint8],
    ) -> None:
        weighting = native.core.maxsat.Weighting
        super().__init__(weighting(formula, options, seed, stream, initial, stop), target)


class _Unparametrized(Weighted):
    """A search that has no parameters but its seed."""

    compiled: ClassVar[Any]

    def __init__(
        self,
        formula: Formula,
        target: int,
        seed: int,
        stream: int,
        initial: Any,
        stop: NDArray[np.uint8],
    ) -> None:
        super().__init__(self.compiled(formula, seed, stream, initial, stop), target)


class Covering(_Unparametrized):
    """The search for covers, of formulas that ask for one."""

    compiled = native.core.maxsat.Covering


class Bounding(_Unparametrized):
    """A search that ends, and knows what everything costs at least."""

    @property
    def given_up(self) -> bool:
        """Whether nothing is left to try."""
        return self._search.given_up  # type: ignore[no-any-return]

    @property
    def lower(self) -> int:
        """What every assignment that satisfies the hard clauses costs at least."""
        high, low = self._search.lower
        return (high << 64) + low  # type: ignore[no-any-return]


class Hitting(Bounding):
    """The search by cores that unit propagation finds, of formulas with hard and soft clauses."""

    compiled = native.core.maxsat.Hitting

    def rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Of the linear program: the literals of all, and of each how many it has and how many hold."""
        return self._search.rows()  # type: ignore[no-any-return]

    def look(self, vertex: Vertex, held: Sequence[int], weights: NDArray[np.float64]) -> bool:
        """Whether all was tried that costs less than the best by a vertex of it, under what was held."""
        told = vertex.values, vertex.multipliers, np.array(held, dtype=np.uint32), weights
        return self._search.look(*told)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Take it that all was tried."""
        self._search.close()

    @property
    def few(self) -> bool:
        """Whether few wishes hit all cores met so far, and such sets are soon tried."""
        return self._search.few  # type: ignore[no-any-return]


class Diagnosing(Bounding):
    """The search for the cheapest faults of a circuit, given up at once where the formula is none."""

    compiled = native.core.maxsat.Diagnosis


def asks_for_a_cover(formula: Formula) -> bool:
    """Whether hard clauses hold only negations of soft clauses, which are single literals."""
    # At once: what follows takes a fifth of a large formula's memory again.
    if not formula.num_hard:
        return False
    lengths = np.diff(formula.offsets)
    soft = ~formula.hard
    if (lengths[soft] != 1).any():
        return False
    n = formula.num_variables
    wish = np.zeros(2 * n + 1, dtype=bool)
    wish[n + formula.literals[np.repeat(soft, lengths)]] = True
    first = int(formula.hard.argmax())  # alone at first: most formulas are refused by it
    if not wish[n - formula.literals[formula.offsets[first] : formula.offsets[first + 1]]].all():
        return False
    rows = formula.literals[np.repeat(formula.hard, lengths)]
    return bool(wish[n - rows].all()) and not (wish & wish[::-1]).any()


def looks_random(formula: Formula) -> bool:
    """Whether all clauses have the same length of 3 or more."""
    sizes = np.diff(formula.offsets)
    return len(sizes) > 0 and bool(sizes[0] >= 3) and bool((sizes == sizes[0]).all())


def looks_drawn(formula: Formula) -> bool:
    """Whether clauses of one length meet one another as independent ones do.

    That is, they are on the same variables no more than twice in the mean, on the same two no more often than
    by chance, and how often a variable occurs varies about as much as if drawn. Of many clauses the first
    tell of pairs, which takes some ten milliseconds.
    """
    n, size = formula.num_variables, int(formula.offsets[1])
    if size > _LONG:
        return False
    rows = np.abs(formula.literals[: _ROWS * size].astype(np.int64)).reshape(-1, size)
    columns = np.sort(rows).T
    keys = reduce(lambda key, column: key * n + column, columns)
    places = np.sort(np.unique(keys, return_index=True)[1])
    copies = len(keys) / len(places)
    pairs = list(itertools.combinations(range(size), 2))
    columns = columns[:, places[: _PAIRS // len(pairs)]]
    met = np.concatenate([columns[i] * n + columns[j] for i, j in pairs])
    again = 1 - len(np.unique(met)) / len(met)
    each = 2 * len(met) / (n * (n - 1))  # in the mean, of all pairs there are
    by_chance = 1 + np.expm1(-each) / each
    degrees = np.bincount(np.abs(formula.literals), minlength=n + 1)[1:]
    spread = degrees.var() / (copies * degrees.mean())
    return bool(copies < _COPIES and again < by_chance + _AGAIN and spread < _SPREAD)


def surveys_say(formula: Formula) -> bool:
    """Whether it looks random, with about as many clauses as can be satisfied: a walk stays above its best."""
    size = len(formula.literals) // max(1, formula.num_clauses)
    if size not in _THRESHOLD or len(formula.literals) > _MOST_SURVEYED:
        return False
    share = formula.num_clauses / (_THRESHOLD[size] * formula.num_variables)
    return _WALKED <= share <= _SURVEYED and looks_random(formula)


def wishes_are_literals(formula: Formula) -> bool:
    """Whether most soft clauses are single literals."""
    single = np.diff(formula.offsets)[~formula.hard] == 1
    return len(single) > 0 and bool(2 * single.sum() >= len(single))
