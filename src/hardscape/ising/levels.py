"""Energy levels of a spectrum."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """One energy level.

    Attributes
    ----------
    energy : float
    count : int
        States listed.
    complete : bool
        Whether these are all states of the level; False when the list is cut inside it, or when the
        search is not certified.
    """

    energy: float
    count: int
    complete: bool
