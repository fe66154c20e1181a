"""Parameters of the cellular genetic algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import integer
from hardscape.errors import InputError

#: Individuals have 31-bit numbers.
_MOST = 2**31 - 1
#: Operators that there is a choice of: the paper's, and what it compares with.
OPERATORS = {
    "crossover": ("mask", "two-point"),
    "inversion": ("mask", "gene"),
    "selection": ("neighbours", "panmictic"),
    "migration": ("diffusion", "sorted"),
}
#: Most independent runs.
MOST_RUNS = 2**40


@dataclass(frozen=True, kw_only=True)
class CellularOptions:
    """Parameters of the algorithm; the defaults are the paper's.

    Attributes
    ----------
    width, height : int
        Cells of a sub-population.
    columns, rows : int
        Sub-populations.
    diffusion : float
        P_d, probability that sub-populations join in a generation.
    recombination : float
        P_c, probability that a bit comes from the second parent.
    mutation : float
        P_m, probability that a bit is turned.
    passes : int
        MAX_ITER, most passes of hill climbing, and their number in the first generation.
    step : int
        DEC_ITER, by which the number of passes falls or rises; never below 1 pass.
    feedback : float
        F_p, share of individuals above which it rises.
    patience : int
        Generations without improvement that end a run.
    walk_flips : int
        0: hill climbing. Else a search of so many flips takes its place ("memetic"), which ends early
        where all clauses hold: a focused random walk where all clauses weigh the same, else clause
        weighting. The best assignment that it met is the child. The numbers of passes then play no part.
    max_generations : int or None
        Generations that end a run in any case.
    crossover : {"mask", "two-point"}
        How `recombination` is meant: "two-point" exchanges, in so many individuals, all bits between two
        random points.
    inversion : {"mask", "gene"}
        How `mutation` is meant: "gene" turns, in so many individuals, one random bit.
    selection : {"neighbours", "panmictic"}
        Whether second parents are the better of two neighbours, or of two of the whole sub-population.
    migration : {"diffusion", "sorted"}
        What happens with probability `diffusion`: "sorted" lets the best tenth of each sub-population take
        the places of the worst tenth of the next one. These last four, the second of each, are what the
        paper compares its own with; they run on CPUs.

    Raises
    ------
    InputError
        If a value is out of range.

    Notes
    -----
    Probabilities are rounded to multiples of 2**-32.

    Examples
    --------
    >>> from hardscape.maxsat import CellularOptions
    >>> options = CellularOptions(max_generations=5)
    >>> options.cells, options.islands, options.individuals
    (100, 30, 3000)
    """

    width: int = 10
    height: int = 10
    columns: int = 10
    rows: int = 3
    diffusion: float = 0.05
    recombination: float = 0.20
    mutation: float = 0.10
    passes: int = 20
    step: int = 2
    feedback: float = 0.20
    patience: int = 5
    walk_flips: int = 0
    max_generations: int | None = None
    crossover: Literal["mask", "two-point"] = "mask"
    inversion: Literal["mask", "gene"] = "mask"
    selection: Literal["neighbours", "panmictic"] = "neighbours"
    migration: Literal["diffusion", "sorted"] = "diffusion"

    def __post_init__(self) -> None:
        for name in ("width", "height", "columns", "rows", "passes", "patience"):
            integer(getattr(self, name), name, 1, _MOST)
        integer(self.step, "step", 0, _MOST)
        integer(self.walk_flips, "walk_flips", 0, _MOST)
        if self.max_generations is not None:
            integer(self.max_generations, "max_generations", 0, _MOST)
        for name, accepted in OPERATORS.items():
            if getattr(self, name) not in accepted:
                raise InputError(
                    f"{name}={getattr(self, name)!r}; {', '.join(map(repr, accepted))} are accepted"
                )
        for name in ("diffusion", "recombination", "mutation", "feedback"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{name}={value!r}; a probability from 0 to 1 is accepted")
        if self.individuals > _MOST:
            raise InputError(
                f"{self.columns} x {self.rows} sub-populations of {self.width} x {self.height} are "
                f"{self.individuals} individuals; at most {_MOST} are accepted"
            )

    @property
    def cells(self) -> int:
        """Individuals of a sub-population."""
        return self.width * self.height

    @property
    def islands(self) -> int:
        """Sub-populations."""
        return self.columns * self.rows

    @property
    def individuals(self) -> int:
        """Individuals of the population."""
        return self.cells * self.islands

    @property
    def torus(self) -> NDArray[np.int32]:
        """Sizes as the kernels take them."""
        return np.array([self.width, self.height, self.columns, self.rows], dtype=np.int32)

    @property
    def chances(self) -> NDArray[np.uint64]:
        """Probabilities of diffusion, recombination and mutation in units of 2**-32."""
        shares = (self.diffusion, self.recombination, self.mutation)
        return np.array([round(share * 2**32) for share in shares], dtype=np.uint64)

    @property
    def operators(self) -> int:
        """Which of the paper's operators are not taken, as bits."""
        chosen = ((getattr(self, name), accepted) for name, accepted in OPERATORS.items())
        return sum((x != accepted[0]) << bit for bit, (x, accepted) in enumerate(chosen))

    def rules(self, target: tuple[int, int]) -> NDArray[np.int64]:
        """When passes rise and runs end, as the kernels take it; `target` is a cost that ends them."""
        crowd = math.floor(self.feedback * self.individuals + 1e-6)
        most = 2**62 if self.max_generations is None else self.max_generations
        return np.array([self.passes, self.step, crowd, self.patience, most, *target])
