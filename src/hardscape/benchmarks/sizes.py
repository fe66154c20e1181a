"""Cost against size, ours and the peers', a family at a time.

``python -m hardscape.benchmarks.sizes [FAMILY ...] [--save FOLDER]``.

Whole calls on one thread, least of three by the processor's clock, with the object of the problem made before.
A tool's sizes end where a call takes more than ``--seconds``. Answers of all tools for an instance are
compared. The documents' plots are drawn from this table.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np

import hardscape
from hardscape import gauge, maxsat, xorsat
from hardscape.benchmarks.tables import Table
from hardscape.ising import Ising

app = cyclopts.App(help=__doc__, result_action="return_value")
Call = Callable[[], Any]


@dataclass(frozen=True)
class Family:
    """What is asked, at which sizes, and the tools: each makes a call of a size, which gives a number."""

    name: str
    sizes: tuple[int, ...]
    tools: dict[str, Callable[[int], Call]]


def _glass(n: int) -> Ising:
    random = np.random.default_rng(n)
    return Ising(random.normal(size=n), np.triu(random.normal(size=(n, n)), 1))


def _dimod(n: int) -> Call:
    import dimod

    glass = _glass(n)
    pairs = {(i, j): glass.J[i, j] for i in range(n) for j in range(i + 1, n)}
    model = dimod.BinaryQuadraticModel.from_ising(dict(enumerate(glass.h)), pairs)
    return lambda: dimod.ExactSolver().sample(model).first.energy


def _states(n: int) -> Call:
    model = _glass(n)
    return lambda: hardscape.spectrum(model, 1, threads=1).energies[0]


def _every_state(n: int) -> Call:
    model = _glass(n)
    how: dict[str, Any] = {"method": "exhaustive", "prune": False, "threads": 1}
    return lambda: hardscape.spectrum(model, 1, **how).energies[0]


def _matrix(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, n))


def _thewalrus(n: int) -> Call:
    from thewalrus import perm

    matrix = _matrix(n)
    return lambda: perm(matrix)


def _piquasso(n: int) -> Call:
    from piquasso._math.permanent import permanent

    matrix, once = _matrix(n) + 0j, np.ones(n, dtype=np.int32)
    return lambda: permanent(matrix, once, once).real


def _permanent(n: int) -> Call:
    matrix = _matrix(n)
    return lambda: hardscape.permanent(matrix, threads=1)


def _parity_clauses(system: xorsat.XorSystem) -> list[list[int]]:
    """Four clauses for each equation of three variables."""
    found = []
    for variables, b in zip(np.asarray(system.clauses()) + 1, system.parity, strict=True):
        for bits in range(8):
            if bits.bit_count() % 2 != b:  # an assignment that violates it
                found.append([int(-v if bits >> i & 1 else v) for i, v in enumerate(variables)])
    return found


def _system(n: int) -> xorsat.XorSystem:
    return xorsat.random_regular(n, seed=n, planted=True)


def _cadical(n: int) -> Call:
    from pysat.solvers import Cadical153

    clauses = _parity_clauses(_system(n))

    def call() -> int:
        with Cadical153(bootstrap_with=clauses) as solver:
            return 0 if solver.solve() else 1

    return call


def _walked(n: int) -> Call:
    system = _system(n)
    return lambda: xorsat.solve(system, method="quasi-greedy", seed=1, threads=1).violated


def _eliminated(n: int) -> Call:
    system = _system(n)
    return lambda: xorsat.solve(system, threads=1).violated


def _clauses(n: int) -> list[list[int]]:
    random = np.random.default_rng(n)
    picks = np.argsort(random.random((6 * n, n)), axis=1)[:, :3] + 1
    signed: list[list[int]] = (picks * random.choice([-1, 1], picks.shape)).tolist()
    return signed


def _rc2(n: int) -> Call:
    from pysat.examples.rc2 import RC2Stratified
    from pysat.formula import WCNF

    formula = WCNF()
    for clause in _clauses(n):
        formula.append(clause, weight=1)

    def call() -> int:
        with RC2Stratified(formula) as solver:
            solver.compute()
            return int(solver.cost)

    return call


def _proven(n: int) -> Call:
    formula = maxsat.Formula.from_clauses(_clauses(n), num_variables=n)
    return lambda: maxsat.solve(formula, seed=1, threads=1, time_limit=60).cost


def _fixed(side: int) -> Call:
    field = gauge.generate((side,) * 4, 6.0, seed=1, sweeps=10, threads=1, device="cpu")
    how: dict[str, Any] = {"copies": 1, "seed": 1, "theta": 1e-10, "threads": 1, "device": "cpu"}
    return lambda: float(gauge.fix(field, "landau", **how).converged)


FAMILIES = (
    Family(
        "ising",
        (8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60),
        {"hardscape": _states, "hardscape, every state": _every_state, "dimod": _dimod},
    ),
    Family(
        "permanents",
        tuple(range(4, 33, 2)),
        {"hardscape": _permanent, "thewalrus": _thewalrus, "piquasso": _piquasso},
    ),
    Family(
        "xorsat",
        (24, 36, 48, 60, 72, 84, 96, 108, 120, 144, 168, 192),
        {"hardscape": _eliminated, "hardscape, local search": _walked, "cadical": _cadical},
    ),
    Family("maxsat", (10, 20, 30, 40, 50, 60, 70, 80), {"hardscape": _proven, "RC2": _rc2}),
    Family("gauge", (4, 6, 8, 10, 12), {"hardscape": _fixed}),
)


def spent() -> float:
    """Processor seconds of this process and of those that it had, as a prover is."""
    return time.process_time() + sum(os.times()[2:4])


def measured(family: Family, seconds: float) -> Iterator[tuple[str, int, float]]:
    """Tool, size and least processor seconds of its calls."""
    answers: dict[int, float] = {}
    for tool, make in family.tools.items():
        for size in family.sizes:
            try:
                call = make(size)
            except ImportError:
                break
            taken = []
            call()  # warms up
            for _ in range(3):
                began = spent()
                answer = float(call())
                taken.append(spent() - began)
                if taken[-1] > seconds:
                    break
            known = answers.setdefault(size, answer)
            assert math.isclose(answer, known, rel_tol=1e-6, abs_tol=1e-9), (tool, size)
            yield tool, size, min(taken)
            if taken[-1] > seconds:  # the next size may take many times as long
                break


@app.default
def main(*families: str, seconds: float = 0.5, save: Path | None = None) -> None:
    """Print the table.

    Parameters
    ----------
    families
        ising, ...; all of them by default.
    seconds
        Of the last call of a tool.
    save
        A folder for the table as data.
    """
    packages = ("dimod", "thewalrus", "piquasso", "python-sat")
    found = Table.begun("sizes", ["family", "tool", "size", "processor s"], *packages)
    for family in FAMILIES:
        if not families or family.name in families:
            for tool, size, taken in measured(family, seconds):
                found.add(family.name, tool, size, taken)
    if save:
        found.save(save)


if __name__ == "__main__":
    app()
