"""What `test_levels.py` runs at each instruction set: digests of computations, as JSON.

With the word ``turns`` on one and on three threads by turns, else on both.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hardscape.gauge import (
    WilsonChain,
    fix,
    generate,
    ghost_propagator,
    gluon_propagator,
    polyakov_loop,
    smear,
    wilson_flow,
    wilson_loops,
)
from helpers.jobs import JOBS

#: Computations of integers, or certified, whose answers do not depend on the width of vectors.
EXACT = (
    "spectrum",
    "spectrum, bounds",
    "density",
    "cellular",
    "weighting",
    "clones",
    "trials",
    "permanent, integer",
    "permanent, sparse",
)
#: Fields: every operation is rounded as it is written, whatever vectors there are.
ROUNDED = ("links", "gribov")
#: Shapes that no vector fits whole.
ODD = ((6, 4, 3, 5), (3, 5, 2, 4))
THREADS: tuple[int, ...] = (1, 3)
METHODS = ("matrix-overrelaxation", "overrelaxation", "stochastic")


def shapes(count: int) -> list[tuple[int, ...]]:
    """Shapes of all sorts, few of which fit lanes of vectors."""
    extents = random.Random(7)
    drawn = iter(lambda: tuple(extents.randint(2, 11) for _ in range(4)), None)
    return [next(shape for shape in drawn if prod(shape) <= 1500) for _ in range(count)]


def fields(shape: Any, nc: int, threads: int) -> Iterator[bytes]:
    """A configuration after a sweep of its Markov chain, and two sweeps of gauge fixing by all ways."""
    field = generate(shape, 5.7, nc=nc, seed=3, sweeps=1, threads=threads)
    yield field.links.tobytes()
    options: dict[str, Any] = {"max_sweeps": 2, "strict": False, "theta": 1e-9, "seed": 4}
    for gauge, method, precision in product(("landau", "mag"), METHODS, ("double", "single")):
        found = fix(
            field,
            gauge,
            method=method,
            precision=precision,
            device="cpu",
            threads=threads,
            **options,
        )
        yield found.g.tobytes() + found.history.tobytes()
        yield found.fixed().links.tobytes() + found.slice_theta_mean.tobytes()


def annealed(shape: Any, nc: int, threads: int) -> Iterator[bytes]:
    """Two copies annealed in every gauge, in both precisions, and a conjugate gradient."""
    field = generate(shape, 2.7 * (nc - 1), nc=nc, seed=5, sweeps=1, threads=threads)
    options: dict[str, Any] = {"max_sweeps": 9, "strict": False, "theta": 1e-9, "seed": 6}
    cooled = options | {"method": "annealing", "annealing_sweeps": 2, "copies": 2}
    ways: list[Any] = [
        (gauge, cooled | {"precision": precision})
        for gauge, precision in product(("landau", "coulomb", "mag"), ("double", "single"))
    ]
    for gauge, given in [*ways, ("landau", options | {"method": "fourier-cg"})]:
        found = fix(field, gauge, device="cpu", threads=threads, **given)
        yield found.g.tobytes() + found.history.tobytes() + found.copies.functional.tobytes()


def measured(shape: Any, nc: int, threads: int) -> Iterator[bytes]:
    """What is measured of a configuration: flow, smeared loops, plaquettes, propagators."""
    field = generate(shape, 5.0 * (nc - 1), nc=nc, start="cold", seed=7, sweeps=2, threads=threads)
    yield repr((field.plaquette(), polyakov_loop(field))).encode()
    chain = WilsonChain(field, 2.7 * (nc - 1), seed=8, threads=threads)
    yield chain.run(2).tobytes()
    flow = wilson_flow(field, 0.1, step=0.05, threads=threads)
    yield flow.energy.tobytes() + flow.charge.tobytes() + flow.field.links.tobytes()
    smeared = smear(field, "stout", weight=0.1, steps=2, threads=threads)
    yield smeared.links.tobytes() + wilson_loops(smeared, 2, 2).tobytes()
    yield smear(field, "ape", steps=2, threads=threads).links.tobytes()
    fixed = fix(field, theta=1e-9, seed=6, device="cpu", threads=threads).fixed()
    yield gluon_propagator(fixed, theta=None, cylinder=None).value.tobytes()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fixed.npz"
        fixed.to_file(path)
        ghosts = ghost_propagator(path, [(1, 0, 0, 0)], theta=None, cylinder=None, threads=threads)
    yield ghosts.value.tobytes()


def digest(pieces: Iterator[bytes]) -> str:
    """One of all pieces."""
    return sha256(b"".join(pieces)).hexdigest()


CASES = [
    *product([fields], shapes(4), (2, 3)),
    *product([annealed], ODD, (2, 3, 4)),
    *product([measured], (*ODD, (8, 4, 4, 8)), (2, 3)),
]

if __name__ == "__main__":
    numbers = [THREADS] * len(CASES)
    if sys.argv[1:] == ["turns"]:
        numbers = [THREADS[(i + i // 2) % 2 :][:1] for i in range(len(CASES))]
    told = {
        "answers": {name: digest(iter([JOBS[name](threads=2)])) for name in EXACT + ROUNDED},
        "fields": [
            [digest(way(shape, nc, threads)) for threads in of_case]
            for of_case, (way, shape, nc) in zip(numbers, CASES, strict=True)
        ],
    }
    print(json.dumps(told))
