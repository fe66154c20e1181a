"""What users write, with the types that it has: read by type checkers alone, from outside."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, assert_type

import numpy as np

import hardscape
from hardscape import gauge, ising, maxsat, permanents, xorsat
from hardscape.engine import Cpu, Cuda, Device, ProgressEvent, RunOptions, probe
from hardscape.errors import FormatError, HardscapeError, Interrupted

DEVICES: list[Device] = [Cpu(), Cuda(0), hardscape.engine.Cuda(1)]


def tell(event: ProgressEvent) -> None:
    """Show how far it is."""
    print(f"{event.done} of {event.total} {event.unit}")


def spectra(path: Path) -> None:
    """Ising models."""
    model = ising.Ising.from_file(path)
    assert_type(model, ising.Ising)
    found = hardscape.spectrum(model, 10, time_limit=1, progress=tell, device=DEVICES)
    assert_type(found, ising.Spectrum)
    assert_type(found.stopped, str)
    assert_type(found.levels, Sequence[ising.Level])
    assert_type(ising.spectrum({(0, 1): -1.0}, threads=2, seed=1), ising.Spectrum)
    assert_type(ising.mps_spectrum(np.eye(3), 5), ising.Spectrum)
    assert_type(ising.density_of_states(model).counts, tuple[int, ...])
    assert_type(ising.estimate(model, window=2.0).seconds, float)
    assert_type(found.to_json(), str)
    ising.ExactSampler()


def matrices() -> None:
    """Permanents."""
    print(hardscape.permanent([[1, 2], [3, 4]], precision="exact", checkpoint="job"))
    with ProcessPoolExecutor(2) as pool:
        print(permanents.permanent(np.ones((4, 4)), executor=pool, workers=2))
    assert_type(permanents.plan(np.ones((20, 20))), permanents.Plan)
    splitter = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    assert_type(permanents.sample(splitter, [1, 1], 10, overlap=0.9, seed=1), permanents.Samples)
    assert_type(permanents.approximate(np.ones((9, 9)), confidence=0.9), permanents.Approximation)
    assert_type(permanents.bounds(np.ones((9, 9))), permanents.Bounds)
    assert_type(permanents.plan_gradient(np.ones((9, 9))), permanents.Plan)
    value: Any = permanents.minors([[1, 2], [3, 4]], threads=1)
    print(value)


def systems(path: str) -> None:
    """XORSAT."""
    system = xorsat.random_regular(24, seed=1)
    assert_type(system, xorsat.XorSystem)
    found = xorsat.solve(system, method="quasi-greedy", w1=0.055, time_limit=1.5)
    assert_type(found, xorsat.XorsatResult)
    assert_type(found.satisfied, bool)
    assert_type(xorsat.quasi_greedy(system).sweeps, int)
    assert_type(xorsat.eliminate(system), xorsat.Elimination)
    assert_type(xorsat.time_to_solution(system, 10, seed=1), xorsat.TimeToSolution)
    system.to_file(path)


def formulas() -> None:
    """MAX-SAT."""
    formula = maxsat.Formula.from_clauses([[1], [2], [-3]], [4, 3, 2], hard=[[-1, -2]])
    assert_type(formula, maxsat.Formula)
    assert_type(maxsat.solve(formula, target=3), maxsat.MaxsatResult)
    assert_type(maxsat.cellular_search(formula, runs=2), maxsat.CellularResult)


def fields() -> None:
    """Lattice gauge fields."""
    field = gauge.generate((4, 4, 4, 4), beta=6.0, seed=7, sweeps=30)
    assert_type(field, gauge.GaugeField)
    fixed = gauge.fix(field, "landau", copies=3, seed=1)
    assert_type(fixed, gauge.GaugeFixResult)
    assert_type(fixed.fixed(), gauge.GaugeField)
    assert_type(gauge.gluon_propagator([fixed.fixed()]), gauge.GluonPropagator)


def ends() -> object:
    """What may be caught."""
    try:
        return RunOptions.checked(threads=2), probe()
    except FormatError as error:
        return error.line
    except HardscapeError:
        return None
    except Interrupted as stop:
        return stop.result
