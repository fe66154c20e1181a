"""Adders among clauses: what the literals that each reads come to, as a digit and a carry.

A full adder says ``a + b + d = s + 2 c`` by all clauses of ``s = a xor b xor d`` and of the majority ``c``, a
half adder the same without ``d``. Where a carry would be too much, pairs of clauses exclude it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

#: What is read, a literal that holds where two of that do, and the clauses that say so.
Carried = tuple[tuple[int, ...], int, set[int]]

#: Literals of the clauses that adders are made of, at most.
_MOST = 4

#: Most literals of all clauses that are looked through, which takes 5 µs for each.
_MOST_LITERALS = 250_000
#: Shares of the clauses that have four literals, at least, and of these that have one's variables with others;
#: and so many times as many have three at least: else those are sums modulo 2 that carry nothing.
_LONG, _TOGETHER, _CARRIES = 0.2, 0.75, 0.25
#: Whose powers make a number of four, modulo 2^64: it has a bit in each of its bytes.
_MIXED = 0x9E3779B97F4A7C15


def adders_may_prevail(literals: Any, offsets: Any) -> bool:
    """Whether many clauses have four literals, most of which share theirs with others, and many three."""
    import numpy as np

    sizes = np.diff(offsets)
    long = np.flatnonzero(sizes == 4)
    if len(literals) > _MOST_LITERALS or len(long) <= _LONG * len(sizes):
        return False
    if (sizes == 3).sum() < _CARRIES * len(long):
        return False
    variables = np.sort(abs(literals[offsets[long][:, None] + np.arange(4)]), axis=1)
    # Rows themselves take ten times as long to compare as numbers that stand for them.
    keys = variables.astype(np.uint64) @ np.uint64(_MIXED) ** np.arange(4, dtype=np.uint64)
    counts = np.unique(keys, return_counts=True)[1]
    return bool(counts[counts >= 4].sum() >= _TOGETHER * len(long))


class Adder(NamedTuple):
    """What the literals that are read come to.

    The carry of some is a variable of no clause, which must be false; the digit of some is one of none, too.
    """

    reads: tuple[int, ...]
    digit: int
    carry: int
    clauses: set[int]

    def implies(self, clause: Sequence[int]) -> bool:
        """Whether a clause of its variables holds whatever is read."""
        literals = set(clause)
        for held in itertools.product((0, 1), repeat=len(self.reads)):
            count = sum(held)
            true = {x if h else -x for x, h in zip(self.reads, held, strict=True)}
            true |= {self.digit if count % 2 else -self.digit}
            true |= {self.carry if count > 1 else -self.carry}
            if true.isdisjoint(literals):
                return False
        return True


def adders(clauses: Sequence[Sequence[int]], named: Collection[int]) -> list[Adder]:
    """Adders, no two of which give the same variable its value; named ones are given it by none."""
    index = _Index(clauses)
    given = set(named)
    found: list[Adder] = []

    def take(some: Iterable[Adder]) -> None:
        for adder in some:
            outputs = {abs(adder.digit), abs(adder.carry)}
            if given.isdisjoint(outputs):
                given.update(outputs)
                found.append(adder)

    carries = [*_majorities(index), *_conjunctions(index)]
    take(_whole(index, carries))
    take(_without_carry(index))
    take(_without_digit(index, carries))
    return found


class _Index:
    """Which clauses there are, of few literals."""

    def __init__(self, clauses: Sequence[Sequence[int]]) -> None:
        self.at: dict[frozenset[int], int] = {}
        self.top = 0
        #: Variables of clauses of two, clauses of three, and other variables in clauses with two or three.
        self.paired: set[frozenset[int]] = set()
        self.ternary: list[Sequence[int]] = []
        self.beside: defaultdict[frozenset[int], set[int]] = defaultdict(set)
        for c, clause in enumerate(clauses):
            self.top = max(self.top, *map(abs, clause)) if clause else self.top
            if not 2 <= len(set(map(abs, clause))) == len(clause) <= _MOST:
                continue
            self.at[frozenset(clause)] = c
            variables = frozenset(map(abs, clause))
            if len(clause) == 2:
                self.paired.add(variables)
                continue
            if len(clause) == 3:
                self.ternary.append(clause)
            for v in variables:
                self.beside[variables - {v}].add(v)

    def new(self) -> int:
        """A variable of no clause."""
        self.top += 1
        return self.top

    def all_of(self, wanted: Iterator[list[int]]) -> set[int] | None:
        """Those clauses that are wanted; None where one neither is there nor follows from a shorter one."""
        found = set()
        for clause in wanted:
            if (c := self.at.get(frozenset(clause))) is not None:
                found.add(c)
            elif not any(
                frozenset(some) in self.at
                for size in range(2, len(clause))
                for some in itertools.combinations(clause, size)
            ):
                return None
        return found

    def digit(self, reads: tuple[int, ...]) -> Iterator[tuple[int, set[int]]]:
        """Literals that are the parity of what is read, and the clauses that say so."""
        for v in self.beside.get(frozenset(map(abs, reads)), ()):
            for digit in (v, -v):
                said = self.all_of(_parity(reads, digit))
                if said is not None:
                    yield digit, said
                    break


def _parity(reads: tuple[int, ...], digit: int) -> Iterator[list[int]]:
    """Clauses of "the digit is the parity"."""
    for signs in itertools.product((1, -1), repeat=len(reads)):
        odd = signs.count(1) % 2  # of those that hold where this clause forbids something
        yield [*(-s * x for s, x in zip(signs, reads, strict=True)), digit if odd else -digit]


def _majorities(index: _Index) -> Iterator[Carried]:
    """Variables that hold where two of three literals do."""
    # Of (a or b or not c) and (not a or not b or c), by c.
    near: defaultdict[int, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for clause in index.ternary:
        if frozenset(-x for x in clause) not in index.at:
            continue
        for x in clause:
            if x < 0:
                a, b = (y for y in clause if y != x)
                near[-x][a].add(b)
                near[-x][b].add(a)
    for carry, edges in near.items():
        for a, others in edges.items():
            for b, d in itertools.combinations(sorted(y for y in others if y > a), 2):
                if d not in edges[b]:
                    continue
                pairs = itertools.combinations((a, b, d), 2)
                both = ([[x, y, -carry], [-x, -y, carry]] for x, y in pairs)
                said = index.all_of(itertools.chain.from_iterable(both))
                if said is not None:
                    yield (a, b, d), carry, said


def _conjunctions(index: _Index) -> Iterator[Carried]:
    """Literals that hold where two others do."""
    for clause in index.ternary:
        for carry in clause:
            a, b = (-x for x in clause if x != carry)
            said = index.all_of(iter([[-a, -b, carry], [a, -carry], [b, -carry]]))
            if said is not None:
                yield (a, b), carry, said


def _whole(index: _Index, carried: list[Carried]) -> Iterator[Adder]:
    """Those with a digit; of several that read the same each has the one of the nearest number."""
    for reads, carry, said in carried:
        digits = [(x, more) for x, more in index.digit(reads) if abs(x) != abs(carry)]
        for digit, more in sorted(digits, key=lambda each: abs(abs(each[0]) - abs(carry))):
            yield Adder(reads, digit, carry, said | more)


def _without_digit(index: _Index, carried: list[Carried]) -> Iterator[Adder]:
    """Those whose digit does not matter."""
    for reads, carry, said in carried:
        yield Adder(reads, index.new(), carry, said)


def _without_carry(index: _Index) -> Iterator[Adder]:
    """Those of three or two of which one can hold."""
    for variables in index.beside:
        pairs = itertools.combinations(variables, 2)
        if not all(frozenset(pair) in index.paired for pair in pairs):
            continue
        for signs in itertools.product((1, -1), repeat=len(variables)):
            reads = tuple(s * v for s, v in zip(signs, sorted(variables), strict=True))
            apart = [frozenset((-x, -y)) for x, y in itertools.combinations(reads, 2)]
            if not all(pair in index.at for pair in apart):
                continue
            said = {index.at[pair] for pair in apart}
            for digit, more in index.digit(reads):
                yield Adder(reads, digit, index.new(), said | more)
