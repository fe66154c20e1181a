"""Dense models of the kinds of the Biq Mac library (A. Wiegele, 2007): not its files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.ising.model import Ising

#: What is drawn.
NAMES = {
    "be": "QUBO, density 1 (0.8 above 100)",
    "g05": "cut, weights 0 and 1 (g05)",
    "gauss": "Gaussian couplings",
    "pm1d": "weights -1 and 1, density 0.99 (pm1d)",
    "pm1s": "weights -1 and 1, density 0.1 (pm1s)",
    "w09": "weights -10 to 10, density 0.9 (w09)",
    "pw05": "weights 0 to 10, density 0.5 (pw05)",
}


def instance(kind: str, n: int, seed: int) -> Ising:
    """One model; `be` is a QUBO of density 1 (0.8 above 100 variables), `g05` and so on are cuts."""
    rng = np.random.default_rng([seed, n, len(kind)])
    drawn: dict[str, Callable[[], NDArray[Any]]] = {
        "be": lambda: (
            rng.integers(-50, 51, (n, n)) * (rng.random((n, n)) < (1 if n <= 100 else 0.8))
        ),
        "g05": lambda: rng.integers(0, 2, (n, n)),
        "gauss": lambda: rng.normal(size=(n, n)),
        "pm1d": lambda: rng.choice([-1, 1], (n, n)) * (rng.random((n, n)) < 0.99),
        "pm1s": lambda: rng.choice([-1, 1], (n, n)) * (rng.random((n, n)) < 0.1),
        "w09": lambda: rng.integers(-10, 11, (n, n)) * (rng.random((n, n)) < 0.9),
        "pw05": lambda: rng.integers(0, 11, (n, n)) * (rng.random((n, n)) < 0.5),
    }
    couplings = np.triu(drawn[kind](), 1).astype(float)
    if kind == "be":
        matrix = 2 * couplings + np.diag(rng.integers(-100, 101, n))
        return Ising.from_qubo(matrix)
    return Ising(np.zeros(n), couplings)
