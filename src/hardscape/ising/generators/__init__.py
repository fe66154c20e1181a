"""Models of the kinds that people measure by, drawn by size and seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hardscape.arguments import integer
from hardscape.errors import InputError
from hardscape.ising.generators import dense, penalties
from hardscape.ising.generators.lattices import chimera, lattice
from hardscape.ising.model import Ising

__all__ = ["KINDS", "chimera", "generate", "lattice"]

#: Kinds that `generate` draws, and what their size is.
KINDS: dict[str, str] = {
    **{kind: f"{told}; size: spins" for kind, told in dense.NAMES.items()},
    "grid": "couplings -1 and 1 on a square lattice with a border; size: spins of an edge",
    "torus": "couplings -1 and 1 on a square lattice around both edges; size: spins of an edge",
    "cube": "couplings -1 and 1 on a periodic cubic lattice; size: spins of an edge",
    "chimera": "couplings and fields -1 and 1 on a Chimera graph; size: cells of an edge",
    "assignment": "workers and jobs at costs 1 to 99, with penalties; size: workers",
    "tour": "the shortest closed tour (TSP), with penalties; size: cities",
    "stable": "the largest stable set, a clique of the complement; size: vertices",
    "gka-b": "QUBO with fields -63 to 0 and couplings 0 to 100; size: variables",
    "colouring": "four colours and edges of mean degree 4.5, with penalties; size: vertices",
    "portfolio": "a fifth of the assets, of least variance for their return; size: assets",
    "partition20": "two piles of numbers of 20 bits; size: numbers",
    "partition12": "two piles of numbers of 12 bits; size: numbers",
}
_LATTICES: dict[str, Callable[[int, int], Ising]] = {
    "grid": lambda size, seed: lattice((size, size), False, "signs", seed),
    "torus": lambda size, seed: lattice((size, size), True, "signs", seed),
    "cube": lambda size, seed: lattice((size, size, size), True, "signs", seed),
    "chimera": lambda size, seed: chimera(size, "signs", seed),
}
#: Largest size: a dense model of as many spins has half a million couplings.
_MOST = 1000


def generate(kind: str, size: int, seed: int = 0) -> Ising:
    """Draw a model of one of the :data:`KINDS`.

    Parameters
    ----------
    kind : str
        "be", "g05", "gauss", "pm1d", "pm1s", "w09" and "pw05" are of the kinds of the Biq Mac library (dense
        QUBOs, cuts, and the Sherrington-Kirkpatrick glass), "grid", "torus", "cube" and "chimera" lattices,
        "assignment", "tour", "stable", "gka-b", "colouring" and "portfolio" QUBOs with penalties,
        "partition20" and "partition12" number partitioning.
    size : int
        1 to 1,000: spins, spins of an edge, cities and so on, as :data:`KINDS` says.
    seed : int
        0 to 2**64 - 1. One kind, size and seed give one model.

    Returns
    -------
    Ising
        Energies with all constants: 0 is a partition into equal piles, and the cost of an assignment or a
        tour is its energy. Those of the Biq Mac library are drawn by the recipes of A. Wiegele (2007):
        not the files of any library.

    Raises
    ------
    InputError
        For an unknown kind, or a size or seed out of range.

    Examples
    --------
    >>> import hardscape
    >>> from hardscape.ising.generators import generate
    >>> glass = generate("torus", 6, seed=1)
    >>> glass.num_spins, glass.num_couplings
    (36, 72)
    >>> hardscape.spectrum(generate("assignment", 4, seed=1), 1).certified
    True
    """
    if kind not in KINDS:
        raise InputError(f"kind={kind!r}; {', '.join(map(repr, KINDS))} are accepted")
    size, seed = integer(size, "size", 1, _MOST), integer(seed, "seed", 0, (1 << 64) - 1)
    if kind in dense.NAMES:
        return dense.instance(kind, size, seed)
    if kind in _LATTICES:
        return _LATTICES[kind](size, seed)
    return Ising.from_qubo(*penalties.KINDS[kind](size, np.random.default_rng(seed)))
