"""How an exhaustive search lays a model out: which spins form a block, and the scales of the filter.

Spins are renumbered by position. The weakest coupled ones make the blocks, where a narrow range gives
the 16-bit filter its resolution; the strongest come last, where energies are exact. From the bottom:
`low` spins of a block, `mid` spins walked by a Gray code, spins that number the roots. Positions below
`walked` are handled in `fine` integers, those above exactly. The derivation of scales and slack is in
``docs/theory/spectrum.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardscape import native
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs
from hardscape.ising.result import code_words, to_codes

#: The filter's 16-bit range, and the bits by which fine integers resolve one of its steps.
_FILTER_RANGE, _FINE_BITS = 2**15 - 1, 14
#: Fine integers stay below 2**60, half of what the kernels call far.
_FINE_RANGE_BITS = 60
FAR = 1 << 61


def rounded(x: int, shift: int) -> int:
    """``x / 2**shift`` to the nearest integer, as the kernels round."""
    return (x + (1 << shift >> 1)) >> shift


@dataclass(frozen=True)
class Geometry:
    """An Ising model of `terms` in positions, turned so that a given state is all +1."""

    terms: ExactTerms
    order: tuple[int, ...]  #: ``order[p]`` is the spin at position p: weakest coupled first
    #: The state (bit i set: spin i is +1) that is all +1 by position; searches start around it.
    gauge: int
    fields: tuple[int, ...]  #: exact integers by position, as the couplings
    couplings: tuple[tuple[int, ...], ...]

    @classmethod
    def build(cls, terms: ExactTerms, gauge: int) -> Geometry:
        """Order the spins of `terms` by strength and turn them to `gauge`."""
        n = terms.num_spins
        matrix = [[0] * n for _ in range(n)]
        for i, j, x in zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True):
            matrix[i][j] = matrix[j][i] = x
        strength = [
            abs(h) + sum(map(abs, row)) for h, row in zip(terms.fields, matrix, strict=True)
        ]
        symmetric = terms.symmetric
        if symmetric and gauge >> (n - 1):
            gauge ^= (1 << n) - 1
        # Of each pair of partners the one with the last spin down is searched: it comes first in the
        # order of ties, so that the lowest states of that half hold all that is needed.
        last = n - 1 if symmetric else n
        order = (*sorted(range(last), key=lambda i: (strength[i], i)), *range(last, n))
        sign = [1 if gauge >> i & 1 else -1 for i in range(n)]
        return cls(
            terms,
            order,
            gauge,
            tuple(sign[i] * terms.fields[i] for i in order),
            tuple(tuple(sign[i] * sign[j] * matrix[i][j] for j in order) for i in order),
        )

    @property
    def free(self) -> int:
        """Number of positions whose spins are searched."""
        return self.terms.num_spins - self.terms.symmetric

    @property
    def flips(self) -> int:
        """Bits to flip in a state reported by position so that it becomes the model's."""
        return ((1 << self.terms.num_spins) - 1) & ~self.gauge

    def prefix(self, bits: int, below: int) -> Prefix:
        """Energy of the spins at positions `below` and up, set to `bits` (1 is -1), and their fields."""
        energy = self.terms.offset
        fields = list(self.fields[:below])
        above = range(below, self.terms.num_spins)
        spin = {p: -1 if bits >> (p - below) & 1 else 1 for p in above}
        for p in above:
            row = self.couplings[p]
            own = self.fields[p] + sum(row[q] * spin[q] for q in range(below, p))
            energy += spin[p] * own
            for q in range(below):
                fields[q] += spin[p] * row[q]
        return Prefix(energy, tuple(fields))


@dataclass(frozen=True)
class Prefix:
    """Exact energy of the spins above a position, and the fields on those below."""

    energy: int
    fields: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Widths and scales of one kernel for one geometry."""

    geometry: Geometry
    low: int
    mid: int
    walked: int
    fine_shift: int  #: a fine unit is ``2**fine_shift`` exact units
    filter_shift: int  #: a filter step is ``2**filter_shift`` fine units
    slack: int  #: bound on all roundings together, in fine units

    @classmethod
    def build(cls, geometry: Geometry, low: int, mid: int, walked: int) -> Layout:
        """Choose the scales for given widths."""
        fields, couplings = geometry.fields, geometry.couplings
        block = range(low)
        # Largest field that the spins outside can put on each spin of a block, and the pairs inside.
        block_range = sum(
            abs(fields[p]) + sum(map(abs, couplings[p][low:])) + sum(map(abs, couplings[p][:p]))
            for p in block
        )
        walk_range = 2 * sum(abs(fields[p]) + sum(map(abs, couplings[p])) for p in range(walked))
        # Every entry that is added to a 16-bit sum may have been rounded up by half a step.
        steps = _FILTER_RANGE - (low + 3)
        coarse = max(0, (-(-block_range // steps) - 1).bit_length())
        fine = max(0, coarse - _FINE_BITS, walk_range.bit_length() - _FINE_RANGE_BITS)
        filter_shift = max(0, coarse - fine)
        slack = 0
        if fine:
            outer = walked - low
            halves = outer + outer * (outer - 1) // 2 + low * (1 + outer)
            slack += 1 + (halves + 1) // 2
        if filter_shift:
            slack += ((low + 3) << filter_shift) // 2
        return cls(geometry, low, mid, walked, fine, filter_shift, slack)

    def fine(self, x: int) -> int:
        """An exact integer in fine units."""
        return rounded(x, self.fine_shift)

    def target(self, threshold: int | None, energy: int) -> int:
        """Fine energy, relative to `energy`, up to which states can be at or below `threshold`."""
        if threshold is None:
            return FAR
        room = (threshold - energy) >> self.fine_shift
        return max(-FAR, min(FAR, room)) + self.slack

    @cached_property
    def search(self) -> native.vector.ising.SpectrumSearch:
        """The compiled CPU search."""
        limbs = self.geometry.terms.limbs
        couplings = [x for row in self.geometry.couplings for x in row]
        return native.vector.ising.spectrum_search(
            self.mid,
            self.fine_shift,
            self.filter_shift,
            self.slack,
            to_limbs(self.geometry.fields, limbs),
            to_limbs(couplings, limbs),
            to_limbs([self.geometry.terms.offset], limbs)[0],
            np.array(self.geometry.order, dtype=np.int64),
            to_codes([self.geometry.flips], code_words(self.geometry.terms.num_spins))[0],
        )

    def pair_energies(self, spins: Sequence[Sequence[int]] | np.ndarray[Any, Any]) -> list[int]:
        """Exact pair energies of the block's spins for rows of -1 and +1, shape (n, low)."""
        row, col = np.triu_indices(self.low, 1)
        values = tuple(self.geometry.couplings[p][q] for p, q in zip(row, col, strict=True))
        inside = ExactTerms(self.low, (0,) * self.low, row, col, values, 0, 0)
        return from_limbs(inside.words(np.asarray(spins, dtype=np.int8)))
