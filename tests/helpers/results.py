"""One result of each kind, of every family."""

from __future__ import annotations

import inspect
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hardscape import engine, gauge, ising, maxsat, permanents, reproduce, xorsat
from hardscape.plain import Plain

CPU: dict[str, Any] = {"device": "cpu", "threads": 1, "seed": 1}
FAMILIES = (engine, gauge, ising, maxsat, permanents, reproduce, xorsat)
MODEL = {("a", "b"): 1.0, ("b", "c"): 1.0, ("a", "c"): 1.0}
KINDS: list[type[Plain]] = [
    kind
    for family in FAMILIES
    for kind in (getattr(family, name) for name in family.__all__ if name != "ExactSampler")
    if inspect.isclass(kind) and issubclass(kind, Plain)
]


@cache
def results() -> dict[type[Plain], Any]:
    """One of each kind."""
    system = xorsat.random_regular(24, seed=1)
    formula = maxsat.Formula.from_clauses([[1], [-1, 2], [-2]], [3, 2, 1], hard=[[1, 2]])
    field = gauge.GaugeField.random((2, 2, 2, 4), 2, seed=1)
    links = Path(__file__).parents[2] / "examples" / "hot4.nersc"
    free = Path(tempfile.mkdtemp()) / "free.nersc"
    gauge.fix(field, **CPU).fixed().to_file(free)
    times = [xorsat.time_to_solution(system, 4, 5.0, w1=w, **CPU) for w in (0.04, 0.05, 0.06)]
    fixed = gauge.fix(field, "landau", copies=2, theta=1e-12, **CPU)
    told: list[Any] = []
    found: list[Any] = [
        ising.spectrum(MODEL, 4, **CPU),
        ising.density_of_states({(i, i + 1): -1 for i in range(6)}, device="cpu"),
        ising.estimate(MODEL, sample_seconds=0.01, **CPU),
        permanents.permanent(np.full((3, 3), 10**200, dtype=object), full_output=True),
        permanents.plan(np.ones((6, 6)), device="cpu"),
        permanents.approximate(np.ones((4, 4)), num_samples=100, **CPU),
        permanents.bounds(np.ones((4, 4))),
        permanents.sample(np.eye(3), [1, 2, 0], 4, **CPU),
        xorsat.eliminate(system),
        xorsat.solve(system),
        xorsat.quasi_greedy(system, on_improvement=told.append, **CPU),
        xorsat.quadratize(system),
        times[0],
        xorsat.fit_w1([0.04, 0.05, 0.06], times),
        xorsat.fit_exponent([64, 96, 128], [1.0, 2.0, 4.1]),
        xorsat.fit_population(times),
        xorsat.energy_trace(system, 16, **CPU),
        maxsat.solve(formula, on_improvement=told.append, **CPU),
        maxsat.cellular_search(formula, **CPU),
        maxsat.enumerate(formula, 3, **CPU),
        fixed,
        fixed.copies,
        gauge.gluon_propagator(fixed.fixed()),
        gauge.fix_ensemble(links, **CPU),
        gauge.static_potential(gauge.observables(links, loops=(4, 3), **CPU)),
        gauge.faddeev_popov_eigenvalues(free, 2, **CPU),
        (ghost := gauge.ghost_propagator(free, 3, cylinder=None, **CPU)),
        gauge.running_coupling(ghost, gauge.gluon_propagator(free, beta=6.0, cylinder=None)),
        gauge.scan(links, omegas=[1.0, 1.7], copies=2, **CPU),
        gauge.wilson_flow(field, 0.1, **CPU),
        gauge.inspect(links)[1],
        reproduce.reproduce("xorsat-7"),
        engine.probe(),
        engine.forecast(xorsat.time_to_solution, system, 4, 5.0, **CPU),
    ]
    return {type(one): one for one in found + told}
