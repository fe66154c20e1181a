"""A ground state of a planar model by perfect matching: method="matching" of `search`.

A face of a planar graph is frustrated if an odd number of its couplings are positive. An odd number of the
couplings around it are unsatisfied in every state, an even number around others, and any such set belongs to a
state. The cheapest one is a perfect matching of the frustrated faces along paths across couplings, of least
weight (docs/theory/spectrum.md; L. Bieche, R. Maynard, R. Rammal, J. P. Uhry, J. Phys. A 13 (1980) 2553).
PyMatching finds it by the blossom algorithm in integers (O. Higgott, C. Gidney, Quantum 9 (2025) 1600).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Device, Partial
from hardscape.errors import needed
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.matching.faces import sides
from hardscape.ising.methods.runs import RunsWork
from hardscape.ising.result import pack, unpack

#: Bits of the weights that PyMatching compares exactly.
_BITS = 24
#: Bytes a coupling that faces and the matching take, by measurement.
_BYTES = 2000


@dataclass(frozen=True)
class MatchingWork(RunsWork):
    """One run, which draws nothing: the state of least energy, up to the rounding of long coefficients."""

    revision: ClassVar[int] = 1
    moves_a_spin: ClassVar[int] = 1
    one_state: ClassVar[bool] = True

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Couplings, with fields as couplings to one more spin, which is up."""
        terms = self.terms
        held = [(i, x) for i, x in enumerate(terms.fields) if x]
        spins = np.array([i for i, _ in held], dtype=np.int64)
        row = np.concatenate([terms.row, spins])
        col = np.concatenate([terms.col, np.full(len(held), terms.num_spins, dtype=np.int64)])
        return row, col, [*terms.couplings, *(x for _, x in held)]

    @cached_property
    def faces(self) -> NDArray[np.int64]:
        """What each coupling lies between; an `InputError` if the graph is not planar."""
        row, col, _ = self.edges
        return sides(self.terms.num_spins + 1, row, col)

    def check(self) -> None:
        """Refuse graphs that are not planar."""
        _ = self.faces

    def __getstate__(self) -> dict[str, object]:
        made = ("edges", "faces")
        return {name: value for name, value in super().__getstate__().items() if name not in made}

    @property
    def shift(self) -> int:
        """Bits by which coefficients are longer than weights."""
        largest = max(map(abs, self.edges[2]), default=0)
        return max(0, largest.bit_length() - _BITS)

    def brief(self, device: Device) -> bool:
        """No: nothing stops it."""
        return False

    def memory_bytes(self, lanes: int) -> int:
        """Of faces and the matching."""
        return _BYTES * (self.terms.num_spins + len(self.edges[2]))

    def made(
        self, given: NDArray[np.int8], run: int, moves: int, stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint64], bool, int]:
        """Find the couplings that are not satisfied, and a state of them."""
        row, col, values = self.edges
        n = self.terms.num_spins
        costly = np.zeros(len(values), dtype=bool)
        if values:
            positive = np.array([x > 0 for x in values])
            costly = matched(self.faces, positive, self._weights(values))
        turned = np.array([x > 0 for x in values], dtype=bool) ^ costly
        return pack(state(n, row, col, turned)[None, :]), True, 1

    def _weights(self, values: list[int]) -> NDArray[np.int64]:
        """Absolute values of coefficients, rounded to nearest, of the bits that there are."""
        shift = self.shift
        half = (1 << shift) >> 1
        return np.array([min((abs(x) + half) >> shift, (1 << _BITS) - 1) for x in values])

    def lower_bound(self, partial: Partial) -> int | None:
        """What no energy lies below: that of the state, less what rounding can hide.

        Of another state's unsatisfied couplings the weights add up to no less. What is left of each absolute
        value, its weight taken off, counts against this state where it is positive and unsatisfied here, or
        negative and satisfied.
        """
        if not partial["counters"][0]:
            return None
        (energy,) = from_limbs(partial["energies"][:1])
        row, col, values = self.edges
        spins = np.append(unpack(partial["states"], self.terms.num_spins)[0], 1)
        unsatisfied = (spins[row] * spins[col] > 0) == np.array([x > 0 for x in values], dtype=bool)
        hidden, shift = 0, self.shift
        weights = self._weights(values).tolist() if shift else []
        for value, weight, bad in zip(values, weights, unsatisfied.tolist(), strict=bool(shift)):
            rest = abs(value) - (weight << shift)
            hidden += max(0, rest if bad else -rest)
        return energy - 2 * hidden


def matched(
    faces: NDArray[np.int64], positive: NDArray[np.bool_], weights: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which edges are crossed by the cheapest paths that join frustrated faces in pairs."""
    pymatching = needed("pymatching", "pymatching", "matching", "method='matching'")
    sparse = needed("scipy.sparse", "scipy", "matching", "method='matching'")
    count = int(faces.max()) + 1
    frustrated = np.zeros(count, dtype=np.uint8)
    for side in faces:
        frustrated ^= (np.bincount(side[positive], minlength=count) & 1).astype(np.uint8)
    low, high = np.sort(faces, axis=0)
    # Of edges between the same faces the cheapest; those with one face on both sides are never crossed.
    order = np.lexsort((weights, high, low))
    other = (np.diff(low[order], prepend=-1) != 0) | (np.diff(high[order], prepend=-1) != 0)
    used = order[other & (low < high)[order]]
    costly = np.zeros(len(weights), dtype=bool)
    if not frustrated.any():
        return costly
    # A tree of the matching that reaches a face looks at all its couplings, again and again. The one that has
    # the most, which a lattice has around it, is left open: what ends there has the parity of all others.
    ends = np.stack([low[used], high[used]])
    largest = int(np.bincount(ends.ravel()).argmax())
    inside = ends != largest
    starts = np.concatenate([[0], np.cumsum(inside.sum(axis=0))])
    crossed = sparse.csc_matrix(
        (np.ones(starts[-1], dtype=np.uint8), ends.T[inside.T], starts), shape=(count, len(used))
    )
    frustrated[largest] = 0
    graph = pymatching.Matching.from_check_matrix(crossed, weights=weights[used].astype(float))
    costly[used] = graph.decode(frustrated).astype(bool)
    return costly


def state(
    n: int, row: NDArray[np.int64], col: NDArray[np.int64], turned: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """Spins that differ across the edges that are turned; the highest of each part is down, the one more up."""
    near: list[list[tuple[int, int]]] = [[] for _ in range(n + 1)]
    for i, j, differ in zip(row.tolist(), col.tolist(), turned.tolist(), strict=True):
        near[i].append((j, -1 if differ else 1))
        near[j].append((i, -1 if differ else 1))
    spins = [0] * (n + 1)
    for root in range(n, -1, -1):
        if spins[root]:
            continue
        spins[root] = 1 if root == n else -1
        part = [root]
        for i in part:
            for j, sign in near[i]:
                if not spins[j]:
                    spins[j] = spins[i] * sign
                    part.append(j)
    return np.array(spins[:n], dtype=np.int8)
