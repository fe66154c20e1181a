"""The exact search as a row of the table of methods: a short search, then RC2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hardscape.arguments import MAX_SEED
from hardscape.engine import Cpu, Cuda
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.exact.exact import ExactSearch, has_rc2
from hardscape.maxsat.methods.weighting.method import LocalWalks
from hardscape.maxsat.task import SMALL, Method, Task, Walks

#: Share of the time limit that is searched before the proof, and most seconds: on one thread, and where
#: other threads search on beside the proof.
_FIRST_SHARE, _FIRST_SECONDS, _FIRST_SECONDS_BESIDE = 0.2, 2.0, 0.5
#: Seconds that "auto" tries to prove where no time limit is given.
_UNASKED_SECONDS = 10.0
#: Literals above which "auto" does not try to prove anything; where all clauses have the same length of
#: 3 or more, which looks like a random formula, it is `SMALL`.
_PROVABLE = 2_000_000


class Exact(Method):
    """RC2 of python-sat, started from what a short search found.

    The first of `walks` that takes the task searches before; `beside` searches on while RC2 works.
    """

    name = "exact"
    asked = ("auto", "exact")
    devices = (Cpu, Cuda)

    def __init__(self, walks: Sequence[Walks], beside: LocalWalks) -> None:
        self._walks = walks
        self._beside = beside

    def _walking(self, task: Task) -> Walks | None:
        return next((row for row in self._walks if not row.refusal(task)), None)

    def unfit(self, task: Task) -> str:
        """See `Method.unfit`."""
        if self._walking(task) is None:
            return "nothing searches first on that device"
        if task.method == "exact":
            return ""
        if not has_rc2():
            return "python-sat is not installed"
        return "" if _provable(task.presolved.formula) else "a proof would take ages"

    def search(self, task: Task) -> None:
        """See `Method.search`."""
        walking = self._walking(task)
        assert walking is not None
        left = task.options.deadline.left
        beside = len(task.options.devices) > 1 and task.max_flips is None
        first = _FIRST_SECONDS_BESIDE if beside else _FIRST_SECONDS
        if left is not None:
            first = min(first, _FIRST_SHARE * left)
        walking.walk(task, task.options.within(first), endless=False)
        if task.stopped == "time_limit":  # of the first part alone
            task.stopped = ""
        if not (task.incumbent.reached or task.stopped):
            self._prove(task)

    def _prove(self, task: Task) -> None:
        best, presolved = task.incumbent.best, task.presolved
        unasked = task.method == "auto" and task.options.deadline.left is None
        # The proof is this machine's CPU's.
        options = replace(task.options.on_cpu(), executor=None)
        options = options.within(_UNASKED_SECONDS if unasked else None)
        local = None
        if len(options.devices) > 1 and task.max_flips is None:
            local = replace(
                self._beside.work(task, endless=True),
                walkers=len(options.devices) - 1,
                seed=(options.seed + 1) % (MAX_SEED + 1),
            )
        initial = presolved.restrict(
            np.zeros(task.formula.num_variables) if best is None else best.assignment
        )
        work = ExactSearch(presolved.formula, presolved.constant, initial, task.incumbent, local)
        found = task.do(self.name, work, options).answer
        if found is not None:
            high, low = found["lower"].tolist()
            task.incumbent.bound((high << 64) + low + presolved.constant)
            task.unsatisfiable = bool(found["unsatisfiable"][0])
            task.flips += int(found["flips"][0])


def _provable(formula: Formula) -> bool:
    """Whether RC2 may prove the optimum of a presolved formula in less than ages."""
    sizes = np.diff(formula.offsets)
    random_like = len(sizes) > 0 and sizes[0] >= 3 and (sizes == sizes[0]).all()
    return len(formula.literals) <= (SMALL if random_like else _PROVABLE)
