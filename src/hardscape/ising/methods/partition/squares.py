"""Models whose energy is the square of a weighted sum of spins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hardscape.ising.exact import ExactTerms


@dataclass(frozen=True)
class Square:
    r"""The exact energy :math:`E(s) = \kappa v(s)^2 + c`, :math:`v = \sum_i a_i s_i + b`, in integers.

    Number partitioning (b = 0), subset sum and single linear constraints are of this kind.
    """

    numbers: tuple[int, ...]  #: a, length N
    shift: int  #: b
    scale: Fraction  #: kappa, above 0
    constant: Fraction  #: c

    @classmethod
    def of(cls, terms: ExactTerms) -> Square | None:
        """The square that a model is, or None; O(N**2), less for nearly all that are none."""
        numbers = _proportions(terms)
        if numbers is None:
            return None
        some = [i for i, x in enumerate(numbers) if x]
        first, second = some[:2]
        # J_ij = 2 kappa a_i a_j for all pairs, and h_i = 2 kappa b a_i.
        double = Fraction(_coupling(terms, first, second), numbers[first] * numbers[second])
        shift = terms.fields[first] / (double * numbers[first])
        pairs = zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True)
        if (
            double <= 0
            or any(x != double * shift * a for x, a in zip(terms.fields, numbers, strict=True))
            or any(x != double * numbers[i] * numbers[j] for i, j, x in pairs)
        ):
            return None
        unit = shift.denominator
        scale = double / 2 / unit**2
        whole = tuple(x * unit for x in numbers)
        squares = sum(x * x for x in whole) + shift.numerator**2
        return cls(whole, shift.numerator, scale, terms.offset - scale * squares)

    def within(self, energy: int) -> int:
        """The largest distance from zero of an energy that is not above this one; -1 if there is none."""
        square = (energy - self.constant) / self.scale
        return -1 if square < 0 else math.isqrt(square.numerator // square.denominator)

    @property
    def nearest(self) -> int:
        """No state's sum is nearer to zero: all sums leave one remainder."""
        step = 2 * math.gcd(*self.numbers)
        rest = (self.shift - sum(self.numbers)) % step
        return min(rest, step - rest)

    @property
    def floor(self) -> int:
        """No state has a lower exact energy."""
        return math.ceil(self.scale * self.nearest**2 + self.constant)


def _coupling(terms: ExactTerms, i: int, j: int) -> int:
    i, j = min(i, j), max(i, j)
    found = np.flatnonzero((terms.row == i) & (terms.col == j))
    return terms.couplings[found[0]] if len(found) else 0


def _proportions(terms: ExactTerms) -> tuple[int, ...] | None:
    """What the numbers must be up to a factor, by three spins: coprime integers."""
    if len(terms.row) < 3:
        return None
    p = int(terms.row[0])
    numbers = [0] * terms.num_spins
    held = np.flatnonzero((terms.row == p) | (terms.col == p)).tolist()
    if len(terms.row) != len(held) * (len(held) + 1) // 2:
        return None  # each pair of numbers is coupled
    for k in held:
        numbers[int(terms.row[k] + terms.col[k]) - p] = terms.couplings[k]
    others = [i for i, x in enumerate(numbers) if x]
    if len(others) < 2:
        return None
    q, r = others[:2]
    closing = _coupling(terms, q, r)
    if not closing:
        return None
    mine = numbers[q] * numbers[r]
    numbers = [x * closing for x in numbers]
    numbers[p] = mine
    common = math.gcd(*numbers)
    return tuple(x // common for x in numbers)
