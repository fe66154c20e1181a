"""What tests of the prover's linear programs share."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardscape.maxsat.methods.exact.prover.board import Board


class Silent(Board):
    """Keeps what it would say."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.said: list[dict[str, Any]] = []

    def tell(self, **message: Any) -> None:
        self.said.append(message)


def priced(
    seed: int, *, variables: int = 9, clauses: int = 24, weight: int = 2**60
) -> dict[str, Any]:
    """A formula of up to so many variables, most of which have a price, with pairs that exclude one another.

    It has up to so many other clauses, and weights up to 1, 5, 1000 or `weight`.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, variables + 1))
    most = int(rng.choice([1, 5, 1000, weight]))
    made, hard = [], []
    for _ in range(int(rng.integers(3, clauses + 1))):
        size = min(int(rng.choice([1, 2, 2, 2, 3, 3, 4])), n)
        signs = rng.choice([-1, 1], size, p=[0.3, 0.7])
        made.append((signs * (rng.choice(n, size, replace=False) + 1)).tolist())
        hard.append(int(size > 1 and rng.random() < 0.8))
    for v in range(1, n + 1):
        if rng.random() < 0.8:
            made.append([int(v * rng.choice([-1, -1, -1, 1]))])
            hard.append(0)
    weights = rng.integers(1, most, len(made), endpoint=True).tolist()
    return {"variables": n, "clauses": made, "weights": weights, "hard": hard}
