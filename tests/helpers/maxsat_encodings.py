"""Clauses that say "these literals weigh no more than so much", in ways that people write it.

Each function is given pairs of a weight and a literal, the bound, and the last variable that is taken; it
returns clauses and the last variable then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Terms = list[tuple[int, int]]
Encoded = tuple[list[list[int]], int]


class _Clauses:
    def __init__(self, top: int) -> None:
        self.all: list[list[int]] = []
        self.top = top

    def new(self) -> int:
        self.top += 1
        return self.top


def least_lost(weights: list[int], rows: list[tuple[Terms, int]]) -> int:
    """The least weight of variables that are 0 where no row's terms weigh more than it allows."""
    values = np.array(list(itertools.product((0, 1), repeat=len(weights))))
    lost = (1 - values) @ np.array(weights)
    for terms, most in rows:
        loads = sum(w * (values[:, abs(x) - 1] == (x > 0)) for w, x in terms)
        values, lost = values[loads <= most], lost[loads <= most]
    return int(lost.min())


def generalized_totalizer(terms: Terms, most: int, top: int) -> Encoded:
    """A variable for each sum of each node of a tree; sums above the bound are one."""
    made = _Clauses(top)

    def node(some: Terms) -> dict[int, int]:
        if len(some) == 1:
            return {min(some[0][0], most + 1): some[0][1]}
        half = len(some) // 2
        left, right = node(some[:half]), node(some[half:])
        sums = {min(most + 1, a + b) for a in [0, *left] for b in [0, *right]} - {0}
        outputs = {each: made.new() for each in sorted(sums)}
        for a, x in left.items():
            made.all.append([-x, outputs[a]])
            for b, y in right.items():
                made.all.append([-x, -y, outputs[min(most + 1, a + b)]])
        made.all += [[-y, outputs[b]] for b, y in right.items()]
        return outputs

    made.all += [[-x] for weight, x in node(terms).items() if weight > most]
    return made.all, made.top


def sequential_counter(terms: Terms, most: int, top: int) -> Encoded:
    """Whether the first literals weigh at least so much, for each bound."""
    made, before = _Clauses(top), list[int]()
    for weight, x in terms:
        after = [made.new() for _ in range(most)]
        made.all += [[-x, after[j]] for j in range(min(weight, most))]
        for j, s in enumerate(before):
            made.all.append([-s, after[j]])
            if j + weight < most:
                made.all.append([-s, -x, after[j + weight]])
        if weight > most:
            made.all.append([-x])
        elif before:
            made.all.append([-before[most - weight], -x])
        before = after
    return made.all, made.top


def adders(terms: Terms, most: int, top: int) -> Encoded:
    """Binary digits of the weight by full and half adders, but for those that may be anything."""
    made, size = _Clauses(top), most.bit_length()
    zeros = [i for i in range(size) if not most >> i & 1]
    first = zeros[0] if zeros else size  # what is below may be anything
    made.all += [[-x] for weight, x in terms if weight > most]
    left = [(weight, x) for weight, x in terms if weight <= most]
    columns = [[x for weight, x in left if weight >> i & 1] for i in range(size)]
    for i, column in enumerate(columns):
        while len(column) > 1:
            read = [column.pop(0) for _ in range(min(3, len(column)))]
            pairs = list(itertools.combinations(read, 2))
            if column or i >= first:
                column.append(digit := made.new())
                for signs in itertools.product((1, -1), repeat=len(read)):
                    own = digit if signs.count(1) % 2 else -digit
                    made.all.append([*(-s * x for s, x in zip(signs, read, strict=True)), own])
            if i + 1 == size:
                made.all += [[-a, -b] for a, b in pairs]
                continue
            columns[i + 1].append(carry := made.new())
            made.all += [[-a, -b, carry] for a, b in pairs]
            some = pairs if len(read) == 3 else [(x,) for x in read]
            made.all += [[*each, -carry] for each in some]
    for i in zeros:  # a first digit too much
        above = [column for j, column in enumerate(columns) if j > i and most >> j & 1]
        if columns[i] and all(above):
            made.all.append([-columns[i][0], *(-column[0] for column in above)])
    return made.all, made.top


def decision_diagram(terms: Terms, most: int, top: int) -> Encoded:
    """A variable for each node of a reduced diagram, from the root, with both branches."""
    made, terms = _Clauses(top), sorted(terms, reverse=True)
    rest = [sum(weight for weight, _ in terms[i:]) for i in range(len(terms) + 1)]
    known: list[list[tuple[float, float, int | bool]]] = [[] for _ in rest]

    def node(i: int, left: int) -> tuple[float, float, int | bool]:
        if left < 0:
            return -float("inf"), -1, False
        if left >= rest[i]:
            return rest[i], float("inf"), True
        for found in known[i]:
            if found[0] <= left <= found[1]:
                return found
        weight, x = terms[i]
        with_, without = node(i + 1, left - weight), node(i + 1, left)
        name = with_[2]
        if without[2] is not name:
            name = made.new()
            for literal, branch in ((-x, with_[2]), (x, without[2])):
                if branch is not True:
                    made.all.append([-name, literal, *([branch] if branch else [])])
        found = max(with_[0] + weight, without[0]), min(with_[1] + weight, without[1]), name
        known[i].append(found)
        return found

    root = node(0, most)[2]
    if root is not True:
        made.all.append([root] if root else [])
    return made.all, made.top


def counted(kind: Any) -> Callable[[Terms, int, int], Encoded]:
    """A kind of python-sat's, of literals that weigh 1."""

    def encode(terms: Terms, most: int, top: int) -> Encoded:
        from pysat.card import CardEnc

        made = CardEnc.atmost([x for _, x in terms], most, top_id=top, encoding=kind)
        return [list(clause) for clause in made.clauses], max(top, made.nv)

    return encode
