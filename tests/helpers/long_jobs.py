"""Computations of some tenths of a second with many shards or steps: long enough to be killed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import hardscape
from hardscape.gauge import GaugeField, fix, generate, wilson_flow
from hardscape.ising.methods.frontier import elimination
from hardscape.maxsat import cellular_search
from hardscape.xorsat import random_regular, time_to_solution
from helpers.instances import cut, dense_gaussian, plus_minus_lattice, stable_set
from helpers.jobs import unsatisfiable


def spectrum(**options: Any) -> bytes:
    """The spectrum of 34 spins, every state visited."""
    found = hardscape.spectrum(dense_gaussian(34, 5), 100, prune=False, **options)
    return found.energies.tobytes() + found.states.tobytes()


def bounded(**options: Any) -> bytes:
    """The spectrum of 44 spins by way of bounds."""
    found = hardscape.spectrum(dense_gaussian(44, 7), 50, **options)
    return found.energies.tobytes() + found.states.tobytes()


def semidefinite(**options: Any) -> bytes:
    """The spectrum of a largest cut under semidefinite bounds."""
    found = hardscape.spectrum(cut(52, 3), 20, method="semidefinite", **options)
    return found.energies.tobytes() + found.states.tobytes()


def cliques(**options: Any) -> bytes:
    """Heaviest stable sets under clique covers."""
    found = hardscape.spectrum(stable_set(126, 0.15, 5), 50, method="cliques", **options)
    return found.energies.tobytes() + found.states.tobytes()


def frontier(**options: Any) -> bytes:
    """The spectrum of a torus, slice by slice as that of a larger one."""
    with mock.patch.object(elimination, "_ENTRIES", 2.0**19):
        elimination.elimination.cache_clear()
        found = hardscape.spectrum(plus_minus_lattice(16, 15, 4), 50, method="frontier", **options)
    return found.energies.tobytes() + found.states.tobytes()


def flow(**options: Any) -> bytes:
    """The Wilson flow of a random configuration."""
    rough = generate((4, 4, 4, 4), 6.0, seed=5, sweeps=2)
    found = wilson_flow(rough, 4.0, **options)
    return found.energy.tobytes() + found.charge.tobytes() + found.field.links.tobytes()


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


_JOBS = (spectrum, bounded, permanent, trials, cellular, links, gribov)
_FURTHER = (semidefinite, cliques, frontier, flow)
LONG_JOBS: dict[str, Callable[..., bytes]] = {job.__name__: job for job in _JOBS + _FURTHER}
#: Those of families that have others.
FURTHER_JOBS = {job.__name__ for job in _FURTHER}
