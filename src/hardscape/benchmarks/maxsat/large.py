"""Twenty larger formulas of kinds that people solve, each of which takes seconds to hours to prove.

``python -m hardscape.benchmarks.maxsat.solvers generate FOLDER``. Seeds choose others of the same kinds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hardscape.benchmarks.maxsat import formulas
from hardscape.benchmarks.maxsat.formulas import Lists, exactly_one

#: Weights of soft units.
_MOST_WEIGHT = 100


def wished(variables: int, hard: list[list[int]], units: int, rng: np.random.Generator) -> Lists:
    """Hard clauses with so many soft units on random literals, weights 1 to 100."""
    chosen = rng.choice(variables, min(units, variables), replace=False) + 1
    soft = [[int(x)] for x in chosen * rng.choice([-1, 1], len(chosen))]
    return variables, soft, rng.integers(1, _MOST_WEIGHT + 1, len(soft)).tolist(), hard


def blocks_world(blocks: int, steps: int, units: int, seed: int) -> Lists:
    """A plan of so many moves from one stacking of blocks to another, each move split in three, and wishes.

    A move is an object, a source and a destination. The stacking at the end is one that random moves lead to.
    """
    rng = np.random.default_rng(seed)
    table, places = blocks, range(blocks + 1)
    number = itertools.count(1)
    on = {
        (b, p, t): next(number)
        for t in range(steps + 1)
        for b in range(blocks)
        for p in places
        if p != b
    }
    moved, source, target = (
        {(p, t): next(number) for t in range(steps) for p in places} for _ in range(3)
    )
    begin = _stacking(blocks, rng)
    end = dict(begin)
    for _ in range(steps):
        free = [p for p in range(blocks) if p not in end.values()]
        b = int(rng.choice(free))
        end[b] = int(rng.choice([p for p in [*free, table] if p not in (b, end[b])]))
    hard = [[on[b, p, 0]] for b, p in begin.items()] + [[on[b, p, steps]] for b, p in end.items()]
    for t in range(steps + 1):
        for b in range(blocks):
            hard += exactly_one([on[b, p, t] for p in places if p != b])
            above = [on[c, b, t] for c in range(blocks) if c != b]
            hard += [[-x, -y] for x, y in itertools.combinations(above, 2)]
    for t in range(steps):
        hard.append([-moved[table, t]])
        for kind in (moved, source, target):
            hard += exactly_one([kind[p, t] for p in places])
        for b in range(blocks):
            hard += [[-moved[b, t], -target[b, t]], [-moved[b, t], -source[b, t]]]
            for c in range(blocks):
                if c != b:
                    hard += [[-moved[b, t], -on[c, b, t]], [-target[b, t], -on[c, b, t]]]
            for p in places:
                if p == b:
                    continue
                now, then = on[b, p, t], on[b, p, t + 1]
                hard += [
                    [-moved[b, t], -source[p, t], now],
                    [-moved[b, t], -target[p, t], then],
                    [moved[b, t], -now, then],
                    [moved[b, t], now, -then],
                ]
    return wished(next(number) - 1, hard, units, rng)


def _stacking(blocks: int, rng: np.random.Generator) -> dict[int, int]:
    """What each block is on, at random."""
    found: dict[int, int] = {}
    for b in rng.permutation(blocks).tolist():
        free = [c for c in found if c not in found.values()]
        found[b] = int(rng.choice([*free, blocks]))
    return found


def circuit(inputs: int, gates: int, units: int, seed: int) -> Lists:
    """A random circuit of AND and XOR with some outputs given, as one input makes them, and wishes."""
    rng = np.random.default_rng(seed)
    wires = inputs + gates
    value = [bool(x) for x in rng.integers(0, 2, inputs)]
    hard: list[list[int]] = []
    for g in range(inputs, wires):
        u, v = rng.choice(np.arange(max(0, g - 60), g), 2, replace=False).tolist()
        s, r = rng.choice([-1, 1], 2).tolist()
        a, b, out = s * (u + 1), r * (v + 1), g + 1
        x, y = value[u] == (s > 0), value[v] == (r > 0)
        if rng.random() < 0.6:
            value.append(x and y)
            hard += [[-out, a], [-out, b], [out, -a, -b]]
        else:
            value.append(x != y)
            hard += [[-out, a, b], [-out, -a, -b], [out, -a, b], [out, a, -b]]
    hard += [[w + 1 if value[w] else -w - 1] for w in range(wires - 40, wires)]
    return wished(wires, hard, units, rng)


def hypercube_cover(dimension: int) -> Lists:
    """The fewest edges of a hypercube that meet every square of it (Grossman and Wool's CYC)."""
    edge: dict[tuple[int, int], int] = {}
    for v in range(2**dimension):
        for i in range(dimension):
            if not v >> i & 1:
                edge[v, i] = len(edge) + 1
    hard = [
        [edge[v, i], edge[v | 1 << i, j], edge[v, j], edge[v | 1 << j, i]]
        for v in range(2**dimension)
        for i, j in itertools.combinations(range(dimension), 2)
        if not (v >> i & 1 or v >> j & 1)
    ]
    return len(edge), [[-e] for e in edge.values()], [1] * len(edge), hard


def steiner_cover(power: int) -> Lists:
    """The fewest points that meet every triple of the Steiner system of the lines of an affine space over 3."""
    points = list(itertools.product(range(3), repeat=power))
    place = {p: i + 1 for i, p in enumerate(points)}
    hard = []
    for p, q in itertools.combinations(points, 2):
        third = place[tuple(-(a + b) % 3 for a, b in zip(p, q, strict=True))]
        if third > place[q]:
            hard.append([place[p], place[q], third])
    return len(points), [[-i] for i in place.values()], [1] * len(points), hard


LARGE: dict[str, Callable[[int], Lists]] = {
    "blocks_7": lambda seed: blocks_world(7, 10, 500, seed),
    "blocks_9": lambda seed: blocks_world(9, 13, 500, seed),
    "blocks_12": lambda seed: blocks_world(12, 18, 500, seed),
    "blocks_16": lambda seed: blocks_world(16, 24, 500, seed),
    "circuit_2000": lambda seed: circuit(100, 2000, 500, seed),
    "circuit_20000": lambda seed: circuit(400, 20_000, 500, seed),
    "cover_1000": lambda seed: formulas.set_cover(1000, 400, 10, seed),
    "cover_hypercube": lambda seed: hypercube_cover(8),
    "cover_steiner": lambda seed: steiner_cover(4),
    "diagnosis_2500": lambda seed: formulas.diagnosis(60, 2500, 6, 12, seed),
    "upgrade_130": lambda seed: formulas.upgrade(130, 5, seed),
    "timetable_70": lambda seed: formulas.timetable(70, 10, 8, 0.12, seed),
    "assignment_80": lambda seed: formulas.assignment(12, 80, 8, seed),
    "glass_24": lambda seed: formulas.spin_glass(24, seed),
    "cut_90": lambda seed: formulas.max_cut(90, 0.12, seed),
    "colouring_60": lambda seed: formulas.colouring(60, 0.25, 4, seed),
    "independent_180": lambda seed: formulas.independent_set(180, 0.12, seed),
    "auction_200": lambda seed: formulas.auction(200, 60, 6, seed),
    "csp_30": lambda seed: formulas.forced_csp(30, 10, 30, seed),
    "coverage_12_of_60": lambda seed: formulas.best_coverage(60, 120, 12, 12, seed),
}


def generate(folder: Path, *, seed: int = 1, only: str = "") -> None:
    """Write the formulas as WCNF.

    Parameters
    ----------
    folder
        Where; it is made.
    seed
        Of those that are random.
    only
        Part of the names of those that are wanted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in LARGE.items():
        if only in name:
            _, soft, weights, hard = make(seed)
            rows = [("h", clause) for clause in hard]
            rows += [(str(w), clause) for w, clause in zip(weights, soft, strict=True)]
            lines = (" ".join([mark, *map(str, clause), "0"]) for mark, clause in rows)
            (folder / f"{name}.wcnf").write_text("\n".join(lines) + "\n")
