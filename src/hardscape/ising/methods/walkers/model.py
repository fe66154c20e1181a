"""A model as compiled searches take it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hardscape.ising.exact import ExactTerms

#: Sums of integers below this are 32-bit integers, else doubles.
_SHORT = 1 << 28
#: Beyond all of them.
_MOST = 1 << 30
#: Logarithm of what rounding makes of an energy, whose terms add up to 1, in 10**8 moves, and more.
_HIDDEN = -24


@dataclass(frozen=True)
class FlipModel:
    """A model as the compiled search takes it: fields, and each spin's neighbours with its couplings."""

    fields: NDArray[np.float64]
    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    integers: bool
    unit: int = 1  #: of the integers, in those of the exact model
    scale: int = 0  #: a double of 1 stands for 2**scale of those

    @staticmethod
    def short(terms: ExactTerms) -> bool:
        """Whether energies are 32-bit integers."""
        unit = math.gcd(*terms.fields, *terms.couplings) or 1
        return terms.bound - abs(terms.offset) < _SHORT * unit

    @classmethod
    def of(cls, terms: ExactTerms) -> FlipModel:
        """Exact where the integers are short; else float64 of the largest coefficient near 1."""
        unit = math.gcd(*terms.fields, *terms.couplings) or 1
        reach = terms.bound - abs(terms.offset)
        short = cls.short(terms)
        shift = 0 if short else max(0, reach.bit_length() - 900)
        fields, couplings = (
            np.array([float(x // unit if short else x >> shift) for x in given])
            for given in (terms.fields, terms.couplings)
        )
        scale = 0
        if not short:
            largest = max(np.abs(fields).max(initial=0), np.abs(couplings).max(initial=0))
            exponent = int(np.frexp(largest)[1])
            fields, couplings = np.ldexp(fields, -exponent), np.ldexp(couplings, -exponent)
            scale = shift + exponent
        row = np.concatenate([terms.row, terms.col])
        order = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=terms.num_spins)
        return cls(
            fields,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([terms.col, terms.row])[order],
            np.concatenate([couplings, couplings])[order],
            short,
            unit,
            scale,
        )

    def level(self, energy: int) -> float:
        """An exact energy, without the offset, as sums here are: less what rounding hides of them."""
        if self.integers:
            return float(min(max(energy // self.unit, -_MOST), _MOST))
        size = np.abs(self.fields).sum() + np.abs(self.values).sum()
        try:
            return float(Fraction(energy, 1 << self.scale)) - float(math.ldexp(size, _HIDDEN))
        except OverflowError:
            return math.inf if energy > 0 else -math.inf
