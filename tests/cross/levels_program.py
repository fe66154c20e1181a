"""What `test_levels.py` runs at each instruction set: digests of computations, as JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from math import prod
from typing import Any

from hardscape.gauge import fix, generate
from helpers.jobs import JOBS

#: Computations of integers, or certified: their answers do not depend on the width of vectors.
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
#: Shapes that no vector fits whole.
ODD = ((6, 4, 3, 5), (3, 5, 2, 4))
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


def heights(shape: Any, nc: int) -> list[float]:
    """Functionals after sweeps of all kinds: where instruction sets differ by rounding alone."""
    field = generate(shape, 2.7 * (nc - 1), nc=nc, seed=5, sweeps=1, threads=1)
    options: dict[str, Any] = {"max_sweeps": 9, "strict": False, "theta": 1e-9, "seed": 6}
    cooled = options | {"method": "annealing", "annealing_sweeps": 2}
    return [fix(field, gauge, device="cpu", **cooled).functional for gauge in ("landau", "mag")]


def digest(pieces: Iterator[bytes]) -> str:
    """One of all pieces."""
    return sha256(b"".join(pieces)).hexdigest()


if __name__ == "__main__":
    told = {
        "exact": {name: digest(iter([JOBS[name](threads=2)])) for name in EXACT},
        "threads": [
            [digest(fields(shape, nc, threads)) for threads in (1, 2, 3)]
            for shape, nc in product(shapes(6), (2, 3))
        ]
        + [
            [digest(annealed(shape, nc, threads)) for threads in (1, 2, 3)]
            for shape, nc in product(ODD, (2, 3, 4))
        ],
        "heights": [heights(shape, nc) for shape, nc in product(ODD, (2, 4))],
    }
    print(json.dumps(told))
