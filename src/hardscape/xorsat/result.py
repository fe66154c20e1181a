"""What a search for an assignment comes to, and what made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.plain import Plain


@dataclass(frozen=True, eq=False, kw_only=True)
class _Found(Plain):
    """What both results hold."""

    assignment: NDArray[np.uint8]
    violated: int
    clones: int = 0
    sweeps: int = 0
    spin_updates: int = 0
    improvements: tuple[tuple[int, int], ...] = ()
    seconds: float = 0.0
    device: str = ""
    stopped: str = ""

    def bit_string(self) -> str:
        """The assignment as a string of 0 and 1: character i is variable i."""
        return "".join(map(str, self.assignment.tolist()))

    def _plain(self, names: str) -> dict[str, Any]:
        """Attributes by name; tuples are lists, and the assignment a string."""
        return self.listed(names, assignment=self.bit_string())


@dataclass(frozen=True, eq=False, kw_only=True)
class QuasiGreedyResult(_Found):
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

    Examples
    --------
    >>> from hardscape import xorsat
    >>> found = xorsat.quasi_greedy(xorsat.random_regular(48, seed=1), seed=1, device="cpu")
    >>> found.violated, found.reached
    (0, True)
    """

    method: ClassVar[str] = "quasi-greedy"

    reached: bool
    restart: int
    seed: int

    @property
    def spin_updates_per_second(self) -> float:
        """Rate over the whole search."""
        return self.spin_updates / max(self.seconds, 1e-9)

    def __repr__(self) -> str:
        return (
            f"<QuasiGreedyResult: {self.violated} clauses violated after {self.sweeps} sweeps of "
            f"{self.clones} clones, {self.seconds:.3g} s>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the assignment is a string of 0 and 1."""
        return self._plain(
            "assignment violated reached method sweeps clones restart spin_updates "
            "spin_updates_per_second seconds improvements seed device stopped"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class XorsatResult(_Found):
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
    time_limit : float or None
        Seconds that a search was given: as asked, or 10 where "auto" was to do without any limit.

    Examples
    --------
    >>> from hardscape import xorsat
    >>> found = xorsat.solve(xorsat.XorSystem.from_clauses([[0, 1, 2], [0, 3, 4]], [1, 0]))
    >>> found.violated, found.satisfied, found.method
    (0, True, 'elimination')
    """

    num_variables: int
    num_clauses: int
    method: str
    optimal: bool
    contradiction: tuple[int, ...]
    seed: int | None = None
    time_limit: float | None = None

    @property
    def satisfied(self) -> bool:
        """Whether no clause is violated."""
        return self.violated == 0

    @property
    def energy(self) -> int:
        """H = 2 V - M of the p-spin model."""
        return 2 * self.violated - self.num_clauses

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``to_json`` writes."""
        rate = self.spin_updates / self.seconds if self.spin_updates else None
        found = (
            "num_variables num_clauses satisfied violated energy assignment method optimal "
            "contradiction clones sweeps "
        )
        work = "improvements seed seconds device stopped time_limit"
        return (
            self._plain(found + "spin_updates")
            | {"spin_updates_per_second": rate}
            | self._plain(work)
        )

    def __repr__(self) -> str:
        best = ", proven optimal" if self.optimal and self.violated else ""
        return (
            f"<XorsatResult: {self.violated} of {self.num_clauses} clauses violated{best}, by "
            f"{self.method} in {self.seconds:.3g} s>"
        )
