"""The synchronous walk by its definition, with lists and loops."""

from __future__ import annotations

import numpy as np

from helpers.cellular_oracle import Stream


def code(literal: int) -> int:
    """Number of a literal in the tables: 2 v is variable v, 2 v + 1 its negation."""
    return 2 * (abs(literal) - 1) + (literal < 0)


class PlainWalk:
    """One walk; clauses are lists of up to three literals +-v."""

    def __init__(
        self, n: int, clauses: list[list[int]], weights: np.ndarray, seed: int, stream: int
    ) -> None:
        self.clauses, self.weights = clauses, weights
        coins = Stream(seed, stream, 0x6D78696E)
        self.value = [coins.next() >> 63 for _ in range(n)]
        self.random = Stream(seed, stream, 0x6D787761)
        self.violated = [c for c in clauses if not self.holds(c)]
        self.flips = 0
        self.least = len(self.violated)
        self.best = list(self.value)

    def true(self, literal: int) -> bool:
        return self.value[abs(literal) - 1] == (literal > 0)

    def holds(self, clause: list[int]) -> bool:
        return any(map(self.true, clause))

    def breaks(self, literal: int) -> int:
        """Clauses that are satisfied by the negation of a literal alone."""
        return sum(
            -literal in c and sum(map(self.true, c)) == 1 for c in self.clauses if self.holds(c)
        )

    def name(self, clause: list[int], draw: int) -> int:
        weights = [int(self.weights[min(self.breaks(x), 255)]) for x in clause]
        q = draw * sum(weights) >> 32
        for literal, weight in zip(clause, weights, strict=True):
            if q < weight:
                return literal
            q -= weight
        raise AssertionError

    def step(self) -> int:
        """One step; returns how many flips it was allowed."""
        count = len(self.violated)
        most = max(k for k in (1, 2, 4, 8) if k == 1 or count >= k)
        draws = [self.random.next() for _ in range(8)]
        clauses = [
            self.violated[(q * count + ((draws[q] & 0xFFFFFFFF) * count >> 32)) // most]
            for q in range(most)
        ]
        names = [self.name(c, draw >> 32) for c, draw in zip(clauses, draws, strict=False)]
        named = [x for q, x in enumerate(names) if not set(clauses[q]) & set(names[:q])]
        satisfied = [self.holds(c) for c in self.clauses]
        for literal in named:
            self.value[abs(literal) - 1] = int(literal > 0)
        self.flips += len(named)
        self.violated = [c for c in self.violated if not set(c) & set(named)]
        share = 32 // most
        for base in range(0, len(self.clauses), share):
            for literal in named:
                row = [i for i, c in enumerate(self.clauses) if -literal in c]
                for i in row[base : base + share]:
                    clause = self.clauses[i]
                    lowest = min((-x for x in named if -x in clause), key=code)
                    if satisfied[i] and not self.holds(clause) and lowest == -literal:
                        at = clause.index(-literal)
                        self.violated.append(clause[at:] + clause[:at])
        assert len(self.violated) == sum(not self.holds(c) for c in self.clauses)
        if len(self.violated) < self.least:
            self.least, self.best = len(self.violated), list(self.value)
        return most
