"""Proofs and improvements by a SAT solver in a process of its own, beside or in turns with local search."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from hardscape.arguments import MAX_SEED
from hardscape.engine import Cpu, Cuda, resolve
from hardscape.errors import MissingDependencyError
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.elimination.elimination import Tables
from hardscape.maxsat.methods.exact.keeper import GrownFormula
from hardscape.maxsat.methods.exact.near import begins_here
from hardscape.maxsat.methods.exact.pace import (
    SHORT,
    Pace,
    asks_in_vain,
    leads,
    only_all_are_better,
    programs_first,
    proof_pays,
)
from hardscape.maxsat.methods.exact.proof import Proof
from hardscape.maxsat.methods.exact.sharing import TURN_SHARE, first_share
from hardscape.maxsat.methods.installed import can_ask, can_prove
from hardscape.maxsat.methods.walkers.growing_turns import nearly_all
from hardscape.maxsat.methods.walkers.local import LocalSearch, LocalWalks
from hardscape.maxsat.methods.weighting.searches import looks_random
from hardscape.maxsat.task import SMALL, Method, Task, Walks

#: Seconds of processor time that are searched before a prover is asked, and where a target is all that is
#: wanted.
_BEFORE, _BEFORE_TARGET = 0.04, 0.1
#: The same before tables are thought of, which take long to plan for what is found at once; and of each step
#: before a proof in this process, which takes no time to begin: a step that finds nothing is the last one.
_BEFORE_TABLES = 0.006
#: A search that has found nothing in a step that took so many times as long goes on beside the proof.
_OVERDUE = 2
#: Seconds above which tables wait while a proof in this process has as long, which takes as long to begin.
_LONG_TABLES = 0.05
#: The same on one thread as long as hard clauses stay violated that a solver is asked about, where the proof
#: begins in a process of its own.
_BEFORE_FEASIBLE = 0.3
#: Share of the time limit, and most seconds, that is searched before the proof where the search is not the
#: prover's neighbour: on a GPU, by an executor, or with a given number of flips.
_FIRST_SHARE, _FIRST_SECONDS = 0.2, 2.0
#: Seconds for each literal of a proof in this process that asks whether all clauses hold, and no more.
_PLAIN_EACH = 4e-6
#: Threads for each prover but the first, most provers, and literals above which there is one.
_THREADS, _MOST_PROVERS, _SHARED = 4, 6, 1_000_000
#: Seconds that "auto" tries to prove where no time limit is given.
_UNASKED_SECONDS = 10.0
#: Literals above which "auto" does not try to prove anything; for formulas that look random it is `SMALL`.
_PROVABLE = 5_000_000


def require_prover(purpose: str) -> None:
    """Raise `MissingDependencyError` if python-sat or rustsat is not installed."""
    if not can_prove():
        raise MissingDependencyError("rustsat" if can_ask() else "python-sat", "sat", purpose)


class Exact(Method):
    """A prover, in turns with local search on one thread, and beside it on more and on GPUs.

    The first of `walks` that takes the task searches before where it cannot search on with the prover; `beside`
    does so on CPU threads.
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
        if not can_prove():
            return "python-sat and rustsat are not installed"
        return "" if _provable(task.presolved.formula) else "a proof would take ages"

    def search(self, task: Task) -> None:
        """See `Method.search`."""
        walking = self._walking(task)
        assert walking is not None
        options = task.options
        together = options.executor is None and task.max_flips is None
        before = _BEFORE if task.target is None else _BEFORE_TARGET
        first, left = (before if together else _FIRST_SECONDS), options.deadline.left
        if left is not None:
            first = min(first, _FIRST_SHARE * left)
        local, pace, tables = None, Pace(), None
        if together:  # the same walkers go on beside the prover
            local = replace(self._beside.work(task, endless=False), busy=True, kept={})
            tables = self._walk_first(task, local, pace, first)
        else:
            walking.walk(task, options.within(first), walking.work(task, endless=False))
            if task.stopped == "time_limit":  # of the first part alone
                task.stopped = ""
            self._eliminate(task, self._tables(task))
        if tables is not None and not task.over:
            self._prove(task, local, pace, tables.seconds)
            self._eliminate(task, tables)
        begun = local is not None and not task.over and _asks_on(task)
        if begun and local is not None:
            self._prove(task, local, pace, _PLAIN_EACH * len(task.presolved.formula.literals))
            self._walk_on(task, replace(local, endless=True), pace)
        if not task.over:
            self._prove(task, local, pace, begun=begun)

    def _walk_first(
        self, task: Task, local: LocalSearch, pace: Pace, first: float
    ) -> Tables | None:
        """Search before the proof; on one thread, up to a limit, as long as the search finds something.

        Returns tables that wait while a proof has as long as they take, which is over sooner at times.
        """
        walk = partial(self._walk, task, local, pace)
        walk(_BEFORE_TABLES)
        tables, alone = self._tables(task), len(task.options.on_cpu().devices) == 1
        long = tables is not None and tables.seconds > _LONG_TABLES
        waits = long and alone and not task.narrowed and _at_once(task)
        if not waits:
            self._eliminate(task, tables)
        if task.over:  # nothing of what follows is asked, which takes as long on large formulas
            return None
        at_once = _at_once(task)
        if at_once:
            self._walk_in_steps(task, local, pace, first)
        else:
            walk(first - _BEFORE_TABLES)
        if alone and not at_once:
            self._walk_on(task, replace(local, endless=True), pace)  # one that ends begins anew
        return tables if waits else None

    def _walk_in_steps(self, task: Task, local: LocalSearch, pace: Pace, first: float) -> None:
        """Search before a proof in this process, until a step finds nothing.

        Where a target is all that is wanted the search goes on, but no further than to its first linear program
        where the proof begins with those: counters are not all clauses to it.
        """
        walk, incumbent = partial(self._walk, task, local, pace), task.incumbent
        if task.target is None:
            gets_on = incumbent.best is not None or pace.seconds < _OVERDUE * _BEFORE_TABLES
            while pace.seconds < first and gets_on:
                known = incumbent.best, incumbent.lower
                walk(_BEFORE_TABLES)
                gets_on = known != (incumbent.best, incumbent.lower)
            return
        left = first - _BEFORE_TABLES  # of processor time, as turns are and `pace` is not
        steps = math.ceil(left / _BEFORE_TABLES) if programs_first(task.presolved.formula) else 1
        for _ in range(steps):
            walk(left / steps)
            if steps > 1 and any(each.solved for each in (local.kept or {}).values()):
                return

    def _walk(self, task: Task, local: LocalSearch, pace: Pace, turn: float) -> None:
        """Search for so long."""
        if turn > 0 and not task.over:
            began, before = time.monotonic(), task.incumbent.best
            self._beside.walk(task, task.options.on_cpu(), replace(local, turn=turn))
            # Some steps are longer than a short turn.
            pace.walked(time.monotonic() - began, before, task.incumbent.best)

    def _walk_on(self, task: Task, local: LocalSearch, pace: Pace) -> None:
        """Search on until a proof pays."""
        walk, leading = partial(self._walk, task, local, pace), leads(task.presolved.formula)
        left = task.options.deadline.left

        walkers = {} if local.kept is None else local.kept
        while not task.over and pace.seconds < _BEFORE_FEASIBLE and asks_in_vain(task):
            if leading and not any(each.opens for each in walkers.values()):
                break
            walk(_BEFORE)
        while not task.over and left is not None:
            able = any(each.able for each in walkers.values())
            asking = any(each.asking for each in walkers.values())
            seeks = any(each.seeks for each in walkers.values())
            if proof_pays(task, pace, left, able=able, asking=asking, seeks=seeks):
                break
            walk(max(_BEFORE_TABLES, TURN_SHARE * pace.seconds))

    def _tables(self, task: Task) -> Tables | None:
        """Tables that have the least cost in little time, where that may be told."""
        if task.check or task.incumbent.reached or task.stopped:
            return None
        return Tables.of(task.presolved.formula)

    def _eliminate(self, task: Task, tables: Tables | None) -> None:
        """Have the least cost by tables, if that is not stopped."""
        if tables is None or task.over:
            return
        with task.options.deadline.watched() as stop:
            found = tables.solve(stop)
        if found is None:
            return
        task.note("elimination", "cpu")
        least, assignment = found
        if assignment is None:
            task.incumbent.refute()
            return
        task.incumbent.offer_reduced(assignment)
        task.incumbent.bound_reduced(least)

    def _prove(
        self,
        task: Task,
        local: LocalSearch | None,
        pace: Pace,
        moment: float = math.inf,
        *,
        begun: bool = False,
    ) -> None:
        """Prove and improve; or for a moment alone, in this process, where it may have `begun` in vain."""
        presolved = task.presolved
        unasked = task.method == "auto" and task.options.deadline.left is None
        # The proof is this machine's CPU's.
        options = replace(task.options.on_cpu(), executor=None)
        options = options.within(_UNASKED_SECONDS if unasked else None)
        if task.narrowed:
            options = options.on(resolve("cpu"))
        islands, provers, beside, in_turns = None, 1, 0, False
        walking, threads = self._walking(task), len(options.devices)
        if local is not None and walking is not None and walking is not self._beside:
            islands = walking.work(task, endless=True)
            options = options.on([*options.devices, *task.options.devices])
        if task.max_flips is None:
            if local is None:
                local = self._beside.work(task, endless=True)
                local = replace(local, seed=(options.seed + 1) % (MAX_SEED + 1))
            local = replace(local, endless=True, turn=math.inf, busy=False)
            if len(presolved.formula.literals) <= _SHARED:
                provers = min(_MOST_PROVERS, 1 + threads // _THREADS)
            beside = len(options.devices) - provers
            in_turns = threads == provers
        call, left = None, options.deadline.left
        if isinstance(task.formula, GrownFormula) and not task.check:
            call = task.formula.call
        proof = Proof(
            presolved.formula,
            presolved.constant,
            task.incumbent,
            local,
            beside,
            islands,
            provers,
            in_turns,
            task.check,
            first_share(presolved.formula, left),
            math.inf if left is None else time.monotonic() + left,
            pace,
            call,
            moment,
            begun,
        )
        found = task.do(f"{self.name}{', checked' * task.check}", proof, options).answer
        if found is not None:
            high, low = found["lower"].tolist()
            task.incumbent.bound((high << 64) + low + presolved.constant)
            if found["unsatisfiable"][0]:
                task.incumbent.refute()
            task.flips += int(found["flips"][0])


def _at_once(task: Task) -> bool:
    """Whether the proof begins in this process, and does not wait for a search that gets on."""
    left = math.inf if task.options.deadline.left is None else task.options.deadline.left
    alone = len(task.options.devices) == 1
    return alone and left > SHORT and begins_here(task.presolved.formula, left)


def _asks_on(task: Task) -> bool:
    """Whether an attempt in this process comes before a walker who asks whether all clauses hold.

    What it has learnt is lost to a process, which would ask the same as the walker.
    """
    formula, best = task.presolved.formula, task.incumbent.best
    if best is None or not _at_once(task) or len(formula.literals) <= SMALL:
        return False
    cost = best.hard_violations, best.cost - task.presolved.constant
    return nearly_all(cost, formula) and not only_all_are_better(task)


def _provable(formula: Formula) -> bool:
    """Whether the prover may prove the optimum of a presolved formula in less than ages."""
    return len(formula.literals) <= (SMALL if looks_random(formula) else _PROVABLE)
