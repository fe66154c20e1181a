"""Elimination as a row of the table."""

from __future__ import annotations

from hardscape.engine import Cpu
from hardscape.errors import DeviceError
from hardscape.xorsat.methods.elimination.elimination import eliminate
from hardscape.xorsat.methods.method import Method, Question
from hardscape.xorsat.result import XorsatResult


class EliminationMethod(Method):
    """Solves the linear system, and proves where there is no solution."""

    name = "elimination"
    cost = "nnz d/64 + d^3/512 word operations, d near 0.2 N where random"

    def passed_over(self, question: Question) -> str:
        """Of an inconsistent system it knows that one clause is violated, not how few are."""
        if question.asked == self.name:
            return ""
        if question.schedule.target:
            return "a target above 0 asks for a search"
        return "the system is inconsistent, and few violated clauses are wanted" * question.least

    def answer(self, question: Question) -> XorsatResult:
        """The assignment that it found on the way."""
        devices = question.options.devices
        if not all(isinstance(device, Cpu) for device in devices):
            raise DeviceError(
                f"elimination, which answers this, does not run on {devices[0]}; device='auto' and 'cpu' "
                "take it, and method='quasi-greedy' searches on GPUs"
            )
        found = question.elimination or eliminate(question.system)
        return question.result(found.assignment, method=self.name, device=str(Cpu().kind))
