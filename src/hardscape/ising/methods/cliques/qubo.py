"""Ising models in variables 0 and 1, and which of these are rivals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardscape.ising.exact import LIMB_CHOICES, ExactTerms


@dataclass(frozen=True)
class Qubo:
    """E(x) = offset + sum u_i x_i + sum q_ij x_i x_j in exact integers, as `ExactTerms` has them."""

    linear: tuple[int, ...]  #: u
    pairs: tuple[tuple[int, int, int], ...]  #: i < j and q_ij
    offset: int
    limbs: int  #: words of all sums of these

    @classmethod
    def of(cls, terms: ExactTerms, down_is_one: bool) -> Qubo:
        """The model with s = 2x - 1, or 1 - 2x."""
        sign = -1 if down_is_one else 1
        linear = [2 * sign * h for h in terms.fields]
        pairs = []
        for i, j, x in zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True):
            linear[i] -= 2 * x
            linear[j] -= 2 * x
            pairs.append((i, j, 4 * x))
        offset = terms.offset - sign * sum(terms.fields) + sum(terms.couplings)
        bits = terms.bound.bit_length() + 6
        limbs = next(limbs for limbs in LIMB_CHOICES if 64 * limbs >= bits)
        return cls(tuple(linear), tuple(pairs), offset, limbs)

    @staticmethod
    def rivalry(terms: ExactTerms, down_is_one: bool) -> bool:
        """Whether many variables have rivals, in floating point: a hint."""
        shift = max(0, terms.bound.bit_length() - 1000)
        fields, q = (
            np.array([float(x >> shift) for x in some]) for some in (terms.fields, terms.couplings)
        )
        gains = fields if down_is_one else -fields
        for ends in (terms.row, terms.col):
            np.add.at(gains, ends, q + 2 * np.maximum(-q, 0))
        less = np.minimum(gains[terms.row], gains[terms.col])
        rivals = int(((less > 0) & (2 * q >= less)).sum())
        return rivals >= max(1, terms.num_spins // 2)

    @cached_property
    def gains(self) -> list[int]:
        """What each variable can gain at best by being 1."""
        gains = [-x for x in self.linear]
        for i, j, x in self.pairs:
            if x < 0:
                gains[i] -= x
                gains[j] -= x
        return gains

    @cached_property
    def matrix(self) -> list[list[int]]:
        """All q, both ways."""
        n = len(self.linear)
        matrix = [[0] * n for _ in range(n)]
        for i, j, x in self.pairs:
            matrix[i][j] = matrix[j][i] = x
        return matrix

    def order(self, last_first: bool) -> list[int]:
        """Variables by cliques of rivals, large cliques first; of a clique those that gain most first."""
        n, gains = len(self.linear), self.gains
        rivals = [0] * n
        for i, j, x in self.pairs:
            if x > 0 and x >= min(gains[i], gains[j]):
                rivals[i] |= 1 << j
                rivals[j] |= 1 << i
        left = (1 << n) - 1
        order: list[int] = []
        if last_first:
            order, left = [n - 1], left ^ 1 << n - 1
        while left:
            clique, common = [], left
            while common:
                v = max(_bits(common), key=lambda v: ((rivals[v] & common).bit_count(), gains[v]))
                clique.append(v)
                common &= rivals[v]
            order += sorted(clique, key=lambda v: -gains[v])
            left &= ~sum(1 << v for v in clique)
        return order


def _bits(code: int) -> list[int]:
    return [i for i in range(code.bit_length()) if code >> i & 1]
