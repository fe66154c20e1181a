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


def digest(pieces: Iterator[bytes]) -> str:
    """One of all pieces."""
    return sha256(b"".join(pieces)).hexdigest()


if __name__ == "__main__":
    told = {
        "exact": {name: digest(iter([JOBS[name](threads=2)])) for name in EXACT},
        "threads": [
            [digest(fields(shape, nc, threads)) for threads in (1, 2, 3)]
            for shape, nc in product(shapes(6), (2, 3))
        ],
    }
    print(json.dumps(told))
