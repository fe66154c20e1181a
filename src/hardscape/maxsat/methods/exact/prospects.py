"""What a proof may come to, as far as a formula tells."""

from __future__ import annotations

from dataclasses import dataclass

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.exact.pace import (
    first_ones,
    opening,
    programs_first,
)
from hardscape.maxsat.methods.walkers.schedule import swapping_pays


@dataclass(frozen=True, kw_only=True)
class Prospects:
    """What is known of a proof before it begins.

    Attributes
    ----------
    hard : bool
        Whether some clauses are.
    counted : bool
        Whether it begins with linear programs.
    opening : float
        Seconds of a proof that is likely to find more than the walker, or none.
    first_ones : float
        Seconds after which it has assignments near a linear program, or none.
    asks : bool
        Whether the walker asks a solver.
    together : bool
        Whether it begins with the question for all clauses at once.
    """

    hard: bool = True
    counted: bool = False
    opening: float = 0.0
    first_ones: float = 0.0
    asks: bool = True
    together: bool = False

    @classmethod
    def of(cls, formula: Formula, left: float) -> Prospects:
        """Those of a formula's proof, with so many seconds left."""
        return cls(
            hard=formula.num_hard > 0,
            counted=programs_first(formula),
            opening=opening(formula, left),
            first_ones=first_ones(formula),
            asks=swapping_pays(formula),
            together=not formula.num_hard,
        )


#: Those of a proof of which nothing is known.
NOTHING_KNOWN = Prospects()
