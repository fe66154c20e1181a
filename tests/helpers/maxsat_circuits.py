"""Random circuits with faults, as formulas: lists of variables, soft clauses, weights and hard clauses."""

from __future__ import annotations

from itertools import product

import numpy as np


def faulty_circuit(seed, *, tests=2, gates=5, most=9):
    """A wish a gate or for some together, observations of some wires, and clauses that are no gates.

    Some circuits have free inputs, gates that cannot fail, or tables that leave an output open.
    """
    rng = np.random.default_rng(seed)
    inputs = int(rng.integers(1, 3))
    wishes = int(rng.integers(2, gates + 1))
    guards = [g % wishes + 1 if rng.random() < 0.7 else None for g in range(gates)]
    open_share, free_share = (
        ((0.1, 0.5) if rng.random() < 0.3 else (0.0, 0.0)) if seed % 2 else (0, 0)
    )
    kinds = []
    for g in range(gates):
        parents = sorted(set(rng.integers(0, inputs + g, rng.integers(1, 4)).tolist()))
        kinds.append((parents, rng.integers(0, 2, 2 ** len(parents)).tolist()))
    hard, top = [], wishes
    for _ in range(tests):
        value = rng.integers(0, 2, inputs + gates).tolist()
        for g, (parents, table) in enumerate(kinds):
            out = top + inputs + g + 1
            for row, bits in enumerate(product((0, 1), repeat=len(parents))):
                if rng.random() < open_share:
                    continue
                clause = [
                    -(p + 1 + top) if b else p + 1 + top for p, b in zip(parents, bits, strict=True)
                ]
                clause.append(out if table[row] else -out)
                hard.append(clause if guards[g] is None else [*clause, -guards[g]])
            row = int("".join(str(value[p]) for p in parents), 2)
            fails = guards[g] is not None and rng.random() < 0.3
            value[inputs + g] = table[row] ^ fails
        for w in range(inputs + gates):
            if rng.random() < (1 - free_share if w < inputs else 0.4):
                hard.append([w + 1 + top if value[w] else -(w + 1 + top)])
        top += inputs + gates
    if seed % 3 == 0:
        chosen = rng.choice(np.arange(wishes + 1, top + 1), 3, replace=False)
        hard.append([int(x) for x in chosen * rng.choice([-1, 1], 3)])
        hard[-1] += [-int(rng.integers(1, wishes + 1))] * int(rng.integers(2))
    soft = [[w + 1] for w in range(wishes)]
    return top, soft, rng.integers(1, most + 1, wishes).tolist(), hard


def renamed(lists, seed):
    """The same with other numbers and signs of variables, and its clauses in another order."""
    n, soft, weights, hard = lists
    rng = np.random.default_rng(seed)
    name = (rng.permutation(n) + 1) * rng.choice([-1, 1], n)

    def told(clause):
        return [int(name[abs(x) - 1]) * (1 if x > 0 else -1) for x in clause]

    return n, [told(c) for c in soft], weights, [told(hard[i]) for i in rng.permutation(len(hard))]
