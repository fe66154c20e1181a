"""A model as a graph of edges that are satisfied or not, and what is left of it once some are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardscape.ising.exact import ExactTerms
from hardscape.ising.result import code_words, unpack


@dataclass(frozen=True)
class EdgeForm:
    r"""Exact energies :math:`\text{base} + \sum_e c_e x_e`; edge e is satisfied (0) or not (1).

    Fields are couplings to one vertex more, the last, whose spin is +1.
    """

    terms: ExactTerms
    vertices: int
    row: NDArray[np.int64]
    col: NDArray[np.int64]
    signs: NDArray[np.uint8]  #: 1 where satisfied spins differ
    values: tuple[int, ...]  #: couplings
    base: int
    step: int  #: all energies are equal to `some` modulo this
    some: int

    @classmethod
    def of(cls, terms: ExactTerms) -> EdgeForm:
        """The form of a model."""
        n = terms.num_spins
        held = [i for i, x in enumerate(terms.fields) if x]
        row = np.concatenate([terms.row, np.array(held, dtype=np.int64)])
        col = np.concatenate([terms.col, np.full(len(held), n, dtype=np.int64)])
        values = (*terms.couplings, *(terms.fields[i] for i in held))
        # A flip changes an energy by twice the sum of a spin's terms, modulo four times each of them.
        sums = [0] * (n + 1)
        for i, j, x in zip(row.tolist(), col.tolist(), values, strict=True):
            sums[i] += x
            sums[j] += x
        step = math.gcd(*(2 * x for x in sums[:n]), *(4 * x for x in values)) or 1
        return cls(
            terms,
            n + bool(held),
            row,
            col,
            np.array([x > 0 for x in values], dtype=np.uint8),
            values,
            terms.offset - sum(map(abs, values)),
            step,
            terms.offset + sum(values),
        )

    def allowed(self, energy: int) -> int:
        """The highest energy that there can be at or below this one."""
        return self.some + (energy - self.some) // self.step * self.step

    @cached_property
    def total(self) -> int:
        """What all edges cost together."""
        return 2 * sum(map(abs, self.values))


class Clusters:
    """Vertices whose relative signs are known."""

    def __init__(self, form: EdgeForm) -> None:
        self.form = form
        self.parent = list(range(form.vertices))
        self.turned = [0] * form.vertices  #: whether a vertex differs from its parent

    def copy(self) -> Clusters:
        """The same, to go on from."""
        other = Clusters(self.form)
        other.parent, other.turned = self.parent.copy(), self.turned.copy()
        return other

    def find(self, vertex: int) -> tuple[int, int]:
        """The highest vertex of a cluster, and whether this one differs from it."""
        way = []
        while self.parent[vertex] != vertex:
            way.append(vertex)
            vertex = self.parent[vertex]
        parity = 0
        for v in reversed(way):
            parity ^= self.turned[v]
            self.parent[v], self.turned[v] = vertex, parity
        return vertex, parity

    def join(self, u: int, v: int, differ: int) -> bool:
        """Say whether two vertices differ; False if the contrary is known."""
        (a, p), (b, q) = self.find(u), self.find(v)
        if a == b:
            return p ^ q == differ
        low, high = min(a, b), max(a, b)
        self.parent[low], self.turned[low] = high, p ^ q ^ differ
        return True

    def join_edges(self, edges: NDArray[np.int64], values: NDArray[np.uint8]) -> bool:
        """Say of edges whether they are satisfied; False where that contradicts itself."""
        form = self.form
        differ = (form.signs[edges] ^ values).tolist()
        ends = zip(form.row[edges].tolist(), form.col[edges].tolist(), differ, strict=True)
        agree = [self.join(*end) for end in ends]
        return all(agree)

    def known(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Bounds of each edge: equal where it is known."""
        form = self.form
        found = [self.find(v) for v in range(form.vertices)]
        top = np.array([x for x, _ in found], dtype=np.int64)
        parity = np.array([x for _, x in found], dtype=np.uint8)
        one = top[form.row] == top[form.col]
        value = parity[form.row] ^ parity[form.col] ^ form.signs
        return np.where(one, value, 0).astype(np.uint8), np.where(one, value, 1).astype(np.uint8)

    def core(self) -> Core:
        """The model of one spin for each cluster."""
        form, terms, n = self.form, self.form.terms, self.form.terms.num_spins
        found = [self.find(v) for v in range(form.vertices)]
        tops = sorted({top for top, _ in found if top < n})
        number = {top: k for k, top in enumerate(tops)}
        offset, fields = terms.offset, [0] * len(tops)
        sums: dict[tuple[int, int], int] = {}
        for i, j, x in zip(form.row.tolist(), form.col.tolist(), form.values, strict=True):
            (a, p), (b, q) = found[i], found[j]
            value = -x if p ^ q else x
            if a == b:
                offset += value
            elif n in (a, b):
                fields[number[min(a, b)]] += value
            else:
                pair = (number[min(a, b)], number[max(a, b)])
                sums[pair] = sums.get(pair, 0) + value
        pairs = sorted((pair, value) for pair, value in sums.items() if value)
        core = ExactTerms(
            len(tops),
            tuple(fields),
            np.array([i for (i, _), _ in pairs], dtype=np.int64),
            np.array([j for (_, j), _ in pairs], dtype=np.int64),
            tuple(value for _, value in pairs),
            offset,
            terms.exponent,
        )
        # The last column is the vertex of the fields, which is up.
        place = np.array([number.get(top, len(tops)) for top, _ in found[:n]], dtype=np.int64)
        parity = np.array([p for _, p in found[:n]], dtype=np.uint8)
        return Core(core, place, parity)


@dataclass(frozen=True)
class Core:
    """A model whose spins stand for clusters of another model's, in the order of their highest spins.

    States are in the same order in both: the first bit from above in which two differ is the highest spin of
    a cluster, which is the cluster's own.
    """

    terms: ExactTerms
    place: NDArray[np.int64]  #: cluster of each spin
    parity: NDArray[np.uint8]  #: whether it differs from the cluster's

    def expanded(self, codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """States of the whole model, of states of the core."""
        n = len(self.place)
        up = unpack(codes, self.terms.num_spins) > 0
        up = np.hstack([up, np.ones((len(codes), 1), dtype=bool)])
        bits = up[:, self.place] ^ self.parity.astype(bool)
        octets = np.zeros((len(codes), 8 * code_words(n)), dtype=np.uint8)
        packed = np.packbits(bits, axis=1, bitorder="little")
        octets[:, : packed.shape[1]] = packed
        return octets.view("<u8").astype(np.uint64)


def chosen(mask: NDArray[np.bool_] | Sequence[bool]) -> NDArray[np.int64]:
    """Where a mask is true."""
    return np.flatnonzero(mask).astype(np.int64)
