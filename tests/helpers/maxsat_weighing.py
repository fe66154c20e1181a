"""The clause-weighting walk of many by its definition, with lists and loops: scores are found anew."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hardscape.maxsat import Formula
from hardscape.maxsat.methods.islands.weighing.tables import INFEASIBLE, WeighingTables
from hardscape.maxsat.presolve import presolve
from helpers.cellular_oracle import Stream


class PlainWeighing:
    """One walk; clauses are lists of literals +-v, the hard ones first."""

    def __init__(self, tables: WeighingTables, initial: np.ndarray, seed: int, stream: int) -> None:
        codes = [tables.literal[a:b].tolist() for a, b in pairwise(tables.start)]
        self.clauses = [[-(x >> 1) - 1 if x & 1 else (x >> 1) + 1 for x in c] for c in codes]
        self.tables, self.stream = tables, stream
        self.random = Stream(seed, stream, 0x6D787765)
        self.lasts = bool(tables.lasting) and stream % tables.lasting == tables.lasting - 1
        self.steps = self.pressed = 0
        self.renew(initial, afresh=True)

    def renew(self, value: np.ndarray, *, afresh: bool) -> None:
        """Go on from an assignment, if `afresh` with first search weights."""
        self.restarts, self.improved_at = 0, self.steps
        self.begin(value.tolist(), afresh=afresh)
        self.best, self.least = list(self.value), self.counts()

    def begin(self, value: list[int], *, afresh: bool = True) -> None:
        self.value = list(value)
        self.age = [0] * len(value)
        self.last = -1
        if afresh:
            self.pressure = self.taken = 0 if self.temper()[5] else 2**16
            self.weight = self.tables.unit.tolist()
            if self.temper()[5]:
                self.weight = [max(1, unit * self.temper()[1] >> 16) for unit in self.weight]
            self.spread()
        broken = [c for c in range(len(self.clauses)) if not self.trues(c)]
        hard = self.tables.num_hard
        self.lists = [[c for c in broken if c < hard], [c for c in broken if c >= hard]]

    def trues(self, c: int) -> list[int]:
        return [x for x in self.clauses[c] if self.value[abs(x) - 1] == (x > 0)]

    def counts(self) -> int:
        firm, soft = self.lists
        return INFEASIBLE + len(firm) if firm else int(self.tables.cost[soft].sum())

    def scores(self) -> list[int]:
        score = [0] * len(self.value)
        for c, clause in enumerate(self.clauses):
            trues = self.trues(c)
            for x in clause if not trues else trues if len(trues) == 1 else []:
                score[abs(x) - 1] += -self.weight[c] if trues else self.weight[c]
        return score

    def step(self) -> bool:
        """One step; whether it was an escape."""
        draws = [self.random.next() for _ in range(8)]
        score = self.scores()
        first = self.temper()[4] and draws[7] & 0xFFFFFFFF < 154618823
        x = self.good(score, draws[0] & 0xFFFFFFFF, first)
        escapes = x is None
        if x is None:
            x = self.escape(draws)
        self.steps += 1
        self.flip(x)
        temper = self.temper()
        if self.counts() < self.least:
            self.least, self.best, self.improved_at = self.counts(), list(self.value), self.steps
        elif self.steps - self.improved_at > temper[3] * (self.restarts + 1) or (
            temper[5] and self.pressure >= temper[2] << 16
        ):
            self.restarts += 1
            self.improved_at = self.steps
            self.begin(self.best)
        return escapes

    def temper(self) -> list[int]:
        *others, last = self.tables.tempers.tolist()
        return last if self.lasts else others[(self.stream + self.restarts) % len(others)]

    def good(self, score: list[int], draw: int, first: bool) -> int | None:
        words = -(-len(score) // 32)
        seen = []
        for lane in range(32):
            of_lane = [
                v
                for i in range(lane, words, 32)
                for v in range(len(score))
                if v // 32 == (i + (draw * words >> 32)) % words and score[v] > 0 and v != self.last
            ]
            seen += of_lane[:2]
        if first and seen:
            return seen[0]
        return self.best_of(seen, score) if seen else None

    def best_of(self, variables: list[int], score: list[int]) -> int:
        return min(variables, key=lambda v: (-score[v], self.age[v], v))

    def escape(self, draws: list[int]) -> int:
        firm, soft = self.lists
        dear = self.least < INFEASIBLE and int(self.tables.cost[soft].sum()) >= self.least
        under, from_zero = self.temper()[4:]
        if firm:
            self.grow(firm, draws[1] & 0xFFFFFFFF)
        if under and (not firm if from_zero else dear):
            self.press()
        if not under and (not firm or dear):
            self.grow(soft, draws[1] >> 32)
        chosen = firm or soft
        if under and draws[7] >> 32 < 2061584302:
            clause = self.clauses[chosen[(draws[2] & 0xFFFFFFFF) * len(chosen) >> 32]]
            return abs(clause[(draws[2] >> 32) * len(clause) >> 32]) - 1
        offers = [chosen[(draw & 0xFFFFFFFF) * len(chosen) >> 32] for draw in draws[2:7]]
        variables = [abs(x) - 1 for c in offers[: 1 if firm else 5] for x in self.clauses[c]]
        return self.best_of(variables, self.scores())

    def press(self) -> None:
        self.pressure = min(2**36, (self.pressure + self.temper()[1]) * self.temper()[4] // 1000)
        if self.tables.num_hard and self.pressure - self.taken > self.taken // 16:
            self.taken = self.pressure
            self.pressed += 1
            self.spread()

    def spread(self) -> None:
        """Give the soft clauses the pressure."""
        for c in range(self.tables.num_hard, len(self.clauses)):
            weight = self.pressure * int(self.tables.unit[c]) >> 16
            self.weight[c] = max(1, min(self.tables.most, weight))

    def grow(self, of: list[int], draw: int) -> None:
        hard, share, limit, *_ = self.temper()
        begins = draw * len(of) >> 32 if of else 0
        for i in range(min(32, len(of))):
            c = of[(begins + i) % len(of)]
            unit = int(self.tables.unit[c])
            firm = c < self.tables.num_hard
            most = self.tables.most if firm else unit * limit
            gain = max(1, hard if firm else unit * share >> 16) * -(-len(of) // 32)
            self.weight[c] = max(self.weight[c], min(most, self.weight[c] + gain))

    def flip(self, x: int) -> None:
        literal = x + 1 if not self.value[x] else -x - 1
        row = [c for c, clause in enumerate(self.clauses) if literal in clause]
        row += [c for c, clause in enumerate(self.clauses) if -literal in clause]
        before = {c: not self.trues(c) for c in row}
        self.value[x] ^= 1
        self.age[x], self.last = self.steps, x
        for base in range(0, len(row), 32):
            turned = [c for c in row[base : base + 32] if before[c] == bool(self.trues(c))]
            for soft in (0, 1):
                of = [c for c in turned if (c >= self.tables.num_hard) == soft]
                self.leave(self.lists[soft], [c for c in of if before[c]])
                self.lists[soft] += [c for c in of if not before[c]]

    @staticmethod
    def leave(listed: list[int], leaving: list[int]) -> None:
        left = len(listed) - len(leaving)
        stays = [c for c in listed[left:] if c not in leaving]
        for c in leaving:
            at = listed.index(c)
            if at < left:
                listed[at] = stays.pop(0)
        del listed[left:]


def partial(n, hard, soft, seed, longest=4, most=9):
    """Hard and weighted soft clauses of one to `longest` literals, presolved."""
    rng = np.random.default_rng(seed)

    def clauses(m, shortest):
        sizes = rng.integers(shortest, longest + 1, m)
        return [
            [int(x) for x in (rng.choice(n, k, replace=False) + 1) * rng.choice([-1, 1], k)]
            for k in sizes
        ]

    weights = rng.integers(1, most + 1, soft)
    return presolve(Formula.from_clauses(clauses(soft, 1), weights, hard=clauses(hard, 3))).formula


def crowded():
    """Rows of more than 32 occurrences, lists of more than 32 clauses, and a long clause."""
    formula = partial(12, 40, 260, 5, longest=3)
    clauses = [c.tolist() for c in np.split(formula.literals, formula.offsets[1:-1])]
    soft = [c for c, hard in zip(clauses, formula.hard, strict=True) if not hard]
    firm = [c for c, hard in zip(clauses, formula.hard, strict=True) if hard]
    return Formula.from_clauses([*soft, list(range(1, formula.num_variables + 1))], hard=firm)
