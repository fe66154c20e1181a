"""What a MAX-SAT search found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Improvement", "MaxsatResult", "Status"]

#: As in the MAX-SAT Evaluation. SATISFIABLE: all hard clauses hold, and the optimum is not proven.
Status = Literal["OPTIMUM FOUND", "SATISFIABLE", "UNSATISFIABLE", "UNKNOWN"]


@dataclass(frozen=True, eq=False)
class Improvement:
    """A best assignment so far.

    Attributes
    ----------
    seconds : float
        Wall-clock time since the search began.
    cost : int
        Weight of the soft clauses violated, evaluated on the original formula.
    hard_violations : int
        Hard clauses violated; the cost means nothing before this is 0.
    satisfied : int
        Clauses that hold, of both kinds.
    assignment : uint8, shape (n,)
    """

    seconds: float
    cost: int
    hard_violations: int
    satisfied: int
    assignment: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class MaxsatResult:
    """The best assignment found, and what is known about it.

    Attributes
    ----------
    status : str
        "OPTIMUM FOUND" if the cost is proven to be the least; "SATISFIABLE" if all hard clauses hold;
        "UNSATISFIABLE" if it is proven that they cannot; "UNKNOWN" otherwise.
    cost : int or None
        Weight of the soft clauses that `assignment` violates, evaluated on the clauses as they were
        given; None if hard clauses are violated.
    assignment : uint8, shape (n,)
        Value 0 or 1 of variables 1 to n: the best found, also where hard clauses are violated.
    satisfied, total : int
        Clauses that hold, and all clauses.
    hard_satisfied : int
        Hard clauses that hold.
    lower_bound : int
        No assignment costs less.
    improvements : tuple of Improvement
        In order of time; the last one is the result. Assignments passed within a few milliseconds
        of one another are not listed.
    method : str
    flips, generations : int
        Work done, over all threads.
    seconds : float
    device : str
    stopped : str
        "", or "time_limit", "SIGINT" or "SIGTERM" if that ended the search.
    """

    status: Status
    cost: int | None
    assignment: NDArray[np.uint8]
    satisfied: int
    total: int
    hard_satisfied: int
    lower_bound: int
    improvements: tuple[Improvement, ...]
    method: str
    flips: int
    generations: int
    seconds: float
    device: str
    stopped: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the assignment as a string of 0 and 1, improvements as [seconds, cost] pairs."""
        return {
            "status": self.status,
            "cost": self.cost,
            "satisfied": self.satisfied,
            "total": self.total,
            "hard_satisfied": self.hard_satisfied,
            "lower_bound": self.lower_bound,
            "assignment": "".join(map(str, self.assignment.tolist())),
            "method": self.method,
            "flips": self.flips,
            "generations": self.generations,
            "seconds": self.seconds,
            "device": self.device,
            "stopped": self.stopped,
            "improvements": [
                [round(x.seconds, 6), x.cost] for x in self.improvements if not x.hard_violations
            ],
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict())

    def plot(self, ax: Any = None) -> Any:
        """Draw the cost against time; see :func:`hardscape.maxsat.plots.draw_improvements`."""
        from hardscape.maxsat.plots import draw_improvements

        return draw_improvements(self, ax)

    def __repr__(self) -> str:
        return (
            f"MaxsatResult(status={self.status!r}, cost={self.cost}, satisfied={self.satisfied} of "
            f"{self.total}, method={self.method!r}, seconds={self.seconds:.3g})"
        )
