"""Computations of some tenths of a second with many shards or steps: long enough to be killed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import hardscape
from hardscape.gauge import GaugeField, fix, generate
from hardscape.maxsat import cellular_search
from hardscape.xorsat import random_regular, time_to_solution
from helpers.instances import dense_gaussian
from helpers.jobs import unsatisfiable


def spectrum(**options: Any) -> bytes:
    """The spectrum of 34 spins, every state visited."""
    found = hardscape.spectrum(dense_gaussian(34, 5), 100, prune=False, **options)
    return found.energies.tobytes() + found.states.tobytes()


def bounded(**options: Any) -> bytes:
    """The spectrum of 44 spins by way of bounds."""
    found = hardscape.spectrum(dense_gaussian(44, 7), 50, **options)
    return found.energies.tobytes() + found.states.tobytes()


def permanent(**options: Any) -> bytes:
    """The permanent of a dense matrix, with its bound."""
    a = np.random.default_rng(4).normal(size=(25, 25))
    found = hardscape.permanent(a, full_output=True, **options)
    return repr((found.value, found.error_bound)).encode()


def trials(**options: Any) -> bytes:
    """Sweeps until a solution is found, of many searches."""
    found = time_to_solution(random_regular(64, seed=1), 600, 10.0, seed=3, **options)
    return np.asarray(found.sweeps).tobytes()


def cellular(**options: Any) -> bytes:
    """Runs of the cellular search."""
    found = cellular_search(unsatisfiable(), runs=40, seed=5, **options)
    return repr(found.cost).encode() + found.assignment.tobytes()


def links(**options: Any) -> bytes:
    """A configuration after sweeps of its Markov chain."""
    return generate((4, 4, 4, 4), 6.0, seed=5, sweeps=250, **options).links.tobytes()


def gribov(**options: Any) -> bytes:
    """Landau gauge from many random gauges."""
    rough = np.eye(2) + 0.3 * GaugeField.random((4, 4, 4, 4), 2, seed=11).links
    field = GaugeField(rough, layout="t z y x mu a b").reproject()
    found = fix(field, method="relaxation", theta=1e-6, copies=150, seed=1, **options)
    return found.fixed().links.tobytes()


LONG_JOBS: dict[str, Callable[..., bytes]] = {
    job.__name__: job for job in (spectrum, bounded, permanent, trials, cellular, links, gribov)
}
