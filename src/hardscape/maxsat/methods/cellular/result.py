"""What the cellular genetic algorithm found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Partial
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.cellular.run import best_individual, unpack_individual
from hardscape.maxsat.truth.evaluation import Evaluation
from hardscape.plain import Plain


@dataclass(frozen=True, eq=False)
class CellularResult(Plain):
    """The best assignment of all runs, and what each run came to.

    Attributes
    ----------
    assignment : bool, shape (n,)
        Variable v is ``assignment[v - 1]``.
    cost : int
        Weight of the violated soft clauses, recomputed from the formula.
    hard_violations : int
        Violated hard clauses, recomputed from the formula; 0 where the assignment is feasible.
    num_satisfied : int
        Clauses that hold, of both kinds.
    run_costs : int64, shape (runs, 2)
        Violated hard clauses and weight of violated soft clauses, run by run.
    run_generations : int64, shape (runs,)
    history : int64, shape (generations + 1, 3)
        Of the best run, the initial population first: violated hard clauses and weight of violated
        soft ones of the best individual, and passes of hill climbing.
    seed : int
        With which the same runs come again.
    stopped : str
        "" if all runs came to their end, else what cut the call short: "time_limit", "SIGINT" or
        "SIGTERM".
    seconds : float
        Wall-clock time.
    device : str

    Examples
    --------
    >>> from hardscape.maxsat import Formula, cellular_search
    >>> found = cellular_search(Formula.from_clauses([[1, 2], [-1, 2], [1, -2]]), seed=1, device="cpu")
    >>> found.cost, found.num_satisfied, found.runs
    (0, 3, 1)
    """

    method: ClassVar[str] = "cellular"

    COLUMNS: ClassVar[str] = "run_costs run_generations"

    assignment: NDArray[np.bool_]
    cost: int
    hard_violations: int
    num_satisfied: int
    run_costs: NDArray[np.int64]
    run_generations: NDArray[np.int64]
    history: NDArray[np.int64]
    seed: int
    stopped: str
    seconds: float
    device: str

    @classmethod
    def of(
        cls, formula: Formula, partial: Partial, known: Evaluation | None = None, **facts: Any
    ) -> CellularResult:
        """Pick the best run and evaluate it, unless that is `known`, on the formula as it was given."""
        best = best_individual(partial["costs"])
        assignment = unpack_individual(partial["bits"][best], formula.num_variables)
        found = formula.evaluate(assignment) if known is None else known
        ends = np.cumsum(partial["generations"] + 1)
        begin = int(ends[best] - partial["generations"][best] - 1)
        return cls(
            assignment=assignment,
            cost=found.cost,
            hard_violations=found.hard_violations,
            num_satisfied=found.num_satisfied,
            run_costs=partial["costs"],
            run_generations=partial["generations"],
            history=partial["history"][begin : int(ends[best])],
            **facts,
        )

    @property
    def generations(self) -> int:
        """Generations of the best run."""
        return len(self.history) - 1

    @property
    def runs(self) -> int:
        """Runs done, the one that was stopped on the way included."""
        return len(self.run_generations)

    def to_dict(self) -> Mapping[str, Any]:
        """Plain data: what ``to_json`` writes."""
        return self.listed(
            "assignment cost hard_violations num_satisfied generations runs run_costs run_generations seed "
            "stopped method seconds device",
            assignment="".join("01"[int(x)] for x in self.assignment),
        )

    def __repr__(self) -> str:
        return (
            f"<CellularResult: cost {self.cost}, {self.hard_violations} hard clauses violated, "
            f"{self.runs} runs, {self.generations} generations>"
        )
