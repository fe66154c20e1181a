"""Lattices and the graphs of quantum annealers."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardscape.ising.model import Ising


def lattice(shape: tuple[int, ...], periodic: bool, kind: str, *seed: int) -> Ising:
    """Draw a lattice with couplings of random signs (`kind` "signs") or Gaussian ones ("gauss").

    Examples
    --------
    >>> from hardscape.ising.generators import lattice
    >>> lattice((4, 5), False, "signs", 1).num_couplings
    31
    """
    rng = np.random.default_rng([*shape, periodic, len(kind), *seed])
    number = np.arange(np.prod(shape)).reshape(shape)
    couplings = {}
    for axis in range(len(shape)):
        last = number.shape[axis] if periodic else number.shape[axis] - 1
        here = np.take(number, range(last), axis)
        there = np.take(number, range(1, last + 1), axis, mode="wrap")
        for i, j in zip(here.flat, there.flat, strict=True):
            value = rng.choice([-1.0, 1.0]) if kind == "signs" else rng.normal()
            couplings[int(i), int(j)] = float(value)
    return Ising(np.zeros(number.size), couplings)


def chimera(side: int, kind: str, *seed: int) -> Ising:
    """Draw a Chimera graph of `side` times `side` cells of four and four spins, with fields.

    Examples
    --------
    >>> from hardscape.ising.generators import chimera
    >>> chimera(2, "signs", 1).num_spins
    32
    """
    rng = np.random.default_rng([side, len(kind), *seed])

    def drawn(count: int) -> Any:
        return rng.choice([-1.0, 1.0], count) if kind == "signs" else rng.normal(size=count)

    number = np.arange(8 * side * side).reshape(side, side, 2, 4)
    pairs = []
    for cell in number.reshape(-1, 2, 4):
        pairs += [(i, j) for i in cell[0] for j in cell[1]]
    pairs += zip(number[:-1, :, 0].flat, number[1:, :, 0].flat, strict=True)
    pairs += zip(number[:, :-1, 1].flat, number[:, 1:, 1].flat, strict=True)
    values = drawn(len(pairs)).tolist()
    couplings = {(int(i), int(j)): x for (i, j), x in zip(pairs, values, strict=True)}
    return Ising(drawn(number.size), couplings)
