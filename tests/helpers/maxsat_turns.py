"""Searches that stand for others where turns are counted, and formulas that none of them satisfies soon."""

import itertools
import random

import numpy as np

from hardscape.maxsat import Formula


def parities(variables, count, seed=1):
    """Hard sums modulo 2 of three variables each, with a solution, and weighted soft units."""
    rng = random.Random(seed)
    hidden = [rng.randrange(2) for _ in range(variables)]
    hard = []
    for _ in range(count):
        three = rng.sample(range(variables), 3)
        odd = sum(hidden[v] for v in three) % 2
        for signs in itertools.product((0, 1), repeat=3):
            if sum(signs) % 2 != odd:
                hard.append([-(v + 1) if x else v + 1 for v, x in zip(three, signs, strict=True)])
    soft = [[v if rng.randrange(2) else -v] for v in range(1, variables + 1)]
    return Formula.from_clauses(soft, [rng.randint(1, 100) for _ in soft], hard=hard)


class Violating:
    """A search that violates so many hard clauses, turn by turn, where another one satisfies them."""

    def __init__(self, *counts):
        self.counts = list(counts)

    def cost(self):
        return self.counts.pop(0), 0


class Falling:
    """Clause weighting that costs one less after some turns."""

    def __init__(self):
        self.turns, self.least, self.given_up = 0, 9, False

    def cost(self):
        return 0, self.least

    def best(self):
        return np.zeros(100, dtype=np.uint8)

    def adopt(self, assignment, stop):
        raise AssertionError("nothing is better")
