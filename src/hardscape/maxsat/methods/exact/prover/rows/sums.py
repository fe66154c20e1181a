"""Linear constraints that clauses hide, found again: "these literals weigh no more than so much"."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from hardscape import native

from . import MOST_LITERALS
from .halfspaces import settle

#: Processor time that weights may take where a guess is wrong: where sums prevail by guesses, and where not.
_SECONDS, _SECONDS_MORE = 0.1, 0.5


class Sum(NamedTuple):
    """The literals that hold weigh no more than so much."""

    literals: list[int]
    weights: list[int]
    most: int


class Sums:
    """The rows that clauses say by variables outside `named`.

    Attributes
    ----------
    rows : list of Sum
        With the clauses that are `left` they say what the clauses say.
    left : list of clauses
        Those of other variables alone, and those that rows do not say as well.
    hidden : set of variables
        Those of no clause that is left.
    prevail : bool
        Whether most clauses are said by rows.
    """

    def __init__(self, clauses: Sequence[Sequence[int]], named: Iterable[int]) -> None:
        # By the numbers of variables first: encoders give outputs later ones than what these are made of.
        arrays = _arrays(clauses, named)
        looked = [native.core.maxsat.Sums(*arrays, True)]
        if not looked[0].prevail:
            looked.append(native.core.maxsat.Sums(*arrays, False))
        seconds = _SECONDS if any(x.prevail for x in looked) else _SECONDS_MORE
        self._native = _learned(looked, time.thread_time() + seconds)
        said = self._native.said()
        literals, sizes, weights, most = (x.tolist() for x in self._native.rows())
        self.rows: list[Sum] = []
        for size, least in zip(sizes, most, strict=True):
            self.rows.append(Sum(literals[:size], weights[:size], least))
            del literals[:size], weights[:size]
        self.left = list(itertools.compress(clauses, said == 0))
        self.hidden: set[int] = set(self._native.hidden().tolist())
        self.prevail: bool = self._native.prevail

    @classmethod
    def of(cls, clauses: Sequence[Sequence[int]], named: Collection[int]) -> Sums | None:
        """Those that prevail; None where there are none, or nothing looks like them."""
        if sum(map(len, clauses)) > MOST_LITERALS:
            return None
        if not native.core.maxsat.sums_may_prevail(*_arrays(clauses, named)):
            return None
        found = cls(clauses, named)
        return found if found.prevail else None

    def complete(self, values: list[int]) -> bool:
        """Give the hidden variables values, 0 or 1, that suit those of the others; False if there are none."""
        import numpy as np

        told = np.array(values, dtype=np.uint8)
        able: bool = self._native.complete(told)
        values[:] = told.tolist()
        return able


def _learned(looked: list[Any], until: float) -> Any:
    """Who prevails, with weights learned up to a moment; what may and takes least to learn is first."""
    for found in sorted(looked, key=lambda found: (not found.prevail, found.open)):
        if found.may_prevail:
            settle(found, until)
        if found.prevail:
            return found
    return looked[0]


def flat(clauses: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Clauses as their literals and where each begins."""
    import numpy as np

    literals = np.fromiter(itertools.chain.from_iterable(clauses), dtype=np.int32)
    return literals, np.fromiter(itertools.accumulate(map(len, clauses), initial=0), dtype=np.int32)


def _arrays(clauses: Sequence[Sequence[int]], named: Iterable[int]) -> tuple[Any, Any, Any]:
    """Clauses and named variables."""
    import numpy as np

    return *flat(clauses), np.fromiter(named, dtype=np.int32)
