"""The quasi-greedy search as a row of the table."""

from __future__ import annotations

from dataclasses import replace

from hardscape.engine import RunOptions, resolve
from hardscape.errors import Interrupted
from hardscape.xorsat.methods.method import Method, Question
from hardscape.xorsat.methods.quasi_greedy.search import search, suits_gpu
from hardscape.xorsat.result import QuasiGreedyResult, XorsatResult

#: Seconds that "auto" searches for few violated clauses where no limit is given.
_SEARCH_SECONDS = 10.0


class QuasiGreedyMethod(Method):
    """Searches by local moves of many clones."""

    name = "quasi-greedy"
    cost = "N updates a sweep and clone; sweeps to a solution grow as exp(0.08 N) where 3-regular"

    def passed_over(self, question: Question) -> str:
        """It takes every system; what it cannot hold it refuses."""
        return ""

    def answer(self, question: Question) -> XorsatResult:
        """The fewest violated clauses found."""
        options, schedule = question.options, question.schedule
        if question.anywhere:
            gains = suits_gpu(question.system)
            options = options.on(resolve("auto", threads=options.threads, big_enough=gains))
        endless = options.deadline.left is None and schedule.max_sweeps is None
        if endless and question.asked == "auto":
            options = options.within(_SEARCH_SECONDS)
        # Of an inconsistent system one clause is violated at any rate: the search ends there.
        schedule = replace(schedule, target=max(schedule.target, question.least))
        try:
            best = search(question.system, schedule, options, question.on_improvement)
        except Interrupted as stop:
            known = stop.result and self._result(question, stop.result, options)
            raise Interrupted(stop.signum, known) from None
        return self._result(question, best, options)

    def _result(
        self, question: Question, best: QuasiGreedyResult, options: RunOptions
    ) -> XorsatResult:
        return question.result(
            best.assignment,
            method=self.name,
            device=best.device,
            clones=best.clones,
            sweeps=best.sweeps,
            spin_updates=best.spin_updates,
            improvements=best.improvements,
            seed=best.seed,
            stopped=best.stopped,
            time_limit=options.deadline.seconds,
        )
