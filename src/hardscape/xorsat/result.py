"""What a search for an assignment comes to, and what made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.plain import Plain

__all__ = ["QuasiGreedyResult", "XorsatResult", "bit_string"]


def bit_string(assignment: NDArray[np.uint8]) -> str:
    """An assignment as a string of 0 and 1: character i is variable i."""
    return "".join(map(str, assignment.tolist()))


@dataclass(frozen=True, eq=False)
class QuasiGreedyResult(Plain):
    """The best assignment that a quasi-greedy search came upon.

    Attributes
    ----------
    assignment : uint8, shape (N,)
        Values 0 and 1.
    violated : int
        Clauses that it violates.
    reached : bool
        Whether `violated` is at or below the target.
    sweeps : int
        Sweeps of each clone until then, those of earlier rounds included. Exact for a solution;
        otherwise to the look at which the assignment was found, 16 sweeps apart.
    clones : int
        Clones side by side in a round, a multiple of 1024.
    restart : int
        Sweeps of a round, after which all clones begin anew.
    spin_updates : int
        Updates made, those of all clones and rounds.
    improvements : tuple of (int, int)
        Violated clauses and sweeps of each best that was better than all of earlier sweeps.
    seed : int
    seconds : float
        Wall-clock time.
    device : str
    stopped : str
        "" where the target was reached, else what ended the search: "max_sweeps", "time_limit",
        "SIGINT" or "SIGTERM".
    """

    method: ClassVar[str] = "quasi-greedy"

    assignment: NDArray[np.uint8]
    violated: int
    reached: bool
    sweeps: int
    clones: int
    restart: int
    spin_updates: int
    improvements: tuple[tuple[int, int], ...]
    seed: int
    seconds: float = 0.0
    device: str = ""
    stopped: str = ""

    @property
    def spin_updates_per_second(self) -> float:
        """Rate over the whole search."""
        return self.spin_updates / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the assignment is a string of 0 and 1."""
        return {
            "assignment": bit_string(self.assignment),
            "violated": self.violated,
            "reached": self.reached,
            "method": self.method,
            "sweeps": self.sweeps,
            "clones": self.clones,
            "restart": self.restart,
            "spin_updates": self.spin_updates,
            "spin_updates_per_second": self.spin_updates_per_second,
            "seconds": self.seconds,
            "improvements": [list(step) for step in self.improvements],
            "seed": self.seed,
            "device": self.device,
            "stopped": self.stopped,
        }


@dataclass(frozen=True, eq=False)
class XorsatResult(Plain):
    """An assignment and how it was found.

    Attributes
    ----------
    num_variables, num_clauses : int
    assignment : uint8, shape (N,)
    violated : int
        Clauses that it violates, counted from the system itself.
    method : {"elimination", "quasi-greedy"}
        What found it.
    optimal : bool
        Whether no assignment is proven to violate fewer clauses.
    contradiction : tuple of int
        Clauses that sum to 0 = 1, where elimination proved the system inconsistent; else empty.
    clones, sweeps, spin_updates : int
        Of the search: clones side by side, sweeps of each until the assignment was found, updates
        made in all; 0 for elimination.
    improvements : tuple of (int, int)
        Violated clauses and sweeps of each best that was better than all of earlier sweeps.
    seed : int or None
        Of the search.
    seconds : float
        Wall-clock time.
    device : str
    stopped : str
        What ended a search before its target: "time_limit", "max_sweeps", "SIGINT" or "SIGTERM",
        else "".
    """

    num_variables: int
    num_clauses: int
    assignment: NDArray[np.uint8]
    violated: int
    method: str
    optimal: bool
    contradiction: tuple[int, ...]
    seconds: float
    device: str
    clones: int = 0
    sweeps: int = 0
    spin_updates: int = 0
    improvements: tuple[tuple[int, int], ...] = ()
    seed: int | None = None
    stopped: str = ""

    @property
    def satisfied(self) -> bool:
        """Whether no clause is violated."""
        return self.violated == 0

    @property
    def energy(self) -> int:
        """H = 2 V - M of the p-spin model."""
        return 2 * self.violated - self.num_clauses

    def bit_string(self) -> str:
        """The assignment as a string of 0 and 1: character i is variable i."""
        return bit_string(self.assignment)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``to_json`` writes."""
        rate = self.spin_updates / self.seconds if self.spin_updates else None
        return {
            "n": self.num_variables,
            "clauses": self.num_clauses,
            "satisfied": self.satisfied,
            "violated": self.violated,
            "energy": self.energy,
            "assignment": self.bit_string(),
            "method": self.method,
            "optimal": self.optimal,
            "contradiction": list(self.contradiction),
            "clones": self.clones,
            "sweeps": self.sweeps,
            "spin_updates": self.spin_updates,
            "spin_updates_per_second": rate,
            "improvements": [list(step) for step in self.improvements],
            "seed": self.seed,
            "seconds": self.seconds,
            "device": self.device,
            "stopped": self.stopped,
        }

    def __repr__(self) -> str:
        best = ", proven optimal" if self.optimal and self.violated else ""
        return (
            f"XorsatResult({self.violated} of {self.num_clauses} clauses violated{best}, by "
            f"{self.method} in {self.seconds:.3g} s)"
        )
