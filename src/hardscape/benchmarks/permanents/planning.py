"""What thinking about a matrix costs beside its sums.

``python -m hardscape.benchmarks.permanents.planning``.

For each kind of matrix the whole call on one core, by the processor's clock: seconds in sums, and all others,
which are those of structure, plan, and looking for something more precise. They may be 20 ms, or a tenth of
the sums. Where the sums would take long, only the plan is made, and held against their estimate. A band of
three diagonals is merged until nothing is left to sum: that is counted as thought.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import cyclopts
import numpy as np

import hardscape
from hardscape import permanents
from hardscape.benchmarks.machine import machine
from hardscape.benchmarks.permanents.rates import dominoes, truncated_icosahedron
from hardscape.permanents import answers

app = cyclopts.App(help=__doc__, result_action="return_value")
#: Seconds of planning that are always free, its share of the sums, and estimates up to which these run.
FREE, SHARE, LONGEST = 0.02, 0.1, 6.0


def sparse(n: int, density: float, seed: int = 1) -> np.ndarray:
    """Random places, and the diagonal."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n, n)) * (random.random((n, n)) < density) + np.eye(n)


def regular(n: int, degree: int = 3) -> np.ndarray:
    """A sum of random permutations."""
    random = np.random.default_rng(n)
    return np.array(sum(np.eye(n, dtype=int)[random.permutation(n)] for _ in range(degree)))


def band(n: int, half: int) -> np.ndarray:
    """A signed band."""
    places = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= half
    return np.random.default_rng(n).normal(size=(n, n)) * places


def blocks(count: int, side: int) -> np.ndarray:
    """Dense blocks on a diagonal."""
    random = np.random.default_rng(side)
    return np.kron(np.eye(count), np.ones((side, side))) * random.normal(size=2 * [count * side])


def grid(side: int) -> np.ndarray:
    """A stiffness matrix: the Laplacian of a grid, positive on the diagonal, like those of BCS."""
    line = 2 * np.eye(side) - np.eye(side, k=1) - np.eye(side, k=-1)
    return np.kron(line, np.eye(side)) + np.kron(np.eye(side), line)


def cases() -> Iterator[tuple[str, np.ndarray]]:
    """Names and matrices."""
    random = np.random.default_rng(1)
    for n in (10, 20, 24, 27, 30):
        yield f"dense {n}", random.normal(size=(n, n))
    yield "dense, complex 22", random.normal(size=(22, 22)) + 1j * random.normal(size=(22, 22))
    yield "dense, positive 22", random.random((22, 22))
    yield "dense, integers 24", random.integers(-99, 100, (24, 24))
    for n, density in (
        (20, 0.25),
        (30, 0.15),
        (30, 0.25),
        (30, 0.5),
        (34, 0.25),
        (40, 0.1),
        (40, 0.2),
        (60, 0.06),
    ):
        yield f"sparse {n}, density {density}", sparse(n, density)
    yield "sparse 30, 0 and 1", (sparse(30, 0.3) != 0).astype(int)
    yield "sparse, complex 30", sparse(30, 0.2) + 1j * sparse(30, 0.2)
    for side in (8, 14, 20):
        yield f"dominoes {side}x{side}", dominoes(side)
    for n in (30, 60, 90, 120):
        yield f"3-regular {n}", regular(n)
    yield "4-regular 50", regular(50, 4)
    yield "band 60, half-width 4", band(60, 4)
    yield "band 300, half-width 2", band(300, 2)
    yield "tridiagonal 500", band(500, 1)
    yield "blocks 12 of 12", blocks(12, 12)
    yield "blocks 3 of 24", blocks(3, 24)
    yield "C60", truncated_icosahedron()
    yield "Laplacian 6x6", grid(6)
    yield "Laplacian 8x8", grid(8)
    yield "J + diagonal 40", np.ones((40, 40), dtype=int) + np.diag(np.arange(40))
    yield "rank 2, 30", random.integers(0, 9, (30, 2)) @ random.integers(0, 9, (2, 30))
    yield "5 rows of 6", np.repeat(random.normal(size=(5, 30)), 6, axis=0)


def measured(a: np.ndarray) -> tuple[float, float, Any]:
    """Seconds of thought, seconds of sums, and the result."""
    sums = 0.0
    inside = vars(answers)  # the sums begin by the name that this module calls
    solve = inside["solve"]

    def timed(*args: Any, **options: Any) -> Any:
        nonlocal sums
        began = time.process_time()
        try:
            return solve(*args, **options)
        finally:
            sums += time.process_time() - began

    inside["solve"] = timed
    try:
        began = time.process_time()
        hardscape.permanent(a, device="cpu", threads=1)
        return time.process_time() - began - sums, sums, None
    finally:
        inside["solve"] = solve


def planned(a: np.ndarray) -> tuple[float, permanents.Plan]:
    """Seconds of planning, and the plan."""
    began = time.process_time()
    found = permanents.plan(a, device="cpu", threads=1)
    return time.process_time() - began, found


@app.default
def main(*, only: str = "", rounds: int = 2) -> None:
    """Print the table.

    Parameters
    ----------
    only
        Rows with this in their names.
    rounds
        Of each, the least thought counts.
    """
    print(machine())
    print(
        "\n| matrix | method | plan s | estimate s | thought s | sums s | thought, of what is allowed |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, a in cases():
        if only not in name:
            continue
        tries = [planned(a) for _ in range(rounds)]
        thought, found = min(tries, key=lambda pair: pair[0])
        planning, seconds, sums = thought, found.seconds, ""
        if found.seconds <= LONGEST:
            thought, seconds, _ = min(measured(a) for _ in range(rounds))
            sums = f"{seconds:.3g}"
        share = thought / max(FREE, SHARE * seconds)
        print(
            f"| {name} | {found.method} | {planning:.3g} | {found.seconds:.3g} | {thought:.3g} | {sums} "
            f"| {share:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    app()
