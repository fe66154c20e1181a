"""The synchronous walk by its definition, with lists and loops."""

from __future__ import annotations

import numpy as np

from helpers.cellular_oracle import Stream


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
        most = 4 if count >= 8 else 2 if count >= 4 else 1
        named: list[int] = []
        for q in range(4):
            draw = self.random.next()
            if q >= most:
                continue
            clause = self.violated[(draw & 0xFFFFFFFF) * count >> 32]
            if not set(clause) & set(named):
                named.append(self.name(clause, draw >> 32))
        satisfied = [self.holds(c) for c in self.clauses]
        for literal in named:
            self.value[abs(literal) - 1] = int(literal > 0)
        self.flips += len(named)
        self.violated = [c for c in self.violated if not set(c) & set(named)]
        share = 32 // most
        for base in range(0, len(self.clauses), share):
            for q, literal in enumerate(named):
                row = [i for i, c in enumerate(self.clauses) if -literal in c]
                for i in row[base : base + share]:
                    clause = self.clauses[i]
                    earlier = any(-x in clause for x in named[:q])
                    if satisfied[i] and not self.holds(clause) and not earlier:
                        self.violated.append(clause)
        assert len(self.violated) == sum(not self.holds(c) for c in self.clauses)
        if len(self.violated) < self.least:
            self.least, self.best = len(self.violated), list(self.value)
        return most
