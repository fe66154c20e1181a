"""At-most-one constraints that counters hide, as cliques.

Encodings say that at most one of many literals holds with variables of their own, in clauses of two: a literal
that holds sets those behind it, and these refute the literals behind. As rows of a linear program the clauses
allow every literal a half. Here such variables are eliminated: what their clauses say of the other literals is
which pairs exclude one another, along the implications, and rows of cliques of these say more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

#: Most literals that the variables of one part may exclude one another through.
_MOST = 4000


class Counters:
    """The variables, outside `named`, that occur in clauses of two literals alone, part by part.

    Attributes
    ----------
    cliques : list of lists of literals
        Of each at most one can hold; together they say what the clauses said that are not `left`.
    left : list of clauses
        Those without such variables, and those of parts that cliques do not say shorter.
    hidden : set of variables
        Those of the other parts.
    prevail : bool
        Whether most clauses are said by cliques.
    """

    def __init__(self, clauses: Iterable[Sequence[int]], named: Iterable[int]) -> None:
        given = list(clauses)
        open_ = set(named)
        for clause in given:
            if len(clause) != 2 or abs(clause[0]) == abs(clause[1]):
                open_.update(map(abs, clause))
        self.cliques: list[list[int]] = []
        self.left: list[Sequence[int]] = []
        self.hidden: set[int] = set()
        self._parts: list[_Part] = []
        parts: dict[int, list[Sequence[int]]] = defaultdict(list)
        root = _joined(given, open_)
        for clause in given:
            hidden = [abs(x) for x in clause if abs(x) not in open_]
            (parts[root(hidden[0])] if hidden else self.left).append(clause)
        for part in parts.values():
            found = _Part(part, open_)
            if found.cliques is None:
                self.left += part
            else:
                self.cliques += found.cliques
                self.hidden |= found.hidden
                self._parts.append(found)
        self.prevail = 2 * len(self.left) < len(given)

    def complete(self, values: list[int]) -> bool:
        """Give the hidden variables values, 0 or 1, that suit those of the others; False if there are none."""
        return all(part.complete(values) for part in self._parts)


def _joined(clauses: list[Sequence[int]], open_: set[int]) -> Callable[[int], int]:
    """Who stands for a hidden variable's part."""
    parent: dict[int, int] = {}

    def root(v: int) -> int:
        while parent.setdefault(v, v) != v:
            parent[v] = v = parent[parent[v]]
        return v

    for clause in clauses:
        if len(clause) == 2:
            a, b = map(abs, clause)
            if a not in open_ and b not in open_:
                parent[root(a)] = root(b)
    return root


class _Part:
    """Hidden variables that clauses join, and the open literals that set them."""

    def __init__(self, clauses: list[Sequence[int]], open_: set[int]) -> None:
        self._implied: dict[int, list[int]] = defaultdict(list)  # hidden literals, by any literal
        self.hidden: set[int] = set()
        refuted: dict[int, list[int]] = defaultdict(list)  # open literals, by hidden ones
        for a, b in clauses:
            for x, y in ((a, b), (b, a)):  # -x implies y
                if abs(y) not in open_:
                    self.hidden.add(abs(y))
                    self._implied[-x].append(y)
                    if abs(x) in open_:
                        refuted[-y].append(-x)
        causes = [x for x in self._implied if abs(x) in open_]
        self.cliques: list[list[int]] | None = None
        if len(causes) > _MOST:
            return
        excluded = self._excluded(causes, refuted)
        if excluded is not None:
            found = _cliques(excluded)
            if sum(map(len, found)) <= 2 * len(clauses):
                self.cliques = [[causes[i] for i in clique] for clique in found]

    def _excluded(self, causes: list[int], refuted: dict[int, list[int]]) -> list[int] | None:
        """Which others each open literal excludes, as bits; None where implications go round, or refute one."""
        bit = {x: 1 << i for i, x in enumerate(causes)}
        reach: dict[int, int] = {}
        entered: set[int] = set()
        for v in self.hidden:
            stack = [v, -v]
            while stack:
                x = stack[-1]
                if x in reach:
                    stack.pop()
                    continue
                ahead = [y for y in self._implied.get(x, ()) if y not in reach]
                if not ahead:
                    bits = 0
                    for y in self._implied.get(x, ()):
                        bits |= reach[y]
                    for y in refuted.get(x, ()):
                        bits |= bit[y]
                    reach[x] = bits
                    stack.pop()
                elif x in entered:
                    return None
                else:
                    entered.add(x)
                    stack += ahead
        found = []
        for x in causes:
            bits = 0
            for y in self._implied[x]:
                bits |= reach[y]
            if bits & bit[x]:
                return None
            found.append(bits & ~bit.get(-x, 0))  # that is said anyway
        return found

    def complete(self, values: list[int]) -> bool:
        """Give the hidden variables values that suit those of the others; False if there are none."""
        true: set[int] = set()
        causes = [x for x in self._implied if abs(x) not in self.hidden]
        set_ = [x for x in causes if values[abs(x) - 1] == (x > 0)]
        if not self._set([y for x in set_ for y in self._implied[x]], true):
            return False
        for v in self.hidden:
            if v not in true and -v not in true:
                more = set(true)
                if self._set([-v], more):
                    true = more
                elif not self._set([v], true):
                    return False
        for x in true:
            values[abs(x) - 1] = int(x > 0)
        return True

    def _set(self, literals: list[int], true: set[int]) -> bool:
        """Have literals hold, and what they imply; False if that contradicts itself."""
        while literals:
            x = literals.pop()
            if -x in true:
                return False
            if x not in true:
                true.add(x)
                literals += self._implied.get(x, ())
        return True


def _cliques(excluded: list[int]) -> list[list[int]]:
    """Cliques that hold every pair, as large as they are found."""
    found, left = [], list(excluded)
    for first, others in sorted(enumerate(excluded), key=lambda each: -each[1].bit_count()):
        while left[first]:
            clique, near = [first], others
            while near:
                some = near & left[first] or near
                second = (some & -some).bit_length() - 1
                clique.append(second)
                near &= excluded[second]
            members = sum(1 << i for i in clique)
            for i in clique:
                left[i] &= ~members
            found.append(clique)
    return found
