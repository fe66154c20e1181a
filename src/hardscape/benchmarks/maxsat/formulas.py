"""Formulas for the MAX-SAT benchmarks, made by generators with fixed seeds.

A formula is plain lists: variables, soft clauses, their weights, hard clauses. `FAMILIES` are weighted
partial formulas of kinds that people solve, at sizes that RC2 needs a tenth of a second to a minute for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Lists = tuple[int, list[list[int]], list[int], list[list[int]]]  # variables, soft, weights, hard


def random_3sat(n: int, ratio: float, seed: int) -> Lists:
    """Uniform random 3-SAT."""
    rng = np.random.default_rng(seed)
    clauses: list[list[int]] = []
    while len(clauses) < round(ratio * n):
        v = rng.integers(1, n + 1, 3)
        if len(set(v.tolist())) == 3:
            clauses.append([int(x) for x in v * rng.choice([-1, 1], 3)])
    return n, clauses, [1] * len(clauses), []


def weighted_3sat(n: int, m: int, seed: int) -> Lists:
    """Random MAX-3-SAT with weights 1 to 20."""
    rng = np.random.default_rng(seed)
    clauses = [
        [int(x) for x in (rng.choice(n, 3, replace=False) + 1) * rng.choice([-1, 1], 3)]
        for _ in range(m)
    ]
    return n, clauses, rng.integers(1, 21, m).tolist(), []


def random_edges(n: int, p: float, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Edges of a random graph, vertices from 0."""
    return [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < p]


def vertex_cover(n: int, p: float, seed: int) -> Lists:
    """Cheapest vertex cover of a random graph, prices 1 to 30."""
    rng = np.random.default_rng(seed)
    edges = [[i + 1, j + 1] for i, j in random_edges(n, p, rng)]
    return n, [[-i - 1] for i in range(n)], rng.integers(1, 31, n).tolist(), edges


def independent_set(n: int, p: float, seed: int) -> Lists:
    """Heaviest set of vertices without edges (a clique of the complement), weights 1 to 10."""
    rng = np.random.default_rng(seed)
    edges = [[-i - 1, -j - 1] for i, j in random_edges(n, p, rng)]
    return n, [[i + 1] for i in range(n)], rng.integers(1, 11, n).tolist(), edges


def set_cover(sets: int, elements: int, k: int, seed: int) -> Lists:
    """Cheapest cover where each element is in k random sets, prices 1 to 50."""
    rng = np.random.default_rng(seed)
    hard = [(rng.choice(sets, k, replace=False) + 1).tolist() for _ in range(elements)]
    return sets, [[-i - 1] for i in range(sets)], rng.integers(1, 51, sets).tolist(), hard


def exactly_one(variables: list[int]) -> list[list[int]]:
    """One of them and no two of them."""
    return [variables, *([-a, -b] for a, b in itertools.combinations(variables, 2))]


def colouring(n: int, p: float, k: int, seed: int) -> Lists:
    """Colours for the vertices of a random graph; an edge of one colour costs 1 to 20."""
    rng = np.random.default_rng(seed)

    def x(i: int, c: int) -> int:
        return i * k + c + 1

    hard = [clause for i in range(n) for clause in exactly_one([x(i, c) for c in range(k)])]
    soft, weights = [], []
    for i in range(n):
        for j in range(i):
            if rng.random() < p:
                soft += [[-x(i, c), -x(j, c)] for c in range(k)]
                weights += [int(rng.integers(1, 21))] * k
    return n * k, soft, weights, hard


def planted(n: int, m: int, wishes: int, seed: int) -> Lists:
    """Satisfiable hard 3-SAT with soft units, weights 1 to 30."""
    rng = np.random.default_rng(seed)
    hidden = rng.choice([-1, 1], n)
    hard: list[list[int]] = []
    while len(hard) < m:
        v = rng.choice(n, 3, replace=False)
        signs = rng.choice([-1, 1], 3)
        if (signs == hidden[v]).any():
            hard.append([int(x) for x in (v + 1) * signs])
    chosen = rng.choice(n, wishes, replace=False) + 1
    soft = [[int(x)] for x in chosen * rng.choice([-1, 1], wishes)]
    return n, soft, rng.integers(1, 31, wishes).tolist(), hard


def partial_3sat(n: int, m: int, share: float, seed: int) -> Lists:
    """Random 3-SAT of which a share is hard, weights 1 to 20."""
    _, clauses, weights, _ = weighted_3sat(n, m, seed)
    count = round(share * m)
    return n, clauses[count:], weights[count:], clauses[:count]


def max_cut(n: int, p: float, seed: int) -> Lists:
    """Both sides of a random graph; an edge within a side costs 1 to 20."""
    rng = np.random.default_rng(seed)
    soft, weights = [], []
    for i in range(n):
        for j in range(i):
            if rng.random() < p:
                soft += [[i + 1, j + 1], [-i - 1, -j - 1]]
                weights += [int(rng.integers(1, 21))] * 2
    return n, soft, weights, []


def auction(bids: int, goods: int, most: int, seed: int) -> Lists:
    """Bids on random bundles of goods, of which each is sold once; a price grows with its bundle."""
    rng = np.random.default_rng(seed)
    bundles = [
        set(rng.choice(goods, rng.integers(1, most + 1), replace=False)) for _ in range(bids)
    ]
    prices = [int(len(b) * 100 * rng.uniform(0.5, 1.5)) for b in bundles]
    clash = itertools.combinations(range(bids), 2)
    hard = [[-i - 1, -j - 1] for i, j in clash if bundles[i] & bundles[j]]
    return bids, [[i + 1] for i in range(bids)], prices, hard


def forced_csp(variables: int, values: int, tightness: int, seed: int) -> Lists:
    """A random binary CSP with a hidden solution (model RB), as many variables given values as can be."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, values, variables)

    def x(v: int, a: int) -> int:
        return v * values + a + 1

    hard = [
        [-x(v, a), -x(v, b)]
        for v in range(variables)
        for a, b in itertools.combinations(range(values), 2)
    ]
    for v, w in random_edges(variables, 0.5, rng):
        for a, b in rng.integers(0, values, (tightness, 2)).tolist():
            if (a, b) != (hidden[v], hidden[w]):
                hard.append([-x(v, a), -x(w, b)])
    count = variables * values
    return count, [[i + 1] for i in range(count)], rng.integers(1, 4, count).tolist(), hard


def best_coverage(sets: int, elements: int, size: int, chosen: int, seed: int) -> Lists:
    """A limited number of sets that cover much weight; the limit is a sequential counter."""
    from pysat.card import CardEnc, EncType

    rng = np.random.default_rng(seed)
    members = [rng.choice(elements, size, replace=False) for _ in range(sets)]
    limit = CardEnc.atmost(list(range(1, sets + 1)), bound=chosen, encoding=EncType.seqcounter)
    soft = [[s + 1 for s in range(sets) if e in members[s]] for e in range(elements)]
    soft = [clause for clause in soft if clause]
    return limit.nv, soft, rng.integers(1, 21, len(soft)).tolist(), limit.clauses


def timetable(events: int, slots: int, rooms: int, p: float, seed: int) -> Lists:
    """Events in slots: none of two that clash, at most so many at once (totalizers); wishes cost."""
    from pysat.card import CardEnc, EncType

    rng = np.random.default_rng(seed)

    def x(e: int, t: int) -> int:
        return e * slots + t + 1

    hard = [
        clause for e in range(events) for clause in exactly_one([x(e, t) for t in range(slots)])
    ]
    for e, f in random_edges(events, p, rng):
        hard += [[-x(e, t), -x(f, t)] for t in range(slots)]
    top = events * slots
    for t in range(slots):
        row = [x(e, t) for e in range(events)]
        limit = CardEnc.atmost(row, bound=rooms, top_id=top, encoding=EncType.totalizer)
        top = max(top, limit.nv)
        hard += limit.clauses
    soft = [[-x(e, t)] for e in range(events) for t in range(slots)]
    return top, soft, rng.integers(1, 31, len(soft)).tolist(), hard


def diagnosis(inputs: int, gates: int, faults: int, tests: int, seed: int) -> Lists:
    """Which gates of a circuit are broken, most likely: some observations of one with some faults."""
    rng = np.random.default_rng(seed)
    wires = inputs + gates
    parents = [
        rng.choice(np.arange(max(0, g - 24), g), 2, replace=False) for g in range(inputs, wires)
    ]
    kinds = rng.integers(0, 3, gates)  # AND, OR, XOR
    broken = set(rng.choice(gates, faults, replace=False).tolist())
    operation: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a & b,
        lambda a, b: a | b,
        lambda a, b: a ^ b,
    ]
    hard: list[list[int]] = []
    top = gates  # variables 1 to gates: the gate works
    for _ in range(tests):
        value = rng.integers(0, 2, wires)
        for g in range(gates):
            a, b = value[parents[g]]
            value[inputs + g] = operation[kinds[g]](a, b) ^ (g in broken)
        for g in range(gates):
            a, b = (int(w) + 1 + top for w in parents[g])
            out = inputs + g + 1 + top
            for s, t in itertools.product((0, 1), repeat=2):
                r = operation[kinds[g]](s, t)
                hard.append([-g - 1, -a if s else a, -b if t else b, out if r else -out])
        seen = [*range(inputs), *range(wires - 12, wires)]
        hard += [[w + 1 + top if value[w] else -w - 1 - top] for w in seen]
        top += wires
    return top, [[g + 1] for g in range(gates)], rng.integers(1, 11, gates).tolist(), hard


def upgrade(packages: int, versions: int, seed: int) -> Lists:
    """An installation to bring up to date: dependencies, conflicts, prices of removal and of old versions."""
    rng = np.random.default_rng(seed)

    def x(p: int, v: int) -> int:
        return p * versions + v + 1

    hard, soft, weights = [], [], []
    for p in range(packages):
        own = [x(p, v) for v in range(versions)]
        hard += [[-a, -b] for a, b in itertools.combinations(own, 2)]
        for v in range(versions):
            for _ in range(rng.integers(0, 3)):
                q = int(rng.integers(packages))
                low = int(rng.integers(versions))
                if q != p:
                    hard.append([-x(p, v), *(x(q, u) for u in range(low, min(low + 3, versions)))])
            if rng.random() < 0.9:
                q, u = int(rng.integers(packages)), int(rng.integers(versions))
                if q != p:
                    hard.append([-x(p, v), -x(q, u)])
        if rng.random() < 0.5:
            soft.append(own)
            weights.append(int(rng.integers(20, 60)))
        soft += [[-x(p, v)] for v in range(versions - 1)]
        weights += [(versions - 1 - v) * int(rng.integers(1, 5)) for v in range(versions - 1)]
        soft.append([-x(p, versions - 1)])
        weights.append(1)
    return packages * versions, soft, weights, hard


def assignment(agents: int, tasks: int, load: int, seed: int) -> Lists:
    """Tasks for agents who take few each (a cardinality network); fit costs 1 to 40, some pairs clash."""
    from pysat.card import CardEnc, EncType

    rng = np.random.default_rng(seed)

    def x(a: int, t: int) -> int:
        return t * agents + a + 1

    hard = [
        clause for t in range(tasks) for clause in exactly_one([x(a, t) for a in range(agents)])
    ]
    hard += [[-x(a, s), -x(a, t)] for s, t in random_edges(tasks, 0.1, rng) for a in range(agents)]
    top = agents * tasks
    for a in range(agents):
        row = [x(a, t) for t in range(tasks)]
        limit = CardEnc.atmost(row, bound=load, top_id=top, encoding=EncType.cardnetwrk)
        top = max(top, limit.nv)
        hard += limit.clauses
    soft = [[-x(a, t)] for t in range(tasks) for a in range(agents)]
    return top, soft, rng.integers(1, 41, len(soft)).tolist(), hard


def spin_glass(side: int, seed: int) -> Lists:
    """Ground state of a square lattice of spins, integer couplings -10 to 10, open boundaries."""
    rng = np.random.default_rng(seed)
    soft, weights = [], []
    for i, j in itertools.product(range(side), repeat=2):
        for k, m in ((i + 1, j), (i, j + 1)):
            if k < side and m < side:
                a, b = i * side + j + 1, k * side + m + 1
                coupling = int(rng.integers(1, 11)) * int(rng.choice([-1, 1]))
                soft += [[a, coupling // abs(coupling) * -b], [-a, coupling // abs(coupling) * b]]
                weights += [abs(coupling)] * 2
    return side * side, soft, weights, []


FAMILIES: dict[str, Callable[[int], Lists]] = {
    "set cover, 200 sets, 150 elements": lambda seed: set_cover(200, 150, 8, seed),
    "set cover, 300 sets, 150 elements": lambda seed: set_cover(300, 150, 8, seed),
    "vertex cover, 100 vertices": lambda seed: vertex_cover(100, 0.1, seed),
    "vertex cover, 150 vertices": lambda seed: vertex_cover(150, 0.04, seed),
    "3 colours, 20 vertices": lambda seed: colouring(20, 0.4, 3, seed),
    "planted 3-SAT, 200 variables": lambda seed: planted(200, 800, 60, seed),
    "maximum cut, 40 vertices": lambda seed: max_cut(40, 0.15, seed),
    "independent set, 90 vertices": lambda seed: independent_set(90, 0.15, seed),
    "partial 3-SAT, 90 variables": lambda seed: partial_3sat(90, 480, 0.3, seed),
    "auction, 70 bids, 35 goods": lambda seed: auction(70, 35, 5, seed),
    "forced CSP, 18 variables": lambda seed: forced_csp(18, 8, 24, seed),
    "coverage by 5 of 25 sets": lambda seed: best_coverage(25, 40, 7, 5, seed),
    "timetable, 40 events": lambda seed: timetable(40, 8, 6, 0.12, seed),
    "diagnosis, 400 gates": lambda seed: diagnosis(40, 400, 2, 12, seed),
    "upgrade, 65 packages": lambda seed: upgrade(65, 5, seed),
    "assignment, 40 tasks": lambda seed: assignment(8, 40, 6, seed),
    "spin glass, 14 x 14": lambda seed: spin_glass(14, seed),
}
