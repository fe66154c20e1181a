"""Searches that ask a SAT solver."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.methods.weighting.searches import NEVER, Search

#: Literals that the solver assigns for what counts as a flip.
_WORK = 8
#: Conflicts, and literals assigned, after which the solver gives up a question: no more than takes some
#: hundredths of a second, for only then is the clock looked at; and as many literals for as many conflicts of a
#: long one.
CONFLICTS, _ASSIGNED = 200, 200_000
#: Every literal may be assigned so often: of many variables that takes longer, and is interrupted, with so many
#: seconds between two looks at the clock.
_OFTEN, _BETWEEN = 4, 0.005


class Moving(Search):
    """Moves, one after another, which end where `given_up` says that nothing is left to try."""

    def __init__(self, target: int) -> None:
        self._target = max(target, 0)
        self._granted = 0
        self._best = np.zeros(0, dtype=np.uint8)
        self._cost = (NEVER, 0)
        self.given_up = False

    @abstractmethod
    def _move(self, stop: NDArray[np.uint8]) -> None:
        """Try something."""

    @abstractmethod
    def _worked(self) -> int:
        """What was done so far, in what costs about as much as a flip."""

    def _heeding(self, stop: NDArray[np.uint8]) -> AbstractContextManager[None]:
        """What ends long moves when the time is up."""
        return nullcontext()

    def run(self, flips: int, stop: NDArray[np.uint8]) -> int:
        """Search on; returns the work done, in what costs about as much as a flip.

        What a move does beyond `flips` is taken off the next run's, so that the search does not depend on how
        it is cut into runs. Where nothing is left to try they count as done.
        """
        before = self._granted
        self._granted += flips
        with self._heeding(stop):
            while self._worked() < self._granted and not self.given_up and not self._arrived():
                if stop[0]:
                    break
                self._move(stop)
        if stop[0] or self._arrived():
            self._granted = max(before, self._worked())
        return self._granted - before

    def best(self) -> NDArray[np.uint8]:
        """The best assignment."""
        return self._best

    def cost(self) -> tuple[int, int]:
        """Of the best one: violated hard clauses and weight of the soft ones."""
        return self._cost

    @property
    def quality(self) -> tuple[int, ...]:
        """The cost, after 0 for no violated hard clause."""
        return self._cost

    def _arrived(self) -> bool:
        return self._cost <= (0, self._target)


class Asking(Moving):
    """Moves of which each asks MiniSat, as python-sat brings it.

    Where questions are `long` each is interrupted when the time is up.
    """

    def __init__(self, target: int, *, long: bool = False) -> None:
        from pysat.solvers import Minisat22

        super().__init__(target)
        self._long = long
        self._solver: Any = Minisat22()

    @contextmanager
    def _heeding(self, stop: NDArray[np.uint8]) -> Iterator[None]:
        """Interrupt long questions when the time is up."""
        if not self._long and _OFTEN * self._solver.nof_vars() <= _ASSIGNED:
            yield
            return
        over = threading.Event()

        def watch() -> None:
            while not over.wait(_BETWEEN):
                if stop[0]:
                    self._solver.interrupt()
                    return

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()
            self._solver.clear_interrupt()

    def _assigned(self) -> int:
        return int(self._solver.accum_stats()["propagations"])

    def _worked(self) -> int:
        return self._assigned() // _WORK

    def _ask(self, wishes: Iterable[int], conflicts: int = CONFLICTS) -> bool | None:
        self._solver.conf_budget(conflicts)
        assigned = _ASSIGNED * (conflicts // CONFLICTS if self._long else 1)
        self._solver.prop_budget(max(assigned, _OFTEN * self._solver.nof_vars()))
        # That is how python-sat is told to leave signals and other threads alone, too.
        answer: bool | None = self._solver.solve_limited(list(wishes), expect_interrupt=True)
        return answer

    def _found(self, cost: int, assigned: Iterable[int]) -> None:
        """Keep what costs less than the best; `assigned` are its literals."""
        if (0, cost) < self._cost:
            self._cost = 0, cost
            self._best = (np.array(assigned) > 0).astype(np.uint8)
