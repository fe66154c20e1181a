"""The cheapest assignments of a formula, as they are listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.plain import Plain


@dataclass(frozen=True, eq=False, repr=False)
class MaxsatListing(Plain):
    """Assignments in order of their costs, and how far the list is complete.

    Attributes
    ----------
    costs : tuple of int
        Of each assignment, evaluated on the clauses as they were given; they never fall.
    assignment : uint8, shape (len(costs), n)
        All satisfy the hard clauses; those of one cost are in the order of their bits.
    complete_below : int or None
        Every assignment that costs less is listed; None if all are, whatever they cost.
    seconds : float
    stopped : str
        What cut the listing short: "time_limit", "SIGINT" or "SIGTERM"; else "".

    Examples
    --------
    >>> from hardscape.maxsat import Formula, enumerate
    >>> found = enumerate(Formula.from_clauses([[1], [2]], [3, 1], hard=[[-1, -2]]))
    >>> found.costs, found.assignment.tolist()
    ((1, 3, 4), [[1, 0], [0, 1], [0, 0]])
    """

    COLUMNS: ClassVar[str] = "costs assignment"

    costs: tuple[int, ...]
    assignment: NDArray[np.uint8]
    complete_below: int | None
    seconds: float
    stopped: str

    @property
    def ties_complete(self) -> bool:
        """Whether all assignments that cost as much as the last one are listed."""
        below = self.complete_below
        return below is None or bool(self.costs and below > self.costs[-1])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: assignments as strings of 0 and 1."""
        bits = ["".join(map(str, row)) for row in self.assignment.tolist()]
        return self.listed("costs assignment complete_below seconds stopped", assignment=bits)
