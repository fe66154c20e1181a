"""A round of clones: its units and limits, and what comes out of it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GROUP", "LOOK", "MAX_CLONES", "MAX_SWEEPS", "MAX_TARGET", "Best", "Round"]

#: Clones that share their coins, and are started together.
GROUP = 1024
#: Sweeps between two looks at the number of violated clauses.
LOOK = 16
#: Sweeps of a round: they are numbered with 22 bits.
MAX_SWEEPS = (1 << 22) - 1
#: Clones of a round, and violated clauses to be content with, are numbered with 26 and 16 bits.
MAX_CLONES, MAX_TARGET = 1 << 26, (1 << 16) - 1


class Best(NamedTuple):
    """The clone that came furthest: fewest violated clauses, then earliest, then lowest number.

    Attributes
    ----------
    violated : int
        No fewer than the target.
    round, sweep, clone : int
        When (sweeps since the round began) and which clone of the round.
    """

    violated: int
    round: int
    sweep: int
    clone: int


class Round(NamedTuple):
    """What one round came to.

    Attributes
    ----------
    improvements : tuple of Best
        Each with fewer violated clauses than all looks up to the same sweep; empty if there was no
        look.
    group_sweeps : int
        Sweeps times groups.
    complete : bool
    """

    improvements: tuple[Best, ...]
    group_sweeps: int
    complete: bool
