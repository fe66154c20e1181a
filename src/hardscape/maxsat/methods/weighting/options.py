"""Parameters of the local search."""

from __future__ import annotations

from dataclasses import dataclass

from hardscape.arguments import integer
from hardscape.errors import InputError
from hardscape.maxsat.methods.islands.elites import EXCHANGES, Exchange

#: Search weights stay far from the ends of 64-bit integers up to this.
_MOST_INCREASE = 1000


@dataclass(frozen=True, kw_only=True)
class WeightingOptions:
    """Parameters of the clause-weighting search.

    Between restarts the search takes turns at three tempers: as given here; with ten times the `soft_increase`;
    with that, 0.4 of the `soft_limit` and four times the `patience`. Beside it, in turns, two others go on
    under pressure without restarts, where soft clauses begin without weight and all grow alike, and the
    `hard_increase` is fifty times as large, one of them back to its best assignment after flips without
    improvement, ten for each variable; or, where no clause is hard, one with random steps and weights that
    now and then fall again. For more than three million literals all are one search, with pressure as third
    and fifth temper and twenty times the `patience`.

    Attributes
    ----------
    samples : int
        Variables of positive score of which the best is flipped.
    clauses : int
        Violated soft clauses, at a local optimum without violated hard ones, of whose variables the
        best is flipped.
    hard_start : float
        First search weight of a hard clause, in mean soft weights.
    hard_increase : float
        What a violated hard clause gains at a local optimum, in mean soft weights.
    soft_increase : float
        What a violated soft clause gains there where no hard one is violated, in multiples of its
        first search weight.
    soft_limit : int
        Search weight at which a soft clause gains no more, in multiples of its first one.
    patience : int
        Flips without improvement before a restart, in multiples of the number of variables, times Luby's
        sequence 1, 1, 2, 1, 1, 2, 4, ...
    exchange : {"winners", "cellular", "none"}
        Of walks on GPUs: what they take over from one another, in growing distances. With
        "winners" the best 40 in 100 go on, and the others from the best assignments of those; with
        "cellular" walks look at their neighbours on islands, as in the genetic algorithm.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> from hardscape.maxsat import WeightingOptions
    >>> WeightingOptions(samples=20).samples
    20
    """

    samples: int = 50
    clauses: int = 5
    hard_start: float = 0.3
    hard_increase: float = 0.1
    soft_increase: float = 0.03
    soft_limit: int = 5
    patience: int = 1
    exchange: Exchange = "winners"

    def __post_init__(self) -> None:
        for name in ("samples", "clauses", "soft_limit", "patience"):
            integer(getattr(self, name), name, 1, 2**31 - 1)
        for name in ("hard_start", "hard_increase", "soft_increase"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 1e-4 <= value <= _MOST_INCREASE:
                raise InputError(
                    f"{name}={value!r}; numbers from 0.0001 to {_MOST_INCREASE} are accepted"
                )
        if self.exchange not in EXCHANGES:
            raise InputError(
                f"exchange={self.exchange!r}; {', '.join(map(repr, EXCHANGES))} are accepted"
            )
