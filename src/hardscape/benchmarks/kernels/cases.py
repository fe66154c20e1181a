"""The cases of each family: a call of the library that spends its time in one kernel, and its unit.

A case is made before it is timed, and is called with a device; it returns how many units of work it did,
so that a rate means the same on every device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import gauge, ising, maxsat, permanents, xorsat

#: A call of the library on a device, "cpu" or "cuda:0"; returns units of work done.
Call = Callable[[str], float]


@dataclass(frozen=True)
class Case:
    """A row.

    Attributes
    ----------
    name : str
        The kernel, for people.
    unit : str
        What is counted; a rate is units a second.
    make : callable
        From a size to the call.
    sizes : mapping of str to int
        Size of the instance on each type of device that has the kernel, "cpu" and "cuda".
    """

    name: str
    unit: str
    make: Callable[[int], Call]
    sizes: Mapping[str, int]


def _threads(device: str) -> dict[str, Any]:
    """One thread on the CPU, so that its own clock tells its time."""
    return {"device": device, "threads": 1}


# -- permanents ------------------------------------------------------------------------------


def _entries(n: int, kind: str) -> NDArray[Any]:
    rng = np.random.default_rng(n)
    real: NDArray[np.float64] = rng.integers(-(2**20), 2**20, (2, n, n)).astype(float)
    away = abs(np.arange(n)[:, None] - np.arange(n))
    made: dict[str, Callable[[], NDArray[Any]]] = {
        "real": lambda: real[0],
        "complex": lambda: real[0] + 1j * real[1],
        "integer": lambda: real[0].astype(int) % 199 - 99,
        "sparse": lambda: real[0] * (rng.random((n, n)) < 0.25) + np.eye(n),
        "band": lambda: real[0] * (away <= 4),
    }
    return made[kind]()


def _permanent(kind: str, **how: Any) -> Callable[[int], Call]:
    def make(n: int) -> Call:
        a = _entries(n, kind)

        def call(device: str) -> float:
            permanents.permanent(a, **how, **_threads(device))
            return n * 2.0 ** (n - 1)

        return call

    return make


def _repeated(n: int) -> Call:
    a = np.random.default_rng(n).normal(size=(4, n))
    counts = [n // 4] * 4

    def call(device: str) -> float:
        permanents.permanent(a, rows=counts, **_threads(device))
        return float(np.prod([m + 1.0 for m in counts]))

    return call


def _matrices(n: int) -> Call:
    a = np.random.default_rng(n).normal(size=(256, n, n))

    def call(device: str) -> float:
        permanents.permanent(a, **_threads(device))
        return len(a) * n * 2.0 ** (n - 1)

    return call


def _minors(n: int) -> Call:
    a = np.random.default_rng(n).normal(size=(n, n))

    def call(device: str) -> float:
        permanents.minors(a)
        return n * n * 2.0 ** (n - 1)

    return call


_TERMS = "n 2^(n-1)"
PERMANENTS = (
    Case("Glynn, real", _TERMS, _permanent("real", method="glynn"), {"cpu": 24, "cuda": 36}),
    Case("Glynn, complex", _TERMS, _permanent("complex", method="glynn"), {"cpu": 22, "cuda": 34}),
    Case(
        "Glynn, double-double",
        _TERMS,
        _permanent("real", precision="extended"),
        {"cpu": 20, "cuda": 32},
    ),
    Case("Glynn, batch of 256", _TERMS, _matrices, {"cpu": 14, "cuda": 22}),
    Case("exact, integers", _TERMS, _permanent("integer"), {"cpu": 22}),
    Case("generated for density 0.25", _TERMS, _permanent("sparse", method="auto"), {"cuda": 40}),
    Case("frontier of a band of 9", _TERMS, _permanent("band", method="frontier"), {"cpu": 40}),
    Case("4 rows repeated", "products of weights", _repeated, {"cpu": 160}),
    Case("all minors", "n^2 2^(n-1)", _minors, {"cpu": 18}),
)

# -- ising -----------------------------------------------------------------------------------


def _model(n: int, kind: str) -> ising.Ising:
    rng = np.random.default_rng(n)
    if kind == "gaussian":
        return ising.Ising(rng.normal(size=n), np.triu(rng.normal(size=(n, n)), 1))
    couplings = np.triu(rng.integers(-100, 101, (n, n)), 1).astype(float)
    return ising.Ising(rng.integers(-100, 101, n).astype(float), couplings)


def _spectrum(kind: str, *, prune: bool) -> Callable[[int], Call]:
    def make(n: int) -> Call:
        model = _model(n, kind)

        def call(device: str) -> float:
            ising.spectrum(model, 100, prune=prune, seed=1, **_threads(device))
            return 2.0**n

        return call

    return make


def _density(n: int) -> Call:
    model = _model(n, "integer")

    def call(device: str) -> float:
        ising.density_of_states(model, **_threads(device))
        return 2.0**n

    return call


ISING = (
    Case(
        "every state, integer", "states", _spectrum("integer", prune=False), {"cpu": 30, "cuda": 42}
    ),
    Case(
        "every state, Gaussian",
        "states",
        _spectrum("gaussian", prune=False),
        {"cpu": 30, "cuda": 42},
    ),
    Case("with bounds, integer", "states", _spectrum("integer", prune=True), {"cpu": 40}),
    Case("with block bounds, integer", "states", _spectrum("integer", prune=True), {"cuda": 44}),
    Case("density of states", "states", _density, {"cpu": 26}),
)

# -- xorsat ----------------------------------------------------------------------------------


def _sweeps(*, count: bool) -> Callable[[int], Call]:
    def make(n: int) -> Call:
        draw = partial(xorsat.random_system, density=1.5) if count else xorsat.random_regular
        system = draw(n, seed=n)

        def call(device: str) -> float:
            # Too few sweeps for a solution of so many variables.
            sweeps, clones = (4096, 16384) if device == "cpu" else (1 << 16, None)
            how: dict[str, Any] = {
                "restart": sweeps,
                "max_sweeps": sweeps,
                "clones": clones,
                "anytime": count,
            }
            found = xorsat.quasi_greedy(system, seed=1, **how, **_threads(device))
            return float(found.spin_updates)

        return call

    return make


def _elimination(n: int) -> Call:
    system = xorsat.random_regular(n, seed=1, full_rank=False)

    def call(device: str) -> float:
        xorsat.eliminate(system)
        return float(n)

    return call


XORSAT = (
    Case("majority, 3-regular", "spin updates", _sweeps(count=False), {"cpu": 256, "cuda": 256}),
    Case("counting, every look", "spin updates", _sweeps(count=True), {"cpu": 128, "cuda": 128}),
    Case("elimination, 3-regular", "variables", _elimination, {"cpu": 4096}),
)

# -- maxsat ----------------------------------------------------------------------------------


def _formula(variables: int, ratio: float, weighted: bool) -> maxsat.Formula:
    rng = np.random.default_rng(variables)
    clauses = []
    for _ in range(round(ratio * variables)):
        chosen = rng.choice(variables, 3, replace=False) + 1
        clauses.append((chosen * rng.choice([-1, 1], 3)).tolist())
    if not weighted:
        return maxsat.Formula.from_clauses(clauses, num_variables=variables)
    weights = rng.integers(1, 10, len(clauses)).tolist()
    return maxsat.Formula.from_clauses(clauses, weights, num_variables=variables)


def _search(method: Any, ratio: float, weighted: bool, **how: Any) -> Callable[[int], Call]:
    def make(variables: int) -> Call:
        formula = _formula(variables, ratio, weighted)

        def call(device: str) -> float:
            found = maxsat.solve(
                formula, method=method, seed=1, target=0, **how, **_threads(device)
            )
            return float(found.flips or found.generations)

        return call

    return make


MAXSAT = (
    Case("walks, 3-SAT of ratio 4.3", "flips", _search("weighting", 4.3, False, time_limit=1.0),
         {"cpu": 2000, "cuda": 2000}),
    Case("clause weighting", "flips", _search("weighting", 6.0, True, time_limit=1.0), {"cpu": 2000}),
    Case("cellular generations", "generations", _search("cellular", 6.0, True, time_limit=2.0),
         {"cpu": 200, "cuda": 200}),
)  # fmt: skip

# -- gauge -----------------------------------------------------------------------------------


@cache
def _field(extent: int, nc: int) -> gauge.GaugeField:
    return gauge.generate((extent,) * 4, 6.0 if nc == 3 else 2.4, nc=nc, seed=1, sweeps=10)


def _fixing(method: Any, nc: int = 3, **how: Any) -> Callable[[int], Call]:
    def make(extent: int) -> Call:
        field = _field(extent, nc)

        def call(device: str) -> float:
            found = gauge.fix(
                field,
                method=method,
                max_sweeps=100,
                strict=False,
                seed=1,
                **how,
                **_threads(device),
            )
            return float(found.copies.sweeps.sum()) * extent**4

        return call

    return make


def _thermalising(extent: int) -> Call:
    def call(device: str) -> float:
        gauge.generate((extent,) * 4, 6.0, seed=1, sweeps=4, overrelax=0, threads=1)
        return 4.0 * 4 * extent**4

    return call


_SIZES = {"cpu": 8, "cuda": 32}
GAUGE = (
    Case("SU(3) matrix overrelaxation, double", "sites",
         _fixing("matrix-overrelaxation", precision="double"), _SIZES),
    Case("SU(3) matrix overrelaxation, mixed", "sites",
         _fixing("matrix-overrelaxation", precision="mixed"), _SIZES),
    Case("SU(3) subgroup overrelaxation, double", "sites",
         _fixing("overrelaxation", precision="double"), _SIZES),
    Case("SU(2) overrelaxation, double", "sites",
         _fixing("overrelaxation", 2, precision="double"), _SIZES),
    Case("SU(3) conjugate gradient", "sites", _fixing("fourier-cg", precision="double"), _SIZES),
    Case("SU(3) heat bath", "links", _thermalising, {"cpu": 8}),
)  # fmt: skip

FAMILIES: Mapping[str, tuple[Case, ...]] = {
    "gauge": GAUGE,
    "ising": ISING,
    "maxsat": MAXSAT,
    "permanents": PERMANENTS,
    "xorsat": XORSAT,
}
