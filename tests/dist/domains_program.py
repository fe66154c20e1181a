"""What `test_domains.py` runs by ``mpiexec -n 3 python``: one lattice over all ranks."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np

from hardscape.errors import InputError
from hardscape.gauge import Domains, GaugeField, WilsonChain, domains, fix, generate

#: Shape, colours, boundary and options. Odd extents have a third colour, and one of them in t its own.
CASES: list[tuple[tuple[int, int, int, int], int, Any, dict[str, Any]]] = [
    ((4, 4, 4, 4), 3, "periodic", {"method": "auto"}),
    (
        (4, 4, 4, 6),
        2,
        "periodic",
        {"method": "annealing", "annealing_sweeps": 4, "copies": 2, "max_sweeps": 60},
    ),
    ((4, 4, 4, 5), 3, "periodic", {"method": "overrelaxation"}),
    ((8, 4, 4, 6), 2, "open", {"method": "stochastic", "precision": "single"}),
    ((4, 4, 4, 4), 2, "sf", {"method": "fourier-cg"}),
    ((4, 4, 4, 4), 3, "periodic", {"gauge": "coulomb"}),
    ((4, 4, 5, 5), 2, "periodic", {"gauge": "mag"}),
    ((8, 4, 4, 4), 3, "periodic", {"precision": "mixed", "theta": 1e-10}),
    ((6, 4, 3, 5), 4, "periodic", {"method": "annealing", "annealing_sweeps": 2}),
    ((6, 4, 3, 5), 2, "periodic", {"gauge": "mag", "method": "annealing", "annealing_sweeps": 2}),
    ((3, 5, 4, 7), 3, "periodic", {"method": "fourier-cg"}),
    # Cut along z too by four ranks, with three colours, or along z alone.
    ((8, 8, 3, 3), 3, "periodic", {"method": "auto"}),
    ((8, 8, 8, 4), 2, "periodic", {"gauge": "coulomb"}),
    ((8, 8, 4, 3), 2, "open", {"method": "annealing", "annealing_sweeps": 2}),
    # Vector registers hold sites of z, and of t, where one process has them all.
    ((3, 2, 8, 8), 3, "periodic", {"method": "auto"}),
    ((2, 2, 2, 16), 2, "periodic", {"method": "matrix-overrelaxation"}),
]


def digests(ranks: Domains | None) -> list[str]:
    """Of every case, the transformation and what was seen on the way."""
    found = []
    for shape, nc, boundary, options in CASES:
        field = generate(shape, 2.5, nc=nc, boundary=boundary, seed=1, sweeps=1, threads=1)
        given = {
            "theta": 1e-7,
            "max_sweeps": 20,
            "strict": False,
            "seed": 3,
            "threads": 1,
        } | options
        fixed = fix(field, domains=ranks, **given)
        pieces = fixed.g.tobytes() + fixed.history.tobytes() + fixed.copies.functional.tobytes()
        found.append(sha256(pieces).hexdigest())
    field = GaugeField.random((4, 4, 4, 4), nc=2, seed=1)
    for gauge in ("landau", "coulomb", "mag"):  # one field, the gauges in turn
        fixed = fix(field, gauge, max_sweeps=20, strict=False, seed=3, threads=1, domains=ranks)
        found.append(sha256(fixed.g.tobytes()).hexdigest())
    field.links[...] = GaugeField.random((4, 4, 4, 4), nc=2, seed=2).links
    fixed = fix(field, max_sweeps=20, strict=False, seed=3, threads=1, domains=ranks)
    return [*found, sha256(fixed.g.tobytes()).hexdigest()]


#: Shape, colours, boundary and anisotropy of chains.
CHAINS: list[tuple[tuple[int, int, int, int], int, Any, float]] = [
    ((4, 4, 4, 4), 3, "periodic", 1.0),
    ((4, 4, 4, 5), 2, "periodic", 1.5),
    ((4, 3, 4, 6), 2, "open", 1.0),
    ((4, 4, 4, 4), 3, "sf", 1.0),
    ((8, 8, 3, 3), 3, "periodic", 1.0),
    ((8, 8, 8, 4), 2, "open", 1.5),
]


def chains(ranks: Domains | None) -> list[list[str]]:
    """Of every chain, digests of its links, and of its plaquettes where ranks add them up."""
    found = []
    for shape, nc, boundary, xi in CHAINS:
        field = generate(
            shape, 2.5, nc=nc, boundary=boundary, xi=xi, seed=1, sweeps=1, domains=ranks, threads=1
        )
        chain = WilsonChain(
            field, 2.5, xi=xi, seed=2, overrelax=1, first_sweep=3, domains=ranks, threads=1
        )
        plaquettes = chain.run(1)
        other = GaugeField.random(
            (4, 4, 2, 4), nc=2, seed=1
        )  # between sweeps the ranks fix another field
        fix(other, domains=ranks, max_sweeps=5, strict=False, seed=1, threads=1)
        plaquettes = np.concatenate([plaquettes, chain.run(1)])
        assert abs(plaquettes[-1] - chain.field.plaquette()) < 1e-12
        told = [chain.field.links.tobytes()] + [plaquettes.tobytes()] * (ranks is not None)
        found.append([sha256(piece).hexdigest() for piece in told])
    return found


def refused(ranks: Domains, shape: tuple[int, int, int, int], **options: Any) -> bool:
    """Whether a fix is refused, after which the ranks still answer."""
    try:
        fix(GaugeField.random(shape, nc=2, seed=1), domains=ranks, **options)
    except InputError:
        return True
    return False


def replaced(ranks: Domains) -> bool:
    """Whether a chain is refused after another took its place."""
    field = GaugeField.random((4, 4, 4, 4), nc=2, seed=1)
    first, second = (WilsonChain(field, 2.0, seed=s, domains=ranks, threads=1) for s in (1, 2))
    second.run(1)
    try:
        first.run(1)
    except InputError:
        return True
    return False


def refusals(ranks: Domains) -> list[bool]:
    """What cannot be done, each followed by something that can."""
    return [
        refused(ranks, (4, 4, 2, 2)),
        refused(ranks, (4, 4, 4, 4), executor="processes:2"),
        refused(ranks, (4, 4, 4, 4), device="cuda"),
        not refused(ranks, (4, 4, 4, 4), theta=1e-6),
        replaced(ranks),
    ]


def limit(ranks: Domains) -> dict[str, Any]:
    """How what would take days ends."""
    field = GaugeField.random((8, 8, 8, 8), nc=3, seed=1)
    fixed = fix(field, domains=ranks, copies=10**6, time_limit=0.5, strict=False, seed=1)
    return {"stopped": fixed.stopped, "seconds": fixed.seconds}


def main(what: list[str]) -> None:
    """Print what rank 0 found, each by its name."""
    from mpi4py import MPI  # not where tests import this: it begins with MPI_Init

    do: dict[str, Callable[[Domains], object]] = {
        "digests": digests,
        "chains": chains,
        "refusals": refusals,
        "limit": limit,
    }
    with domains(MPI.COMM_WORLD) as ranks:
        if ranks is not None:
            print(json.dumps({name: do[name](ranks) for name in what}))


if __name__ == "__main__":
    main(sys.argv[1:])
