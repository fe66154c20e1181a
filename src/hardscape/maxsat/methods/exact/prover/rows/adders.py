"""Linear constraints that adders hide: the sum of some literals, digit by digit, is no more than so much.

The equations of adders, each times a power of two, add up to one without the variables between them: what the
literals that are read weigh, the digits at the end do. Clauses over these, all negative, say that their number
is no more than the largest one allowed if each excludes larger ones alone: a larger number has a first digit
more, which the largest one does not have because of a clause that excludes the larger one, too.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from . import MOST_LITERALS
from .gates import Adder, adders, adders_may_prevail
from .sums import Sum, flat

#: Literals that are digits though no adder gives them, at most, and the most that a row weighs.
_MOST_BESIDE, _MOST_WEIGHT = 3, 1 << 50


class Adders:
    """The rows that clauses say by adders that give variables outside `named` their values; see `Sums`."""

    def __init__(self, clauses: Sequence[Sequence[int]], named: Collection[int]) -> None:
        top = max((abs(x) for clause in clauses for x in clause), default=0)
        self._clauses = clauses
        self.rows: list[Sum] = []
        self.hidden: set[int] = set()
        self._adders: list[Adder] = []
        self._limits: list[int] = []
        for part in _parts(clauses, adders(clauses, named)):
            row = part.row(clauses, top)
            if row is not None:
                self.rows.append(row)
                self.hidden |= {v for v in part.outputs if v <= top}
                self._adders += part.adders
                self._limits += part.limits
        said = set(self._limits).union(*(adder.clauses for adder in self._adders))
        self.left = [list(clause) for c, clause in enumerate(clauses) if c not in said]
        self.prevail = 2 * len(said) > len(clauses)

    @classmethod
    def of(cls, clauses: Sequence[Sequence[int]], named: Collection[int]) -> Adders | None:
        """Those that prevail; None where there are none, or nothing looks like them."""
        if sum(map(len, clauses)) > MOST_LITERALS or not adders_may_prevail(*flat(clauses)):
            return None
        found = cls(clauses, named)
        return found if found.prevail else None

    def complete(self, values: list[int]) -> bool:
        """Give the hidden variables values, 0 or 1, that suit those of the others; False if there are none."""

        def holds(x: int) -> bool:
            return values[abs(x) - 1] == (x > 0)

        for adder in self._adders:  # each after those that it reads
            count = sum(map(holds, adder.reads))
            for x, holding in ((adder.digit, count % 2), (adder.carry, count // 2)):
                if abs(x) in self.hidden:
                    values[abs(x) - 1] = int(holding == (x > 0))
                elif holding and x == adder.carry:
                    return False
        return all(any(map(holds, self._clauses[c])) for c in self._limits)


class _Part(NamedTuple):
    """Adders that read one another, each after those that it reads, and limits of what they come to."""

    adders: list[Adder]
    outputs: set[int]
    limits: list[int]  # clauses

    def row(self, clauses: Sequence[Sequence[int]], top: int) -> Sum | None:
        """What all of it says, where that is a limit of one number; variables above `top` are of no clause."""
        sums, constant = self._equation()
        read = {abs(x) for adder in self.adders for x in adder.reads}
        ends = {v: -sums.pop(v) for v in self.outputs - read}
        limits = [{-x for x in clauses[c]} for c in self.limits]
        limits += [{adder.carry} for adder in self.adders if adder.carry > top]
        limited = set().union(*limits)
        signed = [w if v in limited else -w for v, w in ends.items() if {v, -v} & limited]
        if any(sums.pop(v) for v in self.outputs & read) or not signed or not all(ends.values()):
            return None
        # Digits as limits name them, the least of them being 1.
        scale = (1 if signed[0] > 0 else -1) / min(map(abs, ends.values()))
        digits = {v if scale * w > 0 else -v: abs(scale * w) for v, w in ends.items()}
        sums = {v: scale * w for v, w in sums.items()}
        constant = scale * constant + sum(w for x, w in digits.items() if x < 0)
        beside = sorted(limited - digits.keys())
        if {abs(x) for x in beside} & self.outputs or len(beside) > _MOST_BESIDE:
            return None
        # What a half adder does not come to may be what makes a limit one of a number.
        never = [{adder.digit, adder.carry} for adder in self.adders if len(adder.reads) == 2]
        never = [pair for pair in never if pair <= digits.keys()]
        powers = _free(set(digits.values()), len(beside))
        for some, also in itertools.product(powers, ([], never)):
            more = dict(zip(beside, some, strict=True))
            most = _largest(digits | more, limits + also)
            if most is not None:
                return _reduced([*sums.items(), *more.items()], most - constant)
        return None

    def _equation(self) -> tuple[dict[int, Fraction], Fraction]:
        """Sums and a constant that are 0 together: all equations, each times something."""
        sums: defaultdict[int, Fraction] = defaultdict(Fraction)
        constant = Fraction(0)
        for adder, by in zip(self.adders, self._times(), strict=True):
            parts = [(x, by) for x in adder.reads] + [(adder.digit, -by), (adder.carry, -2 * by)]
            for x, weight in parts:
                sums[abs(x)] += weight if x > 0 else -weight
                constant += 0 if x > 0 else weight
        return sums, constant

    def _times(self) -> list[Fraction]:
        """By what each equation is to be multiplied, so that outputs that another one reads go, if they can."""
        readers: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for i, adder in enumerate(self.adders):
            for x in adder.reads:
                readers[abs(x)].append((i, x // abs(x)))
        near: defaultdict[int, list[tuple[int, Fraction]]] = defaultdict(list)
        for i, adder in enumerate(self.adders):
            for x, by in ((adder.digit, 1), (adder.carry, 2)):
                for j, sign in readers.get(abs(x), ()):
                    factor = Fraction(by * sign * x // abs(x))
                    near[i].append((j, factor))
                    near[j].append((i, 1 / factor))
        times, waiting = {0: Fraction(1)}, [0]
        while waiting:
            i = waiting.pop()
            for j, factor in near[i]:
                if j not in times:
                    times[j] = times[i] * factor
                    waiting.append(j)
        return [times.get(i, Fraction(0)) for i in range(len(self.adders))]


def _parts(clauses: Sequence[Sequence[int]], found: list[Adder]) -> Iterator[_Part]:
    """Adders that read one another; none that read in a circle, or that a clause has in common with others."""
    owner = {abs(x): i for i, adder in enumerate(found) for x in (adder.digit, adder.carry)}
    near: list[set[int]] = [set() for _ in found]
    waits, readers = [0] * len(found), defaultdict(list)
    for i, adder in enumerate(found):
        for j in {owner[abs(x)] for x in adder.reads if abs(x) in owner}:
            near[i].add(j)
            near[j].add(i)
            readers[j].append(i)
            waits[i] += 1
    order = [i for i, count in enumerate(waits) if not count]
    for i in order:
        for j in readers[i]:
            waits[j] -= 1
            if not waits[j]:
                order.append(j)
    place = {i: k for k, i in enumerate(order)}
    limits = _limits(clauses, found, owner)
    for members in _joined(near):
        if not members <= place.keys():
            continue
        own = [found[i] for i in sorted(members, key=place.__getitem__)]
        outputs = {abs(x) for adder in own for x in (adder.digit, adder.carry)}
        limiting = sorted({c for i in members for c in limits[i]})
        if all({owner[v] for v in map(abs, clauses[c]) if v in owner} <= members for c in limiting):
            yield _Part(own, outputs, limiting)


def _limits(
    clauses: Sequence[Sequence[int]], found: list[Adder], owner: dict[int, int]
) -> list[list[int]]:
    """Clauses of the outputs of each adder that none implies; the others join those of whoever implies them."""
    said = set().union(*(adder.clauses for adder in found))
    limits: list[list[int]] = [[] for _ in found]
    for c, clause in enumerate(clauses):
        owners = {owner[abs(x)] for x in clause if abs(x) in owner} if c not in said else ()
        for i in owners:
            if found[i].implies(clause):
                found[i].clauses.add(c)
                break
        else:
            for i in owners:
                limits[i].append(c)
    return limits


def _joined(near: list[set[int]]) -> Iterator[set[int]]:
    """Numbers that are near one another, by way of others too."""
    left = set(range(len(near)))
    while left:
        part, waiting = set(), [left.pop()]
        while waiting:
            i = waiting.pop()
            part.add(i)
            fresh = near[i] & left
            left -= fresh
            waiting += fresh
        yield part


def _free(taken: set[Fraction], count: int) -> Iterator[tuple[Fraction, ...]]:
    """Powers of two for so many more digits; nothing where those that are taken are none."""
    powers = [Fraction(2) ** k for k in range(-count, len(taken) + 2 * count)]
    if taken <= set(powers):
        free = [power for power in powers if power not in taken]
        yield from itertools.permutations(free, count)


def _largest(digits: dict[int, Fraction], limits: list[set[int]]) -> Fraction | None:
    """The largest number whose digits do not include a limit, if every limit excludes larger ones alone.

    Digits that are limits by themselves may be there several times.
    """
    order = sorted((x for x in digits if {x} not in limits), key=digits.__getitem__, reverse=True)
    if len({digits[x] for x in order}) < len(order):
        return None
    held: set[int] = set()
    for x in order:
        if not any(x in limit and limit <= held | {x} for limit in limits):
            held.add(x)
    most = sum((digits[x] for x in held), Fraction(0))
    return most if all(sum(digits[x] for x in limit) > most for limit in limits) else None


def _reduced(terms: Iterable[tuple[int, Fraction]], most: Fraction) -> Sum | None:
    """A row of whole numbers, none of which is less than 1; None where they are large."""
    sums: defaultdict[int, Fraction] = defaultdict(Fraction)
    for x, weight in terms:
        sums[abs(x)] += weight if x > 0 else -weight
        most -= 0 if x > 0 else weight
    most += sum(-w for w in sums.values() if w < 0)
    scale = math.lcm(*(w.denominator for w in sums.values()))
    row = [(v if w > 0 else -v, abs(int(scale * w))) for v, w in sums.items() if w]
    divisor = math.gcd(*(w for _, w in row))
    if not divisor or sum(w for _, w in row) > _MOST_WEIGHT * divisor:
        return None
    return Sum(
        [x for x, _ in row], [w // divisor for _, w in row], math.floor(scale * most / divisor)
    )
