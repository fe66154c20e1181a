"""A formula as clause-weighting walks by the thousand read it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.weighting.options import WeightingOptions

#: What an assignment counts that violates this many hard clauses less: ``kInfeasible`` of weighing.hpp.
INFEASIBLE = 2**62

#: Literals of formulas that are not wide have so many bits; clauses and places of literals so many.
_LITERAL_BITS, _CLAUSE_BITS, _PLACE_BITS = 16, 28, 30
#: Length of a clause that says only that it is longer.
_LONG = 63
#: First search weight of a soft clause of mean cost, where scores have room for it.
_UNIT = 4096
#: What pressure from 0 gains, in first weights: hard clauses gain in proportion, and weights have room to grow.
_FROM_ZERO = 1 / 64
#: Of each temper: increase and limit of soft weights, patience, and increase of hard weights, in those of the
#: options; and by what factor / 1000 pressure grows.
_TEMPERS = (
    (1.0, 1.0, 1, 1.0, 0),
    (10.0, 1.0, 1, 1.0, 0),
    (1.0, 1.0, 20, 5.0, 1003),
    (10.0, 0.4, 4, 1.0, 0),
    (1.0, 1.0, 20, 5.0, 1003),
)
#: Increase of hard weights under pressure from 0, and its factor.
_LASTING = 50.0, 1001
#: One walk in so many has that temper, where some clauses are hard and some are soft.
EVERY = 2


def weighs(formula: Formula) -> bool:
    """Whether clause-weighting walks on a GPU can take a presolved formula.

    Up to 268 million clauses of a thousand million literals, and costs that add up to less than 2^62.
    """
    return (
        0 < formula.num_clauses < 2**_CLAUSE_BITS
        and len(formula.literals) < 2**_PLACE_BITS
        and float(formula.weights[~formula.hard].astype(np.float64).sum()) < INFEASIBLE
    )


def bytes_needed(formula: Formula) -> int:
    """Of a GPU's memory, by a presolved formula and one walk on it."""
    n, m = formula.num_variables, formula.num_clauses
    return 12 * len(formula.literals) + 16 * m + 8 * n + walk_bytes(n, m)


def walk_bytes(n: int, m: int) -> int:
    """Of a walk on n variables and m clauses."""
    return 12 * m + 8 * n + n // 2 + 256


@dataclass(frozen=True, eq=False)
class WeighingTables:
    """A formula as the walks read it, hard clauses first; literal 2 v is variable v, 2 v + 1 its negation."""

    literal: NDArray[np.uint32]  # clause by clause
    start: NDArray[np.uint32]  # literal of each clause, shape (m + 1,)
    occurrence: NDArray[np.uint32]  # clauses, literal by literal
    first: NDArray[np.uint32]  # occurrence of each literal, shape (2 n + 1,)
    unit: NDArray[np.int32]  # first search weight of each clause
    cost: NDArray[np.uint64]  # of each clause
    tempers: NDArray[np.int32]  # ``WeighingTemper`` of weighing.hpp, shape (tempers, 6)
    num_hard: int
    most: int  # search weight of a hard clause
    lasting: int  # one walk in so many has the last temper, none if 0

    @classmethod
    def of(cls, formula: Formula, options: WeightingOptions) -> WeighingTables:
        """Tables of a presolved formula that `weighs`."""
        n, m = formula.num_variables, formula.num_clauses
        order = np.argsort(~formula.hard, kind="stable")
        lengths = np.diff(formula.offsets)[order]
        start = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(formula.offsets[:-1][order] - start[:-1], lengths) + np.arange(start[-1])
        literals = formula.literals[at].astype(np.int64)
        codes = 2 * (np.abs(literals) - 1) + (literals < 0)
        counts = np.bincount(codes, minlength=2 * n)
        hard = formula.hard[order]
        cost = formula.weights[order].astype(np.float64)
        # A score is a sum of search weights, and has 31 bits.
        most = (2**31 - 1) // max(1, int((counts[::2] + counts[1::2]).max()))
        share = cost / max(1.0, cost[~hard].mean() if not hard.all() else 1.0)
        share[hard] = options.hard_start
        room = most / (options.soft_limit * max(1.0, share.max()))
        scale = min(_UNIT, max(1.0, room))
        soft_most = max(1, most // options.soft_limit)
        unit = np.clip(np.rint(share * scale), 1, np.where(hard, most, soft_most))
        return cls(
            codes.astype(np.uint32),
            start.astype(np.uint32),
            np.repeat(np.arange(m), lengths)[np.argsort(codes, kind="stable")].astype(np.uint32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
            unit.astype(np.int32),
            formula.weights[order].astype(np.uint64),
            np.array(
                [
                    *(_temper(options, n, scale, *each) for each in _TEMPERS),
                    _lasting(options, scale, most),
                ],
                dtype=np.int32,
            ),
            int(formula.num_hard),
            most,
            EVERY if 0 < formula.num_hard < m else 0,
        )

    @property
    def num_variables(self) -> int:
        """Variables of the formula."""
        return len(self.first) // 2

    @property
    def words(self) -> int:
        """Words of 32 bits that hold an assignment."""
        return -(-self.num_variables // 32)

    @property
    def wide(self) -> bool:
        """Whether literals need more than 16 bits."""
        return bool(2 * self.num_variables > 2**_LITERAL_BITS)

    @property
    def occurrences(self) -> NDArray[np.uint64]:
        """Clause of each occurrence, where it begins, and how long it is."""
        lengths = np.minimum(np.diff(self.start), _LONG).astype(np.uint64)
        where = self.start[:-1] | lengths << np.uint64(_PLACE_BITS)
        return where[self.occurrence] << np.uint64(_CLAUSE_BITS) | self.occurrence


def _temper(
    options: WeightingOptions,
    n: int,
    scale: float,
    increase: float,
    limit: float,
    patience: int,
    hard: float,
    press: int,
) -> tuple[int, int, int, int, int, int]:
    return (
        max(1, round(options.hard_increase * hard * scale)),
        2**16 if press else round(min(options.soft_increase * increase, 2.0**14) * 2**16),
        max(1, round(options.soft_limit * limit)),
        min(options.patience * patience * n, 2**31 - 1),
        press,
        0,
    )


def _lasting(
    options: WeightingOptions, scale: float, most: int
) -> tuple[int, int, int, int, int, int]:
    hard, press = _LASTING
    return (
        max(1, round(options.hard_increase * hard * scale * _FROM_ZERO)),
        round(_FROM_ZERO * 2**16),
        max(1, min(2**20, int(most / scale))),
        2**31 - 1,
        press,
        1,
    )
