"""A computation of every kind that takes an executor, as bytes: whoever runs it, they are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import hardscape
from hardscape import permanents
from hardscape.gauge import GaugeField, fix, generate
from hardscape.ising import density_of_states, mps_spectrum
from hardscape.maxsat import Formula, cellular_search, solve
from hardscape.xorsat import quasi_greedy, random_regular, random_system, time_to_solution
from helpers.instances import dense_gaussian, dense_integer


def spectrum(**options: Any) -> bytes:
    """The spectrum of 26 spins, every state visited."""
    found = hardscape.spectrum(dense_gaussian(26, 6), 300, device="cpu", prune=False, **options)
    return found.energies.tobytes() + found.states.tobytes()


def bounded(**options: Any) -> bytes:
    """The spectrum of 36 spins by way of bounds."""
    found = hardscape.spectrum(dense_gaussian(36, 7), 50, device="cpu", **options)
    return found.energies.tobytes() + found.states.tobytes()


def density(**options: Any) -> bytes:
    """A density of states with several shards."""
    model = dense_integer(28, 3, bound=1, fields=False)
    return repr(
        density_of_states(model, method="exhaustive", device="cpu", **options).counts
    ).encode()


def _matrix(kind: str) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(4)
    real = rng.normal(size=(20, 20))
    if kind == "complex":
        return real + 1j * rng.normal(size=real.shape), {}
    if kind == "integer":
        return rng.integers(-99, 100, real.shape), {}
    if kind == "extended":
        return real[:16, :16], {"precision": "extended"}
    if kind == "repeated":
        return real[:6, :6], {"rows": [4] * 6, "cols": [4] * 6}
    if kind == "sparse":
        band = np.abs(np.subtract.outer(range(40), range(40))) < 4
        return rng.integers(1, 9, (40, 40)) * band, {}
    if kind == "batch":
        return rng.normal(size=(40, 15, 15)), {}
    return real, {}


def permanent(kind: str) -> Callable[..., bytes]:
    """The permanent of a matrix of this kind, with its bound and method."""

    def job(**options: Any) -> bytes:
        a, more = _matrix(kind)
        if kind == "batch":
            return np.asarray(hardscape.permanent(a, device="cpu", **options)).tobytes()
        found = hardscape.permanent(a, device="cpu", full_output=True, **more, **options)
        return repr((found.value, found.error_bound, found.method)).encode()

    return job


def patterns(**options: Any) -> bytes:
    """Permanents of one matrix with many multiplicities."""
    rng = np.random.default_rng(5)
    rows = rng.multinomial(6, np.full(8, 1 / 8), 2000)
    a, cols = rng.normal(size=(8, 8)), [1] * 6 + [0] * 2
    return np.asarray(
        hardscape.permanent(a, rows=rows, cols=cols, device="cpu", **options)
    ).tobytes()


def approximate(**options: Any) -> bytes:
    """An estimate of a permanent, by samples."""
    a = np.random.default_rng(6).random((20, 20))
    found = permanents.approximate(a, num_samples=20000, seed=2, device="cpu", **options)
    return repr((found.value, found.error_bound, found.standard_error)).encode()


def photons(**options: Any) -> bytes:
    """Where photons come out of an interferometer."""
    mixed, _ = np.linalg.qr(np.random.default_rng(7).normal(size=(12, 12)))
    each = [1] * 5 + [0] * 7
    return permanents.sample(
        mixed, each, 300, seed=3, device="cpu", **options
    ).occupations.tobytes()


def unsatisfiable() -> Formula:
    """Random clauses, more than can all be satisfied."""
    rng = np.random.default_rng(2)
    clauses = [(1 + rng.choice(40, 3, replace=False)) * rng.choice([-1, 1], 3) for _ in range(260)]
    return Formula.from_clauses([clause.tolist() for clause in clauses])


def cellular(**options: Any) -> bytes:
    """Eight runs of the cellular search, unsatisfiable clauses."""
    found = cellular_search(unsatisfiable(), runs=8, seed=5, device="cpu", **options)
    return repr(found.cost).encode() + found.assignment.tobytes()


def weighting(**options: Any) -> bytes:
    """One walker of the local search."""
    found = solve(
        unsatisfiable(),
        method="weighting",
        max_flips=30000,
        seed=5,
        device="cpu",
        **options | {"threads": 1},
    )
    return repr(found.cost).encode() + found.assignment.tobytes()


def clones(**options: Any) -> bytes:
    """Rounds of clones on an XORSAT system that nothing satisfies."""
    found = quasi_greedy(
        random_system(40, 6.0, planted=False, seed=3),
        seed=1,
        restart=64,
        max_sweeps=640,
        device="cpu",
        **options,
    )
    return repr((found.violated, found.sweeps)).encode() + found.assignment.tobytes()


def trials(**options: Any) -> bytes:
    """Sweeps until a solution is found, of several searches."""
    found = time_to_solution(
        random_regular(32, seed=1), 12, 10.0, seed=3, device="cpu", **options | {"threads": 1}
    )
    return np.asarray(found.sweeps).tobytes()


def product_state(**options: Any) -> bytes:
    """States that a matrix product state finds: steps of imaginary time, one after the other."""
    found = mps_spectrum(dense_gaussian(14, 3), 20, bond_dimension=16, device="cpu", **options)
    return found.energies.tobytes() + found.states.tobytes()


def links(**options: Any) -> bytes:
    """A configuration after a few sweeps of its Markov chain."""
    return generate((4, 4, 4, 4), 6.0, seed=5, sweeps=3, **options).links.tobytes()


def gribov(**options: Any) -> bytes:
    """Landau gauge from three random gauges."""
    links = np.eye(2) + 0.3 * GaugeField.random((4, 4, 4, 4), 2, seed=11).links
    found = fix(
        GaugeField(links, layout="t z y x mu a b").reproject(),
        method="relaxation",
        theta=1e-6,
        copies=3,
        seed=1,
        device="cpu",
        **options,
    )
    return found.fixed().links.tobytes()


JOBS: dict[str, Callable[..., bytes]] = {
    "spectrum": spectrum,
    "spectrum, bounds": bounded,
    "density": density,
    "patterns": patterns,
    "approximate": approximate,
    "photons": photons,
    "cellular": cellular,
    "weighting": weighting,
    "clones": clones,
    "trials": trials,
    "product state": product_state,
    "links": links,
    "gribov": gribov,
} | {
    f"permanent, {kind}": permanent(kind)
    for kind in ("real", "complex", "integer", "extended", "repeated", "sparse", "batch")
}
