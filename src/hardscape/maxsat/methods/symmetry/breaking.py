"""Clauses that leave one assignment of several that a symmetry makes of one another.

A symmetry maps literals to literals, negations to negations, hard clauses to hard clauses and soft ones to soft
ones of their weight, so it maps assignments that satisfy the hard clauses to others of the same cost. Of all
that the symmetries make of one another, the largest one in some order of the variables satisfies
``x >= image of x`` in the lexicographic sense for each symmetry (J. Crawford, M. Ginsberg, E. Luks, A. Roy,
KR 1996); so does an optimal one.

Encodings hide symmetries: a counter that says that at most one of five holds goes through them in some order.
So variables that no soft clause has, and clauses of two literals alone, are resolved away before. What is left
has a solution wherever the formula has one with these values, so its symmetries do as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.maxsat.formula import Formula

#: Literals up to which symmetries are looked for, those that variables which go may leave besides, and steps of
#: the search, about a tenth of a second.
_LITERALS, _GROWTH, _STEPS = 100_000, 200_000, 10_000_000
#: Most pairs of a variable and its image that are compared for a symmetry, and most clauses of all.
_COMPARED, _CLAUSES = 100, 20_000

Clauses = list[list[int]]


def breaking(formula: Formula, *, check: bool = False) -> Clauses:
    """Clauses that an optimal assignment satisfies, with some values of new variables after the formula's.

    With a check they are of symmetries that are confirmed by what did not find them.
    """
    if not 0 < len(formula.literals) <= _LITERALS:
        return []
    left = native.core.maxsat.unlinked(formula, _GROWTH)
    if left is None:
        return []
    original, literals, offsets, weights, hard = left
    names = np.sign(literals) * original[abs(literals) - 1]
    rows = Rows.of(Formula(formula.num_variables, names, offsets, weights, hard.view(np.bool_)))
    used, counts = np.unique(abs(rows.literals), return_counts=True)
    rank = dict(zip(used.tolist(), (-counts).tolist(), strict=True))
    found = (image for image in symmetries(rows) if not check or keeps(rows, image))
    return lexicographic(found, rank, formula.num_variables)


class Rows(NamedTuple):
    """Clauses; the weight of a hard one is -1."""

    literals: NDArray[np.int64]
    lengths: NDArray[np.int64]
    weights: NDArray[np.int64]

    @classmethod
    def of(cls, formula: Formula) -> Rows:
        """Those of a formula."""
        weights = np.where(formula.hard, -1, formula.weights)
        return cls(formula.literals.astype(np.int64), np.diff(formula.offsets), weights)


def symmetries(rows: Rows) -> list[dict[int, int]]:
    """Generators of symmetries, as the images of the variables that they move."""
    names, place = np.unique(abs(rows.literals), return_inverse=True)
    if not len(names):
        return []
    n = len(names)
    clause = 2 * n + np.repeat(np.arange(len(rows.lengths)), rows.lengths)
    first = np.concatenate([2 * place + (rows.literals < 0), np.arange(0, 2 * n, 2)])
    second = np.concatenate([clause, np.arange(1, 2 * n, 2)])
    kinds = np.unique(np.stack([rows.weights, rows.lengths]), axis=1, return_inverse=True)[1]
    colours = np.concatenate([np.zeros(2 * n, dtype=np.int64), 1 + kinds.ravel()])
    edges = (first.astype(np.uint32), second.astype(np.uint32))
    count, images = native.core.maxsat.automorphisms(*edges, colours.astype(np.uint32), _STEPS)
    literals = np.stack([names, -names], axis=1).ravel()
    images = literals[images.reshape(count, len(colours))[:, : 2 * n : 2]]
    found = []
    for image in images:
        moved = image != names
        if moved.any():
            found.append(dict(zip(names[moved].tolist(), image[moved].tolist(), strict=True)))
    return found


def keeps(rows: Rows, image: dict[int, int]) -> bool:
    """Whether images of some variables make the same clauses of them, one by one; others map to themselves."""
    images = image | {-v: -to for v, to in image.items()}
    before: Counter[tuple[int, ...]] = Counter()
    after: Counter[tuple[int, ...]] = Counter()
    literals, ends = rows.literals.tolist(), np.cumsum(rows.lengths).tolist()
    for begin, end, weight in zip([0, *ends], ends, rows.weights.tolist(), strict=False):
        clause = literals[begin:end]
        if not images.keys().isdisjoint(clause):
            before[weight, *sorted(clause)] += 1
            after[weight, *sorted(images.get(x, x) for x in clause)] += 1
    return images.keys() == set(images.values()) and before == after


def lexicographic(found: Iterable[dict[int, int]], rank: dict[int, int], variables: int) -> Clauses:
    """Clauses that demand assignments no less than their images; new variables come after so many."""
    clauses: Clauses = []
    top = variables
    for image in found:
        order = sorted(image, key=lambda v: (rank.get(v, 0), v))
        for clause, last in _no_less(order, image, top):
            clauses.append(clause)
            top = max(top, last)
        if len(clauses) > _CLAUSES:
            break
    return clauses


def _no_less(order: list[int], image: dict[int, int], top: int) -> Iterator[tuple[list[int], int]]:
    """That values in an order are no less than those of their images: clauses, and the last variable of each.

    A new variable says at least that all were equal so far.
    """
    equal: list[int] = []  # empty, or the negation of that
    swapped: set[int] = set()  # whose comparison says nothing new where all were equal
    for v in order[:_COMPARED]:
        to = image[v]
        if v in swapped and image[abs(to)] == (v if to > 0 else -v):
            continue
        yield [*equal, v, -to], top
        if to == -v:
            return
        swapped.add(abs(to))
        top += 1
        yield [*equal, -to, top], top
        yield [*equal, v, top], top
        equal = [-top]
