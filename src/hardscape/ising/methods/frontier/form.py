"""A model as a quadratic form of bits, of which some may be fixed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from hardscape.ising.exact import ExactTerms


@dataclass(frozen=True)
class BitForm:
    r"""Exact energies :math:`\text{base} + \sum_i a_i q_i + \sum_{ij} b_{ij} q_i q_j`; bit 1 is spin +1."""

    base: int
    linear: Mapping[int, int]  #: :math:`a_i` of each spin that is free
    pairs: tuple[tuple[int, int, int], ...]  #: ``(i, j, b_ij)``, both free

    @classmethod
    def of(cls, terms: ExactTerms) -> BitForm:
        """The form of a model."""
        linear = [2 * field for field in terms.fields]
        pairs = []
        for i, j, x in zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True):
            linear[i] -= 2 * x
            linear[j] -= 2 * x
            pairs.append((i, j, 4 * x))
        base = terms.offset - sum(terms.fields) + sum(terms.couplings)
        return cls(base, dict(enumerate(linear)), tuple(pairs))

    @cached_property
    def step(self) -> int:
        """All energies are equal modulo this."""
        return math.gcd(*self.linear.values(), *(b for _, _, b in self.pairs)) or 1

    @cached_property
    def bits(self) -> int:
        """Bits of the sum of all absolute values, in steps."""
        size = sum(map(abs, self.linear.values())) + sum(abs(b) for _, _, b in self.pairs)
        return (size // self.step).bit_length()

    def fixed(self, values: Mapping[int, int]) -> BitForm:
        """The form of the other spins where these bits have these values."""
        if not values:
            return self
        base = self.base + sum(self.linear[i] for i, bit in values.items() if bit)
        linear = {i: a for i, a in self.linear.items() if i not in values}
        pairs = []
        for i, j, b in self.pairs:
            if i in linear and j in linear:
                pairs.append((i, j, b))
            elif values.get(i, 1) and values.get(j, 1):
                if i in linear:
                    linear[i] += b
                elif j in linear:
                    linear[j] += b
                else:
                    base += b
        return BitForm(base, linear, tuple(pairs))
