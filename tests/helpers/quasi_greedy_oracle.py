"""The quasi-greedy dynamics of one clone at a time, in plain Python: what the kernels must equal."""

from __future__ import annotations

import numpy as np

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_SPINS, _COINS, _FINE = 0x7370696E73, 0x636F696E73, 0x66696E65


def mix64(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def random_number(seed, stream, purpose, index):
    state = 0
    for part in (seed, stream, purpose):
        state = mix64((state + part + _GOLDEN) & _MASK)
    return mix64((state + (index + 1) * _GOLDEN) & _MASK)


def initial_spins(num_variables, seed, clone):
    """x of one clone: bit clone % 32 of a random word of 32 clones for each variable."""
    spins = []
    for v in range(num_variables):
        pair = random_number(seed, clone // 32, _SPINS, v // 2)
        spins.append(pair >> (32 * (v % 2) + clone % 32) & 1)
    return np.array(spins, dtype=np.uint8)


def coin(seed, clone, sweep, update, updates):
    """A number from 0 to 2^40 - 1 that 1024 clones share."""
    numbers = -(-updates // 8)
    eight = random_number(seed, clone // 1024, _COINS, sweep * numbers + update // 8)
    rest = random_number(seed, clone // 1024, _FINE, sweep * updates + update)
    return (eight >> (8 * (update % 8)) & 255) << 32 | rest >> 32


def trajectory(system, plan, seed, clone, sweeps):
    """Yield the spins of one clone at the start and after each sweep."""
    clauses = [list(members) for members in system.clauses()]
    of_variable = [[] for _ in range(system.num_variables)]
    for a, members in enumerate(clauses):
        for v in members:
            of_variable[v].append(a)
    x = initial_spins(system.num_variables, seed, clone)
    yield x.copy()
    for sweep in range(sweeps):
        for update, v in enumerate(plan.order):
            violated = [(x[clauses[a]].sum() + system.parity[a]) % 2 for a in of_variable[v]]
            w = plan.tables[len(of_variable[v])][int(sum(violated))]
            if coin(seed, clone, sweep, update, len(plan.order)) < int(w):
                x[v] ^= 1
        yield x.copy()


def violated(system, x):
    """Clause bits of one assignment."""
    return np.array(
        [
            (sum(int(x[v]) for v in members) + b) % 2
            for members, b in zip(system.clauses(), system.parity, strict=True)
        ],
        dtype=np.uint8,
    )


def sweep_order(system):
    """Walk from variable to variable through shared clauses, closing more than are opened.

    Returns the variables in this order and the clauses of each update: the one through which it was entered
    first, if it was, and that through which the next one is last.
    """
    neighbours = system.clauses()
    clauses = [[a for a, c in enumerate(neighbours) if v in c] for v in range(system.num_variables)]
    left = [len(found) for found in neighbours]
    opened = [False] * len(left)
    waiting = {v for v in range(len(clauses)) if clauses[v]}
    order, entered = [], []

    def cost(v):
        return sum(not opened[a] for a in clauses[v]) - sum(left[a] == 1 for a in clauses[v]), v

    at, through = -1, -1
    while waiting:
        steps = [
            (v, a)
            for a in (clauses[at] if order else ())
            if a != through
            for v in neighbours[a]
            if v in waiting
        ]
        if steps:
            at, through = min(steps, key=lambda step: (cost(step[0]), step[1]))
        else:
            at, through = min(sorted(waiting)[:64], key=cost), -1
        waiting.remove(at)
        order.append(at)
        entered.append(through)
        for a in clauses[at]:
            opened[a] = True
            left[a] -= 1
    touched = []
    for first, last, v in zip(entered, [*entered, -1][1:], order, strict=True):
        between = [a for a in clauses[v] if a not in (first, last)]
        touched.append([a for a in (first, *between, last) if a >= 0])
    return order, touched, [a >= 0 for a in entered]
