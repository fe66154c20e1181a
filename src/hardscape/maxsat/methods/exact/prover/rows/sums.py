"""Linear constraints that clauses hide, found again.

Totalizers, counters, and polynomial watchdogs say that literals weigh no more than so much with variables
of their own, which rules set: "if a and b, then c". The values of such variables come in modules, of which
others read the outputs without circles: a tree, if what several read is thought of as many. What a module
can tell of its inputs are states, few: the least sets of outputs that the rules demand. By dynamic
programming over the tree follow, for any weights at all, the most that a choice of inputs weighs that the
rules allow, and the least that one weighs that they refute. The former is a bound whatever the weights are;
where it is below the latter, the row says the same as the clauses. So weights may be guessed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

#: Most combinations of states of what a module reads, and literals of its rules times these.
_MOST_STATES, _MOST_WORK = 50_000, 20_000_000
#: Most literals of all clauses, share of clauses with three, and of rules among those of other variables than
#: named ones, where sums may prevail.
MOST_LITERALS, _TERNARY, _RULES = 600_000, 0.25, 0.95
#: Most literals that a rule reads, and outputs that a guess looks at.
_MOST_READ, _LOOKED_AT = 3, 8
#: How much more a row may allow than what is refuted, to be one.
_NEAR = 1.25
#: What is refuted by nothing, and more than anything may weigh.
_NEVER, _MOST_WEIGHT = 1 << 60, 1 << 44


Rule = tuple[tuple[int, ...], int]


class Sum(NamedTuple):
    """The literals that hold weigh no more than so much."""

    literals: list[int]
    weights: list[int]
    most: int


class Sums:
    """The rows that clauses say by variables outside `named`.

    Attributes
    ----------
    rows : list of Sum
        With the clauses that are `left` they say what the clauses say.
    left : list of clauses
        Those of other variables alone, and those that rows do not say as well.
    hidden : set of variables
        Those of no clause that is left.
    prevail : bool
        Whether most clauses are said by rows.
    """

    def __init__(self, clauses: Sequence[Sequence[int]], named: Iterable[int]) -> None:
        self.rows: list[Sum] = []
        self.hidden: set[int] = set()
        self._rules: list[Rule] = []
        setting, self.left = _ruled(clauses, named)
        self.prevail = 2 * len(self.left) < len(clauses)
        if not self.prevail:
            self.left = list(clauses)
            return
        apart = {
            (-x, -y)
            for clause in self.left
            if len(clause) == 2
            for x, y in itertools.permutations(clause)
        }
        shapes: dict[Any, _Shape | None] = {}
        for rules in _parts(setting):
            if all(len(read) + (x != 0) == 2 for read, x in rules):
                self.left += map(_clause, rules)  # counters, or less
                continue
            part = _modules(rules)
            same = all(module.grow(apart, shapes) for module in part)
            below = {id(child) for module in part for child in module.children}
            for top in part if same else ():
                if id(top) not in below:
                    row = _sum(top, part)
                    if sum(row.weights) > row.most and top.most <= _NEAR * top.refuted:
                        self.rows.append(row)
                    same = same and top.most < top.refuted
            if same:
                self._rules += rules
                self.hidden.update(abs(x) for _, x in rules if x)
            else:
                self.left += map(_clause, rules)
        self._rules.sort(key=lambda rule: abs(rule[1]) or math.inf)  # what refutes comes last
        self.prevail = 2 * len(self.left) < len(clauses)

    def complete(self, values: list[int]) -> bool:
        """Give the hidden variables values, 0 or 1, that suit those of the others; False if there are none."""
        for v in self.hidden:
            values[v - 1] = 0
        true = {v if x else -v for v, x in enumerate(values, 1) if v not in self.hidden}
        for read, set_ in self._rules:
            if set_ not in true and true.issuperset(read):
                true.add(set_)
        for _, x in self._rules:
            if x:
                values[abs(x) - 1] = int((x in true) == (x > 0))
        return 0 not in true


def flat(clauses: Sequence[Sequence[int]], named: Iterable[int]) -> tuple[Any, Any, Any]:
    """Clauses as their literals and where each begins, and named variables."""
    import numpy as np

    literals = np.fromiter(itertools.chain.from_iterable(clauses), dtype=np.int64)
    return literals, np.cumsum([0, *map(len, clauses)]), np.array(list(named), dtype=np.int64)


def may_prevail(literals: Any, offsets: Any, named: Any) -> bool:
    """Whether nearly all clauses are rules or of `named` variables alone, and many have three literals."""
    import numpy as np

    sizes = np.diff(offsets)
    few = (sizes == 3).sum() <= _TERNARY * len(sizes)
    if few or len(literals) > MOST_LITERALS or not sizes.all():
        return False
    rules, _ = setters(literals, offsets, named)
    others = np.logical_or.reduceat(~np.isin(abs(literals), named), offsets[:-1])
    return bool(rules.sum() > _RULES * others.sum())


def setters(literals: Any, offsets: Any, named: Any) -> tuple[Any, Any]:
    """Which clauses are rules, and the literals that these set, 0 where they refute.

    Variables are numbered in the order of their definitions: of each clause the last one is set by the
    others, or refuted. What is set by one literal is read by that one alone, and what is read by nobody is
    only refuted. `named` are variables that are neither. No clause is empty.
    """
    import numpy as np

    sizes, starts = np.diff(offsets), offsets[:-1]
    of, up = abs(literals), literals > 0
    last = of == np.repeat(np.maximum.reduceat(of, starts), sizes)
    largest = int(of.max(initial=0))
    set_, read = np.zeros((2, 2, largest + 1), dtype=bool)
    set_[up[last].astype(int), of[last]] = True
    read[(~up[~last]).astype(int), of[~last]] = True
    sign = np.where(read[1] | (set_[1] & ~read[0]), 1, -1)
    hidden = ~(read[0] & read[1]) & np.where(sign > 0, set_[1], set_[0])
    hidden[named[named <= largest]] = False
    plain = (sizes > 1) & (sizes <= _MOST_READ + 1)
    plain &= np.add.reduceat(last, starts, dtype=np.int64) == 1
    hidden[of[np.repeat(~plain, sizes)]] = False
    for _ in range(2):  # no clause sets two
        sets = hidden[of] & (up == (sign[of] > 0))
        many = np.repeat(np.add.reduceat(sets, starts, dtype=np.int64) > 1, sizes)
        hidden[of[sets & many]] = False
    sets = hidden[of] & (up == (sign[of] > 0))
    return np.logical_or.reduceat(hidden[of], starts), np.add.reduceat(
        np.where(sets, literals, 0), starts
    )


def _ruled(
    clauses: Sequence[Sequence[int]], named: Iterable[int]
) -> tuple[list[Rule], list[Sequence[int]]]:
    """Clauses as rules, and those that are none."""
    left = [clause for clause in clauses if not clause]
    clauses = [clause for clause in clauses if clause]
    if not clauses:
        return [], left
    of, setter = setters(*flat(clauses, named))
    rules: list[Rule] = []
    for clause, rule, x in zip(clauses, of.tolist(), setter.tolist(), strict=True):
        if rule:
            rules.append((tuple([-y for y in clause if y != x]), x))
        else:
            left.append(clause)
    return rules, left


def _clause(rule: Rule) -> list[int]:
    """What a rule says."""
    read, set_ = rule
    return [-x for x in read] + [set_] * (set_ != 0)


class _Shape(NamedTuple):
    """What rules make of what they read: states, and what they weigh."""

    times: list[int]  # of what is read
    table: Any  # truths of the outputs by state
    least: Any  # what each state weighs at least, and at most
    most: Any
    refuted: int  # the least that rules refute here and below
    number: int


class _Module:
    """Outputs that rules set which read the same modules and inputs.

    Its values are counted in parts of its own.
    """

    def __init__(self, entries: list[int], children: list[_Module]) -> None:
        self.entries, self.children = entries, children
        self.rules: list[Rule] = []
        self.outputs: list[int] = []
        self.shape: _Shape

    @property
    def most(self) -> int:
        """The most that its inputs weigh."""
        return int(self.shape.most.max())

    @property
    def refuted(self) -> int:
        """The least weight of inputs that rules refute."""
        return self.shape.refuted

    def grow(self, apart: set[tuple[int, int]], shapes: dict[Any, _Shape | None]) -> bool:
        """Find the states and what they weigh; whether that can be done.

        Inputs that are `apart` exclude one another by other clauses, which may have made rules needless.
        """
        self.outputs = sorted({x for _, x in self.rules if x}, key=abs)
        read = [x for child in self.children for x in child.outputs] + self.entries
        column = {x: i for i, x in enumerate(read)}
        place = {x: i for i, x in enumerate([*self.outputs, 0])}
        rules = sorted((place[x], *[column[y] for y in some]) for some, x in self.rules)
        never = [
            (column[x], column[y])
            for x, y in itertools.combinations(self.entries, 2)
            if (x, y) in apart
        ]
        below = [child.shape for child in self.children]
        key = (*(x.number for x in below), -1, len(self.entries), len(place), *rules, -1, *never)
        if key not in shapes:
            shapes[key] = _shape(below, len(self.entries), rules, never, len(place), len(shapes))
        shape = shapes[key]
        if shape is not None:
            self.shape = shape
        return shape is not None


def _shape(
    below: list[_Shape],
    entries: int,
    rules: list[tuple[int, ...]],
    never: list[tuple[int, int]],
    outputs: int,
    number: int,
) -> _Shape | None:
    """The shape of rules over shapes and entries; None where that takes too much.

    A rule is the number of its output, where the last one refutes, and those of what it reads.
    """
    import numpy as np

    tables = [x.table for x in below] + [np.array([[False], [True]])] * entries
    sizes = [len(table) for table in tables]
    states = math.prod(sizes)
    if states > _MOST_STATES or states * len(rules) > _MOST_WORK:
        return None
    chosen = np.indices(sizes).reshape(len(sizes), -1)
    held = np.concatenate([t[i] for t, i in zip(tables, chosen, strict=True)], axis=1)
    held = np.concatenate([held, np.ones((states, 1), dtype=bool)], axis=1)
    widest = max(map(len, rules)) - 1
    reads = np.array([[*x[1:], *[-1] * (widest + 1 - len(x))] for x in rules])
    fires = held[:, reads[:, 0]]
    for i in range(1, widest):
        fires &= held[:, reads[:, i]]
    sets, firsts = np.unique([x[0] for x in rules], return_index=True)
    truths = np.zeros((states, outputs), dtype=bool)
    truths[:, sets] = np.logical_or.reduceat(fires, firsts, axis=1)
    least, most = (
        [getattr(x, of) for x in below] + [np.arange(2)] * entries for of in ("least", "most")
    )
    times = _times(chosen, least, most, truths, len(below))
    lowest = sum(t * v[i] for t, v, i in zip(times, least, chosen, strict=True))
    highest = sum(t * v[i] for t, v, i in zip(times, most, chosen, strict=True))
    if int(highest.max()) >= _MOST_WEIGHT:
        return None
    gone = np.zeros(states, dtype=bool)
    for a, b in never:
        gone |= held[:, a] & held[:, b]
    bad = truths[:, -1] & ~gone
    refuted = min([t * x.refuted for t, x in zip(times, below, strict=False)], default=_NEVER)
    refuted = min(refuted, int(lowest[bad].min(initial=_NEVER)), _NEVER)
    kept = ~(bad | gone)
    if not kept.any():
        return None
    packed = np.packbits(truths[kept, :-1], axis=1)
    packed = np.ascontiguousarray(np.pad(packed, ((0, 0), (0, 1))))
    _, firsts, of = np.unique(
        packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True
    )
    table = truths[kept, :-1][firsts]
    weighs = np.full(len(table), _NEVER), np.full(len(table), -1)
    np.minimum.at(weighs[0], of, lowest[kept])
    np.maximum.at(weighs[1], of, highest[kept])
    return _Shape(times, table, *weighs, refuted, number)


def _times(chosen: Any, least: list[Any], most: list[Any], truths: Any, below: int) -> list[int]:
    """How many parts what is read weighs: a guess by which what sets an output weighs about the same."""
    import numpy as np

    if len(least) != 2:
        return [1] * len(least)
    (first, second), slopes = least, Counter[tuple[int, int]]()
    order = np.argsort(second, kind="stable")
    outputs = np.flatnonzero(truths.any(axis=0))
    for c in outputs[:: 1 + len(outputs) // _LOOKED_AT]:
        # Of each state of the second the least of the first that sets it.
        fewest = np.full(len(second), _NEVER)
        set_ = truths[:, c]
        np.minimum.at(fewest, chosen[1][set_], first[chosen[0][set_]])
        edge: list[tuple[int, int]] = []
        for a, b in zip(fewest[order].tolist(), second[order].tolist(), strict=True):
            if a < (edge[-1][0] if edge else _NEVER):
                edge.append((a, b))
        for (a, b), (fewer, more) in itertools.pairwise(edge):
            divisor = math.gcd(a - fewer, more - b)
            slopes[((more - b) // divisor, (a - fewer) // divisor)] += 1
    if slopes:
        usual = max(slopes, key=lambda x: (slopes[x], -sum(x), x))
        return [*usual]
    if below == 1:  # as much as makes up for all that the child may weigh
        lone = chosen[0][truths.any(axis=1) & (chosen[1] == 1)]
        if len(lone):
            short = most[0][first < first[lone].min()].max(initial=0)
            return [1, max(1, int(most[0].max() - short))]
    return [1, 1]


def _sum(top: _Module, modules: list[_Module]) -> Sum:
    """The row of a module at the top."""
    times: dict[int, int] = defaultdict(int, {id(top): 1})
    weights, most = defaultdict[int, int](int), top.most
    for module in reversed(modules):  # readers come before what they read
        read = [*map(id, module.children), *module.entries]
        for i, (t, name) in enumerate(zip(module.shape.times, read, strict=True)):
            of = times if i < len(module.children) else weights
            of[name] += t * times[id(module)]
    for x in list(weights):
        both = min(weights[x], weights.get(-x, 0))  # of which one always holds
        most -= both
        weights[x] -= both
        weights[-x] -= both
    held = {x: w for x, w in weights.items() if w}
    divisor = math.gcd(*held.values()) or 1
    return Sum(list(held), [w // divisor for w in held.values()], most // divisor)


def _parts(rules: list[Rule]) -> list[list[Rule]]:
    """Rules that outputs join."""
    parent = {abs(x): abs(x) for _, x in rules}

    def root(v: int) -> int:
        while parent[v] != v:
            parent[v] = v = parent[parent[v]]
        return v

    parent.pop(0, None)
    names = []
    for read, set_ in rules:
        hidden = [abs(x) for x in read if abs(x) in parent]
        name = abs(set_) or hidden[0]
        for v in hidden:
            if parent[v] != parent[name] and (mine := root(v)) != (other := root(name)):
                parent[mine] = other
        names.append(name)
    parts: dict[int, list[Rule]] = defaultdict(list)
    for rule, name in zip(rules, names, strict=True):
        parts[root(name)].append(rule)
    return list(parts.values())


def _modules(rules: list[Rule]) -> list[_Module]:
    """Modules of a part, each after what it reads."""
    by: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        by[rule[1]].append(rule)
    refuting = by.pop(0, [])
    of: dict[int, _Module] = {}  # by output
    found: dict[tuple[Any, ...], _Module] = {}  # by what is read

    def module_of(some: list[Rule]) -> _Module:
        read = {x for each, _ in some for x in each}
        children = {id(of[x]): of[x] for x in read if x in of}
        entries = sorted((x for x in read if x not in of), key=abs)
        key = (*sorted(children), *entries)
        if key not in found:
            found[key] = _Module(
                entries, sorted(children.values(), key=lambda x: abs(x.rules[0][1]))
            )
        found[key].rules += some
        return found[key]

    for output in sorted(by, key=abs):
        of[output] = module_of(by[output])
    for rule in refuting:
        module_of([rule])
    return list(found.values())
