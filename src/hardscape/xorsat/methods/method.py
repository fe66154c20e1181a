"""A row of the table of `hardscape.xorsat.solve`: when a method applies, and what it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import RunOptions
from hardscape.xorsat.methods.elimination.elimination import Elimination, eliminate
from hardscape.xorsat.methods.quasi_greedy.improvements import Improvement
from hardscape.xorsat.methods.quasi_greedy.rounds import Schedule
from hardscape.xorsat.result import XorsatResult
from hardscape.xorsat.system import XorSystem


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of the table."""

    system: XorSystem
    schedule: Schedule
    options: RunOptions
    anywhere: bool  # whether a search may take the GPUs where it gains
    asked: str  # name of the only method that may answer, or "auto"
    on_improvement: Callable[[Improvement], object] | None

    @cached_property
    def elimination(self) -> Elimination | None:
        """What elimination finds, where it may be asked."""
        return None if self.asked == "quasi-greedy" else eliminate(self.system)

    @property
    def contradiction(self) -> tuple[int, ...]:
        """Clauses that sum to 0 = 1, where that is known."""
        return (self.elimination and self.elimination.contradiction()) or ()

    @property
    def least(self) -> int:
        """Clauses that are known to be violated at any rate."""
        return 0 if self.elimination is None or self.elimination.consistent else 1

    def result(self, assignment: NDArray[np.uint8], **found: Any) -> XorsatResult:
        """An assignment with what is known of the system; `found` are further attributes."""
        violated = int(self.system.violated(assignment))
        return XorsatResult(
            num_variables=self.system.num_variables,
            num_clauses=self.system.num_clauses,
            assignment=assignment,
            violated=violated,
            optimal=violated == self.least,
            contradiction=self.contradiction,
            seconds=monotonic() - self.options.deadline.began,
            **found,
        )


class Method(ABC):
    """A method: a row of the table."""

    name: ClassVar[str]
    cost: ClassVar[str]  # for people

    @abstractmethod
    def passed_over(self, question: Question) -> str:
        """Why it does not answer; "" where it does."""

    @abstractmethod
    def answer(self, question: Question) -> XorsatResult:
        """Answer; raises `Interrupted` with the best so far."""
