"""How far beyond its time limit a search of large formulas ends.

``python -m hardscape.benchmarks.maxsat.limits``.

Random clauses of three literals at ratio 4.2, a third of them hard and weights from 1 to 19 on the rest, or
all of them soft with one weight. Costs are evaluated again here. What ends early kept time back for an
evaluation that did not come.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

from hardscape import maxsat
from hardscape.benchmarks.tables import Table

app = cyclopts.App(help=__doc__, result_action="return_value")

_RATIO = 4.2


def random_formula(variables: int, *, hard: bool, seed: int = 1) -> maxsat.Formula:
    """Clauses of three literals, which may repeat."""
    rng = np.random.default_rng(seed)
    clauses = round(_RATIO * variables)
    shape = clauses, 3
    literals = rng.integers(1, variables + 1, shape) * rng.choice([-1, 1], shape)
    firm = np.arange(clauses) < (clauses // 3 if hard else 0)
    weights = np.where(firm, 0, rng.integers(1, 20, clauses) if hard else 1)
    offsets = 3 * np.arange(clauses + 1, dtype=np.int32)
    return maxsat.Formula(variables, np.asarray(literals, np.int32).ravel(), offsets, weights, firm)


def check(formula: maxsat.Formula, assignment: np.ndarray, cost: int | None) -> None:
    """Look at every clause without the library."""
    true = assignment[np.abs(formula.literals) - 1] == (formula.literals > 0)
    violated = ~true.reshape(-1, 3).any(axis=1)
    feasible = not (violated & formula.hard).any()
    if cost != (int(formula.weights[violated].sum()) if feasible else None):
        raise SystemExit(f"the cost is not {cost}")


def milliseconds_over(formula: maxsat.Formula, method: Any, limit: float, seed: int) -> float:
    """Wall-clock milliseconds from the limit to the end of the call."""
    began = time.monotonic()
    found = maxsat.solve(
        formula, method=method, seed=seed, device="cpu", threads=2, time_limit=limit
    )
    seconds = time.monotonic() - began
    check(formula, found.assignment.astype(bool), found.cost)
    return 1000 * (seconds - limit)


@app.default
def main(
    *,
    variables: tuple[int, ...] = (20_000, 100_000, 200_000, 500_000, 2_000_000),
    limits: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0),
    methods: tuple[str, ...] = ("cellular", "weighting"),
    repeats: int = 2,
    save: Path | None = None,
) -> None:
    """Print milliseconds beyond each limit, the worst of some seeds; negative ones are early.

    Parameters
    ----------
    save
        A folder for the table as data.
    """
    columns = ["variables", "clauses", "method", *(f"{limit:g} s" for limit in limits)]
    table = Table.begun("maxsat-limits", columns)
    for n in variables:
        for hard in (True, False):
            formula = random_formula(n, hard=hard)
            for method in methods:
                worst = [
                    max(milliseconds_over(formula, method, limit, seed) for seed in range(repeats))
                    for limit in limits
                ]
                kind = "hard and weighted" if hard else "soft"
                table.add(n, kind, method, *(round(over, 1) for over in worst))
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
