"""Write the instances of this folder again, byte for byte: ``python examples/make_instances.py``.

Only hardscape and NumPy are needed. All coefficients are integers or halves of integers. The one file
that this script does not write, cover.wcnf, was written by hand.
"""

from collections.abc import Hashable
from itertools import combinations
from pathlib import Path

import numpy as np

from hardscape import gauge, xorsat
from hardscape.ising import Ising, formats

HERE = Path(__file__).resolve().parent


def sherrington_kirkpatrick(num_spins: int, seed: int) -> Ising:
    """Couplings -1 or +1 between all pairs, fields -1, 0 or +1."""
    rng = np.random.default_rng(seed)
    couplings = np.triu(rng.choice([-1, 1], (num_spins, num_spins)), 1)
    return Ising(rng.integers(-1, 2, num_spins), couplings)


def toroidal_cut(width: int, height: int, seed: int) -> Ising:
    """Max-cut on a periodic square grid with weights -1 or +1, as the toroidal graphs of the G-set.

    The energy of a state is minus the weight of its cut.
    """
    rng = np.random.default_rng(seed)
    weights = {}
    for x in range(width):
        for y in range(height):
            here = x * height + y
            weights[here, (x + 1) % width * height + y] = int(rng.choice([-1, 1]))
            weights[here, x * height + (y + 1) % height] = int(rng.choice([-1, 1]))
    halves: dict[tuple[Hashable, Hashable], float] = {
        pair: weight / 2 for pair, weight in weights.items()
    }
    return Ising.from_dict(halves, offset=-sum(halves.values()))


def number_partitioning(count: int, largest: int, seed: int) -> Ising:
    """Split numbers into two piles: the energy is the square of the difference of their sums.

    Labels carry the numbers.
    """
    rng = np.random.default_rng(seed)
    numbers = rng.integers(1, largest + 1, count).tolist()
    couplings = {(i, j): 2.0 * a * b for (i, a), (j, b) in combinations(enumerate(numbers), 2)}
    labels = [f"#{i} = {number}" for i, number in enumerate(numbers)]
    return Ising(
        np.zeros(count), couplings, offset=sum(number**2 for number in numbers), labels=labels
    )


def dodecahedron() -> str:
    """Adjacency of the dodecahedron in MatrixMarket form; its permanent is 1392.

    It is the generalized Petersen graph GP(10, 2): an outer ring, an inner one in steps of two, and spokes.
    """
    edges = [((i, (i + 1) % 10), (i, i + 10), (i + 10, (i + 2) % 10 + 10)) for i in range(10)]
    pairs = sorted((max(edge) + 1, min(edge) + 1) for three in edges for edge in three)
    lines = ["%%MatrixMarket matrix coordinate pattern symmetric", f"20 20 {len(pairs)}"]
    return "\n".join(lines + [f"{i} {j}" for i, j in pairs]) + "\n"


def main(folder: Path = HERE) -> None:
    """Write the files into `folder`."""
    formats.write(sherrington_kirkpatrick(24, seed=24), folder / "sk24.txt", format="coo")
    formats.write(toroidal_cut(5, 6, seed=30), folder / "torus30.rudy")
    formats.write(number_partitioning(20, 999_999, seed=20), folder / "partition20.json")
    (folder / "dodecahedron.mtx").write_text(dodecahedron(), encoding="ascii")
    xorsat.random_regular(64, seed=64).to_file(folder / "regular64.cnf")
    links = gauge.generate((4, 4, 4, 4), 6.0, sweeps=100, seed=4)
    gauge.formats.write(links, folder / "hot4.nersc", precision="single", rows=2)


if __name__ == "__main__":
    main()
