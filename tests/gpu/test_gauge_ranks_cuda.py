"""Ranks with a GPU each hold one lattice: the same bits for one and two of them, and chains of one GPU."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from hardscape.gauge import GaugeField, WilsonChain, domains, fix, generate
from hardscape.gauge.domains import reach
from helpers.queue_comm import on_ranks

pytestmark = pytest.mark.gpu

CASES: list[tuple[tuple[int, ...], int, Any, dict[str, Any]]] = [
    ((4, 4, 4, 8), 3, "periodic", {"method": "matrix-overrelaxation"}),
    ((8, 4, 4, 6), 2, "periodic", {"method": "overrelaxation", "precision": "single"}),
    ((4, 4, 4, 6), 2, "open", {"method": "stochastic"}),
    ((4, 4, 6, 4), 3, "periodic", {"gauge": "coulomb", "method": "overrelaxation"}),
    ((4, 6, 4, 4), 3, "periodic", {"method": "overrelaxation"}),  # sides share blocks of 32 sites
    ((4, 4, 4, 8), 2, "periodic", {"gauge": "mag", "copies": 2, "method": "overrelaxation"}),
]


def told(**how: Any) -> tuple[list[str], list[float], list[str]]:
    """Digests of every case's transformation, functionals, and digests of links and plaquettes of chains."""
    found, heights, chains = [], [], []
    for shape, nc, boundary, options in CASES:
        field = generate(shape, 2.5, nc=nc, boundary=boundary, seed=1, sweeps=1, threads=1)
        given: dict[str, Any] = {"theta": 1e-7, "max_sweeps": 40, "strict": False, "seed": 3}
        fixed = fix(field, **given | options, **how)
        found.append(sha256(np.asarray(fixed.g).tobytes()).hexdigest())
        heights.append(fixed.functional)
    for shape, nc, xi in (((4, 4, 4, 8), 3, 1.0), ((4, 6, 4), 2, 1.5)):
        start = GaugeField.random(shape, nc, seed=2)
        chain = WilsonChain(start, 2.5 * (nc - 1), xi=xi, seed=4, **how)
        plaquettes = chain.run(3)
        chains.append(sha256(plaquettes.tobytes() + chain.field.links.tobytes()).hexdigest())
    return found, heights, chains


def of_ranks(comm: Any) -> Any:
    with domains(comm, on_gpus=True) as ranks:
        return None if ranks is None else told(domains=ranks)


def of_distant_ranks(comm: Any) -> Any:
    """Ranks that do not open each other's memory, as if each had a host of its own."""
    reach.gethostname = lambda: f"host {comm.Get_rank()}"
    return of_ranks(comm)


def test_ranks_come_to_what_one_gpu_does() -> None:
    pytest.importorskip("cupy")
    digests, heights, chains = told(device="cuda:0")
    one, two = (on_ranks(many, of_ranks) for many in (1, 2))
    assert one == two
    assert on_ranks(2, of_distant_ranks) == two
    assert on_ranks(2, of_distant_ranks, direct=True) == two
    assert one[2] == chains
    # As one GPU does, whose kernels do whole sweeps, whether ranks sweep side by side or colour by colour.
    assert one[0] == digests
    assert one[1] == pytest.approx(heights, abs=1e-12)


def accelerated(**how: Any) -> tuple[float, bool]:
    field = generate((4, 4, 4, 4), 2.5, nc=2, seed=1, sweeps=1, threads=1)
    found = fix(field, method="fourier-cg", theta=1e-14, seed=3, **how)
    return found.functional, found.converged


def accelerated_by_ranks(comm: Any) -> tuple[float, bool] | None:
    with domains(comm, on_gpus=True) as ranks:
        return None if ranks is None else accelerated(domains=ranks)


def test_ranks_accelerate() -> None:
    pytest.importorskip("cupy")
    functional, converged = accelerated(device="cuda:0")
    found = on_ranks(2, accelerated_by_ranks)
    assert converged
    assert found == (pytest.approx(functional, abs=1e-9), True)
