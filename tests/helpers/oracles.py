"""Plain NumPy answers that a reader can check by eye."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def all_states(num_spins: int) -> np.ndarray:
    """All states, row c holding the bits of c: bit i set means spin i is +1."""
    codes = np.arange(2**num_spins)
    return (2 * (codes[:, None] >> np.arange(num_spins) & 1) - 1).astype(np.int8)


def exact_energies(h, J, offset, states) -> list[Fraction]:
    """Energies as exact rationals, from fields (N,) and upper triangular couplings (N, N)."""
    n = len(h)
    energies = []
    for s in states:
        total = Fraction(offset)
        for i in range(n):
            total += Fraction(h[i]) * int(s[i])
            for j in range(i + 1, n):
                total += Fraction(J[i, j]) * int(s[i]) * int(s[j])
        energies.append(total)
    return energies


def lowest_states(model, num_states):
    """The lowest states of an `Ising` by sorting all of them: energies and states.

    Only for models whose energies float64 holds exactly, so that sorting floats sorts energies.
    """
    states = all_states(model.num_spins)
    energies = model.energy(states)
    order = np.lexsort((np.arange(len(states)), energies))[:num_states]
    return energies[order], states[order]
