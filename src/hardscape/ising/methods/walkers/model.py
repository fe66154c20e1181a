"""A model as compiled searches take it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardscape.ising.exact import ExactTerms

#: Sums of integers below this are 32-bit integers, else doubles.
_SHORT = 1 << 28


@dataclass(frozen=True)
class FlipModel:
    """A model as the compiled search takes it: fields, and each spin's neighbours with its couplings."""

    fields: NDArray[np.float64]
    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    integers: bool

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
        if not short:
            largest = max(np.abs(fields).max(initial=0), np.abs(couplings).max(initial=0))
            exponent = int(np.frexp(largest)[1])
            fields, couplings = np.ldexp(fields, -exponent), np.ldexp(couplings, -exponent)
        row = np.concatenate([terms.row, terms.col])
        order = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=terms.num_spins)
        return cls(
            fields,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([terms.col, terms.row])[order],
            np.concatenate([couplings, couplings])[order],
            short,
        )
